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
//! of that constant.

use super::PatchTable;
use crate::kernels::patch_nodes;
use crate::layout::{Column, Shared};
use crate::patch::{Direction, Directions, bit};
use crate::scalar::Real;
#[cfg(not(target_arch = "nvptx64"))]
use crate::typed::Block;
use cuda_std::hint::made_here;
use cuda_std::ptr::{ldg, ldg_row};
use cuda_std::thread;

/// How patches lie on a block, and their tensors in its shared memory: rows of all patches, then planes of such rows.
#[derive(Clone, Copy)]
struct Shape {
    /// Of a block, side by side in x.
    patches: usize,
    /// Of all nodes; a thread for each column.
    nodes: Tensor,
    /// Of the unknowns.
    unknowns: Tensor,
}

impl Shape {
    const fn new(dim: usize, degree: usize) -> Self {
        let wanted = if dim == 2 && degree == 4 { 192 } else { 256 };
        let (unknowns, nodes) = patch_nodes(degree);
        let columns = if dim == 3 { nodes * nodes } else { nodes };
        let patches = if columns < wanted { wanted / columns } else { 1 };
        let nodes = Tensor { dim, size: nodes, patches, start: 0 };
        let unknowns = Tensor { dim, size: unknowns, patches, start: nodes.words() };
        Self { patches, nodes, unknowns }
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

    /// Columns along a direction.
    const fn columns(self) -> usize {
        self.patches * self.size.pow(self.dim as u32 - 1)
    }

    const fn words(self) -> usize {
        self.patches * self.size.pow(self.dim as u32)
    }

    /// The column of a thread along a direction. Neighbouring threads have neighbouring rows or, across x, neighbouring nodes of all
    /// patches: banks differ, for sizes are odd.
    #[inline(always)]
    fn place(self, thread: u32, direction: usize) -> Place {
        let (size, patches) = (self.size as u32, self.patches as u32);
        let (slot, fast) = if direction == 0 {
            (thread % patches, thread / patches % size)
        } else {
            (thread / size % patches, thread % size)
        };
        let [slot, fast, slow] = [slot, fast, thread / (size * patches)].map(|index| index as usize);
        let across = match (direction, self.dim) {
            (0, _) => self.stride(1) * fast + self.stride(2) * slow,
            (1, _) => fast + self.stride(2) * slow,
            _ => fast + self.stride(1) * slow,
        };
        let start = self.start + self.size * slot + across;
        Place { slot, fast, slow, column: Column { start, stride: self.stride(direction) } }
    }
}

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
    const BLOCKS: [[[usize; 4]; 2]; 2] = [[[8, 8, 4, 3], [4, 4, 3, 2]], [[6, 6, 4, 0], [4, 4, 3, 2]]];
    BLOCKS[dim - 2][scalar_bytes / 8][degree - 1]
}

/// See [`Smooth`](super::Smooth).
#[cfg(not(target_arch = "nvptx64"))]
pub fn block(dim: usize, degree: usize, scalar_bytes: usize) -> Block {
    let Shape { nodes, unknowns, .. } = Shape::new(dim, degree);
    Block {
        threads: nodes.columns(),
        min_blocks: min_blocks(dim, degree, scalar_bytes),
        shared_bytes: (nodes.words() + unknowns.words()) * scalar_bytes,
        barriers: 2 * dim - 1,
    }
}

/// Blocks for the patches of a color; none if there are no patches.
#[cfg(not(target_arch = "nvptx64"))]
pub fn blocks(dim: usize, degree: usize, directions: Directions, color: u32) -> [u32; 3] {
    directions.blocks(dim, color, Shape::new(dim, degree).patches)
}

/// A patch in a direction.
#[derive(Clone, Copy)]
struct Along<T> {
    direction: Direction,
    vertex: u32,
    table: *const T,
}

