//! What a block of the operator has of a layer, and where it lies in shared memory.

use crate::patch::DgGrid;

/// The cells of a block in a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tile {
    /// In x and in the middle direction.
    pub(super) cells: [usize; 2],
    /// Nodes of a cell, in x and in the middle direction.
    pub(super) nodes: [usize; 2],
    /// Columns of a thread.
    pub(super) columns: usize,
    /// Cells that a thread marches through along a line, in the middle direction all of them.
    pub(super) run: usize,
}

impl Tile {
    /// By degree.
    pub const fn of(dim: usize, degree: usize) -> Self {
        let c = degree + 1;
        if dim == 2 {
            const CELLS: [usize; 8] = [64, 32, 32, 16, 16, 16, 16, 8];
            return Self { cells: [CELLS[degree - 1], 1], nodes: [c, 1], columns: 1, run: 1 };
        }
        // As many threads as there are lines in the middle direction, and as runs along x.
        const CELLS: [[usize; 2]; 8] = [[32, 4], [32, 2], [8, 2], [8, 2], [4, 2], [4, 2], [4, 1], [4, 2]];
        let cells = CELLS[degree - 1];
        Self { cells, nodes: [c, c], columns: cells[1], run: cells[1] }
    }

    /// Nodes in a row.
    #[inline(always)]
    pub(super) const fn row(self) -> usize {
        self.cells[0] * self.nodes[0]
    }

    /// Rows of a plane.
    #[inline(always)]
    pub(super) const fn rows(self) -> usize {
        self.cells[1] * self.nodes[1]
    }

    /// Planes of the layer.
    #[inline(always)]
    pub(super) const fn planes(self) -> usize {
        self.nodes[0]
    }

    /// Words from row to row: odd, so that lines along x meet every bank once.
    #[inline(always)]
    pub(super) const fn pitch(self) -> usize {
        self.row() | 1
    }

    /// Words of a layer.
    #[inline(always)]
    pub(super) const fn layer(self) -> usize {
        self.planes() * self.rows() * self.pitch()
    }

    /// Words of the traces on the two faces in x: two sides, two traces.
    #[inline(always)]
    pub(super) const fn x_faces(self) -> usize {
        4 * self.planes() * self.rows()
    }

    /// The same in the middle direction, of which 2D has none.
    #[inline(always)]
    pub(super) const fn middle_faces(self) -> usize {
        if self.nodes[1] == 1 { 0 } else { 4 * self.planes() * self.row() }
    }

    #[inline(always)]
    pub(super) const fn threads(self) -> usize {
        self.row() * self.rows() / self.columns
    }

    /// The smallest level with such a tile and cells beyond it.
    #[cfg(not(target_arch = "nvptx64"))]
    pub const fn grid(self) -> DgGrid {
        let [x, y] = self.cells;
        let most = if x > y { x } else { y };
        DgGrid::cube(2 * most as u32, self.nodes[0] as u32 - 1)
    }

    /// Blocks for a level, in chunks of so many layers.
    pub const fn blocks(self, grid: DgGrid, chunk: u32) -> [u32; 3] {
        let [x, y, z] = grid.cells;
        let (middle, last) = if self.nodes[1] == 1 { (1, y) } else { (y.div_ceil(self.cells[1] as u32), z) };
        [x.div_ceil(self.cells[0] as u32), middle, last.div_ceil(chunk)]
    }
}
