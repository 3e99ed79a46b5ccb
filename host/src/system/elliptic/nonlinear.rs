//! `-div F(x, ∇u) + s u = f`: its residual, and its derivative on all levels.

use super::Elliptic;
use super::cell::{CellShape, Workspace};
use super::equation::check_tensor;
use super::flux::Flux;
use super::forest_function::ForestFunction;
use super::mesh::Mesh;
use super::metric::{Geometry, Place};
use super::robin::RobinFaces;
use super::transfer;
use super::transposed::Transposed;
use crate::backend::cpu::parallel::try_map_chunks;
use crate::error::Result;
use crate::memory;
use crate::system::Nonlinear;
use glam::{DMat3, DVec3};
use std::sync::Arc;

/// Where a flux is linearized: a function on one mesh.
#[derive(Clone, Debug)]
pub(super) struct State {
    flux: Arc<dyn Flux>,
    /// At all nodes, also those that hang.
    values: Arc<Vec<f64>>,
}

impl Elliptic {
    /// `-div(∂F/∂p(x, ∇u) ∇w) + s w`, the derivative at `u`; on coarser meshes at the interpolation of `u`.
    fn linearized(&self, flux: &Arc<dyn Flux>, values: Arc<Vec<f64>>) -> Result<Self> {
        let coarser = self.coarser.as_ref().map(|coarser| -> Result<_> {
            let values = transfer::interpolate(&coarser.mesh, &self.mesh, &values)?;
            Ok(Arc::new(coarser.linearized(flux, Arc::new(values))?))
        });
        let coarser = coarser.transpose()?;
        let state = Some(State { flux: flux.clone(), values });
        Ok(Self { equation: self.equation.clone(), mesh: self.mesh.clone(), writes: self.writes, state, coarser })
    }

    /// The flux that the equation has in the place of a coefficient, if it was linearized.
    pub(super) fn linearization(&self) -> Result<Option<Linearization<'_>>> {
        let mesh = &*self.mesh;
        self.state.as_ref().map(|state| Ok(Linearization { mesh, state, shape: CellShape::new(mesh)? })).transpose()
    }
}

/// The derivative of a flux at a [`State`].
pub(super) struct Linearization<'a> {
    mesh: &'a Mesh,
    state: &'a State,
    shape: CellShape<f64>,
}

/// The same in one cell.
pub(super) struct InCell<'a> {
    dim: usize,
    flux: &'a dyn Flux,
    workspace: Workspace<f64>,
}

impl Linearization<'_> {
    pub fn in_cell(&self, cell: usize) -> InCell<'_> {
        let mut workspace = Workspace::default();
        self.shape.evaluate(&mut self.mesh.values_of(cell, &self.state.values), &mut workspace);
        InCell { dim: self.mesh.dim(), flux: &*self.state.flux, workspace }
    }
}

impl InCell<'_> {
    /// At a Gauss point.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) unless it is symmetric positive definite.
    pub fn derivative(&self, q: usize, place: &Place) -> Result<DMat3> {
        let gradient = place.jacobian.inverse().transpose() * self.workspace.gradient(q);
        let derivative = self.flux.derivative(place.point, gradient);
        check_tensor("the derivative of the flux", derivative, self.dim, place.point)
    }
}

/// What Newton's method asks of a nonlinear equation.
pub(super) struct NonlinearElliptic {
    system: Elliptic,
    flux: Arc<dyn Flux>,
    /// `∫ f φ_i + ∫_natural g φ_i`.
    functional: Vec<f64>,
    shape: CellShape<f64>,
    robin: RobinFaces<f64>,
    gather: Arc<Transposed>,
}

impl NonlinearElliptic {
    pub fn new(system: &Elliptic, flux: Arc<dyn Flux>, functional: Vec<f64>) -> Result<Self> {
        let mesh = &system.mesh;
        Ok(Self {
            flux,
            functional,
            shape: CellShape::new(mesh)?,
            robin: RobinFaces::new(mesh, &system.equation)?,
            gather: mesh.gather()?,
            system: system.clone(),
        })
    }

    /// `∫ F(x, ∇u) · ∇φ_i + s u φ_i + ∫_natural α u φ_i` of one cell, for its basis.
    fn apply_in(
        &self,
        geometry: &Geometry,
        cell: usize,
        u: &mut Vec<f64>,
        workspace: &mut Workspace<f64>,
    ) -> Result<()> {
        let of_faces = self.robin.apply(cell, &self.shape, u);
        self.shape.evaluate(u, workspace);
        geometry.for_each_point(cell, |q, place| {
            let inverse = place.jacobian.inverse();
            let gradient: DVec3 = inverse.transpose() * workspace.gradient(q);
            let flux = self.flux.value(place.point, gradient);
            workspace.set_gradient(q, place.weight * (inverse * flux));
            u[q] *= place.weight * self.system.equation.reaction;
            Ok(())
        })?;
        self.shape.integrate_with_gradients(u, workspace);
        u.iter_mut().zip(of_faces).for_each(|(u, added)| *u += added);
        if let Some(lines) = self.system.mesh.cells().hanging_of(cell) {
            self.shape.interpolate_transposed(lines, u);
        }
        Ok(())
    }
}

impl Nonlinear for NonlinearElliptic {
    type System = Elliptic;

    /// `∫ f φ_i + ∫_natural (g - α u) φ_i - ∫ F(x, ∇u) · ∇φ_i + s u φ_i` for the unknowns.
    fn residual(&self, u: &ForestFunction) -> Result<Vec<f64>> {
        let mesh = &self.system.mesh;
        let geometry = Geometry::new(mesh, mesh.degree() + 1)?;
        let mut sums: Vec<f64> = memory::zeros(mesh.cells().all().len())?;
        let of_cell = |workspace: &mut Workspace<f64>, cell: usize, sums: &mut [f64]| -> Result<()> {
            let mut own = mesh.values_of(cell, u.values());
            self.apply_in(&geometry, cell, &mut own, workspace)?;
            sums.copy_from_slice(&own);
            Ok(())
        };
        try_map_chunks(&mut sums, mesh.cells().nodes_a_cell(), Workspace::default, of_cell)?;
        let mut residual = memory::zeros(self.functional.len())?;
        let is_unknown = |node: usize| mesh.kinds()[node].is_unknown();
        let value = |node: usize, sum: f64| if is_unknown(node) { self.functional[node] - sum } else { 0.0 };
        self.gather.gather(&sums, &mut residual, value);
        Ok(residual)
    }

    fn derivative(&self, u: &ForestFunction) -> Result<Elliptic> {
        self.system.linearized(&self.flux, Arc::new(u.values().to_vec()))
    }

    fn corrected(&self, u: &ForestFunction, correction: &ForestFunction, length: f64) -> Result<ForestFunction> {
        let mut corrected = u.clone();
        corrected.add(length, correction.values());
        Ok(corrected)
    }
}
