//! Rows of nodes, which lie along x in memory: linear combinations of them, and matrices along them.

use crate::axis::AxisMatrix;
use crate::lanes::{Lanes, MAX_LANES, Vectorized};
use core::ops::Range;
use patchmg_device::scalar::Value;
use pulp::Simd;

/// Rows that [`along_x`] works on side by side.
pub const GROUP: usize = 4;
/// The most terms of a [`Combination`]: two continuous matrices and a gradient, of degree 8.
const MOST_TERMS: usize = 56;

/// The matrix of an axis across rows, without zeros at the ends of its rows.
pub struct Band<T> {
    rows: Vec<(usize, Range<usize>)>,
    entries: Vec<T>,
}

impl<T: Vectorized> Band<T> {
    /// Rounded.
    pub fn new(matrix: &AxisMatrix<f64>) -> Self {
        let (mut rows, mut entries) = (Vec::with_capacity(matrix.rows), Vec::new());
        for i in 0..matrix.rows {
            let row: Vec<f64> = (0..matrix.width).map(|t| matrix.entries[t * matrix.rows + i]).collect();
            let is_entry = |entry: &f64| *entry != 0.0;
            let begin = row.iter().position(is_entry).unwrap_or(0);
            let end = row.iter().rposition(is_entry).map_or(begin, |last| last + 1);
            let start = entries.len();
            entries.extend(row[begin..end].iter().map(|&entry| T::from_f64(entry)));
            rows.push((matrix.first[i] as usize + begin, start..entries.len()));
        }
        Self { rows, entries }
    }

    pub fn bytes(&self) -> usize {
        size_of_val(self.rows.as_slice()) + size_of_val(self.entries.as_slice())
    }

    /// The first entry of a row; zero if it has none.
    #[inline(always)]
    pub fn first_entry(&self, index: usize) -> T {
        self.row(index).next().map_or(T::ZERO, |(_, entry)| entry)
    }

    /// The entries of a row, with their columns.
    #[inline(always)]
    pub fn row(&self, index: usize) -> impl Iterator<Item = (usize, T)> {
        let (first, range) = &self.rows[index];
        (*first..).zip(self.entries[range.clone()].iter().copied())
    }
}

/// The matrix of the axis along rows: diagonal `d` has entry `(i, i + d - below)` at `i`, and zeros behind the last row.
pub struct Diagonals<T> {
    below: usize,
    count: usize,
    stride: usize,
    entries: Vec<T>,
}

impl<T: Vectorized> Diagonals<T> {
    /// Rounded.
    pub fn new(matrix: &AxisMatrix<f64>) -> Self {
        let entries = || {
            let of_row = |i: usize| (0..matrix.width).map(move |t| (i, matrix.first[i] as usize + t, t));
            let entries = (0..matrix.rows).flat_map(of_row);
            entries.map(|(i, j, t)| (i, j, matrix.entries[t * matrix.rows + i])).filter(|&(.., entry)| entry != 0.0)
        };
        let below = entries().map(|(i, j, _)| i.saturating_sub(j)).max().unwrap_or(0);
        let above = entries().map(|(i, j, _)| j.saturating_sub(i)).max().unwrap_or(0);
        let (count, stride) = (below + 1 + above, matrix.rows.next_multiple_of(MAX_LANES));
        let mut diagonals = vec![T::ZERO; count * stride];
        for (i, j, entry) in entries() {
            diagonals[(j + below - i) * stride + i] = T::from_f64(entry);
        }
        Self { below, count, stride, entries: diagonals }
    }

    pub fn bytes(&self) -> usize {
        size_of_val(self.entries.as_slice())
    }
}

/// `Σ c_t x_t` of rows `x_t`.
pub struct Combination<T> {
    terms: [(T, *const T); MOST_TERMS],
    count: usize,
}

impl<T: Vectorized> Combination<T> {
    #[inline(always)]
    pub fn new() -> Self {
        Self { terms: [(T::ZERO, core::ptr::null()); MOST_TERMS], count: 0 }
    }

    /// Begins anew.
    #[inline(always)]
    pub fn clear(&mut self) -> &mut Self {
        self.count = 0;
        self
    }

    /// Adds a row.
    ///
    /// # Panics
    /// If there are as many as a kernel can have.
    #[inline(always)]
    pub fn add(&mut self, coefficient: T, row: *const T) -> &mut Self {
        self.terms[self.count] = (coefficient, row);
        self.count += 1;
        self
    }

