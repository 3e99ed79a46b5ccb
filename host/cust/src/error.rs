//! Errors of the driver. A call may also return an error of earlier asynchronous work.

use crate::sys::{CUresult, cuGetErrorString};
use std::ffi::CStr;
use std::fmt;

/// An error code of the driver. Codes without a name here are valid, too.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq)]
pub struct CudaError(pub CUresult);

#[allow(non_upper_case_globals)]
impl CudaError {
    pub const SharedObjectInitFailed: Self = Self(CUresult::CUDA_ERROR_SHARED_OBJECT_INIT_FAILED);
}

/// The driver's text, or the number if the driver has no text for it.
impl fmt::Display for CudaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = std::ptr::null();
        // SAFETY: the driver writes a pointer to a string of its own that lives as long as the process, or null.
        unsafe { cuGetErrorString(self.0, &mut text) };
        if text.is_null() {
            return write!(f, "CUDA error {}", self.0.0);
        }
        // SAFETY: not null, see above.
        f.write_str(&unsafe { CStr::from_ptr(text) }.to_string_lossy())
    }
}

impl std::error::Error for CudaError {}

/// Result of a driver call.
pub type CudaResult<T> = Result<T, CudaError>;

pub(crate) trait ToResult {
    fn to_result(self) -> CudaResult<()>;
}

impl ToResult for CUresult {
    fn to_result(self) -> CudaResult<()> {
        if self == CUresult::CUDA_SUCCESS { Ok(()) } else { Err(CudaError(self)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake;

    #[test]
    fn codes_without_a_name_are_kept() {
        fake::install();
        assert_eq!(CUresult(0).to_result(), Ok(()));
        let error = CUresult(12345).to_result().unwrap_err();
        assert_eq!(error, CudaError(CUresult(12345)));
        assert_eq!(error.to_string(), "CUDA error 12345");
        assert_eq!(CudaError(CUresult(101)).to_string(), "invalid device ordinal");
    }
}
