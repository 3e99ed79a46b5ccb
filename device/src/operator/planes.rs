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

/// Words from line to line of the nodes, and of what contractions along x make of them, by degree: of all that are not
/// much longer than a line those with the fewest bank conflicts in `f32` and `f64` together.
const NODE_PITCH: [usize; 8] = [34, 35, 40, 37, 41, 31, 36, 41];
const ROW_PITCH: [usize; 8] = [32, 33, 40, 33, 25, 36, 36, 33];

impl Tile {
    /// Few nodes beside the outputs, and a column of outputs for nearly each of 128 threads: more have too few registers.
    pub const fn of(degree: usize) -> Self {
        let cells = match degree {
            1 => [32, 4],
            2 => [16, 4],
            3 | 4 => [8, 4],
            5 => [5, 5],
            6 | 7 => [4, 4],
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

    /// Words from line to line of the nodes.
    #[inline(always)]
    const fn node_pitch(self) -> usize {
        NODE_PITCH[self.degree - 1]
    }

    /// Words from line to line after the contraction along x.
    #[inline(always)]
    const fn row_pitch(self) -> usize {
        ROW_PITCH[self.degree - 1]
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
    const SINGLE: [u32; 8] = [8, 8, 8, 8, 6, 5, 4, 4];
    const DOUBLE: [u32; 8] = [8, 7, 6, 5, 4, 2, 2, 2];
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
    use crate::matrices::{CellMatrices, CellMatrix, Scaled};
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
        scaled: &Scaled<CellMatrices<T, C, H>, T>,
        x: *const T,
        output: Output<T>,
        cells: u32,
        chunk: u32,
    ) {
        let (tile, matrices) = (const { Tile::of(K) }, &scaled.matrices);
        let grid = Grid { cells, degree: K as u32 };
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

        let rows = Rows::<T, C>(Shared::at(2 * tile.lines() * (tile.node_pitch() + 2 * tile.row_pitch())));
        if thread == 0 {
            rows.set(scaled);
        }
        let (x_node, y_cell) = (left + thread % tile.row(), thread / tile.row());
        let along_y = Column { start: y_cell * K * tile.row_pitch() + thread % tile.row(), stride: tile.row_pitch() };
        let has_column = thread < tile.columns();
        let mut column = OutputColumn::<T, K, C>::new(has_column, grid, x_node, below + y_cell * K);

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
                let z = (start * K as u32 + plane - 1) as usize;
                // SAFETY: a plane of the vectors; for a residual there is `b`.
                let b = unsafe { column.read_b::<RESIDUAL>(output, grid, z) };
                let line = Line::<T, K, C>::read(product(plane - 1, 0), along_y);
                let q = line.times(&matrices.mass);
                let mut p = Product::ZERO;
                line.add(&matrices.stiffness, &mut p);
                let line = Line::<T, K, C>::read(product(plane - 1, 1), along_y);
                line.add(&matrices.mass, &mut p);
                let p = p.outputs::<K, C>();
                column.add::<RESIDUAL>(rows, &p, &q, &b);
                if column.local == K {
                    // Sums of the cell below the chunk are not complete.
                    if own == start || plane > K as u32 + 1 {
                        // SAFETY: planes of the vectors, of this block alone.
                        unsafe { column.store(output, grid, z - K) };
                    }
                    column.next_cell();
                    column.add::<RESIDUAL>(rows, &p, &q, &b);
                }
                column.local += 1;
            }
            if plane < planes {
                for turn in 0..tile.cell_rows().div_ceil(tile.threads()) {
                    let task = thread + turn * tile.threads();
                    if task < tile.cell_rows() {
                        let (line, cell) = (task / tile.cells[0], task % tile.cells[0]);
                        // Without a gap between lines the cells are equally far apart, which saves a register.
                        let start = |pitch: usize| if pitch == tile.row() { task * K } else { line * pitch + cell * K };
                        let along_x = |pitch: usize| Column { start: start(pitch), stride: 1 };
                        let nodes = Line::<T, K, C>::read(nodes(plane), along_x(tile.node_pitch()));
                        product(plane, 0).write(along_x(tile.row_pitch()), &nodes.times(&matrices.mass));
                        product(plane, 1).write(along_x(tile.row_pitch()), &nodes.times(&matrices.stiffness));
                    }
                }
            }
        }
    }

    /// Rows of both matrices times the factor, for contractions along z, in shared memory: which of them is known at run
    /// time, and kernel arguments have no addresses.
    #[derive(Clone, Copy)]
    struct Rows<T, const C: usize>(Shared<T>);

