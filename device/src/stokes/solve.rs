//! Exact solutions on the patches of a color: with `F`, `G` the residuals of velocity and pressure on a patch,
//!
//! ```text
//! S P = B A⁻¹ F - G,    U = A⁻¹ (F - Bᵀ P),    S = B A⁻¹ Bᵀ
//! ```
//!
//! (paper 2, section 3.2) in eigenfunctions of each direction, where `A` is diagonal, `B` acts along one direction, and `S` does not
//! couple even functions with odd ones where the patch touches no end of the domain, or both. `S⁺` is stored.
//!
//! A thread owns a line of a field. Contractions of a component end along its own direction, where the divergence acts, and go back from there;
//! the first one reads global memory, the last one adds to it, both along the last direction that is not the component's own, so
//! that lanes lie along rows.

use super::{Fields, SchurStarts, pick};
use crate::layout::{Column, Shared};
use crate::patch::{Ends, bit, color_count};
use crate::scalar::Real;
#[cfg(not(target_arch = "nvptx64"))]
use crate::typed::Block;
use cuda_std::thread;

/// The 1D matrices of a direction, of patches with `N = 2(k + 1)` nodes, one part after the other. The first node of a patch is no
/// unknown of a continuous axis; it has a function, zero, for that.
#[derive(Clone, Copy, Debug)]
pub struct PatchTable {
    nodes: usize,
}

impl PatchTable {
    pub const fn new(nodes: usize) -> Self {
        Self { nodes: 2 * nodes }
    }

    /// Eigenfunctions of the continuous axis: function `f` at node `n` at `n + N f`.
    pub const fn continuous(self) -> usize {
        0
    }

    /// `s + ν μ` of these, and 1 for function 0.
    pub const fn continuous_values(self) -> usize {
        self.nodes * self.nodes
    }

    /// Eigenfunctions of the discontinuous axis of patches with these ends, by the number of [`Ends`].
    pub const fn discontinuous(self, ends: usize) -> usize {
        let matrix = self.nodes * self.nodes;
        self.continuous_values() + self.nodes + ends * (2 * matrix + self.nodes)
    }

    /// `ν λ` of these.
    pub const fn discontinuous_values(self, ends: usize) -> usize {
        self.discontinuous(ends) + self.nodes * self.nodes
    }

    /// The derivative of continuous functions `m` by discontinuous ones `j` at `m + N j`.
    pub const fn divergence(self, ends: usize) -> usize {
        self.discontinuous_values(ends) + self.nodes
    }

    /// All of it.
    pub const fn words(self) -> usize {
        self.discontinuous(4)
    }
}

/// How patches lie on a block.
#[derive(Clone, Copy)]
struct Shape {
    /// Of a field, a thread each.
    lines: usize,
    /// Of a block, side by side in x.
    patches: usize,
    /// From a node to the next one in each direction, in shared memory; rows are odd, so that lines along x meet every bank once.
    strides: [usize; 3],
    /// Words of a field.
    words: usize,
}

impl Shape {
    /// Of patches with two cells of so many nodes in a direction.
    const fn new(dim: usize, nodes: usize) -> Self {
        const THREADS_WANTED: usize = 192;
        let nodes = 2 * nodes;
        let lines = if dim == 3 { nodes * nodes } else { nodes };
        let patches = THREADS_WANTED / (lines * (dim + 1));
        let row = nodes | 1;
        Self {
            lines,
            patches: if patches == 0 { 1 } else { patches },
            strides: [1, row, row * nodes],
            words: if dim == 3 { row * nodes * nodes } else { row * nodes },
        }
    }
}

/// See [`Solve`](super::Solve).
#[cfg(not(target_arch = "nvptx64"))]
pub fn block(dim: usize, nodes: usize, scalar_bytes: usize) -> Block {
    let Shape { lines, patches, words, .. } = Shape::new(dim, nodes);
    Block {
        threads: patches * (dim + 1) * lines,
        min_blocks: 1,
        shared_bytes: patches * (dim + 1) * words * scalar_bytes,
        barriers: 2 * dim + 2,
    }
}

