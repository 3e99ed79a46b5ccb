//! The kernels of boxes with sides, and what they take.

#[allow(unused_imports)]
use super::equal::{apply, prolongate_add, residual, restrict_residual, smooth};
#[cfg(target_arch = "nvptx64")]
use super::sizes::{C, DIM, H, K, M, N};
use crate::matrices::{ProlongationMatrices, SidedCellMatrices, SidedMatrices, SidedRestrictionMatrices};
use crate::patch::Directions;

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

    /// `y = A x`, where cells of a direction are equal.
    Apply = apply::<DIM, K, C, H>[
        /// Those of cells of size 1.
        matrices: SidedCellMatrices<T, C, H>
    ](
        x: *const T,
        /// Another vector than `x`.
        y: *mut T,
        directions: Directions,
        /// Layers of cells along the last direction that a block has.
        chunk: u32,
    ), super::equal::operator_block(DIM, K, size_of::<T>());

    /// `r = b - A x`, as [`Apply`].
    Residual = residual::<DIM, K, C, H>[
        /// Those of cells of size 1.
        matrices: SidedCellMatrices<T, C, H>
    ](
        b: *const T,
        x: *const T,
        /// Another vector than `x`.
        r: *mut T,
        directions: Directions,
        /// Layers of cells along the last direction that a block has.
        chunk: u32,
    ), super::equal::operator_block(DIM, K, size_of::<T>());

    /// `coarse = Pᵀ (b - A x)`, one class of coarse cells, where cells are halved in each direction.
    RestrictResidual = restrict_residual::<DIM, K, N, C, H>[
        /// Those of cells of size 1.
        matrices: SidedRestrictionMatrices<T, N, H>
    ](
        b: *const T,
        x: *const T,
        coarse: *mut T,
        /// Those of the fine level.
        directions: Directions,
        /// Classes write and add in their order.
        class: u32,
        /// Coarse cells of a block in the direction in which it marches.
        chunk: u32,
    ), super::equal::restriction_block(DIM, K, size_of::<T>());

    /// `x += P coarse`, where cells are halved in each direction.
    ProlongateAdd = prolongate_add::<DIM, K, N, C>[
        matrices: ProlongationMatrices<T, C>
    ](
        coarse: *const T,
        x: *mut T,
        /// Those of the fine level.
        directions: Directions,
    ), super::equal::prolongation_block(DIM, K, size_of::<T>());
}
