//! The Stokes equations `s u - ν Δu + ∇p = f`, `∇·u = 0` on a uniform mesh of a rectangle or a box, by Raviart-Thomas elements
//! `RT_k x Q_k` (paper 2): velocities are divergence-free in every point.
//!
//! Component `i` of the velocity is continuous of degree `k + 1` in direction `i`, zero at the ends, and discontinuous of degree `k`
//! in the others; the pressure is discontinuous of degree `k`. Discontinuous axes have their nodes at Gauss's points. A vector has a
//! block for each component, then one for the pressure, all with the same nodes stored.

mod axis_by_axis;
mod boundary;
mod coarse;
mod cpu;
#[cfg(feature = "cuda")]
mod cuda;
mod dense;
mod diagonalized;
mod exact;
mod flow;
mod forms;
mod integrals;
mod inverse;
mod level;
mod local;
#[cfg(test)]
mod local_tests;
mod patches;
mod problem;
mod schur;
mod schur_cg;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod twin;

use crate::error::{Error, Result};
use crate::fe::Element;
use crate::layout::Layout;
use crate::memory;
use crate::mesh::Mesh;
use crate::output::vtu;
use crate::space::{Axis, Family, Space};
use crate::system::{Smoothers, System};
pub use flow::{Flow, FlowErrors};
use forms::LineForms;
pub use integrals::{FaceSample, FlowSample};
pub use local::LocalSolver;
pub use patchmg_device::stokes::{Paper2, StokesKernel};
pub use problem::{Problem, Vortex};
use schur::Schurs;
use std::borrow::Cow;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// Pressures of a coarsest mesh that is solved as one patch: the inverse of its Schur complement is dense, but for parities.
const MOST_PRESSURES: usize = 8192;

/// `s u - ν Δu + ∇p = f`, `∇·u = 0` on a mesh, by elements `RT_k x Q_k`.
#[derive(Clone, Debug)]
pub struct Stokes {
    degree: usize,
    viscosity: f64,
    mass: f64,
    /// Of each component of the velocity, then of the pressure.
    spaces: Vec<Space>,
    /// Of this mesh and of coarser ones.
    schur: Schurs,
    local: LocalSolver,
    /// [`MOST_PRESSURES`]; fewer in tests.
    most_pressures: usize,
    kernel: StokesKernel,
}

impl Stokes {
    /// `ν = 1`, `s = 0`, by elements of degree `k`: 1 to 8 in 2D, 1 to 5 in 3D.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for another degree.
    pub fn new(mesh: Mesh, degree: usize) -> Result<Self> {
        let (dim, degrees) = (mesh.dim(), Self::degrees(mesh.dim()));
        if !degrees.contains(&degree) {
            return Err(Error::InvalidArgument {
                name: "degree",
                value: degree.to_string(),
                allowed: format!("{} to {} in {dim}D with Raviart-Thomas elements", degrees.start(), degrees.end()),
            });
        }
        let (along, across) = (Arc::new(Element::new(degree + 1)?), Arc::new(Element::gauss(degree)?));
        let axis = |family, element: &Arc<Element>, d: usize| {
            Axis::new(family, element, mesh.cells_along()[d], mesh.cell_sizes()[d])
        };
        let space = |component: usize| {
            let axes = (0..dim).map(|d| {
                if d == component {
                    axis(Family::Continuous, &along, d)
                } else {
                    axis(Family::Discontinuous, &across, d)
                }
            });
            Space::of_axes(mesh, axes.collect())
        };
        Ok(Self {
            degree,
            viscosity: 1.0,
            mass: 0.0,
            spaces: (0..=dim).map(space).collect::<Result<_>>()?,
            schur: Schurs::default(),
            local: LocalSolver::default(),
            most_pressures: MOST_PRESSURES,
            kernel: StokesKernel::default(),
        })
    }

    /// Whether the mesh is the coarsest one and solved as one patch; a larger one is solved by iteration.
    fn is_one_patch(&self) -> bool {
        let pressures = self.mesh().cells() * (self.degree + 1).pow(self.mesh().dim() as u32);
        self.mesh().coarser().is_none() && pressures <= self.most_pressures
    }

    /// With a coarsest mesh of more pressures solved by iteration.
    #[cfg(test)]
    fn with_most_pressures(self, most_pressures: usize) -> Self {
        Self { most_pressures, ..self }
    }

    /// Whether a mesh is the coarsest one and solved by iteration.
    fn is_solved_by_iteration(&self) -> bool {
        self.mesh().coarser().is_none() && !self.is_one_patch()
    }

    /// Bytes of the VTU file of a solution, and of the host's memory that writing it takes, both at most.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if its points would not fit the address space.
    pub fn most_vtu_bytes(&self, config: &vtu::Config) -> Result<[u64; 2]> {
        Flow::most_vtu_bytes(self.pressure_space(), config)
    }

    /// Degrees that there are.
    pub fn degrees(dim: usize) -> RangeInclusive<usize> {
        if dim == 2 { 1..=8 } else { 1..=5 }
    }

    /// With another viscosity `ν`.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] unless it is above 0 and finite.
    pub fn with_viscosity(self, viscosity: f64) -> Result<Self> {
        if viscosity > 0.0 && viscosity.is_finite() {
            return Ok(Self { viscosity, schur: Schurs::default(), ..self });
        }
        Err(Error::InvalidArgument { name: "nu", value: viscosity.to_string(), allowed: "above 0".into() })
    }

