//! Transfer between a level and the next coarser one, whose cells are the fine level's patches of color 0.
//!
//! `P` interpolates a coarse cell's polynomial at the nodes of its patch. The restriction is fused with the residual
//! and needs none assembled: `Pᵀ (b - A x)` is the sum over patches of
//! `(T ⊗ T ⊗ T) b - (Q_A ⊗ Q_M ⊗ Q_M + Q_M ⊗ Q_A ⊗ Q_M + Q_M ⊗ Q_M ⊗ Q_A) x`, with `Q_A = Pᵀ A`, `Q_M = Pᵀ M` and
//! `T = Pᵀ W`, whose `W` gives each of the patches that share a node of `b` its part. Launches go class by class, as
//! for the operator.

use crate::kernels::{Shape, columns, patch_nodes, patches_per_block};

/// Threads of a block that has room for several patches, in 3D.
const THREADS_3D: usize = 256;

/// Patches of a block with `columns` threads a patch.
const fn patches(dim: usize, columns: usize) -> usize {
    if dim == 2 {
        patches_per_block(columns)
    } else if columns > THREADS_3D {
        1
    } else {
        THREADS_3D / columns
    }
}

/// Words of a patch: in 3D a row of a block's tensors goes on in the next patch's banks.
const fn words(dim: usize, nodes: usize, words: usize) -> usize {
    if dim == 3 { words + (32 + nodes % 32 - words % 32) % 32 } else { words }
}

/// Shape of the restriction on a block: a thread owns a column of the patch.
pub const fn restrict_shape(dim: usize, degree: usize) -> Shape {
    let nodes = patch_nodes(degree).1;
    let columns = columns(dim, nodes);
    let words = words(dim, nodes, 3 * (degree + 1) * nodes.pow(dim as u32 - 1));
    Shape { columns, patches: patches(dim, columns), words, barriers: if dim == 3 { 3 } else { 1 } }
}

/// Blocks of a multiprocessor that the registers of a thread of the restriction leave room for: more where that costs no
/// spills.
pub const fn restrict_min_blocks(dim: usize, degree: usize, scalar_bytes: usize) -> u32 {
    match (dim, degree, scalar_bytes) {
        (3, 5, 8) => 3,
        (3, 7, 8) => 2,
        _ => 1,
    }
}

/// The same of the prolongation.
pub const fn prolongate_min_blocks(dim: usize, degree: usize, scalar_bytes: usize) -> u32 {
    if dim == 3 && degree == 8 && scalar_bytes == 8 { 2 } else { 1 }
}

/// Shape of the prolongation on a block: a thread owns a column of the patch.
pub const fn prolongate_shape(dim: usize, degree: usize) -> Shape {
    let nodes = patch_nodes(degree).1;
    let columns = columns(dim, nodes);
    let words = words(dim, nodes, (degree + 1) * nodes.pow(dim as u32 - 1));
    Shape { columns, patches: patches(dim, columns), words, barriers: dim - 1 }
}

pub use device::*;

mod device {
    use super::*;
    use crate::block::{Place, along_rows};
    use crate::layout::{RowMajor, Shared};
    use crate::matrices::{ProlongationMatrices, RestrictionMatrices};
    use crate::patch::{Grid, bit, class_count, class_patch, touches_first};
    use crate::scalar::Real;
    use cuda_std::shared::Word;
    use cuda_std::thread;

    /// Adds a row of a coarse cell's result, nodes `node[0]..` in x at offset `start`.
    ///
    /// # Safety
    /// The row lies within the coarse vector or its guard, and no other thread of the launch writes it.
    #[inline(always)]
    unsafe fn add_row<T: Real, const C: usize>(
        coarse: *mut T,
        grid: Grid,
        node: usize,
        start: usize,
        values: &[T; C],
        bit: u32,
        first: bool,
    ) {
        for i in 0..C {
            if grid.is_interior(node + i) {
                // SAFETY: the caller's promise.
                unsafe {
                    let target = coarse.add(start + i);
                    let touches = first && touches_first(bit, i == 0 || i + 1 == C);
                    *target = if touches { values[i] } else { *target + values[i] };
                }
            }
        }
    }

