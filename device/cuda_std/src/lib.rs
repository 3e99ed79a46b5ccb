//! What a kernel needs beyond `core`: the part of rust-cuda's `cuda_std` that patchmg uses, under the same names, on
//! rustc's own NVPTX backend.
//!
//! On other machines than `nvptx64` threads, barriers and shared memory are those of [`emulate`], so that kernels can be
//! tested without a GPU; what a kernel cannot be emulated with is absent there.

#![no_std]
#![cfg_attr(target_arch = "nvptx64", feature(asm_experimental_arch, link_llvm_intrinsics, stdarch_nvptx))]
#![cfg_attr(target_arch = "nvptx64", allow(internal_features))]

#[cfg(not(target_arch = "nvptx64"))]
extern crate std;

pub use cuda_std_macros::kernel;

#[cfg(target_arch = "nvptx64")]
pub mod atomic;
#[cfg(not(target_arch = "nvptx64"))]
pub mod emulate;
pub mod hint;
pub mod ptr;
pub mod shared;
pub mod texture;
pub mod thread;
#[cfg(target_arch = "nvptx64")]
pub mod warp;

/// A kernel has no one to tell: it ends the launch with an error.
#[cfg(target_arch = "nvptx64")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    // SAFETY: `trap` takes no argument and touches no memory.
    unsafe { core::arch::nvptx::trap() }
}
