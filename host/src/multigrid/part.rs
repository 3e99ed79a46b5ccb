//! Parts of a V-cycle on one level, each to be done alone.

use super::level::SmoothedLevel;
use super::vcycle::{Multigrid, v_cycle};
use crate::backend::{Backend, Scalar};
use crate::error::{Result, invalid};
use crate::level::Level;

/// What a V-cycle does on a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LevelPart {
    /// The steps before the coarse correction.
    Smoothing,
    /// Restriction of the residual.
    Restriction,
    /// Prolongation of the coarse correction.
    Prolongation,
    /// The solution on the coarsest level.
    Solution,
    /// The V-cycle from this level down.
    Cycle,
}

impl<B: Backend, S: Scalar> Multigrid<B, S> {
    /// A level, the coarsest being 0; none above the finest.
    pub fn level(&self, level: usize) -> Option<&dyn Level<B, S>> {
        match level.checked_sub(1) {
            None => Some(self.coarsest.level()),
            Some(above) => self.levels.get(above).map(|own| &*own.level),
        }
    }

    /// Does a part once, on the vectors that the hierarchy has for the level, or on `b` and `x` of the finest.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) for a level that there is not or that has no such part; those of the
    /// machine.
    pub fn run_part(&mut self, level: usize, part: LevelPart, b: &B::Vector<S>, x: &mut B::Vector<S>) -> Result<()> {
        let Self { cycle, coarsest, levels, .. } = self;
        if level > levels.len() {
            return Err(invalid("level", level, format_args!("0 to {}", levels.len())));
        }
        let (below, above) = levels.split_at_mut(level);
        let (b, x) = match above {
            [finer, ..] if part == LevelPart::Cycle => return finer.coarse_cycle(*cycle, coarsest, below),
            [SmoothedLevel { coarse_b, coarse_x, .. }, ..] => (&*coarse_b, coarse_x),
            [] => (b, x),
        };
        match (part, below.last_mut()) {
            (LevelPart::Cycle, _) => v_cycle(*cycle, coarsest, below, b, x),
            (LevelPart::Solution, None) => coarsest.solve(b, x),
            (LevelPart::Smoothing, Some(own)) => own.pre_smooth(*cycle, b, x),
            (LevelPart::Restriction, Some(own)) => own.level.restrict_residual(b, x, &mut own.coarse_b),
            (LevelPart::Prolongation, Some(own)) => own.level.prolongate_add(&own.coarse_x, x),
            (LevelPart::Solution, Some(_)) => Err(invalid("level to solve on", level, "0")),
            (_, None) => Err(invalid("level with a coarser one", level, format_args!("1 to {}", above.len()))),
        }
    }
}
