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
use crate::operator::Output;
use crate::operator::cells::{Cells, Equal, Factor, Without};
use crate::operator::nodes::{NodeOf, Outputs, Planes};
use crate::operator::tile::{self, Tile};
use crate::patch::Grid;
use crate::scalar::Real;
use cuda_std::hint::{loads_together, opaque};
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
    pub fn read<X: NodeOf<T>>(from: Shared<X>, column: Column) -> Self {
        let cell = Column { start: column.start + K * column.stride, ..column };
        Self { before: X::widen(from.read(column)), cell: X::widen(from.read(cell)) }
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

    /// The first `K` entries of a matrix times the line, with factors of the cell before and of this one.
    #[inline(always)]
    fn times<const H: usize>(&self, matrix: &CellMatrix<T, C, H>, factors: [impl Factor<T>; 2]) -> [T; K] {
        let mut product = Product::ZERO;
        self.add(matrix, &mut product);
        product.outputs::<K, C>(factors)
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

    /// With factors of the cell before and of this one.
    #[inline(always)]
    pub fn scaled(self, [before, own]: [impl Factor<T>; 2]) -> Self {
        let cell = self.cell.map(|(even, odd)| (own.times(even), own.times(odd)));
        Self { cell, before: before.times(self.before) }
    }

    /// Of the cell's nodes but the last, which the next cell owns, with factors as of [`Self::scaled`].
    #[inline(always)]
    pub fn outputs<const K: usize, const C: usize>(&self, [before, own]: [impl Factor<T>; 2]) -> [T; K] {
        let all: [T; C] = Centrosymmetric::<T, C, H>::join(&self.cell);
        let mut outputs = [T::ZERO; K];
        for i in 0..K {
            outputs[i] = own.times(all[i]);
        }
        outputs[0] = before.add(self.before, outputs[0]);
        outputs
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
    unsafe {
        let (on, cells) = (Grid { cells, degree: K as u32 }, Equal { reaction: Without });
        planes::<T, T, _, _, RESIDUAL, K, C, H>(scaled, on, cells, x, output, chunk)
    }
}

/// `y = A x` in `f64` for an `x` in `f32`, as [`apply_3d`].
///
/// # Safety
/// As of [`apply_3d`].
#[inline(always)]
pub unsafe fn apply_rounded_3d<const K: usize, const C: usize, const H: usize>(
    scaled: &Scaled<CellMatrices<f64, C, H>, f64>,
    x: *const f32,
    y: *mut f64,
    cells: [u32; 3],
    chunk: u32,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let (on, cells) = (Grid { cells, degree: K as u32 }, Equal { reaction: Without });
        let output = Output { b: core::ptr::null(), y };
        planes::<f64, f32, _, _, false, K, C, H>(scaled, on, cells, x, output, chunk)
    }
}

/// The operator on any nodes.
///
/// # Safety
/// As of [`apply_3d`], with vectors of these nodes.
#[inline(always)]
pub(super) unsafe fn planes<
    T: Real + Word,
    X: NodeOf<T>,
    N: Planes<X, K> + Outputs<T, K>,
    S: Cells<T>,
    const RESIDUAL: bool,
    const K: usize,
    const C: usize,
    const H: usize,
>(
    scaled: &Scaled<CellMatrices<T, C, H>, T>,
    on: N,
    cells: S,
    x: *const X,
    output: Output<T>,
    chunk: u32,
) {
    let (tile, matrices) = (const { Tile::of(K, size_of::<T>()) }, &scaled.matrices);
    let of_nodes = tile.of_nodes(size_of::<X>());
    let node_words = const { tile::node_words(K, size_of::<T>(), size_of::<X>()) };
    let thread = thread::thread_idx_x() as usize;
    let left = thread::block_idx_x() as usize * tile.row();
    let below = thread::block_idx_y() as usize * (tile.cells[1] * K);
    let own = thread::block_idx_z() * chunk;
    let layers = on.layers();
    let end = if own + chunk < layers { own + chunk } else { layers };
    let start = on.first_layer(own);
    let planes = end.wrapping_sub(start) * K as u32 + 1;

    let mut copies = on.copies(of_nodes, x, start, left, below);
    let nodes = |parity: u32| Shared::<X>::at(parity as usize * (tile.lines() * of_nodes.node_pitch));
    let product = |parity: u32, stiffness: usize| {
        let words = tile.lines() * tile.row_pitch;
        Shared::<T>::at(node_words + (2 * parity as usize + stiffness) * words)
    };

    let rows = Rows::<T, C>(Shared::at(node_words + tile.products()));
    if thread == 0 {
        rows.set(scaled, |mass, stiffness| cells.form(mass, stiffness));
    }
    let (x_node, y_cell) = (left + thread % tile.row(), thread / tile.row());
    let along_y = Column { start: y_cell * K * tile.row_pitch + thread % tile.row(), stride: tile.row_pitch };
    let has_column = tile.is_full() || thread < tile.columns();
    let mut column = OutputColumn::<T, K, C>::new(on.column(has_column, x_node, below + y_cell * K));

    // SAFETY: the first plane is of the vector, and so are those up to the last.
    unsafe { on.copy(&mut copies, of_nodes, nodes(0), 0) };
    // Of a plane's index; the index in its cell of the plane before, as the last one of two cells.
    let (mut parity, mut local, mut z) = (0, 0_u32, start.wrapping_mul(K as u32));
    for turn in 0..planes + 1 {
        wait_for_copies();
        thread::sync_threads();
        // Opaque, or the compiler takes the first turns out of the loop.
        let plane = opaque(turn);
        if plane + 1 < planes {
            // SAFETY: as above; the contractions of the plane before, which read there, are behind the barrier.
            unsafe { on.copy(&mut copies, of_nodes, nodes(1 - parity), plane as usize + 1) };
        }
        if plane > 0 && has_column {
            // SAFETY: a plane of the vectors; for a residual there is `b`.
            let read_b = || unsafe { column.read_b::<RESIDUAL>(on, output.b, z) };
            // With factors of cells sums would spill.
            let is_late = !S::ARE_EQUAL && matches!(K, 6 | 7) && size_of::<T>() == 8;
            let early = if is_late { [T::ZERO; K] } else { read_b() };
            // Here the assembler would ask for it only where it is needed, and registers suffice; 8 % of the time in degree 6.
            if RESIDUAL && S::ARE_EQUAL && tile.is_full() && K > 5 && size_of::<T>() == 8 {
                // SAFETY: all lanes are here, for all have a column.
                unsafe { loads_together() };
            }
            let line = Line::<T, K, C>::read(product(1 - parity, 0), along_y);
            // Here, too, it would ask for each value only where it is needed.
            if !RESIDUAL && S::ARE_EQUAL && tile.is_full() && K == 6 && size_of::<T>() == 8 {
                // SAFETY: as above.
                unsafe { loads_together() };
            }
            let factors = cells.pair(1, thread::block_idx_y() * tile.cells[1] as u32 + y_cell as u32);
            let q = line.times(&matrices.mass, factors.mass).map(|value| cells.of_all(scaled.factors[2], value));
            let mut p = Product::ZERO;
            line.add(&matrices.stiffness, &mut p);
            let mut p = p.scaled(factors.ratio);
            let line = Line::<T, K, C>::read(product(1 - parity, 1), along_y);
            line.add(&matrices.mass, &mut p);
            let (p, mut sum, mut product) = (p.outputs::<K, C>(factors.mass), [T::ZERO; K], [T::ZERO; K]);
            let p = cells.with_reaction(&p, &q, &mut sum);
            let b = if is_late { read_b() } else { early };
            let b = if RESIDUAL { on.load(b, z) } else { b };
            // One more than the number of the plane's layer of cells, which is -1 for an image.
            let layer = z.wrapping_add(K as u32).wrapping_sub(local) / K as u32;
            let of_layer = cells.factors(2, layer.wrapping_sub(1));
            column.add::<RESIDUAL, _>(
                rows,
                local,
                of_layer.mass,
                p,
                of_layer.stiffness.times_all(&q, &mut product),
                &b,
            );
            if local == K as u32 {
                // Sums of the cell below the chunk are not complete.
                if own == start || plane > K as u32 + 1 {
                    // SAFETY: planes of the vectors, of this block alone.
                    unsafe { column.store(on, output.y, z - K as u32) };
                }
                column.next_cell();
                let of_layer = cells.factors(2, layer);
                column.add::<RESIDUAL, _>(
                    rows,
                    0,
                    of_layer.mass,
                    p,
                    of_layer.stiffness.times_all(&q, &mut product),
                    &b,
                );
            }
        }
        if plane > 0 {
            (local, z) = (if local == K as u32 { 1 } else { local + 1 }, z.wrapping_add(1));
        }
        if plane < planes {
            let products = [product(parity, 0), product(parity, 1)];
            contract_along_x::<T, X, K, C, H>(tile, of_nodes, matrices, cells, rows, thread, nodes(parity), products);
        }
        parity = 1 - parity;
    }
}

/// Contractions of a plane along x with `M` and `(c_x / c_y) A`. A thread has the same cell in some lines.
#[inline(always)]
#[allow(clippy::too_many_arguments)] // what the kernel has
fn contract_along_x<T: Real + Word, X: NodeOf<T>, const K: usize, const C: usize, const H: usize>(
    tile: Tile,
    of_nodes: Tile,
    matrices: &CellMatrices<T, C, H>,
    cells: impl Cells<T>,
    rows: Rows<T, C>,
    thread: usize,
    nodes: Shared<X>,
    products: [Shared<T>; 2],
) {
    let (line, cell, step) = (thread / tile.cells[0], thread % tile.cells[0], tile.threads() / tile.cells[0]);
    // Words side by side go together where the assembler sees that they begin at a multiple of so many: only if the
    // compiler does not see what is multiplied.
    let first =
        |pitch: usize, words: usize| opaque((line * (pitch / words) + cell * (K / words)) as u32) as usize * words;
    let ratio = rows.ratio();
    let factors = cells.pair(0, thread::block_idx_x() * tile.cells[0] as u32 + cell as u32);
    for turn in 0..tile.lines().div_ceil(step) {
        // Not to ask for what all threads have saves registers where all have a column, and costs some elsewhere.
        if tile.is_full() && (turn + 1) * step <= tile.lines() || line < tile.lines() - turn * step {
            let start = |pitch: usize, words: usize| first(pitch, words) + turn * step * pitch;
            let first_node = of_nodes.before() + start(of_nodes.node_pitch, of_nodes.words_together());
            let line = Line::<T, K, C>::read(nodes, Column { start: first_node, stride: 1 });
            let column = Column { start: start(tile.row_pitch, tile.words_together()), stride: 1 };
            products[0].write(column, &line.times(&matrices.mass, factors.mass));
            let product = line.times(&matrices.stiffness, factors.stiffness).map(|value| cells.of_all(ratio, value));
            products[1].write(column, &product);
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
    /// See [`Outputs::column`].
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
    /// As of [`Outputs::b`].
    #[inline(always)]
    unsafe fn read_b<const RESIDUAL: bool>(&self, on: impl Outputs<T, K>, b: *const T, z: u32) -> [T; K] {
        if RESIDUAL && self.is_stored {
            // SAFETY: the caller's promise.
            unsafe { on.b(self.first, b, z) }
        } else {
            [T::ZERO; K]
        }
    }

    /// Adds plane `local` of the cell to all of its planes, with `q` times its factor:
    /// `sums[a] += c_y M[a][local] p + A[a][local] q`, with factors of the cell; for a residual `-=`, and `b` to its own plane, unless that is
    /// the next cell's.
    #[inline(always)]
    fn add<const RESIDUAL: bool, F: Factor<T>>(
        &mut self,
        rows: Rows<T, C>,
        local: u32,
        mass_factor: F,
        p: &[T; K],
        q: &[T; K],
        b: &[T; K],
    ) {
        for a in 0..C {
            // The matrices are symmetric.
            let (mass, stiffness) = rows.get(local as usize, a);
            let (mass, stiffness) = if RESIDUAL { (-mass, -stiffness) } else { (mass, stiffness) };
            let mass = mass_factor.times(mass);
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
    /// As of [`Outputs::store`].
    #[inline(always)]
    unsafe fn store(&self, on: impl Outputs<T, K>, y: *mut T, z: u32) {
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
