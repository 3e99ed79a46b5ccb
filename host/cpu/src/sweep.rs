//! Sweeps over patches or cells: the loop over batches, on all threads, with the SIMD level of the machine.

use super::batch::{Batch, Set};
use super::lanes::{Lanes, MAX_LANES, SimdLevel, Vectorized};
use core::cell::Cell;
use core::marker::PhantomData;
use core::ops::Range;
use pulp::{Simd, WithSimd};
use rayon::prelude::*;

/// Work on one batch of patches.
pub trait BatchKernel<T: Vectorized>: Sync {
    /// What it needs to work in.
    type Workspace<S: Simd>: bytemuck::AnyBitPattern;
    /// Does the batch.
    ///
    /// # Safety
    /// The patches must be those of the level and the selection that the kernel is made for.
    unsafe fn run<S: Simd>(&self, batch: &Batch, workspace: &mut Self::Workspace<S>);

    /// Does these patches of a set, batch after batch. A method, so that it is compiled beside its kernel and side by side with
    /// others.
    ///
    /// # Safety
    /// As for [`Self::run`].
    unsafe fn run_range(&self, simd: SimdLevel, patches: &impl Set, range: Range<usize>)
    where
        Self: Sized,
    {
        simd.dispatch(Chunk { patches, kernel: self, range, scalar: PhantomData::<T> });
    }
}

/// A vector that the threads of a sweep write to, each in places of its own.
#[derive(Clone, Copy)]
pub struct Shared<T>(*mut T);

// SAFETY: the kernels of a sweep write to disjoint places and read only what no other writes.
unsafe impl<T: Send> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Shared<T> {}

impl<T> Shared<T> {
    pub fn new(vector: &mut [T]) -> Self {
        Self(vector.as_mut_ptr())
    }

    #[inline(always)]
    pub fn pointer(&self) -> *mut T {
        self.0
    }
}

/// Sweeps with fewer dofs than this run on the calling thread: handing them out costs more.
const INLINE_DOFS: usize = 4096;

/// The loop.
#[derive(Clone, Copy)]
pub struct Sweep<'a> {
    pub pool: &'a rayon::ThreadPool,
    pub simd: SimdLevel,
}

impl Sweep<'_> {
    /// Runs the kernel on all patches, in an order that does not matter.
    ///
    /// # Safety
    /// As for `BatchKernel::run`.
    pub unsafe fn run<T: Vectorized, K: BatchKernel<T>>(&self, patches: &impl Set, kernel: &K) {
        // SAFETY: the caller's.
        let run = |range| unsafe { kernel.run_range(self.simd, patches, range) };
        self.share_out(patches.len(), patches.nodes_each(), &run);
    }

    /// Runs `work` on ranges that are all of `0..count`, on all threads: patches, as many as lanes at a time.
    pub(super) fn share_out(&self, count: usize, nodes_each: usize, work: &(dyn Fn(Range<usize>) + Sync)) {
        self.share_out_by(MAX_LANES, count, nodes_each, work);
    }

    /// Runs `work` on ranges that are all of `0..count`, on all threads; they begin at multiples of `multiple`. One function
    /// for all kernels.
    pub(super) fn share_out_by(
        &self,
        multiple: usize,
        count: usize,
        nodes_each: usize,
        work: &(dyn Fn(Range<usize>) + Sync),
    ) {
        let threads = self.pool.current_num_threads();
        if count == 0 {
            return;
        }
        if threads == 1 || count <= multiple || count * nodes_each < INLINE_DOFS {
            return work(0..count);
        }
        // A few chunks a thread even out the load; their bounds change no result.
        let chunk = count.div_ceil(4 * threads).next_multiple_of(multiple);
        self.pool.install(|| {
            (0..count.div_ceil(chunk)).into_par_iter().for_each(|i| work(i * chunk..count.min((i + 1) * chunk)));
        });
    }
}

/// A part of a sweep that one thread does.
struct Chunk<'a, T, K, P> {
    patches: &'a P,
    kernel: &'a K,
    range: Range<usize>,
    scalar: PhantomData<T>,
}

impl<T: Vectorized, K: BatchKernel<T>, P: Set> WithSimd for Chunk<'_, T, K, P> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        // Taken out of its cell, so that no closure of the standard library stands between the SIMD level and the
        // kernel: a function that is not inlined would not be compiled for that level.
        let mut memory = WORKSPACE.take();
        let workspace = workspace::<K::Workspace<S>>(&mut memory);
        let width = Lanes::<S, T>::WIDTH;
        let mut next = self.patches.batch(self.range.start, width);
        for following in self.range.step_by(width).map(|first| first + width) {
            let mut batch = next;
            if following < self.patches.len() {
                next = self.patches.batch(following, width);
            }
            batch.announce(&next);
            // SAFETY: the caller of the sweep's.
            unsafe { self.kernel.run::<S>(&batch, workspace) };
        }
        WORKSPACE.set(memory);
    }
}

/// A cache line, so that registers are aligned.
#[repr(C, align(64))]
#[derive(Clone, Copy)]
pub(super) struct Line([u8; 64]);

thread_local! {
    pub(super) static WORKSPACE: Cell<Vec<Line>> = const { Cell::new(Vec::new()) };
}

/// Does `work` with memory of the thread for so many numbers, aligned to cache lines, whose values mean nothing.
pub(super) fn with_scratch<T: bytemuck::AnyBitPattern>(len: usize, work: impl FnOnce(&mut [T])) {
    const { assert!(align_of::<T>() <= align_of::<Line>()) }
    let mut memory = WORKSPACE.take();
    if size_of_val(memory.as_slice()) < len * size_of::<T>() {
        memory.resize((len * size_of::<T>()).div_ceil(size_of::<Line>()), Line([0; 64]));
    }
    // SAFETY: long enough and aligned, initialized, and any bits are valid numbers.
    work(unsafe { core::slice::from_raw_parts_mut(memory.as_mut_ptr().cast(), len) });
    WORKSPACE.set(memory);
}

/// The thread's workspace, grown when a kernel first needs that much.
pub(super) fn workspace<W: bytemuck::AnyBitPattern>(memory: &mut Vec<Line>) -> &mut W {
    const { assert!(align_of::<W>() <= align_of::<Line>()) }
    if size_of_val(memory.as_slice()) < size_of::<W>() {
        memory.resize(size_of::<W>().div_ceil(size_of::<Line>()), Line([0; 64]));
    }
    // SAFETY: long enough and aligned, initialized, and any bits are a valid workspace.
    unsafe { &mut *memory.as_mut_ptr().cast::<W>() }
}
