//! What a block of the operator in 3D owns, and how its planes lie in shared memory.

use crate::kernels::Shape;
use crate::patch::Grid;
use cuda_std::shared::CHUNK;

/// What was measured to be fastest.
#[derive(Clone, Copy)]
struct Tuning {
    /// Cells of a tile in x and y.
    cells: [usize; 2],
    /// Words from line to line of the nodes, whole chunks, and of what contractions along x make of them: of all that are
    /// not much longer than a line those with the fewest bank conflicts.
    pitches: [usize; 2],
    /// Blocks that a multiprocessor should hold: as many as have registers for their sums without spills.
    blocks: u32,
}

impl Tuning {
    const fn new(cells: [usize; 2], pitches: [usize; 2], blocks: u32) -> Self {
        Self { cells, pitches, blocks }
    }

    const fn of(degree: usize, scalar_bytes: usize) -> Self {
        // Code for both dimensions names higher degrees of 2D, too.
        (if scalar_bytes == 4 { SINGLE } else { DOUBLE })[if degree < 8 { degree } else { 8 } - 1]
    }
}

/// By degree, in `f32` and `f64`; at the right the floor over the time of `y = A x`, on an H200.
const SINGLE: [Tuning; 8] = [
    Tuning::new([32, 4], [40, 32], 8),
    Tuning::new([32, 4], [72, 64], 5), // 52 %
    Tuning::new([8, 8], [40, 40], 6),  // 51 %
    Tuning::new([8, 8], [40, 32], 4),  // 56 %
    Tuning::new([8, 4], [56, 40], 5),  // 54 %
    Tuning::new([8, 4], [80, 48], 3),  // 48 %
    Tuning::new([8, 4], [72, 72], 2),  // 43 %
    Tuning::new([4, 4], [44, 36], 4),  // 50 %
];
const DOUBLE: [Tuning; 8] = [
    Tuning::new([32, 4], [36, 32], 8),
    Tuning::new([16, 6], [36, 32], 6), // 69 %
    Tuning::new([8, 8], [40, 24], 4),  // 66 %
    Tuning::new([4, 8], [22, 18], 5),  // 65 %
    Tuning::new([8, 4], [56, 40], 3),  // 57 %
    Tuning::new([8, 4], [56, 48], 2),  // 52 %
    Tuning::new([4, 4], [44, 36], 2),  // 44 %
    Tuning::new([4, 4], [42, 34], 2),  // 41 %
];
/// By degree, words in `f32` from line to line of nodes, where nodes are in `f32` and all else is in `f64`.
const ROUNDED_NODES: [usize; 8] = [40, 40, 40, 24, 56, 80, 44, 44];

/// The outputs of a block in a plane: those of so many cells in x and y, each cell's first node included. If nodes are in a smaller
/// scalar than the products made of them, they have a tile of their own, `of_nodes`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tile {
    /// In x and y.
    pub(super) cells: [usize; 2],
    pub(super) degree: usize,
    /// Words from line to line of the nodes.
    pub(super) node_pitch: usize,
    /// Words from line to line of what contractions along x make of them.
    pub(super) row_pitch: usize,
    /// Words of a [`CHUNK`].
    pub(super) chunk: usize,
}

impl Tile {
    /// That of a degree and a scalar.
    pub const fn of(degree: usize, scalar_bytes: usize) -> Self {
        let Tuning { cells, pitches: [node_pitch, row_pitch], .. } = Tuning::of(degree, scalar_bytes);
        let chunk = CHUNK / scalar_bytes;
        let tile = Self { cells, degree, node_pitch, row_pitch, chunk };
        assert!(tile.row().is_multiple_of(chunk) && node_pitch.is_multiple_of(chunk));
        assert!(tile.threads().is_multiple_of(cells[0]) && row_pitch.is_multiple_of(tile.words_together()));
        tile
    }

