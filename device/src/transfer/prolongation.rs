//! The prolongation, `x += P coarse`: a patch owns its nodes but those on its upper faces, which are the next one's.

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

/// Blocks of a multiprocessor that the registers of a thread leave room for: more where that costs no spills.
pub const fn min_blocks(dim: usize, degree: usize, scalar_bytes: usize) -> u32 {
    if dim == 3 && degree == 8 && scalar_bytes == 8 { 2 } else { 1 }
}

/// Its shape on a block: a thread owns a column of the patch.
pub const fn shape(dim: usize, degree: usize) -> Shape {
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
    use crate::matrices::ProlongationMatrices;
    use crate::patch::Grid;
    use crate::scalar::Real;
    use cuda_std::shared::Word;
    use cuda_std::thread;

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
        let shape = const { shape(3, K) };
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
        let shape = const { shape(2, K) };
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
