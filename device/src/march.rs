//! Sums over pieces of the domain, cells or patches, each on the nodes of a piece, with 1D matrices `A`, `M` and `T` of a piece
//! of size 1 that leave `k + 1` results in a direction, and factors `c`:
//!
//! ```text
//! 3D: y = Σ T_x T_y T_z b - (c_x A_x M_y M_z + M_x (c_y A_y M_z + M_y c_z A_z)) x
//! 2D: y = Σ T_x T_y b - c_x (A_x M_y + M_x (c_y / c_x) A_y) x
//! ```
//!
//! where a factor multiplies what the matrix behind it gives; a reaction `s` adds `s M` to `c A` of the last direction. The last
//! result of a piece and the first of the next one are of one node.
//!
//! A block has a [`Strip`] of pieces side by side in x and marches with it: along the last direction, where a thread keeps
//! what a piece adds to the results of the next, or, where a strip is but one or two large pieces, along x. Contractions
//! along the last direction are of columns in registers, those along y and x of lines in shared memory; threads go along
//! rows wherever they access global memory.
//!
//! In x and in the direction of the march a block owns results, and begins a piece early for what that adds to them. In
//! other directions pieces share results, so launches go class by class: no two pieces of a class share one, the first
//! class to touch it writes, later ones add. No atomics, and the same sum in every run.

mod place;
#[cfg(any(not(target_arch = "nvptx64"), module = "separable"))]
mod sided;
mod strip;

use crate::contract::{Centrosymmetric, Split};
use crate::layout::{Column, Shared};
use crate::operator::cells::Multiple;
use crate::patch::{Grid, bit, touches_first};
use crate::scalar::Real;
use cuda_std::hint::{loads_together, made_here};
use cuda_std::shared::Word;
use cuda_std::thread;
use place::March;
pub use place::{Part, Target};
#[cfg(any(not(target_arch = "nvptx64"), module = "separable"))]
pub use sided::{SidedPart, march_sided, sided_blocks};
pub use strip::Strip;

/// The 1D matrices of a piece.
pub struct Matrices<'a, T, R, const N: usize, const H: usize> {
    /// `M`.
    pub mass: &'a Centrosymmetric<T, N, H>,
    /// `A`.
    pub stiffness: &'a Centrosymmetric<T, N, H>,
    /// [`factors`](crate::matrices::factors) of `c`.
    pub factors: [T; 3],
    /// `s` of a reaction, in 2D over `c_x`.
    pub reaction: R,
    /// `T`, if there is a `b`.
    pub transfer: Option<&'a Centrosymmetric<T, N, H>>,
}

/// `f A x + M z`.
#[inline(always)]
fn scaled_sum<T: Real, R, const N: usize, const C: usize, const H: usize>(
    factor: T,
    Matrices { mass, stiffness, .. }: &Matrices<T, R, N, H>,
    x: &[T; N],
    z: &[T; N],
) -> [T; C] {
    let (x, z) = (Split::new(x), Split::new(z));
    let mut parts = [(T::ZERO, T::ZERO); H];
    for i in 0..H {
        let (even, odd) = stiffness.row(i, &x);
        parts[i] = mass.row_add(i, &z, factor * even, factor * odd);
    }
    Centrosymmetric::<T, N, H>::join(&parts)
}

/// A thread's column of a vector.
#[derive(Clone, Copy)]
struct Nodes<T, const N: usize> {
    vector: *const T,
    values: [T; N],
}

impl<T: Real, const N: usize> Nodes<T, N> {
    /// Reads the column that begins at an offset, with a distance between nodes, from its `first` node on: what follows
    /// another begins with its last node.
    ///
    /// # Safety
    /// The nodes are of the vector.
    #[inline(always)]
    unsafe fn read(&mut self, start: usize, stride: u32, first: usize) {
        self.values[0] = self.values[N - 1];
        let (origin, stride) = (self.vector.wrapping_add(start), made_here(stride));
        for i in first..N {
            // SAFETY: the caller's promise.
            self.values[i] = unsafe { *origin.wrapping_add((i as u32 * stride) as usize) };
        }
    }
}

