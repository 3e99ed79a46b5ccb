//! `x += Σ_j R_jᵀ A_j⁻¹ R_j r` over the patches of a color, a block a patch (paper 2, section 4.2).

pub mod direct;
pub mod schur;
mod table;

use super::super::pick;
use super::Fields;
#[cfg(not(target_arch = "nvptx64"))]
use crate::patch::color_count;
use crate::patch::{Ends, bit};
use cuda_std::thread;
pub use table::SchurTable;

/// The patch of a block: `N = 2(k + 1)` nodes in a direction, of which `N - 1`, all but the first, are unknowns along a
/// component.
#[derive(Clone, Copy)]
struct Patch {
    fields: Fields,
    nodes: usize,
    /// The first cell in each direction.
    first: [u32; 3],
}

impl Patch {
    #[inline(always)]
    fn of_block(fields: Fields, nodes: usize) -> Self {
        let first = |d: usize, block: u32| 2 * block + bit(fields.color, d);
        let blocks = [thread::block_idx_x(), thread::block_idx_y(), thread::block_idx_z()];
        Self { fields, nodes, first: [first(0, blocks[0]), first(1, blocks[1]), first(2, blocks[2])] }
    }

    #[inline(always)]
    const fn ends(&self, direction: usize) -> Ends {
        Ends::of_patch(self.fields.cells[direction], self.first[direction])
    }

    /// Where a node of a field lies in a vector.
    #[inline(always)]
    fn offset(&self, field: usize, [x, y, z]: [usize; 3]) -> usize {
        let (cell, [_, row, plane]) = (self.nodes / 2, self.fields.strides(self.nodes / 2));
        let [first_x, first_y, first_z] = self.first.map(|first| first as usize * cell);
        self.fields.first(field) + first_x + x + row * (first_y + y) + plane * (first_z + z)
    }

    /// Nodes of a field in a direction, and the first of them.
    #[inline(always)]
    const fn unknowns(&self, field: usize, direction: usize) -> (usize, usize) {
        if field == direction { (self.nodes - 1, 1) } else { (self.nodes, 0) }
    }
}

/// Blocks for the patches of a color; none if there are no patches.
#[cfg(not(target_arch = "nvptx64"))]
pub fn blocks(cells: [u32; 3], color: u32) -> [u32; 3] {
    core::array::from_fn(|d| color_count(cells[d], bit(color, d)))
}
