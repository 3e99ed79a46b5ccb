//! Additive vertex patches.

use super::Smoother;
use crate::backend::{Backend, Scalar};
use crate::error::Result;
use crate::level::{Level, SharedLevel};
use crate::operator::vector_bytes;

/// Additive vertex-patch smoother: all patches solve for the same residual, `x += ω Σ_j R_jᵀ A_j⁻¹ R_j (b - A x)`.
pub struct AdditivePatchSmoother<B: Backend, S: Scalar> {
    level: SharedLevel<B, S>,
    damping: f64,
    residual: B::Vector<S>,
    correction: B::Vector<S>,
}

impl<B: Backend, S: Scalar> AdditivePatchSmoother<B, S> {
    /// Bytes of the vectors that [`Self::new`] allocates, for vectors of `storage` entries.
    pub fn bytes(storage: usize) -> u64 {
        vector_bytes::<S>(2, storage)
    }

    /// On a level, with damping `ω`.
    ///
    /// # Errors
    /// Those of [`Level::patches`] and [`Backend::zeros`].
    pub fn new(level: &SharedLevel<B, S>, damping: f64) -> Result<Self> {
        level.patches()?;
        Ok(Self { level: level.clone(), damping, residual: level.vector()?, correction: level.vector()? })
    }
}

impl<B: Backend, S: Scalar> Smoother<B, S> for AdditivePatchSmoother<B, S> {
    fn step(&mut self, b: &B::Vector<S>, x: &mut B::Vector<S>) -> Result<()> {
        let (backend, patches) = (self.level.backend(), self.level.patches()?);
        self.level.residual(b, x, &mut self.residual)?;
        for &color in patches.colors() {
            // From zero, the step of a color is what its patches add, for they do not overlap.
            backend.set_zero(&mut self.correction)?;
            patches.smooth_color(color, &self.residual, &mut self.correction)?;
            backend.axpby(self.damping, &self.correction, 1.0, x)?;
        }
        Ok(())
    }

    fn step_adjoint(&mut self, b: &B::Vector<S>, x: &mut B::Vector<S>) -> Result<()> {
        self.step(b, x)
    }

    fn is_fixed(&self) -> bool {
        true
    }

    fn level(&self) -> &dyn Level<B, S> {
        &*self.level
    }
}
