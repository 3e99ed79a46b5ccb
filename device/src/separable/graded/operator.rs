//! The operator where cells have any widths: on each cell the matrices of a cell of size 1, by factors.

use crate::matrices::SidedCellMatrices;
use crate::operator::{self, Output};
use crate::patch::Directions;
use crate::scalar::Real;
#[cfg(not(target_arch = "nvptx64"))]
use crate::typed::Block;

/// See [`Apply`](super::Apply).
#[cfg(not(target_arch = "nvptx64"))]
pub fn operator_block(dim: usize, degree: usize, scalar_bytes: usize) -> Block {
    let block = crate::separable::equal::operator_block(dim, degree, scalar_bytes);
    let min_blocks = match (dim, degree, scalar_bytes) {
        // Factors of cells take registers, for which sums would spill.
        (3, 6, 4) => block.min_blocks - 1,
        // Without a bound the assembler spills.
        (2, 5, 8) => 3,
        _ => block.min_blocks,
    };
    Block { min_blocks, ..block }
}

/// See [`Apply`](super::Apply).
///
/// # Safety
/// Launched as [`operator_block`] and [`operator_blocks`](crate::separable::operator_blocks) say, with vectors of the level's nodes and the
/// widths of its cells.
#[inline(always)]
pub unsafe fn apply<T: Real, const DIM: usize, const K: usize, const C: usize, const H: usize>(
    SidedCellMatrices { cell, reaction }: &SidedCellMatrices<T, C, H>,
    sizes: *const T,
    x: *const T,
    y: *mut T,
    directions: Directions,
    chunk: u32,
) {
    let output = Output { b: core::ptr::null(), y };
    // SAFETY: the caller's promise.
    unsafe {
        let cells = operator::Graded::new(sizes, directions, *reaction);
        operator::apply_sided::<T, false, DIM, K, C, H>(cell, cells, directions, x, output, chunk)
    }
}

/// See [`Residual`](super::Residual).
///
/// # Safety
/// As of [`apply`].
#[inline(always)]
pub unsafe fn residual<T: Real, const DIM: usize, const K: usize, const C: usize, const H: usize>(
    SidedCellMatrices { cell, reaction }: &SidedCellMatrices<T, C, H>,
    sizes: *const T,
    b: *const T,
    x: *const T,
    r: *mut T,
    directions: Directions,
    chunk: u32,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let cells = operator::Graded::new(sizes, directions, *reaction);
        operator::apply_sided::<T, true, DIM, K, C, H>(cell, cells, directions, x, Output { b, y: r }, chunk)
    }
}
