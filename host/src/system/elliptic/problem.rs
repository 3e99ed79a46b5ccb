//! Right-hand sides and data on the boundary.

use super::Elliptic;
use super::boundary::for_each_face_point;
use super::cell::{CellShape, Workspace};
use super::equation::check_side;
use super::forest_function::ForestFunction;
use super::level::CellOperator;
use super::mesh::{Mesh, Node};
use super::metric::Geometry;
use crate::backend::cpu::parallel::try_map_chunks;
use crate::error::{Result, finite, invalid};
use crate::forest::Cell;
use crate::memory;
use crate::problem::{ErrorNorms, ExactSolution};
use crate::system::{ModelProblem, Nonlinear};
use glam::DVec3;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// A function that problems share.
pub type SharedField = Arc<dyn Fn(DVec3) -> f64 + Send + Sync>;

/// A right-hand side for [`Elliptic`], with data by the numbers of boundaries.
#[derive(Clone)]
pub struct EllipticProblem {
    /// `f`.
    pub right_hand_side: SharedField,
    /// `u` on Dirichlet boundaries; 0 on those that are not named.
    pub values: BTreeMap<u32, SharedField>,
    /// `κ ∇u · n + α u` on natural boundaries; 0 on those that are not named.
    pub fluxes: BTreeMap<u32, SharedField>,
    /// `u`, if it is known.
    pub exact: Option<Arc<dyn ExactSolution + Send + Sync>>,
}

impl fmt::Debug for EllipticProblem {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let (values, fluxes) = (self.values.keys(), self.fluxes.keys());
        write!(f, "EllipticProblem {{ values on {values:?}, fluxes on {fluxes:?} }}")
    }
}

impl EllipticProblem {
    /// With nothing given on the boundary, and an unknown solution.
    pub fn new(right_hand_side: impl Fn(DVec3) -> f64 + Send + Sync + 'static) -> Self {
        Self {
            right_hand_side: Arc::new(right_hand_side),
            values: BTreeMap::new(),
            fluxes: BTreeMap::new(),
            exact: None,
        }
    }

    /// The same with a known solution, which is given on one boundary.
    pub fn with_exact(mut self, boundary: u32, exact: impl ExactSolution + Send + Sync + 'static) -> Self {
        let exact = Arc::new(exact);
        let values = exact.clone();
        self.values.insert(boundary, Arc::new(move |point| values.value(point)));
        self.exact = Some(exact);
        self
    }

    /// `∫ f φ_i + ∫_natural g φ_i` for the unknowns, 0 elsewhere.
    fn functional(&self, mesh: &Mesh) -> Result<Vec<f64>> {
        let (nodes, shape) = (mesh.cells().nodes_a_cell(), CellShape::<f64>::new(mesh)?);
        let mut loads: Vec<f64> = memory::zeros(mesh.cells().all().len())?;
        let geometry = Geometry::new(mesh, mesh.degree() + 1)?;
        let of_cell = |workspace: &mut Workspace<f64>, cell: usize, loads: &mut [f64]| -> Result<()> {
            let mut u = vec![0.0; nodes];
            geometry.for_each_point(cell, |q, place| {
                u[q] = place.weight * finite("right-hand side", (self.right_hand_side)(place.point), place.point)?;
                Ok(())
            })?;
            shape.integrate(&mut u, workspace);
            loads.copy_from_slice(&u);
            Ok(())
        };
        try_map_chunks(&mut loads, nodes, Workspace::default, of_cell)?;
        if !self.fluxes.is_empty() {
            for_each_face_point(mesh, mesh.mapping()?, |at| {
                if let Some(flux) = self.fluxes.get(&at.number) {
                    let value = at.weight * finite("flux", flux(at.point), at.point)?;
                    let loads = &mut loads[nodes * at.cell..][..nodes];
                    loads.iter_mut().zip(at.basis).for_each(|(load, basis)| *load += value * basis);
                }
                Ok(())
            })?;
        }
        for lines in mesh.cells().hanging() {
            shape.interpolate_transposed(lines, &mut loads[nodes * lines.cell as usize..][..nodes]);
        }
        let mut load: Vec<f64> = memory::zeros(mesh.kinds().len())?;
        let unknown = |node: usize, sum: f64| if mesh.kinds()[node].is_unknown() { sum } else { 0.0 };
        mesh.gather()?.gather(&loads, &mut load, unknown);
        Ok(load)
    }

