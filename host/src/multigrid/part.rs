//! Parts of a V-cycle on one level, each to be done alone.

use super::level::SmoothedLevel;
use super::vcycle::{Multigrid, Start, v_cycle};
use crate::backend::{Backend, Scalar};
use crate::error::{Result, invalid};
use crate::level::Level;

/// What a V-cycle does on a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LevelPart {
    /// The steps before the coarse correction, from zero.
    Smoothing,
    /// Restriction of the residual that they leave.
    Restriction,
    /// Prolongation of the coarse correction.
    Prolongation,
    /// The solution on the coarsest level.
    Solution,
    /// The V-cycle from this level down, from zero.
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
            [finer, ..] if part == LevelPart::Cycle => {
                return finer.coarse_cycle(*cycle, coarsest, below, Start::Zero);
            }
            [SmoothedLevel { coarse_b, coarse_x, .. }, ..] => (&*coarse_b, coarse_x),
            [] => (b, x),
        };
        match (part, below.last_mut()) {
            (LevelPart::Cycle, _) => v_cycle(*cycle, coarsest, below, Start::Zero, b, x),
            (LevelPart::Solution, None) => coarsest.solve(b, x),
            (LevelPart::Smoothing, Some(own)) => own.pre_smooth(*cycle, Start::Zero, b, x),
            (LevelPart::Restriction, Some(own)) => own.level.restrict_residual_of_smoothed(b, x, &mut own.coarse_b),
            (LevelPart::Prolongation, Some(own)) => own.level.prolongate_add(&own.coarse_x, x),
            (LevelPart::Solution, Some(_)) => Err(invalid("level to solve on", level, "0")),
            (_, None) => Err(invalid("level with a coarser one", level, format_args!("1 to {}", above.len()))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{SmootherConfig, VCycle};
    use super::*;
    use crate::backend::cpu::Cpu;
    use crate::forest::{Adaptation, CoarseMesh, Forest};
    use crate::operator::Preconditioner;
    use crate::system::elliptic::{Elliptic, Equation};
    use crate::testing::{assert_close, random};
    use std::sync::Arc;

    /// A V-cycle without steps after the coarse correction, on levels of which little is smoothed.
    #[test]
    fn parts_make_a_cycle() {
        let mut forest = Forest::new(CoarseMesh::l_shape(2).unwrap()).refine_uniformly(2).unwrap();
        for _ in 0..2 {
            let flag = |leaf| if leaf < 5 { Adaptation::Refine } else { Adaptation::Keep };
            forest = forest.adapt(&(0..forest.leaves().len()).map(flag).collect::<Vec<_>>()).unwrap();
        }
        let system = Elliptic::new(&forest, 3, Equation::default()).unwrap();
        let cpu = Arc::new(Cpu::new(None).unwrap());
        for smoother in [SmootherConfig::chebyshev(), SmootherConfig::chebyshev_fourth_kind(), SmootherConfig::jacobi()]
        {
            let cycle = VCycle { post: 0, ..VCycle::default() };
            let mut multigrid = Multigrid::<Cpu, f64>::new(&cpu, &system, &smoother, cycle).unwrap();
            let finest = multigrid.levels.len();
            let level = multigrid.level(finest).unwrap();
            let values = random(level.storage(), 3);
            let b = level.vector_of(&mut |dof| values[dof]).unwrap();
            let [mut expected, mut found, mut from_zero] = [0; 3].map(|_| level.vector().unwrap());
            multigrid.apply(&b, &mut expected).unwrap();
            for (level, part) in [
                (finest, LevelPart::Smoothing),
                (finest, LevelPart::Restriction),
                (finest - 1, LevelPart::Cycle),
                (finest, LevelPart::Prolongation),
            ] {
                multigrid.run_part(level, part, &b, &mut found).unwrap();
            }
            assert_eq!(found[..], expected[..], "{smoother:?}");
            // The same from a zero that nobody knows of, by products of whole vectors.
            multigrid.cycle(&b, &mut from_zero).unwrap();
            assert_close(&format!("{smoother:?}"), &from_zero, &expected, 1e-13);
        }
    }
}
