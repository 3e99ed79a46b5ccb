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
        let row = grid.row();
        Self { row, column: if is_3d { row * row } else { row } }
    }
}
