//! Elliptic equations with coefficients on forests, by continuous elements (paper 3).
//!
//! [`Elliptic`] is `-div(κ ∇u) + s u = f`, or with a [`Flux`] `-div F(x, ∇u) + s u = f`, with `Q_k` on the leaves of a [`Forest`]. Vectors have an entry for each node;
//! those of hanging nodes and of nodes on Dirichlet boundaries are no unknowns and zero. Values at hanging nodes are
//! interpolated where a cell reads them.
//!
//! The next coarser mesh has parents in the place of the finest leaves. So every level is a whole mesh of the domain, and the
//! method is that of other systems. [`Smoothing::Local`] smooths only at nodes all of whose cells are of the finest level:
//! that is local smoothing with the edge terms of Janssen and Kanschat (*SIAM Journal on Scientific Computing* 33, 2011,
//! 2095-2114; paper 3, section 2.2). There, a level has the cells of one size alone. What its edge operators carry from and to
//! the rest of the domain, here the residual of the whole mesh has.

mod assembled;
mod batched;
mod benchmark;
mod boundary;
mod cell;
mod cell_metric;
mod cell_patches;
#[cfg(feature = "cuda")]
mod cuda;
mod equation;
mod estimator;
mod flux;
mod forest_function;
mod interpolation;
mod level;
mod linearized;
mod mesh;
mod metric;
mod nonlinear;
mod problem;
mod robin;
mod separable;
#[cfg(test)]
mod tests;
mod traces;
mod transfer;
mod transposed;

pub use benchmark::Benchmark;
pub use equation::{Coefficient, Diffusion, Equation, Smoothing};
pub use flux::{Flux, MinimalSurface, PLaplacian, PowerLaw};
pub use forest_function::{ForestFunction, Norms};
pub use patchmg_device::elliptic::Writes;
pub use problem::{EllipticProblem, SharedField};

use super::scalar::in_scalar;
use super::{Runs, System};
use crate::backend::Scalar;
use crate::backend::cpu::Cpu;
use crate::error::{Error, Result, check_length, invalid};
use crate::forest::{Cell, Forest};
use crate::layout::Layout;
use crate::level::SharedLevel;
use crate::memory;
use level::EllipticLevel;
use mesh::Mesh;
use rayon::prelude::*;
use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

/// [`Error::Unsupported`] if a machine does not sum up as [`Elliptic::with_writes`] asks.
pub const WRITES: &str = "way to sum up at nodes";

/// `-div(κ ∇u) + s u = f` by continuous elements `Q_k` on the leaves of a forest, on all its levels.
#[derive(Clone, Debug)]
pub struct Elliptic {
    equation: Equation,
    mesh: Arc<Mesh>,
    /// How GPU kernels sum up results of cells at nodes.
    writes: Writes,
    /// The next coarser one, none on the coarsest mesh; when it is first needed all coarser ones are made.
    coarser: Arc<OnceLock<Option<Elliptic>>>,
}

impl Elliptic {
    /// An equation on a forest, by elements of degree `k`: 1 to 8 in 2D and 1 to 6 in 3D.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for another degree, a negative `s`, sides that the mesh does not
    /// have, no unknowns, and an equation that leaves constants free; [`Error::OutOfMemory`].
    pub fn new(forest: &Forest, degree: usize, equation: Equation) -> Result<Self> {
        equation.check(forest.coarse())?;
        memory::check(Self::least_bytes(forest.dim(), degree, forest.leaves().len() as u64))?;
        let mesh = Mesh::new(forest.clone(), degree, &equation)?;
        if mesh.unknowns() == 0 {
            return Err(invalid("the number of unknowns", 0, "at least 1: refine the mesh, or raise the degree"));
        }
        Ok(Self { equation, mesh: Arc::new(mesh), writes: Writes::default(), coarser: Arc::default() })
    }

    /// Bytes that the host needs at least, whatever the machine, for so many cells: leaves, numbers of the nodes of each, load vector
    /// and solution.
    pub fn least_bytes(dim: usize, degree: usize, cells: u64) -> u64 {
        let power = |base: usize| (base as u64).saturating_pow(dim as u32);
        let numbers = power(degree.saturating_add(1)).saturating_mul(size_of::<u32>() as u64);
        let vectors = power(degree).saturating_mul(2 * size_of::<f64>() as u64);
        cells.saturating_mul((size_of::<Cell>() as u64).saturating_add(numbers).saturating_add(vectors))
    }

