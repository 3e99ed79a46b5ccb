//! Point Gauss-Seidel.

use super::Smoother;
use crate::backend::{Backend, Scalar};
use crate::error::Result;
use crate::level::{Level, SharedLevel};

/// Gauss-Seidel dof by dof, in the order of the machine: see [`Level::point_gauss_seidel`]. The adjoint step takes the
/// opposite order.
pub struct PointGaussSeidel<B: Backend, S: Scalar> {
    level: SharedLevel<B, S>,
}

impl<B: Backend, S: Scalar> PointGaussSeidel<B, S> {
    /// On a level.
    pub fn new(level: &SharedLevel<B, S>) -> Self {
        Self { level: level.clone() }
    }
}

impl<B: Backend, S: Scalar> Smoother<B, S> for PointGaussSeidel<B, S> {
    fn step(&mut self, b: &B::Vector<S>, x: &mut B::Vector<S>) -> Result<()> {
        self.level.point_gauss_seidel(b, x, false)
    }

    fn step_adjoint(&mut self, b: &B::Vector<S>, x: &mut B::Vector<S>) -> Result<()> {
        self.level.point_gauss_seidel(b, x, true)
    }

    fn is_fixed(&self) -> bool {
        true
    }

    fn level(&self) -> &dyn Level<B, S> {
        &*self.level
    }
}
