//! By fast diagonalization, and conjugate gradients for the Schur complement: with `F`, `G` the residuals of velocity and
//! pressure,
//!
//! ```text
//! S P = B A⁻¹ F - G,    U = A⁻¹ (F - Bᵀ P),    S = B A⁻¹ Bᵀ
//! ```
//!
//! in eigenfunctions (paper 2, section 3.2), where the mass matrix of the pressure, the preconditioner, is the identity. All
//! tensors are cubes of `N` nodes a direction in shared memory; the one node that a component has less along itself is a zero
//! at the end.

use super::table::SchurTable;
use super::{Fields, Patch, pick, thread};
use crate::layout::Shared;
use crate::scalar::Real;
use crate::stokes::Paper2;
use crate::stokes::paper2::order::Outputs;
use crate::stokes::paper2::tensor::Tensor;
#[cfg(not(target_arch = "nvptx64"))]
use crate::typed::Block;
use cuda_std::hint::opaque;

/// Tensors: the components of the velocity, the pressure or a direction of descent, its image, and a temporary one.
const PRESSURE: usize = 3;
const IMAGE: usize = 4;
const TEMPORARY: usize = 5;
#[cfg(not(target_arch = "nvptx64"))]
const TENSORS: usize = 6;

/// A patch with its tables in shared memory, those of each direction, then the tensors, then words for sums.
#[derive(Clone, Copy)]
struct Solver {
    level: Paper2,
    nodes: usize,
}

impl Solver {
    /// The first word of a direction's part of the table.
    #[inline(always)]
    const fn table(&self, direction: usize) -> usize {
        direction * SchurTable::new(self.nodes).words()
    }

    #[inline(always)]
    fn tensor<T: Real>(&self, number: usize) -> Tensor<T> {
        let (nodes, square) = (self.nodes, self.nodes * self.nodes);
        Tensor { memory: Shared::at(self.table(3) + number * nodes * square), strides: [1, nodes, square] }
    }

    #[inline(always)]
    fn outputs(&self, direction: usize) -> Outputs {
        Outputs::new(self.level, direction, [self.nodes; 3], self.nodes)
    }

