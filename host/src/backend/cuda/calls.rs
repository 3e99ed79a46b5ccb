//! Results of the driver's calls as errors of this library.

use crate::error::{Error, Result};
use cust::error::CudaError;
use cust::sys::{CUresult, cuGetErrorName};
use std::ffi::CStr;

/// [`Error::Driver`] unless `code` is success.
pub fn check(call: &'static str, code: CUresult) -> Result<()> {
    if code == CUresult::CUDA_SUCCESS { Ok(()) } else { Err(refused(call)(CudaError(code))) }
}

/// What `cust` says of a call, as [`Error::Driver`].
pub fn refused(call: &'static str) -> impl Fn(CudaError) -> Error {
    move |error| Error::Driver { call, code: error.0.0, name: error_name(error) }
}

/// The driver's name of an error, for example `CUDA_ERROR_ILLEGAL_ADDRESS`.
pub fn error_name(error: CudaError) -> String {
    let mut name = std::ptr::null();
    // SAFETY: the driver writes a pointer to a string of its own that lives as long as the program, or null.
    unsafe { cuGetErrorName(error.0, &mut name) };
    if name.is_null() {
        return String::from("unknown to this driver");
    }
    // SAFETY: not null, see above.
    unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_that_is_newer_than_this_library_keeps_its_number() {
        let error = check("cuLaunchKernel", CUresult(12345)).unwrap_err();
        assert_eq!(error.to_string(), "CUDA driver: cuLaunchKernel failed with 12345 (unknown to this driver)");
    }
}
