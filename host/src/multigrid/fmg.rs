//! Full multigrid (paper 1, algorithm 2.2).

use super::level::{Level, Scheme};
use super::transfer::Transfer;
use super::vcycle::{Multigrid, VCycle, v_cycle};
use crate::backend::{Backend, Scalar};
use crate::error::Result;
use crate::krylov::{Info, Richardson, Solver, Stopping};
use crate::operator::{LinearOperator, Preconditioner};

/// A preconditioner that can also start from the coarsest level.
pub trait FullCycle<B: Backend, T: Scalar>: Preconditioner<B, T> {
    /// `x ≈ A⁻¹ b`, whatever was in `x`: solves on the coarsest level, then on every finer one prolongates and does a
    /// V-cycle.
    fn full_cycle(&mut self, b: &B::Vector<T>, x: &mut B::Vector<T>) -> Result<()>;
}

impl<B: Backend, S: Scalar, C: Scheme<B, S>> FullCycle<B, S> for Multigrid<B, S, C> {
    fn full_cycle(&mut self, b: &B::Vector<S>, x: &mut B::Vector<S>) -> Result<()> {
        f_cycle(self.cycle, &mut self.coarse_solver, &mut self.levels, b, x)
    }
}

/// The levels below hold `b_{l-1} = Pᵀ b_l`, which is the load vector there because the spaces are nested; a V-cycle
/// overwrites only those below its own.
fn f_cycle<B: Backend, S: Scalar, C: Scheme<B, S>>(
    cycle: VCycle,
    coarse_solver: &mut C::CoarseSolver,
    levels: &mut [Level<B, S, C>],
    b: &B::Vector<S>,
    x: &mut B::Vector<S>,
) -> Result<()> {
    let Some((level, coarser)) = levels.split_last_mut() else {
        return coarse_solver.apply(b, x);
    };
    level.operator.backend().set_zero(x)?;
    level.transfer.restrict_residual(b, x, &mut level.coarse_b)?;
    f_cycle(cycle, coarse_solver, coarser, &level.coarse_b, &mut level.coarse_x)?;
    level.transfer.prolongate_add(&level.coarse_x, x)?;
    v_cycle(cycle, coarse_solver, levels, b, x)
}

/// Full multigrid: a first pass through the levels, then V-cycles on the finest one, at least one.
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
impl<B, T, A, M> Solver<B, T, A, M> for Fmg<B, T>
where
    B: Backend,
    T: Scalar,
    A: LinearOperator<B, T>,
    M: FullCycle<B, T>,
{
    fn solve(
        &mut self,
        operator: &A,
        multigrid: &mut M,
        b: &B::Vector<T>,
        x: &mut B::Vector<T>,
        stopping: &Stopping,
        observer: &mut dyn FnMut(usize, f64),
    ) -> Result<Info> {
        stopping.check()?;
        multigrid.full_cycle(b, x)?;
        self.iteration.solve_at_least(1, operator, multigrid, b, x, stopping, observer)
    }
}
