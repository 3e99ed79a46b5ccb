//! `-div F(x, ∇u) + s u = f`, evaluated by the host: its residual, and the metric of its derivative.

use super::Elliptic;
use super::assembled::Factor;
use super::cell::{CellShape, Workspace};
use super::cell_metric::set_metric;
use super::equation::check_tensor;
use super::flux::Flux;
use super::level::CellOperator;
use super::mesh::Mesh;
use super::metric::{Geometry, words};
use crate::backend::Scalar;
use crate::backend::cpu::parallel::try_map_chunks;
use crate::error::Result;
use glam::DVec3;
use std::sync::Arc;

/// A flux on the cells of one mesh, whose nodes and positions are there; a call computes the Jacobians from these, so that any flux can
/// depend on the point, too.
pub(super) struct HostFlux {
    mesh: Arc<Mesh>,
    flux: Arc<dyn Flux>,
    reaction: f64,
    shape: CellShape<f64>,
}

impl HostFlux {
    /// Of a system, if its equation is nonlinear.
    pub fn new(system: &Elliptic) -> Result<Option<Self>> {
        let Elliptic { equation, mesh, .. } = system;
        let Some(flux) = equation.flux.clone() else { return Ok(None) };
        Ok(Some(Self { flux, reaction: equation.reaction, shape: CellShape::new(mesh)?, mesh: mesh.clone() }))
    }

    fn geometry(&self) -> Result<Geometry<'_>> {
        Geometry::new(&self.mesh, self.mesh.degree() + 1)
    }

    /// The values of a cell, those at nodes that hang interpolated.
    fn read<T: Scalar>(&self, cell: usize, u: &[T], own: &mut Vec<f64>) {
        own.clear();
        own.extend(self.mesh.cells().of(cell).iter().map(|&node| u[node as usize].to_f64()));
        if let Some(lines) = self.mesh.cells().hanging_of(cell) {
            self.shape.interpolate(lines, own);
        }
    }

    /// `r = b - ∫ F(x, ∇u) · ∇φ_i + s u φ_i + ∫_natural α u φ_i` at the unknowns, else 0, with memory for the local results of all cells.
    /// Sums at nodes and Robin's condition are those of the operator.
    ///
    /// # Errors
    /// That a cell is inverted.
    pub fn residual<T: Scalar>(
        &self,
        operator: &CellOperator<T>,
        b: &[T],
        u: &[T],
        sums: &mut [T],
        r: &mut [T],
    ) -> Result<()> {
        self.apply(u, sums)?;
        let kinds = self.mesh.kinds();
        let all = |node: usize, sum: T| b[node] - sum - operator.robin.times(node, u);
        let unknown = |node: usize, sum: T| if kinds[node].is_unknown() { all(node, sum) } else { T::ZERO };
        operator.gather.gather(sums, r, unknown);
        Ok(())
    }

    /// The factor of the derivative's matrix, on a mesh that is factorized.
    ///
    /// # Errors
    /// Those of [`Self::linearize`] and [`Factor::new`].
    pub fn factor<T: Scalar>(&self, system: &Elliptic, u: &[T]) -> Result<Factor> {
        let mut operator = CellOperator::<f64>::new(system)?;
        self.linearize(u, &mut operator.metric)?;
        Factor::new(&self.mesh, &operator)
    }

    /// `Cᵀ ∫ F(x, ∇u) · ∇φ_i + s u φ_i` of each cell, for its basis.
    ///
    /// # Errors
    /// That a cell is inverted.
    fn apply<T: Scalar>(&self, u: &[T], sums: &mut [T]) -> Result<()> {
        let geometry = self.geometry()?;
        let of_cell = |(own, workspace): &mut (Vec<f64>, _), cell: usize, sums: &mut [T]| -> Result<()> {
            self.read(cell, u, own);
            self.apply_in(&geometry, cell, own, workspace)?;
            sums.iter_mut().zip(own).for_each(|(sum, value)| *sum = T::from_f64(*value));
            Ok(())
        };
        try_map_chunks(sums, self.mesh.cells().nodes_a_cell(), Default::default, of_cell)?;
        Ok(())
    }

    fn apply_in(
        &self,
        geometry: &Geometry,
        cell: usize,
        u: &mut Vec<f64>,
        workspace: &mut Workspace<f64>,
    ) -> Result<()> {
        self.shape.evaluate(u, workspace);
        geometry.for_each_point(cell, |q, place| {
            let inverse = place.jacobian.inverse();
            let gradient: DVec3 = inverse.transpose() * workspace.gradient(q);
            let flux = self.flux.value(place.point, gradient);
            workspace.set_gradient(q, place.weight * (inverse * flux));
            u[q] *= place.weight * self.reaction;
            Ok(())
        })?;
        self.shape.integrate_with_gradients(u, workspace);
        if let Some(lines) = self.mesh.cells().hanging_of(cell) {
            self.shape.interpolate_transposed(lines, u);
        }
        Ok(())
    }

    /// The metric of `-div(∂F/∂p(x, ∇u) ∇w) + s w`, as [`CellOperator`] has it.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) unless the derivative is symmetric positive definite.
    pub fn linearize<T: Scalar, U: Scalar>(&self, u: &[U], metric: &mut [T]) -> Result<()> {
        let (dim, geometry) = (self.mesh.dim(), self.geometry()?);
        let of_cell = |(own, workspace): &mut (Vec<f64>, Workspace<f64>), cell: usize, metric: &mut [T]| {
            self.read(cell, u, own);
            self.shape.evaluate(own, workspace);
            set_metric(&geometry, dim, self.reaction, cell, metric, |q, place| {
                let gradient = place.jacobian.inverse().transpose() * workspace.gradient(q);
                let derivative = self.flux.derivative(place.point, gradient);
                check_tensor("the derivative of the flux", derivative, dim, place.point)
            })
        };
        try_map_chunks(metric, words(dim) * self.mesh.cells().nodes_a_cell(), Default::default, of_cell)?;
        Ok(())
    }
}