    /// What is given at nodes on Dirichlet boundaries, and follows at nodes that hang there; 0 at all others.
    ///
    /// A node of several boundaries has the value of the highest number.
    fn given_values(&self, mesh: &Mesh) -> Result<Vec<f64>> {
        let mut given: Vec<f64> = memory::zeros(mesh.kinds().len())?;
        if self.values.is_empty() {
            return Ok(given);
        }
        let positions = mesh.node_positions()?;
        let (forest, n) = (mesh.forest(), mesh.degree() + 1);
        for (number, value) in &self.values {
            let of_cell = |(cell, leaf): (usize, &Cell)| -> Result<Vec<(u32, f64)>> {
                let mut given = Vec::new();
                for face in (0..2 * mesh.dim()).filter(|&face| forest.boundary(leaf, face) == Some(*number)) {
                    let (own, stride) = (positions.positions(cell), n.pow(face as u32 / 2));
                    for (i, node) in mesh.numbering().leaf_nodes(cell).enumerate() {
                        let on_face = i / stride % n == mesh.degree() * (face % 2);
                        if on_face && mesh.kinds()[node as usize] == Node::Given {
                            given.push((node, finite("boundary value", value(own[i]), own[i])?));
                        }
                    }
                }
                Ok(given)
            };
            let is_some = |given: &Result<Vec<_>>| given.as_ref().map_or(true, |given| !given.is_empty());
            let of_cells = forest.leaves().par_iter().enumerate().map(of_cell);
            for of_cell in of_cells.filter(is_some).collect::<Vec<_>>() {
                of_cell?.into_iter().for_each(|(node, value)| given[node as usize] = value);
            }
        }
        mesh.interpolate_hanging(&mut given);
        Ok(given)
    }
}

impl ModelProblem for EllipticProblem {
    type System = Elliptic;
    type Errors = ErrorNorms;

    fn check(&self, system: &Elliptic) -> Result<()> {
        let sides = system.forest().coarse().boundary_numbers();
        let natural = &system.equation().natural;
        for number in self.values.keys().chain(self.fluxes.keys()) {
            check_side(*number, &sides)?;
        }
        if let Some(number) = self.values.keys().find(|number| natural.contains(number)) {
            return Err(invalid("a boundary with values", number, "one that is not natural"));
        }
        if let Some(number) = self.fluxes.keys().find(|number| !natural.contains(number)) {
            return Err(invalid("a boundary with a flux", number, "a natural one"));
        }
        Ok(())
    }

    /// `b_i = ∫ f φ_i + ∫_natural g φ_i - a(u_D, φ_i)` for the unknowns, `u_D` interpolating what is given on Dirichlet boundaries.
    fn load(&self, system: &Elliptic) -> Result<Vec<f64>> {
        self.check(system)?;
        let mesh = &system.mesh;
        let mut load = self.functional(mesh)?;
        if !self.values.is_empty() {
            let mut of_given: Vec<f64> = memory::zeros(load.len())?;
            let given = self.given_values(mesh)?;
            let unknown = |node: usize, sum: f64| if mesh.kinds()[node].is_unknown() { sum } else { 0.0 };
            let cells = mesh.cells();
            let has_given = |cell: usize| cells.of(cell).iter().any(|&node| given[node as usize] != 0.0);
            CellOperator::<f64>::on_cells(system, has_given)?.apply_with(&given, &mut of_given, unknown)?;
            load.iter_mut().zip(of_given).for_each(|(load, given)| *load -= given);
        }
        Ok(load)
    }

    /// `b_i = ∫ f φ_i + ∫_natural g φ_i` for the unknowns.
    fn nonlinear(&self, system: &Elliptic) -> Result<Option<Nonlinear>> {
        if system.equation.flux.is_none() {
            return Ok(None);
        }
        let (load, given) = (self.functional(&system.mesh)?, self.given_values(&system.mesh)?);
        Ok(Some(Nonlinear { load, given }))
    }

    fn with_boundary_values(&self, mut solution: ForestFunction) -> Result<ForestFunction> {
        let given = self.given_values(solution.mesh())?;
        solution.add(1.0, &given);
        Ok(solution)
    }

    fn errors(&self, solution: &ForestFunction) -> Result<Option<ErrorNorms>> {
        self.exact.as_deref().map(|exact| solution.error_to(exact)).transpose()
    }
}
