//! `y = A x`, box by box.

use super::contract::{Contraction, Engine, Faces, Tensor, Terms, in_place, sink};
use super::matrix::{InShared, Source};
use super::staging::{Places, copy_from, traces};
use super::{TRACES, contract, range};
use crate::layout::Layout;
use crate::scalar::Value;
use cuda_std::thread;

/// A block's box among so many boxes in each direction, of `N` nodes in each.
pub struct Box3<const N: usize> {
    place: [usize; 3],
    boxes: [u32; 3],
}

impl<const N: usize> Box3<N> {
    #[inline(always)]
    pub fn of_block(boxes: [u32; 3]) -> Self {
        let place = [thread::block_idx_x(), thread::block_idx_y(), thread::block_idx_z()].map(|index| index as usize);
        Self { place, boxes }
    }

    #[inline(always)]
    fn stride(&self, direction: usize) -> usize {
        // Nodes of a plane fit 32 bits, which saves registers.
        let [row, rows] = [0, 1].map(|direction| N as u32 * self.boxes[direction]);
        match direction {
            0 => 1,
            1 => row as usize,
            _ => (row * rows) as usize,
        }
    }

    /// Of a node in a vector.
    #[inline(always)]
    pub fn offset(&self, node: [usize; 3]) -> usize {
        let along = |d: usize| (N * self.place[d] + node[d]) * self.stride(d);
        along(0) + along(1) + along(2)
    }

    /// Whether the lower (0) or upper (1) face is the domain's.
    #[inline(always)]
    pub fn at_end(&self, direction: usize, side: usize) -> bool {
        self.place[direction] == if side == 0 { 0 } else { self.boxes[direction] as usize - 1 }
    }

    /// Behind a face, at the end of the domain before it: the node at the face of line `[u, w]`, and the distance of the
    /// next one from the face.
    #[inline(always)]
    pub fn behind(&self, direction: usize, side: usize, line: [usize; 2]) -> (usize, isize) {
        let own = if side == 0 { 0 } else { N - 1 };
        let (face, stride) = (self.offset(contract::point(direction, line, own)), self.stride(direction));
        let upwards = (side == 0) == self.at_end(direction, side);
        let face = match (self.at_end(direction, side), side) {
            (true, _) => face,
            (false, 0) => face - stride,
            (false, _) => face + stride,
        };
        (face, if upwards { stride as isize } else { -(stride as isize) })
    }
}

/// Of the 1D data in global memory: `M` and `L` (`N` by `N`, row-major), the matrix of traces (`N` by [`TRACES`]), half the
/// normal derivative (`N`, nodes counted from the face on), `σ`, and a factor of the result.
///
/// The matrices may be those of cells of another size, which is what half precision needs: `L` scales with `1/h`, `M` with
/// `h`, and the factor makes up for it.
pub const fn table_words(nodes: usize) -> usize {
    2 * nodes * nodes + TRACES * nodes + nodes + 2
}

/// Where its parts begin.
struct Table<T> {
    traces: *const T,
    normal: *const T,
    factor: *const T,
}

/// What the contractions of nodes in x, y and z sum up.
pub const TERMS: [Terms; 3] = [
    Terms { first: true, second: true, mixed: false },
    Terms { first: true, second: true, mixed: true },
    Terms { first: false, second: true, mixed: true },
];

/// Words of shared memory: two tensors, the traces of three directions, `matrices` matrices, and those of [`range`].
pub fn shared_words<E: Engine<N>, const N: usize>(matrices: usize) -> usize {
    tensor_words::<E, N>() + E::Loaded::words(matrices) + range::words::<E, N>()
}

/// Planes that are loaded: nodes, and the traces of three directions.
const fn loads(nodes: usize) -> usize {
    nodes + 3 * TRACES
}

/// Of the tensors and traces.
fn tensor_words<E: Engine<N>, const N: usize>() -> usize {
    Places::<E, N>::words([loads(N), loads(N) + N])
}

/// Matrices in shared memory, where [`apply`] keeps them.
#[inline(always)]
pub fn in_shared<E: Engine<N>, const N: usize>() -> InShared<E::Scalar, E::Loaded, N> {
    InShared(Tensor::at(shared_words::<E, N>(0)), 2)
}