/// Blocks for the patches of a color; none if there are no patches.
#[cfg(not(target_arch = "nvptx64"))]
pub fn blocks(dim: usize, nodes: usize, cells: [u32; 3], color: u32) -> [u32; 3] {
    let count = |d: usize| if d < dim { color_count(cells[d], bit(color, d)) } else { 1 };
    [count(0).div_ceil(Shape::new(dim, nodes).patches as u32), count(1), count(2)]
}

/// `y_f = Σ_n m_nf x_n`, with column `f` of the matrix at `N f`.
///
/// # Safety
/// The matrix has `N²` entries.
#[inline(always)]
unsafe fn analyze<T: Real, const N: usize>(matrix: *const T, x: &[T; N]) -> [T; N] {
    let mut y = [T::ZERO; N];
    for f in 0..N {
        for n in 0..N {
            // SAFETY: the caller's promise.
            y[f] = T::fma(unsafe { *matrix.add(n + N * f) }, x[n], y[f]);
        }
    }
    y
}

/// `y_n = Σ_f m_nf x_f`.
///
/// # Safety
/// As for [`analyze`].
#[inline(always)]
unsafe fn synthesize<T: Real, const N: usize>(matrix: *const T, x: &[T; N]) -> [T; N] {
    let mut y = [T::ZERO; N];
    for f in 0..N {
        for n in 0..N {
            // SAFETY: the caller's promise.
            y[n] = T::fma(unsafe { *matrix.add(n + N * f) }, x[f], y[n]);
        }
    }
    y
}

/// Line `index` along a direction: its coordinates in the others, of which the lower one is the faster.
#[inline(always)]
const fn line_at(index: usize, direction: usize, nodes: usize) -> [usize; 3] {
    let (fast, slow) = (index % nodes, index / nodes);
    match direction {
        0 => [0, fast, slow],
        1 => [fast, 0, slow],
        _ => [fast, slow, 0],
    }
}

/// A patch, its matrices and where it lies in memory.
#[derive(Clone, Copy)]
struct Patch<T> {
    /// [`PatchTable`] of each direction.
    tables: [*const T; 3],
    ends: [Ends; 3],
    /// Its fields in shared memory.
    start: usize,
}

impl<T: Real> Patch<T> {
    /// Eigenfunctions of the discontinuous axis of a direction.
    #[inline(always)]
    fn discontinuous<const N: usize>(&self, direction: usize) -> *const T {
        let table = const { PatchTable::new(N / 2) };
        pick(self.tables, direction).wrapping_add(table.discontinuous(pick(self.ends, direction) as usize))
    }

    #[inline(always)]
    fn divergence<const N: usize>(&self, direction: usize) -> *const T {
        let table = const { PatchTable::new(N / 2) };
        pick(self.tables, direction).wrapping_add(table.divergence(pick(self.ends, direction) as usize))
    }

    /// A line of a field in shared memory.
    #[inline(always)]
    fn line<const DIM: usize, const N: usize>(&self, field: usize, index: usize, direction: usize) -> Column {
        let shape = const { Shape::new(DIM, N / 2) };
        let at = line_at(index, direction, N);
        let [_, row, plane] = shape.strides;
        Column {
            start: self.start + field * shape.words + at[0] + row * at[1] + plane * at[2],
            stride: pick(shape.strides, direction),
        }
    }

    /// `s + ν Σ λ` of the directions across a component, of a line along it.
    #[inline(always)]
    unsafe fn across<const DIM: usize, const N: usize>(&self, own: usize, index: usize) -> T {
        let table = const { PatchTable::new(N / 2) };
        let at = line_at(index, own, N);
        let value = |direction: usize| {
            let values = table.discontinuous_values(self.ends[direction] as usize);
            // SAFETY: an entry of the table.
            unsafe { *self.tables[direction].wrapping_add(values + at[direction]) }
        };
        let mut sum = T::ZERO;
        for direction in 0..DIM {
            if direction != own {
                sum = sum + value(direction);
            }
        }
        sum
    }