    /// The tile of nodes of so many bytes: of the same scalar, or of `f32` where this one is of `f64`.
    #[inline(always)]
    pub(super) const fn of_nodes(self, scalar_bytes: usize) -> Self {
        let chunk = CHUNK / scalar_bytes;
        if chunk == self.chunk {
            return self;
        }
        let node_pitch = ROUNDED_NODES[if self.degree < 8 { self.degree } else { 8 } - 1];
        assert!(self.row().is_multiple_of(chunk) && node_pitch.is_multiple_of(chunk) && chunk == 2 * self.chunk);
        Self { node_pitch, chunk, ..self }
    }

    /// Outputs in a row of a plane.
    #[inline(always)]
    pub(super) const fn row(self) -> usize {
        self.cells[0] * self.degree
    }

    /// Nodes in a row that these depend on.
    #[inline(always)]
    pub(super) const fn nodes(self) -> usize {
        self.row() + self.degree + 1
    }

    /// Rows of nodes that outputs depend on.
    #[inline(always)]
    pub(super) const fn lines(self) -> usize {
        self.cells[1] * self.degree + self.degree + 1
    }

    /// Threads that have a contraction along y: a column of a cell's outputs each.
    #[inline(always)]
    pub(super) const fn columns(self) -> usize {
        self.row() * self.cells[1]
    }

    /// Whether all of its threads have one.
    #[inline(always)]
    pub(super) const fn is_full(self) -> bool {
        self.columns() == self.threads()
    }

    /// Words before the first node of a row in its chunk: outputs begin with one.
    #[inline(always)]
    pub(super) const fn before(self) -> usize {
        (self.chunk - 1) * self.degree % self.chunk
    }

    /// Words that are loaded or stored together along x: so many that cells and lines begin at a multiple of them.
    #[inline(always)]
    pub(super) const fn words_together(self) -> usize {
        if self.degree.is_multiple_of(self.chunk) { self.chunk } else { 2 - self.degree % 2 }
    }

    /// Chunks of a row of nodes.
    #[inline(always)]
    pub(super) const fn chunks(self) -> usize {
        (self.before() + self.nodes()).div_ceil(self.chunk)
    }

    /// Lines that its threads copy at a time, one chunk each.
    #[inline(always)]
    pub(super) const fn copied_lines(self) -> usize {
        self.threads() / self.chunks()
    }

    /// Words of two planes of both products along x.
    #[inline(always)]
    pub(super) const fn products(self) -> usize {
        4 * self.lines() * self.row_pitch
    }

    /// Threads of a block.
    #[inline(always)]
    pub(super) const fn threads(self) -> usize {
        self.columns().next_multiple_of(32)
    }

    /// The smallest level that has a tile and cells beyond it.
    #[cfg(not(target_arch = "nvptx64"))]
    pub const fn grid(self) -> Grid {
        let [x, y] = self.cells;
        let most = if x > y { x } else { y };
        Grid::cube(2 * most as u32, self.degree as u32)
    }

    /// Blocks for all outputs of a level, in chunks of so many cells along z.
    pub const fn blocks(self, grid: Grid, chunk: u32) -> [u32; 3] {
        let [x, y] = self.cells;
        [grid.cells[0].div_ceil(x as u32), grid.cells[1].div_ceil(y as u32), grid.cells[2].div_ceil(chunk)]
    }
}

/// Blocks that a multiprocessor should hold.
pub const fn min_blocks(degree: usize, scalar_bytes: usize) -> u32 {
    Tuning::of(degree, scalar_bytes).blocks
}

/// Two planes of nodes of `node_bytes` bytes each, in words of `scalar_bytes`.
pub(super) const fn node_words(degree: usize, scalar_bytes: usize, node_bytes: usize) -> usize {
    let tile = Tile::of(degree, scalar_bytes);
    2 * node_bytes / scalar_bytes * tile.lines() * tile.of_nodes(node_bytes).node_pitch
}

/// Its shape on a block, with nodes in a scalar of `node_bytes` bytes.
pub const fn shape(degree: usize, scalar_bytes: usize, node_bytes: usize) -> Shape {
    let tile = Tile::of(degree, scalar_bytes);
    let nodes = node_words(degree, scalar_bytes, node_bytes);
    let words = nodes + tile.products() + 2 * (degree + 1) * (degree + 1) + 1;
    Shape { columns: tile.threads(), patches: 1, words, barriers: 1 }
}
