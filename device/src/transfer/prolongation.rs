//! The prolongation, `x += (P ⊗ P ⊗ P) coarse`, in 2D `(P ⊗ P) coarse`: a patch owns its nodes but those on its upper
//! faces, which are the next one's.
//!
//! A block has patches side by side in x, and threads go along rows of all of them wherever they access global memory. A
//! thread reads its column of `x` before anything else. In 3D contractions along y are of columns in registers; those
//! along x are of lines in shared memory, those along the last direction of columns again.

use crate::kernels::Shape;

/// Patches of a block: as many as have a column of nodes for nearly every thread of some warps.
const fn patches(dim: usize, degree: usize) -> usize {
    match (dim, degree) {
        (2, _) => 256 / (2 * degree),
        (_, 1) => 32,
        (_, 2) => 16,
        (_, 3) => 8,
        (_, 4) => 4,
        (_, 5 | 6) => 2,
        _ => 1,
    }
}

/// Rows of nodes of a block in a plane; in 2D the last direction is y.
const fn rows(dim: usize, degree: usize) -> usize {
    if dim == 3 { 2 * degree } else { 1 }
}

/// Words from row to row, of coarse and of fine nodes: odd numbers, so that rows begin in different banks.
const fn pitches(dim: usize, degree: usize) -> [usize; 2] {
    let coarse = degree * patches(dim, degree);
    [(coarse + 1) | 1, (2 * coarse) | 1]
}

/// Blocks of a multiprocessor that the registers of a thread leave room for: more where that costs no spills.
pub const fn min_blocks(dim: usize, degree: usize, scalar_bytes: usize) -> u32 {
    match (scalar_bytes, dim, degree) {
        (8, 2, 6) => 4,
        (8, _, 6..=8) => 3,
        _ => 1,
    }
}

/// Its shape on a block: a thread owns a column of the patch.
pub const fn shape(dim: usize, degree: usize) -> Shape {
    let (patches, rows, [coarse, fine]) = (patches(dim, degree), rows(dim, degree), pitches(dim, degree));
    let words = ((degree + 1) * rows * (coarse + fine)).div_ceil(patches);
    Shape { columns: 2 * degree * rows, patches, words, barriers: 2 }
}

pub use device::*;

mod device {
    use super::*;
    use crate::layout::{Column, Shared};
    use crate::matrices::ProlongationMatrices;
    use crate::scalar::Real;
    use crate::transfer::levels::Levels;
    use cuda_std::hint::made_here;
    use cuda_std::shared::Word;
    use cuda_std::thread;

    /// `x += P coarse`.
    ///
    /// # Safety
    /// Launched as its [`shape`] says for all patches, with vectors of both `levels`.
    #[inline(always)]
    pub unsafe fn prolongate_add<T: Real + Word, const DIM: usize, const K: usize, const N: usize, const C: usize>(
        matrices: &ProlongationMatrices<T, C>,
        coarse: *const T,
        x: *mut T,
        levels: impl Levels<K>,
    ) {
        let (patches, rows, pitches) = const { (patches(DIM, K) as u32, rows(DIM, K) as u32, pitches(DIM, K)) };
        let (k, c, width) = (K as u32, C as u32, 2 * K as u32 * patches);
        let threads = width * rows;
        let thread = thread::thread_idx_x();
        let cell = [thread::block_idx_x() * patches, thread::block_idx_y(), thread::block_idx_z()];
        // In 2D there are no rows in a plane: y is the last direction.
        let (cell_y, cell_last) = if DIM == 3 { (cell[1], cell[2]) } else { (0, cell[1]) };
        // Distance of neighbours in the last direction, with so many rows in a plane.
        let stride = |row: u32, rows: u32| if DIM == 3 { row * rows } else { row };

        let (i, line) = (thread % width, thread / width);
        let [row, rows_of_plane] = levels.fine();
        let node = 2 * k * cell[0] + i;
        let is_inside = levels.has(0, node) && (DIM == 2 || levels.has(1, 2 * k * cell_y + line));
        let has = |z: usize| levels.has(DIM - 1, 2 * k * cell_last + z as u32);
        let plane = node + row * (2 * k * cell_y + line);
        let origin =
            x.wrapping_add(plane as usize + stride(row, rows_of_plane) as usize * (2 * k * cell_last) as usize);
        let entry = |z: usize, stride: u32| origin.wrapping_add((z as u32 * stride) as usize);
        let mut values = [T::ZERO; N];
        if is_inside {
            let stride = made_here(stride(row, rows_of_plane));
            for z in 0..2 * K {
                if has(z) {
                    // SAFETY: a node that this patch owns.
                    values[z] = unsafe { *entry(z, stride) };
                }
            }
        }

        // Coarse nodes, in 3D those of a column along y.
        let coarse_part = Shared::<T>::at(0);
        let [coarse_row, coarse_rows] = levels.coarse();
        let (coarse_width, columns) = (k * patches + 1, (k * patches + 1) * c);
        for round in 0..columns.div_ceil(threads) {
            let task = thread + round * threads;
            let (i, z) = (task % coarse_width, task / coarse_width);
            if task < columns {
                // Columns behind the domain are those on its boundary.
                let node = levels.coarse_node(0, k * cell[0] + i);
                let last = levels.coarse_node(DIM - 1, k * cell_last + z);
                let is_straight = levels.is_straight();
                let plane = node + if is_straight { coarse_row * (k * cell_y) } else { 0 };
                let start = plane as usize + stride(coarse_row, coarse_rows) as usize * last as usize;
                let along_y = |y: u32| if is_straight { y } else { levels.coarse_node(1, k * cell_y + y) };
                // SAFETY: the cell lies within the coarse level and its guard.
                let value =
                    |y: usize| unsafe { *coarse.wrapping_add(start + (along_y(y as u32) * coarse_row) as usize) };
                let first = i as usize + pitches[0] * (rows * z) as usize;
                if DIM == 3 {
                    let mut column = [T::ZERO; C];
                    for y in 0..C {
                        column[y] = value(y);
                    }
                    let products: [T; N] = matrices.transfer.apply(&column);
                    for y in 0..2 * K {
                        coarse_part.set(first + pitches[0] * y, products[y]);
                    }
                } else {
                    coarse_part.set(first, value(0));
                }
            }
        }
        thread::sync_threads();

        let fine_part = Shared::<T>::at(C * (rows as usize) * pitches[0]);
        let lines = rows * c;
        for round in 0..(lines * patches).div_ceil(threads) {
            let task = thread + round * threads;
            let (line, patch) = ((task % lines) as usize, (task / lines) as usize);
            if task < lines * patches {
                let along_x = Column { start: K * patch + pitches[0] * line, stride: 1 };
                let products: [T; N] = matrices.transfer.apply(&coarse_part.read::<C>(along_x));
                for i in 0..2 * K {
                    fine_part.set(2 * K * patch + i + pitches[1] * line, products[i]);
                }
            }
        }
        thread::sync_threads();

        let along_last =
            Column { start: (i as usize) + pitches[1] * line as usize, stride: pitches[1] * rows as usize };
        let products: [T; N] = matrices.transfer.apply(&fine_part.read::<C>(along_last));
        if is_inside {
            let stride = made_here(stride(row, rows_of_plane));
            for z in 0..2 * K {
                if has(z) {
                    // SAFETY: as above.
                    unsafe { *entry(z, stride) = values[z] + products[z] };
                }
            }
        }
    }
}
