//! A step of the smoother where cells have any sizes: exact solutions `x_I = A_j⁻¹ (b_I - A_IB x_B)` on all patches `j` of a color.
//!
//! In a direction with `K S = M S Λ`, `Sᵀ M S = I` on the unknowns, `Sᵀ K_IB u = Λ Sᵀ M_IB u + d u_B` on all nodes. So with `x` zero on
//! the unknowns, `x̂` and the faces' `X, Y, Z` transformed by `Sᵀ M_IB` and `b` by `Sᵀ` in each direction,
//!
//! ```text
//! ĉ = (b̂ - c_x d_i X_jl - c_y d_j Y_il - c_z d_l Z_ij) / (c_x λ_i + c_y λ_j + c_z λ_l + s) - x̂
//! x_I = (S ⊗ S ⊗ S) ĉ
//! ```
//!
//! A column is transformed in place, its ends left as they are: so the tensor of all nodes has the faces' transforms beside `x̂`.
//! As in [`smoother`](crate::smoother), all is done on `x` less the old value at the vertex; a reaction takes from `b̂` what it makes
//! of that constant. Where [`products::are_for`] says so, kernels take products of small matrices instead.

use super::left_out::LeftOut;
use super::{PatchTable, products};
use crate::kernels::patch_nodes;
use crate::layout::{Column, Shared};
use crate::patch::{Direction, Directions, ROW_MULTIPLE, bit};
use crate::scalar::Real;
#[cfg(not(target_arch = "nvptx64"))]
use crate::typed::Block;
use cuda_std::hint::{made_here, opaque};
use cuda_std::ptr::{ldg, ldg_row};
use cuda_std::thread;
#[cfg(not(target_arch = "nvptx64"))]
use std::vec::Vec;

/// So many turns of a loop over rows of a matrix, which is not unrolled: the assembler would have many rows in registers at once.
#[inline(always)]
fn turns(count: usize) -> usize {
    opaque(count as u32) as usize
}

/// Columns that a thread has at most.
const MOST: usize = 5;

/// Columns that a thread has at once, for which it reads each row of a matrix once: what was measured to be fastest on an H200.
const fn at_once(dim: usize, degree: usize) -> usize {
    match (dim, degree) {
        (3, 2) => 5,
        (2, 1 | 2 | 9) | (3, 1 | 5) => 3,
        _ => 2,
    }
}

/// Whether along x neighbouring threads have columns of the same patch, and read the same rows of its table, rather than of all patches of the
/// block in turn: what was measured to be faster on an H200.
const fn is_by_patch(dim: usize, degree: usize, scalar_bytes: usize) -> bool {
    // In 2D of degrees 9 and 10.
    if dim == 2 { degree > 2 } else { degree == 3 && scalar_bytes == 4 }
}

/// Threads that a block has at most, if it has several patches; with twice as many a step is slower in nearly all degrees.
const MOST_THREADS: usize = 128;

/// How patches lie on a block, and their tensors in its shared memory: rows of all patches, then planes of such rows.
#[derive(Clone, Copy)]
struct Shape {
    /// Of a block, side by side in x.
    patches: usize,
    /// Of all nodes; all threads have columns of them.
    nodes: Tensor,
    /// Of the unknowns.
    unknowns: Tensor,
    /// Where the old values at the patches' vertices begin.
    middles: usize,
}

impl Shape {
    const fn new(dim: usize, degree: usize, scalar_bytes: usize) -> Self {
        let ((unknowns, nodes), at_once) = (patch_nodes(degree), at_once(dim, degree));
        let is_by_patch = is_by_patch(dim, degree, scalar_bytes);
        let patch = Tensor { dim, size: nodes, patches: 1, start: 0, at_once, is_by_patch };
        let fitting = MOST_THREADS / patch.threads();
        let patches = if fitting > 0 { fitting } else { 1 };
        let nodes = Tensor { patches, ..patch };
        let unknowns = Tensor { size: unknowns, start: nodes.words(), ..nodes };
        Self { patches, nodes, unknowns, middles: unknowns.start + unknowns.words() }
    }

    /// Words of shared memory.
    #[cfg(not(target_arch = "nvptx64"))]
    const fn words(self) -> usize {
        self.middles + self.patches
    }
}

/// The tensors of a block's patches, of so many nodes in a direction.
#[derive(Clone, Copy)]
struct Tensor {
    dim: usize,
    size: usize,
    patches: usize,
    /// Word of the first one.
    start: usize,
    /// Columns of a thread.
    at_once: usize,
    /// See [`is_by_patch`].
    is_by_patch: bool,
}

