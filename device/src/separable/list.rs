//! The kernels of boxes with sides, and what they take.

#[allow(unused_imports)]
use super::equal::smooth;
#[cfg(target_arch = "nvptx64")]
use super::sizes::{DIM, K, M, N};
use crate::matrices::SidedMatrices;
use crate::patch::Directions;

/// Of a [`Module`](crate::kernels::Module).
#[cfg(not(target_arch = "nvptx64"))]
macro_rules! sizes {
    ($module:expr => $value:expr) => {
        with_sizes!(
            $module, $value, (2 1) (2 2) (2 3) (2 4) (2 5) (2 6) (2 7) (2 8) (2 9) (2 10)
            (3 1) (3 2) (3 3) (3 4) (3 5) (3 6) (3 7) (3 8)
        )
    };
}

crate::kernels! {
    by sizes;

    /// `x_I = A_j⁻¹ (b_I - A_IB x_B)` on all patches `j` of a color, where cells of a direction are equal.
    Smooth = smooth::<DIM, K, M, N>[
        /// Those of cells of size 1.
        matrices: SidedMatrices<T, K, M>
    ](
        /// What a thread looks up: the smoother's [`table`](crate::smoother::table_words), and `Sᵀ M 1` behind it.
        table: *const T,
        b: *const T,
        /// Another vector than `b`.
        x: *mut T,
        directions: Directions,
        color: u32,
    ), super::equal::block(DIM, K, size_of::<T>());
}
