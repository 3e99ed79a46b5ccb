//! The contraction of a tensor in shared memory with 1D matrices, in place.

use super::TRACES;
use super::matrix::{Matrix, Source};
use super::stored::Stored;
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

impl<T: Word, L: Layout> Tensor<T, L> {
    /// From word `start` on, in words of its own.
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
    pub fn set_entry<V>(self, entry: Entry, value: V)
    where
        T: Stored<V>,
    {
        self.memory.set_if(entry.active, self.start + entry.index, T::of(value));
    }

    /// Byte address in the shared window of the word at an offset of the layout.
    #[inline(always)]
    pub fn address(self, index: usize) -> u32 {
        self.memory.address(self.start + index)
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
pub struct Contraction<E: Engine<N>, S, const N: usize> {
    pub direction: usize,
    pub planes: usize,
    pub terms: Terms,
    pub mass: Matrix<S>,
    pub stiffness: Matrix<S>,
    pub p: Tensor<E::Stored, E::Layout>,
    /// An engine may overwrite both; where it is not wanted, it is not touched.
    pub q: Tensor<E::Stored, E::Layout>,
    pub faces: Option<Faces<E, N>>,
    /// Whether the sink writes to `p` or `q`. Lanes that read for each other then wait before it.
    pub overwrites: bool,
}

/// Traces behind the faces that the lines of nodes end on, times their matrix, to be added to the second sum.
pub struct Faces<E: Engine<N>, const N: usize> {
    /// `[u, w, trace]`: `u` and `w` are the line's coordinates, the lower direction first.
    pub traces: Tensor<E::Stored, E::Layout>,
    /// In global memory, a row a node, [`TRACES`] columns.
    pub matrix: *const E::Scalar,
}

impl<E: Engine<N>, const N: usize> Clone for Faces<E, N> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E: Engine<N>, const N: usize> Copy for Faces<E, N> {}

impl<E: Engine<N>, const N: usize> Faces<E, N> {
    /// What a trace adds to a node.
    #[inline(always)]
    pub fn coefficient(&self, node: usize, trace: usize) -> E::Scalar {
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
pub trait Engine<const N: usize>: Sized {
    /// Of vectors and sums.
    type Scalar: Real + Word + ReadOnly;
    /// What tensors are contracted in.
    type Stored: Stored<Self::Scalar>;
    /// Of the tensors that are contracted.
    type Layout: Layout;
    /// Of what is in [`Self::Scalar`] in shared memory: matrices, and nodes and traces as they are loaded. Its rows are as long
    /// as those of [`Self::Layout`].
    type Loaded: Layout;
    /// Whether tensors are contracted elsewhere than they are loaded to.
    const IS_COPIED: bool = size_of::<Self::Stored>() != size_of::<Self::Scalar>();
    /// Threads of a block.
    const THREADS: usize;
    /// Whether operands have a narrower range than the scalar, so that data must be scaled ([`range`](super::range)).
    const IS_NARROW: bool = false;

    /// Block-wide barriers in a contraction in this direction.
    fn barriers(direction: usize) -> usize;

    /// Calls `sink(entry, first, second)` for the sums at each node of each line. What the sink writes to the tensors no other
    /// thread reads.
    fn contract<S: Source<Self::Scalar>>(
        contraction: &Contraction<Self, S, N>,
        sink: impl FnMut(Entry, Self::Scalar, Self::Scalar),
    );
}

/// In place: the first sum, if it is wanted, to `p`, and the second to `q`.
#[inline(always)]
pub fn in_place<E: Engine<N>, S: Source<E::Scalar>, const N: usize>(contraction: &Contraction<E, S, N>) {
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