impl Tensor {
    /// From a node to the next one in a direction.
    const fn stride(self, direction: usize) -> usize {
        match direction {
            0 => 1,
            1 => self.size * self.patches,
            _ => self.size * self.size * self.patches,
        }
    }

    /// Distance, in the last coordinate across them, of the columns that a thread has.
    const fn step(self) -> usize {
        self.size.div_ceil(self.at_once)
    }

    /// Those that have columns.
    const fn threads(self) -> usize {
        self.patches * self.step() * if self.dim == 3 { self.size } else { 1 }
    }

    const fn words(self) -> usize {
        self.patches * self.size.pow(self.dim as u32)
    }

    /// The thread's column of a number along a direction; none behind the last one. Neighbouring threads have neighbouring nodes or, along
    /// x, the same row of all patches, whose banks differ, for sizes are odd; or, by patch, neighbouring rows of one.
    #[inline(always)]
    fn place(self, direction: usize, number: usize) -> Option<Place> {
        // Found again where it is needed: kept, it would take registers that spill.
        let thread = made_here(thread::thread_idx_x());
        let (patches, step) = (self.patches as u32, self.step() as u32);
        let size = if self.dim == 3 { self.size as u32 } else { step };
        let of_patch = if self.dim == 3 { size * step } else { size };
        let slow =
            if direction == 0 && self.is_by_patch { thread % of_patch / size } else { thread / (size * patches) };
        let (slot, fast) = match direction {
            0 if self.is_by_patch => (thread / of_patch, thread % size),
            0 => (thread % patches, thread / patches % size),
            _ => (thread / size % patches, thread % size),
        };
        let shift = step * number as u32;
        let [fast, slow] = if self.dim == 3 { [fast, slow + shift] } else { [fast + shift, slow] };
        if shift + step > self.size as u32 && (if self.dim == 3 { slow } else { fast }) >= self.size as u32 {
            return None;
        }
        let [slot, fast, slow] = [slot, fast, slow].map(|index| index as usize);
        let across = match (direction, self.dim) {
            (0, _) => self.stride(1) * fast + self.stride(2) * slow,
            (1, _) => fast + self.stride(2) * slow,
            _ => fast + self.stride(1) * slow,
        };
        let start = self.start + self.size * slot + across;
        Some(Place { slot, fast, slow, column: Column { start, stride: self.stride(direction) } })
    }
}

/// Those of a thread, by their numbers.
type Places = [Option<Place>; MOST];

/// A column: of which patch of the block, and its coordinates in the directions across it; the second is 0 in 2D.
#[derive(Clone, Copy)]
struct Place {
    slot: usize,
    fast: usize,
    slow: usize,
    column: Column,
}

/// Blocks that a multiprocessor should hold, for each degree, such that nothing spills; 0 leaves registers to the assembler.
#[cfg(not(target_arch = "nvptx64"))]
const fn min_blocks(dim: usize, degree: usize, scalar_bytes: usize) -> usize {
    // Others have products.
    const BLOCKS_2D: [[usize; 10]; 2] = [[0, 12, 0, 0, 0, 0, 0, 0, 4, 4], [9, 0, 0, 0, 0, 0, 0, 0, 2, 0]];
    const BLOCKS_3D: [[usize; 8]; 2] = [[10, 10, 10, 0, 6, 8, 0, 0], [12, 7, 7, 0, 0, 0, 0, 0]];
    if dim == 2 { BLOCKS_2D[scalar_bytes / 8][degree - 1] } else { BLOCKS_3D[scalar_bytes / 8][degree - 1] }
}

/// See [`Smooth`](super::Smooth).
#[cfg(not(target_arch = "nvptx64"))]
pub fn block(dim: usize, degree: usize, scalar_bytes: usize) -> Block {
    if products::are_for(dim, degree, scalar_bytes) {
        return products::block(dim, degree, scalar_bytes);
    }
    let shape = Shape::new(dim, degree, scalar_bytes);
    Block {
        threads: shape.nodes.threads(),
        min_blocks: min_blocks(dim, degree, scalar_bytes),
        shared_bytes: shape.words() * scalar_bytes,
        barriers: 2 * dim - 1,
    }
}

