//! Equations with their discretizations: where these meet machines.

pub mod poisson;

pub use poisson::Poisson;

use crate::backend::{Backend, Scalar};
use crate::error::Result;
use crate::level::SharedLevel;
use crate::problem::Field;
use crate::space::Space;
use std::sync::Arc;

/// An equation with its discretization on one mesh, and the kernels by which it is computed.
pub trait System: Clone + Send + Sync + 'static {
    /// The space that its solutions are in.
    fn space(&self) -> &Space;

    /// The same on the next coarser mesh, unless this one is the coarsest.
    fn coarser(&self) -> Option<Result<Self>>;

    /// The same by the kernels that are the fastest: an operator outside of the V-cycle has these.
    fn by_default_kernels(&self) -> Self;

    /// Whether V-cycles converge with any smoother, and not only with vertex patches and Chebyshev's.
    fn takes_any_smoother(&self) -> bool {
        true
    }

    /// Whether functions of the space can have boundary values other than zero.
    fn takes_boundary_values(&self) -> bool {
        false
    }

    /// Adds what values `g` on the boundary contribute to a load vector in storage order.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::Error::InvalidArgument) unless the system [takes them](Self::takes_boundary_values);
    /// [`SizeMismatch`](crate::Error::SizeMismatch) unless `b` is a vector of the space; [`NotFinite`](crate::Error::NotFinite)
    /// with the point where `g` is not a finite number.
    fn add_boundary_load(&self, g: &dyn Field, b: &mut [f64]) -> Result<()>;
}

/// The PTX of a module that a GPU is given: that of the folder in `PATCHMG_PTX_DIR`, else that in this program, with the
/// coefficients that are the same for every mesh as operands of its instructions.
///
/// # Errors
/// [`NoModule`](crate::Error::NoModule) for a module that there is not, and [`Io`](crate::Error::Io) for a file that cannot be
/// read.
#[cfg(feature = "cuda")]
pub fn module_ptx(module: patchmg_device::kernels::Module) -> Result<String> {
    crate::backend::cuda::modules::given_ptx(module, poisson::cuda::constants)
}

/// A machine that has levels of a system.
pub trait Runs<E: System>: Backend {
    /// Whether the machine has the system's kernels for its space and a scalar.
    ///
    /// # Errors
    /// [`Unsupported`](crate::Error::Unsupported), with those that it has.
    fn check<T: Scalar>(&self, system: &E) -> Result<()>;

    /// Makes a system ready: 1D matrices and tables in the machine's memory.
    ///
    /// # Errors
    /// Those of [`Self::check`] and of the machine.
    fn level<T: Scalar>(self: &Arc<Self>, system: &E) -> Result<SharedLevel<Self, T>>;

    /// Bytes of a level's tables on the machine.
    fn level_bytes<T: Scalar>(system: &E) -> u64;
}