/// Contractions along y, in place.
#[inline(always)]
fn along_y<T: Real + Word, R, const N: usize, const C: usize, const H: usize>(
    strip: Strip,
    matrices: &Matrices<T, R, N, H>,
    thread: u32,
) {
    let (width, pitch, threads) = (strip.width() as u32, strip.pitch() as u32, strip.threads() as u32);
    let tensor = |index: usize| Shared::<T>::at(strip.tensor(index));
    // Lines of `x` first, then as many of `b`: the threads that have no line of the one take the other.
    let lines = width * strip.planes() as u32;
    for round in 0..(lines * (1 + strip.has_b as u32)).div_ceil(threads) {
        let task = thread + round * threads;
        let line = if task < lines { task } else { task - lines };
        let column = Column { start: (line % width + pitch * (line / width)) as usize, stride: strip.width() };
        if task < lines {
            let (u, w) = (tensor(0).read::<N>(column), tensor(1).read::<N>(column));
            tensor(0).write::<C>(column, &matrices.mass.apply(&u));
            tensor(1).write::<C>(column, &scaled_sum(matrices.factors[1], matrices, &u, &w));
        } else if let Some(transfer) = matrices.transfer
            && task < 2 * lines
        {
            tensor(2).write::<C>(column, &transfer.apply(&tensor(2).read::<N>(column)));
        }
    }
}

/// Contractions along x, of every piece for itself; zeros for pieces that add nothing.
#[inline(always)]
fn along_x<T: Real + Word, R, const N: usize, const C: usize, const H: usize>(
    strip: Strip,
    matrices: &Matrices<T, R, N, H>,
    adds: impl Fn(u32) -> bool,
    thread: u32,
) {
    let (rows, planes, pieces) = (strip.result_rows() as u32, strip.planes() as u32, strip.pieces as u32);
    let threads = strip.threads() as u32;
    let tensor = |index: usize| Shared::<T>::at(strip.tensor(index));
    let lines = rows * planes * pieces;
    for round in 0..(lines * (1 + strip.has_b as u32)).div_ceil(threads) {
        let task = thread + round * threads;
        let line = if task < lines { task } else { task - lines };
        // Lines of neighbouring threads begin in as many banks as may be.
        let (piece, y, z) = if strip.dim == 3 {
            (line % pieces, line / pieces % rows, line / (pieces * rows))
        } else {
            (line / planes, 0, line % planes)
        };
        let start = strip.nodes as u32 * piece + strip.width() as u32 * y + strip.pitch() as u32 * z;
        let row = Column { start: start as usize, stride: 1 };
        let keep = |index: usize, products: &[T; C]| {
            let results = Shared::<T>::at(strip.results(index));
            let line = strip.result_pitch() as u32 * (y + rows * z);
            for i in 0..C as u32 {
                let at = if i + 1 < C as u32 { (C as u32 - 1) * piece + i } else { i * pieces + piece };
                results.set((line + at) as usize, products[i as usize]);
            }
        };
        if !adds(piece) {
            if task < 2 * lines {
                keep(if task < lines { 0 } else { 1 }, &[T::ZERO; C]);
            }
        } else if task < lines {
            let (u, w) = (tensor(0).read::<N>(row), tensor(1).read::<N>(row));
            // In 2D one of them is scaled already, and the sum is where it is stored.
            let products = match strip.dim {
                3 => scaled_sum(matrices.factors[0], matrices, &u, &w),
                _ => matrices.stiffness.apply_sum(&u, matrices.mass, &w),
            };
            keep(0, &products);
        } else if let Some(transfer) = matrices.transfer
            && task < 2 * lines
        {
            keep(1, &transfer.apply(&tensor(2).read::<N>(row)));
        }
    }
}

/// Where results wait that a strip shares with the next one.
#[inline(always)]
fn waiting<T: Real>(strip: Strip, step: u32) -> Shared<T> {
    Shared::at(strip.shared(step as usize & 1))
}

// These two are macros because as functions the compiler makes other code of them, with which the kernels of plain boxes would change.

/// `b` minus `A x`, with the factor in 2D, or `A x` without it where there is no `b`, of the `i`-th node of a line of results, from both pieces that
/// have it. The last one of a strip waits for the next if blocks march along x.
macro_rules! sum_of_line {
    ($strip:ident, $factor:ident, $step:ident, $line:ident, $i:ident) => {{
        let (k, pieces) = ($strip.degree as u32, $strip.pieces as u32);
        let value = |at: u32| {
            let at = (at + $strip.result_pitch() as u32 * $line) as usize;
            let product = Shared::<T>::at($strip.results(0)).get(at);
            match ($strip.has_b, $strip.dim) {
                (true, 3) => Shared::<T>::at($strip.results(1)).get(at) - product,
                (true, _) => T::fma(-$factor, product, Shared::<T>::at($strip.results(1)).get(at)),
                _ => product,
            }
        };
        let mut sum = if $i < k * pieces { value($i) } else { T::ZERO };
        if $i % k == 0 && $i > 0 {
            sum = sum + value(k * pieces + $i / k - 1);
        }
        if $strip.along_x && $i == k * pieces {
            waiting::<T>($strip, $step).set($line as usize, sum);
        }
        sum
    }};
}
#[cfg(any(not(target_arch = "nvptx64"), module = "separable"))]
use sum_of_line;