/// Blocks for the patches of a color; none if there are no patches.
#[cfg(not(target_arch = "nvptx64"))]
pub fn blocks<T: Real>(dim: usize, degree: usize, directions: Directions, color: u32) -> [u32; 3] {
    if products::are_for(dim, degree, size_of::<T>()) {
        return products::blocks(dim, degree, directions, color);
    }
    directions.blocks(dim, color, Shape::new(dim, degree, size_of::<T>()).patches)
}

/// Words of a patch's table in a direction.
#[cfg(not(target_arch = "nvptx64"))]
pub const fn table_words(dim: usize, degree: usize, scalar_bytes: usize) -> usize {
    if products::are_for(dim, degree, scalar_bytes) {
        products::ProductTable::new(degree).words()
    } else {
        PatchTable::new(degree, scalar_bytes).words()
    }
}

/// A [`PatchTable`] of a patch in a direction as the kernel takes it.
#[cfg(not(target_arch = "nvptx64"))]
pub fn arranged<T: Real>(dim: usize, degree: usize, direction: usize, table: Vec<T>) -> Vec<T> {
    if products::are_for(dim, degree, size_of::<T>()) {
        products::arranged(dim, degree, direction, &table)
    } else {
        table
    }
}

/// A patch in a direction.
#[derive(Clone, Copy)]
pub struct Along<T> {
    direction: Direction,
    pub vertex: u32,
    table: *const T,
}

/// A patch of a color by its index in a direction: its number there, and among the patches of all directions.
#[inline(always)]
pub fn numbers(Directions(directions): Directions, color: u32, d: usize, index: u32) -> [u32; 2] {
    let (patch, mut before) = (2 * index + bit(color, d), 0);
    for earlier in 0..d {
        before += directions[earlier].patches;
    }
    [patch, before + patch]
}

/// The patch of a color by its index in a direction.
///
/// # Safety
/// There is such a patch, and a start for every one.
#[inline(always)]
pub unsafe fn patch_of<T: Real>(
    tables: *const T,
    starts: *const u32,
    directions: Directions,
    color: u32,
    d: usize,
    index: u32,
) -> Along<T> {
    let ([patch, number], Directions(directions)) = (numbers(directions, color, d, index), directions);
    // SAFETY: the caller's promise.
    let start = unsafe { ldg(starts.add(number as usize)) };
    Along { direction: directions[d], vertex: directions[d].first + patch, table: tables.wrapping_add(start as usize) }
}

impl<T: Real> Along<T> {
    /// The node of the direction that a node of the patch is, if there is one.
    #[inline(always)]
    pub fn node<const K: usize>(&self, index: usize) -> Option<usize> {
        // Both are `K` more than what is meant.
        let (node, last) = (self.vertex * K as u32 + index as u32, (self.direction.cells + 1) * K as u32);
        let (is_below, is_beyond) = (node < K as u32, node > last);
        if self.direction.is_periodic == 1 {
            let period = last - K as u32;
            let node = if is_below { node + period } else { node };
            let node = if node >= last { node - period } else { node };
            return Some((node - K as u32) as usize);
        }
        (!is_below && !is_beyond).then(|| (node - K as u32) as usize)
    }

    /// A row of the table that begins there.
    #[inline(always)]
    unsafe fn row<const L: usize>(&self, start: usize) -> [T; L] {
        // SAFETY: the caller's promise.
        unsafe { ldg_row(self.table.add(start)) }
    }

    /// An entry of a part of the table.
    #[inline(always)]
    pub unsafe fn entry(&self, start: usize, index: usize) -> T {
        // SAFETY: the caller's promise.
        unsafe { ldg(self.table.add(start + index)) }
    }

    /// `Sᵀ M_IB` times columns of all nodes. `put` gets the number of a column and the place of an unknown with each value.
    #[inline(always)]
    unsafe fn transform<const K: usize, const M: usize, const N: usize>(
        &self,
        at_once: usize,
        columns: &[[T; N]; MOST],
        mut put: impl FnMut(usize, usize, T),
    ) {
        let table = const { PatchTable::new(K, size_of::<T>()) };
        for f in 0..turns(M) {
            // SAFETY: a row of the matrix.
            let row: [T; N] = unsafe { self.row(table.transform(f)) };
            for number in 0..at_once {
                let mut sum = T::ZERO;
                for n in 0..N {
                    sum = T::fma(row[n], columns[number][n], sum);
                }
                put(number, f + 1, sum);
            }
        }
    }