    /// `P = S⁺ q` of the modes that a thread has, `first` and every `step`-th; `q` is the last field, `P` becomes the first.
    #[inline(always)]
    unsafe fn solve_pressure<const DIM: usize, const C: usize, const N: usize>(
        &self,
        schur: *const T,
        starts: SchurStarts,
        first: usize,
        step: usize,
    ) {
        let shape = const { Shape::new(DIM, C) };
        let [_, row, plane] = shape.strides;
        let (q, shared) = (self.start + DIM * shape.words, Shared::<T>::at(0));
        let (mut class, mut sizes, mut size) = (0, [1; 3], 1);
        for d in 0..DIM {
            class += ((self.ends[d] as u32 != Ends::Neither as u32) as usize) << d;
            let is_symmetric = matches!(self.ends[d], Ends::Neither | Ends::Both);
            sizes[d] = if is_symmetric { C } else { N };
            size *= sizes[d];
        }
        let begin = match class {
            0 => starts.0[0],
            1 => starts.0[1],
            2 => starts.0[2],
            3 => starts.0[3],
            4 => starts.0[4],
            5 => starts.0[5],
            6 => starts.0[6],
            _ => starts.0[7],
        } as usize;
        let mut mode = first;
        while mode < const { N.pow(DIM as u32) } {
            // Parities, and the place among modes of the same ones.
            let (mut group, place) = (mode / size, mode % size);
            let mut matrix = schur.wrapping_add(begin + group * size * size + place);
            let mut base = 0;
            let mut own = place % sizes[0] + row * (place / sizes[0] % sizes[1]);
            if DIM == 3 {
                own += plane * (place / (sizes[0] * sizes[1]));
            }
            for d in 0..DIM {
                if sizes[d] == C {
                    base += (group & 1) * C * shape.strides[d];
                    group >>= 1;
                }
            }
            let mut sum = T::ZERO;
            for z in 0..sizes[2] {
                for y in 0..sizes[1] {
                    let mut line = q + base + row * y + plane * z;
                    let mut half = 0;
                    while half < sizes[0] {
                        for x in 0..C {
                            // SAFETY: an entry of the matrix.
                            sum = T::fma(unsafe { *matrix }, shared.get(line + x), sum);
                            matrix = matrix.wrapping_add(size);
                        }
                        half += C;
                        line += C;
                    }
                }
            }
            shared.set(self.start + base + own, sum);
            mode += step;
        }
    }
}

