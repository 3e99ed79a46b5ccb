//! Preconditioned Richardson iteration: with a V-cycle, the multigrid iteration; with one in lower precision, iterative
//! refinement.

use super::stopping::{Info, Monitor, Stopping};
use super::{IterativeSolver, Observer};
use crate::backend::{Backend, Scalar};
use crate::error::Result;
use crate::operator::{LinearOperator, Preconditioner, vector_bytes};

/// `x ← x + M (b - A x)`.
pub struct Richardson<B: Backend, T: Scalar> {
    residual: B::Vector<T>,
    correction: B::Vector<T>,
}

impl<B: Backend, T: Scalar> Richardson<B, T> {
    /// Bytes of the vectors that [`Self::new`] allocates, for vectors of `storage` entries.
    pub fn bytes(storage: usize) -> u64 {
        vector_bytes::<T>(2, storage)
    }

    /// With its vectors.
    ///
    /// # Errors
    /// Those of [`Backend::zeros`].
    pub fn new(operator: &impl LinearOperator<B, T>) -> Result<Self> {
        Ok(Self { residual: operator.vector()?, correction: operator.vector()? })
    }

    /// One step, not recorded.
    pub(crate) fn step(
        &mut self,
        operator: &impl LinearOperator<B, T>,
        preconditioner: &mut impl Preconditioner<B, T>,
        b: &B::Vector<T>,
        x: &mut B::Vector<T>,
    ) -> Result<()> {
        operator.residual(b, x, &mut self.residual)?;
        preconditioner.apply(&self.residual, &mut self.correction)?;
        operator.backend().axpby(1.0, &self.correction, 1.0, x)
    }

    /// [`IterativeSolver::solve_from`] with `least` iterations even if fewer would do.
    #[allow(clippy::too_many_arguments)] // those of `solve_from` and one
    pub(crate) fn solve_at_least(
        &mut self,
        least: usize,
        operator: &impl LinearOperator<B, T>,
        preconditioner: &mut impl Preconditioner<B, T>,
        b: &B::Vector<T>,
        x: &mut B::Vector<T>,
        stopping: &Stopping,
        observer: &mut Observer,
    ) -> Result<Info> {
        let backend = operator.backend();
        let (mut monitor, mut norm) = Monitor::start(operator, b, x, &mut self.residual, stopping, observer)?;
        while !monitor.is_done() || monitor.iterations() < least && monitor.could_improve() {
            preconditioner.apply_to(&self.residual, norm, &mut self.correction)?;
            backend.axpby(1.0, &self.correction, 1.0, x)?;
            operator.residual(b, x, &mut self.residual)?;
            norm = monitor.check(operator, x, &self.residual, &mut self.correction)?;
        }
        Ok(monitor.finish())
    }
}

impl<B, T, A, M> IterativeSolver<B, T, A, M> for Richardson<B, T>
where
    B: Backend,
    T: Scalar,
    A: LinearOperator<B, T>,
    M: Preconditioner<B, T>,
{
    fn solve_from(
        &mut self,
        operator: &A,
        preconditioner: &mut M,
        b: &B::Vector<T>,
        x: &mut B::Vector<T>,
        stopping: &Stopping,
        observer: &mut Observer,
    ) -> Result<Info> {
        self.solve_at_least(0, operator, preconditioner, b, x, stopping, observer)
    }
}