/// Barriers of [`apply`].
pub fn barriers<E: Engine<N>, const N: usize>() -> usize {
    range::barriers::<E, N>() + 2 + 3 * E::barriers(0) + 2 * E::barriers(1) + E::barriers(2)
}

/// `y = A x` on so many boxes in each direction, or `y = b - A x` if `b` is not null.
///
/// # Safety
/// Launched with a block a box, `E::THREADS` threads each and [`shared_words`]; vectors have `N` nodes a box
/// in each direction, `table` has [`table_words`].
#[inline(always)]
pub unsafe fn apply<E: Engine<N>, S: Source<E::Scalar>, const N: usize>(
    source: S,
    table: *const E::Scalar,
    [b, x]: [*const E::Scalar; 2],
    y: *mut E::Scalar,
    boxes: [u32; 3],
) {
    let place = Box3::<N>::of_block(boxes);
    // `q` is between nodes and traces, but nothing is loaded to it.
    let [p, x_traces, y_traces, z_traces] =
        [[0, 0], [N, 2 * N], [N + TRACES, 2 * N + TRACES], [N + 2 * TRACES, 2 * N + 2 * TRACES]]
            .map(|planes| Places::<E, N>::at(loads(N), planes));
    let q = Places::<E, N>::at(loads(N), [0, N]).stored;
    // SAFETY: parts of the table.
    let Table { traces: trace_matrix, normal, factor } = unsafe {
        let traces = table.add(2 * N * N);
        let normal = traces.add(TRACES * N);
        Table { traces, normal, factor: normal.add(N + 1) }
    };
    let numbers = [0, 1, 0];
    // SAFETY: the launch's promise.
    unsafe { source.prepare(table, numbers) };
    // SAFETY: the launch's promise; the first node of the box.
    let shift = unsafe { *x.add(place.offset([0; 3])) };
    // SAFETY: the launch's promise.
    unsafe {
        copy_from::<_, _, N>(p.loaded, |node| x.wrapping_add(place.offset(node)));
        traces::<_, _, N>(x_traces.loaded, &place, 0, x, normal, shift);
        traces::<_, _, N>(y_traces.loaded, &place, 1, x, normal, shift);
        traces::<_, _, N>(z_traces.loaded, &place, 2, x, normal, shift);
    }
    let largest = tensor_words::<E, N>();
    let unit =
        range::loaded::<E, N>(largest, p, Some(range::Traces { tensors: [x_traces, y_traces, z_traces], shift }));
    let (p, [x_traces, y_traces, z_traces]) = (p.stored, [x_traces, y_traces, z_traces].map(|traces| traces.stored));

    let (mass, stiffness) = (source.matrix(0, numbers), source.matrix(1, numbers));
    let faces = |traces| Some(Faces { traces, matrix: trace_matrix });
    let nodes = |direction: usize, traces| Contraction {
        direction,
        planes: N,
        terms: TERMS[direction],
        mass,
        stiffness,
        p,
        q,
        faces: faces(traces),
        overwrites: true,
    };
    let planes = |direction, tensor| Contraction {
        direction,
        planes: TRACES,
        terms: Terms::FIRST,
        mass,
        stiffness,
        p: tensor,
        q,
        faces: None,
        overwrites: true,
    };

    in_place::<E, S, N>(&nodes(0, x_traces));
    in_place::<E, S, N>(&planes(0, y_traces));
    in_place::<E, S, N>(&planes(0, z_traces));
    thread::sync_threads();
    in_place::<E, S, N>(&nodes(1, y_traces));
    in_place::<E, S, N>(&planes(1, z_traces));
    thread::sync_threads();
    // SAFETY: the launch's promise.
    let factor = unsafe { *factor } * unit;
    E::contract(
        &Contraction { overwrites: false, ..nodes(2, z_traces) },
        sink(&mut |entry, _, second| {
            if entry.active && entry.line[0] < N {
                let offset = place.offset(contract::point(2, entry.line, entry.node));
                // SAFETY: as above; the box is this block's.
                unsafe {
                    *y.add(offset) = match b.is_null() {
                        true => E::Scalar::scale(factor, second),
                        false => E::Scalar::fma(-factor, second, *b.add(offset)),
                    }
                };
            }
        }),
    );
}
