//! Preconditioned conjugate gradients (Saad, Iterative Methods for Sparse Linear Systems, algorithm 9.1).

use super::stopping::{Divergence, Info, Monitor, Stopping};
use super::{IterativeSolver, Observer};
use crate::backend::{Backend, Scalar};
use crate::error::{Error, Result};
use crate::operator::{LinearOperator, Preconditioner, vector_bytes};

/// Conjugate gradients for a symmetric positive definite `A` and `M`.
///
/// The V-cycle that smooths in the same order before and after the coarse correction is not symmetric, and is refused;
/// [`VCycle::symmetric`](crate::multigrid::VCycle::symmetric) is one that is.
pub struct Cg<B: Backend, T: Scalar> {
    residual: B::Vector<T>,
    /// `M r`, then `A p`: the two are never needed at once.
    work: B::Vector<T>,
    direction: B::Vector<T>,
}

impl<B: Backend, T: Scalar> Cg<B, T> {
    /// Bytes of the vectors that [`Self::new`] allocates, for vectors of `storage` entries.
    pub fn bytes(storage: usize) -> u64 {
        vector_bytes::<T>(3, storage)
    }

    /// With its vectors.
    ///
    /// # Errors
    /// Those of [`Backend::zeros`].
    pub fn new(operator: &impl LinearOperator<B, T>) -> Result<Self> {
        Ok(Self { residual: operator.vector()?, work: operator.vector()?, direction: operator.vector()? })
    }
}

/// The history has the residual of the recurrence; when that is small enough, `b - A x` is computed anew, and the iteration
/// starts again from it unless it is small enough too. It diverged also if `r · M r` is not above 0. Errors also:
/// [`NotPositiveDefinite`](Error::NotPositiveDefinite) if `p · A p` is not above 0.
impl<B, T, A, M> IterativeSolver<B, T, A, M> for Cg<B, T>
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
        if !preconditioner.is_symmetric() {
            return Err(Error::InvalidArgument {
                name: "preconditioner of cg",
                value: "not symmetric".into(),
                allowed: "symmetric, like a V-cycle whose post-smoothing is the adjoint of its pre-smoothing".into(),
            });
        }
        let backend = operator.backend();
        let (mut monitor, _) = Monitor::start(operator, b, x, &mut self.residual, stopping, observer)?;
        let mut last_product = None;
        while !monitor.is_done() {
            preconditioner.apply(&self.residual, &mut self.work)?;
            let product = backend.dot(&self.residual, &self.work)?;
            if !product.is_finite() || product <= 0.0 {
                let finite = product.is_finite();
                monitor.diverge(if finite { Divergence::IndefinitePreconditioner } else { Divergence::NotFinite });
                break;
            }
            let beta = last_product.map_or(0.0, |last| product / last);
            backend.axpby(1.0, &self.work, beta, &mut self.direction)?;
            last_product = Some(product);

            operator.apply(&self.direction, &mut self.work)?;
            let energy = backend.dot(&self.direction, &self.work)?;
            if !energy.is_finite() {
                monitor.diverge(Divergence::NotFinite);
                break;
            }
            if energy <= 0.0 {
                return Err(Error::NotPositiveDefinite { what: "operator" });
            }
            let alpha = product / energy;
            backend.axpby(alpha, &self.direction, 1.0, x)?;
            backend.axpby(-alpha, &self.work, 1.0, &mut self.residual)?;

            let norm = backend.norm(&self.residual)?;
            if monitor.accepts(norm) || monitor.is_last() {
                monitor.check_last(operator, b, x, &mut self.residual, &mut self.work)?;
                last_product = None;
            } else {
                monitor.record_estimate(norm);
            }
        }
        Ok(monitor.finish())
    }
}