    /// `coarse = Pᵀ (b - A x)` in 3D: a block has a strip of patches side by side in x, and adds what they share.
    ///
    /// # Safety
    /// Launched as its shape says, with [`class_blocks`](crate::patch::class_blocks); `b` and `x` are of the grid of `cells`, `coarse` of that
    /// of half as many.
    #[inline(always)]
    pub unsafe fn restrict_residual_3d<
        T: Real + Word,
        const K: usize,
        const N: usize,
        const C: usize,
        const H: usize,
    >(
        matrices: &RestrictionMatrices<T, N, H>,
        b: *const T,
        x: *const T,
        coarse: *mut T,
        cells: u32,
        class: u32,
    ) {
        let shape = const { restrict_shape(3, K) };
        let threads = shape.columns * shape.patches;
        let grid = Grid { cells, degree: K as u32 };
        let thread = thread::thread_idx_x() as usize;
        let strip = class_patch(bit(class, 0), thread::block_idx_x() as usize) * shape.patches;
        let patches = (cells as usize / 2 - strip).min(shape.patches);
        let (patch_y, patch_z) = (
            class_patch(bit(class, 1), thread::block_idx_y() as usize),
            class_patch(bit(class, 2), thread::block_idx_z() as usize),
        );
        let part = |slot: usize, index: usize| Shared::<T>::at(slot * shape.words + index * (C * N * N));

        // Threads along a row of the strip. Those without a patch read the last one.
        let [first, slot, second] = along_rows(N, shape.patches);
        let patch = strip + if slot < patches { slot } else { patches - 1 };
        let origin = grid.offset_3d(2 * K * patch, 2 * K * patch_y, 2 * K * patch_z);
        let along_z = RowMajor::<N, N>::along_z(first, second);
        // One column after the other: both at once do not fit the registers of degree 8.
        let load = |vector: *const T| {
            let mut column = [T::ZERO; N];
            for z in 0..N {
                // SAFETY: the patch lies within the grid and its guard.
                column[z] = unsafe { *vector.add(origin + grid.local_3d(first, second, z)) };
            }
            column
        };
        let column = load(x);
        part(slot, 0).write::<C>(along_z, &matrices.mass.apply(&column));
        part(slot, 1).write::<C>(along_z, &matrices.stiffness.apply(&column));
        part(slot, 2).write::<C>(along_z, &matrices.transfer.apply(&load(b)));
        thread::sync_threads();

        // Lines of `x` first, then as many of `b`: the threads that have no line of the one take the other.
        let lines = N * C * shape.patches;
        for round in 0..(2 * lines).div_ceil(threads) {
            let task = thread + round * threads;
            let line = task % lines;
            let along_y = RowMajor::<N, N>::along_y(line % N, line / N % C);
            let part = |index: usize| part(line / (N * C), index);
            if task < lines {
                let (u, w) = (part(0).read::<N>(along_y), part(1).read::<N>(along_y));
                part(0).write::<C>(along_y, &matrices.mass.apply(&u));
                part(1).write::<C>(along_y, &matrices.stiffness.apply_sum(&u, &matrices.mass, &w));
            } else if task < 2 * lines {
                part(2).write::<C>(along_y, &matrices.transfer.apply(&part(2).read::<N>(along_y)));
            }
        }
        thread::sync_threads();

        // Rows of `x` and of `b` by different threads again.
        let rows = C * C * shape.patches;
        for round in 0..(2 * rows).div_ceil(threads) {
            let task = thread + round * threads;
            let row = task % rows;
            let along_x = RowMajor::<N, N>::along_x(row % C, row / C % C);
            let part = |index: usize| part(row / (C * C), index);
            if task < rows {
                let (u, w) = (part(0).read::<N>(along_x), part(1).read::<N>(along_x));
                part(0).write::<C>(along_x, &matrices.stiffness.apply_sum(&u, &matrices.mass, &w));
            } else if task < 2 * rows {
                part(2).write::<C>(along_x, &matrices.transfer.apply(&part(2).read::<N>(along_x)));
            }
        }
        thread::sync_threads();

        // Nodes of the strip's coarse cells, those between two cells from both.
        let grid = Grid { cells: cells / 2, degree: K as u32 };
        let width = K * shape.patches + 1;
        for round in 0..(width * C * C).div_ceil(threads) {
            let task = thread + round * threads;
            let (i, y, z) = (task % width, task / width % C, task / (width * C));
            let node = [K * strip + i, K * patch_y + y, K * patch_z + z];
            let is_inside = grid.is_interior(node[0]) && grid.is_interior(node[1]) && grid.is_interior(node[2]);
            if z < C && i <= K * patches && is_inside {
                let value = |slot: usize, local: usize| {
                    let at = RowMajor::<N, N>::along_x(y, z).start + local;
                    part(slot, 2).get(at) - part(slot, 0).get(at)
                };
                let (slot, local) = (i / K, i % K);
                let mut sum = if slot < patches { value(slot, local) } else { T::ZERO };
                if local == 0 && slot > 0 {
                    sum = sum + value(slot - 1, K);
                }
                let is_first = touches_first(bit(class, 0), i == 0 || i == K * patches)
                    && touches_first(bit(class, 1), y == 0 || y == K)
                    && touches_first(bit(class, 2), z == 0 || z == K);
                // SAFETY: a node of these coarse cells, which no other block of the class shares.
                unsafe {
                    let target = coarse.add(grid.offset_3d(node[0], node[1], node[2]));
                    *target = if is_first { sum } else { *target + sum };
                }
            }
        }
    }

