//! Coefficients, kinds of sides, and what levels smooth.

use super::flux::{Flux, PowerLaw};
use crate::error::{Error, Result, invalid};
use crate::forest::CoarseMesh;
use glam::{DMat3, DVec3};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

/// The coefficient `κ`: a symmetric positive definite tensor at each point.
#[derive(Clone)]
pub struct Diffusion(Arc<dyn Fn(DVec3) -> DMat3 + Send + Sync>);

impl Diffusion {
    /// `κ` times the identity.
    pub fn scalar(kappa: impl Fn(DVec3) -> f64 + Send + Sync + 'static) -> Self {
        Self::tensor(move |point| DMat3::from_diagonal(DVec3::splat(kappa(point))))
    }

    /// Any symmetric positive definite tensor; in 2D its upper left 2 x 2 entries.
    pub fn tensor(kappa: impl Fn(DVec3) -> DMat3 + Send + Sync + 'static) -> Self {
        Self(Arc::new(kappa))
    }

    /// At a point, in so many dimensions.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] with point and value, unless it is symmetric positive definite.
    pub(super) fn at(&self, dim: usize, point: DVec3) -> Result<DMat3> {
        check_tensor("the diffusion coefficient", (self.0)(point), dim, point)
    }
}

/// That a tensor at a point is symmetric positive definite, in so many dimensions.
pub(super) fn check_tensor(name: &'static str, tensor: DMat3, dim: usize, point: DVec3) -> Result<DMat3> {
    // Multiples of the identity, which most are, need no more.
    let first = tensor.x_axis.x;
    if first > 0.0 && first.is_finite() && tensor == DMat3::from_diagonal(DVec3::splat(first)) {
        return Ok(tensor);
    }
    let entry = |i: usize, j: usize| tensor.col(j)[i];
    let entries = (0..dim).flat_map(|i| (0..dim).map(move |j| (i, j)));
    let size = entries.clone().map(|(i, j)| entry(i, j).abs()).fold(0.0, f64::max);
    let is_symmetric =
        entries.into_iter().all(|(i, j)| (entry(i, j) - entry(j, i)).abs() <= 1e-12 * size && entry(i, j).is_finite());
    let minor = entry(0, 0) * entry(1, 1) - entry(0, 1) * entry(1, 0);
    let minors = [entry(0, 0), minor, if dim == 3 { tensor.determinant() } else { 1.0 }];
    if is_symmetric && minors.iter().all(|&minor| minor > 0.0) {
        return Ok(tensor);
    }
    let value = match entry(1, 0) == 0.0 && entry(0, 0) == entry(1, 1) {
        true => entry(0, 0).to_string(),
        false => tensor.to_string(),
    };
    Err(invalid(name, format_args!("{value} at {point}"), "positive, a tensor symmetric positive definite"))
}

impl fmt::Debug for Diffusion {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("Diffusion(..)")
    }
}

/// A number at each point, not negative.
#[derive(Clone)]
pub struct Coefficient(Arc<dyn Fn(DVec3) -> f64 + Send + Sync>);

impl Coefficient {
    /// Of a function.
    pub fn new(value: impl Fn(DVec3) -> f64 + Send + Sync + 'static) -> Self {
        Self(Arc::new(value))
    }

    /// At a point.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] with point and value, if it is negative or not finite.
    pub(super) fn at(&self, name: &'static str, point: DVec3) -> Result<f64> {
        let value = (self.0)(point);
        if value >= 0.0 && value.is_finite() {
            return Ok(value);
        }
        Err(invalid(name, format_args!("{value} at {point}"), "0 or positive, and finite"))
    }
}

impl fmt::Debug for Coefficient {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("Coefficient(..)")
    }
}

/// At which nodes of a level smoothers work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Smoothing {
    /// Those all of whose cells are of the finest level: a cycle is a number of operations that does not depend on how many levels
    /// there are.
    #[default]
    Local,
    /// All: global coarsening, as Becker, Braack and Richter do (in *Numerical Mathematics and Advanced Applications*, 2007,
    /// 2006).
    Global,
}