/// The steps of a block: `read` reads a thread's columns of nodes for a step, `load` gives that of `b` as it counts, `adds` says whether a piece of
/// the strip adds to results, and `store` stores them.
macro_rules! steps {
    ($strip:ident, $early:ident, $matrices:ident, $nodes:ident, $steps:ident, $read:ident, $load:expr, $adds:expr, $store:expr) => {
        let thread = thread::thread_idx_x();
        let has_column = thread < $strip.columns() as u32;
        let vectors = 1 + $strip.has_b as usize;
        let (load, adds, store) = ($load, $adds, $store);
        let tensor = |index: usize| Shared::<T>::at($strip.tensor(index));
        // What the piece before adds to the first plane of results.
        let mut before = [T::ZERO; 3];
        let mut keep = |index: usize, products: &[T; C]| {
            for z in 0..$strip.planes() {
                let value = if z == 0 { products[0] + before[index] } else { products[z] };
                tensor(index).set(thread as usize + z * $strip.pitch(), value);
            }
            if !$strip.along_x {
                before[index] = products[C - 1];
            }
        };
        if $early && has_column {
            $read(&mut $nodes[..vectors], 0);
        }
        for step in 0..$steps {
            if !$early {
                $read(&mut $nodes[..vectors], step);
                // SAFETY: all lanes are here.
                unsafe { loads_together() };
            }
            if has_column {
                let mass: [T; C] = $matrices.mass.apply(&$nodes[0].values);
                keep(0, &mass);
                let last = $matrices.factors[$strip.dim - 1];
                let mut form: [T; C] = $matrices.stiffness.apply(&$nodes[0].values).map(|value| last * value);
                for i in 0..C {
                    form[i] = $matrices.reaction.add(mass[i], form[i]);
                }
                keep(1, &form);
                if let Some(transfer) = $matrices.transfer {
                    keep(2, &transfer.apply(&load(step, &$nodes[1].values)));
                }
                if $early && step + 1 < $steps {
                    $read(&mut $nodes[..vectors], step + 1);
                }
            }
            thread::sync_threads();
            // Indices are computed again in every step, which saves registers.
            if $strip.dim == 3 {
                along_y::<T, R, N, C, H>($strip, $matrices, made_here(thread));
                thread::sync_threads();
            }
            along_x::<T, R, N, C, H>($strip, $matrices, |piece| adds(step, piece), made_here(thread));
            thread::sync_threads();
            store(step, made_here(thread));
        }
    };
}
#[cfg(any(not(target_arch = "nvptx64"), module = "separable"))]
use steps;

