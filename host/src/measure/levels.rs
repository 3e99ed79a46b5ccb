//! Times of a V-cycle's parts level by level.

use crate::backend::{Backend, Scalar};
use crate::error::Result;
use crate::level::Level;
use crate::measure::{Protocol, Timing, measure};
use crate::multigrid::{LevelPart, Multigrid};
use serde::{Deserialize, Serialize};

/// How long a V-cycle's parts take on one level. The coarsest has a solution in place of smoothing and transfers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LevelTimes {
    /// The coarsest is 0.
    pub level: usize,
    /// Unknowns.
    pub dofs: usize,
    /// `y = A x`.
    pub operator: Timing,
    /// The steps before the coarse correction.
    pub smoothing: Option<Timing>,
    /// Restriction of the residual to the next coarser level.
    pub restriction: Option<Timing>,
    /// Prolongation from there.
    pub prolongation: Option<Timing>,
    /// On the coarsest level.
    pub solution: Option<Timing>,
    /// The V-cycle from this level down. On a GPU those below the finest are recorded, which saves time between launches; parts alone
    /// are launched one by one.
    pub cycle: Timing,
}

/// Of all levels, coarse to fine, with so many unknowns each: on the vectors that a V-cycle for `b` left there.
///
/// # Errors
/// Those of the machine and of [`Protocol::check`].
pub(super) fn levels<B: Backend, S: Scalar>(
    multigrid: &mut Multigrid<B, S>,
    dofs: &[usize],
    b: &B::Vector<S>,
    x: &mut B::Vector<S>,
    protocol: Protocol,
) -> Result<Vec<LevelTimes>> {
    let mut times = Vec::new();
    for (level, &dofs) in dofs.iter().enumerate() {
        let Some(own) = multigrid.level(level) else { break };
        let (operator, backend) = (operator(own, protocol)?, own.backend().clone());
        let mut time = |part| measure(&*backend, protocol, || multigrid.run_part(level, part, b, x));
        let mut above_coarsest = |part| (level > 0).then(|| time(part)).transpose();
        let smoothing = above_coarsest(LevelPart::Smoothing)?;
        let restriction = above_coarsest(LevelPart::Restriction)?;
        let prolongation = above_coarsest(LevelPart::Prolongation)?;
        let solution = if level == 0 { Some(time(LevelPart::Solution)?) } else { None };
        let cycle = time(LevelPart::Cycle)?;
        times.push(LevelTimes { level, dofs, operator, smoothing, restriction, prolongation, solution, cycle });
    }
    Ok(times)
}

fn operator<B: Backend, S: Scalar>(level: &dyn Level<B, S>, protocol: Protocol) -> Result<Timing> {
    let x = level.vector_of(&mut |unknown| (unknown % 11) as f64 - 5.0)?;
    let mut y = level.vector()?;
    measure(&**level.backend(), protocol, || level.apply(&x, &mut y))
}

#[cfg(test)]
mod tests {
    use super::super::parts;
    use super::*;
    use crate::backend::cpu::Cpu;
    use crate::mesh::Mesh;
    use crate::solve::Config;
    use crate::system::{Poisson, System};
    use std::sync::Arc;

    #[test]
    fn all_levels_are_timed() {
        let cpu = Arc::new(Cpu::new(Some(1)).unwrap());
        let system = Poisson::continuous(Mesh::unit_cube(2, 3).unwrap(), 2).unwrap();
        let levels = parts(&cpu, &system, &Config::default(), Protocol::ONCE).unwrap().levels;
        let dofs: Vec<[usize; 2]> = levels.iter().map(|times| [times.level, times.dofs]).collect();
        assert_eq!(dofs, [[0, 9], [1, 49], [2, 225]]);
        for times in levels {
            assert_eq!(times.solution.is_some(), times.level == 0);
            let of_transfers = [times.smoothing, times.restriction, times.prolongation];
            assert!(of_transfers.iter().all(|timing| timing.is_some() == (times.level > 0)));
        }
    }

    #[test]
    fn a_level_that_there_is_not_is_refused() {
        let cpu = Arc::new(Cpu::new(Some(1)).unwrap());
        let system = Poisson::continuous(Mesh::unit_cube(2, 2).unwrap(), 1).unwrap();
        let mut multigrid =
            Multigrid::<Cpu, f64>::new(&cpu, &system, &Config::default().smoother, Default::default()).unwrap();
        let (b, mut x) = (cpu.zeros(system.layout().storage()).unwrap(), cpu.zeros(system.layout().storage()).unwrap());
        for (level, part) in [(2, LevelPart::Cycle), (1, LevelPart::Solution), (0, LevelPart::Smoothing)] {
            assert!(multigrid.run_part(level, part, &b, &mut x).is_err(), "{part:?} on level {level}");
        }
    }
}
