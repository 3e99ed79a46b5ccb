//! The operator in 3D, plane by plane: a block owns the outputs of a tile of cells in x and y and marches along z.
//!
//! Of every plane of nodes it copies what its outputs depend on, one cell below them and one node above, to shared
//! memory, while it still computes with the plane before. Contractions along x give `s = M x` and `t = A x`, those along
//! y `q = M s` and `p = A s + M t`, and a thread adds `M p + A q` to the sums of its column of the current cell's nodes
//! along z, all in registers. A cell's last plane is the first of the next: then the sums are complete and are stored.
//! No two blocks write one node.

use crate::kernels::Shape;
use crate::patch::Grid;

/// The outputs of a block in a plane: those of so many cells in x and y, each cell's first node included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tile {
    cells: [usize; 2],
    degree: usize,
}

impl Tile {
    /// Few nodes beside the outputs, at most one column of outputs a thread, and room for several blocks.
    pub const fn of(degree: usize) -> Self {
        let cells = match degree {
            1 => [32, 8],
            2 => [16, 4],
            3 | 4 => [8, 4],
            5..=7 => [4, 4],
            _ => [4, 2],
        };
        Self { cells, degree }
    }

    /// Outputs in a row of a plane.
    #[inline(always)]
    const fn row(self) -> usize {
        self.cells[0] * self.degree
    }

    /// Nodes in a row that these depend on.
    #[inline(always)]
    const fn nodes(self) -> usize {
        self.row() + self.degree + 1
    }

    /// Rows of nodes that outputs depend on.
    #[inline(always)]
    const fn lines(self) -> usize {
        self.cells[1] * self.degree + self.degree + 1
    }

    /// Threads that have a contraction along y: a column of a cell's outputs each.
    #[inline(always)]
    const fn columns(self) -> usize {
        self.row() * self.cells[1]
    }

    /// Contractions along x: of a cell in a row each.
    #[inline(always)]
    const fn cell_rows(self) -> usize {
        self.cells[0] * self.lines()
    }

    /// Lines that its threads copy at a time, one node each.
    #[inline(always)]
    const fn copied_lines(self) -> usize {
        self.threads() / self.nodes()
    }

    /// Words from row to row of the nodes; odd, so that neighbouring rows are in different banks.
    #[inline(always)]
    const fn node_pitch(self) -> usize {
        self.nodes() | 1
    }

    /// Words from row to row after the contraction along x.
    #[inline(always)]
    const fn row_pitch(self) -> usize {
        self.row() | 1
    }

    #[inline(always)]
    const fn threads(self) -> usize {
        // Registers are given to four warps at a time.
        self.columns().next_multiple_of(128)
    }

    /// The smallest level that has a tile and cells beyond it.
    #[cfg(not(target_arch = "nvptx64"))]
    pub const fn grid(self) -> Grid {
        let [x, y] = self.cells;
        let most = if x > y { x } else { y };
        Grid { cells: 2 * most as u32, degree: self.degree as u32 }
    }

    /// Blocks for all outputs of a level, in chunks of so many cells along z.
    pub const fn blocks(self, grid: Grid, chunk: u32) -> [u32; 3] {
        let [x, y] = self.cells;
        [grid.cells.div_ceil(x as u32), grid.cells.div_ceil(y as u32), grid.cells.div_ceil(chunk)]
    }
}

/// Blocks that a multiprocessor should hold: as many as have registers for their sums.
pub const fn min_blocks(degree: usize, word_bytes: usize) -> u32 {
    const SINGLE: [u32; 8] = [4, 8, 7, 5, 5, 4, 4, 3];
    const DOUBLE: [u32; 8] = [4, 5, 4, 4, 3, 2, 2, 2];
    if word_bytes == 4 { SINGLE[degree - 1] } else { DOUBLE[degree - 1] }
}

/// Its shape on a block: two planes of nodes, and two of both products along x.
pub const fn shape(degree: usize) -> Shape {
    let tile = Tile::of(degree);
    let words = 2 * tile.lines() * (tile.node_pitch() + 2 * tile.row_pitch()) + 2 * (degree + 1) * (degree + 1);
    Shape { columns: tile.threads(), patches: 1, words, barriers: 1 }
}