    /// `Sᵀ` times columns of unknowns, of which `get` has the values.
    #[inline(always)]
    unsafe fn analyze<const K: usize, const M: usize>(
        &self,
        at_once: usize,
        get: impl Fn(usize, usize) -> T,
    ) -> [[T; M]; MOST] {
        let table = const { PatchTable::new(K, size_of::<T>()) };
        let mut analyzed = [[T::ZERO; M]; MOST];
        for n in 0..turns(M) {
            // SAFETY: a row of the matrix.
            let row: [T; M] = unsafe { self.row(table.vectors(n)) };
            for number in 0..at_once {
                let value = get(number, n);
                for f in 0..M {
                    analyzed[number][f] = T::fma(row[f], value, analyzed[number][f]);
                }
            }
        }
        analyzed
    }

    /// `S` times columns of functions, given to `put` as above.
    #[inline(always)]
    unsafe fn synthesize<const K: usize, const M: usize>(
        &self,
        at_once: usize,
        columns: &[[T; M]; MOST],
        mut put: impl FnMut(usize, usize, T),
    ) {
        let table = const { PatchTable::new(K, size_of::<T>()) };
        for n in 0..turns(M) {
            // SAFETY: a row of the matrix.
            let row: [T; M] = unsafe { self.row(table.vectors(n)) };
            for number in 0..at_once {
                let mut value = T::ZERO;
                for f in 0..M {
                    value = T::fma(row[f], columns[number][f], value);
                }
                put(number, n, value);
            }
        }
    }
}

/// Columns from shared memory; zeros where there are none.
#[inline(always)]
fn read<T: Real, const L: usize>(at_once: usize, places: &Places) -> [[T; L]; MOST] {
    let mut columns = [[T::ZERO; L]; MOST];
    for number in 0..at_once {
        if let Some(place) = places[number] {
            columns[number] = Shared::at(0).read(place.column);
        }
    }
    columns
}

/// Columns to shared memory.
#[inline(always)]
fn write<T: Real, const L: usize>(at_once: usize, places: &Places, columns: &[[T; L]; MOST]) {
    for number in 0..at_once {
        if let Some(place) = places[number] {
            Shared::at(0).write(place.column, &columns[number]);
        }
    }
}

