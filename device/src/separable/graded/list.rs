//! The kernels of graded boxes, and what they take.

#[allow(unused_imports)]
use super::operator::{apply, residual};
#[allow(unused_imports)]
use super::smooth::smooth;
use crate::matrices::SidedCellMatrices;
use crate::patch::Directions;
#[cfg(target_arch = "nvptx64")]
use crate::separable::sizes::{C, DIM, H, K, M, N};

crate::kernels! {
    by sizes;

    /// `x_I = A_j⁻¹ (b_I - A_IB x_B)` on the patches `j` of a color, except those that are kept in every direction.
    Smooth = smooth::<DIM, K, M, N>(
        /// A [`PatchTable`](super::PatchTable) for each number, [arranged](super::arranged) for the kernel.
        tables: *const T,
        /// Where in them the table of each patch begins: along x, then along y, then along z.
        starts: *const u32,
        /// For each patch of a direction, in the same order, the length of the run of kept patches of its color that begins there; 0 if it is not kept.
        /// Null if no patch is left out.
        kept: *const u32,
        b: *const T,
        /// Another vector than `b`.
        x: *mut T,
        directions: Directions,
        color: u32,
    ), super::smooth::block(DIM, K, size_of::<T>());

    /// `y = A x`.
    Apply = apply::<DIM, K, C, H>[
        /// Those of cells of size 1, with factors 1 and the reaction `s`.
        matrices: SidedCellMatrices<T, C, H>
    ](
        /// `h` and `c / h²` of the image of a cell below the first one, of each cell, and of the image above the last one: along x, then along
        /// y, then along z.
        sizes: *const T,
        x: *const T,
        /// Another vector than `x`.
        y: *mut T,
        directions: Directions,
        /// Layers of cells along the last direction that a block has.
        chunk: u32,
    ), super::operator::operator_block(DIM, K, size_of::<T>());

    /// `r = b - A x`, as [`Apply`].
    Residual = residual::<DIM, K, C, H>[
        /// As of [`Apply`].
        matrices: SidedCellMatrices<T, C, H>
    ](
        /// As of [`Apply`].
        sizes: *const T,
        b: *const T,
        x: *const T,
        /// Another vector than `x`.
        r: *mut T,
        directions: Directions,
        /// Layers of cells along the last direction that a block has.
        chunk: u32,
    ), super::operator::operator_block(DIM, K, size_of::<T>());
}