    /// The same on the next coarser mesh, if there is one. The first call makes all coarser ones, side by side.
    fn next_coarser(&self) -> Result<Option<&Self>> {
        if let Some(coarser) = self.coarser.get() {
            return Ok(coarser.as_ref());
        }
        let forests: Vec<Forest> = std::iter::successors(self.forest().coarser(), Forest::coarser).collect();
        let meshes: Vec<Result<Mesh>> =
            forests.into_par_iter().map(|forest| Mesh::new(forest, self.degree(), &self.equation)).collect();
        let mut coarser = None;
        for mesh in meshes.into_iter().rev() {
            coarser = Some(Self {
                equation: self.equation.clone(),
                mesh: Arc::new(mesh?),
                writes: self.writes,
                coarser: Arc::new(OnceLock::from(coarser)),
            });
        }
        Ok(self.coarser.get_or_init(|| coarser).as_ref())
    }

    /// With results of cells summed up at nodes in another way, which a machine may not have.
    pub fn with_writes(self, writes: Writes) -> Self {
        Self { writes, coarser: Arc::default(), ..self }
    }

    /// How GPU kernels sum up results of cells at nodes.
    pub fn writes(&self) -> Writes {
        self.writes
    }

    /// Coefficients and kinds of sides.
    pub fn equation(&self) -> &Equation {
        &self.equation
    }

    /// The mesh.
    pub fn forest(&self) -> &Forest {
        self.mesh.forest()
    }

    /// Polynomial degree `k`.
    pub fn degree(&self) -> usize {
        self.mesh.degree()
    }

    /// Nodes with those that hang or lie on Dirichlet boundaries: entries of a vector.
    pub fn nodes(&self) -> usize {
        self.mesh.numbering().nodes()
    }
}

impl System for Elliptic {
    type Solution = ForestFunction;

    fn dim(&self) -> usize {
        self.forest().dim()
    }

    fn cells(&self) -> usize {
        self.forest().leaves().len()
    }

    fn layout(&self) -> Layout {
        Layout::of_sizes([(self.nodes(), self.mesh.unknowns())])
    }

    fn solution(&self, values: Vec<f64>) -> Result<ForestFunction> {
        check_length("values", self.nodes(), values.len())?;
        Ok(ForestFunction::new(self, values))
    }

    fn coarser(&self) -> Option<Result<Self>> {
        self.next_coarser().map(|coarser| coarser.cloned()).transpose()
    }

    fn has_solver(&self) -> bool {
        self.mesh.unknowns() <= assembled::MOST
    }

    fn is_nonlinear(&self) -> bool {
        self.equation.flux.is_some()
    }

    fn by_default_kernels(&self) -> Cow<'_, Self> {
        Cow::Borrowed(self)
    }
}

impl Runs<Elliptic> for Cpu {
    fn check<T: Scalar>(&self, system: &Elliptic) -> Result<()> {
        check_writes(system)
    }

    fn level<T: Scalar>(self: &Arc<Self>, system: &Elliptic) -> Result<SharedLevel<Self, T>> {
        check_writes(system)?;
        in_scalar(
            || Ok(Arc::new(EllipticLevel::<f32>::new(self, system, true)?)),
            || Ok(Arc::new(EllipticLevel::<f64>::new(self, system, true)?)),
        )
    }

    fn level_for_products<T: Scalar>(self: &Arc<Self>, system: &Elliptic) -> Result<SharedLevel<Self, T>> {
        in_scalar(
            || Ok(Arc::new(EllipticLevel::<f32>::new(self, system, false)?)),
            || Ok(Arc::new(EllipticLevel::<f64>::new(self, system, false)?)),
        )
    }

    fn level_bytes<T: Scalar>(system: &Elliptic) -> u64 {
        level::bytes::<T>(system)
    }

    fn patches_bytes<T: Scalar>(system: &Elliptic) -> u64 {
        cell_patches::bytes::<T>(system)
    }
}

/// That a CPU sums up as it is asked to.
fn check_writes(system: &Elliptic) -> Result<()> {
    let (asked, available) = (system.writes, Writes::Gather);
    if asked == available {
        return Ok(());
    }
    let [asked, available] = [asked, available].map(|writes| writes.to_string());
    Err(Error::Unsupported { backend: "cpu", what: WRITES, asked, available })
}
