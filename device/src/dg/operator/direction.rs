//! A direction of the grid as a block sees it: where its tile begins and ends, and what lies beside it.

use crate::patch::DgGrid;

/// A direction of a level, and the tile's cells in it that lie in the domain.
#[derive(Clone, Copy)]
pub(super) struct Direction {
    /// First node of the tile.
    pub first: usize,
    /// Cells in the domain.
    pub cells: usize,
    /// Whether the tile ends at the domain's ends.
    pub at_end: [bool; 2],
}

impl Direction {
    #[inline(always)]
    pub fn new(grid: DgGrid, direction: usize, block: u32, cells: usize) -> Self {
        let (first, all) = (block as usize * cells, grid.cells[direction] as usize);
        let left = all - first;
        let is_last = left <= cells;
        let at_end = [first == 0, is_last];
        Self { first: first * grid.cell_nodes(), cells: if is_last { left } else { cells }, at_end }
    }

    /// Whether the tile ends at the domain's end on a side, which is not known when compiling.
    #[inline(always)]
    pub fn is_end(&self, side: usize) -> bool {
        if side == 0 { self.at_end[0] } else { self.at_end[1] }
    }

    /// The first node beside the tile of so many nodes, on a side, and the step to the next one.
    #[inline(always)]
    pub fn beside(&self, side: usize, nodes: usize) -> (usize, isize) {
        if side == 0 { (self.first.wrapping_sub(1), -1) } else { (self.first + nodes, 1) }
    }
}
