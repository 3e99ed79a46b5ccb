//! What GMRES keeps of the preconditioned basis: nothing, or all of it.

use crate::backend::{Backend, Scalar};
use crate::error::Result;
use crate::operator::{LinearOperator, Preconditioner, RoundedPreconditioner, vector_bytes};

/// The vectors `z_j = M w_j` of a Krylov basis `w_j`; of [`KeptRounded`] `z_j = M r_j`, where `r_j`, in `f32`, is a multiple of the part of `w_j`
/// that is orthogonal to the vectors before it.
pub trait Directions<B: Backend, T: Scalar>: Sized {
    /// Bytes of the vectors, of `storage` entries each, that a basis of `restart` needs.
    fn bytes(storage: usize, restart: usize) -> u64;
    /// Allocates them.
    fn new(operator: &impl LinearOperator<B, T>, restart: usize) -> Result<Self>;
}

/// [`Directions`] by a preconditioner `M`.
pub trait DirectionsOf<B: Backend, T: Scalar, M>: Directions<B, T> {
    /// Where what `M` is applied to next is wanted in `f32`; none if nowhere.
    fn rounded<'a>(&self, _preconditioner: &'a mut M) -> Option<&'a mut B::Vector<f32>> {
        None
    }
    /// `y = A z_j`; `norm` is `|w_j|`. If [`Self::rounded`] returns a vector, `M` is applied to that, and `w` and `norm` are not used.
    #[allow(clippy::too_many_arguments)] // what all kinds of directions need
    fn product(
        &mut self,
        j: usize,
        operator: &impl LinearOperator<B, T>,
        preconditioner: &mut M,
        w: &B::Vector<T>,
        norm: f64,
        y: &mut B::Vector<T>,
    ) -> Result<()>;
    /// `x = old x + sum_j y_j z_j`; `old = 0` overwrites whatever was in `x`. `work` may be overwritten.
    #[allow(clippy::too_many_arguments)] // as above
    fn correct(
        &mut self,
        backend: &B,
        preconditioner: &mut M,
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
    fn bytes(storage: usize, _restart: usize) -> u64 {
        vector_bytes::<T>(1, storage)
    }

    fn new(operator: &impl LinearOperator<B, T>, _restart: usize) -> Result<Self> {
        Ok(Self { z: operator.vector()? })
    }
}

impl<B: Backend, T: Scalar, M: Preconditioner<B, T>> DirectionsOf<B, T, M> for Recomputed<B, T> {
    fn product(
        &mut self,
        _j: usize,
        operator: &impl LinearOperator<B, T>,
        preconditioner: &mut M,
        w: &B::Vector<T>,
        norm: f64,
        y: &mut B::Vector<T>,
    ) -> Result<()> {
        preconditioner.apply_to(w, norm, &mut self.z)?;
        operator.apply(&self.z, y)
    }

    fn correct(
        &mut self,
        backend: &B,
        preconditioner: &mut M,
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
    fn bytes(storage: usize, restart: usize) -> u64 {
        vector_bytes::<T>(restart, storage)
    }

    fn new(operator: &impl LinearOperator<B, T>, restart: usize) -> Result<Self> {
        Ok(Self { z: (0..restart).map(|_| operator.vector()).collect::<Result<_>>()? })
    }
}

impl<B: Backend, T: Scalar, M: Preconditioner<B, T>> DirectionsOf<B, T, M> for Kept<B, T> {
    fn product(
        &mut self,
        j: usize,
        operator: &impl LinearOperator<B, T>,
        preconditioner: &mut M,
        w: &B::Vector<T>,
        norm: f64,
        y: &mut B::Vector<T>,
    ) -> Result<()> {
        preconditioner.apply_to(w, norm, &mut self.z[j])?;
        operator.apply(&self.z[j], y)
    }

    fn correct(
        &mut self,
        backend: &B,
        _preconditioner: &mut M,
        _basis: &[&B::Vector<T>],
        y: &[f64],
        _work: &mut B::Vector<T>,
        old: f64,
        x: &mut B::Vector<T>,
    ) -> Result<()> {
        backend.combine(y, &self.z[..y.len()].iter().collect::<Vec<_>>(), old, x)
    }
}

/// All of them in `f32`, as an `M` that computes in `f32` leaves them. Only what `M` takes and gives is rounded: products with these vectors, and
/// corrections by them, are computed in `T`.
pub struct KeptRounded<B: Backend, T: Scalar> {
    z: Vec<B::Vector<f32>>,
    /// `z_j` for an operator that does not read `f32`.
    work: B::Vector<T>,
}

impl<B: Backend, T: Scalar> Directions<B, T> for KeptRounded<B, T> {
    fn bytes(storage: usize, restart: usize) -> u64 {
        vector_bytes::<f32>(restart, storage) + vector_bytes::<T>(1, storage)
    }

    fn new(operator: &impl LinearOperator<B, T>, restart: usize) -> Result<Self> {
        let (backend, storage) = (operator.backend(), operator.storage());
        let z = (0..restart).map(|_| backend.zeros(storage)).collect::<Result<_>>()?;
        Ok(Self { z, work: operator.vector()? })
    }
}

impl<B: Backend, T: Scalar, M: RoundedPreconditioner<B, T>> DirectionsOf<B, T, M> for KeptRounded<B, T> {
    fn rounded<'a>(&self, preconditioner: &'a mut M) -> Option<&'a mut B::Vector<f32>> {
        Some(preconditioner.rounded())
    }

    fn product(
        &mut self,
        j: usize,
        operator: &impl LinearOperator<B, T>,
        preconditioner: &mut M,
        _w: &B::Vector<T>,
        _norm: f64,
        y: &mut B::Vector<T>,
    ) -> Result<()> {
        preconditioner.apply_rounded(&mut self.z[j])?;
        operator.apply_rounded(&self.z[j], &mut self.work, y)
    }

    fn correct(
        &mut self,
        backend: &B,
        _preconditioner: &mut M,
        _basis: &[&B::Vector<T>],
        y: &[f64],
        _work: &mut B::Vector<T>,
        old: f64,
        x: &mut B::Vector<T>,
    ) -> Result<()> {
        backend.combine(y, &self.z[..y.len()].iter().collect::<Vec<_>>(), old, x)
    }
}
