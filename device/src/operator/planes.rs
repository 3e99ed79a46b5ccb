//! The operator in 3D, plane by plane: a block owns the outputs of a tile of cells in x and y and marches along z.
//!
//! ```text
//! y = A_z (c_z q) + (c_y M_z) p,   q = M_y s,   p = A_y s + M_y t,   s = M_x x,   t = (c_x / c_y) A_x x
//! ```
//!
//! with matrices of cells of size 1 and the factors `c` of [`Scaled`]. Of every plane of nodes a block copies what its outputs
//! depend on, one cell below them and one node above, to shared memory, while it still computes with the plane before.
//! Contractions along x give `s` and `t`, those along y `q` and `p`, and a thread adds what these give along z to the sums of
//! its column of the current cell's nodes, all in registers. A cell's last plane is the first of the next: then the sums
//! are complete and are stored. No two blocks write one node.
//!
//! So two values a node are scaled, `q` and `t`: entries of a mass matrix may have a factor, those of a stiffness matrix may
//! not, because its rows must sum to zero.

use crate::contract::Centrosymmetric;
use crate::layout::{Column, Shared};
use crate::matrices::{CellMatrices, CellMatrix, Scaled};
use crate::operator::{Output, tile::Tile};
use crate::patch::Grid;
use crate::scalar::Real;
use cuda_std::hint::{loads_together, made_here, opaque};
use cuda_std::shared::{Word, wait_for_copies};
use cuda_std::thread;

/// Values along a line: of the first `K` nodes of a cell, and of all `C` of the next one.
pub(super) struct Line<T, const K: usize, const C: usize> {
    before: [T; K],
    cell: [T; C],
}

impl<T: Real + Word, const K: usize, const C: usize> Line<T, K, C> {
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn read(from: Shared<T>, column: Column) -> Self {
        let cell = Column { start: column.start + K * column.stride, ..column };
        Self { before: from.read(column), cell: from.read(cell) }
    }