pub use device::*;

mod device {
    use super::*;
    use crate::contract::Centrosymmetric;
    use crate::layout::{Column, Shared};
    use crate::matrices::{CellMatrices, CellMatrix};
    use crate::operator::Output;
    use crate::scalar::Real;
    use cuda_std::hint::{made_here, opaque};
    use cuda_std::shared::{Word, wait_for_copies};
    use cuda_std::thread;

    /// Values along a line: of the first `K` nodes of a cell, and of all `C` of the next one.
    struct Line<T, const K: usize, const C: usize> {
        before: [T; K],
        cell: [T; C],
    }

    impl<T: Real + Word, const K: usize, const C: usize> Line<T, K, C> {
        #[inline(always)]
        #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
        fn read(from: Shared<T>, column: Column) -> Self {
            let cell = Column { start: column.start + K * column.stride, ..column };
            Self { before: from.read(column), cell: from.read(cell) }
        }

        /// Adds a matrix times the line to a sum.
        #[inline(always)]
        fn add<const H: usize>(&self, matrix: &CellMatrix<T, C, H>, sum: &mut Product<T, H>) {
            matrix.split.add_split(&self.cell, &mut sum.cell);
            for i in 0..K {
                sum.before = T::fma(matrix.rows[K][i], self.before[i], sum.before);
            }
            sum.before = T::fma(matrix.rows[K][K], self.cell[0], sum.before);
        }

        /// The first `K` entries of a matrix times the line.
        #[inline(always)]
        fn times<const H: usize>(&self, matrix: &CellMatrix<T, C, H>) -> [T; K] {
            let mut product = Product::ZERO;
            self.add(matrix, &mut product);
            product.outputs::<K, C>()
        }
    }

    /// A sum of matrices times lines: of a cell alone, split into even and odd part, and what the cell before adds at the
    /// node that they share.
    struct Product<T, const H: usize> {
        cell: [(T, T); H],
        before: T,
    }

    impl<T: Real, const H: usize> Product<T, H> {
        const ZERO: Self = Self { cell: [(T::ZERO, T::ZERO); H], before: T::ZERO };

        /// Of the cell's nodes but the last, which the next cell owns.
        #[inline(always)]
        fn outputs<const K: usize, const C: usize>(&self) -> [T; K] {
            let all: [T; C] = Centrosymmetric::<T, C, H>::join(&self.cell);
            let mut outputs = [T::ZERO; K];
            for i in 0..K {
                outputs[i] = all[i];
            }
            outputs[0] = outputs[0] + self.before;
            outputs
        }
    }

    /// A thread's part of the copy of a plane of nodes: one column of it, some lines at a time.
    struct Copies<T> {
        /// The node of the column in the first line, which may lie below the domain.
        source: *const T,
        /// Entry of that node in shared memory.
        target: usize,
        /// Turns in which the line has nodes of the domain. What others would copy is read by nobody whose result is
        /// stored.
        turns: [u32; 2],
        row: u32,
    }

    impl<T: Real + Word> Copies<T> {
        /// From the plane of a grid that begins at `plane`, for the tile whose outputs begin at node `(left, below)`.
        #[inline(always)]
        fn new(tile: Tile, grid: Grid, plane: *const T, left: usize, below: usize) -> Self {
            let thread = thread::thread_idx_x() as usize;
            let (column, first) = (thread % tile.nodes(), thread / tile.nodes());
            let (step, k, last) = (tile.copied_lines(), tile.degree, grid.row());
            // A column without nodes of the domain is a copy of another one.
            let x = clamp((left + column) as i32 - k as i32, last);
            let y = (below + first) as i32 - k as i32;
            let lines = if below + tile.lines() < last + k + 1 { tile.lines() } else { last + k + 1 - below };
            let turns = |lines: i32| clamp(lines, tile.lines()).div_ceil(step) as u32;
            Self {
                source: plane.wrapping_add(x).wrapping_offset(y as isize * last as isize),
                target: first * tile.node_pitch() + column,
                turns: [turns(-y), if first < step { turns((lines - first) as i32) } else { 0 }],
                row: last as u32,
            }
        }

