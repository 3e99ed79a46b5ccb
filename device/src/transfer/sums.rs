//! The restriction `coarse = Pᵀ r` of a vector, on boxes with any sides.
//!
//! A patch is the fine cells of one coarse cell. It owns its nodes but those on its upper faces. Along a direction they add to the
//! `k + 1` nodes of the coarse cell. Its last node belongs to the next cell. A block computes the outputs of a tile of coarse cells
//! in x and y and marches along the last direction: of each layer it reads the patches of the tile and those before them in each
//! direction, and contracts along the last direction, in 3D then along y, and at last along x. What a layer adds to the next one waits
//! in shared memory. No two blocks write one node.

use crate::kernels::Shape;

/// Threads of a block.
const THREADS: usize = 256;

/// Coarse cells of a tile in x and y: as many as have about four columns of nodes for each thread in 3D, two in 2D.
const fn tile(dim: usize, degree: usize) -> [usize; 2] {
    match (dim, degree) {
        (2, 1) => [255, 1],
        (2, _) => [512 / (2 * degree) - 1, 1],
        (_, 1) => [31, 7],
        (_, 2) => [15, 3],
        (_, 3) => [7, 3],
        (_, 4) => [3, 3],
        (_, 5) => [3, 2],
        (_, 6) => [2, 2],
        (_, 7) => [2, 1],
        _ => [1, 1],
    }
}

/// Nodes of a row that outputs depend on, and such rows of a plane, one in 2D.
const fn nodes(dim: usize, degree: usize) -> [usize; 2] {
    let [x, y] = tile(dim, degree);
    [2 * degree * (x + 1), if dim == 3 { 2 * degree * (y + 1) } else { 1 }]
}

/// Rows of outputs of a plane.
const fn outputs(dim: usize, degree: usize) -> usize {
    if dim == 3 { degree * tile(dim, degree)[1] } else { 1 }
}

/// Words from row to row: an odd number, so that rows begin in different banks.
const fn pitch(dim: usize, degree: usize) -> usize {
    nodes(dim, degree)[0] | 1
}

/// Its shape on a block.
pub const fn shape(dim: usize, degree: usize) -> Shape {
    // `k + 1` planes contracted along the last direction, and in 3D `k` planes contracted along y, too.
    let of_y = if dim == 3 { degree * outputs(dim, degree) } else { 0 };
    let words = ((degree + 1) * nodes(dim, degree)[1] + of_y) * pitch(dim, degree);
    Shape { columns: THREADS, patches: 1, words, barriers: 2 }
}

/// Blocks for the outputs of so many coarse cells a direction, in chunks of so many along the last one.
#[cfg(not(target_arch = "nvptx64"))]
pub fn blocks(dim: usize, degree: usize, cells: [u32; 3], chunk: u32) -> [u32; 3] {
    let [x, y] = tile(dim, degree).map(|cells| cells as u32);
    if dim == 3 {
        [cells[0].div_ceil(x), cells[1].div_ceil(y), cells[2].div_ceil(chunk)]
    } else {
        [cells[0].div_ceil(x), cells[1].div_ceil(chunk), 1]
    }
}

/// Blocks that a multiprocessor should hold; 0 sets no bound, with which the assembler spills in the one case that has one.
pub const fn min_blocks(dim: usize, degree: usize, scalar_bytes: usize) -> u32 {
    if dim == 3 && degree == 7 && scalar_bytes == 8 { 1 } else { 0 }
}

pub use device::*;

mod device {
    use super::*;
    use crate::layout::{Column, Shared};
    use crate::matrices::RestrictionMatrix;
    use crate::patch::Directions;
    use crate::scalar::Real;
    use cuda_std::hint::opaque;
    use cuda_std::shared::Word;
    use cuda_std::thread;

