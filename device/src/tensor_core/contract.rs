//! The contraction of a tensor in shared memory with 1D matrices, in place.

use super::TRACES;
use super::matrix::{Matrix, Source};
use crate::layout::{Layout, Shared};
use crate::scalar::Real;
use core::marker::PhantomData;
use cuda_std::ptr::{ReadOnly, ldg};
use cuda_std::shared::Word;

/// A tensor in shared memory.
pub struct Tensor<T, L> {
    pub memory: Shared<T>,
    start: usize,
    layout: PhantomData<L>,
}

impl<T: Copy, L> Clone for Tensor<T, L> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Copy, L> Copy for Tensor<T, L> {}

impl<T: Real + Word, L: Layout> Tensor<T, L> {
    /// From word `start` on.
    #[inline(always)]
    pub fn at(start: usize) -> Self {
        Self { memory: Shared::at(0), start, layout: PhantomData }
    }

    /// Its first word.
    #[inline(always)]
    pub fn start(self) -> usize {
        self.start
    }

    /// The word at an offset of the layout.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn get_at(self, index: usize) -> T {
        self.memory.get(self.start + index)
    }

    #[inline(always)]
    pub fn index(self, point: [usize; 3]) -> usize {
        self.start + L::index(point)
    }

    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn get(self, point: [usize; 3]) -> T {
        self.memory.get(self.index(point))
    }

    /// If the thread is `active`.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn set(self, active: bool, point: [usize; 3], value: T) {
        self.memory.set_if(active, self.index(point), value);
    }

    /// If the thread has that entry.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn set_entry(self, entry: Entry, value: T) {
        self.memory.set_if(entry.active, self.start + entry.index, value);
    }
}

/// A node that a thread has sums of.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its line's coordinates, the lower direction first.
    pub line: [usize; 2],
    /// Its place on the line.
    pub node: usize,
    /// If not, there is no such node, but rows are padded with zeros.
    pub active: bool,
    /// Its offset in the layout.
    pub index: usize,
}

/// What to compute of the tensors `p` and `q` with matrices `M` and `L`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// `M p`.
    pub first: bool,
    /// `L p`.
    pub second: bool,
    /// `M q`, added to it.
    pub mixed: bool,
}

impl Terms {
    /// `M p` alone.
    pub const FIRST: Self = Self { first: true, second: false, mixed: false };
}

/// A contraction in direction 0 (x) to 2 (z) of the first `planes` planes; in direction 2 there are `N`.
pub struct Contraction<T: Copy, L, S> {
    pub direction: usize,
    pub planes: usize,
    pub terms: Terms,
    pub mass: Matrix<S>,
    pub stiffness: Matrix<S>,
    pub p: Tensor<T, L>,
    /// An engine may overwrite both; where it is not wanted, it is not touched.
    pub q: Tensor<T, L>,
    pub faces: Option<Faces<T, L>>,
}

/// Traces behind the faces that the lines of nodes end on, times their matrix, to be added to the second sum.
#[derive(Clone, Copy)]
pub struct Faces<T: Copy, L> {
    /// `[u, w, trace]`: `u` and `w` are the line's coordinates, the lower direction first.
    pub traces: Tensor<T, L>,
    /// In global memory, a row a node, [`TRACES`] columns.
    pub matrix: *const T,
}

impl<T: Real + Word + ReadOnly, L: Layout> Faces<T, L> {
    /// What a trace adds to a node.
    #[inline(always)]
    pub fn coefficient(&self, node: usize, trace: usize) -> T {
        // SAFETY: made from the table of a launch, which nobody writes.
        unsafe { ldg(self.matrix.add(TRACES * node + trace)) }
    }
}

/// Where a line of nodes in a direction and a node on it are.
#[inline(always)]
pub const fn point(direction: usize, [u, w]: [usize; 2], node: usize) -> [usize; 3] {
    match direction {
        0 => [node, u, w],
        1 => [u, node, w],
        _ => [u, w, node],
    }
}

/// What takes the sums of an [`Engine`]. On the host all are of one type, so that a contraction is compiled once.
#[cfg(target_arch = "nvptx64")]
#[inline(always)]
pub fn sink<T, F: FnMut(Entry, T, T)>(sink: &mut F) -> &mut F {
    sink
}

/// See above.
#[cfg(not(target_arch = "nvptx64"))]
pub fn sink<T>(sink: &mut dyn FnMut(Entry, T, T)) -> &mut dyn FnMut(Entry, T, T) {
    sink
}

/// Who contracts. All threads of a block come to a contraction together.
pub trait Engine<const N: usize> {
    /// Of vectors and shared memory.
    type Scalar: Real + Word + ReadOnly;
    type Layout: Layout;
    /// Threads of a block.
    const THREADS: usize;
    /// Whether operands have a narrower range than the scalar, so that data must be scaled ([`range`](super::range)).
    const IS_NARROW: bool = false;

    /// Block-wide barriers in a contraction in this direction.
    fn barriers(direction: usize) -> usize;

    /// Calls `sink(entry, first, second)` for the sums at each node of each line. What the sink writes to the tensors no other
    /// thread reads.
    fn contract<S: Source<Self::Scalar>>(
        contraction: &Contraction<Self::Scalar, Self::Layout, S>,
        sink: impl FnMut(Entry, Self::Scalar, Self::Scalar),
    );
}

/// In place: the first sum, if it is wanted, to `p`, and the second to `q`.
#[inline(always)]
pub fn in_place<E: Engine<N>, S: Source<E::Scalar>, const N: usize>(
    contraction: &Contraction<E::Scalar, E::Layout, S>,
) {
    let Contraction { terms, p, q, .. } = *contraction;
    let put = &mut |entry, first, second| {
        if terms.first {
            p.set_entry(entry, first);
        }
        if terms.second {
            q.set_entry(entry, second);
        }
    };
    E::contract(contraction, sink(put));
}