    /// The outputs of a thread of the product of a matrix of the table and `x` in a direction; so many columns are no padding.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn contract<T: Real, const N: usize>(
        &self,
        matrix: usize,
        columns: usize,
        direction: usize,
        x: Tensor<T>,
        outputs: &Outputs,
    ) -> [T; N] {
        let mut sums = [T::ZERO; N];
        if !outputs.is_active {
            return sums;
        }
        let (table, columns) = (Shared::<T>::at(matrix), opaque(columns as u32) as usize);
        for column in 0..columns {
            if outputs.layers() == direction {
                let mut from = outputs.point(0);
                from[direction] = column;
                let value = x.get(from);
                for row in 0..N {
                    sums[row] = T::fma(table.get(row + N * column), value, sums[row]);
                }
            } else {
                let entry = table.get(outputs.point(0)[direction] + N * column);
                for layer in 0..N {
                    let mut from = outputs.point(layer);
                    from[direction] = column;
                    sums[layer] = T::fma(entry, x.get(from), sums[layer]);
                }
            }
        }
        sums
    }

    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn store<T: Real, const N: usize>(&self, y: Tensor<T>, outputs: &Outputs, values: &[T; N]) {
        if outputs.is_active {
            for layer in 0..N {
                y.set(outputs.point(layer), values[layer]);
            }
        }
    }

    /// What a thread has stored.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn load<T: Real, const N: usize>(&self, x: Tensor<T>, outputs: &Outputs) -> [T; N] {
        let mut values = [T::ZERO; N];
        if outputs.is_active {
            for layer in 0..N {
                values[layer] = x.get(outputs.point(layer));
            }
        }
        values
    }

    /// All fields from nodes to eigenfunctions in a direction, or back.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn transform<T: Real, const N: usize>(&self, direction: usize, is_synthesis: bool) {
        let (table, outputs) = (const { SchurTable::new(N) }, self.outputs(direction));
        for field in 0..opaque(4) as usize {
            let is_continuous = field == direction;
            let matrix = if is_synthesis { table.synthesis(is_continuous) } else { table.analysis(is_continuous) };
            let tensor = self.tensor(field);
            let sums: [T; N] = self.contract(
                self.table(direction) + matrix,
                if is_continuous { N - 1 } else { N },
                direction,
                tensor,
                &outputs,
            );
            thread::sync_threads();
            self.store(tensor, &outputs, &sums);
        }
    }

    /// `A⁻¹` of a component, of a thread's outputs.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn divide<T: Real, const N: usize>(&self, own: usize, outputs: &Outputs, x: &mut [T; N]) {
        if !outputs.is_active {
            return;
        }
        let layers = outputs.layers();
        let values = [0, 1, 2].map(|d| self.table(d) + const { SchurTable::new(N) }.values(d == own));
        let mut in_layer = T::ZERO;
        for d in 0..3 {
            if d != layers {
                in_layer = in_layer + Shared::<T>::at(values[d]).get(outputs.point(0)[d]);
            }
        }
        for layer in 0..N {
            x[layer] = x[layer] * (in_layer + Shared::<T>::at(values[layers]).get(layer)).reciprocal();
        }
    }

    /// `to += D A⁻¹ y` in the direction of a component, `y` being a thread's outputs; `to = ...` if `is_first`.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn add_divergence<T: Real, const N: usize>(
        &self,
        own: usize,
        outputs: &Outputs,
        mut y: [T; N],
        is_first: bool,
        to: Tensor<T>,
    ) {
        let temporary = self.tensor::<T>(TEMPORARY);
        self.divide(own, outputs, &mut y);
        self.store(temporary, outputs, &y);
        thread::sync_threads();
        let matrix = self.table(own) + const { SchurTable::new(N) }.divergence();
        let mut sums: [T; N] = self.contract(matrix, N - 1, own, temporary, outputs);
        if !is_first {
            let others: [T; N] = self.load(to, outputs);
            for layer in 0..N {
                sums[layer] = sums[layer] + others[layer];
            }
        }
        self.store(to, outputs, &sums);
        thread::sync_threads();
    }

    /// `Dᵀ` times a pressure in the direction of a component.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn gradient<T: Real, const N: usize>(&self, own: usize, outputs: &Outputs) -> [T; N] {
        let matrix = self.table(own) + const { SchurTable::new(N) }.gradient();
        self.contract(matrix, N, own, self.tensor(PRESSURE), outputs)
    }

    /// The sum of a number of each thread: first in the columns of threads, then that of these, by every thread.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn sum<T: Real, const N: usize>(&self, outputs: &Outputs, value: T) -> T {
        let (parts, [x, y, _]) = (self.tensor::<T>(TENSORS_END), outputs.point(0));
        if outputs.is_active {
            parts.set([x, y, 0], value);
        }
        thread::sync_threads();
        if outputs.is_active && y == 0 {
            let mut sum = T::ZERO;
            for row in 0..N {
                sum = sum + parts.get([x, row, 0]);
            }
            parts.set([x, 0, 1], sum);
        }
        thread::sync_threads();
        let mut sum = T::ZERO;
        for column in 0..N {
            sum = sum + parts.get([column, 0, 1]);
        }
        sum
    }

    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn dot<T: Real, const N: usize>(&self, outputs: &Outputs, x: &[T; N], y: &[T; N]) -> T {
        let mut sum = T::ZERO;
        for layer in 0..N {
            sum = T::fma(x[layer], y[layer], sum);
        }
        self.sum::<T, N>(outputs, sum)
    }

    /// Makes `x` orthogonal to constants, of which `constant` is a thread's part of the normalized one.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn drop_constants<T: Real, const N: usize>(&self, outputs: &Outputs, x: &mut [T; N]) {
        let constant = const { SchurTable::new(N) }.constant();
        let part = |d: usize, at: usize| Shared::<T>::at(self.table(d) + constant).get(at);
        let [column, row, _] = outputs.point(0);
        let mut constants = [T::ZERO; N];
        if outputs.is_active {
            let in_layer = part(0, column) * part(1, row);
            for layer in 0..N {
                constants[layer] = in_layer * part(2, layer);
            }
        }
        let coefficient = self.dot(outputs, x, &constants);
        for layer in 0..N {
            x[layer] = T::fma(-coefficient, constants[layer], x[layer]);
        }
    }

    /// From `-g` in the pressure's tensor to `P` there.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn conjugate_gradients<T: Real, const N: usize>(&self, steps: u32) {
        let (direction, image) = (self.tensor::<T>(PRESSURE), self.tensor::<T>(IMAGE));
        // Threads have the same points in all vector operations.
        let outputs = self.outputs(1);
        let quotient = |x: T, y: T| if y == T::ZERO { T::ZERO } else { x * y.reciprocal() };
        let mut residual: [T; N] = self.load(direction, &outputs);
        for layer in 0..N {
            residual[layer] = -residual[layer];
        }
        self.drop_constants(&outputs, &mut residual);
        self.store(direction, &outputs, &residual);
        let mut squares = self.dot(&outputs, &residual, &residual);
        let mut solution = [T::ZERO; N];
        let mut step = 1;
        loop {
            self.add_image::<T, N>(0);
            self.add_image::<T, N>(1);
            self.add_image::<T, N>(2);
            let (along, applied): ([T; N], [T; N]) = (self.load(direction, &outputs), self.load(image, &outputs));
            let length = quotient(squares, self.dot(&outputs, &along, &applied));
            for layer in 0..N {
                solution[layer] = T::fma(length, along[layer], solution[layer]);
            }
            if step == steps {
                break;
            }
            for layer in 0..N {
                residual[layer] = T::fma(-length, applied[layer], residual[layer]);
            }
            self.drop_constants(&outputs, &mut residual);
            let new = self.dot(&outputs, &residual, &residual);
            let factor = quotient(new, squares);
            squares = new;
            let mut next = residual;
            for layer in 0..N {
                next[layer] = T::fma(factor, along[layer], next[layer]);
            }
            self.store(direction, &outputs, &next);
            thread::sync_threads();
            step += 1;
        }
        self.store(direction, &outputs, &solution);
        thread::sync_threads();
    }

    /// A component's part of `S` times the direction, to its image.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn add_image<T: Real, const N: usize>(&self, own: usize) {
        let outputs = self.outputs(own);
        let gradient: [T; N] = self.gradient(own, &outputs);
        self.add_divergence(own, &outputs, gradient, own == 0, self.tensor::<T>(IMAGE));
    }

    /// `U` of a component, to its place.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn solve_velocity<T: Real, const N: usize>(&self, own: usize) {
        let (velocity, outputs) = (self.tensor::<T>(own), self.outputs(own));
        let (mut sums, residual): ([T; N], [T; N]) = (self.gradient(own, &outputs), self.load(velocity, &outputs));
        for layer in 0..N {
            sums[layer] = sums[layer] + residual[layer];
        }
        self.divide(own, &outputs, &mut sums);
        self.store(velocity, &outputs, &sums);
    }
}

