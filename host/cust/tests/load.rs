//! Calls before the driver is loaded, and loading it. A test program of its own, because a process loads the driver once.

use cust::error::CudaError;
use cust::sys::{CUresult, cuInit};

#[test]
fn calls_are_refused_until_a_driver_is_loaded() {
    // SAFETY: takes a number.
    assert_eq!(unsafe { cuInit(0) }, CUresult::CUDA_ERROR_SHARED_OBJECT_INIT_FAILED);
    assert_eq!(CudaError(CUresult(99999)).to_string(), "CUDA error 99999");

    let loaded = cust::load();
    if let Err(error) = &loaded {
        assert!(error.to_string().contains("libcuda.so.1"), "{error}");
        assert_eq!(cust::init(cust::CudaFlags::empty()), Err(CudaError::SharedObjectInitFailed));
        assert!(cust::device::Device::num_devices().is_err());
    }
    assert_eq!(cust::load(), loaded);
}
