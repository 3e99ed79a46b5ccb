//! What Chebyshev iterations are preconditioned by.

use crate::backend::{Backend, Scalar};
use crate::error::Result;
use crate::level::Level;

/// A symmetric preconditioner `P` of a level.
pub(super) enum Preconditioning<B: Backend, S: Scalar> {
    /// The inverse diagonal.
    Diagonal(B::Vector<S>),
    /// [Patches of cells](Level::cell_patches), which the level has.
    CellPatches,
}

impl<B: Backend, S: Scalar> Preconditioning<B, S> {
    /// `y = α P r + β y`, of the diagonal for the first entries, so many: those behind the [smoothed](Level::smoothed_entries) ones may
    /// be left out where they are zero before and after it.
    pub fn axpby(
        &self,
        level: &dyn Level<B, S>,
        entries: usize,
        alpha: f64,
        r: &B::Vector<S>,
        beta: f64,
        y: &mut B::Vector<S>,
    ) -> Result<()> {
        match self {
            Self::Diagonal(inverse) => level.backend().diagonal_axpby_first(entries, alpha, inverse, r, beta, y),
            Self::CellPatches => level.cell_patches()?.apply_axpby(alpha, r, beta, y),
        }
    }

    /// For the level's operator, which has changed.
    ///
    /// # Errors
    /// Those of a level that cannot be linearized: one with patches of cells never can.
    pub fn update(&mut self, level: &dyn Level<B, S>) -> Result<()> {
        match self {
            Self::Diagonal(inverse) => level.nonlinear()?.update_inverse_diagonal(inverse),
            Self::CellPatches => level.cell_patches().map(drop),
        }
    }
}