    /// `coarse = Pᵀ (b - A x)` in 2D.
    ///
    /// # Safety
    /// As in 3D.
    #[inline(always)]
    pub unsafe fn restrict_residual_2d<
        T: Real + Word,
        const K: usize,
        const N: usize,
        const C: usize,
        const H: usize,
    >(
        matrices: &RestrictionMatrices<T, N, H>,
        b: *const T,
        x: *const T,
        coarse: *mut T,
        cells: u32,
        class: u32,
    ) {
        let shape = const { restrict_shape(2, K) };
        let grid = Grid { cells, degree: K as u32 };
        let place = Place::new(shape.columns, shape.patches, class_count(cells, bit(class, 0)));
        let patch =
            [class_patch(bit(class, 0), place.patch), class_patch(bit(class, 1), thread::block_idx_y() as usize)];
        let origin = grid.offset_2d(2 * K * patch[0], 2 * K * patch[1]);
        let part = |index: usize| Shared::<T>::at(place.slot * shape.words + index * (C * N));
        let (mass_part, stiffness_part, b_part) = (part(0), part(1), part(2));
        let own = place.column;

        let along_y = RowMajor::<N, N>::along_y(own, 0);
        let (mut x_column, mut b_column) = ([T::ZERO; N], [T::ZERO; N]);
        for y in 0..N {
            let offset = origin + grid.local_2d(own, y);
            // SAFETY: the patch lies within the grid and its guard.
            (x_column[y], b_column[y]) = unsafe { (*x.add(offset), *b.add(offset)) };
        }
        mass_part.write::<C>(along_y, &matrices.mass.apply(&x_column));
        stiffness_part.write::<C>(along_y, &matrices.stiffness.apply(&x_column));
        b_part.write::<C>(along_y, &matrices.transfer.apply(&b_column));
        thread::sync_threads();

        if own < C {
            let along_x = RowMajor::<N, N>::along_x(own, 0);
            let (u, w) = (mass_part.read::<N>(along_x), stiffness_part.read::<N>(along_x));
            let product: [T; C] = matrices.stiffness.apply_sum(&u, &matrices.mass, &w);
            let mut row: [T; C] = matrices.transfer.apply(&b_part.read::<N>(along_x));
            for i in 0..C {
                row[i] = row[i] - product[i];
            }
            let grid = Grid { cells: cells / 2, degree: K as u32 };
            let node = [K * patch[0], K * patch[1] + own];
            if place.active && grid.is_interior(node[1]) {
                let touches = touches_first(bit(class, 1), own == 0 || own == K);
                let start = grid.offset_2d(node[0], node[1]);
                // SAFETY: a row of this coarse cell, which no other cell of the class shares.
                unsafe { add_row(coarse, grid, node[0], start, &row, bit(class, 0), touches) };
            }
        }
    }

