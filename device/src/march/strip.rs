//! The pieces of a block, and where they lie in shared memory.

use crate::kernels::Shape;
use crate::patch::{Grid, bit, class_count};

/// The pieces that a block has at a time, side by side in x.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strip {
    pub dim: usize,
    /// Results of a piece in a direction, but for the last one.
    pub degree: usize,
    /// Nodes from piece to piece.
    pub nodes: usize,
    pub pieces: usize,
    /// Whether blocks march along x, and not along the last direction.
    pub along_x: bool,
    /// Whether there is a `b`.
    pub has_b: bool,
    /// Words between the planes of a tensor.
    pub padding: usize,
}

impl Strip {
    /// Nodes along x.
    #[inline(always)]
    pub(super) const fn width(self) -> usize {
        self.nodes * self.pieces + 1
    }

    /// Rows of nodes in a plane; in 2D the last direction is y.
    #[inline(always)]
    pub(super) const fn rows(self) -> usize {
        if self.dim == 3 { self.nodes + 1 } else { 1 }
    }

    /// Columns along the last direction, one for each thread.
    #[inline(always)]
    pub(super) const fn columns(self) -> usize {
        self.width() * self.rows()
    }

    #[inline(always)]
    pub(super) const fn threads(self) -> usize {
        self.columns().next_multiple_of(32)
    }

    /// Results along the last direction at a time.
    #[inline(always)]
    pub(super) const fn planes(self) -> usize {
        if self.along_x { self.degree + 1 } else { self.degree }
    }

    /// Rows of results in a plane.
    #[inline(always)]
    pub(super) const fn result_rows(self) -> usize {
        if self.dim == 3 { self.degree + 1 } else { 1 }
    }

    /// Results along x at a time, the last one for the next strip if blocks march along x.
    #[inline(always)]
    pub(super) const fn result_width(self) -> usize {
        self.degree * self.pieces + self.along_x as usize
    }

    /// Rows of results.
    #[inline(always)]
    pub(super) const fn result_lines(self) -> usize {
        self.result_rows() * self.planes()
    }

    /// Words from row to row of results, of every piece but the last one, then the last ones.
    #[inline(always)]
    pub(super) const fn result_pitch(self) -> usize {
        let words = self.pieces * (self.degree + 1);
        if self.dim == 2 { words + Self::padding_2d(words) } else { words | 1 }
    }

    /// Words from plane to plane of a tensor.
    #[inline(always)]
    pub(super) const fn pitch(self) -> usize {
        self.columns() + self.padding
    }

    /// Offset of a tensor after the contraction along the last direction: `M x`, `A x` and `T b`.
    #[inline(always)]
    pub(super) const fn tensor(self, index: usize) -> usize {
        index * self.pitch() * self.planes()
    }

    /// Offset of the results of `x` and of `b`.
    #[inline(always)]
    pub(super) const fn results(self, index: usize) -> usize {
        self.tensor(2 + self.has_b as usize) + index * self.result_lines() * self.result_pitch()
    }

    /// Offset of the results that a strip shares with the next one, by the parity of a step.
    #[inline(always)]
    pub(super) const fn shared(self, parity: usize) -> usize {
        self.results(1 + self.has_b as usize) + parity * self.result_lines()
    }

    /// Padding in 2D for planes of so many words: columns of neighbouring threads along x begin in different banks.
    pub const fn padding_2d(width: usize) -> usize {
        (33 - width % 32) % 32
    }

    /// Its shape on a block.
    pub const fn shape(self) -> Shape {
        let words = if self.along_x { self.shared(2) } else { self.shared(0) };
        Shape { columns: self.threads(), patches: 1, words, barriers: self.dim }
    }

    /// Pieces from strip to strip where blocks do not march along x: all but the one that they share.
    #[inline(always)]
    pub(super) const fn distance(self) -> u32 {
        self.pieces as u32 - 1
    }

    /// Pieces of a level in a direction.
    pub const fn along(self, grid: Grid, direction: usize) -> u32 {
        grid.cells[direction] * grid.degree / self.nodes as u32
    }

    /// Direction in which blocks march.
    pub const fn direction(self) -> usize {
        if self.along_x { 0 } else { self.dim - 1 }
    }

    /// Launches that it takes.
    pub const fn classes(self) -> u32 {
        1 << (self.dim - 2 + self.along_x as usize)
    }

    /// Blocks of a class, in chunks of so many pieces in the direction of the march; a 0 if it has none.
    pub const fn blocks(self, grid: Grid, chunk: u32, class: u32) -> [u32; 3] {
        let y = class_count(grid.cells[1], bit(class, 0));
        if self.along_x {
            return [self.along_in(grid, 0, chunk), y, class_count(grid.cells[2], bit(class, 1))];
        }
        let (x, chunks) = (self.along_in(grid, 0, self.distance()), self.along_in(grid, self.direction(), chunk));
        if self.dim == 3 { [x, y, chunks] } else { [x, chunks, 1] }
    }

    /// Blocks in a direction in which they share pieces, with so many from block to block; a single piece is one's alone.
    const fn along_in(self, grid: Grid, direction: usize, distance: u32) -> u32 {
        let pieces = self.along(grid, direction);
        if pieces > 1 { (pieces - 1).div_ceil(distance) } else { pieces }
    }

    /// The smallest level that has so many pieces in a row.
    #[cfg(not(target_arch = "nvptx64"))]
    pub const fn grid(self) -> Grid {
        let cells = self.pieces * self.nodes / self.degree;
        Grid::cube(cells.next_power_of_two() as u32, self.degree as u32)
    }
}
