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
use crate::contract::Parity;
use crate::layout::{Column, Shared};
use crate::patch::{Ends, bit, color_count};
use crate::scalar::{Real, Value};
#[cfg(not(target_arch = "nvptx64"))]
use crate::typed::Block;
use cuda_std::hint::made_here;
use cuda_std::thread;

/// The 1D matrices of patches that touch no end of the domain, of cells of size 1: `N = 2C` nodes across a component, of which `M = N - 1`
/// are unknowns along it. All functions are even or odd, the even ones first.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PatchMatrices<T, const C: usize> {
    /// Eigenfunctions of the continuous axis.
    pub continuous: Parity<T, C>,
    /// Eigenfunctions of the discontinuous axis.
    pub discontinuous: Parity<T, C>,
    /// Derivatives of continuous functions by discontinuous ones.
    pub divergence: Derivative<T, C>,
    /// What eigenfunctions in all directions together are multiplied by, for cells of other sizes: `Π h^(-1/2)`.
    pub scale: T,
}

/// Derivatives: of even functions by odd ones, and the other way.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Derivative<T, const C: usize> {
    /// `[j][m]`: by the `j`-th odd function, of the `m`-th even one.
    pub of_even: [[T; C]; C],
    /// `[j][m]`: by the `j`-th even function, of the `m`-th odd one, of which there are only `C - 1`.
    pub of_odd: [[T; C]; C],
}

impl<T: Real, const C: usize> Derivative<T, C> {
    /// `y_j = Σ_m value(j, m) x_m`.
    #[inline(always)]
    pub fn apply<V: Value<T>, const M: usize, const N: usize>(&self, x: &[V; M]) -> [V; N] {
        let mut y = [V::ZERO; N];
        for j in 0..C {
            for m in 0..C {
                y[C + j] = V::fma(self.of_even[j][m], x[m], y[C + j]);
            }
            for m in 0..C - 1 {
                y[j] = V::fma(self.of_odd[j][m], x[C + m], y[j]);
            }
        }
        y
    }

    /// `x_m = Σ_j value(j, m) y_j`.
    #[inline(always)]
    pub fn transposed<V: Value<T>, const M: usize, const N: usize>(&self, y: &[V; N]) -> [V; M] {
        let mut x = [V::ZERO; M];
        for j in 0..C {
            for m in 0..C {
                x[m] = V::fma(self.of_even[j][m], y[C + j], x[m]);
            }
            for m in 0..C - 1 {
                x[C + m] = V::fma(self.of_odd[j][m], y[j], x[C + m]);
            }
        }
        x
    }
}

/// What else patches need, with `N = 2(k + 1)` nodes in a direction and `M = N - 1`, one part after the other: eigenvalues of each
/// direction, then the matrices of patches that touch an end, of cells of size 1.
#[derive(Clone, Copy, Debug)]
pub struct PatchTable {
    nodes: usize,
}

impl PatchTable {
    /// Of cells of so many nodes in a direction.
    pub const fn new(nodes: usize) -> Self {
        Self { nodes: 2 * nodes }
    }

    /// `s + ν μ` of the continuous axis, `M` numbers.
    pub const fn continuous_values(self, direction: usize) -> usize {
        5 * self.nodes * direction
    }

    /// What derivatives are multiplied by, for cells of other sizes: `1 / h`.
    pub const fn derivative_scale(self, direction: usize) -> usize {
        self.continuous_values(direction) + self.nodes - 1
    }

    /// `ν λ` of the discontinuous axis of patches with these ends, by the number of [`Ends`].
    pub const fn discontinuous_values(self, direction: usize, ends: usize) -> usize {
        self.continuous_values(direction) + (1 + ends) * self.nodes
    }

    /// Eigenfunctions of the discontinuous axis of patches that touch an end: function `f` at node `n` at `n + N f`.
    pub const fn discontinuous(self, ends: usize) -> usize {
        self.continuous_values(3) + (ends - 1) * 2 * self.nodes * self.nodes
    }

