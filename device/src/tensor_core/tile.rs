//! Contractions by fragments of matrix products: lines of nodes are rows of `A`, the 1D matrix, transposed, is `B`.
//!
//! A warp takes 8 or 16 lines at a time, all nodes of them, into registers before it writes, so that the contraction is in
//! place without a barrier. Matrices stay in registers from line to line. Tensors are words, rounded as fragments are made, or
//! for `f16` and `bf16` halves, rounded as they are stored, which `ldmatrix` reads.

use super::TRACES;
use super::contract::{Contraction, Engine, Entry, Tensor, point};
use super::matrix::Source;
use super::stored::{Half, Operand};
use crate::layout::{ChunkSwizzle, Layout, XorSwizzle, within};
use crate::mma::{LANES, Product, wait_for_reads};
use crate::scalar::Real;
use core::marker::PhantomData;
use cuda_std::hint::{made_here, opaque};
use cuda_std::thread;

/// Fragments of `B` side by side, at most: 24 columns.
const COLUMNS: usize = 3;
/// Fragments of `A` and `B` in the inner direction, at most: 20 nodes in fours.
const STEPS: usize = 5;

/// An engine of products `P` with tensors of `W` in layout `L`, its rows padded to multiples of 8, loaded in layout `D`.
pub struct Tiles<P: Product, L, W = <P as Product>::Scalar, D = L>(PhantomData<(P, L, W, D)>);

/// One whose tensors are as `P` multiplies them, which `ldmatrix` reads.
pub type HalfTiles<P, const N: usize> = Tiles<P, ChunkSwizzle<N>, Half<P>, XorSwizzle<4, N>>;

/// A matrix in a lane's registers, `[column][step]`.
type Fragments<P, const K: usize> = [[<P as Product>::B; K]; COLUMNS];

/// `B[k][n] = entry(lane, fragment)` of a matrix of `N` rows and `inner` columns, zero around it; `[n, k]` is the sum of what the
/// lane and the fragment have of it.
#[inline(always)]
fn load<P: Product, const N: usize, const K: usize>(
    lane: usize,
    inner: usize,
    wanted: bool,
    entry: impl Fn([usize; 2], [usize; 2]) -> P::Scalar,
) -> Fragments<P, K> {
    let zero = P::Scalar::from_f64(0.0);
    let whole = N.is_multiple_of(8) && inner.is_multiple_of(P::SHAPE.inner);
    let (k, n) = P::SHAPE.b(lane, 0);
    let of_lane = [n, k];
    // Loops, because `core::array::from_fn` is not always inlined.
    let mut fragments = [[P::b(lane, |_, _| zero); K]; COLUMNS];
    for column in 0..N.div_ceil(8) {
        for step in 0..if wanted { inner.div_ceil(P::SHAPE.inner) } else { 0 } {
            fragments[column][step] = P::b(0, |k, n| {
                let of_fragment = [8 * column + n, P::SHAPE.inner * step + k];
                if whole {
                    return entry(of_lane, of_fragment);
                }
                let [n, k] = [0, 1].map(|i| of_lane[i] + of_fragment[i]);
                let entry = entry([0; 2], [within(n, N), within(k, inner)]);
                if n < N && k < inner { entry } else { zero }
            });
        }
    }
    fragments
}

impl<P: Product, L: Layout, W: Operand<P>, D: Layout, const N: usize> Engine<N> for Tiles<P, L, W, D> {
    type Scalar = P::Scalar;
    type Stored = W;
    type Layout = L;
    type Loaded = D;
    const THREADS: usize = if N <= 8 { 128 } else { 256 };
    const IS_NARROW: bool = P::IS_NARROW;

    #[inline(always)]
    fn barriers(_: usize) -> usize {
        0
    }

