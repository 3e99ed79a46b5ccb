//! Kernels for equal cells: variants, for any sides, of those of boxes with zero on the boundary.

use crate::march::SidedPart;
use crate::matrices::{ProlongationMatrices, SidedCellMatrices, SidedMatrices, SidedRestrictionMatrices};
use crate::operator::{self, Output};
use crate::patch::Directions;
use crate::scalar::Real;
use crate::smoother::{self, Sides, Table};
use crate::transfer::{self, levels::Sided, restriction};
#[cfg(not(target_arch = "nvptx64"))]
use crate::{kernels::Shape, march, typed::Block};

/// Blocks that a multiprocessor should hold, for each degree from 1 on: of those without spills, on an H200, one of the fastest.
#[cfg(not(target_arch = "nvptx64"))]
const fn min_blocks(dim: usize, degree: usize, scalar_bytes: usize) -> u32 {
    const BLOCKS_2D: [[u32; 10]; 2] = [[10, 12, 12, 9, 7, 6, 4, 4, 3, 4], [8, 8, 8, 7, 4, 3, 2, 3, 2, 3]];
    const BLOCKS_3D: [[u32; 8]; 2] = [[8, 5, 6, 8, 4, 7, 5, 4], [8, 5, 4, 4, 3, 5, 2, 2]];
    if dim == 2 { BLOCKS_2D[scalar_bytes / 8][degree - 1] } else { BLOCKS_3D[scalar_bytes / 8][degree - 1] }
}

