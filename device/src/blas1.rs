//! Vector operations. Reductions use a fixed number of blocks, so that their order of summation never changes.

/// Threads of a block.
pub const THREADS: usize = 256;
/// Vectors that one launch of `dots` or `combine` takes.
pub const VECTORS: usize = 8;
/// Rows of partial sums at most: of `combine_dots` a product with each vector, and the square of the result.
pub const PARTIAL_ROWS: usize = VECTORS + 1;
/// Blocks of `dots`, and so partial sums of a dot product: eight a multiprocessor of an H200.
pub const DOT_BLOCKS: usize = 1056;
/// Barriers of a sum over a block of [`THREADS`].
pub const SUM_BARRIERS: usize = sum_barriers(THREADS);

/// Barriers of a sum over a block of so many threads: one a halving, and one before shared memory is used again.
pub const fn sum_barriers(threads: usize) -> usize {
    threads.next_power_of_two().ilog2() as usize + 1
}

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
    /// The same of `combine_dots`, which holds as many of each of [`VECTORS`] vectors.
    const HELD: usize = 2;

    /// Calls `some` with the first of `E` indices, [`THREADS`] apart, and `one` with single ones at the end: all of
    /// `0..n` that are the calling thread's, in a grid-stride loop.
    #[inline(always)]
    fn for_indices<const E: usize>(n: u64, mut some: impl FnMut([usize; E]), mut one: impl FnMut(usize)) {
        let step = (THREADS * E) as u64;
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
        for_indices::<ENTRIES>(
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

    /// Sum of one number a thread over the block of so many, valid in thread 0.
    #[inline(always)]
    pub fn block_sum(value: f64, threads: usize) -> f64 {
        let memory = Shared::<f64>::at(0);
        let thread = thread::thread_idx_x() as usize;
        // A thread reads what others wrote before the last barrier; its own word it keeps.
        let mut sum = value;
        memory.set(thread, sum);
        let mut summed = threads;
        while summed > 1 {
            let half = summed.div_ceil(2);
            thread::sync_threads();
            if thread < summed - half {
                sum += memory.get(thread + half);
                memory.set(thread, sum);
            }
            summed = half;
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
        for_indices::<ENTRIES>(n, |indices| add(&indices), |index| add(&[index]));
        for j in 0..VECTORS {
            // The same for all threads, so that all come to the barriers.
            if (j as u32) < count {
                // SAFETY: `partials` has room for `count` rows of `DOT_BLOCKS`.
                unsafe { store_partial(partials, j, sums[j].get()) };
            }
        }
    }

    /// `partials[row * DOT_BLOCKS + block] = sum of value` over the threads of the block.
    ///
    /// # Safety
    /// `partials` has this row, and all threads of the block come here.
    #[inline(always)]
    unsafe fn store_partial(partials: *mut f64, row: usize, value: f64) {
        let sum = block_sum(value, THREADS);
        if thread::thread_idx_x() == 0 {
            // SAFETY: the caller's promise.
            unsafe { *partials.add(row * DOT_BLOCKS + thread::block_idx_x() as usize) = sum };
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
        let sum = block_sum(sum, THREADS);
        if thread::thread_idx_x() == 0 {
            // SAFETY: as above.
            unsafe { *out.add(row) = sum };
        }
    }

    /// `y = beta y + sum_j c_j x_j`, `j < count`, summed up in `f64`; `beta = 0` overwrites.
    ///
    /// # Safety
    /// The vectors have `n` entries.
    #[inline(always)]
    pub unsafe fn combine<X: Real, T: Real>(
        coefficients: Coefficients,
        xs: Vectors<X>,
        count: u32,
        beta: f64,
        y: *mut T,
        n: u64,
    ) {
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
        let load = |i: usize| if beta == 0.0 { 0.0 } else { beta * unsafe { *y.add(i) }.to_f64() };
        // SAFETY: as above.
        let store = |i: usize, sum: f64| unsafe { *y.add(i) = T::from_f64(sum) };
        for_indices::<ENTRIES>(
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

    /// `rounded = x`, and `partials[block]`, the block's part of `x · x`.
    ///
    /// # Safety
    /// The vectors have `n` entries; launched with [`DOT_BLOCKS`] blocks.
    #[inline(always)]
    pub unsafe fn norm_rounded<X: Real, T: Real>(x: *const X, rounded: *mut T, n: u64, partials: *mut f64) {
        let sum = core::cell::Cell::new(0.0);
        // SAFETY: the caller's promise.
        let load = |i: usize| unsafe { *x.add(i) }.to_f64();
        let store = |i: usize, value: f64| {
            // SAFETY: as above; a thread owns its indices.
            unsafe { *rounded.add(i) = T::from_f64(value) };
            sum.set(f64::fma(value, value, sum.get()));
        };
        map(n, load, store);
        // SAFETY: `partials` has room for a row of `DOT_BLOCKS`.
        unsafe { store_partial(partials, 0, sum.get()) };
    }

    /// `y += sum_j c_j x_j`, `j < count`, then `partials[j * DOT_BLOCKS + block]`, the block's part of `x_j · y`, and in row `count`
    /// that of `y · y`, with `y` as it was stored: one pass over all vectors.
    ///
    /// # Safety
    /// The vectors have `n` entries; launched with [`DOT_BLOCKS`] blocks; `partials` has `count + 1` rows.
    #[inline(always)]
    pub unsafe fn combine_dots<T: Real>(
        coefficients: Coefficients,
        xs: Vectors<T>,
        count: u32,
        y: *mut T,
        n: u64,
        partials: *mut f64,
    ) {
        let sums = [0.0; PARTIAL_ROWS].map(core::cell::Cell::new);
        let add = |row: usize, x: f64, y: f64| sums[row].set(f64::fma(x, y, sums[row].get()));
        for_indices::<HELD>(
            n,
            |indices| {
                let mut held = [[0.0; HELD]; VECTORS];
                // SAFETY: the caller's promise; a thread owns its indices.
                let mut values = indices.map(|i| unsafe { *y.add(i) }.to_f64());
                for j in 0..VECTORS {
                    if (j as u32) < count {
                        for entry in 0..HELD {
                            // SAFETY: the caller's promise.
                            held[j][entry] = unsafe { *xs.0[j].add(indices[entry]) }.to_f64();
                            values[entry] = f64::fma(coefficients.0[j], held[j][entry], values[entry]);
                        }
                    }
                }
                for entry in 0..HELD {
                    let stored = T::from_f64(values[entry]);
                    // SAFETY: a thread owns its indices.
                    unsafe { *y.add(indices[entry]) = stored };
                    values[entry] = stored.to_f64();
                    for j in 0..VECTORS {
                        if (j as u32) < count {
                            add(j, held[j][entry], values[entry]);
                        }
                    }
                    add(VECTORS, values[entry], values[entry]);
                }
            },
            |i| {
                // SAFETY: as above.
                let mut sum = unsafe { *y.add(i) }.to_f64();
                for j in 0..VECTORS {
                    if (j as u32) < count {
                        // SAFETY: as above.
                        sum = f64::fma(coefficients.0[j], unsafe { *xs.0[j].add(i) }.to_f64(), sum);
                    }
                }
                let stored = T::from_f64(sum);
                // SAFETY: as above.
                unsafe { *y.add(i) = stored };
                for j in 0..VECTORS {
                    if (j as u32) < count {
                        // SAFETY: as above.
                        add(j, unsafe { *xs.0[j].add(i) }.to_f64(), stored.to_f64());
                    }
                }
                add(VECTORS, stored.to_f64(), stored.to_f64());
            },
        );
        for j in 0..VECTORS {
            // The same for all threads, so that all come to the barriers.
            if (j as u32) < count {
                // SAFETY: the caller's promise.
                unsafe { store_partial(partials, j, sums[j].get()) };
            }
        }
        // SAFETY: the caller's promise.
        unsafe { store_partial(partials, count as usize, sums[VECTORS].get()) };
    }
}