    #[inline(always)]
    fn contract<S: Source<P::Scalar>>(
        contraction: &Contraction<Self, S, N>,
        mut sink: impl FnMut(Entry, P::Scalar, P::Scalar),
    ) {
        let Contraction { direction, planes, terms, p, q, .. } = *contraction;
        let shape = P::SHAPE;
        let (columns, steps) = (N.div_ceil(8), N.div_ceil(shape.inner));
        let thread = thread::thread_idx_x() as usize;
        let (lane, warp, warps) = (thread % LANES, thread / LANES, thread::block_dim_x() as usize / LANES);
        let (mass, stiffness) = (contraction.mass, contraction.stiffness);
        // What comes from elsewhere is kept from one contraction to the next one. Addresses in shared memory need not be.
        let in_registers = mass.source.shared_address(mass.which).is_none();
        let own = if in_registers { lane } else { made_here(lane as u32) as usize };
        let mass =
            load::<P, N, STEPS>(own, N, terms.first || terms.mixed, |lane, entry| mass.get_of_parts(lane, entry));
        let stiffness = load::<P, N, STEPS>(own, N, terms.second, |lane, entry| stiffness.get_of_parts(lane, entry));
        let faces = contraction.faces.map(|faces| {
            let matrix = load::<P, N, 1>(own, TRACES, true, |lane, entry| {
                faces.coefficient(lane[0] + entry[0], lane[1] + entry[1])
            });
            (faces.traces, matrix)
        });

        // Of the second coordinate; the first is padded to whole rows.
        let count = if direction == 2 { N } else { planes };
        // Whether fragments fit and the last tile ends with the last line; if not, its other rows are that line once more.
        let whole = N == L::PITCH && (L::PITCH * count).is_multiple_of(shape.rows);
        let stored = |w: usize| if whole || w < count { w } else { count - 1 };
        // In direction x the first coordinate is y, of which rows beyond `N` may not be there.
        let limit = if direction == 0 { N } else { L::PITCH };
        let stored_node = |node: usize| if direction == 0 { W::in_row(node, L::PITCH) } else { within(node, N) };
        let line = |row: usize| [row % L::PITCH, row / L::PITCH];
        // What is read in place of a line that is not there is a line of the same tile, because other warps write the others
        // meanwhile: the last line where a plane's lines are cut by tiles. And `within` may give the line before the last one,
        // of another tile where the last one begins a tile.
        let lines = L::PITCH * count;
        let is_cut = L::PITCH > shape.rows && !lines.is_multiple_of(shape.rows);
        let read_line = |row: usize| line(if is_cut && row >= lines { lines - 1 } else { row });
        let read_row = |u: usize| if limit % 8 == 1 { u.min(limit - 1) } else { within(u, limit) };
        // Where nothing is clamped, what lane, tile and element contribute to an index is made once for all of them.
        let apart = L::LINEAR && whole;
        let index = |lane: [usize; 2], tile: usize, element: [usize; 2]| {
            let of = |[row, node]: [usize; 2]| {
                let [u, w] = read_line(row);
                L::index(point(direction, [read_row(u), stored(w)], stored_node(node)))
            };
            if apart {
                of(lane) ^ of([shape.rows * tile, 0]) ^ of(element)
            } else {
                of([shape.rows * tile + lane[0] + element[0], lane[1] + element[1]])
            }
        };
        let (of_a, of_trace) = (W::place(lane, direction == 0), W::place(lane, false));
        let of_c = shape.c(lane, 0).into();
        let fragment = |tensor: Tensor<W, L>, tile: usize, step: usize| {
            let index = |row, k| index(of_a, tile, [row, shape.inner * step + k]);
            // SAFETY: all lanes of a warp have the same tiles.
            unsafe { W::fragment(tensor, direction == 0, index) }
        };
        let trace = |tensor: Tensor<W, L>, tile: usize| {
            let index = |row, k| {
                let of = |row: usize, plane: usize| {
                    let [u, w] = read_line(row);
                    L::index([u, stored(w), plane])
                };
                let ([lane_row, lane_k], first) = (of_trace, shape.rows * tile);
                let plane = within(lane_k + k, TRACES);
                if apart {
                    of(lane_row, 0) ^ of(first, 0) ^ of(row, 0) ^ of(0, plane)
                } else {
                    of(first + lane_row + row, plane)
                }
            };
            // SAFETY: as above.
            unsafe { W::fragment(tensor, false, index) }
        };

        let tiles = opaque((L::PITCH * count).div_ceil(shape.rows) as u32) as usize;
        // Contractions over and over would keep the addresses of the first tile, beside all else, from one to the next.
        let mut tile = match contraction.faces {
            None if terms.second => made_here(warp as u32) as usize,
            _ => warp,
        };
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
            if contraction.overwrites {
                // SAFETY: as above.
                unsafe { wait_for_reads() };
            }
            for column in 0..columns {
                for i in 0..shape.c_elements() {
                    let (row, n) = shape.c(lane, i);
                    let ([u, w], node) = (line(shape.rows * tile + row), 8 * column + n);
                    let is_node = if direction == 0 { u < N } else { node < N };
                    let active = is_node && (whole || w < count);
                    let (row, n) = shape.c(0, i);
                    let index = index(of_c, tile, [row, 8 * column + n]);
                    let entry = Entry { line: [u, w], node, active, index };
                    sink(entry, P::sum(&first[column], i), P::sum(&second[column], i));
                }
            }
            tile += warps;
        }
    }
}
