//! Damped Jacobi iteration.

use super::Smoother;
use crate::backend::{Backend, Scalar};
use crate::error::Result;
use crate::level::{Level, SharedLevel};
use crate::operator::vector_bytes;

/// `x += ω D⁻¹ (b - A x)`, `D` being the diagonal of `A`.
pub struct Jacobi<B: Backend, S: Scalar> {
    level: SharedLevel<B, S>,
    damping: f64,
    inverse_diagonal: B::Vector<S>,
    residual: B::Vector<S>,
}

impl<B: Backend, S: Scalar> Jacobi<B, S> {
    /// Bytes of the vectors that [`Self::new`] allocates, for vectors of `storage` entries.
    pub fn bytes(storage: usize) -> u64 {
        vector_bytes::<S>(2, storage)
    }

    /// On a level, with damping `ω`.
    ///
    /// # Errors
    /// Those of [`Level::inverse_diagonal`] and [`Backend::zeros`].
    pub fn new(level: &SharedLevel<B, S>, damping: f64) -> Result<Self> {
        let (inverse_diagonal, residual) = (level.inverse_diagonal()?, level.vector()?);
        Ok(Self { level: level.clone(), damping, inverse_diagonal, residual })
    }
}

impl<B: Backend, S: Scalar> Smoother<B, S> for Jacobi<B, S> {
    fn step(&mut self, b: &B::Vector<S>, x: &mut B::Vector<S>) -> Result<()> {
        self.level.smoothed_residual(b, x, &mut self.residual)?;
        let Self { level, damping, inverse_diagonal, residual } = self;
        level.backend().diagonal_axpby_first(level.smoothed_entries(), *damping, inverse_diagonal, residual, 1.0, x)
    }

    fn step_from_zero(&mut self, b: &B::Vector<S>, x: &mut B::Vector<S>) -> Result<()> {
        let Self { level, damping, inverse_diagonal, .. } = self;
        level.backend().set_zero(x)?;
        level.backend().diagonal_axpby_first(level.smoothed_entries(), *damping, inverse_diagonal, b, 0.0, x)
    }

    fn step_adjoint(&mut self, b: &B::Vector<S>, x: &mut B::Vector<S>) -> Result<()> {
        self.step(b, x)
    }

    fn update(&mut self) -> Result<()> {
        self.level.nonlinear()?.update_inverse_diagonal(&mut self.inverse_diagonal)
    }

    fn is_fixed(&self) -> bool {
        true
    }

    fn level(&self) -> &dyn Level<B, S> {
        &*self.level
    }
}
