//! Equations with their discretizations: where spaces meet machines.

pub mod poisson;

use crate::backend::{Backend, PatchKernel, Scalar};
use crate::error::Result;
use crate::level::SharedLevel;
use crate::space::Space;
use std::sync::Arc;

/// A machine that has levels of the spaces.
pub trait Runs: Backend {
    /// Whether the machine has these kernels for a space and a scalar.
    ///
    /// # Errors
    /// [`Unsupported`](crate::Error::Unsupported), with those that it has.
    fn check_kernel<T: Scalar>(&self, space: &Space, kernel: PatchKernel) -> Result<()>;

    /// Makes a space ready, with the kernels that smooth there: 1D matrices and tables in the machine's memory.
    ///
    /// # Errors
    /// Those of [`Self::check_kernel`] and of the machine.
    fn level<T: Scalar>(self: &Arc<Self>, space: &Space, kernel: PatchKernel) -> Result<SharedLevel<Self, T>>;

    /// Bytes of a level's tables on the machine.
    fn level_bytes<T: Scalar>(space: &Space, kernel: PatchKernel) -> u64 {
        poisson::level_bytes::<T>(space, kernel)
    }
}
