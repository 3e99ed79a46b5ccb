//! The march of a block along the last direction: the kernel's body.

use super::block::Block;
use super::line::{Behind, Line};
use crate::matrices::DgOperatorMatrices;
use crate::scalar::Real;
use cuda_std::hint::opaque;
use cuda_std::shared::Word;
use cuda_std::thread;

/// A thread's column of nodes in the current layer.
#[derive(Clone, Copy)]
struct OwnColumn<T, const C: usize> {
    line: Line<T, C>,
    /// What the cell below adds.
    lower: Behind<T>,
}

/// `y = A x`, or `b - A x` if `RESIDUAL`, for `chunk` layers of cells. `MID` are the nodes of a cell in the middle
/// direction, `C` in 3D and 1 in 2D; a thread has `COLUMNS` columns.
///
/// # Safety
/// Launched as its [`shape`](super::shape) and [`Tile::blocks`](super::Tile::blocks) say; the vectors are of the grid.
#[inline(always)]
pub unsafe fn apply<
    T: Real + Word,
    const RESIDUAL: bool,
    const C: usize,
    const H: usize,
    const MID: usize,
    const COLUMNS: usize,
>(
    all: &DgOperatorMatrices<T, C, H>,
    b: *const T,
    x: *const T,
    y: *mut T,
    cells: [u32; 3],
    chunk: u32,
) {
    let DgOperatorMatrices { cell: matrices, factors, .. } = all;
    let block = Block::<T, C, H, MID> { all, x, cells };
    let (mass, sum) = (Block::<T, C, H, MID>::mass(), Block::<T, C, H, MID>::sum());
    let first = thread::block_idx_z() * chunk;
    let layers = if MID > 1 { cells[2] } else { cells[1] };
    let end = if first + chunk < layers { first + chunk } else { layers };

    let none = OwnColumn { line: Line([T::ZERO; C]), lower: [T::ZERO; 2] };
    let mut columns = [none; COLUMNS];
    block.columns::<COLUMNS>(|number, _, offset| {
        // SAFETY (both): layers of the grid.
        let line = Line(unsafe { block.nodes(x, offset, first) });
        let lower = if first > 0 {
            Line(unsafe { block.nodes(x, offset, first - 1) }).seen_from(matrices, 1)
        } else {
            line.at_boundary(matrices, 0)
        };
        columns[number] = OwnColumn { line, lower };
    });

    for turn in 0..end - first + 1 {
        // Opaque, or the compiler takes the first turns out of the loop.
        let layer = first + opaque(turn);
        if layer > first {
            block.contract_x(layer - 1);
        }
        if layer < end {
            // SAFETY: a layer of the grid.
            unsafe { block.read_faces(layer) };
        }
        thread::sync_threads();

        block.columns::<COLUMNS>(|number, column, offset| {
            // SAFETY: a layer of the grid.
            let read_next = |offset| Line(unsafe { block.nodes(x, offset, layer + 1) });
            // A load would wait for the stores before it: where registers suffice, it is asked for first.
            let reads_first = C > 8;
            let mut next = columns[number].line;
            if reads_first && layer + 1 < layers {
                next = read_next(offset);
            }
            if layer > first {
                // SAFETY: a layer of the grid; for a residual there is `b`.
                let b = if RESIDUAL { unsafe { block.nodes(b, offset, layer - 1) } } else { [T::ZERO; C] };
                let values = sum.read::<C>(column);
                if let Some(offset) = offset {
                    let stride = block.strides().column;
                    let start = y.wrapping_add(offset + (layer - 1) as usize * C * stride);
                    for z in 0..C {
                        let value = match (RESIDUAL, MID > 1) {
                            (true, true) => T::fma(factors[0], -values[z], b[z]),
                            (true, false) => b[z] - values[z],
                            (false, true) => factors[0] * values[z],
                            (false, false) => values[z],
                        };
                        // SAFETY: a node of the vector, that no other thread writes.
                        unsafe { *start.add(z * stride) = value };
                    }
                }
            }
            if layer < end {
                let OwnColumn { line, lower } = columns[number];
                let upper = if layer + 1 < layers {
                    if !reads_first {
                        next = read_next(offset);
                    }
                    next.seen_from(matrices, 0)
                } else {
                    line.at_boundary(matrices, 1)
                };
                let multiplies = MID > 1 && !Block::<T, C, H, MID>::SCALES_MATRICES;
                line.contract(
                    matrices,
                    multiplies.then_some(factors[2]),
                    None,
                    [lower, upper],
                    |node, of_sum, of_mass| {
                        sum.set(column.start + node * column.stride, of_sum);
                        mass.set(column.start + node * column.stride, of_mass);
                    },
                );
                columns[number] = OwnColumn { line: next, lower: line.seen_from(matrices, 1) };
            }
        });
        if layer < end {
            block.contract_faces(Block::<T, C, H, MID>::x_faces(layer), Block::<T, C, H, MID>::TILE.rows());
            if MID > 1 {
                block.contract_faces(Block::<T, C, H, MID>::middle_faces(), Block::<T, C, H, MID>::TILE.row());
            }
        }
        thread::sync_threads();

        if MID > 1 {
            if layer < end {
                block.contract_middle(layer);
            }
            thread::sync_threads();
        }
    }
}
