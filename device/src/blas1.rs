//! Vector operations. Reductions use a fixed number of blocks, so that their order of summation never changes.

/// Threads of a block.
pub const THREADS: usize = 256;
/// Vectors that one launch of `dots` or `add_combination` takes.
pub const VECTORS: usize = 8;
/// Blocks of `dots`, and so partial sums of a dot product: eight a multiprocessor of an H200.
pub const DOT_BLOCKS: usize = 1056;
/// Barriers of a sum over a block: one a halving, and one before shared memory is used again.
pub const SUM_BARRIERS: usize = THREADS.ilog2() as usize + 1;

pub use device::*;

mod device {
    use super::*;
    use crate::layout::Shared;
    use crate::scalar::{Real, Value};
    use cuda_std::thread;

    /// Pointers to several vectors, by value.
    #[repr(C)]
    #[derive(Clone, Copy)]
    pub struct Vectors<T>(pub [*const T; VECTORS]);

    /// Factors of several vectors, by value.
    #[repr(C)]
    #[derive(Clone, Copy)]
    pub struct Coefficients(pub [f64; VECTORS]);

    /// Entries that a thread has under way at once: enough to keep memory busy in `f32`, too.
    const ENTRIES: usize = 4;

    /// Calls `some` with the first of [`ENTRIES`] indices, [`THREADS`] apart, and `one` with single ones at the end: all of
    /// `0..n` that are the calling thread's, in a grid-stride loop.
    #[inline(always)]
    fn for_indices(n: u64, mut some: impl FnMut([usize; ENTRIES]), mut one: impl FnMut(usize)) {
        let step = (THREADS * ENTRIES) as u64;
        let mut start = thread::block_idx_x() as u64 * step;
        while start < n {
            let first = start + thread::thread_idx_x() as u64;
            if start + step <= n {
                some(core::array::from_fn(|entry| first as usize + entry * THREADS));
            } else {
                let mut index = first;
                while index < n {
                    one(index as usize);
                    index += THREADS as u64;
                }
            }
            start += thread::grid_dim_x() as u64 * step;
        }
    }

    /// `store(i, load(i))` for the calling thread's indices below `n`, several loads before the first store.
    #[inline(always)]
    fn map<T: Copy>(n: u64, load: impl Fn(usize) -> T, store: impl Fn(usize, T)) {
        for_indices(
            n,
            |indices| {
                let values = indices.map(&load);
                for entry in 0..ENTRIES {
                    store(indices[entry], values[entry]);
                }
            },
            |index| store(index, load(index)),
        );
    }

    /// `y = alpha x + beta y`; `beta = 0` overwrites.
    ///
    /// # Safety
    /// The vectors have `n` entries.
    #[inline(always)]
    pub unsafe fn axpby<T: Real>(alpha: T, x: *const T, beta: T, y: *mut T, n: u64) {
        // SAFETY: the caller's promise.
        let old = |i: usize| if beta == T::ZERO { T::ZERO } else { beta * unsafe { *y.add(i) } };
        // SAFETY: the caller's promise; a thread owns its indices.
        unsafe { map(n, |i| T::fma(alpha, *x.add(i), old(i)), |i, value| *y.add(i) = value) }
    }

    /// `y = alpha D x + beta y`, `D` diagonal; `beta = 0` overwrites.
    ///
    /// # Safety
    /// The vectors, and the diagonal, have `n` entries.
    #[inline(always)]
    pub unsafe fn diagonal_axpby<T: Real>(alpha: T, d: *const T, x: *const T, beta: T, y: *mut T, n: u64) {
        // SAFETY: the caller's promise.
        let old = |i: usize| if beta == T::ZERO { T::ZERO } else { beta * unsafe { *y.add(i) } };
        // SAFETY: the caller's promise; a thread owns its indices.
        unsafe { map(n, |i| T::fma(alpha * *d.add(i), *x.add(i), old(i)), |i, value| *y.add(i) = value) }
    }

    /// `y = D⁻¹ x` with the diagonal `d`, and 0 where that is 0.
    ///
    /// # Safety
    /// The vectors have `n` entries.
    #[inline(always)]
    pub unsafe fn divide<T: Real>(x: *const T, d: *const T, y: *mut T, n: u64) {
        let quotient = |x: T, d: T| if d == T::ZERO { T::ZERO } else { x / d };
        // SAFETY: the caller's promise; a thread owns its indices.
        unsafe { map(n, |i| quotient(*x.add(i), *d.add(i)), |i, value| *y.add(i) = value) }
    }