    impl<T: Real + Word, const C: usize> Rows<T, C> {
        #[inline(always)]
        fn set<const H: usize>(self, Scaled { matrices, factor }: &Scaled<CellMatrices<T, C, H>, T>) {
            for i in 0..C {
                for j in 0..C {
                    self.0.set(2 * (i * C + j), *factor * matrices.mass.rows[i][j]);
                    self.0.set(2 * (i * C + j) + 1, *factor * matrices.stiffness.rows[i][j]);
                }
            }
        }

        /// `M[i][j]` and `A[i][j]`, both times the factor.
        #[inline(always)]
        fn get(self, i: usize, j: usize) -> (T, T) {
            (self.0.get(2 * (i * C + j)), self.0.get(2 * (i * C + j) + 1))
        }
    }

    /// A thread's outputs: `K` nodes along y, in the planes of the current cell.
    struct OutputColumn<T, const K: usize, const C: usize> {
        sums: [[T; K]; C],
        /// Index in the cell of the next plane to be added.
        local: usize,
        /// Offset in a plane of the first node.
        first: u32,
        /// Whether the nodes are unknowns, but for the first one at the lower boundary.
        is_stored: bool,
    }

    impl<T: Real + Word, const K: usize, const C: usize> OutputColumn<T, K, C> {
        #[inline(always)]
        fn new(is_one: bool, grid: Grid, x: usize, y: usize) -> Self {
            Self {
                sums: [[T::ZERO; K]; C],
                local: 0,
                first: grid.offset_2d(x, y) as u32,
                is_stored: is_one && grid.is_interior(x) && y < grid.row(),
            }
        }

        /// `b` at the nodes of plane `z`, zeros if there is none: read early, and of one plane at a time.
        ///
        /// # Safety
        /// The plane is of the vector.
        #[inline(always)]
        unsafe fn read_b<const RESIDUAL: bool>(&self, output: Output<T>, grid: Grid, z: usize) -> [T; K] {
            let mut values = [T::ZERO; K];
            if RESIDUAL && self.is_stored {
                // Kept from plane to plane, the address would spill at degrees 4 and 8 in `f64`.
                let origin = output.b.wrapping_add(grid.offset_3d(made_here(self.first) as usize, 0, z));
                let grid = Grid { cells: made_here(grid.cells), ..grid };
                for y in 0..K {
                    // SAFETY: nodes of the column, behind the last plane in the guard.
                    values[y] = unsafe { *origin.add(grid.local_3d(0, y, 0)) };
                }
            }
            values
        }

        /// Adds a plane to all planes of the cell: `sums[a] += M[a][local] p + A[a][local] q`; for a residual `-=`, and
        /// `b` to its own plane, unless that is the next cell's.
        #[inline(always)]
        fn add<const RESIDUAL: bool>(&mut self, rows: Rows<T, C>, p: &[T; K], q: &[T; K], b: &[T; K]) {
            for a in 0..C {
                // The matrices are symmetric.
                let (mass, stiffness) = rows.get(self.local, a);
                let (mass, stiffness) = if RESIDUAL { (-mass, -stiffness) } else { (mass, stiffness) };
                for y in 0..K {
                    self.sums[a][y] = T::fma(mass, p[y], T::fma(stiffness, q[y], self.sums[a][y]));
                }
            }
            for z in 0..K {
                if RESIDUAL && z == self.local {
                    for y in 0..K {
                        self.sums[z][y] = self.sums[z][y] + b[y];
                    }
                }
            }
        }

        /// Stores the cell's planes but the last, from plane `z` on.
        ///
        /// # Safety
        /// The planes are of the vector, and no other thread writes these nodes.
        #[inline(always)]
        unsafe fn store(&self, output: Output<T>, grid: Grid, z: usize) {
            if !self.is_stored {
                return;
            }
            let origin = output.y.wrapping_add(grid.offset_3d(self.first as usize, 0, z));
            let grid = Grid { cells: made_here(grid.cells), ..grid };
            for local in 0..K {
                for y in 0..K {
                    // Nodes of the boundary stay zero.
                    if (y > 0 || self.first as usize >= grid.row()) && (local > 0 || z > 0) {
                        // SAFETY: the caller's promise; an unknown.
                        unsafe { *origin.add(grid.local_3d(0, y, local)) = self.sums[local][y] };
                    }
                }
            }
        }

        /// The cell's last plane becomes the first of the next cell.
        #[inline(always)]
        fn next_cell(&mut self) {
            let first = self.sums[K];
            self.sums = [[T::ZERO; K]; C];
            self.sums[0] = first;
            self.local = 0;
        }
    }
}
