//! GPU kernels of `patchmg`, and what the host must know of them: layouts, index maths, the matrices that kernels take
//! and the kernel table.
//!
//! The `cdylib` is the PTX, compiled for `nvptx64-nvidia-cuda` one [module](kernels::Module) at a time; the `rlib` is
//! the same source for the host, so that a name, a size or an offset is written once.

#![no_std]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch, core_intrinsics))]
#![cfg_attr(target_arch = "nvptx64", allow(internal_features))]
#![allow(clippy::needless_range_loop, clippy::manual_memcpy)] // index loops over fixed sizes unroll; iterators over arrays do not always

#[cfg(not(target_arch = "nvptx64"))]
extern crate std;

// On the device a module has what its kernels need, so that a change rebuilds no other.
#[cfg(any(not(target_arch = "nvptx64"), module = "axis"))]
pub mod axis;
#[cfg(any(not(target_arch = "nvptx64"), module = "blas1", module = "elliptic_nodes", module = "poisson_cg"))]
pub mod blas1;
#[cfg(any(not(target_arch = "nvptx64"), module = "poisson_cg", module = "separable", module = "patch_variants"))]
mod block;
pub mod choice;
#[cfg(any(
    not(target_arch = "nvptx64"),
    module = "poisson_cg",
    module = "poisson_dg",
    module = "separable",
    module = "separable_graded",
    module = "stokes"
))]
pub mod contract;
#[cfg(any(not(target_arch = "nvptx64"), module = "dense_ampere", module = "dense_hopper"))]
pub mod dense;
#[cfg(any(not(target_arch = "nvptx64"), module = "poisson_dg"))]
pub mod dg;
#[cfg(any(not(target_arch = "nvptx64"), module = "elliptic", module = "elliptic_nodes"))]
pub mod elliptic;
#[cfg(target_arch = "nvptx64")]
mod entries;
#[cfg(any(not(target_arch = "nvptx64"), module = "expression"))]
pub mod expression;
pub mod kernels;
pub mod layout;
#[cfg(any(not(target_arch = "nvptx64"), module = "poisson_cg", module = "separable", module = "separable_graded"))]
pub mod march;
#[cfg(any(
    not(target_arch = "nvptx64"),
    module = "poisson_cg",
    module = "poisson_dg",
    module = "separable",
    module = "separable_graded"
))]
pub mod matrices;
#[cfg(any(
    not(target_arch = "nvptx64"),
    module = "dense_ampere",
    module = "dense_hopper",
    module = "separable_graded",
    module = "tensor_core"
))]
pub mod mma;
#[cfg(any(not(target_arch = "nvptx64"), module = "poisson_cg", module = "separable", module = "separable_graded"))]
pub mod operator;
pub mod patch;
pub mod point;
pub mod scalar;
#[cfg(any(not(target_arch = "nvptx64"), module = "separable", module = "separable_graded"))]
pub mod separable;
#[cfg(any(not(target_arch = "nvptx64"), module = "poisson_cg", module = "separable"))]
pub mod smoother;
#[cfg(any(not(target_arch = "nvptx64"), module = "stokes", module = "stokes_paper2"))]
pub mod stokes;
#[cfg(any(not(target_arch = "nvptx64"), module = "tensor_core"))]
pub mod tensor_core;
#[cfg(any(not(target_arch = "nvptx64"), module = "poisson_cg", module = "separable"))]
pub mod transfer;
pub mod typed;
#[cfg(any(not(target_arch = "nvptx64"), module = "patch_variants"))]
pub mod variants;

/// Calls `$body` with the constant `$K` equal to the run-time `$degree`, 1 to 10; other degrees give `$none`.
#[macro_export]
macro_rules! with_degree {
    ($degree:expr, $K:ident => $body:expr, else $none:expr) => {
        $crate::with_degree!(@ $degree, $K, $body, $none, 1 2 3 4 5 6 7 8 9 10)
    };
    (@ $degree:expr, $K:ident, $body:expr, $none:expr, $($value:literal)+) => {
        match $degree {
            $($value => { const $K: usize = $value; $body })+
            _ => $none,
        }
    };
}
