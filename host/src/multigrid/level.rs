//! The levels of a hierarchy, with their smoothers and vectors.

use super::repeated::Repeated;
use super::smoother::Smoother;
use crate::backend::{Backend, Scalar};
use crate::error::Result;
use crate::level::SharedLevel;
use crate::space::Space;
use crate::system::Runs;
use patchmg_device::kernels::PatchKernel;
use std::sync::Arc;

/// A level above the coarsest. The vectors are those of the next coarser one.
pub struct SmoothedLevel<B: Backend, S: Scalar> {
    /// `A`, and the transfer to and from the next coarser level.
    pub level: SharedLevel<B, S>,
    /// Smoother of `A`.
    pub smoother: Box<dyn Smoother<B, S>>,
    /// Right-hand side of the next coarser level.
    pub(super) coarse_b: B::Vector<S>,
    /// Solution, or correction, on the next coarser level.
    pub(super) coarse_x: B::Vector<S>,
    /// The V-cycle on these two.
    pub(super) coarse_cycle: Repeated<B>,
}

impl<B: Backend, S: Scalar> SmoothedLevel<B, S> {
    /// A level above `coarse`.
    pub(super) fn new(
        level: &SharedLevel<B, S>,
        coarse: &SharedLevel<B, S>,
        smoother: Box<dyn Smoother<B, S>>,
    ) -> Result<Self> {
        Ok(Self {
            level: level.clone(),
            smoother,
            coarse_b: coarse.vector()?,
            coarse_x: coarse.vector()?,
            coarse_cycle: Repeated::unrecorded(),
        })
    }
}

/// The spaces of all levels, from two cells a direction to those of `finest`.
///
/// # Errors
/// Those of [`Space::new`].
pub fn hierarchy(finest: &Space) -> Result<Vec<Space>> {
    let mut spaces = vec![finest.clone()];
    while let Some(coarser) = spaces[spaces.len() - 1].coarser() {
        spaces.push(coarser?);
    }
    spaces.reverse();
    Ok(spaces)
}

/// The levels of `finest` and all coarser spaces on a machine, coarse to fine; `kernel` is what a patch smoother uses.
///
/// # Errors
/// Those of [`hierarchy`] and of [`Runs::level`].
pub fn levels<B: Runs, S: Scalar>(
    backend: &Arc<B>,
    finest: &Space,
    kernel: PatchKernel,
) -> Result<Vec<SharedLevel<B, S>>> {
    hierarchy(finest)?.iter().map(|space| backend.level(space, kernel)).collect()
}