/// Behind the tensors: words for sums.
const TENSORS_END: usize = TEMPORARY + 1;

/// A patch of a color.
///
/// # Safety
/// Launched with the [`block`] and the [`blocks`](super::blocks) of the color; vectors are as `fields` says.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
unsafe fn solve<T: Real, const N: usize>(
    level: Paper2,
    table: *const T,
    steps: u32,
    r: *const T,
    x: *mut T,
    fields: Fields,
) {
    let (patch, solver) = (Patch::of_block(fields, N), Solver { level, nodes: N });
    let words = const { SchurTable::new(N) }.words();
    let ends = [0, 1, 2].map(|d| patch.ends(d) as usize);
    let mut index = thread::thread_idx_x();
    while index < 3 * words as u32 {
        let d = (index / words as u32) as usize;
        let from = (3 * d + pick(ends, d)) * words + index as usize;
        // SAFETY: an entry of the table.
        Shared::at(0).set(index as usize, unsafe { *table.add(from) });
        index += thread::block_dim_x();
    }
    let outputs = solver.outputs(1);
    for field in 0..opaque(4) as usize {
        let mut values = [T::ZERO; N];
        for layer in 0..N {
            let (offset, is_unknown) = place(&patch, field, outputs.point(layer));
            if outputs.is_active && is_unknown {
                // SAFETY: a node of the patch.
                values[layer] = unsafe { *r.add(offset) };
            }
        }
        solver.store(solver.tensor(field), &outputs, &values);
    }
    thread::sync_threads();
    for d in 0..3 {
        solver.transform::<T, N>(d, false);
    }
    thread::sync_threads();
    for own in 0..3 {
        let outputs = solver.outputs(own);
        let velocity = solver.load(solver.tensor(own), &outputs);
        solver.add_divergence::<T, N>(own, &outputs, velocity, false, solver.tensor(PRESSURE));
    }
    solver.conjugate_gradients::<T, N>(steps);
    for own in 0..3 {
        solver.solve_velocity::<T, N>(own);
    }
    thread::sync_threads();
    for d in 0..3 {
        solver.transform::<T, N>(d, true);
    }
    thread::sync_threads();
    for field in 0..opaque(4) as usize {
        let values: [T; N] = solver.load(solver.tensor(field), &outputs);
        for layer in 0..N {
            let (offset, is_unknown) = place(&patch, field, outputs.point(layer));
            if outputs.is_active && is_unknown {
                // SAFETY: a node of the patch, which no other patch of the color shares.
                unsafe { *x.add(offset) = *x.add(offset) + values[layer] };
            }
        }
    }
}

