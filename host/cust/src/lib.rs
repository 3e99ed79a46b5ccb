//! The CUDA driver API: the part of rust-cuda's `cust` that patchmg uses, under the same names and signatures.
//!
//! Differences from `cust` 0.3:
//! - The driver is found at run time: [`load`] or [`init`] opens `libcuda.so.1`, which is never unloaded. Building needs
//!   no CUDA toolkit, build script or environment variable. No symbol of the driver is linked or exported, so a program
//!   may link `libcuda` itself. For 64-bit Unix systems with `libcuda.so.1`; on others `load` returns an error.
//! - [`CUresult`](sys::CUresult), [`CudaError`] and the other enums of [`sys`] are integers with named
//!   constants, so error codes newer than this package are kept.
//! - A function of [`sys`] returns `CUDA_ERROR_SHARED_OBJECT_INIT_FAILED` if the driver is not loaded or lacks the function.
//! - [`CurrentContext::set_current`](context::CurrentContext::set_current) takes a primary context only.

#[cfg(not(target_pointer_width = "64"))]
compile_error!("the types of the CUDA driver are declared here for 64-bit machines alone");

pub mod context;
pub mod device;
mod driver;
pub mod error;
#[cfg(test)]
mod fake;
pub mod memory;
pub mod stream;
pub mod sys;

pub use driver::{LoadError, load};

use error::{CudaError, CudaResult, ToResult};

/// Options of [`init`]; the driver defines none.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub struct CudaFlags(u32);

impl CudaFlags {
    /// No options, the only valid value.
    pub const fn empty() -> Self {
        Self(0)
    }

    /// As the driver takes them.
    pub const fn bits(self) -> u32 {
        self.0
    }
}

/// Loads and initialises the driver. Must precede any other call; may be called repeatedly, from any thread.
///
/// # Errors
/// [`CudaError::SharedObjectInitFailed`] if there is no driver ([`load`] returns the reason), or the driver's error.
pub fn init(flags: CudaFlags) -> CudaResult<()> {
    load().map_err(|_| CudaError::SharedObjectInitFailed)?;
    // SAFETY: takes a number.
    unsafe { sys::cuInit(flags.bits()) }.to_result()
}

/// A version of the CUDA API.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub struct CudaApiVersion {
    version: i32,
}

impl CudaApiVersion {
    /// The newest that the driver supports.
    ///
    /// # Errors
    /// The driver's error.
    pub fn get() -> CudaResult<Self> {
        let mut version = 0;
        // SAFETY: the driver writes a number.
        unsafe { sys::cuDriverGetVersion(&mut version) }.to_result()?;
        Ok(Self { version })
    }

    /// The 12 of 12.4.
    pub fn major(self) -> i32 {
        self.version / 1000
    }

    /// The 4 of 12.4.
    pub fn minor(self) -> i32 {
        self.version % 1000 / 10
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_split() {
        fake::install();
        let version = CudaApiVersion::get().unwrap();
        assert_eq!((version.major(), version.minor()), (12, 4));
    }

    #[test]
    fn init_may_be_called_twice() {
        fake::install();
        init(CudaFlags::empty()).unwrap();
        init(CudaFlags::empty()).unwrap();
        assert_eq!(fake::calls(), ["cuInit 0", "cuInit 0"]);
    }
}
