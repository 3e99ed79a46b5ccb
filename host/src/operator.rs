//! What maps a vector to a vector: linear operators, and preconditioners that approximate their inverses.

use crate::backend::{Backend, Scalar};
use crate::error::Result;
use std::sync::Arc;

/// A linear map `A` on vectors of one length, on one machine.
pub trait LinearOperator<B: Backend, T: Scalar> {
    /// The machine that its vectors are on.
    fn backend(&self) -> &Arc<B>;

    /// Entries of its vectors.
    fn storage(&self) -> usize;

    /// `y = A x`.
    fn apply(&self, x: &B::Vector<T>, y: &mut B::Vector<T>) -> Result<()>;

    /// `y = A x` for an `x` in `f32`, computed in `T`; `work` may be overwritten.
    fn apply_rounded(&self, x: &B::Vector<f32>, work: &mut B::Vector<T>, y: &mut B::Vector<T>) -> Result<()> {
        apply_converted(self, x, work, y)
    }

    /// `r = b - A x`.
    fn residual(&self, b: &B::Vector<T>, x: &B::Vector<T>, r: &mut B::Vector<T>) -> Result<()> {
        self.apply(x, r)?;
        self.backend().axpby(1.0, b, -1.0, r)
    }

    /// `|b - A x|`; `work` may be overwritten with another vector that `A` applies to.
    fn residual_norm(&self, b: &B::Vector<T>, x: &B::Vector<T>, work: &mut B::Vector<T>) -> Result<f64> {
        self.residual(b, x, work)?;
        self.backend().norm(work)
    }

    /// A vector of zeros that it applies to.
    fn vector(&self) -> Result<B::Vector<T>> {
        self.backend().zeros(self.storage())
    }
}

/// `y = A x` for an `x` in `f32`, which `work` has in `T` then: for operators that do not read `f32`.
pub(crate) fn apply_converted<B: Backend, T: Scalar>(
    operator: &(impl LinearOperator<B, T> + ?Sized),
    x: &B::Vector<f32>,
    work: &mut B::Vector<T>,
    y: &mut B::Vector<T>,
) -> Result<()> {
    operator.backend().convert(1.0, x, work)?;
    operator.apply(work, y)
}

/// Bytes of `count` vectors of `storage` entries.
pub fn vector_bytes<T: Scalar>(count: usize, storage: usize) -> u64 {
    count as u64 * storage as u64 * size_of::<T>() as u64
}

/// An approximate inverse `M` of a linear operator.
pub trait Preconditioner<B: Backend, T: Scalar> {
    /// `z = M r`, whatever was in `z`.
    fn apply(&mut self, r: &B::Vector<T>, z: &mut B::Vector<T>) -> Result<()>;

    /// `z = M r` for an `r` whose Euclidean norm is known.
    fn apply_to(&mut self, r: &B::Vector<T>, _norm: f64, z: &mut B::Vector<T>) -> Result<()> {
        self.apply(r, z)
    }

    /// Follows the operator that it is for, which has become the derivative of a nonlinear equation at `u`
    /// ([`NonlinearLevel`](crate::level::NonlinearLevel)). One that does not depend on the operator has nothing to do.
    ///
    /// # Errors
    /// Those of the levels and of the machine.
    fn update(&mut self, _u: &B::Vector<T>) -> Result<()> {
        Ok(())
    }

    /// Whether it asks the machine for the same every time, and for no result: then it can be [recorded](Backend::record).
    fn is_fixed(&self) -> bool {
        false
    }

    /// Iterations within it so far, if it iterates.
    fn inner_iterations(&self) -> Option<usize> {
        None
    }

    /// Whether `x · M y = y · M x` up to rounding: conjugate gradients need that.
    fn is_symmetric(&self) -> bool;
}

/// A preconditioner that computes in `f32`, whatever the scalar of the vectors.
pub trait RoundedPreconditioner<B: Backend, T: Scalar>: Preconditioner<B, T> {
    /// The right-hand side of [`Self::apply_rounded`], which leaves it as it is; other methods may overwrite it. The caller writes it, with a norm
    /// between 1e-6 and 1e6.
    fn rounded(&mut self) -> &mut B::Vector<f32>;
    /// `z = M r` for the `r` in [`Self::rounded`], whatever was in `z`.
    fn apply_rounded(&mut self, z: &mut B::Vector<f32>) -> Result<()>;
}

/// `M = I`: a Krylov method without preconditioner.
pub struct Identity<B> {
    backend: Arc<B>,
}

impl<B> Identity<B> {
    /// On a machine.
    pub fn new(backend: &Arc<B>) -> Self {
        Self { backend: backend.clone() }
    }
}

impl<B: Backend, T: Scalar> Preconditioner<B, T> for Identity<B> {
    fn apply(&mut self, r: &B::Vector<T>, z: &mut B::Vector<T>) -> Result<()> {
        self.backend.axpby(1.0, r, 0.0, z)
    }

    fn is_symmetric(&self) -> bool {
        true
    }
}
