//! A preconditioner in a smaller scalar than the vectors that it is applied to.

use super::repeated::Repeated;
use crate::backend::{Backend, Scalar};
use crate::error::Result;
use crate::operator::{Preconditioner, RoundedPreconditioner, vector_bytes};
use std::marker::PhantomData;
use std::sync::Arc;

/// From so many entries on, launching kernels one by one is no slower than a recording and a copy of its result: the kernels run for longer
/// than their launches take.
const LAUNCHED_ENTRIES: usize = 1 << 20;

/// Runs `P`, which works in `S`, on vectors in `T`. [`Preconditioner::apply`] scales a residual to norm 1 before it is rounded, and the result
/// back: late residuals would otherwise underflow.
pub struct LowPrecision<B: Backend, T: Scalar, S: Scalar, P> {
    backend: Arc<B>,
    pub(super) inner: P,
    r: B::Vector<S>,
    z: B::Vector<S>,
    /// `inner` on these two.
    repeated: Repeated<B>,
    outer: PhantomData<T>,
}

impl<B: Backend, T: Scalar, S: Scalar, P: Preconditioner<B, S>> LowPrecision<B, T, S, P> {
    /// Around `inner`, on vectors of `storage` entries.
    ///
    /// # Errors
    /// Those of [`Backend::zeros`].
    pub fn new(backend: &Arc<B>, mut inner: P, storage: usize) -> Result<Self> {
        let (r, mut z) = (backend.zeros(storage)?, backend.zeros(storage)?);
        let repeated = Repeated::new(&**backend, inner.is_fixed(), &mut || inner.apply(&r, &mut z))?;
        Ok(Self { backend: backend.clone(), inner, r, z, repeated, outer: PhantomData })
    }

    /// Bytes of the vectors that [`Self::new`] allocates on the machine.
    pub fn bytes(storage: usize) -> u64 {
        vector_bytes::<S>(2, storage)
    }
}

impl<B: Backend, T: Scalar, S: Scalar, P: Preconditioner<B, S>> Preconditioner<B, T> for LowPrecision<B, T, S, P> {
    /// `z = |r| P (r / |r|)`, `P` being in `S`.
    fn apply(&mut self, r: &B::Vector<T>, z: &mut B::Vector<T>) -> Result<()> {
        self.apply_to(r, self.backend.norm(r)?, z)
    }

    fn apply_to(&mut self, r: &B::Vector<T>, norm: f64, z: &mut B::Vector<T>) -> Result<()> {
        let Self { backend, inner, repeated, .. } = self;
        scaled(&**backend, r, norm, &mut self.r, &mut self.z, |r, z| repeated.run(backend, &mut || inner.apply(r, z)))?;
        backend.convert(norm, &self.z, z)
    }

    fn update(&mut self, u: &B::Vector<T>) -> Result<()> {
        self.backend.convert(1.0, u, &mut self.r)?;
        self.inner.update(&self.r)?;
        self.repeated.forget();
        Ok(())
    }

    fn inner_iterations(&self) -> Option<usize> {
        self.inner.inner_iterations()
    }

    fn is_symmetric(&self) -> bool {
        self.inner.is_symmetric()
    }
}

impl<B: Backend, T: Scalar, P: Preconditioner<B, f32>> RoundedPreconditioner<B, T> for LowPrecision<B, T, f32, P> {
    fn rounded(&mut self) -> &mut B::Vector<f32> {
        &mut self.r
    }

    fn apply_rounded(&mut self, z: &mut B::Vector<f32>) -> Result<()> {
        let Self { backend, inner, r, z: own, repeated, .. } = self;
        if !repeated.was_recorded() || backend.len(z) >= LAUNCHED_ENTRIES {
            return inner.apply(r, z);
        }
        repeated.run(backend, &mut || inner.apply(r, own))?;
        backend.axpby(1.0, own, 0.0, z)
    }
}

/// `z = P (r / |r|)` with what is rounded in `rounded`, or `z = 0` for `r = 0`.
pub(super) fn scaled<B: Backend, T: Scalar, S: Scalar>(
    backend: &B,
    r: &B::Vector<T>,
    norm: f64,
    rounded: &mut B::Vector<S>,
    z: &mut B::Vector<S>,
    preconditioner: impl FnOnce(&B::Vector<S>, &mut B::Vector<S>) -> Result<()>,
) -> Result<()> {
    if norm == 0.0 {
        return backend.set_zero(z);
    }
    backend.convert(1.0 / norm, r, rounded)?;
    preconditioner(rounded, z)
}
