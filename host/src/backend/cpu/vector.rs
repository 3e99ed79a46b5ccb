//! Vectors, and the loops over them: in pieces of a fixed length, so that no sum depends on the number of threads.

use super::Cpu;
use crate::error::Result;
use crate::memory;
use core::ops::{Deref, DerefMut, Range};
use patchmg_device::scalar::Real;
use rayon::prelude::*;

/// Entries of a piece: all vectors' pieces of a dot product or combination stay in the first-level cache.
const PIECE: usize = 2048;
/// Pieces that a task takes.
const PIECES_A_TASK: usize = 8;
/// Partial sums of a piece: independent, so that they fill SIMD registers.
const PARTIAL_SUMS: usize = 16;

/// A vector in the machine's memory.
#[derive(Clone, Debug)]
pub struct Vector<T>(Vec<T>);

impl<T: Real> Vector<T> {
    pub(super) fn zeros(len: usize) -> Result<Self> {
        memory::zeros(len).map(Self)
    }
}

impl<T> Deref for Vector<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T> DerefMut for Vector<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.0
    }
}

impl Cpu {
    /// Does `work(place, piece)` on all pieces of `y`.
    pub(super) fn for_pieces<T: Send>(&self, y: &mut [T], work: impl Fn(Range<usize>, &mut [T]) + Sync) {
        const TASK: usize = PIECE * PIECES_A_TASK;
        let task = |(index, task): (usize, &mut [T])| {
            self.simd.dispatch(
                #[inline(always)]
                || {
                    for (piece, y) in task.chunks_mut(PIECE).enumerate() {
                        let first = index * TASK + piece * PIECE;
                        work(first..first + y.len(), y);
                    }
                },
            );
        };
        if y.len() <= TASK || self.pool.current_num_threads() == 1 {
            y.chunks_mut(TASK).enumerate().for_each(task);
        } else {
            self.pool.install(|| y.par_chunks_mut(TASK).enumerate().for_each(task));
        }
    }

    /// `count` sums over the pieces of `0..len`; `work(place, sums)` sets those of a piece.
    pub(super) fn sum_pieces(
        &self,
        count: usize,
        len: usize,
        work: impl Fn(Range<usize>, &mut [f64]) + Sync,
    ) -> Vec<f64> {
        let mut partial = vec![0.0; count * len.div_ceil(PIECE)];
        if count > 0 {
            self.for_partial_sums(&mut partial, count, |piece, sums| {
                work(piece * PIECE..len.min((piece + 1) * PIECE), sums);
            });
        }
        added(&partial, count)
    }

    /// `count` sums, at least one, over the pieces of `y`; `work(place, piece, sums)` may change the piece, and sets its sums.
    pub(super) fn sum_pieces_of<T: Send>(
        &self,
        count: usize,
        y: &mut [T],
        work: impl Fn(Range<usize>, &mut [T], &mut [f64]) + Sync,
    ) -> Vec<f64> {
        const TASK: usize = PIECE * PIECES_A_TASK;
        let mut partial = vec![0.0; count * y.len().div_ceil(PIECE)];
        let task = |(index, (task, sums)): (usize, (&mut [T], &mut [f64]))| {
            self.simd.dispatch(
                #[inline(always)]
                || {
                    for (piece, (y, sums)) in task.chunks_mut(PIECE).zip(sums.chunks_exact_mut(count)).enumerate() {
                        let first = index * TASK + piece * PIECE;
                        work(first..first + y.len(), y, sums);
                    }
                },
            );
        };
        let sums_a_task = count * PIECES_A_TASK;
        if y.len() <= TASK || self.pool.current_num_threads() == 1 {
            y.chunks_mut(TASK).zip(partial.chunks_mut(sums_a_task)).enumerate().for_each(task);
        } else {
            let tasks = || y.par_chunks_mut(TASK).zip(partial.par_chunks_mut(sums_a_task)).enumerate().for_each(task);
            self.pool.install(tasks);
        }
        added(&partial, count)
    }

    fn for_partial_sums(&self, partial: &mut [f64], count: usize, work: impl Fn(usize, &mut [f64]) + Sync) {
        let task = |(index, task): (usize, &mut [f64])| {
            self.simd.dispatch(
                #[inline(always)]
                || {
                    for (piece, sums) in task.chunks_exact_mut(count).enumerate() {
                        work(index * PIECES_A_TASK + piece, sums);
                    }
                },
            );
        };
        let task_len = count * PIECES_A_TASK;
        if partial.len() <= task_len || self.pool.current_num_threads() == 1 {
            partial.chunks_mut(task_len).enumerate().for_each(task);
        } else {
            self.pool.install(|| partial.par_chunks_mut(task_len).enumerate().for_each(task));
        }
    }
}

/// The sums of all pieces, `count` each, added in order.
fn added(partial: &[f64], count: usize) -> Vec<f64> {
    let mut sums = vec![0.0; count];
    for piece in partial.chunks_exact(count.max(1)) {
        for (sum, partial) in sums.iter_mut().zip(piece) {
            *sum += partial;
        }
    }
    sums
}

/// `y = beta y + sum_j c_j x_j` for the piece `y` at a place.
#[inline(always)]
pub fn combine<X: Real, T: Real>(coefficients: &[f64], xs: &[&Vector<X>], place: Range<usize>, beta: f64, y: &mut [T]) {
    if size_of::<X>() > size_of::<T>() {
        // Terms may cancel.
        let mut sums = [0.0; PIECE];
        let sums = &mut sums[..y.len()];
        sums.iter_mut().zip(&*y).for_each(|(sum, y)| *sum = y.to_f64());
        combine::<X, f64>(coefficients, xs, place, beta, sums);
        y.iter_mut().zip(sums).for_each(|(y, sum)| *y = T::from_f64(*sum));
        return;
    }
    if beta == 0.0 {
        y.fill(T::ZERO);
    } else if beta != 1.0 {
        let beta = T::from_f64(beta);
        y.iter_mut().for_each(|y| *y = beta * *y);
    }
    for (&c, x) in coefficients.iter().zip(xs) {
        let c = T::from_f64(c);
        for (y, &x) in y.iter_mut().zip(&x[place.clone()]) {
            *y = c * T::from_f64(x.to_f64()) + *y;
        }
    }
}

/// `x · y` of a piece, summed up in `f64`.
#[inline(always)]
pub fn dot<T: Real>(x: &[T], y: &[T]) -> f64 {
    let mut sums = [0.0; PARTIAL_SUMS];
    let (xs, ys) = (x.chunks_exact(PARTIAL_SUMS), y.chunks_exact(PARTIAL_SUMS));
    let rest: f64 = xs.remainder().iter().zip(ys.remainder()).map(|(x, y)| x.to_f64() * y.to_f64()).sum();
    for (x, y) in xs.zip(ys) {
        for i in 0..PARTIAL_SUMS {
            sums[i] += x[i].to_f64() * y[i].to_f64();
        }
    }
    sums.iter().sum::<f64>() + rest
}