/// See [`Smooth`](super::Smooth).
///
/// # Safety
/// Launched as [`block`] and [`blocks`] say, with [arranged] tables of the level's patches, `kept` null or of as many numbers, and vectors of its
/// nodes.
#[inline(always)]
pub unsafe fn smooth<T: Real, const DIM: usize, const K: usize, const M: usize, const N: usize>(
    tables: *const T,
    starts: *const u32,
    kept: *const u32,
    b: *const T,
    x: *mut T,
    directions: Directions,
    color: u32,
) {
    let left_out = LeftOut { kept, directions, color };
    if const { products::are_for(DIM, K, size_of::<T>()) } {
        // SAFETY: the caller's promise.
        return unsafe { products::smooth::<T, DIM, K, M>(products::Step { tables, starts, b, x, left_out }) };
    }
    let shape = const { Shape::new(DIM, K, size_of::<T>()) };
    let Directions([along_x, along_y, _]) = directions;
    // Of a patch of the block; behind the last one comes the last one again.
    let (first, last) = (thread::block_idx_x() * shape.patches as u32, along_x.of_color(bit(color, 0)) - 1);
    let mut of_block = [first, thread::block_idx_y(), thread::block_idx_z()];
    // Read again below for the patch: held until then, it would take registers, and others would spill.
    of_block[DIM - 1] = made_here(of_block[DIM - 1]);
    // SAFETY: the block has a first patch.
    if unsafe { left_out.all(DIM, of_block, (shape.patches as u32).min(last + 1 - first)) } {
        return;
    }
    // SAFETY: there are such patches.
    let along = |d: usize, index: u32| unsafe { patch_of(tables, starts, directions, color, d, index) };
    let x_of = |slot: usize| along(0, if shape.patches > 1 { (first + slot as u32).min(last) } else { first });
    let y_of = along(1, thread::block_idx_y());
    let z_of = if DIM == 3 { along(2, thread::block_idx_z()) } else { y_of };
    // In 3D made anew, and counted in 64 bits: the kernel of degree 4 in `f64` has no registers for it.
    let cells = || if DIM == 3 { made_here(along_x.cells) } else { along_x.cells };
    let row = || (cells() as usize * K + 1).next_multiple_of(ROW_MULTIPLE as usize);
    let rows = along_y.nodes(K) as usize;
    // Offset of the nodes in the column along the last direction, if there are any, and distance of such nodes.
    let distance = || if DIM == 3 { row() * rows } else { row() };
    let base = |x_of: &Along<T>, fast: usize, slow: usize| {
        let in_x = x_of.node::<K>(fast)?;
        if DIM == 2 { Some(in_x) } else { Some(in_x + row() * y_of.node::<K>(slow)?) }
    };
    let middle = |x_of: &Along<T>| {
        let [x_node, y_node, z_node] = [x_of, &y_of, &z_of].map(|along| (along.vertex * K as u32) as usize);
        let offset = if DIM == 3 { x_node + row() * (y_node + rows * z_node) } else { x_node + row() * y_node };
        // SAFETY: the patch's vertex, which is a node of the level; only the patch writes it, and behind barriers.
        unsafe { *x.add(offset) }
    };
    let tensors = Shared::<T>::at(0);
    let (nodes, unknowns) = (shape.nodes, shape.unknowns);
    let at_once = unknowns.at_once;
    // Fewer threads have columns of unknowns.
    let has_unknowns = (thread::thread_idx_x() as usize) < unknowns.threads();
    // Of a thread's columns.
    let places = |tensor: Tensor, direction: usize| {
        let mut places = [None; MOST];
        for number in 0..tensor.at_once {
            places[number] = tensor.place(direction, number);
        }
        places
    };
    let get = |places: &Places, number: usize, index: usize| {
        places[number].map_or(T::ZERO, |place| tensors.get(place.column.at(index)))
    };
    let set = |places: &Places, number: usize, index: usize, value: T| {
        if let Some(place) = places[number] {
            tensors.set(place.column.at(index), value);
        }
    };
    let slot_of = |places: &Places| places[0].map_or(0, |place| place.slot);

    // Along the last direction, from global memory.
    let own = places(nodes, DIM - 1);
    let own_x = x_of(slot_of(&own));
    let own_middle = middle(&own_x);
    let is_between = |index: usize| index > 0 && index < N - 1;
    let mut columns = [[T::ZERO; N]; MOST];
    for number in 0..at_once {
        let Some(Place { slot, fast, slow, .. }) = own[number] else { continue };
        if fast == 0 && slow == 0 {
            tensors.set(shape.middles + slot, own_middle);
        }
        let is_unknown = is_between(fast) && (DIM == 2 || is_between(slow));
        if let Some(base) = base(&own_x, fast, slow) {
            let distance = distance();
            for n in 0..N {
                if let (false, Some(node)) = (is_unknown && is_between(n), z_of.node::<K>(n)) {
                    // SAFETY: a node of the level that no patch of the color has as an unknown.
                    columns[number][n] = unsafe { *x.add(base + distance * node) } - own_middle;
                }
            }
        }
        set(&own, number, 0, columns[number][0]);
        set(&own, number, N - 1, columns[number][N - 1]);
    }
    // SAFETY: the table of the patch, here and below.
    unsafe { z_of.transform::<K, M, N>(at_once, &columns, |number, n, value| set(&own, number, n, value)) };
    if has_unknowns {
        let own = places(unknowns, DIM - 1);
        let own_x = x_of(slot_of(&own));
        for number in 0..at_once {
            let Some(Place { fast, slow, column, .. }) = own[number] else { continue };
            let mut values = [T::ZERO; M];
            if let Some(base) = base(&own_x, fast + 1, slow + 1) {
                let distance = distance();
                for n in 0..M {
                    if let Some(node) = z_of.node::<K>(n + 1) {
                        // SAFETY: an unknown of the patch.
                        values[n] = unsafe { *b.add(base + distance * node) };
                    }
                }
            }
            tensors.write(column, &values);
        }
        // SAFETY: as above.
        write(at_once, &own, &unsafe { z_of.analyze::<K, M>(at_once, |number, n| get(&own, number, n)) });
    }
    thread::sync_threads();

    if DIM == 3 {
        let own = places(nodes, 1);
        // SAFETY: as above.
        unsafe {
            y_of.transform::<K, M, N>(at_once, &read::<T, N>(at_once, &own), |number, n, value| {
                set(&own, number, n, value)
            })
        };
        if has_unknowns {
            let own = places(unknowns, 1);
            // SAFETY: as above.
            write(at_once, &own, &unsafe { y_of.analyze::<K, M>(at_once, |number, n| get(&own, number, n)) });
        }
        thread::sync_threads();
    }

    let own = places(nodes, 0);
    let own_x = x_of(slot_of(&own));
    // SAFETY: as above.
    unsafe {
        own_x
            .transform::<K, M, N>(at_once, &read::<T, N>(at_once, &own), |number, n, value| set(&own, number, n, value))
    };
    let lines = places(unknowns, 0);
    let lines_x = x_of(slot_of(&lines));
    if has_unknowns {
        // SAFETY: as above.
        write(at_once, &lines, &unsafe { lines_x.analyze::<K, M>(at_once, |number, n| get(&lines, number, n)) });
    }
    thread::sync_threads();

    if has_unknowns {
        let parts = const {
            let table = PatchTable::new(K, size_of::<T>());
            [table.values(), table.coupling(0), table.coupling(1), table.sums()]
        };
        let own_middle = tensors.get(shape.middles + slot_of(&lines));
        for number in 0..at_once {
            let Some(Place { slot, fast: j, slow: l, column }) = lines[number] else { continue };
            let of_node = |i: usize, j: usize, l: usize| {
                let plane = if DIM == 3 { nodes.stride(2) * l } else { 0 };
                N * slot + i + nodes.stride(1) * j + plane
            };
            // SAFETY: parts of the tables.
            let [across_y, across_z] = unsafe {
                let of = |along: &Along<T>, index: usize| parts.map(|part| along.entry(part, index));
                [of(&y_of, j), if DIM == 3 { of(&z_of, l) } else { [T::ZERO, T::ZERO, T::ZERO, T::from_f64(1.0)] }]
            };
            let value = across_y[0] + across_z[0];
            let constant = -(own_middle * (across_y[3] * across_z[3]));
            let row = Column { start: of_node(0, j + 1, l + 1), stride: 1 };
            let ends = [tensors.get(row.at(0)), tensors.get(row.at(N - 1))];
            let face = |factor: T, node: usize, sum: T| T::fma(-factor, tensors.get(node), sum);
            for i in 0..turns(M) {
                // SAFETY: as above.
                let [values, low, high, sums] = unsafe { parts.map(|part| lines_x.entry(part, i)) };
                let mut residual = T::fma(constant, sums, tensors.get(column.at(i)));
                residual = T::fma(-low, ends[0], residual);
                residual = T::fma(-high, ends[1], residual);
                residual = face(across_y[1], of_node(i + 1, 0, l + 1), residual);
                residual = face(across_y[2], of_node(i + 1, N - 1, l + 1), residual);
                if DIM == 3 {
                    residual = face(across_z[1], of_node(i + 1, j + 1, 0), residual);
                    residual = face(across_z[2], of_node(i + 1, j + 1, N - 1), residual);
                }
                let function = T::fma(residual, (values + value).reciprocal(), -tensors.get(row.at(i + 1)));
                tensors.set(column.at(i), function);
            }
        }
        // SAFETY: as above. Nobody else reads the columns before the barrier.
        unsafe {
            lines_x.synthesize::<K, M>(at_once, &read::<T, M>(at_once, &lines), |number, n, value| {
                set(&lines, number, n, value)
            })
        };
    }
    thread::sync_threads();

    if DIM == 3 {
        if has_unknowns {
            let own = places(unknowns, 1);
            // SAFETY: as above.
            unsafe {
                y_of.synthesize::<K, M>(at_once, &read::<T, M>(at_once, &own), |number, n, value| {
                    set(&own, number, n, value)
                })
            };
        }
        thread::sync_threads();
    }

    let own = places(unknowns, DIM - 1);
    let slot = slot_of(&own);
    if !has_unknowns {
        return;
    }
    // A block of one patch has it, and has not left it out.
    if shape.patches > 1 {
        let ([_, y, z], number) = (of_block, first + slot as u32);
        // SAFETY: if there is a patch, it is one of the block.
        if number > last || unsafe { left_out.all(DIM, [number, y, z], 1) } {
            return;
        }
    }
    let (own_x, own_middle) = (x_of(slot), tensors.get(shape.middles + slot));
    let mut bases = [None; MOST];
    for number in 0..at_once {
        bases[number] = own[number].and_then(|place| base(&own_x, place.fast + 1, place.slow + 1));
    }
    let distance = distance();
    let put = |number: usize, n: usize, value: T| {
        if let (Some(base), Some(node)) = (bases[number], z_of.node::<K>(n + 1)) {
            // SAFETY: an unknown of the patch, which no other of the color has.
            unsafe { *x.add(base + distance * node) = value + own_middle };
        }
    };
    // SAFETY: as above.
    unsafe { z_of.synthesize::<K, M>(at_once, &read::<T, M>(at_once, &own), put) };
}
