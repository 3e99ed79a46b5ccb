//! Discontinuous elements: the operator, cell by cell ([`operator`]), exact solutions on the patches of a color
//! ([`solve`]), and the transfers between levels ([`transfer`]).
//!
//! Kernels serve 2D and 3D. Their threads own columns of nodes along the last direction, `z` or in 2D `y`, and their
//! lanes lie along `x`, so that rows are read and written whole. What lies between, `y` in 3D, is the *middle* direction:
//! of a cell it has `C` nodes, in 2D one.

pub mod operator;
pub mod solve;
pub mod transfer;

use crate::patch::DgGrid;
use crate::scalar::Real;

/// Blocks for `count(direction)` patches, so many of a block side by side in x.
#[cfg(not(target_arch = "nvptx64"))]
pub fn blocks(dim: usize, patches: u32, count: impl Fn(usize) -> u32) -> [u32; 3] {
    [count(0).div_ceil(patches), if dim == 3 { count(1) } else { 1 }, count(dim - 1)]
}

/// Nodes of a level from a row to the next, and from a node to the next of its column in the last direction.
#[derive(Clone, Copy)]
struct Strides {
    row: usize,
    column: usize,
}

impl Strides {
    #[inline(always)]
    const fn of(grid: DgGrid, is_3d: bool) -> Self {
        // Nodes of a plane fit 32 bits, which saves registers.
        let [row, rows] = [grid.cells[0] * (grid.degree + 1), grid.cells[1] * (grid.degree + 1)];
        Self { row: grid.row(), column: if is_3d { (row * rows) as usize } else { grid.row() } }
    }
}

/// `x += values` in a column that begins at `first`. All is read before anything is written: a load would wait for the store
/// before it, which it may depend on for all that the compiler knows.
///
/// # Safety
/// Nodes of a vector that no other thread accesses.
#[inline(always)]
unsafe fn add_to_column<T: Real, const N: usize>(first: *mut T, stride: usize, values: &[T; N]) {
    let mut sums = *values;
    for z in 0..N {
        // SAFETY: the caller's promise.
        sums[z] = unsafe { *first.add(z * stride) } + sums[z];
    }
    for z in 0..N {
        // SAFETY: as above.
        unsafe { *first.add(z * stride) = sums[z] };
    }
}
