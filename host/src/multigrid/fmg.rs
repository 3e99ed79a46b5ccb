//! Full multigrid (paper 1, algorithm 2.2).

use super::coarsest::Coarsest;
use super::level::SmoothedLevel;
use super::vcycle::{Multigrid, Start, VCycle};
use crate::backend::{Backend, Scalar};
use crate::error::Result;
use crate::krylov::{Info, IterativeSolver, Observer, Richardson, Stopping};
use crate::operator::{LinearOperator, Preconditioner};

/// A preconditioner that can also guess a solution on its coarser levels.
pub trait NestedIteration<B: Backend, T: Scalar>: Preconditioner<B, T> {
    /// `x = P x_{L-1}`, whatever was in `x`; `x_{L-1}` comes from the coarsest level, where it is exact, by a V-cycle on
    /// each finer one but the finest.
    fn initial_guess(&mut self, b: &B::Vector<T>, x: &mut B::Vector<T>) -> Result<()>;
}

impl<B: Backend, S: Scalar> NestedIteration<B, S> for Multigrid<B, S> {
    fn initial_guess(&mut self, b: &B::Vector<S>, x: &mut B::Vector<S>) -> Result<()> {
        self.backend.set_zero(x)?;
        guess(self.cycle, &mut self.coarsest, &mut self.levels, b, x)
    }
}

/// Adds to `x = 0`. The right-hand sides are `b_{l-1} = Pᵀ b_l`, the load vectors there because the spaces are nested (with
/// the finer level's penalty, where boundary values enter by one); a V-cycle overwrites only those below its own.
fn guess<B: Backend, S: Scalar>(
    cycle: VCycle,
    coarsest: &mut Coarsest<B, S>,
    levels: &mut [SmoothedLevel<B, S>],
    b: &B::Vector<S>,
    x: &mut B::Vector<S>,
) -> Result<()> {
    let Some((level, coarser)) = levels.split_last_mut() else {
        return Ok(());
    };
    level.level.restrict_load(b, x, &mut level.coarse_b)?;
    level.level.backend().set_zero(&mut level.coarse_x)?;
    guess(cycle, coarsest, coarser, &level.coarse_b, &mut level.coarse_x)?;
    level.coarse_cycle(cycle, coarsest, coarser, Start::Given)?;
    level.level.prolongate_add(&level.coarse_x, x)
}

/// Full multigrid: a first pass through the levels, then V-cycles on the finest one, at least one.
///
/// All V-cycles on the finest level correct `b - A x`, so that a multigrid in lower precision loses nothing in the first
/// pass either.
pub struct Fmg<B: Backend, T: Scalar> {
    iteration: Richardson<B, T>,
}

impl<B: Backend, T: Scalar> Fmg<B, T> {
    /// Bytes of the vectors that [`Self::new`] allocates, for vectors of `storage` entries.
    pub fn bytes(storage: usize) -> u64 {
        Richardson::<B, T>::bytes(storage)
    }

    /// With its vectors.
    ///
    /// # Errors
    /// Those of [`Backend::zeros`].
    pub fn new(operator: &impl LinearOperator<B, T>) -> Result<Self> {
        Ok(Self { iteration: Richardson::new(operator)? })
    }
}

/// Starts from nothing: what was in `x` is not used. Entry 0 of the history is the residual after the first pass;
/// `iterations` counts the V-cycles after it.
impl<B, T, A, M> IterativeSolver<B, T, A, M> for Fmg<B, T>
where
    B: Backend,
    T: Scalar,
    A: LinearOperator<B, T>,
    M: NestedIteration<B, T>,
{
    fn solve(
        &mut self,
        operator: &A,
        multigrid: &mut M,
        b: &B::Vector<T>,
        x: &mut B::Vector<T>,
        stopping: &Stopping,
        observer: &mut Observer,
    ) -> Result<Info> {
        stopping.check()?;
        multigrid.initial_guess(b, x)?;
        self.iteration.step(operator, multigrid, b, x)?;
        self.iteration.solve_at_least(1, operator, multigrid, b, x, stopping, observer)
    }

    /// Without the first pass.
    fn solve_from(
        &mut self,
        operator: &A,
        multigrid: &mut M,
        b: &B::Vector<T>,
        x: &mut B::Vector<T>,
        stopping: &Stopping,
        observer: &mut Observer,
    ) -> Result<Info> {
        self.iteration.solve_from(operator, multigrid, b, x, stopping, observer)
    }
}