    /// With the term `s u`, of a step in time for example.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] unless it is at least 0 and finite.
    pub fn with_mass(self, mass: f64) -> Result<Self> {
        if mass >= 0.0 && mass.is_finite() {
            return Ok(Self { mass, schur: Schurs::default(), ..self });
        }
        Err(Error::InvalidArgument { name: "mass", value: mass.to_string(), allowed: "at least 0".into() })
    }

    /// By other kernels than the default ones, for comparison; which ones there are, a machine says.
    pub fn with_kernel(self, kernel: StokesKernel) -> Self {
        Self { kernel, ..self }
    }

    /// The kernels.
    pub fn kernel(&self) -> StokesKernel {
        self.kernel
    }

    /// `k` of `RT_k x Q_k`.
    pub fn degree(&self) -> usize {
        self.degree
    }

    /// `ν`.
    pub fn viscosity(&self) -> f64 {
        self.viscosity
    }

    /// `s`.
    pub fn mass(&self) -> f64 {
        self.mass
    }

    /// A flow as a vector of the system, for a solver to begin at: the inverse of [`System::solution`] but for the mean of the pressure.
    /// Normal velocities on the boundary are no unknowns, and left out.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a flow of another mesh or degree, [`Error::OutOfMemory`].
    pub fn vector_of(&self, flow: &Flow) -> Result<Vec<f64>> {
        self.check_flow(flow)?;
        let layout = self.layout();
        let mut vector = memory::zeros(layout.storage())?;
        let functions = flow.velocity().iter().chain([flow.pressure()]);
        for ((space, block), function) in self.spaces.iter().zip(layout.blocks()).zip(functions) {
            let block = &mut vector[block.clone()];
            for node in space.unknowns() {
                block[space.offset(node)] = function.values()[function.space().offset(node)];
            }
        }
        Ok(vector)
    }

    /// That a flow has the spaces of the system.
    fn check_flow(&self, flow: &Flow) -> Result<()> {
        let (own, other) = (self.pressure_space(), flow.pressure().space());
        if own.mesh() == other.mesh() && own.degree() == other.degree() {
            return Ok(());
        }
        let spaces = |space: &Space| {
            let cells: Vec<_> = space.mesh().cells_along()[..space.dim()].iter().map(usize::to_string).collect();
            format!("of degree {} on {} cells", space.degree(), cells.join(" x "))
        };
        Err(Error::InvalidArgument {
            name: "flow",
            value: spaces(other),
            allowed: format!("{}, on the same box", spaces(own)),
        })
    }

    /// The 1D forms of a direction.
    fn line_forms(&self, d: usize) -> Result<LineForms> {
        LineForms::new(&self.spaces[d].axes()[d], &self.pressure_space().axes()[d])
    }

    /// Of each component of the velocity.
    pub fn velocity_spaces(&self) -> &[Space] {
        &self.spaces[..self.spaces.len() - 1]
    }

    /// Of the pressure.
    pub fn pressure_space(&self) -> &Space {
        &self.spaces[self.spaces.len() - 1]
    }

    /// The mesh.
    pub fn mesh(&self) -> &Mesh {
        self.spaces[0].mesh()
    }
}

impl System for Stokes {
    type Solution = Flow;

    fn dim(&self) -> usize {
        self.mesh().dim()
    }

    fn cells(&self) -> usize {
        self.mesh().cells()
    }

    fn layout(&self) -> Layout {
        Layout::of(&self.spaces)
    }

    fn solution(&self, values: Vec<f64>) -> Result<Flow> {
        Flow::new(self, values)
    }

    /// The rows of the pressure add up to zero: without flow through the boundary no velocity has another divergence. A part of
    /// their sum is taken from each row, as large as the integral of its basis function.
    fn project_load<'a>(&self, load: Cow<'a, [f64]>) -> Result<Cow<'a, [f64]>> {
        let (space, layout) = (self.pressure_space(), self.layout());
        let rows = layout.blocks()[self.mesh().dim()].clone();
        let sum: f64 = load[rows.clone()].iter().sum();
        // The solver says where a number is not finite.
        if sum == 0.0 || !sum.is_finite() {
            return Ok(load);
        }
        let mut projected = match load {
            Cow::Owned(load) => load,
            Cow::Borrowed(load) => memory::copy(load)?,
        };
        for node in space.unknowns() {
            projected[rows.start + space.offset(node)] -= sum * flow::share(space, node);
        }
        Ok(projected.into())
    }

    fn coarser(&self) -> Option<Result<Self>> {
        let mesh = self.mesh().coarser()?;
        let Self { viscosity, mass, ref schur, local, most_pressures, kernel, .. } = *self;
        Some(Self::new(mesh, self.degree).map(|coarser| Self {
            viscosity,
            mass,
            schur: schur.clone(),
            local,
            most_pressures,
            kernel,
            ..coarser
        }))
    }

    fn by_default_kernels(&self) -> Cow<'_, Self> {
        let (local, kernel) = (LocalSolver::default(), StokesKernel::default());
        if (self.local, self.kernel) == (local, kernel) {
            return Cow::Borrowed(self);
        }
        Cow::Owned(Self { local, kernel, ..self.clone() })
    }

    fn smoothers(&self) -> Smoothers {
        Smoothers::Patches
    }

    fn is_definite(&self) -> bool {
        false
    }

    fn stores_residuals(&self) -> bool {
        true
    }
}

/// [`Error::Unsupported`], with what there is.
fn unsupported_kernel(backend: &'static str, kernel: StokesKernel, available: String) -> Error {
    Error::Unsupported { backend, what: "kernel of the Stokes equations", asked: kernel.to_string(), available }
}
