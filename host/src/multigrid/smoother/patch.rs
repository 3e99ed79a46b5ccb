//! Multiplicative vertex patches, and the exact solver of one patch.

use super::Smoother;
use crate::backend::{Backend, Scalar};
use crate::error::Result;
use crate::operator::{Preconditioner, SpaceOn};
use crate::space::Space;
use patchmg_device::patch::{bit, color_count};
use std::sync::Arc;

/// Multiplicative vertex-patch smoother (paper 1, algorithm 2.3): color after color, every patch of it solves its local
/// problem exactly, `x += R_jᵀ A_j⁻¹ R_j (b - A x)`.
///
/// Colors ascend, `color = cx + 2 cy + 4 cz`. The adjoint step visits them in descending order.
pub struct PatchSmoother<B: Backend, S: Scalar> {
    on: Arc<SpaceOn<B, S>>,
    colors: Vec<usize>,
}

impl<B: Backend, S: Scalar> PatchSmoother<B, S> {
    /// On a space that is ready.
    pub fn new(on: &Arc<SpaceOn<B, S>>) -> Self {
        Self { on: on.clone(), colors: colors(&on.space) }
    }

    fn sweep(&self, colors: impl Iterator<Item = usize>, b: &B::Vector<S>, x: &mut B::Vector<S>) -> Result<()> {
        for color in colors {
            self.on.backend.smooth_color(&self.on.tables, color, b, x)?;
        }
        Ok(())
    }
}

impl<B: Backend, S: Scalar> Smoother<B, S> for PatchSmoother<B, S> {
    fn step(&mut self, b: &B::Vector<S>, x: &mut B::Vector<S>) -> Result<()> {
        self.sweep(self.colors.iter().copied(), b, x)
    }

    fn step_adjoint(&mut self, b: &B::Vector<S>, x: &mut B::Vector<S>) -> Result<()> {
        self.sweep(self.colors.iter().rev().copied(), b, x)
    }

    fn step_after_prolongation(
        &mut self,
        fine: &SpaceOn<B, S>,
        coarse: &B::Vector<S>,
        b: &B::Vector<S>,
        x: &mut B::Vector<S>,
    ) -> Result<()> {
        fine.backend.prolongate_and_smooth_first(&fine.tables, coarse, b, x)?;
        self.sweep(self.colors[1..].iter().copied(), b, x)
    }
}

/// Colors that have a patch: the coarsest level has one of color 0 alone.
pub(super) fn colors(space: &Space) -> Vec<usize> {
    let (dim, cells) = (space.dim(), space.mesh().cells_per_direction());
    let has_patches = |color: &usize| (0..dim).all(|d| color_count(cells, bit(*color as u32, d)) > 0);
    (0..1 << dim).filter(has_patches).collect()
}

/// Exact solver of the coarsest level: one step of the patch smoother, there being one patch.
pub struct PatchSolver<B: Backend, S: Scalar> {
    on: Arc<SpaceOn<B, S>>,
    smoother: PatchSmoother<B, S>,
}

impl<B: Backend, S: Scalar> PatchSolver<B, S> {
    /// On a space of one patch that is ready.
    pub fn new(on: &Arc<SpaceOn<B, S>>) -> Self {
        Self { on: on.clone(), smoother: PatchSmoother::new(on) }
    }
}

impl<B: Backend, S: Scalar> Preconditioner<B, S> for PatchSolver<B, S> {
    fn apply(&mut self, r: &B::Vector<S>, z: &mut B::Vector<S>) -> Result<()> {
        self.on.backend.set_zero(z)?;
        self.smoother.step(r, z)
    }

    fn is_symmetric(&self) -> bool {
        true
    }
}