    /// `x += P coarse` in 3D; a patch owns its nodes but those on its upper faces. Threads go along rows of all patches
    /// of a block wherever they access global memory.
    ///
    /// # Safety
    /// Launched as its shape says; `x` is of the grid of `cells`, `coarse` of that of half as many.
    #[inline(always)]
    pub unsafe fn prolongate_add_3d<T: Real + Word, const K: usize, const N: usize, const C: usize>(
        matrices: &ProlongationMatrices<T, C>,
        coarse: *const T,
        x: *mut T,
        cells: u32,
    ) {
        let shape = const { prolongate_shape(3, K) };
        let (fine, grid) = (Grid { cells, degree: K as u32 }, Grid { cells: cells / 2, degree: K as u32 });
        let thread = thread::thread_idx_x() as usize;
        let patch = thread::block_idx_x() as usize * shape.patches;
        let (count, cell_y, cell_z) =
            (cells as usize / 2, thread::block_idx_y() as usize, thread::block_idx_z() as usize);
        let tensor = |slot: usize| Shared::<T>::at(slot * shape.words);

        let [i, slot, z] = along_rows(C, shape.patches);
        if z < C && patch + slot < count {
            let start = grid.offset_3d(K * (patch + slot) + i, K * cell_y, K * cell_z + z);
            let mut column = [T::ZERO; C];
            for y in 0..C {
                // SAFETY: the cell lies within the coarse grid and its guard.
                column[y] = unsafe { *coarse.add(start + grid.local_3d(0, y, 0)) };
            }
            tensor(slot).write::<N>(RowMajor::<N, N>::along_y(i, z), &matrices.transfer.apply(&column));
        }
        thread::sync_threads();

        let (slot, line) = (thread / (N * N), thread % (N * N));
        if line / N < C {
            let along_x = RowMajor::<N, N>::along_x(line % N, line / N);
            tensor(slot).write::<N>(along_x, &matrices.transfer.apply(&tensor(slot).read::<C>(along_x)));
        }
        thread::sync_threads();

        let [first, slot, second] = along_rows(N, shape.patches);
        let column: [T; N] = matrices.transfer.apply(&tensor(slot).read::<C>(RowMajor::<N, N>::along_z(first, second)));
        if patch + slot < count && first < 2 * K && second < 2 * K {
            let origin = fine.offset_3d(2 * K * (patch + slot) + first, 2 * K * cell_y + second, 2 * K * cell_z);
            let target = |z: usize| x.wrapping_add(origin + fine.local_3d(0, 0, z));
            let mut old = [T::ZERO; N];
            for z in 0..2 * K {
                // SAFETY: a node that this patch owns.
                old[z] = unsafe { *target(z) };
            }
            for z in 0..2 * K {
                // SAFETY: as above.
                unsafe { *target(z) = old[z] + column[z] };
            }
        }
    }

    /// `x += P coarse` in 2D.
    ///
    /// # Safety
    /// As in 3D.
    #[inline(always)]
    pub unsafe fn prolongate_add_2d<T: Real + Word, const K: usize, const N: usize, const C: usize>(
        matrices: &ProlongationMatrices<T, C>,
        coarse: *const T,
        x: *mut T,
        cells: u32,
    ) {
        let shape = const { prolongate_shape(2, K) };
        let (fine, grid) = (Grid { cells, degree: K as u32 }, Grid { cells: cells / 2, degree: K as u32 });
        let place = Place::new(shape.columns, shape.patches, cells / 2);
        let cell = [place.patch, thread::block_idx_y() as usize];
        let tensor = Shared::<T>::at(place.slot * shape.words);
        let own = place.column;

        if own < C {
            let start = grid.offset_2d(K * cell[0], K * cell[1] + own);
            let mut row = [T::ZERO; C];
            for i in 0..C {
                // SAFETY: the cell lies within the coarse grid and its guard.
                row[i] = unsafe { *coarse.add(start + i) };
            }
            tensor.write::<N>(RowMajor::<N, N>::along_x(own, 0), &matrices.transfer.apply(&row));
        }
        thread::sync_threads();

        let column: [T; N] = matrices.transfer.apply(&tensor.read::<C>(RowMajor::<N, N>::along_y(own, 0)));
        if place.active && own < 2 * K {
            let origin = fine.offset_2d(2 * K * cell[0] + own, 2 * K * cell[1]);
            for i in 0..2 * K {
                // SAFETY: a node that this patch owns.
                unsafe {
                    let target = x.add(origin + fine.local_2d(0, i));
                    *target = *target + column[i];
                }
            }
        }
    }
}