/// `-div(κ ∇u) + s u = f`, or `-div F(x, ∇u) + s u = f`: coefficients, which sides have which condition, and how it is
/// discretized.
#[derive(Clone, Debug)]
pub struct Equation {
    /// `κ`. Newton's method for a nonlinear equation begins with the linear one that has it.
    pub diffusion: Diffusion,
    /// `F`, if the equation is nonlinear. Natural conditions are then `F(x, ∇u) · n + α u = g`.
    pub flux: Option<Arc<dyn Flux>>,
    /// `s`, not negative.
    pub reaction: f64,
    /// Numbers of boundaries with a natural condition `κ ∇u · n + α u = g`. All others have Dirichlet's, `u` being given.
    pub natural: BTreeSet<u32>,
    /// `α` on natural boundaries (Robin), not negative; 0 on those that are not named (Neumann).
    pub robin: BTreeMap<u32, Coefficient>,
    /// Degree of the mapping of cells, `k` if not given.
    pub mapping_degree: Option<usize>,
    /// Where levels smooth.
    pub smoothing: Smoothing,
}

impl Default for Equation {
    /// `-Δu = f` with Dirichlet's condition on all sides.
    fn default() -> Self {
        Self {
            diffusion: Diffusion::scalar(|_| 1.0),
            flux: None,
            reaction: 0.0,
            natural: BTreeSet::new(),
            robin: BTreeMap::new(),
            mapping_degree: None,
            smoothing: Smoothing::default(),
        }
    }
}

impl Equation {
    /// The flux, if GPU kernels evaluate it: they know it, and no side has Robin's condition. The host evaluates any other one.
    pub fn power_law(&self) -> Option<PowerLaw> {
        self.flux.as_ref().filter(|_| self.robin.is_empty())?.power_law()
    }

    /// Whether there is a term `s u`.
    pub(super) fn reacts(&self) -> bool {
        self.reaction > 0.0
    }

    /// That it is allowed on a mesh.
    pub(super) fn check(&self, mesh: &CoarseMesh) -> Result<()> {
        if !(self.reaction >= 0.0 && self.reaction.is_finite()) {
            return Err(invalid("the reaction coefficient", self.reaction, "0 or positive, and finite"));
        }
        let sides = mesh.boundary_numbers();
        for number in &self.natural {
            check_side(*number, &sides)?;
        }
        if let Some(number) = self.robin.keys().find(|number| !self.natural.contains(number)) {
            return Err(invalid("a boundary with Robin's condition", number, "a natural one"));
        }
        if let Some(cell) = self.free_cell(mesh).filter(|_| self.reaction == 0.0) {
            return Err(Error::InvalidArgument {
                name: "natural sides",
                value: format!("{:?}", self.natural),
                allowed: format!(
                    "not all of them around cell {cell} and those that it is connected to, unless the reaction coefficient or one of Robin's is positive: constants would be free"
                ),
            });
        }
        Ok(())
    }

    /// The first cell of a part of a mesh whose sides have Neumann's condition alone.
    fn free_cell(&self, mesh: &CoarseMesh) -> Option<usize> {
        // Of the vertices of a part, each leads to a lower one, or to itself.
        let mut lower: Vec<usize> = (0..mesh.vertices().len()).collect();
        for cell in 0..mesh.cells() {
            let own = mesh.cell(cell).iter().map(|&vertex| vertex as usize);
            let least = own.clone().map(|vertex| lowest(&mut lower, vertex)).min().unwrap_or(0);
            for vertex in own {
                let other = lowest(&mut lower, vertex);
                lower[other] = least;
            }
        }
        let mut is_held = vec![false; lower.len()];
        let mut part = |cell: usize| lowest(&mut lower, mesh.cell(cell)[0] as usize);
        for cell in 0..mesh.cells() {
            let mut sides = (0..2 * mesh.dim()).filter_map(|face| mesh.boundary(cell, face));
            let holds = |number| !self.natural.contains(&number) || self.robin.contains_key(&number);
            is_held[part(cell)] |= sides.any(holds);
        }
        (0..mesh.cells()).find(|&cell| !is_held[part(cell)])
    }
}

/// The vertex that a vertex leads to in the end; the ways of those between become shorter.
fn lowest(lower: &mut [usize], mut vertex: usize) -> usize {
    while lower[vertex] != vertex {
        lower[vertex] = lower[lower[vertex]];
        vertex = lower[vertex];
    }
    vertex
}

/// That there is a boundary of that number.
pub(super) fn check_side(number: u32, sides: &BTreeSet<u32>) -> Result<()> {
    if sides.contains(&number) {
        Ok(())
    } else {
        Err(invalid("boundary number", number, format_args!("one of {sides:?}")))
    }
}
