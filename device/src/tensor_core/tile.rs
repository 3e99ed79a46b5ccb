//! Contractions by fragments of matrix products: lines of nodes are rows of `A`, the 1D matrix, transposed, is `B`.
//!
//! A warp takes 8 or 16 lines at a time, all nodes of them, into registers before it writes, so that the contraction is in
//! place without a barrier. Matrices stay in registers from line to line.

use super::TRACES;
use super::contract::{Contraction, Engine, Tensor, point};
use super::matrix::Source;
use crate::layout::{Layout, within};
use crate::mma::{LANES, Product};
use crate::scalar::Real;
use core::marker::PhantomData;
use cuda_std::hint::opaque;
use cuda_std::thread;

/// Fragments of `B` side by side, at most: 24 columns.
const COLUMNS: usize = 3;
/// Fragments of `A` and `B` in the inner direction, at most: 20 nodes in fours.
const STEPS: usize = 5;

/// An engine of products `P` with tensors in layout `L`, its rows padded to multiples of 8.
pub struct Tiles<P, L>(PhantomData<(P, L)>);

/// A matrix in a lane's registers, `[column][step]`.
type Fragments<P, const K: usize> = [[<P as Product>::B; K]; COLUMNS];

/// `B[k][n] = entry(n, k)` of a matrix of `N` rows and `inner` columns, zero around it.
#[inline(always)]
fn load<P: Product, const N: usize, const K: usize>(
    lane: usize,
    inner: usize,
    wanted: bool,
    entry: impl Fn(usize, usize) -> P::Scalar,
) -> Fragments<P, K> {
    let zero = P::Scalar::from_f64(0.0);
    // Loops, because `core::array::from_fn` is not always inlined.
    let mut fragments = [[P::b(lane, |_, _| zero); K]; COLUMNS];
    for column in 0..N.div_ceil(8) {
        for step in 0..if wanted { inner.div_ceil(P::SHAPE.inner) } else { 0 } {
            fragments[column][step] = P::b(lane, |k, n| {
                let (k, n) = (P::SHAPE.inner * step + k, 8 * column + n);
                let entry = entry(within(n, N), within(k, inner));
                if n < N && k < inner { entry } else { zero }
            });
        }
    }
    fragments
}

impl<P: Product, L: Layout, const N: usize> Engine<N> for Tiles<P, L> {
    type Scalar = P::Scalar;
    type Layout = L;
    const THREADS: usize = if N <= 8 { 128 } else { 256 };

    #[inline(always)]
    fn barriers(_: usize) -> usize {
        0
    }

    #[inline(always)]
    fn contract<S: Source<P::Scalar>>(
        contraction: &Contraction<P::Scalar, L, S>,
        mut sink: impl FnMut([usize; 2], usize, bool, P::Scalar, P::Scalar),
    ) {
        let Contraction { direction, planes, terms, p, q, .. } = *contraction;
        let shape = P::SHAPE;
        let (columns, steps) = (N.div_ceil(8), N.div_ceil(shape.inner));
        let thread = thread::thread_idx_x() as usize;
        let (lane, warp, warps) = (thread % LANES, thread / LANES, thread::block_dim_x() as usize / LANES);
        let (mass, stiffness) = (contraction.mass, contraction.stiffness);
        let mass = load::<P, N, STEPS>(lane, N, terms.first || terms.mixed, |row, column| mass.get(row, column));
        let stiffness = load::<P, N, STEPS>(lane, N, terms.second, |row, column| stiffness.get(row, column));
        let faces = contraction.faces.map(|faces| {
            let matrix = load::<P, N, 1>(lane, TRACES, true, |row, column| faces.coefficient(row, column));
            (faces.traces, matrix)
        });

        // Of the second coordinate; the first is padded to whole rows.
        let count = if direction == 2 { N } else { planes };
        let line = |tile: usize, row: usize| {
            let line = shape.rows * tile + row;
            [line % L::PITCH, line / L::PITCH]
        };
        // In direction x the first coordinate is y, of which rows beyond `N` may not be there.
        let limit = if direction == 0 { N } else { L::PITCH };
        let bound = if direction == 0 { L::PITCH } else { N };
        let fragment = |tensor: Tensor<P::Scalar, L>, tile: usize, step: usize| {
            P::a(lane, |row, k| {
                let [u, w] = line(tile, row);
                let at = [within(u, limit), if w < count { w } else { count - 1 }];
                tensor.get(point(direction, at, within(shape.inner * step + k, bound)))
            })
        };
        let trace = |tensor: Tensor<P::Scalar, L>, tile: usize| {
            P::a(lane, |row, trace| {
                let [u, w] = line(tile, row);
                tensor.get([u, if w < count { w } else { count - 1 }, within(trace, TRACES)])
            })
        };

        let tiles = opaque((L::PITCH * count).div_ceil(shape.rows) as u32) as usize;
        let mut tile = warp;
        while tile < tiles {
            let mut first = [P::zero(); COLUMNS];
            let mut second = [P::zero(); COLUMNS];
            for step in 0..steps {
                let a = fragment(p, tile, step);
                for column in 0..columns {
                    // SAFETY: all lanes of a warp have the same tiles.
                    unsafe {
                        if terms.first {
                            first[column] = P::multiply_add(&a, &mass[column][step], &first[column]);
                        }
                        if terms.second {
                            second[column] = P::multiply_add(&a, &stiffness[column][step], &second[column]);
                        }
                    }
                }
                if terms.mixed {
                    let a = fragment(q, tile, step);
                    for column in 0..columns {
                        // SAFETY: as above.
                        second[column] = unsafe { P::multiply_add(&a, &mass[column][step], &second[column]) };
                    }
                }
            }
            if let Some((traces, matrix)) = &faces {
                let a = trace(*traces, tile);
                for column in 0..columns {
                    // SAFETY: as above.
                    second[column] = unsafe { P::multiply_add(&a, &matrix[column][0], &second[column]) };
                }
            }
            for column in 0..columns {
                for i in 0..shape.c_elements() {
                    let (row, n) = shape.c(lane, i);
                    let ([u, w], node) = (line(tile, row), 8 * column + n);
                    let is_node = if direction == 0 { u < N } else { node < N };
                    let active = is_node && w < count;
                    sink([u, w], node, active, P::sum(&first[column], i), P::sum(&second[column], i));
                }
            }
            tile += warps;
        }
    }
}