/// Where a point of a tensor lies in a vector, and whether it is an unknown.
#[inline(always)]
fn place(patch: &Patch, field: usize, [x, y, z]: [usize; 3]) -> (usize, bool) {
    let [(columns, from_x), (rows, from_y), (layers, from_z)] = [0, 1, 2].map(|d| patch.unknowns(field, d));
    (patch.offset(field, [x + from_x, y + from_y, z + from_z]), x < columns && y < rows && z < layers)
}

macro_rules! levels {
    ($($name:ident = $level:ident;)+) => {$(
        /// See [`super::super`].
        ///
        /// # Safety
        /// Launched with the [`block`] and the [`blocks`](super::blocks) of the color; vectors are as `fields` says.
        #[cfg_attr(target_arch = "nvptx64", inline(always))]
        pub unsafe fn $name<T: Real, const N: usize>(
            table: *const T,
            steps: u32,
            r: *const T,
            x: *mut T,
            fields: Fields,
        ) {
            // SAFETY: the caller's promise.
            unsafe { solve::<T, N>(Paper2::$level, table, steps, r, x, fields) }
        }
    )+};
}

levels! {
    schur = Shared;
    schur_conflict_free = ConflictFree;
}

/// Of a patch with `N` nodes in a direction.
#[cfg(not(target_arch = "nvptx64"))]
pub fn block(nodes: usize, scalar_bytes: usize) -> Block {
    let square = nodes * nodes;
    let words = 3 * SchurTable::new(nodes).words() + TENSORS * nodes * square + square + nodes;
    Block { threads: square, min_blocks: 1, shared_bytes: words * scalar_bytes, barriers: 34 }
}
