//! What a kernel needs beyond `core`: the part of rust-cuda's `cuda_std` that patchmg uses, under the same names, on
//! rustc's own NVPTX backend.
//!
//! The modules exist on `nvptx64` alone; elsewhere only the attribute [`kernel`] is left.

#![no_std]
#![cfg_attr(target_arch = "nvptx64", feature(asm_experimental_arch, link_llvm_intrinsics, stdarch_nvptx))]
#![cfg_attr(target_arch = "nvptx64", allow(internal_features))]

pub use cuda_std_macros::kernel;

#[cfg(target_arch = "nvptx64")]
pub mod atomic;
#[cfg(target_arch = "nvptx64")]
pub mod ptr;
#[cfg(target_arch = "nvptx64")]
pub mod shared;
#[cfg(target_arch = "nvptx64")]
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
