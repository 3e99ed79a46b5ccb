//! Transfer between a level and the next coarser one, whose cells are the fine level's patches of color 0.
//!
//! `P` interpolates a coarse cell's polynomial at the nodes of its patch. The restriction is fused with the residual
//! and needs none assembled: `Pᵀ (b - A x)` is the sum over patches of
//! `(T ⊗ T ⊗ T) b - (Q_A ⊗ Q_M ⊗ Q_M + Q_M ⊗ Q_A ⊗ Q_M + Q_M ⊗ Q_M ⊗ Q_A) x`, with `Q_A = Pᵀ A`, `Q_M = Pᵀ M` and
//! `T = Pᵀ W`, whose `W` gives each of the patches that share a node of `b` its part. Launches go class by class, as
//! for the operator.

use crate::kernels::{Shape, columns, patch_nodes, patches_per_block};

/// Shape of the restriction on a block: a thread owns a column of the patch.
pub const fn restrict_shape(dim: usize, degree: usize) -> Shape {
    let nodes = patch_nodes(degree).1;
    let columns = columns(dim, nodes);
    let words = 3 * (degree + 1) * nodes.pow(dim as u32 - 1);
    Shape { columns, patches: patches_per_block(columns), words, barriers: if dim == 3 { 3 } else { 1 } }
}

/// Shape of the prolongation on a block: a thread owns a column of the patch.
pub const fn prolongate_shape(dim: usize, degree: usize) -> Shape {
    let nodes = patch_nodes(degree).1;
    let columns = columns(dim, nodes);
    let words = (degree + 1) * nodes.pow(dim as u32 - 1);
    Shape { columns, patches: patches_per_block(columns), words, barriers: dim - 1 }
}

pub use device::*;

mod device {
    use super::*;
    use crate::block::Place;
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

    /// `coarse = Pᵀ (b - A x)` in 3D.
    ///
    /// # Safety
    /// Launched as its shape says; `b` and `x` are of the grid of `cells`, `coarse` of that of half as many.
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
        let grid = Grid { cells, degree: K as u32 };
        let place = Place::new(shape.columns, shape.patches, class_count(cells, bit(class, 0)));
        let patch = [
            class_patch(bit(class, 0), place.patch),
            class_patch(bit(class, 1), thread::block_idx_y() as usize),
            class_patch(bit(class, 2), thread::block_idx_z() as usize),
        ];
        let origin = grid.offset_3d(2 * K * patch[0], 2 * K * patch[1], 2 * K * patch[2]);
        let part = |index: usize| Shared::<T>::at(place.slot * shape.words + index * (C * N * N));
        let (mass_part, stiffness_part, b_part) = (part(0), part(1), part(2));
        let (first, second) = (place.column % N, place.column / N);

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
        mass_part.write::<C>(along_z, &matrices.mass.apply(&column));
        stiffness_part.write::<C>(along_z, &matrices.stiffness.apply(&column));
        b_part.write::<C>(along_z, &matrices.transfer.apply(&load(b)));
        thread::sync_threads();

        // Lines of `x` first, then as many of `b`: the threads that have no line of the one take the other.
        for round in 0..(2 * N * C).div_ceil(N * N) {
            let task = place.column + round * N * N;
            let along_y = RowMajor::<N, N>::along_y(task % N, task / N % C);
            if task < N * C {
                let (u, w) = (mass_part.read::<N>(along_y), stiffness_part.read::<N>(along_y));
                mass_part.write::<C>(along_y, &matrices.mass.apply(&u));
                stiffness_part.write::<C>(along_y, &matrices.stiffness.apply_sum(&u, &matrices.mass, &w));
            } else if task < 2 * N * C {
                b_part.write::<C>(along_y, &matrices.transfer.apply(&b_part.read::<N>(along_y)));
            }
        }
        thread::sync_threads();

        // Rows of `x` and of `b` by different threads again.
        let (y, z) = (place.column % C, place.column / C % C);
        let along_x = RowMajor::<N, N>::along_x(y, z);
        let mut product = [T::ZERO; C];
        if place.column < C * C {
            let (u, w) = (mass_part.read::<N>(along_x), stiffness_part.read::<N>(along_x));
            product = matrices.stiffness.apply_sum(&u, &matrices.mass, &w);
        } else if place.column < 2 * C * C {
            b_part.write::<C>(along_x, &matrices.transfer.apply(&b_part.read::<N>(along_x)));
        }
        thread::sync_threads();

        if place.column < C * C {
            let mut row = b_part.read::<C>(along_x);
            for i in 0..C {
                row[i] = row[i] - product[i];
            }
            let grid = Grid { cells: cells / 2, degree: K as u32 };
            let node = [K * patch[0], K * patch[1] + y, K * patch[2] + z];
            if place.active && grid.is_interior(node[1]) && grid.is_interior(node[2]) {
                let is_end = |local: usize| local == 0 || local == K;
                let touches = touches_first(bit(class, 1), is_end(y)) && touches_first(bit(class, 2), is_end(z));
                let start = grid.offset_3d(node[0], node[1], node[2]);
                // SAFETY: a row of this coarse cell, which no other cell of the class shares.
                unsafe { add_row(coarse, grid, node[0], start, &row, bit(class, 0), touches) };
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

    /// `x += P coarse` in 3D; a patch owns its nodes but those on its upper faces.
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
        let place = Place::new(shape.columns, shape.patches, cells / 2);
        let cell = [place.patch, thread::block_idx_y() as usize, thread::block_idx_z() as usize];
        let tensor = Shared::<T>::at(place.slot * shape.words);

        let (y, z) = (place.column % C, place.column / C);
        if z < C {
            let start = grid.offset_3d(K * cell[0], K * cell[1] + y, K * cell[2] + z);
            let mut row = [T::ZERO; C];
            for i in 0..C {
                // SAFETY: the cell lies within the coarse grid and its guard.
                row[i] = unsafe { *coarse.add(start + i) };
            }
            tensor.write::<N>(RowMajor::<N, N>::along_x(y, z), &matrices.transfer.apply(&row));
        }
        thread::sync_threads();

        let (first, second) = (place.column % N, place.column / N);
        if second < C {
            let along_y = RowMajor::<N, N>::along_y(first, second);
            tensor.write::<N>(along_y, &matrices.transfer.apply(&tensor.read::<C>(along_y)));
        }
        thread::sync_threads();

        let column: [T; N] = matrices.transfer.apply(&tensor.read::<C>(RowMajor::<N, N>::along_z(first, second)));
        if place.active && first < 2 * K && second < 2 * K {
            let origin = fine.offset_3d(2 * K * cell[0] + first, 2 * K * cell[1] + second, 2 * K * cell[2]);
            for i in 0..2 * K {
                // SAFETY: a node that this patch owns.
                unsafe {
                    let target = x.add(origin + fine.local_3d(0, 0, i));
                    *target = *target + column[i];
                }
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
