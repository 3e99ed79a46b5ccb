//! Damped Jacobi iteration.

use super::Smoother;
use crate::backend::{Backend, Scalar};
use crate::error::Result;
use crate::operator::{SpaceOn, vector_bytes};
use std::sync::Arc;

/// `x += ω D⁻¹ (b - A x)`, `D` being the diagonal of `A`.
pub struct Jacobi<B: Backend, S: Scalar> {
    on: Arc<SpaceOn<B, S>>,
    damping: f64,
    inverse_diagonal: B::Vector<S>,
    residual: B::Vector<S>,
}

impl<B: Backend, S: Scalar> Jacobi<B, S> {
    /// Bytes of the vectors that [`Self::new`] allocates, for vectors of `storage` entries.
    pub fn bytes(storage: usize) -> u64 {
        vector_bytes::<S>(2, storage)
    }

    /// On a space that is ready, with damping `ω`.
    ///
    /// # Errors
    /// Those of [`Backend::zeros`] and [`Backend::upload`].
    pub fn new(on: &Arc<SpaceOn<B, S>>, damping: f64) -> Result<Self> {
        let inverse_diagonal = inverse_diagonal(on)?;
        Ok(Self { on: on.clone(), damping, inverse_diagonal, residual: on.backend.zeros(on.space.storage())? })
    }
}

/// `D⁻¹` of a level, in the memory of the machine.
pub(super) fn inverse_diagonal<B: Backend, S: Scalar>(on: &SpaceOn<B, S>) -> Result<B::Vector<S>> {
    let mut vector = on.backend.zeros(on.space.storage())?;
    on.backend.upload(&on.space.inverse_diagonal::<S>()?, &mut vector)?;
    Ok(vector)
}

impl<B: Backend, S: Scalar> Smoother<B, S> for Jacobi<B, S> {
    fn step(&mut self, b: &B::Vector<S>, x: &mut B::Vector<S>) -> Result<()> {
        let SpaceOn { backend, tables, .. } = &*self.on;
        backend.residual(tables, b, x, &mut self.residual)?;
        backend.diagonal_axpby(self.damping, &self.inverse_diagonal, &self.residual, 1.0, x)
    }

    fn step_adjoint(&mut self, b: &B::Vector<S>, x: &mut B::Vector<S>) -> Result<()> {
        self.step(b, x)
    }
}