/// See [`Solve`](super::Solve).
///
/// # Safety
/// Launched with the [`block`] and the [`blocks`] of the level; vectors and tables are as `fields` says.
#[inline(always)]
pub unsafe fn solve<T: Real, const DIM: usize, const C: usize, const N: usize>(
    table: *const T,
    schur: *const T,
    starts: SchurStarts,
    r: *const T,
    x: *mut T,
    fields: Fields,
) {
    let shape = const { Shape::new(DIM, C) };
    let words = const { PatchTable::new(C).words() };
    let shared = Shared::<T>::at(0);
    let thread = thread::thread_idx_x() as usize;
    let (slot, in_patch) = (thread / (shape.lines * (DIM + 1)), thread % (shape.lines * (DIM + 1)));
    let (field, index) = (in_patch / shape.lines, in_patch % shape.lines);
    // A slot behind the last patch computes the last one's solution, too, and does not add it.
    let count = color_count(fields.cells[0], bit(fields.color, 0));
    let along_x = thread::block_idx_x() * shape.patches as u32 + slot as u32;
    let is_patch = along_x < count;
    let place = [if is_patch { along_x } else { count - 1 }, thread::block_idx_y(), thread::block_idx_z()];
    let (mut ends, mut first) = ([Ends::Neither; 3], fields.first(if field < DIM { field } else { DIM }));
    let global = fields.strides(C);
    for d in 0..DIM {
        let cell = 2 * place[d] + bit(fields.color, d);
        ends[d] = Ends::of_patch(fields.cells[d], cell);
        first += cell as usize * C * global[d];
    }
    let patch = Patch {
        tables: [table, table.wrapping_add(words), table.wrapping_add(2 * words)],
        ends,
        start: slot * (DIM + 1) * shape.words,
    };
    let is_velocity = field < DIM;
    // The directions of contractions: the component's own last.
    let last = if is_velocity { field } else { 0 };
    let outer = if last == DIM - 1 { DIM - 2 } else { DIM - 1 };
    let middle = 3 - last - outer;
    let at = line_at(index, outer, N);
    let (start, stride) = (first + at[0] + at[1] * global[1] + at[2] * global[2], pick(global, outer));

    // SAFETY, throughout: the caller's promise: nodes of a patch, which no other patch of the color shares, and entries of tables.
    unsafe {
        let mut line = [T::ZERO; N];
        for n in 0..N {
            line[n] = *r.add(start + n * stride);
        }
        let outer_line = patch.line::<DIM, N>(field, index, outer);
        shared.write(outer_line, &analyze(patch.discontinuous::<N>(outer), &line));
        thread::sync_threads();
        if DIM == 3 {
            let middle_line = patch.line::<DIM, N>(field, index, middle);
            let line = analyze(patch.discontinuous::<N>(middle), &shared.read::<N>(middle_line));
            shared.write(middle_line, &line);
            thread::sync_threads();
        }

        // `A⁻¹ F`, which the thread keeps, and its divergence; the pressure's thread has `G`.
        let own_line = patch.line::<DIM, N>(field, index, last);
        let own_table = pick(patch.tables, last);
        let table = const { PatchTable::new(C) };
        let functions =
            if is_velocity { own_table.wrapping_add(table.continuous()) } else { patch.discontinuous::<N>(last) };
        let mut velocity = analyze(functions, &shared.read::<N>(own_line));
        let across = patch.across::<DIM, N>(last, index);
        let inverse = |n: usize| T::from_f64(1.0) / (*own_table.wrapping_add(table.continuous_values() + n) + across);
        let divergence = patch.divergence::<N>(last);
        if is_velocity {
            for n in 0..N {
                velocity[n] = velocity[n] * inverse(n);
            }
            shared.write(own_line, &analyze(divergence, &velocity));
        } else {
            shared.write(own_line, &velocity);
        }
        thread::sync_threads();

        // The divergences have the opposite sign of `B A⁻¹ F`.
        let mut mode = in_patch;
        while mode < const { N.pow(DIM as u32) } {
            let (at, rest) = (mode % N, mode / N);
            let place = patch.start + at + shape.strides[1] * (rest % N) + shape.strides[2] * (rest / N);
            let mut sum = shared.get(place + DIM * shape.words);
            for component in 0..DIM {
                sum = sum + shared.get(place + component * shape.words);
            }
            shared.set(place + DIM * shape.words, -sum);
            mode += const { shape_threads(DIM, C) };
        }
        thread::sync_threads();
        patch.solve_pressure::<DIM, C, N>(schur, starts, in_patch, const { shape_threads(DIM, C) });
        thread::sync_threads();

        let pressure = shared.read::<N>(patch.line::<DIM, N>(0, index, last));
        let result = if is_velocity {
            let gradient = synthesize(divergence, &pressure);
            for n in 0..N {
                velocity[n] = T::fma(gradient[n], inverse(n), velocity[n]);
            }
            synthesize(functions, &velocity)
        } else {
            synthesize(functions, &pressure)
        };
        thread::sync_threads();
        shared.write(own_line, &result);
        thread::sync_threads();

        if DIM == 3 {
            let middle_line = patch.line::<DIM, N>(field, index, middle);
            let line = synthesize(patch.discontinuous::<N>(middle), &shared.read::<N>(middle_line));
            shared.write(middle_line, &line);
            thread::sync_threads();
        }
        let line = synthesize(patch.discontinuous::<N>(outer), &shared.read::<N>(outer_line));
        if is_patch {
            for n in 0..N {
                let entry = x.add(start + n * stride);
                *entry = *entry + line[n];
            }
        }
    }
}

/// Threads of a patch.
const fn shape_threads(dim: usize, nodes: usize) -> usize {
    Shape::new(dim, nodes).lines * (dim + 1)
}