    /// `y = alpha x`, rounded to the scalar of `y`.
    ///
    /// # Safety
    /// The vectors have `n` entries.
    #[inline(always)]
    pub unsafe fn convert<S: Real, T: Real>(alpha: f64, x: *const S, y: *mut T, n: u64) {
        // SAFETY: the caller's promise; a thread owns its indices.
        unsafe { map(n, |i| T::from_f64(alpha * (*x.add(i)).to_f64()), |i, value| *y.add(i) = value) }
    }

    /// Sum of one number a thread over the block, valid in thread 0.
    #[inline(always)]
    pub fn block_sum(value: f64) -> f64 {
        let memory = Shared::<f64>::at(0);
        let thread = thread::thread_idx_x() as usize;
        // A thread reads what others wrote before the last barrier; its own word it keeps.
        let mut sum = value;
        memory.set(thread, sum);
        let mut half = THREADS / 2;
        while half > 0 {
            thread::sync_threads();
            if thread < half {
                sum += memory.get(thread + half);
                memory.set(thread, sum);
            }
            half /= 2;
        }
        // Before shared memory is written again.
        thread::sync_threads();
        sum
    }

    /// `partials[j * DOT_BLOCKS + block]`: the block's part of `x_j · y`, `j < count`.
    ///
    /// # Safety
    /// The vectors have `n` entries; launched with [`DOT_BLOCKS`] blocks.
    #[inline(always)]
    pub unsafe fn dots<T: Real>(xs: Vectors<T>, count: u32, y: *const T, n: u64, partials: *mut f64) {
        let sums = [0.0; VECTORS].map(core::cell::Cell::new);
        let add = |indices: &[usize]| {
            for j in 0..VECTORS {
                if (j as u32) < count {
                    let mut sum = sums[j].get();
                    for &i in indices {
                        // SAFETY: the caller's promise.
                        let (x, y) = unsafe { (*xs.0[j].add(i), *y.add(i)) };
                        sum = f64::fma(x.to_f64(), y.to_f64(), sum);
                    }
                    sums[j].set(sum);
                }
            }
        };
        for_indices(n, |indices| add(&indices), |index| add(&[index]));
        for j in 0..VECTORS {
            // The same for all threads, so that all come to the barriers.
            if (j as u32) < count {
                let sum = block_sum(sums[j].get());
                if thread::thread_idx_x() == 0 {
                    // SAFETY: `partials` has room for `count` rows of `DOT_BLOCKS`.
                    unsafe { *partials.add(j * DOT_BLOCKS + thread::block_idx_x() as usize) = sum };
                }
            }
        }
    }

    /// `out[j] = sum over blocks of partials[j * DOT_BLOCKS + block]`, block `j`.
    ///
    /// # Safety
    /// `partials` and `out` are as long as the grid says.
    #[inline(always)]
    pub unsafe fn sum_partials(partials: *const f64, out: *mut f64) {
        let row = thread::block_idx_x() as usize;
        let mut sum = 0.0;
        let mut block = thread::thread_idx_x() as usize;
        while block < DOT_BLOCKS {
            // SAFETY: the caller's promise.
            sum += unsafe { *partials.add(row * DOT_BLOCKS + block) };
            block += THREADS;
        }
        let sum = block_sum(sum);
        if thread::thread_idx_x() == 0 {
            // SAFETY: as above.
            unsafe { *out.add(row) = sum };
        }
    }

    /// `y += sum_j c_j x_j`, `j < count`.
    ///
    /// # Safety
    /// The vectors have `n` entries.
    #[inline(always)]
    pub unsafe fn add_combination<T: Real>(coefficients: Coefficients, xs: Vectors<T>, count: u32, y: *mut T, n: u64) {
        let add = |indices: &[usize], sums: &mut [f64]| {
            for j in 0..VECTORS {
                if (j as u32) < count {
                    for (&i, sum) in indices.iter().zip(sums.iter_mut()) {
                        // SAFETY: the caller's promise.
                        *sum = f64::fma(coefficients.0[j], unsafe { *xs.0[j].add(i) }.to_f64(), *sum);
                    }
                }
            }
        };
        // SAFETY: the caller's promise; a thread owns its indices.
        let load = |i: usize| unsafe { *y.add(i) }.to_f64();
        // SAFETY: as above.
        let store = |i: usize, sum: f64| unsafe { *y.add(i) = T::from_f64(sum) };
        for_indices(
            n,
            |indices| {
                let mut sums = indices.map(load);
                add(&indices, &mut sums);
                for entry in 0..ENTRIES {
                    store(indices[entry], sums[entry]);
                }
            },
            |index| {
                let mut sum = [load(index)];
                add(&[index], &mut sum);
                store(index, sum[0]);
            },
        );
    }
}
