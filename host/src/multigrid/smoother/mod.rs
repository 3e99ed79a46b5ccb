//! Smoothers: cheap iterations that leave an error which a coarser level can see.

mod additive;
mod chebyshev;
mod config;
mod jacobi;
mod patch;
mod point;

use crate::backend::{Backend, Scalar};
use crate::error::Result;
use crate::operator::SpaceOn;

pub use additive::AdditivePatchSmoother;
pub use chebyshev::Chebyshev;
pub use config::SmootherConfig;
pub use jacobi::Jacobi;
pub use patch::{PatchSmoother, PatchSolver};
pub use point::PointGaussSeidel;

/// One step of a stationary iteration on a level.
pub trait Smoother<B: Backend, S: Scalar> {
    /// `x ← S(x, b)`.
    fn step(&mut self, b: &B::Vector<S>, x: &mut B::Vector<S>) -> Result<()>;

    /// The step whose error propagation is the `A`-adjoint of that of [`Self::step`]: the same for `x + B (b - A x)` with
    /// a symmetric `B`.
    fn step_adjoint(&mut self, b: &B::Vector<S>, x: &mut B::Vector<S>) -> Result<()>;

    /// `x ← S(x + P coarse, b)` on `fine`, with the prolongation `P` of [`Backend::prolongate_add`].
    fn step_after_prolongation(
        &mut self,
        fine: &SpaceOn<B, S>,
        coarse: &B::Vector<S>,
        b: &B::Vector<S>,
        x: &mut B::Vector<S>,
    ) -> Result<()> {
        fine.backend.prolongate_add(&fine.tables, coarse, x)?;
        self.step(b, x)
    }
}

impl<B: Backend, S: Scalar> Smoother<B, S> for Box<dyn Smoother<B, S>> {
    fn step(&mut self, b: &B::Vector<S>, x: &mut B::Vector<S>) -> Result<()> {
        (**self).step(b, x)
    }

    fn step_adjoint(&mut self, b: &B::Vector<S>, x: &mut B::Vector<S>) -> Result<()> {
        (**self).step_adjoint(b, x)
    }

    fn step_after_prolongation(
        &mut self,
        fine: &SpaceOn<B, S>,
        coarse: &B::Vector<S>,
        b: &B::Vector<S>,
        x: &mut B::Vector<S>,
    ) -> Result<()> {
        (**self).step_after_prolongation(fine, coarse, b, x)
    }
}