    /// Derivatives of continuous functions `m` by these, `j`, at `m + N j`, with a zero behind the last `m`.
    pub const fn divergence(self, ends: usize) -> usize {
        self.discontinuous(ends) + self.nodes * self.nodes
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

/// Blocks that a multiprocessor should hold: as many as have registers without spills.
#[cfg(not(target_arch = "nvptx64"))]
fn min_blocks(dim: usize, nodes: usize, scalar_bytes: usize) -> usize {
    const BLOCKS_2D: [[usize; 8]; 2] = [[8, 8, 6, 6, 6, 5, 4, 3], [6, 6, 5, 4, 3, 2, 1, 2]];
    const BLOCKS_3D: [[usize; 5]; 2] = [[8, 8, 4, 3, 1], [6, 7, 3, 2, 1]];
    if dim == 2 { BLOCKS_2D[scalar_bytes / 8][nodes - 2] } else { BLOCKS_3D[scalar_bytes / 8][nodes - 2] }
}

/// See [`Solve`](super::Solve).
#[cfg(not(target_arch = "nvptx64"))]
pub fn block(dim: usize, nodes: usize, scalar_bytes: usize) -> Block {
    let Shape { lines, patches, words, .. } = Shape::new(dim, nodes);
    Block {
        threads: patches * (dim + 1) * lines,
        min_blocks: min_blocks(dim, nodes, scalar_bytes),
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

/// `y_f = Σ_n m_nf x_n`, with `m_nf` at `n + N f`.
///
/// # Safety
/// The matrix has `N²` entries.
#[inline(always)]
unsafe fn product<T: Real, const N: usize>(matrix: *const T, x: &[T; N]) -> [T; N] {
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
/// As for [`product`].
#[inline(always)]
unsafe fn transposed_product<T: Real, const N: usize>(matrix: *const T, x: &[T; N]) -> [T; N] {
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
    let (fast, slow) = ((index as u32 % nodes as u32) as usize, (index as u32 / nodes as u32) as usize);
    match direction {
        0 => [0, fast, slow],
        1 => [fast, 0, slow],
        _ => [fast, slow, 0],
    }
}

/// What a thread has: a line of a field of a patch.
#[derive(Clone, Copy)]
struct Place {
    /// The patch in the block.
    slot: usize,
    in_patch: u32,
    field: usize,
    index: usize,
    /// Among the color's patches in each direction. A slot behind the last one computes the last one's solution, too.
    patch: [u32; 3],
    /// Whether it is not such a slot, and adds the solution.
    is_patch: bool,
}

impl Place {
    /// Of a thread, made here.
    #[inline(always)]
    fn of<const DIM: usize, const C: usize>(thread: u32, fields: &Fields) -> Self {
        let thread = made_here(thread);
        let (shape, threads) = const { (Shape::new(DIM, C), shape_threads(DIM, C) as u32) };
        let (slot, in_patch) = (thread / threads, thread % threads);
        let count = color_count(fields.cells[0], bit(fields.color, 0));
        let block = [thread::block_idx_x(), thread::block_idx_y(), thread::block_idx_z()];
        let along_x = block[0] * shape.patches as u32 + slot;
        let is_patch = along_x < count;
        Self {
            slot: slot as usize,
            in_patch,
            field: (in_patch / shape.lines as u32) as usize,
            index: (in_patch % shape.lines as u32) as usize,
            patch: [if is_patch { along_x } else { count - 1 }, block[1], block[2]],
            is_patch,
        }
    }

    /// First cell of the patch in a direction.
    #[inline(always)]
    fn cell(&self, direction: usize, fields: &Fields) -> u32 {
        2 * self.patch[direction] + bit(fields.color, direction)
    }

    #[inline(always)]
    fn ends<const DIM: usize>(&self, fields: &Fields) -> [Ends; 3] {
        let ends = |d: usize| {
            if d < DIM { Ends::of_patch(fields.cells[d], self.cell(d, fields)) } else { Ends::Neither }
        };
        [ends(0), ends(1), ends(2)]
    }

    /// The directions of contractions, the component's own last; the second one only in 3D.
    #[inline(always)]
    fn directions<const DIM: usize>(&self) -> [usize; 3] {
        let last = if self.field < DIM { self.field } else { 0 };
        let outer = if last == DIM - 1 { DIM - 2 } else { DIM - 1 };
        [outer, 3 - last - outer, last]
    }

    /// The first node of the thread's line along the first of them in a vector, and the distance to the next one.
    #[inline(always)]
    fn first_line<const DIM: usize, const C: usize>(&self, fields: &Fields) -> (usize, usize) {
        let ([outer, ..], strides) = (self.directions::<DIM>(), fields.strides(C));
        let at = line_at(self.index, outer, 2 * C);
        let place = |d: usize| if d < DIM { (self.cell(d, fields) as usize * C + at[d]) * strides[d] } else { 0 };
        (fields.first(self.field) + place(0) + place(1) + place(2), pick(strides, outer))
    }
}

/// A patch, its matrices and where it lies in memory.
#[derive(Clone, Copy)]
struct Patch<'a, T, const C: usize> {
    matrices: &'a PatchMatrices<T, C>,
    /// A [`PatchTable`].
    table: *const T,
    ends: [Ends; 3],
    /// Its fields in shared memory.
    start: usize,
}

impl<T: Real, const C: usize> Patch<'_, T, C> {
    /// `Sᵀ x` with the eigenfunctions of the discontinuous axis of a direction.
    #[inline(always)]
    unsafe fn analyze<const N: usize>(&self, direction: usize, x: &[T; N]) -> [T; N] {
        let table = const { PatchTable::new(C) };
        match pick(self.ends, direction) {
            Ends::Neither => self.matrices.discontinuous.analyze(x),
            // SAFETY: a matrix of the table.
            ends => unsafe { product(self.table.add(table.discontinuous(ends as usize)), x) },
        }
    }

    /// `S x`.
    #[inline(always)]
    unsafe fn synthesize<const N: usize>(&self, direction: usize, x: &[T; N]) -> [T; N] {
        let table = const { PatchTable::new(C) };
        match pick(self.ends, direction) {
            Ends::Neither => self.matrices.discontinuous.synthesize(x),
            // SAFETY: as above.
            ends => unsafe { transposed_product(self.table.add(table.discontinuous(ends as usize)), x) },
        }
    }

    /// What the two below are multiplied by.
    #[inline(always)]
    unsafe fn derivative_scale(&self, direction: usize) -> T {
        let place = const { PatchTable::new(C) }.derivative_scale(direction);
        // SAFETY: an entry of the table.
        unsafe { *self.table.add(place) }
    }

    /// The derivative in a direction, by discontinuous functions.
    #[inline(always)]
    unsafe fn derivative<const M: usize, const N: usize>(&self, direction: usize, x: &[T; M]) -> [T; N] {
        let table = const { PatchTable::new(C) };
        match pick(self.ends, direction) {
            Ends::Neither => self.matrices.divergence.apply(x),
            ends => {
                let mut padded = [T::ZERO; N];
                for m in 0..M {
                    padded[m] = x[m];
                }
                // SAFETY: as above.
                unsafe { product(self.table.add(table.divergence(ends as usize)), &padded) }
            }
        }
    }

    /// Its transpose.
    #[inline(always)]
    unsafe fn gradient<const M: usize, const N: usize>(&self, direction: usize, y: &[T; N]) -> [T; M] {
        let table = const { PatchTable::new(C) };
        match pick(self.ends, direction) {
            Ends::Neither => self.matrices.divergence.transposed(y),
            ends => {
                // SAFETY: as above.
                let padded = unsafe { transposed_product(self.table.add(table.divergence(ends as usize)), y) };
                let mut x = [T::ZERO; M];
                for m in 0..M {
                    x[m] = padded[m];
                }
                x
            }
        }
    }

    /// A line of a field in shared memory, made where it is used: kept, its places would take the registers of its entries.
    #[inline(always)]
    fn line<const DIM: usize, const N: usize>(&self, field: usize, index: usize, direction: usize) -> Column {
        let shape = const { Shape::new(DIM, C) };
        let at = line_at(index, direction, N);
        let [_, row, plane] = shape.strides;
        let start = self.start + field * shape.words + at[0] + row * at[1] + plane * at[2];
        Column {
            start: made_here(start as u32) as usize,
            stride: made_here(pick(shape.strides, direction) as u32) as usize,
        }
    }

    /// `1 / (s + ν Σ λ)` of the functions of a component on a line along it.
    #[inline(always)]
    unsafe fn inverse<const DIM: usize, const M: usize>(&self, own: usize, index: usize) -> [T; M] {
        let table = const { PatchTable::new(C) };
        let at = line_at(index, own, 2 * C);
        // SAFETY: entries of the table.
        let value = |start: usize, at: usize| unsafe { *self.table.wrapping_add(start + at) };
        let mut across = T::ZERO;
        for direction in 0..DIM {
            if direction != own {
                let start = table.discontinuous_values(direction, self.ends[direction] as usize);
                across = across + value(start, at[direction]);
            }
        }
        let start = table.continuous_values(own);
        let mut inverse = [T::ZERO; M];
        for m in 0..M {
            inverse[m] = (value(start, m) + across).reciprocal();
        }
        inverse
    }

    /// `P = S⁺ q` of the modes that a thread has, `first` and every `step`-th; `q` is the last field, `P` becomes the first.
    #[inline(always)]
    unsafe fn solve_pressure<const DIM: usize, const N: usize>(
        &self,
        schur: *const T,
        starts: SchurStarts,
        first: u32,
        step: u32,
    ) {
        let shape = const { Shape::new(DIM, C) };
        let [_, row, plane] = shape.strides.map(|stride| stride as u32);
        let (q, shared) = ((self.start + DIM * shape.words) as u32, Shared::<T>::at(0));
        // In 32 bits, in which numbers are divided fast.
        let (mut class, mut sizes, mut size) = (0, [1; 3], 1_u32);
        for d in 0..DIM {
            class += ((self.ends[d] as u32 != Ends::Neither as u32) as usize) << d;
            let is_symmetric = matches!(self.ends[d], Ends::Neither | Ends::Both);
            sizes[d] = if is_symmetric { C as u32 } else { N as u32 };
            size *= sizes[d];
        }
        let schur = schur.wrapping_add(starts.of(class) as usize);
        let mut mode = first;
        while mode < const { N.pow(DIM as u32) as u32 } {
            // Parities, and the place among modes of the same ones.
            let (mut group, place) = (mode / size, mode % size);
            let mut matrix = schur.wrapping_add((group * size * size + place) as usize);
            let (x, rest) = (place % sizes[0], place / sizes[0]);
            let mut own = x + if DIM == 3 { row * (rest % sizes[1]) + plane * (rest / sizes[1]) } else { row * rest };
            let mut base = 0;
            for d in 0..DIM {
                if sizes[d] == C as u32 {
                    base += (group & 1) * C as u32 * shape.strides[d] as u32;
                    group >>= 1;
                }
            }
            own += base + self.start as u32;
            let mut sum = T::ZERO;
            for z in 0..sizes[2] {
                for y in 0..sizes[1] {
                    let mut line = q + base + row * y + plane * z;
                    let end = line + sizes[0];
                    while line < end {
                        for x in 0..C {
                            // SAFETY: an entry of the matrix.
                            sum = T::fma(unsafe { *matrix }, shared.get(line as usize + x), sum);
                            matrix = matrix.wrapping_add(size as usize);
                        }
                        line += C as u32;
                    }
                }
            }
            shared.set(own as usize, sum);
            mode += step;
        }
    }
}

/// See [`Solve`](super::Solve).
///
/// # Safety
/// Launched with the [`block`] and the [`blocks`] of the level; vectors and tables are as `fields` says.
#[inline(always)]
pub unsafe fn solve<T: Real, const DIM: usize, const C: usize, const N: usize, const M: usize>(
    matrices: &PatchMatrices<T, C>,
    table: *const T,
    schur: *const T,
    starts: SchurStarts,
    r: *const T,
    x: *mut T,
    fields: Fields,
) {
    let shape = const { Shape::new(DIM, C) };
    let shared = Shared::<T>::at(0);
    let (thread, threads) = (thread::thread_idx_x(), const { shape_threads(DIM, C) as u32 });
    // Where a thread is is computed anew for every part, instead of kept in registers.
    let here = || {
        let place = Place::of::<DIM, C>(thread, &fields);
        let (ends, start) = (place.ends::<DIM>(&fields), place.slot * (DIM + 1) * shape.words);
        (place, Patch { matrices, table, ends, start })
    };
    let is_velocity = |place: Place| place.field < DIM;

    // SAFETY, throughout: the caller's promise: nodes of a patch, which no other patch of the color shares, and entries of tables.
    unsafe {
        let (place, patch) = here();
        let Place { field, index, .. } = place;
        let [outer, middle, _] = place.directions::<DIM>();
        let (start, stride) = place.first_line::<DIM, C>(&fields);
        let mut line = [T::ZERO; N];
        for n in 0..N {
            line[n] = *r.add(start + n * stride);
        }
        shared.write(patch.line::<DIM, N>(field, index, outer), &patch.analyze(outer, &line));
        thread::sync_threads();
        if DIM == 3 {
            let middle_line = patch.line::<DIM, N>(field, index, middle);
            shared.write(middle_line, &patch.analyze(middle, &shared.read::<N>(middle_line)));
            thread::sync_threads();
        }

        // `A⁻¹ F`, which the thread keeps, and its divergence; the pressure's thread has `G`.
        let (place, patch) = here();
        let Place { in_patch, field, index, .. } = place;
        let [.., last] = place.directions::<DIM>();
        let own_line = patch.line::<DIM, N>(field, index, last);
        let line = shared.read::<N>(own_line);
        let mut velocity = [T::ZERO; M];
        let result = if is_velocity(place) {
            let mut interior = [T::ZERO; M];
            for m in 0..M {
                interior[m] = line[m + 1];
            }
            let inverse = patch.inverse::<DIM, M>(last, index);
            velocity = matrices.continuous.analyze(&interior);
            for m in 0..M {
                velocity[m] = velocity[m] * (matrices.scale * inverse[m]);
            }
            let derivative = patch.derivative(last, &velocity);
            scaled(patch.derivative_scale(last), derivative)
        } else {
            scaled(matrices.scale, patch.analyze(last, &line))
        };
        shared.write(own_line, &result);
        thread::sync_threads();

        // The divergences have the opposite sign of `B A⁻¹ F`.
        let mut mode = in_patch;
        while mode < const { N.pow(DIM as u32) as u32 } {
            let [_, row, plane] = shape.strides.map(|stride| stride as u32);
            let (at, rest) = (mode % N as u32, mode / N as u32);
            let place = patch.start + (at + row * (rest % N as u32) + plane * (rest / N as u32)) as usize;
            let mut sum = shared.get(place + DIM * shape.words);
            for component in 0..DIM {
                sum = sum + shared.get(place + component * shape.words);
            }
            shared.set(place + DIM * shape.words, -sum);
            mode += threads;
        }
        thread::sync_threads();
        patch.solve_pressure::<DIM, N>(schur, starts, in_patch, threads);
        thread::sync_threads();

        let (place, patch) = here();
        let Place { field, index, .. } = place;
        let [.., last] = place.directions::<DIM>();
        let pressure = shared.read::<N>(patch.line::<DIM, N>(0, index, last));
        let result = if is_velocity(place) {
            let (gradient, inverse) = (patch.gradient::<M, N>(last, &pressure), patch.inverse::<DIM, M>(last, index));
            let scale = patch.derivative_scale(last);
            for m in 0..M {
                velocity[m] = T::fma(gradient[m], scale * inverse[m], velocity[m]) * matrices.scale;
            }
            let interior = matrices.continuous.synthesize(&velocity);
            let mut line = [T::ZERO; N];
            for m in 0..M {
                line[m + 1] = interior[m];
            }
            line
        } else {
            scaled(matrices.scale, patch.synthesize(last, &pressure))
        };
        thread::sync_threads();
        shared.write(patch.line::<DIM, N>(field, index, last), &result);
        thread::sync_threads();

        let (place, patch) = here();
        let Place { field, index, .. } = place;
        let [outer, middle, _] = place.directions::<DIM>();
        if DIM == 3 {
            let middle_line = patch.line::<DIM, N>(field, index, middle);
            shared.write(middle_line, &patch.synthesize(middle, &shared.read::<N>(middle_line)));
            thread::sync_threads();
        }
        let line = patch.synthesize(outer, &shared.read::<N>(patch.line::<DIM, N>(field, index, outer)));
        if place.is_patch {
            let (start, stride) = place.first_line::<DIM, C>(&fields);
            for n in 0..N {
                let entry = x.add(start + n * stride);
                *entry = *entry + line[n];
            }
        }
    }
}

/// `factor x`.
#[inline(always)]
fn scaled<T: Real, const N: usize>(factor: T, mut x: [T; N]) -> [T; N] {
    for n in 0..N {
        x[n] = x[n] * factor;
    }
    x
}

/// Threads of a patch.
const fn shape_threads(dim: usize, nodes: usize) -> usize {
    Shape::new(dim, nodes).lines * (dim + 1)
}