impl<T: Real> Along<T> {
    /// The node of the direction that a node of the patch is, if there is one.
    #[inline(always)]
    fn node<const K: usize>(&self, index: usize) -> Option<usize> {
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
    unsafe fn entry(&self, start: usize, index: usize) -> T {
        // SAFETY: the caller's promise.
        unsafe { ldg(self.table.add(start + index)) }
    }

    /// `Sᵀ M_IB` times a column of all nodes, its ends left as they are.
    #[inline(always)]
    unsafe fn transform<const K: usize, const M: usize, const N: usize>(&self, column: &[T; N]) -> [T; N] {
        let table = const { PatchTable::new(K, size_of::<T>()) };
        let mut transformed = *column;
        for f in 0..M {
            // SAFETY: a row of the matrix.
            let row: [T; N] = unsafe { self.row(table.transform(f)) };
            let mut sum = T::ZERO;
            for n in 0..N {
                sum = T::fma(row[n], column[n], sum);
            }
            transformed[f + 1] = sum;
        }
        transformed
    }

    /// `Sᵀ` times a column of unknowns.
    #[inline(always)]
    unsafe fn analyze<const K: usize, const M: usize>(&self, column: &[T; M]) -> [T; M] {
        let table = const { PatchTable::new(K, size_of::<T>()) };
        let mut analyzed = [T::ZERO; M];
        for n in 0..M {
            // SAFETY: a row of the matrix.
            let row: [T; M] = unsafe { self.row(table.vectors(n)) };
            for f in 0..M {
                analyzed[f] = T::fma(row[f], column[n], analyzed[f]);
            }
        }
        analyzed
    }

    /// `S` times a column of functions.
    #[inline(always)]
    unsafe fn synthesize<const K: usize, const M: usize>(&self, column: &[T; M]) -> [T; M] {
        let table = const { PatchTable::new(K, size_of::<T>()) };
        let mut values = [T::ZERO; M];
        for n in 0..M {
            // SAFETY: a row of the matrix.
            let row: [T; M] = unsafe { self.row(table.vectors(n)) };
            for f in 0..M {
                values[n] = T::fma(row[f], column[f], values[n]);
            }
        }
        values
    }
}

/// See [`Smooth`](super::Smooth).
///
/// # Safety
/// Launched as [`block`] and [`blocks`] say, with tables of the level's patches, and vectors of its nodes.
#[inline(always)]
pub unsafe fn smooth<T: Real, const DIM: usize, const K: usize, const M: usize, const N: usize>(
    tables: *const T,
    starts: *const u32,
    b: *const T,
    x: *mut T,
    directions: Directions,
    color: u32,
) {
    let shape = const { Shape::new(DIM, K) };
    let table = const { PatchTable::new(K, size_of::<T>()) };
    let Directions([along_x, along_y, along_z]) = directions;
    let along = |direction: Direction, bit: u32, index: u32, before: u32| {
        let patch = 2 * index + bit;
        // SAFETY: there is a start for every patch.
        let start = unsafe { ldg(starts.add((before + patch) as usize)) };
        Along { direction, vertex: direction.first + patch, table: tables.wrapping_add(start as usize) }
    };
    // Of a patch of the block; behind the last one comes the last one again.
    let (first, last) = (thread::block_idx_x() * shape.patches as u32, along_x.of_color(bit(color, 0)) - 1);
    let x_of = |slot: usize| along(along_x, bit(color, 0), (first + slot as u32).min(last), 0);
    let y_of = along(along_y, bit(color, 1), thread::block_idx_y(), along_x.patches);
    let z_of = if DIM == 3 {
        along(along_z, bit(color, 2), thread::block_idx_z(), along_x.patches + along_y.patches)
    } else {
        y_of
    };
    let (row, rows) = ((along_x.cells as usize) * K + 1, (along_y.cells as usize) * K + 1);
    // Offset of the nodes in the column along the last direction, if there are any, and distance of such nodes.
    let distance = if DIM == 3 { row * rows } else { row };
    let base = |x_of: &Along<T>, fast: usize, slow: usize| {
        let in_x = x_of.node::<K>(fast)?;
        if DIM == 2 { Some(in_x) } else { Some(in_x + row * y_of.node::<K>(slow)?) }
    };
    let middle = |x_of: &Along<T>| {
        let [x_node, y_node, z_node] = [x_of, &y_of, &z_of].map(|along| (along.vertex * K as u32) as usize);
        let offset = if DIM == 3 { x_node + row * (y_node + rows * z_node) } else { x_node + row * y_node };
        // SAFETY: the patch's vertex, which is a node of the level; only the patch writes it, and behind barriers.
        unsafe { *x.add(offset) }
    };
    let tensors = Shared::<T>::at(0);
    let place = |direction: usize| shape.nodes.place(made_here(thread::thread_idx_x()), direction);
    // Fewer threads have a column of unknowns.
    let has_unknowns = (thread::thread_idx_x() as usize) < shape.unknowns.columns();
    let inner_place = |direction: usize| shape.unknowns.place(made_here(thread::thread_idx_x()), direction);

    // Along the last direction, from global memory. What a thread's place gives is found again where it is needed: kept, it would take
    // registers that spill.
    let own = place(DIM - 1);
    let own_x = x_of(own.slot);
    let own_middle = middle(&own_x);
    let is_between = |index: usize| index > 0 && index < N - 1;
    let is_unknown = is_between(own.fast) && (DIM == 2 || is_between(own.slow));
    let mut column = [T::ZERO; N];
    if let Some(base) = base(&own_x, own.fast, own.slow) {
        for n in 0..N {
            if let (false, Some(node)) = (is_unknown && is_between(n), z_of.node::<K>(n)) {
                // SAFETY: a node of the level that no patch of the color has as an unknown.
                column[n] = unsafe { *x.add(base + distance * node) } - own_middle;
            }
        }
    }
    // SAFETY: the table of the patch, here and below.
    tensors.write(own.column, &unsafe { z_of.transform::<K, M, N>(&column) });
    if has_unknowns {
        let own = inner_place(DIM - 1);
        let mut unknowns = [T::ZERO; M];
        if let Some(base) = base(&x_of(own.slot), own.fast + 1, own.slow + 1) {
            for n in 0..M {
                if let Some(node) = z_of.node::<K>(n + 1) {
                    // SAFETY: an unknown of the patch.
                    unknowns[n] = unsafe { *b.add(base + distance * node) };
                }
            }
        }
        // SAFETY: as above.
        tensors.write(own.column, &unsafe { z_of.analyze::<K, M>(&unknowns) });
    }
    thread::sync_threads();

    if DIM == 3 {
        let own = place(1).column;
        // SAFETY: as above.
        tensors.write(own, &unsafe { y_of.transform::<K, M, N>(&tensors.read(own)) });
        if has_unknowns {
            let own = inner_place(1).column;
            // SAFETY: as above.
            tensors.write(own, &unsafe { y_of.analyze::<K, M>(&tensors.read(own)) });
        }
        thread::sync_threads();
    }

    let own = place(0);
    // SAFETY: as above.
    tensors.write(own.column, &unsafe { x_of(own.slot).transform::<K, M, N>(&tensors.read(own.column)) });
    // Of the patch whose row a thread has.
    let line = inner_place(0);
    let line_x = x_of(line.slot);
    let mut unknowns = [T::ZERO; M];
    if has_unknowns {
        // SAFETY: as above.
        unknowns = unsafe { line_x.analyze::<K, M>(&tensors.read(line.column)) };
    }
    thread::sync_threads();

    if has_unknowns {
        let [j, l] = [line.fast, line.slow];
        let of_node = |i: usize, j: usize, l: usize| {
            let plane = if DIM == 3 { shape.nodes.stride(2) * l } else { 0 };
            N * line.slot + i + shape.nodes.stride(1) * j + plane
        };
        // SAFETY: parts of the tables.
        let [across_y, across_z] = unsafe {
            let of = |along: &Along<T>, index: usize| {
                [table.values(), table.coupling(0), table.coupling(1), table.sums()]
                    .map(|part| along.entry(part, index))
            };
            [of(&y_of, j), if DIM == 3 { of(&z_of, l) } else { [T::ZERO, T::ZERO, T::ZERO, T::from_f64(1.0)] }]
        };
        // SAFETY: as above.
        let [values, low, high, sums]: [[T; M]; 4] = unsafe {
            [table.values(), table.coupling(0), table.coupling(1), table.sums()].map(|part| line_x.row(part))
        };
        let value = across_y[0] + across_z[0];
        let constant = -(middle(&line_x) * (across_y[3] * across_z[3]));
        let row: [T; N] = tensors.read(Column { start: of_node(0, j + 1, l + 1), stride: 1 });
        let face = |factor: T, node: usize, sum: T| T::fma(-factor, tensors.get(node), sum);
        for i in 0..M {
            let mut residual = T::fma(constant, sums[i], unknowns[i]);
            residual = T::fma(-low[i], row[0], residual);
            residual = T::fma(-high[i], row[N - 1], residual);
            residual = face(across_y[1], of_node(i + 1, 0, l + 1), residual);
            residual = face(across_y[2], of_node(i + 1, N - 1, l + 1), residual);
            if DIM == 3 {
                residual = face(across_z[1], of_node(i + 1, j + 1, 0), residual);
                residual = face(across_z[2], of_node(i + 1, j + 1, N - 1), residual);
            }
            unknowns[i] = T::fma(residual, (values[i] + value).reciprocal(), -row[i + 1]);
        }
        // SAFETY: as above. Nobody else reads the column before the barrier.
        tensors.write(line.column, &unsafe { line_x.synthesize::<K, M>(&unknowns) });
    }
    // Of the column along the last direction, before anybody overwrites it.
    let own = inner_place(DIM - 1);
    let own_x = x_of(own.slot);
    let own_middle = middle(&own_x);
    thread::sync_threads();

    if DIM == 3 {
        if has_unknowns {
            let own = inner_place(1).column;
            // SAFETY: as above.
            tensors.write(own, &unsafe { y_of.synthesize::<K, M>(&tensors.read(own)) });
        }
        thread::sync_threads();
    }

    if !has_unknowns || first + own.slot as u32 > last {
        return;
    }
    if let Some(base) = base(&own_x, own.fast + 1, own.slow + 1) {
        // SAFETY: as above.
        let values = unsafe { z_of.synthesize::<K, M>(&tensors.read(own.column)) };
        for n in 0..M {
            if let Some(node) = z_of.node::<K>(n + 1) {
                // SAFETY: an unknown of the patch, which no other of the color has.
                unsafe { *x.add(base + distance * node) = values[n] + own_middle };
            }
        }
    }
}
