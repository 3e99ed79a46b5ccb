//! Contractions by `wmma` (paper 4, section 4.1): whole matrices from and to shared memory in directions x and y; in z, where
//! rows of matrices would not be contiguous, on CUDA cores.

use super::contract::{Contraction, Engine, Entry, Tensor, point};
use super::fma;
use super::matrix::Source;
use super::{MOST_NODES, TRACES};
use crate::layout::{Layout, Padded};
use crate::mma::{LANES, Wmma, WmmaLayout, wait_for_reads};
use crate::scalar::Value;
use cuda_std::hint::opaque;
use cuda_std::thread;

/// The engine. Its matrices must be in shared memory, behind [`Wmma`]'s promise: padded with zeros.
pub struct WmmaTiles;

/// Fragments side by side, at most.
const COLUMNS: usize = MOST_NODES.div_ceil(8);

impl<const N: usize> Engine<N> for WmmaTiles {
    type Scalar = f64;
    type Stored = f64;
    type Layout = Padded<N>;
    type Loaded = Padded<N>;
    const THREADS: usize = fma::threads(N);

    #[inline(always)]
    fn barriers(_: usize) -> usize {
        1
    }

    #[inline(always)]
    fn contract<S: Source<f64>>(contraction: &Contraction<Self, S, N>, mut sink: impl FnMut(Entry, f64, f64)) {
        let Contraction { direction, planes, terms, p, q, .. } = *contraction;
        if direction == 2 {
            return fma::contract::<f64, Self, S, N>(contraction, sink);
        }
        let matrix = |matrix: super::matrix::Matrix<S>| {
            // The list has no kernel of this engine with matrices elsewhere.
            (matrix.source.shared_address(matrix.which).unwrap_or(0), matrix.transposed)
        };
        let (mass, stiffness) = (matrix(contraction.mass), matrix(contraction.stiffness));
        let (pitch, columns, steps) = (Padded::<N>::PITCH, N.div_ceil(8), N.div_ceil(4));
        let stride = pitch as u32;
        let address = |tensor: Tensor<f64, Padded<N>>, point: [usize; 3]| tensor.address(Padded::<N>::index(point));
        let entry = |matrix: u32, row: usize, column: usize| matrix + 8 * (row * pitch + column) as u32;
        let warps = thread::block_dim_x() as usize / LANES;
        // Eight rows in direction x, eight columns of a plane in direction y.
        let tiles = opaque((columns * planes) as u32) as usize;
        let mut tile = thread::thread_idx_x() as usize / LANES;
        while tile < tiles {
            let (block, z) = (8 * (tile % columns), tile / columns);
            let mut first = [[0.0; 2]; COLUMNS];
            let mut second = [[0.0; 2]; COLUMNS];
            for step in 0..steps {
                let k = 4 * step;
                // SAFETY: all lanes of a warp have the same tiles, which nobody else writes.
                let product = |tensor, (matrix, transposed): (u32, bool), sums: &mut [[f64; 2]; COLUMNS]| unsafe {
                    for column in 0..columns {
                        // The matrix is B, transposed, in direction x and A in direction y.
                        let (is_x, row) = (direction == 0, 8 * column);
                        let at = if transposed { entry(matrix, k, row) } else { entry(matrix, row, k) };
                        let layout = if transposed == is_x { WmmaLayout::Row } else { WmmaLayout::Column };
                        sums[column] = if is_x {
                            let a = Wmma::load_a(WmmaLayout::Row, address(tensor, [k, block, z]), stride);
                            let b = Wmma::load_b(layout, at, stride);
                            Wmma::multiply_add([WmmaLayout::Row, layout], a, b, sums[column])
                        } else {
                            let a = Wmma::load_a(layout, at, stride);
                            let b = Wmma::load_b(WmmaLayout::Row, address(tensor, [block, k, z]), stride);
                            Wmma::multiply_add([layout, WmmaLayout::Row], a, b, sums[column])
                        };
                    }
                };
                if terms.first {
                    product(p, mass, &mut first);
                }
                if terms.second {
                    product(p, stiffness, &mut second);
                }
                if terms.mixed {
                    product(q, mass, &mut second);
                }
            }
            // SAFETY: as above.
            unsafe { wait_for_reads() };
            for column in 0..columns {
                let to = if direction == 0 { [8 * column, block, z] } else { [block, 8 * column, z] };
                // SAFETY: as above; the tile has been read.
                unsafe {
                    if terms.first {
                        Wmma::store(address(p, to), stride, first[column]);
                    }
                    if terms.second {
                        Wmma::store(address(q, to), stride, second[column]);
                    }
                }
            }
            tile += warps;
        }
        thread::sync_threads();

        let thread = thread::thread_idx_x() as usize;
        let (node, u) = (thread / N, thread % N);
        if thread < N * N {
            for w in 0..planes {
                let (line, at) = ([u, w], point(direction, [u, w], node));
                let mut sum = if terms.second { q.get(at) } else { 0.0 };
                if let Some(faces) = &contraction.faces {
                    for trace in 0..TRACES {
                        sum = f64::fma(faces.coefficient(node, trace), faces.traces.get([u, w, trace]), sum);
                    }
                }
                let entry = Entry { line, node, active: true, index: Padded::<N>::index(at) };
                sink(entry, if terms.first { p.get(at) } else { 0.0 }, sum);
            }
        }
    }
}
