//! Points in time on a GPU, for measurements.

use super::Cuda;
use super::calls::check;
use super::gpu::Gpu;
use crate::error::Result;
use cust::sys::{self, CUevent};
use std::sync::Arc;

/// A point in the order of a backend's work, with the time at which the device came to it.
pub struct Event {
    gpu: Arc<Gpu>,
    event: CUevent,
}

// SAFETY: a handle of the driver, which takes it from any thread.
unsafe impl Send for Event {}

impl Event {
    /// After all that was asked of `backend` so far.
    pub fn record(backend: &Cuda) -> Result<Self> {
        let gpu = backend.gpu.clone();
        gpu.enter()?;
        let mut event = std::ptr::null_mut();
        // SAFETY: the driver writes a handle; no flags.
        check("cuEventCreate", unsafe { sys::cuEventCreate(&mut event, 0) })?;
        let event = Self { gpu, event };
        // SAFETY: event and stream are of the current context.
        check("cuEventRecord", unsafe { sys::cuEventRecord(event.event, event.gpu.stream()) })?;
        Ok(event)
    }

    /// Milliseconds from `start` to this event, of the same backend, to about half a microsecond. Waits for the device.
    pub fn milliseconds_since(&self, start: &Event) -> Result<f64> {
        self.gpu.wait()?;
        let mut milliseconds = 0.0;
        // SAFETY: both are recorded, and the stream is idle.
        let code = unsafe { sys::cuEventElapsedTime(&mut milliseconds, start.event, self.event) };
        check("cuEventElapsedTime", code)?;
        Ok(f64::from(milliseconds))
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        if self.gpu.enter().is_ok() {
            // SAFETY: created by `record`, destroyed once.
            unsafe { sys::cuEventDestroy_v2(self.event) };
        }
    }
}
