//! Point Gauss-Seidel.

use super::Smoother;
use crate::backend::{Backend, Scalar};
use crate::error::Result;
use crate::operator::SpaceOn;
use std::sync::Arc;

/// Gauss-Seidel dof by dof, in the order of the machine: see [`Backend::point_gauss_seidel`]. The adjoint step takes the
/// opposite order.
pub struct PointGaussSeidel<B: Backend, S: Scalar> {
    on: Arc<SpaceOn<B, S>>,
}

impl<B: Backend, S: Scalar> PointGaussSeidel<B, S> {
    /// On a space that is ready.
    pub fn new(on: &Arc<SpaceOn<B, S>>) -> Self {
        Self { on: on.clone() }
    }
}

impl<B: Backend, S: Scalar> Smoother<B, S> for PointGaussSeidel<B, S> {
    fn step(&mut self, b: &B::Vector<S>, x: &mut B::Vector<S>) -> Result<()> {
        self.on.backend.point_gauss_seidel(&self.on.tables, b, x, false)
    }

    fn step_adjoint(&mut self, b: &B::Vector<S>, x: &mut B::Vector<S>) -> Result<()> {
        self.on.backend.point_gauss_seidel(&self.on.tables, b, x, true)
    }
}
