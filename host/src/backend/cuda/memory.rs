//! Vectors in the memory of a GPU.

use super::calls::check;
use super::gpu::{Gpu, free_memory};
use crate::error::{Error, Result, check_at_least, check_length};
use bytemuck::Pod;
use cust::sys::{self, CUdeviceptr, CUresult};
use std::ffi::c_void;
use std::marker::PhantomData;
use std::sync::Arc;

/// A vector in the memory of a GPU; freed by whichever thread drops it.
pub struct Vector<T: Pod> {
    gpu: Arc<Gpu>,
    pointer: CUdeviceptr,
    len: usize,
    scalar: PhantomData<T>,
}

impl<T: Pod> Vector<T> {
    /// `len` zeros.
    pub(crate) fn zeros(gpu: &Arc<Gpu>, len: usize) -> Result<Self> {
        gpu.enter()?;
        let mut vector = Self { gpu: gpu.clone(), pointer: 0, len, scalar: PhantomData };
        if len > 0 {
            vector.pointer = allocate(gpu, (len as u64).saturating_mul(size_of::<T>() as u64))?;
            vector.clear()?;
        }
        Ok(vector)
    }

    /// With the entries of `host`.
    pub(crate) fn uploaded(gpu: &Arc<Gpu>, host: &[T]) -> Result<Self> {
        let mut vector = Self::zeros(gpu, host.len())?;
        vector.write(host)?;
        Ok(vector)
    }

    /// Entries.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Address on the device, what kernels take.
    pub(crate) fn pointer(&self) -> CUdeviceptr {
        self.pointer
    }

    /// That it lies on `gpu` and has `expected` entries.
    pub(crate) fn check(&self, gpu: &Arc<Gpu>, what: &'static str, expected: usize) -> Result<()> {
        self.check_gpu(gpu, what)?;
        check_length(what, expected, self.len)
    }

    /// That it lies on `gpu` and has `expected` entries or more.
    pub(crate) fn check_at_least(&self, gpu: &Arc<Gpu>, what: &'static str, expected: usize) -> Result<()> {
        self.check_gpu(gpu, what)?;
        check_at_least(what, expected, self.len)
    }

    fn check_gpu(&self, gpu: &Arc<Gpu>, what: &'static str) -> Result<()> {
        if !Arc::ptr_eq(gpu, &self.gpu) {
            return Err(Error::InvalidArgument {
                name: what,
                value: String::from("a vector of another backend"),
                allowed: String::from("of the backend that is called"),
            });
        }
        Ok(())
    }

    /// Zeros.
    pub(crate) fn clear(&mut self) -> Result<()> {
        self.clear_first(self.len)
    }

    /// Zeros for the first entries, so many.
    pub(crate) fn clear_first(&mut self, entries: usize) -> Result<()> {
        check_at_least("vector", entries, self.len)?;
        self.gpu.enter()?;
        // SAFETY: as many bytes, and more, were allocated at `pointer`.
        let code = unsafe { sys::cuMemsetD8Async(self.pointer, 0, entries * size_of::<T>(), self.gpu.stream()) };
        check("cuMemsetD8Async", code)
    }

    /// From the host; as long as the vector.
    pub(crate) fn write(&mut self, host: &[T]) -> Result<()> {
        check_length("host vector", self.len, host.len())?;
        self.gpu.enter()?;
        let (from, stream) = (host.as_ptr().cast::<c_void>(), self.gpu.stream());
        // SAFETY: both sides have `bytes`; `host` is not touched before the copy is done, below.
        let code = unsafe { sys::cuMemcpyHtoDAsync_v2(self.pointer, from, self.bytes(), stream) };
        check("cuMemcpyHtoDAsync", code)?;
        self.gpu.wait()
    }

    /// The first entries to the host.
    pub(crate) fn read(&self, host: &mut [T]) -> Result<()> {
        if host.len() > self.len {
            return check_length("host vector", self.len, host.len());
        }
        // The driver has no limit of time for a copy, which waits for all that was asked before.
        self.gpu.wait()?;
        let (to, stream) = (host.as_mut_ptr().cast::<c_void>(), self.gpu.stream());
        // SAFETY: both sides have as many bytes; `host` is not touched before the copy is done, below.
        let code = unsafe { sys::cuMemcpyDtoHAsync_v2(to, self.pointer, size_of_val(host), stream) };
        check("cuMemcpyDtoHAsync", code)?;
        self.gpu.wait()
    }

    fn bytes(&self) -> usize {
        self.len * size_of::<T>()
    }
}

impl<T: Pod> Drop for Vector<T> {
    fn drop(&mut self) {
        if self.pointer != 0 && self.gpu.enter().is_ok() {
            self.gpu.count_free();
            // SAFETY: allocated by `zeros`, freed once; the driver waits for kernels that use it.
            unsafe { sys::cuMemFree_v2(self.pointer) };
        }
    }
}

/// `bytes > 0` on the current device.
fn allocate(gpu: &Gpu, bytes: u64) -> Result<CUdeviceptr> {
    let out_of_memory = |available| Err(Error::OutOfMemory { device: gpu.name().to_owned(), needed: bytes, available });
    let available = free_memory()?;
    if bytes > available {
        return out_of_memory(available);
    }
    let mut pointer = 0;
    // SAFETY: the driver writes an address; the context is current.
    match unsafe { sys::cuMemAlloc_v2(&mut pointer, bytes as usize) } {
        CUresult::CUDA_ERROR_OUT_OF_MEMORY => out_of_memory(available),
        code => check("cuMemAlloc", code).map(|()| pointer),
    }
}
