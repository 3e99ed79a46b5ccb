//! By products of 16 rows, for compute capability 9.0.

use super::{DenseShape, Rows, multiply};
#[cfg(not(target_arch = "nvptx64"))]
use crate::kernels::Module;
use crate::mma::{M16N8K4, Product};
use crate::scalar::Real;
#[cfg(not(target_arch = "nvptx64"))]
use crate::{any_size, typed::Kind};
use cuda_std::shared::Word;

impl Rows for M16N8K4 {
    #[inline(always)]
    unsafe fn add(a: [f64; 2], b: f64, sums: &mut [f64; 4]) {
        // SAFETY: the caller's promise.
        *sums = unsafe { Self::multiply_add(&a, &[b], sums) };
    }
}

crate::kernels! {
    by any_size;

    /// `y = (I ⊗ Q ⊗ I) x` along the rows of tensors.
    Along = along(
        /// [Arranged](super::arranged).
        matrix: *const f64,
        x: *const T,
        /// Another vector than `x`.
        y: *mut T,
        shape: DenseShape,
        /// 1 to add to `y`, 0 to overwrite it.
        add: u32,
    ), super::block(true, size_of::<T>());

    /// The same across rows, along one of the other directions.
    Across = across(
        /// [Arranged](super::arranged).
        matrix: *const f64,
        x: *const T,
        /// Another vector than `x`.
        y: *mut T,
        shape: DenseShape,
        /// 1 to add to `y`, 0 to overwrite it.
        add: u32,
    ), super::block(false, size_of::<T>());
}

/// Its one module.
#[cfg(not(target_arch = "nvptx64"))]
pub const MODULE: Module = KIND.module(0, 0);

#[cfg(not(target_arch = "nvptx64"))]
pub(crate) static KIND: Kind = Kind {
    name: "dense_hopper",
    is_of_paper: false,
    needs_hopper: true,
    spaces: std::vec::Vec::new,
    module_name: |_, _| "dense_sm90".into(),
    rows: ROWS,
    traced: |_| ([0; 3], 1),
    samples: [|_| |_, _| None; 2],
};

/// See [`Along`].
///
/// # Safety
/// That of [`multiply`].
#[inline(always)]
pub unsafe fn along<T: Real + Word>(matrix: *const f64, x: *const T, y: *mut T, shape: DenseShape, add: u32) {
    // SAFETY: the caller's promise.
    unsafe { multiply::<M16N8K4, T, true>(matrix, x, y, shape, add) }
}

/// See [`Across`].
///
/// # Safety
/// That of [`multiply`].
#[inline(always)]
pub unsafe fn across<T: Real + Word>(matrix: *const f64, x: *const T, y: *mut T, shape: DenseShape, add: u32) {
    // SAFETY: the caller's promise.
    unsafe { multiply::<M16N8K4, T, false>(matrix, x, y, shape, add) }
}