        /// Copies the plane that is so many planes above the first.
        ///
        /// # Safety
        /// The plane is of the vector, and nobody reads `plane` before the copies have ended.
        #[inline(always)]
        unsafe fn start(&self, tile: Tile, plane: Shared<T>, above: u32) {
            let row = made_here(self.row) as usize;
            let mut source = self.source.wrapping_add(row * row * above as usize);
            for turn in 0..tile.lines().div_ceil(tile.copied_lines()) {
                if (self.turns[0]..self.turns[1]).contains(&(turn as u32)) {
                    let target = self.target + turn * tile.copied_lines() * tile.node_pitch();
                    // SAFETY: a node of the vector; the caller's promise.
                    unsafe { plane.copy(target, source) };
                }
                source = source.wrapping_add(tile.copied_lines() * row);
            }
        }
    }

    /// `value` as an index of `0..=last`.
    #[inline(always)]
    fn clamp(value: i32, last: usize) -> usize {
        if value < 0 {
            0
        } else if value as usize > last {
            last
        } else {
            value as usize
        }
    }

    /// The operator in 3D, for `chunk` cells along z.
    ///
    /// # Safety
    /// Launched as its [`shape`] and [`Tile::blocks`] say; the vectors are of the grid.
    #[inline(always)]
    pub unsafe fn apply_3d<T: Real + Word, const RESIDUAL: bool, const K: usize, const C: usize, const H: usize>(
        matrices: &CellMatrices<T, C, H>,
        x: *const T,
        output: Output<T>,
        cells: u32,
        chunk: u32,
    ) {
        let tile = const { Tile::of(K) };
        let grid = Grid { cells, degree: K as u32 };
        let row = grid.row();
        let thread = thread::thread_idx_x() as usize;
        let left = thread::block_idx_x() as usize * tile.row();
        let below = thread::block_idx_y() as usize * (tile.cells[1] * K);
        let own = thread::block_idx_z() * chunk;
        let end = if own + chunk < cells { own + chunk } else { cells };
        // The cell below adds to the first plane of outputs.
        let start = if own > 0 { own - 1 } else { 0 };
        let planes = (end - start) * K as u32 + 1;

        let copies = Copies::new(tile, grid, x.wrapping_add(grid.offset_3d(0, 0, start as usize * K)), left, below);
        let nodes = |plane: u32| Shared::<T>::at((plane & 1) as usize * (tile.lines() * tile.node_pitch()));
        let product = |plane: u32, stiffness: usize| {
            let words = tile.lines() * tile.row_pitch();
            Shared::<T>::at(2 * tile.lines() * tile.node_pitch() + (2 * (plane & 1) as usize + stiffness) * words)
        };

        // Which of them is known at run time, and arguments have no addresses.
        let rows = Shared::<T>::at(2 * tile.lines() * (tile.node_pitch() + 2 * tile.row_pitch()));
        if thread == 0 {
            for i in 0..C {
                for j in 0..C {
                    rows.set(2 * (i * C + j), matrices.mass.rows[i][j]);
                    rows.set(2 * (i * C + j) + 1, matrices.stiffness.rows[i][j]);
                }
            }
        }

        // A column of outputs.
        let has_column = thread < tile.columns();
        let (x_node, y_cell) = (left + thread % tile.row(), thread / tile.row());
        let y_node = below + y_cell * K;
        let is_stored = has_column && grid.is_interior(x_node) && y_node < row;
        let along_y = Column { start: y_cell * K * tile.row_pitch() + thread % tile.row(), stride: tile.row_pitch() };
        let mut sums = [[T::ZERO; K]; C];
        let mut local = 0;

        // SAFETY: the first plane is of the vector, and so are those up to the last.
        unsafe { copies.start(tile, nodes(0), 0) };
        for turn in 0..planes + 1 {
            wait_for_copies();
            thread::sync_threads();
            // Opaque, or the compiler takes the first turns out of the loop.
            let plane = opaque(turn);
            if plane + 1 < planes {
                // SAFETY: as above; the contractions of the plane before, which read there, are behind the barrier.
                unsafe { copies.start(tile, nodes(plane + 1), plane + 1) };
            }
            if plane > 0 && has_column {
                // Of a residual: read early, and one plane at a time.
                let b = if RESIDUAL && is_stored {
                    let origin = grid.offset_3d(x_node, y_node, (start * K as u32 + plane - 1) as usize);
                    // SAFETY: nodes of this thread's column, in the guard behind the last plane.
                    unsafe { output.read_b(origin, made_here(row as u32)) }
                } else {
                    [T::ZERO; K]
                };
                let line = Line::<T, K, C>::read(product(plane - 1, 0), along_y);
                let q = line.times(&matrices.mass);
                let mut p = Product::ZERO;
                line.add(&matrices.stiffness, &mut p);
                let line = Line::<T, K, C>::read(product(plane - 1, 1), along_y);
                line.add(&matrices.mass, &mut p);
                let p = p.outputs::<K, C>();
                add::<_, RESIDUAL, K, C>(&mut sums, rows, local, &p, &q);
                if RESIDUAL {
                    for z in 1..K {
                        if z == local {
                            add_to(&mut sums[z], &b);
                        }
                    }
                }
                if local == K {
                    // Sums of the cell below the chunk are not complete.
                    if is_stored && (plane > K as u32 + 1 || start == own) {
                        let z_node = (start * K as u32 + plane - 1) as usize - K;
                        let origin = grid.offset_3d(x_node, y_node, z_node);
                        let grid = Grid { cells: made_here(cells), ..grid };
                        for z in 0..K {
                            for y in 0..K {
                                if (y > 0 || y_node > 0) && (z > 0 || z_node > 0) {
                                    // SAFETY: an unknown, of this thread's column.
                                    unsafe { *output.y.add(origin + grid.local_3d(0, y, z)) = sums[z][y] };
                                }
                            }
                        }
                    }
                    let complete = sums[K];
                    sums = [[T::ZERO; K]; C];
                    sums[0] = complete;
                    add::<_, RESIDUAL, K, C>(&mut sums, rows, 0, &p, &q);
                    add_to(&mut sums[0], &b);
                    local = 0;
                }
                local += 1;
            }
            if plane < planes {
                for turn in 0..tile.cell_rows().div_ceil(tile.threads()) {
                    let task = thread + turn * tile.threads();
                    if task < tile.cell_rows() {
                        let (line, cell) = (task % tile.lines(), task / tile.lines());
                        let along_x = |pitch: usize| Column { start: line * pitch + cell * K, stride: 1 };
                        let nodes = Line::<T, K, C>::read(nodes(plane), along_x(tile.node_pitch()));
                        product(plane, 0).write(along_x(tile.row_pitch()), &nodes.times(&matrices.mass));
                        product(plane, 1).write(along_x(tile.row_pitch()), &nodes.times(&matrices.stiffness));
                    }
                }
            }
        }
    }

    #[inline(always)]
    fn add_to<T: Real, const K: usize>(sum: &mut [T; K], values: &[T; K]) {
        for y in 0..K {
            sum[y] = sum[y] + values[y];
        }
    }

    /// `sums[a] += M[a][local] p + A[a][local] q`, `a` the nodes of a cell along z and `local` that of the plane; for a
    /// residual `-=`.
    #[inline(always)]
    fn add<T: Real + Word, const RESIDUAL: bool, const K: usize, const C: usize>(
        sums: &mut [[T; K]; C],
        rows: Shared<T>,
        local: usize,
        p: &[T; K],
        q: &[T; K],
    ) {
        for a in 0..C {
            // The matrices are symmetric.
            let (mass, stiffness) = (rows.get(2 * (local * C + a)), rows.get(2 * (local * C + a) + 1));
            let (mass, stiffness) = if RESIDUAL { (-mass, -stiffness) } else { (mass, stiffness) };
            for y in 0..K {
                sums[a][y] = T::fma(mass, p[y], T::fma(stiffness, q[y], sums[a][y]));
            }
        }
    }
}