/// See [`Smooth`](super::Smooth).
#[cfg(not(target_arch = "nvptx64"))]
pub fn block(dim: usize, degree: usize, scalar_bytes: usize) -> Block {
    let shape = smoother::shape(dim, degree, scalar_bytes);
    let block = block_of(shape, min_blocks(dim, degree, scalar_bytes), scalar_bytes);
    let common_bytes = smoother::common_words(dim, degree, scalar_bytes) * scalar_bytes;
    Block { shared_bytes: block.shared_bytes + common_bytes, ..block }
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

/// See [`Apply`](super::Apply).
#[cfg(not(target_arch = "nvptx64"))]
pub fn operator_block(dim: usize, degree: usize, scalar_bytes: usize) -> Block {
    if dim == 2 {
        return block_of(operator::sided::shape_2d(degree), 0, scalar_bytes);
    }
    // Places of nodes take registers, for which sums would spill.
    let fewer = matches!((degree, scalar_bytes), (4, 8) | (5, _) | (8, 4));
    let min_blocks = operator::min_blocks(dim, degree, scalar_bytes) - u32::from(fewer);
    block_of(operator::shape(dim, degree, scalar_bytes), min_blocks, scalar_bytes)
}

/// Blocks of the operator, with chunks of so many layers of cells.
#[cfg(not(target_arch = "nvptx64"))]
pub fn operator_blocks<T: Real>(dim: usize, degree: usize, directions: Directions, chunk: u32) -> [u32; 3] {
    let cells = directions.0.map(|direction| direction.output_cells());
    if dim == 2 {
        return [cells[0].div_ceil(operator::sided::cells(degree) as u32), cells[1].div_ceil(chunk), 1];
    }
    let grid = crate::patch::Grid { cells, degree: degree as u32 };
    operator::tile::Tile::of(degree, size_of::<T>()).blocks(grid, chunk)
}

/// See [`Apply`](super::Apply).
///
/// # Safety
/// Launched as [`operator_block`] and [`operator_blocks`] say, with vectors of the level's nodes.
#[inline(always)]
pub unsafe fn apply<T: Real, const DIM: usize, const K: usize, const C: usize, const H: usize>(
    SidedCellMatrices { cell, reaction }: &SidedCellMatrices<T, C, H>,
    x: *const T,
    y: *mut T,
    directions: Directions,
    chunk: u32,
) {
    let (cells, output) = (operator::Equal { reaction: *reaction }, Output { b: core::ptr::null(), y });
    // SAFETY: the caller's promise.
    unsafe { operator::apply_sided::<T, false, DIM, K, C, H>(cell, cells, directions, x, output, chunk) }
}

/// See [`Residual`](super::Residual).
///
/// # Safety
/// As of [`apply`].
#[inline(always)]
pub unsafe fn residual<T: Real, const DIM: usize, const K: usize, const C: usize, const H: usize>(
    SidedCellMatrices { cell, reaction }: &SidedCellMatrices<T, C, H>,
    b: *const T,
    x: *const T,
    r: *mut T,
    directions: Directions,
    chunk: u32,
) {
    let (cells, output) = (operator::Equal { reaction: *reaction }, Output { b, y: r });
    // SAFETY: the caller's promise.
    unsafe { operator::apply_sided::<T, true, DIM, K, C, H>(cell, cells, directions, x, output, chunk) }
}

/// A block of so many blocks of a multiprocessor, of this shape.
#[cfg(not(target_arch = "nvptx64"))]
pub(super) fn block_of(shape: Shape, min_blocks: u32, scalar_bytes: usize) -> Block {
    Block {
        threads: shape.columns * shape.patches,
        min_blocks: min_blocks as usize,
        shared_bytes: shape.words * shape.patches * scalar_bytes,
        barriers: shape.barriers,
    }
}

/// See [`RestrictResidual`](super::RestrictResidual).
#[cfg(not(target_arch = "nvptx64"))]
pub fn restriction_block(dim: usize, degree: usize, scalar_bytes: usize) -> Block {
    // As of the operator.
    let fewer = dim == 2 && matches!(degree, 6 | 7 | 9 | 10) && scalar_bytes == 8;
    let min_blocks = restriction::min_blocks(dim, degree, scalar_bytes) - u32::from(fewer);
    block_of(restriction::strip(dim, degree).shape(), min_blocks, scalar_bytes)
}

/// Classes of the restriction, in whose order they must be launched.
#[cfg(not(target_arch = "nvptx64"))]
pub fn restriction_classes(dim: usize, degree: usize) -> u32 {
    restriction::strip(dim, degree).classes()
}

/// Blocks of a class of the restriction, with chunks of so many coarse cells; a 0 if it has none.
#[cfg(not(target_arch = "nvptx64"))]
pub fn restriction_blocks(dim: usize, degree: usize, fine: Directions, class: u32, chunk: u32) -> [u32; 3] {
    march::sided_blocks(restriction::strip(dim, degree), SidedPart { fine, class, chunk })
}

/// Most coarse cells of a chunk of the restriction that a level has use for.
#[cfg(not(target_arch = "nvptx64"))]
pub fn longest_restriction_chunk(dim: usize, degree: usize, Directions(fine): Directions) -> u32 {
    fine[restriction::strip(dim, degree).direction()].coarser().output_cells()
}

/// See [`ProlongateAdd`](super::ProlongateAdd).
#[cfg(not(target_arch = "nvptx64"))]
pub fn prolongation_block(dim: usize, degree: usize, scalar_bytes: usize) -> Block {
    // As of the operator.
    let fewer = dim == 2 && degree == 8 && scalar_bytes == 8;
    let min_blocks = transfer::prolongation::min_blocks(dim, degree, scalar_bytes) - u32::from(fewer);
    block_of(transfer::prolongation::shape(dim, degree), min_blocks, scalar_bytes)
}

/// Blocks of the prolongation.
#[cfg(not(target_arch = "nvptx64"))]
pub fn prolongation_blocks(dim: usize, degree: usize, directions: Directions) -> [u32; 3] {
    let patches = transfer::prolongation::shape(dim, degree).patches as u32;
    let [x, y, z] = directions.0.map(|direction| direction.coarser().output_cells());
    [x.div_ceil(patches), y, if dim == 3 { z } else { 1 }]
}

/// See [`RestrictResidual`](super::RestrictResidual).
///
/// # Safety
/// Launched as [`restriction_block`] and [`restriction_blocks`] say, class by class, with vectors of both levels.
#[inline(always)]
pub unsafe fn restrict_residual<
    T: Real,
    const DIM: usize,
    const K: usize,
    const N: usize,
    const C: usize,
    const H: usize,
>(
    matrices: &SidedRestrictionMatrices<T, N, H>,
    b: *const T,
    x: *const T,
    coarse: *mut T,
    directions: Directions,
    class: u32,
    chunk: u32,
) {
    let part = SidedPart { fine: directions, class, chunk };
    // SAFETY: the caller's promise.
    unsafe { restriction::restrict_residual_sided::<T, DIM, K, N, C, H>(matrices, [b, x], coarse, part) }
}

/// See [`ProlongateAdd`](super::ProlongateAdd).
///
/// # Safety
/// Launched as [`prolongation_block`] and [`prolongation_blocks`] say, with vectors of both levels.
#[inline(always)]
pub unsafe fn prolongate_add<T: Real, const DIM: usize, const K: usize, const N: usize, const C: usize>(
    matrices: &ProlongationMatrices<T, C>,
    coarse: *const T,
    x: *mut T,
    directions: Directions,
) {
    // SAFETY: the caller's promise.
    unsafe { transfer::prolongate_add::<T, DIM, K, N, C>(matrices, coarse, x, Sided(directions)) }
}
