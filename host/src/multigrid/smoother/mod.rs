//! Smoothers: cheap iterations that leave an error which a coarser level can see.

mod additive;
mod chebyshev;
mod config;
mod fourth_kind;
mod jacobi;
mod lanczos;
mod patch;
mod point;
mod preconditioning;

use crate::backend::{Backend, Scalar};
use crate::error::Result;
use crate::level::Level;

pub use additive::AdditivePatchSmoother;
pub use chebyshev::Chebyshev;
pub use config::SmootherConfig;
pub use fourth_kind::ChebyshevFourthKind;
pub use jacobi::Jacobi;
pub use patch::PatchSmoother;
pub use point::PointGaussSeidel;

/// One step of a stationary iteration on a level.
pub trait Smoother<B: Backend, S: Scalar> {
    /// `x ← S(x, b)`.
    fn step(&mut self, b: &B::Vector<S>, x: &mut B::Vector<S>) -> Result<()>;

    /// `x ← S(0, b)`, whatever was in `x`.
    fn step_from_zero(&mut self, b: &B::Vector<S>, x: &mut B::Vector<S>) -> Result<()> {
        self.level().backend().set_zero(x)?;
        self.step(b, x)
    }

    /// The step whose error propagation is the `A`-adjoint of that of [`Self::step`]: the same for `x + B (b - A x)` with
    /// a symmetric `B`.
    fn step_adjoint(&mut self, b: &B::Vector<S>, x: &mut B::Vector<S>) -> Result<()>;

    /// Follows the level's operator, which has changed ([`NonlinearLevel`](crate::level::NonlinearLevel)). One that has no numbers
    /// of its own has nothing to do.
    ///
    /// # Errors
    /// Those of the constructor.
    fn update(&mut self) -> Result<()> {
        Ok(())
    }

    /// The smoother of corrections of the next finer level, if it has less to do than this one. A multigrid method asks for it once, and gives it the
    /// same [updates](Self::update).
    fn of_corrections(&self) -> Option<Box<dyn Smoother<B, S>>> {
        None
    }

    /// Whether a step asks the machine for the same every time, and for no result: then V-cycles are
    /// [recorded](Backend::record).
    fn is_fixed(&self) -> bool {
        false
    }

    /// The level that it smooths on.
    fn level(&self) -> &dyn Level<B, S>;

    /// `x ← S(x + P coarse, b)`, with the prolongation `P` of [`Level::prolongate_add`].
    fn step_after_prolongation(&mut self, coarse: &B::Vector<S>, b: &B::Vector<S>, x: &mut B::Vector<S>) -> Result<()> {
        self.level().prolongate_add(coarse, x)?;
        self.step(b, x)
    }
}