    /// `coarse = Pᵀ r` at the unknowns of the coarser level, for `chunk` layers of its cells along the last direction.
    ///
    /// # Safety
    /// Launched as its [`shape`] and [`blocks`] say, for as many coarse cells as have [outputs](crate::patch::Direction::output_cells).
    /// The directions are those of the fine level; the coarse one has half as many cells in each. `r` and `coarse` are vectors of these
    /// levels that do not overlap.
    #[inline(always)]
    pub unsafe fn restrict<
        T: Real + Word,
        const DIM: usize,
        const K: usize,
        const N: usize,
        const C: usize,
        const H: usize,
    >(
        matrix: &RestrictionMatrix<T, N, H>,
        r: *const T,
        coarse: *mut T,
        Directions(fine): Directions,
        chunk: u32,
    ) {
        let (tile, [width, rows], outputs, pitch) =
            const { (tile(DIM, K), nodes(DIM, K), outputs(DIM, K), pitch(DIM, K)) };
        let (last, thread) = (DIM - 1, thread::thread_idx_x() as usize);
        let of_coarse = fine.map(|direction| direction.coarser());
        let block = [thread::block_idx_x(), thread::block_idx_y(), thread::block_idx_z()];
        let first = [block[0] * tile[0] as u32, if DIM == 3 { block[1] * tile[1] as u32 } else { 0 }];
        let own = block[last] * chunk;
        let layers = of_coarse[last].output_cells();
        let end = if own + chunk < layers { own + chunk } else { layers };
        // Distance of neighbours in the last direction.
        let stride = |directions: [crate::patch::Direction; 3]| {
            let row = directions[0].row(K);
            if DIM == 3 { row * directions[1].nodes(K) } else { row }
        };
        let (sums, along_y) = (Shared::<T>::at(0), Shared::<T>::at(C * rows * pitch));

        // A round for each layer, and one for the layer below, which gives to the first.
        for turn in 0..end - own + 1 {
            // Opaque, or the compiler takes the first turn out of the loop.
            let round = opaque(turn);
            let layer = (own + round).wrapping_sub(1);
            for start in (0..width * rows).step_by(THREADS) {
                let task = start + thread;
                if task >= width * rows {
                    continue;
                }
                let (x, y) = (task % width, task / width);
                let node = |d: usize, index: u32| fine[d].within(K, index.wrapping_sub(2 * K as u32));
                let in_x = node(0, 2 * K as u32 * first[0] + x as u32);
                let in_y = if DIM == 3 { node(1, 2 * K as u32 * first[1] + y as u32) } else { Some(0) };
                let mut column = [T::ZERO; N];
                if let (Some(in_x), Some(in_y)) = (in_x, in_y) {
                    let r = r.wrapping_add((in_x + fine[0].row(K) * in_y) as usize);
                    for z in 0..2 * K {
                        let plane = (2 * K as u32).wrapping_mul(layer).wrapping_add(z as u32);
                        if let Some(plane) = fine[last].within(K, plane) {
                            let offset = u64::from(plane) * u64::from(stride(fine));
                            // SAFETY: a node of the level.
                            column[z] = unsafe { *r.wrapping_add(offset as usize) };
                        }
                    }
                }
                let mut products: [T; C] = matrix.transfer.apply(&column);
                let place = Column { start: x + pitch * y, stride: rows * pitch };
                if round > 0 {
                    products[0] = products[0] + sums.get(place.start + K * place.stride);
                }
                sums.write(place, &products);
            }
            thread::sync_threads();
            if round == 0 {
                continue;
            }

            if DIM == 3 {
                // Of each column of a plane the outputs of a cell along y.
                let tasks = width * K * tile[1];
                for start in (0..tasks).step_by(THREADS) {
                    let task = start + thread;
                    if task < tasks {
                        let (x, line) = (task % width, task / width);
                        let (plane, cell) = (line % K, line / K);
                        let from = x + pitch * (rows * plane + 2 * K * cell);
                        let products = pair::<T, K, N, C, H>(matrix, sums, from, pitch);
                        let start = x + pitch * (outputs * plane + K * cell);
                        along_y.write(Column { start, stride: pitch }, &products);
                    }
                }
                thread::sync_threads();
            }

            let from = if DIM == 3 { along_y } else { sums };
            let tasks = K * outputs * tile[0];
            for start in (0..tasks).step_by(THREADS) {
                let task = start + thread;
                if task >= tasks {
                    continue;
                }
                let (line, cell) = (task / tile[0], task % tile[0]);
                let (row, plane) = (line % outputs, line / outputs);
                let products: [T; K] = pair::<T, K, N, C, H>(matrix, from, 2 * K * cell + pitch * line, 1);
                let x = K as u32 * (first[0] + cell as u32);
                let (y, z) = (K as u32 * first[1] + row as u32, K as u32 * layer + plane as u32);
                let has = of_coarse[last].is_unknown(K, z) && (DIM == 2 || of_coarse[1].is_unknown(K, y));
                if has {
                    let offset = u64::from(stride(of_coarse)) * u64::from(z);
                    let plane = coarse.wrapping_add(offset as usize);
                    let line = plane.wrapping_add((of_coarse[0].row(K) * y + x) as usize);
                    for i in 0..K {
                        if of_coarse[0].is_unknown(K, x + i as u32) {
                            // SAFETY: an unknown of the block.
                            unsafe { *line.wrapping_add(i) = products[i] };
                        }
                    }
                }
            }
            if DIM == 2 {
                thread::sync_threads();
            }
        }
    }

    /// The outputs of the second of two patches beside each other on a line, the first of which begins at `start`: its own sums, and what
    /// the first one adds at the node that they share.
    #[inline(always)]
    fn pair<T: Real + Word, const K: usize, const N: usize, const C: usize, const H: usize>(
        matrix: &RestrictionMatrix<T, N, H>,
        from: Shared<T>,
        start: usize,
        stride: usize,
    ) -> [T; K] {
        let (mut before, mut own) = ([T::ZERO; N], [T::ZERO; N]);
        for i in 0..2 * K {
            before[i] = from.get(start + i * stride);
            own[i] = from.get(start + (2 * K + i) * stride);
        }
        let (before, own): ([T; C], [T; C]) = (matrix.transfer.apply(&before), matrix.transfer.apply(&own));
        let mut outputs = [T::ZERO; K];
        for i in 0..K {
            outputs[i] = own[i];
        }
        outputs[0] = outputs[0] + before[K];
        outputs
    }
}
