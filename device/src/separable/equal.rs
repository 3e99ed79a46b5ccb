//! A step of the smoother where cells of a direction are equal: that of boxes with zero on the boundary, with sides.

use crate::matrices::SidedMatrices;
use crate::patch::Directions;
use crate::scalar::Real;
use crate::smoother::{self, Sides, Table};
#[cfg(not(target_arch = "nvptx64"))]
use crate::typed::Block;

/// Blocks that a multiprocessor should hold, for each degree from 1 on: of those without spills, on an H200, one of the fastest.
#[cfg(not(target_arch = "nvptx64"))]
const fn min_blocks(dim: usize, degree: usize, scalar_bytes: usize) -> usize {
    const BLOCKS_2D: [[usize; 10]; 2] = [[10, 12, 12, 9, 7, 6, 4, 4, 3, 4], [8, 8, 8, 7, 4, 3, 2, 3, 2, 3]];
    const BLOCKS_3D: [[usize; 8]; 2] = [[8, 4, 5, 6, 2, 6, 3, 2], [8, 5, 4, 3, 3, 4, 2, 1]];
    if dim == 2 { BLOCKS_2D[scalar_bytes / 8][degree - 1] } else { BLOCKS_3D[scalar_bytes / 8][degree - 1] }
}

/// See [`Smooth`](super::Smooth).
#[cfg(not(target_arch = "nvptx64"))]
pub fn block(dim: usize, degree: usize, scalar_bytes: usize) -> Block {
    let shape = smoother::shape(dim, degree, scalar_bytes);
    let words = shape.words * shape.patches + smoother::common_words(dim, degree, scalar_bytes);
    Block {
        threads: shape.columns * shape.patches,
        min_blocks: min_blocks(dim, degree, scalar_bytes),
        shared_bytes: words * scalar_bytes,
        barriers: shape.barriers,
    }
}

/// Blocks for the patches of a color; none if there are no patches.
#[cfg(not(target_arch = "nvptx64"))]
pub fn blocks<T: Real>(dim: usize, degree: usize, directions: Directions, color: u32) -> [u32; 3] {
    directions.blocks(dim, color, smoother::shape(dim, degree, size_of::<T>()).patches)
}

/// See [`Smooth`](super::Smooth).
///
/// # Safety
/// Launched as [`block`] and [`blocks`] say, with a table of the level, and vectors of its nodes.
#[inline(always)]
pub unsafe fn smooth<T: Real, const DIM: usize, const K: usize, const M: usize, const N: usize>(
    SidedMatrices { smoother, reaction }: &SidedMatrices<T, K, M>,
    table: *const T,
    b: *const T,
    x: *mut T,
    directions: Directions,
    color: u32,
) {
    let sides = Sides { directions, reaction: *reaction };
    // SAFETY: the caller's promise.
    unsafe {
        let table = Table::new(table);
        if DIM == 3 {
            smoother::step_3d::<T, true, K, M, N>(smoother, table, sides, b, x, [0; 3], color);
        } else {
            smoother::step_2d::<T, K, M, N>(smoother, table, sides, b, x, color);
        }
    }
}
