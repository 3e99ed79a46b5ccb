//! NVIDIA GPUs, through `cust` and the driver alone: no CUDA toolkit to build or to run, and the program starts where
//! there is no driver, too.
//!
//! Outside this workspace, set `CUDA_LIBRARY_PATH` to a folder with a `lib64/libcuda.so` (an empty linker script will
//! do) for the build of `cust_raw`, or `DOCS_RS=1`.

mod calls;
mod device;
mod driver;
mod gpu;

pub use device::devices;

use super::DeviceInfo;
use crate::error::Result;
use gpu::Gpu;
use std::sync::Arc;

/// One GPU.
pub struct Cuda {
    gpu: Arc<Gpu>,
}

impl Cuda {
    /// Device `number`, counted from 0 in the order of [`devices`].
    ///
    /// # Errors
    /// [`Error::NoDevice`](crate::Error::NoDevice), with the reason: no driver, no device of that number, or one older
    /// than compute capability 8.0.
    pub fn new(number: usize) -> Result<Self> {
        Ok(Self { gpu: Arc::new(Gpu::open(number)?) })
    }

    /// What machine this is.
    pub fn info(&self) -> DeviceInfo {
        self.gpu.info()
    }
}
