//! In 2D, row by row: `y = c_x (A_x M_y + M_x ((c_y / c_x) A_y + (s / c_x) M_y)) x` with matrices of cells of size 1.
//!
//! A block owns the outputs of some cells side by side in x and marches along y. Of each layer of cells a thread contracts its column of
//! nodes, in registers, then lines along x in shared memory, with the cell before them. No two blocks write one node.

use super::Sides;
use crate::kernels::Shape;

/// Cells that a block computes: with the cell before them they have a column of nodes for nearly every one of 128 threads, from degree 5 on
/// of 256.
pub const fn cells(degree: usize) -> usize {
    (if degree < 5 { 127 } else { 255 }) / degree - 1
}

/// Columns of nodes that outputs depend on.
const fn columns(degree: usize) -> usize {
    degree * (cells(degree) + 1) + 1
}

/// Words from row to row, 1 more than a multiple of 32: lines of neighbouring threads begin in different banks.
const fn pitch(words: usize) -> usize {
    words + (33 - words % 32) % 32
}

/// Its shape on a block.
pub const fn shape(degree: usize) -> Shape {
    let words = degree * (2 * pitch(columns(degree)) + pitch(degree * cells(degree)));
    Shape { columns: columns(degree).next_multiple_of(32), patches: 1, words, barriers: 2 }
}

pub use device::*;

mod device {
    use super::*;
    use crate::layout::{Column, Shared};
    use crate::matrices::{CellMatrices, Scaled};
    use crate::operator::Output;
    use crate::operator::cells::Cells;
    use crate::operator::planes::{Line, Product};
    use crate::patch::Directions;
    use crate::scalar::Real;
    use cuda_std::hint::opaque;
    use cuda_std::shared::Word;
    use cuda_std::thread;

    /// The operator, for `chunk` layers of cells along y.
    ///
    /// # Safety
    /// Launched as its [`shape`] says, with blocks for as many cells as have [outputs](crate::patch::Direction::output_cells); the
    /// vectors are of the level.
    #[inline(always)]
    pub unsafe fn apply<T: Real + Word, const RESIDUAL: bool, const K: usize, const C: usize, const H: usize>(
        Scaled { matrices, factors }: &Scaled<CellMatrices<T, C, H>, T>,
        on: impl Cells<T>,
        directions: Directions,
        x: *const T,
        output: Output<T>,
        chunk: u32,
    ) {
        let (cells, columns, [pitch, output_pitch]) =
            const { (cells(K), columns(K), [pitch(columns(K)), pitch(K * cells(K))]) };
        let (sides, Directions([of_x, of_y, _])) = (Sides { directions }, directions);
        let (thread, threads) = (thread::thread_idx_x() as usize, columns.next_multiple_of(32));
        let (left, row) = (thread::block_idx_x() as usize * cells * K, of_x.row(K));
        let own = thread::block_idx_y() * chunk;
        let layers = of_y.output_cells();
        let end = if own + chunk < layers { own + chunk } else { layers };

        // Nodes behind the last cell with outputs are read by nobody.
        let has_nodes = thread < columns && left + thread <= (of_x.output_cells() as usize + 1) * K;
        let along_x = of_x.line(K, left as i32 - K as i32);
        let column = x.wrapping_add(if has_nodes { along_x.node(thread) as usize } else { 0 });
        let along_y = of_y.line(K, (own as i32 - 1) * K as i32);
        // SAFETY: a node of the vector, or the image of one.
        let node = |y: usize| unsafe { *column.wrapping_add(row as usize * along_y.node(y) as usize) };
        let own_x = left as u32 + thread as u32;
        let is_output = thread < K * cells && of_x.is_unknown(K, own_x);
        let entry = |y: u32| own_x as usize + row as usize * y as usize;

        let tensor = |index: usize| Shared::<T>::at(index * K * pitch);
        let outputs = Shared::<T>::at(2 * K * pitch);
        let mut values = [T::ZERO; C];
        if has_nodes {
            values[K] = node(0);
        }
        // What the layer before adds to the first row.
        let mut before = [T::ZERO; 2];
        // The layer below adds to the first row of outputs; every layer has one, the first its image.
        for turn in 0..end - own + 1 {
            let layer = opaque(turn);
            let y = (own + layer).wrapping_sub(1).wrapping_mul(K as u32);
            values[0] = values[K];
            for j in 1..C {
                if has_nodes {
                    values[j] = node(layer as usize * K + j);
                }
            }
            let mut loads = [T::ZERO; K];
            for j in 0..K {
                let y = y.wrapping_add(j as u32);
                if RESIDUAL && layer > 0 && is_output && of_y.is_unknown(K, y) {
                    // SAFETY: an unknown.
                    loads[j] = unsafe { *output.b.wrapping_add(entry(y)) };
                }
            }
            if thread < columns {
                let mass: [T; C] = matrices.mass.split.apply(&values);
                let stiffness: [T; C] = matrices.stiffness.split.apply(&values);
                let [mass, form] = on.column((own + layer).wrapping_sub(1), factors[1], &mass, &stiffness);
                for j in 0..K {
                    let [of_mass, of_form] = if j == 0 { before } else { [T::ZERO; 2] };
                    tensor(0).set(thread + j * pitch, mass[j] + of_mass);
                    tensor(1).set(thread + j * pitch, form[j] + of_form);
                }
                before = [mass[K], form[K]];
            }
            thread::sync_threads();
            for round in 0..(K * cells).div_ceil(threads) {
                let task = thread + round * threads;
                if layer > 0 && task < K * cells {
                    let (line, cell) = (task % K, task / K);
                    let column = Column { start: K * cell + line * pitch, stride: 1 };
                    let along_x = on.pair(0, thread::block_idx_x() * cells as u32 + cell as u32);
                    let mut sum = Product::ZERO;
                    Line::<T, K, C>::read(tensor(0), column).add(&matrices.stiffness, &mut sum);
                    let mut sum = sum.scaled(along_x.ratio);
                    Line::<T, K, C>::read(tensor(1), column).add(&matrices.mass, &mut sum);
                    let column = Column { start: K * cell + line * output_pitch, stride: 1 };
                    outputs.write(column, &sum.outputs::<K, C>(along_x.mass));
                }
            }
            thread::sync_threads();
            if layer > 0 && is_output {
                let of_x = sides.weight(0.5, K, 0, own_x);
                for j in 0..K {
                    let y = y + j as u32;
                    if of_y.is_unknown(K, y) {
                        let factor: T = factors[0] * of_x * sides.weight(0.5, K, 1, y);
                        let product = outputs.get(thread + j * output_pitch);
                        let value = if RESIDUAL { T::fma(-factor, product, loads[j]) } else { factor * product };
                        // SAFETY: an unknown, of this block alone.
                        unsafe { *output.y.wrapping_add(entry(y)) = value };
                    }
                }
            }
        }
    }
}
