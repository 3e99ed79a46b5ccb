//! Additive vertex patches.

use super::{Smoother, patch};
use crate::backend::{Backend, Scalar};
use crate::error::Result;
use crate::operator::{SpaceOn, vector_bytes};
use std::sync::Arc;

/// Additive vertex-patch smoother: all patches solve for the same residual, `x += ω Σ_j R_jᵀ A_j⁻¹ R_j (b - A x)`.
pub struct AdditivePatchSmoother<B: Backend, S: Scalar> {
    on: Arc<SpaceOn<B, S>>,
    colors: Vec<usize>,
    damping: f64,
    residual: B::Vector<S>,
    correction: B::Vector<S>,
}

impl<B: Backend, S: Scalar> AdditivePatchSmoother<B, S> {
    /// Bytes of the vectors that [`Self::new`] allocates, for vectors of `storage` entries.
    pub fn bytes(storage: usize) -> u64 {
        vector_bytes::<S>(2, storage)
    }

    /// On a space that is ready, with damping `ω`.
    ///
    /// # Errors
    /// Those of [`Backend::zeros`].
    pub fn new(on: &Arc<SpaceOn<B, S>>, damping: f64) -> Result<Self> {
        let vector = || on.backend.zeros(on.space.storage());
        let colors = patch::colors(&on.space);
        Ok(Self { on: on.clone(), colors, damping, residual: vector()?, correction: vector()? })
    }
}

impl<B: Backend, S: Scalar> Smoother<B, S> for AdditivePatchSmoother<B, S> {
    fn step(&mut self, b: &B::Vector<S>, x: &mut B::Vector<S>) -> Result<()> {
        let SpaceOn { backend, tables, .. } = &*self.on;
        backend.residual(tables, b, x, &mut self.residual)?;
        for &color in &self.colors {
            // From zero, the step of a color is what its patches add, for they do not overlap.
            backend.set_zero(&mut self.correction)?;
            backend.smooth_color(tables, color, &self.residual, &mut self.correction)?;
            backend.axpby(self.damping, &self.correction, 1.0, x)?;
        }
        Ok(())
    }

    fn step_adjoint(&mut self, b: &B::Vector<S>, x: &mut B::Vector<S>) -> Result<()> {
        self.step(b, x)
    }
}