    /// Adds a matrix times the line to a sum.
    #[inline(always)]
    pub fn add<const H: usize>(&self, matrix: &CellMatrix<T, C, H>, sum: &mut Product<T, H>) {
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
pub(super) struct Product<T, const H: usize> {
    cell: [(T, T); H],
    before: T,
}

impl<T: Real, const H: usize> Product<T, H> {
    pub const ZERO: Self = Self { cell: [(T::ZERO, T::ZERO); H], before: T::ZERO };

    /// Of the cell's nodes but the last, which the next cell owns.
    #[inline(always)]
    pub fn outputs<const K: usize, const C: usize>(&self) -> [T; K] {
        let all: [T; C] = Centrosymmetric::<T, C, H>::join(&self.cell);
        let mut outputs = [T::ZERO; K];
        for i in 0..K {
            outputs[i] = all[i];
        }
        outputs[0] = outputs[0] + self.before;
        outputs
    }
}

/// A thread's part of the copy of a plane of nodes: one column of chunks of it, some lines at a time.
pub(super) struct Copies<T> {
    /// The chunk of the column in the first line, of the next plane; it may lie outside of the domain.
    source: *const T,
    /// Entry of that chunk in shared memory.
    target: usize,
    /// Turns in which the line has nodes of the domain; none if the column has none. What others would copy is read by
    /// nobody whose result is stored.
    turns: [u32; 2],
    grid: Grid,
}

impl<T: Real + Word> Copies<T> {
    /// From the plane of a grid that begins at `plane`, for the tile whose outputs begin at node `(left, below)`.
    #[inline(always)]
    fn new(tile: Tile, grid: Grid, plane: *const T, left: usize, below: usize) -> Self {
        let thread = thread::thread_idx_x() as usize;
        let (column, first) = (thread % tile.chunks(), thread / tile.chunks());
        let (step, k, last, last_line) = (tile.copied_lines(), tile.degree, grid.nodes(0), grid.nodes(1));
        let x = (left + column * tile.chunk) as i32 - (k + tile.before()) as i32;
        let y = (below + first) as i32 - k as i32;
        let lines = if below + tile.lines() < last_line + k + 1 { tile.lines() } else { last_line + k + 1 - below };
        let turns = |lines: i32| clamp(lines, tile.lines()).div_ceil(step) as u32;
        let has_nodes = first < step && x >= 0 && x <= last as i32;
        Self {
            source: plane.wrapping_offset(y as isize * last as isize + x as isize),
            target: first * tile.node_pitch + column * tile.chunk,
            turns: [turns(-y), if has_nodes { turns((lines - first) as i32) } else { 0 }],
            grid,
        }
    }

    /// Starts to copy the next plane.
    ///
    /// # Safety
    /// The plane is of a vector that begins at a chunk and has whole ones, and nobody reads `plane` before the copies
    /// have ended.
    #[inline(always)]
    unsafe fn start(&mut self, tile: Tile, plane: Shared<T>) {
        let grid = self.grid.remade();
        // Not on a grid with an odd number of patches a row, of odd degree, in `f32`.
        if tile.chunk == 2 || grid.row().is_multiple_of(tile.chunk) {
            // SAFETY: rows are whole chunks; the caller's promise.
            self.each_line(tile, grid, |target, source| unsafe { plane.copy_chunk(target, source) });
        } else {
            self.each_line(tile, grid, |target, source| {
                for word in 0..tile.chunk {
                    // SAFETY: as above: behind its last row a vector has the rest of a chunk.
                    unsafe { plane.copy(target + word, source.wrapping_add(word)) };
                }
            });
        }
        self.source = self.source.wrapping_add(grid.plane() as usize);
    }

    /// Copies the thread's chunk of each line that has nodes of the domain.
    #[inline(always)]
    fn each_line(&self, tile: Tile, grid: Grid, copy: impl Fn(usize, *const T)) {
        let mut source = self.source;
        for turn in 0..tile.lines().div_ceil(tile.copied_lines()) {
            if (self.turns[0]..self.turns[1]).contains(&(turn as u32)) {
                copy(self.target + turn * tile.copied_lines() * tile.node_pitch, source);
            }
            source = source.wrapping_add(tile.copied_lines() * grid.row());
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

/// How nodes lie in vectors, and which of them are outputs.
pub(super) trait Nodes<T: Real + Word, const K: usize>: Copy {
    /// A thread's part of the copies of planes.
    type Copies;

    /// Layers of cells along z that have outputs. The last plane of a layer belongs to the next one.
    fn layers(self) -> u32;

    /// The first layer that the outputs of those from `own` on depend on. It may be -1, wrapped: the image of a layer beyond the lower side,
    /// whose planes have wrapped numbers, too.
    fn first_layer(self, own: u32) -> u32;

    /// An entry of the matrix that takes the place of the stiffness matrix along z, from those of both matrices of cells of size 1.
    fn form(self, mass: T, stiffness: T) -> T;

    /// Copies of the planes from a layer on, for the tile whose outputs begin at node `(left, below)`.
    fn copies(self, tile: Tile, x: *const T, layer: u32, left: usize, below: usize) -> Self::Copies;

    /// Starts to copy plane `index`, counted from the first of `copies`, to `plane`; called with 0, 1, 2 and so on, in this order.
    ///
    /// # Safety
    /// Outputs depend on this plane, and nobody reads or writes `plane` in shared memory before the copies have ended.
    unsafe fn copy(self, copies: &mut Self::Copies, tile: Tile, plane: Shared<T>, index: usize);

    /// For the column whose first node is `(x, y)`: an offset that [`Self::b`] and [`Self::store`] take as `first`, 0 if they do not use it, and
    /// whether one of its nodes is stored. `is_one` is false for threads without a column.
    fn column(self, is_one: bool, x: usize, y: usize) -> (u32, bool);

    /// `b` at a column's nodes of plane `z`.
    ///
    /// # Safety
    /// The vector is of these nodes, the plane one whose products are added to outputs, and [`Self::column`] said that the column has some.
    unsafe fn b(self, first: u32, b: *const T, z: u32) -> [T; K];

    /// [`Self::b`] as often as images count the products at each node of the plane.
    fn load(self, b: [T; K], z: u32) -> [T; K];

    /// Stores a column's outputs of a cell's planes but the last, from plane `z` on, if [`Self::column`] said that it has some.
    ///
    /// # Safety
    /// The planes are of the vector, and no other thread writes these nodes.
    unsafe fn store<const C: usize>(self, is_stored: bool, first: u32, y: *mut T, z: u32, values: &[[T; K]; C]);
}

impl<T: Real + Word, const K: usize> Nodes<T, K> for Grid {
    type Copies = Copies<T>;

    #[inline(always)]
    fn layers(self) -> u32 {
        self.cells[2]
    }

    /// The cell below adds to the first plane of outputs.
    #[inline(always)]
    fn first_layer(self, own: u32) -> u32 {
        if own > 0 { own - 1 } else { 0 }
    }

    #[inline(always)]
    fn form(self, _mass: T, stiffness: T) -> T {
        stiffness
    }

    #[inline(always)]
    fn copies(self, tile: Tile, x: *const T, layer: u32, left: usize, below: usize) -> Copies<T> {
        let grid = Grid { degree: K as u32, ..self };
        Copies::new(tile, grid, x.wrapping_add(grid.offset_3d(0, 0, layer as usize * K)), left, below)
    }

    #[inline(always)]
    unsafe fn copy(self, copies: &mut Copies<T>, tile: Tile, plane: Shared<T>, _index: usize) {
        // SAFETY: the caller's promise.
        unsafe { copies.start(tile, plane) }
    }

    #[inline(always)]
    fn column(self, is_one: bool, x: usize, y: usize) -> (u32, bool) {
        (self.offset_2d(x, y) as u32, is_one && self.is_interior(0, x) && y < self.nodes(1))
    }

    #[inline(always)]
    unsafe fn b(self, first: u32, b: *const T, z: u32) -> [T; K] {
        let (mut values, grid) = ([T::ZERO; K], self.remade());
        let origin = b.wrapping_add(made_here(first) as usize + grid.plane() as usize * z as usize);
        for y in 0..K {
            // SAFETY: nodes of the column, behind the last plane in the guard.
            values[y] = unsafe { *origin.add(grid.local_3d(0, y, 0)) };
        }
        values
    }

    #[inline(always)]
    fn load(self, b: [T; K], _z: u32) -> [T; K] {
        b
    }

    #[inline(always)]
    unsafe fn store<const C: usize>(self, is_stored: bool, first: u32, y: *mut T, z: u32, values: &[[T; K]; C]) {
        if !is_stored {
            return;
        }
        let (output, z, grid) = (y, z as usize, self.remade());
        let origin = output.wrapping_add(first as usize + grid.plane() as usize * z);
        for local in 0..K {
            for y in 0..K {
                // Nodes of the boundary stay zero.
                if (y > 0 || first as usize >= grid.row()) && (local > 0 || z > 0) {
                    // SAFETY: the caller's promise; an unknown.
                    unsafe { *origin.add(grid.local_3d(0, y, local)) = values[local][y] };
                }
            }
        }
    }
}

/// The operator in 3D, for `chunk` cells along z.
///
/// # Safety
/// Launched as its [`shape`](super::tile::shape) and [`Tile::blocks`] say; the vectors are of the grid, whose rows have an
/// even number of nodes.
#[inline(always)]
pub unsafe fn apply_3d<T: Real + Word, const RESIDUAL: bool, const K: usize, const C: usize, const H: usize>(
    scaled: &Scaled<CellMatrices<T, C, H>, T>,
    x: *const T,
    output: Output<T>,
    cells: [u32; 3],
    chunk: u32,
) {
    // SAFETY: the caller's promise.
    unsafe { planes::<T, _, RESIDUAL, K, C, H>(scaled, Grid { cells, degree: K as u32 }, x, output, chunk) }
}

/// The operator on any [`Nodes`].
///
/// # Safety
/// As of [`apply_3d`], with vectors of these nodes.
#[inline(always)]
pub(super) unsafe fn planes<
    T: Real + Word,
    N: Nodes<T, K>,
    const RESIDUAL: bool,
    const K: usize,
    const C: usize,
    const H: usize,
>(
    scaled: &Scaled<CellMatrices<T, C, H>, T>,
    on: N,
    x: *const T,
    output: Output<T>,
    chunk: u32,
) {
    let (tile, matrices) = (const { Tile::of(K, size_of::<T>()) }, &scaled.matrices);
    let thread = thread::thread_idx_x() as usize;
    let left = thread::block_idx_x() as usize * tile.row();
    let below = thread::block_idx_y() as usize * (tile.cells[1] * K);
    let own = thread::block_idx_z() * chunk;
    let layers = on.layers();
    let end = if own + chunk < layers { own + chunk } else { layers };
    let start = on.first_layer(own);
    let planes = end.wrapping_sub(start) * K as u32 + 1;

    let mut copies = on.copies(tile, x, start, left, below);
    let nodes = |parity: u32| Shared::<T>::at(parity as usize * (tile.lines() * tile.node_pitch));
    let product = |parity: u32, stiffness: usize| {
        let words = tile.lines() * tile.row_pitch;
        Shared::<T>::at(2 * tile.lines() * tile.node_pitch + (2 * parity as usize + stiffness) * words)
    };

    let rows = Rows::<T, C>(Shared::at(tile.tensors()));
    if thread == 0 {
        rows.set(scaled, |mass, stiffness| on.form(mass, stiffness));
    }
    let (x_node, y_cell) = (left + thread % tile.row(), thread / tile.row());
    let along_y = Column { start: y_cell * K * tile.row_pitch + thread % tile.row(), stride: tile.row_pitch };
    let has_column = tile.is_full() || thread < tile.columns();
    let mut column = OutputColumn::<T, K, C>::new(on.column(has_column, x_node, below + y_cell * K));

    // SAFETY: the first plane is of the vector, and so are those up to the last.
    unsafe { on.copy(&mut copies, tile, nodes(0), 0) };
    // Of a plane's index; the index in its cell of the plane before, as the last one of two cells.
    let (mut parity, mut local, mut z) = (0, 0_u32, start.wrapping_mul(K as u32));
    for turn in 0..planes + 1 {
        wait_for_copies();
        thread::sync_threads();
        // Opaque, or the compiler takes the first turns out of the loop.
        let plane = opaque(turn);
        if plane + 1 < planes {
            // SAFETY: as above; the contractions of the plane before, which read there, are behind the barrier.
            unsafe { on.copy(&mut copies, tile, nodes(1 - parity), plane as usize + 1) };
        }
        if plane > 0 && has_column {
            // SAFETY: a plane of the vectors; for a residual there is `b`.
            let b = unsafe { column.read_b::<RESIDUAL>(on, output.b, z) };
            // Here the assembler would ask for it only where it is needed, and registers suffice; 8 % of the time in degree 6.
            if RESIDUAL && tile.is_full() && K > 5 && size_of::<T>() == 8 {
                // SAFETY: all lanes are here, for all have a column.
                unsafe { loads_together() };
            }
            let line = Line::<T, K, C>::read(product(1 - parity, 0), along_y);
            // Here, too, it would ask for each value only where it is needed.
            if !RESIDUAL && tile.is_full() && K == 6 && size_of::<T>() == 8 {
                // SAFETY: as above.
                unsafe { loads_together() };
            }
            let q = line.times(&matrices.mass).map(|value| scaled.factors[2] * value);
            let mut p = Product::ZERO;
            line.add(&matrices.stiffness, &mut p);
            let line = Line::<T, K, C>::read(product(1 - parity, 1), along_y);
            line.add(&matrices.mass, &mut p);
            let (p, b) = (p.outputs::<K, C>(), if RESIDUAL { on.load(b, z) } else { b });
            column.add::<RESIDUAL>(rows, local, &p, &q, &b);
            if local == K as u32 {
                // Sums of the cell below the chunk are not complete.
                if own == start || plane > K as u32 + 1 {
                    // SAFETY: planes of the vectors, of this block alone.
                    unsafe { column.store(on, output.y, z - K as u32) };
                }
                column.next_cell();
                column.add::<RESIDUAL>(rows, 0, &p, &q, &b);
            }
        }
        if plane > 0 {
            (local, z) = (if local == K as u32 { 1 } else { local + 1 }, z.wrapping_add(1));
        }
        if plane < planes {
            let products = [product(parity, 0), product(parity, 1)];
            contract_along_x::<T, K, C, H>(tile, matrices, rows, thread, nodes(parity), products);
        }
        parity = 1 - parity;
    }
}

/// Contractions of a plane along x with `M` and `(c_x / c_y) A`. A thread has the same cell in some lines.
#[inline(always)]
fn contract_along_x<T: Real + Word, const K: usize, const C: usize, const H: usize>(
    tile: Tile,
    matrices: &CellMatrices<T, C, H>,
    rows: Rows<T, C>,
    thread: usize,
    nodes: Shared<T>,
    products: [Shared<T>; 2],
) {
    let (line, cell, step) = (thread / tile.cells[0], thread % tile.cells[0], tile.threads() / tile.cells[0]);
    // Words side by side go together where the assembler sees that they begin at a multiple of so many: only if the
    // compiler does not see what is multiplied.
    let first = |pitch: usize| {
        let words = tile.words_together();
        opaque((line * (pitch / words) + cell * (K / words)) as u32) as usize * words
    };
    let ratio = rows.ratio();
    for turn in 0..tile.lines().div_ceil(step) {
        // Not to ask for what all threads have saves registers where all have a column, and costs some elsewhere.
        if tile.is_full() && (turn + 1) * step <= tile.lines() || line < tile.lines() - turn * step {
            let start = |pitch: usize| first(pitch) + turn * step * pitch;
            let line =
                Line::<T, K, C>::read(nodes, Column { start: tile.before() + start(tile.node_pitch), stride: 1 });
            let column = Column { start: start(tile.row_pitch), stride: 1 };
            products[0].write(column, &line.times(&matrices.mass));
            products[1].write(column, &line.times(&matrices.stiffness).map(|value| ratio * value));
        }
    }
}

/// Rows of both matrices, that of the mass times a factor, for contractions along z, in shared memory: which of them is known
/// at run time, and kernel arguments have no addresses. Behind them a ratio of factors, which a thread computes for all.
#[derive(Clone, Copy)]
struct Rows<T, const C: usize>(Shared<T>);

impl<T: Real + Word, const C: usize> Rows<T, C> {
    #[inline(always)]
    fn set<const H: usize>(
        self,
        Scaled { matrices, factors }: &Scaled<CellMatrices<T, C, H>, T>,
        form: impl Fn(T, T) -> T,
    ) {
        for i in 0..C {
            for j in 0..C {
                let (mass, stiffness) = (matrices.mass.rows[i][j], matrices.stiffness.rows[i][j]);
                self.0.set(2 * (i * C + j), factors[1] * mass);
                self.0.set(2 * (i * C + j) + 1, form(mass, stiffness));
            }
        }
        self.0.set(2 * C * C, factors[0] / factors[1]);
    }

    /// `c_x / c_y`.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn ratio(self) -> T {
        self.0.get(2 * C * C)
    }

    /// `c_y M[i][j]` and `A[i][j]`.
    #[inline(always)]
    fn get(self, i: usize, j: usize) -> (T, T) {
        (self.0.get(2 * (i * C + j)), self.0.get(2 * (i * C + j) + 1))
    }
}

/// A thread's outputs: `K` nodes along y, in the planes of the current cell.
struct OutputColumn<T, const K: usize, const C: usize> {
    sums: [[T; K]; C],
    /// See [`Nodes::column`].
    first: u32,
    is_stored: bool,
}

impl<T: Real + Word, const K: usize, const C: usize> OutputColumn<T, K, C> {
    #[inline(always)]
    fn new((first, is_stored): (u32, bool)) -> Self {
        Self { sums: [[T::ZERO; K]; C], first, is_stored }
    }

    /// `b` at the nodes of plane `z`, zeros if there is none: read early, and of one plane at a time.
    ///
    /// # Safety
    /// As of [`Nodes::b`].
    #[inline(always)]
    unsafe fn read_b<const RESIDUAL: bool>(&self, on: impl Nodes<T, K>, b: *const T, z: u32) -> [T; K] {
        if RESIDUAL && self.is_stored {
            // SAFETY: the caller's promise.
            unsafe { on.b(self.first, b, z) }
        } else {
            [T::ZERO; K]
        }
    }

    /// Adds plane `local` of the cell to all of its planes, with `q` times its factor:
    /// `sums[a] += c_y M[a][local] p + A[a][local] q`; for a residual `-=`, and `b` to its own plane, unless that is the next
    /// cell's.
    #[inline(always)]
    fn add<const RESIDUAL: bool>(&mut self, rows: Rows<T, C>, local: u32, p: &[T; K], q: &[T; K], b: &[T; K]) {
        for a in 0..C {
            // The matrices are symmetric.
            let (mass, stiffness) = rows.get(local as usize, a);
            let (mass, stiffness) = if RESIDUAL { (-mass, -stiffness) } else { (mass, stiffness) };
            for y in 0..K {
                self.sums[a][y] = T::fma(mass, p[y], T::fma(stiffness, q[y], self.sums[a][y]));
            }
        }
        for z in 0..K {
            if RESIDUAL && z as u32 == local {
                for y in 0..K {
                    self.sums[z][y] = self.sums[z][y] + b[y];
                }
            }
        }
    }

    /// Stores the cell's planes but the last, from plane `z` on.
    ///
    /// # Safety
    /// As of [`Nodes::store`].
    #[inline(always)]
    unsafe fn store(&self, on: impl Nodes<T, K>, y: *mut T, z: u32) {
        // SAFETY: the caller's promise.
        unsafe { on.store(self.is_stored, self.first, y, z, &self.sums) }
    }

    /// The cell's last plane becomes the first of the next cell.
    #[inline(always)]
    fn next_cell(&mut self) {
        let first = self.sums[K];
        self.sums = [[T::ZERO; K]; C];
        self.sums[0] = first;
    }
}
