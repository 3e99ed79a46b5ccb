//! What GMRES keeps of the preconditioned basis: nothing, or all of it.

use crate::backend::{Backend, Scalar};
use crate::error::Result;
use crate::operator::{LinearOperator, Preconditioner};

/// The vectors `z_j = M w_j` of a Krylov basis `w_j`.
pub trait Directions<B: Backend, T: Scalar>: Sized {
    /// Vectors that a basis of `restart` needs.
    fn vectors(restart: usize) -> usize;
    /// Allocates them.
    fn new(operator: &impl LinearOperator<B, T>, restart: usize) -> Result<Self>;
    /// `z_j = M w_j`; `norm` is `|w_j|`.
    fn direction(
        &mut self,
        j: usize,
        preconditioner: &mut impl Preconditioner<B, T>,
        w: &B::Vector<T>,
        norm: f64,
    ) -> Result<&B::Vector<T>>;
    /// `x = old x + sum_j y_j z_j`; `old = 0` overwrites whatever was in `x`. `work` may be overwritten.
    #[allow(clippy::too_many_arguments)] // what both kinds of directions need
    fn correct(
        &mut self,
        backend: &B,
        preconditioner: &mut impl Preconditioner<B, T>,
        basis: &[&B::Vector<T>],
        y: &[f64],
        work: &mut B::Vector<T>,
        old: f64,
        x: &mut B::Vector<T>,
    ) -> Result<()>;
}

/// One vector: the correction is `M (sum_j y_j w_j)`, which is right if `M` is the same linear map every time.
pub struct Recomputed<B: Backend, T: Scalar> {
    z: B::Vector<T>,
}

impl<B: Backend, T: Scalar> Directions<B, T> for Recomputed<B, T> {
    fn vectors(_restart: usize) -> usize {
        1
    }

    fn new(operator: &impl LinearOperator<B, T>, _restart: usize) -> Result<Self> {
        Ok(Self { z: operator.vector()? })
    }

    fn direction(
        &mut self,
        _j: usize,
        preconditioner: &mut impl Preconditioner<B, T>,
        w: &B::Vector<T>,
        norm: f64,
    ) -> Result<&B::Vector<T>> {
        preconditioner.apply_to(w, norm, &mut self.z)?;
        Ok(&self.z)
    }

    fn correct(
        &mut self,
        backend: &B,
        preconditioner: &mut impl Preconditioner<B, T>,
        basis: &[&B::Vector<T>],
        y: &[f64],
        work: &mut B::Vector<T>,
        old: f64,
        x: &mut B::Vector<T>,
    ) -> Result<()> {
        backend.combine(y, basis, 0.0, work)?;
        preconditioner.apply(work, &mut self.z)?;
        backend.axpby(1.0, &self.z, old, x)
    }
}

/// All of them: `M` may change from one application to the next.
pub struct Kept<B: Backend, T: Scalar> {
    z: Vec<B::Vector<T>>,
}

impl<B: Backend, T: Scalar> Directions<B, T> for Kept<B, T> {
    fn vectors(restart: usize) -> usize {
        restart
    }

    fn new(operator: &impl LinearOperator<B, T>, restart: usize) -> Result<Self> {
        Ok(Self { z: (0..restart).map(|_| operator.vector()).collect::<Result<_>>()? })
    }

    fn direction(
        &mut self,
        j: usize,
        preconditioner: &mut impl Preconditioner<B, T>,
        w: &B::Vector<T>,
        norm: f64,
    ) -> Result<&B::Vector<T>> {
        preconditioner.apply_to(w, norm, &mut self.z[j])?;
        Ok(&self.z[j])
    }

    fn correct(
        &mut self,
        backend: &B,
        _preconditioner: &mut impl Preconditioner<B, T>,
        _basis: &[&B::Vector<T>],
        y: &[f64],
        _work: &mut B::Vector<T>,
        old: f64,
        x: &mut B::Vector<T>,
    ) -> Result<()> {
        backend.combine(y, &self.z[..y.len()].iter().collect::<Vec<_>>(), old, x)
    }
}
