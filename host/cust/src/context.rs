//! Primary contexts: each device has one, which all libraries of a process share. The driver counts references to it.

use crate::device::Device;
use crate::error::{CudaResult, ToResult};
use crate::sys::{CUcontext, CUdevice, cuCtxSetCurrent, cuDevicePrimaryCtxRelease_v2, cuDevicePrimaryCtxRetain};

/// A reference to the primary context of a device.
#[derive(Debug)]
pub struct Context {
    inner: CUcontext,
    device: CUdevice,
}

// SAFETY: a handle of the driver, which takes it from any thread.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

impl Context {
    /// Retains the context and makes it current on this thread. As in the published `cust`, an error of the second step is
    /// not returned: [`CurrentContext::set_current`] returns it.
    ///
    /// # Errors
    /// The driver's error when it retains the context.
    pub fn new(device: Device) -> CudaResult<Self> {
        let device = device.as_raw();
        let mut inner = std::ptr::null_mut();
        // SAFETY: the driver writes a handle.
        unsafe { cuDevicePrimaryCtxRetain(&mut inner, device) }.to_result()?;
        // SAFETY: a context that is retained.
        unsafe { cuCtxSetCurrent(inner) };
        Ok(Self { inner, device })
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: retained by `new`, released once.
        unsafe { cuDevicePrimaryCtxRelease_v2(self.device) };
    }
}

/// The context that a thread's calls go to.
#[derive(Debug)]
pub struct CurrentContext;

impl CurrentContext {
    /// Of the calling thread, until it sets another.
    ///
    /// # Errors
    /// The driver's error.
    pub fn set_current(context: &Context) -> CudaResult<()> {
        // SAFETY: `context` holds it.
        unsafe { cuCtxSetCurrent(context.inner) }.to_result()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::CudaError;
    use crate::fake;
    use crate::sys::CUresult;

    #[test]
    fn a_context_is_released_once() {
        fake::install();
        let context = Context::new(Device::get_device(1).unwrap()).unwrap();
        CurrentContext::set_current(&context).unwrap();
        drop(context);
        let calls = ["cuDevicePrimaryCtxRetain 1", "cuCtxSetCurrent", "cuCtxSetCurrent", "cuDevicePrimaryCtxRelease 1"];
        assert_eq!(fake::calls(), calls);
    }

    #[test]
    fn a_context_that_is_refused_is_not_released() {
        fake::install();
        let error = Context::new(Device::get_device(0).unwrap()).unwrap_err();
        assert_eq!(error, CudaError(CUresult(12345)));
        assert_eq!(fake::calls(), ["cuDevicePrimaryCtxRetain 0"]);
    }
}
