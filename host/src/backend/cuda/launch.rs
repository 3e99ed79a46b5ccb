//! A kernel's launch, and how many blocks it has.

use super::calls::{self, check};
use super::gpu::Gpu;
use crate::error::Result;
use cust::sys::CUfunction;
use patchmg_device::kernels::KernelSpec;
use std::ffi::c_void;

/// Parameters that a kernel may have.
const PARAMETERS: usize = 8;

/// An entry point of a loaded module.
pub(super) struct Kernel {
    function: CUfunction,
    spec: KernelSpec,
}

// SAFETY: a handle of the driver, which takes it from any thread.
unsafe impl Send for Kernel {}
// SAFETY: as above.
unsafe impl Sync for Kernel {}

impl Kernel {
    pub fn new(function: CUfunction, spec: KernelSpec) -> Self {
        Self { function, spec }
    }

    pub fn spec(&self) -> &KernelSpec {
        &self.spec
    }

    /// Its name, and the blocks of it that a multiprocessor holds.
    pub fn resident_blocks(&self, gpu: &Gpu) -> Result<(String, u32)> {
        gpu.enter()?;
        let mut blocks = 0;
        let (threads, shared) = (self.spec.threads as i32, self.spec.shared_bytes as usize);
        // SAFETY: the driver writes a number; the function is one of a loaded module.
        let code =
            unsafe { calls::cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut blocks, self.function, threads, shared) };
        check("cuOccupancyMaxActiveBlocksPerMultiprocessor", code)?;
        Ok((self.spec.name.clone(), blocks as u32))
    }

    /// # Safety
    /// `arguments` are the bytes of the kernel's parameters, at most [`PARAMETERS`], and what they point to is as long
    /// as the kernel makes use of with this grid. The module is loaded on `gpu`.
    pub unsafe fn launch(&self, gpu: &Gpu, [x, y, z]: [u32; 3], arguments: &[&[u8]]) -> Result<()> {
        gpu.enter()?;
        let mut pointers = [std::ptr::null_mut::<c_void>(); PARAMETERS];
        for (pointer, argument) in pointers.iter_mut().zip(arguments) {
            *pointer = argument.as_ptr().cast_mut().cast();
        }
        let (threads, shared, stream) = (self.spec.threads, self.spec.shared_bytes, gpu.stream());
        let (arguments, extra) = (pointers.as_mut_ptr(), std::ptr::null_mut());
        // SAFETY: the caller's promise; the driver copies the arguments before it returns.
        let code =
            unsafe { calls::cuLaunchKernel(self.function, x, y, z, threads, 1, 1, shared, stream, arguments, extra) };
        check("cuLaunchKernel", code)
    }
}

/// The longest chunk of cells or patches along which a block marches, halved until there are so many blocks.
pub(super) fn chunk_of(longest: u32, wanted: u32, blocks: impl Fn(u32) -> [u32; 3]) -> u32 {
    let mut chunk = longest;
    while chunk > 1 && blocks(chunk).iter().product::<u32>() < wanted {
        chunk /= 2;
    }
    chunk
}

/// Blocks for `n` entries, a thread each, at most so many; none if there is no entry.
pub(super) fn stride_blocks(n: usize, threads: u32, most: u32) -> Option<[u32; 3]> {
    (n > 0).then(|| [n.div_ceil(threads as usize).min(most as usize) as u32, 1, 1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_as_long_as_leaves_no_multiprocessor_idle() {
        let tiles = |tiles: u32, cells: u32| move |chunk: u32| [tiles, 1, cells.div_ceil(chunk)];
        assert_eq!(chunk_of(16, 528, tiles(256, 64)), 16);
        assert_eq!(chunk_of(16, 528, tiles(64, 32)), 2);
        assert_eq!(chunk_of(8, 528, tiles(4, 8)), 1);
        assert_eq!(chunk_of(2, 4, tiles(4, 2)), 2);
    }

    #[test]
    fn enough_blocks_for_every_entry_and_no_more_than_are_useful() {
        assert_eq!(stride_blocks(0, 256, 100), None);
        assert_eq!(stride_blocks(1, 256, 100), Some([1, 1, 1]));
        assert_eq!(stride_blocks(256, 256, 100), Some([1, 1, 1]));
        assert_eq!(stride_blocks(257, 256, 100), Some([2, 1, 1]));
        assert_eq!(stride_blocks(1 << 40, 256, 100), Some([100, 1, 1]));
    }
}
