//! Multiplicative vertex patches.

use super::Smoother;
use crate::backend::{Backend, Scalar};
use crate::error::Result;
use crate::level::{Level, SharedLevel};

/// Multiplicative vertex-patch smoother (paper 1, algorithm 2.3): color after color, every patch of it solves its local
/// problem exactly, `x += R_jᵀ A_j⁻¹ R_j (b - A x)`.
///
/// Colors ascend, `color = cx + 2 cy + 4 cz`. The adjoint step visits them in descending order.
pub struct PatchSmoother<B: Backend, S: Scalar> {
    level: SharedLevel<B, S>,
    /// The colors in descending order.
    descending: Vec<usize>,
}

impl<B: Backend, S: Scalar> PatchSmoother<B, S> {
    /// On a level.
    ///
    /// # Errors
    /// Those of [`Level::patches`].
    pub fn new(level: &SharedLevel<B, S>) -> Result<Self> {
        let descending = level.patches()?.colors().iter().rev().copied().collect();
        Ok(Self { level: level.clone(), descending })
    }
}

impl<B: Backend, S: Scalar> Smoother<B, S> for PatchSmoother<B, S> {
    fn step(&mut self, b: &B::Vector<S>, x: &mut B::Vector<S>) -> Result<()> {
        let patches = self.level.patches()?;
        patches.smooth_colors(patches.colors(), b, x)
    }

    fn step_adjoint(&mut self, b: &B::Vector<S>, x: &mut B::Vector<S>) -> Result<()> {
        self.level.patches()?.smooth_colors(&self.descending, b, x)
    }

    fn is_fixed(&self) -> bool {
        true
    }

    fn level(&self) -> &dyn Level<B, S> {
        &*self.level
    }

    fn step_after_prolongation(&mut self, coarse: &B::Vector<S>, b: &B::Vector<S>, x: &mut B::Vector<S>) -> Result<()> {
        self.level.patches()?.prolongate_and_smooth(coarse, b, x)
    }
}
