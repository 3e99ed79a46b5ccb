//! The coarsest level.

use crate::backend::{Backend, Scalar};
use crate::error::Result;
use crate::level::SharedLevel;
use crate::operator::Preconditioner;

/// Exact solver of the coarsest level, by [`Level::solve`](crate::level::Level::solve).
pub struct CoarseSolver<B: Backend, S: Scalar> {
    level: SharedLevel<B, S>,
}

impl<B: Backend, S: Scalar> CoarseSolver<B, S> {
    /// On the coarsest level.
    pub fn new(level: &SharedLevel<B, S>) -> Self {
        Self { level: level.clone() }
    }
}

impl<B: Backend, S: Scalar> Preconditioner<B, S> for CoarseSolver<B, S> {
    fn apply(&mut self, r: &B::Vector<S>, z: &mut B::Vector<S>) -> Result<()> {
        self.level.solve(r, z)
    }

    fn is_symmetric(&self) -> bool {
        true
    }
}
