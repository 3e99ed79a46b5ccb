//! Numbers in the host's memory that kernels write to: read as soon as the GPU is idle, without a copy.

use super::calls::check;
use super::gpu::Gpu;
use crate::error::Result;
use cust::sys::{self, CUdeviceptr};
use std::ffi::c_void;
use std::sync::Arc;

/// Numbers that the GPU writes and the host reads.
pub(super) struct Pinned {
    gpu: Arc<Gpu>,
    pointer: *mut f64,
    len: usize,
}

// SAFETY: memory of its own, which the driver frees from any thread.
unsafe impl Send for Pinned {}

impl Pinned {
    /// `len > 0` zeros.
    pub fn zeros(gpu: &Arc<Gpu>, len: usize) -> Result<Self> {
        gpu.enter()?;
        let mut pointer = std::ptr::null_mut::<c_void>();
        // SAFETY: the driver writes an address.
        check("cuMemHostAlloc", unsafe { sys::cuMemHostAlloc(&mut pointer, len * size_of::<f64>(), 0) })?;
        let pointer = pointer.cast::<f64>();
        // SAFETY: `len` numbers were allocated; all bits zero are 0.0.
        unsafe { pointer.write_bytes(0, len) };
        Ok(Self { gpu: gpu.clone(), pointer, len })
    }

    pub fn len(&self) -> usize {
        self.len
    }

    /// What kernels take: host and device have one address space.
    pub fn pointer(&self) -> CUdeviceptr {
        self.pointer.addr() as CUdeviceptr
    }

    /// The first numbers, after all that was asked of the GPU.
    pub fn read(&self, numbers: &mut [f64]) -> Result<()> {
        assert!(numbers.len() <= self.len);
        self.gpu.wait()?;
        for (i, number) in numbers.iter_mut().enumerate() {
            // SAFETY: `len` numbers are there, and the GPU, which is idle, writes none now.
            *number = unsafe { self.pointer.add(i).read_volatile() };
        }
        Ok(())
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // Kernels that write to it may still run.
        if self.gpu.wait().is_ok() {
            self.gpu.count_free();
            // SAFETY: allocated by `zeros`, freed once.
            unsafe { sys::cuMemFreeHost(self.pointer.cast()) };
        }
    }
}
