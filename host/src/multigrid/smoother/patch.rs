//! Multiplicative vertex patches.

use super::Smoother;
use crate::backend::{Backend, Scalar};
use crate::error::Result;
use crate::level::{Level, Patches, SharedLevel};

/// Multiplicative vertex-patch smoother (paper 1, algorithm 2.3): color after color, every patch of it solves its local
/// problem exactly, `x += R_jᵀ A_j⁻¹ R_j (b - A x)`.
///
/// Colors ascend, `color = cx + 2 cy + 4 cz`. The adjoint step visits them in descending order.
pub struct PatchSmoother<B: Backend, S: Scalar> {
    level: SharedLevel<B, S>,
    /// The colors in descending order.
    descending: Vec<usize>,
    /// Whether it smooths on [`Level::patches_of_corrections`] alone.
    smooths_corrections: bool,
}

impl<B: Backend, S: Scalar> PatchSmoother<B, S> {
    /// On a level.
    ///
    /// # Errors
    /// Those of [`Level::patches`].
    pub fn new(level: &SharedLevel<B, S>) -> Result<Self> {
        let descending = level.patches()?.colors().iter().rev().copied().collect();
        Ok(Self { level: level.clone(), descending, smooths_corrections: false })
    }

    /// Calls `work` with the patches that it smooths on.
    fn with_patches(&self, work: impl FnOnce(&dyn Patches<B, S>) -> Result<()>) -> Result<()> {
        let of_corrections = if self.smooths_corrections { self.level.patches_of_corrections() } else { None };
        match of_corrections {
            Some(patches) => work(&*patches),
            None => work(self.level.patches()?),
        }
    }
}

impl<B: Backend, S: Scalar> Smoother<B, S> for PatchSmoother<B, S> {
    fn step(&mut self, b: &B::Vector<S>, x: &mut B::Vector<S>) -> Result<()> {
        self.with_patches(|patches| patches.smooth_colors(patches.colors(), b, x))
    }

    fn step_adjoint(&mut self, b: &B::Vector<S>, x: &mut B::Vector<S>) -> Result<()> {
        self.with_patches(|patches| patches.smooth_colors(&self.descending, b, x))
    }

    fn of_corrections(&self) -> Option<Box<dyn Smoother<B, S>>> {
        self.level.patches_of_corrections()?;
        let (level, descending) = (self.level.clone(), self.descending.clone());
        Some(Box::new(Self { level, descending, smooths_corrections: true }))
    }

    fn is_fixed(&self) -> bool {
        true
    }

    fn level(&self) -> &dyn Level<B, S> {
        &*self.level
    }

    fn step_after_prolongation(&mut self, coarse: &B::Vector<S>, b: &B::Vector<S>, x: &mut B::Vector<S>) -> Result<()> {
        self.with_patches(|patches| patches.prolongate_and_smooth(coarse, b, x))
    }
}