    /// Writes the sum to a row.
    ///
    /// # Safety
    /// The rows must have so many nodes, and the result room for whole registers; it must not be one of the rows.
    #[inline(always)]
    pub unsafe fn write<S: Simd>(&self, nodes: usize, result: *mut T) {
        let width = Lanes::<S, T>::WIDTH;
        let mut first = 0;
        // SAFETY: the caller's promise.
        unsafe {
            while first + 6 * width <= nodes {
                self.write_registers::<S, 6>(first, result);
                first += 6 * width;
            }
            if first + 4 * width <= nodes {
                self.write_registers::<S, 4>(first, result);
                first += 4 * width;
            }
            if first + 2 * width <= nodes {
                self.write_registers::<S, 2>(first, result);
                first += 2 * width;
            }
            if first + width <= nodes {
                self.write_registers::<S, 1>(first, result);
                first += width;
            }
            if first < nodes {
                let mut sum = Lanes::<S, T>::ZERO;
                for (coefficient, row) in &self.terms[..self.count] {
                    sum = Lanes::fma(*coefficient, Lanes::load_part(row.add(first), nodes - first), sum);
                }
                sum.store(result.add(first));
            }
        }
    }

    /// # Safety
    /// As for [`Self::write`].
    #[inline(always)]
    unsafe fn write_registers<S: Simd, const B: usize>(&self, first: usize, result: *mut T) {
        let mut sums = [Lanes::<S, T>::ZERO; B];
        for (coefficient, row) in &self.terms[..self.count] {
            for (register, sum) in sums.iter_mut().enumerate() {
                // SAFETY: the caller's promise.
                let x = unsafe { Lanes::load(row.add(first + register * Lanes::<S, T>::WIDTH)) };
                *sum = Lanes::fma(*coefficient, x, *sum);
            }
        }
        for (register, sum) in sums.into_iter().enumerate() {
            // SAFETY: the caller's promise.
            unsafe { sum.store(result.add(first + register * Lanes::<S, T>::WIDTH)) };
        }
    }
}

/// Rows of a workspace: the first node of the first one, and how far the next one is.
#[derive(Clone, Copy)]
pub struct PaddedRows<T> {
    pub first: *mut T,
    pub apart: usize,
}

impl<T> PaddedRows<T> {
    #[inline(always)]
    pub fn row(self, index: usize) -> *mut T {
        self.first.wrapping_add(index * self.apart)
    }
}

/// `y = Σ Q x` over matrices along rows, or `b - Σ Q x`: `R` rows, `apart` entries from each to the next.
///
/// # Safety
/// `y` and `b` must have these rows of `nodes` nodes, of which nobody else may use those of `y` meanwhile; padding around
/// the rows of `x` must be finite numbers, as many as there are diagonals beside the main one, and behind its last node a
/// register more.
#[inline(always)]
pub unsafe fn along_x<S: Simd, T: Vectorized, const R: usize>(
    terms: &[(&Diagonals<T>, PaddedRows<T>)],
    b: Option<*const T>,
    y: *mut T,
    apart: usize,
    nodes: usize,
) {
    let width = Lanes::<S, T>::WIDTH;
    for first in (0..nodes).step_by(width) {
        let mut sums = [Lanes::<S, T>::ZERO; R];
        // SAFETY (this block): the caller's promise; diagonals have whole registers.
        unsafe {
            for (matrix, rows) in terms {
                let mut x = rows.first.wrapping_add(first).wrapping_sub(matrix.below).cast_const();
                let mut entries = matrix.entries.as_ptr().add(first);
                for _ in 0..matrix.count {
                    let coefficients = Lanes::load(entries);
                    for (r, sum) in sums.iter_mut().enumerate() {
                        *sum = coefficients.times_add(Lanes::load(x.add(r * rows.apart)), *sum);
                    }
                    x = x.wrapping_add(1);
                    entries = entries.wrapping_add(matrix.stride);
                }
            }
            let active = nodes - first;
            for (r, mut sum) in sums.into_iter().enumerate() {
                let place = first + r * apart;
                if active >= width {
                    if let Some(b) = b {
                        sum = Lanes::load(b.add(place)) - sum;
                    }
                    sum.store(y.add(place));
                } else {
                    if let Some(b) = b {
                        sum = Lanes::load_part(b.add(place), active) - sum;
                    }
                    sum.store_part(y.add(place), active);
                }
            }
        }
    }
}