/// `b` minus `A x`, with the factor in 2D, or `A x` without it where there is no `b`, at all nodes that the block owns, those between two pieces from
/// both.
#[inline(always)]
fn store<T: Real + Word>(march: March, part: Part, factor: T, step: u32, thread: u32, store: &impl Fn(Target, T)) {
    let strip = march.strip;
    let (k, width, pieces) = (strip.degree as u32, strip.result_width() as u32, strip.pieces as u32);
    let (rows, lines) = (strip.result_rows() as u32, strip.result_lines() as u32);
    let lines_at_once = strip.threads() as u32 / width;
    // Where it is one, all threads have the same, and so the same row of the grid.
    let (i, first) = if lines_at_once == 1 { (thread, 0) } else { (thread % width, thread / width) };
    let has_line = if lines_at_once == 1 { i < width } else { first < lines_at_once };
    let origin = march.place(step).map(|piece| k * piece);
    let x = origin[0] + i;
    // Made anew in every step: kept, distances would spill.
    let grid = Grid { cells: part.pieces.map(made_here), degree: k };
    let target = |local: [u32; 3], is_first: bool| {
        let [[x, y, z], [i, j, l]] = [origin, local].map(|place| place.map(|node| node as usize));
        let (strip, place) = match strip.dim {
            3 => (grid.offset_3d(x, y, z), grid.local_3d(i, j, l)),
            _ => (grid.offset_2d(x, z), grid.local_2d(i, l)),
        };
        Target { node: [0, 1, 2].map(|direction| origin[direction] + local[direction]), strip, place, is_first }
    };
    let is_owned = march.x.owns(k, x) && i < k * pieces;
    for round in 0..lines.div_ceil(lines_at_once) {
        let line = first + round * lines_at_once;
        if has_line && line < lines {
            let mut sum = sum_of_line!(strip, factor, step, line, i);
            let (y, z) = (line % rows, line / rows);
            let local = [i, y, z];
            let node = [0, 1, 2].map(|direction| origin[direction] + local[direction]);
            // Of high degrees nothing is kept from line to line, either.
            let pieces = |direction: usize| match strip.along_x {
                true => made_here(part.pieces[direction]),
                false => grid.cells[direction],
            };
            let is_unknown = |direction: usize| node[direction] > 0 && node[direction] < k * pieces(direction);
            if is_owned
                && (strip.dim == 2 || is_unknown(1))
                && if strip.along_x { is_unknown(2) } else { march.last.owns(k, node[2]) }
            {
                if strip.along_x && i == 0 {
                    sum = sum + waiting::<T>(strip, step + 1).get(line as usize);
                }
                let is_first = (strip.dim == 2 || touches_first(bit(part.class, 0), y == 0 || y == k))
                    && (!strip.along_x || touches_first(bit(part.class, 1), z == 0 || z == k));
                store(target(local, is_first), sum);
            }
        }
    }
}

/// The sum over a class of pieces. With `early` a thread reads its next column before it contracts lines, which takes
/// registers.
///
/// # Safety
/// Launched as [`Strip::shape`] and [`Strip::blocks`] say; the vectors are of a grid of so many pieces, and `put` may be
/// called for its unknowns.
#[inline(always)]
pub unsafe fn march<T: Real + Word, R: Multiple<T>, const N: usize, const C: usize, const H: usize>(
    strip: Strip,
    early: bool,
    matrices: &Matrices<T, R, N, H>,
    b: *const T,
    x: *const T,
    part: Part,
    put: impl Fn(Target, T),
) {
    let march = March::new(strip, part);
    let steps = march.steps();
    let thread = thread::thread_idx_x();
    let has_column = thread < strip.columns() as u32;

    // Nodes from row to row, and along the last direction.
    let row = strip.nodes as u32 * part.pieces[0];
    let strides = (row, if strip.dim == 3 { row * strip.nodes as u32 * part.pieces[1] } else { row });
    // In 3D they would spill, kept from step to step.
    let strides_anew = || match strip.dim {
        3 => {
            let [row, rows] = [0, 1].map(|direction| strip.nodes as u32 * made_here(part.pieces[direction]));
            (row, row * rows)
        }
        _ => strides,
    };
    let start = |step: u32, (row, stride): (u32, u32)| {
        let node = march.place(step).map(|piece| strip.nodes as u32 * piece);
        // Columns behind the domain are those on its boundary, and threads without a column read the last one.
        let column = if early { thread } else { thread.min(strip.columns() as u32 - 1) };
        let x = (node[0] + column % strip.width() as u32).min(row);
        let plane = x + row * (node[1] + column / strip.width() as u32);
        plane as usize + stride as usize * node[2] as usize
    };
    let begin = |vector: *const T| {
        let mut values = [T::ZERO; N];
        if !strip.along_x && (!early || has_column) {
            // SAFETY: a column of a piece within the grid and its guard.
            values[N - 1] = unsafe { *vector.wrapping_add(start(0, strides_anew())) };
        }
        Nodes { vector, values }
    };
    let mut nodes = [begin(x), begin(if strip.has_b { b } else { x })];
    let read = |nodes: &mut [Nodes<T, N>], step: u32| {
        let start = start(step, strides);
        let (_, stride) = strides_anew();
        for nodes in nodes {
            // SAFETY: as above.
            unsafe { nodes.read(start, stride, if strip.along_x { 0 } else { 1 }) };
        }
    };
    steps!(strip, early, matrices, nodes, steps, read, |_, values: &[T; N]| *values, |_, _| true, |step, thread| {
        store(march, part, matrices.factors[0], step, thread, &put)
    });
}
