//! The diagonal of `Cᵀ A_cell C` for each cell, with `A_cell` as the [operator](super::operator) has it.
//!
//! Without lines that hang it is a sum over the words of the metric, each contracted with products of two 1D matrices entry by entry:
//! `B B` across the derivatives, `B E` and `E E` along them. With such lines it comes from columns, one a launch.

use super::lines::{CellMatrices, Place, Tensor, add_transposed, transposed};
use super::newton::leave_line;
use super::operator::{AtPoints, Metric, times_cell};
use super::{Groups, HangingLines};
use crate::scalar::Real;
#[cfg(not(target_arch = "nvptx64"))]
use crate::typed::Block;
use cuda_std::ptr::ldg;
use cuda_std::thread::sync_threads;

/// Products of entries of the 1D matrices, by rows.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct SquareMatrices<T, const N: usize> {
    /// `B B`.
    pub values: [[T; N]; N],
    /// `B E`.
    pub mixed: [[T; N]; N],
    /// `E E`.
    pub slopes: [[T; N]; N],
}

/// See [`Diagonal`](super::Diagonal).
#[cfg(not(target_arch = "nvptx64"))]
pub fn block<const DIM: usize, const N: usize>(scalar_bytes: usize) -> Block {
    let words = Groups::new(DIM, N).words() + 1;
    Block {
        threads: Place::<DIM, N>::STEP,
        min_blocks: 1,
        shared_bytes: 2 * Place::<DIM, N>::tensor_words() * scalar_bytes,
        barriers: words * (DIM - 1),
    }
}

/// See [`DiagonalHanging`](super::DiagonalHanging).
#[cfg(not(target_arch = "nvptx64"))]
pub fn block_hanging<const DIM: usize, const N: usize>(scalar_bytes: usize) -> Block {
    super::newton::block::<DIM, N>(scalar_bytes, true)
}

/// See [`Diagonal`](super::Diagonal).
///
/// # Safety
/// One block for each group of the tables, with the threads of the block; there are as many sums as nodes of all groups.
#[inline(always)]
pub unsafe fn diagonal<T: Real, const DIM: usize, const N: usize>(
    matrices: &SquareMatrices<T, N>,
    metric: Metric<T>,
    sums: *mut T,
) {
    let place = Place::<DIM, N>::of_thread();
    let SquareMatrices { values, mixed, slopes } = matrices;
    let words = const { Groups::new(DIM, N).words() };
    // SAFETY: the caller's promise.
    let line_of = |number: usize, factor: f64| unsafe {
        let mut line = [T::ZERO; N];
        for layer in 0..N {
            let entry = place.first(words) + (number * N + layer) * Place::<DIM, N>::STEP;
            // No `ldg`: the compiler would load all words at once, for which there are no registers.
            line[layer] = T::from_f64(factor) * *metric.tensor.add(entry);
        }
        line
    };
    let mut sum = [T::ZERO; N];
    if DIM == 2 {
        let of_words = [[slopes, slopes, values], [mixed, mixed, mixed], [values, values, slopes]];
        sum = add_word(0, of_words[0], place, line_of(0, 1.0), sum);
        sum = add_word(1, of_words[1], place, line_of(1, 2.0), sum);
        sum = add_word(0, of_words[2], place, line_of(2, 1.0), sum);
    } else {
        sum = add_word(0, [slopes, values, values], place, line_of(0, 1.0), sum);
        sum = add_word(1, [mixed, mixed, values], place, line_of(1, 2.0), sum);
        sum = add_word(0, [values, slopes, values], place, line_of(2, 1.0), sum);
        sum = add_word(1, [mixed, values, mixed], place, line_of(3, 2.0), sum);
        sum = add_word(0, [values, mixed, mixed], place, line_of(4, 2.0), sum);
        sum = add_word(1, [values, values, slopes], place, line_of(5, 1.0), sum);
    }
    let mut reaction = [T::ZERO; N];
    if AtPoints::<T, DIM, N>::reacts(metric) {
        for layer in 0..N {
            // SAFETY: as above.
            reaction[layer] = unsafe { metric.reaction(place, layer) };
        }
    }
    let number = if DIM == 2 { 1 } else { 0 };
    sum = add_word(number, [values, values, values], place, reaction, sum);
    // SAFETY: as above.
    unsafe { leave_line(sums, place, sum) };
}

/// Adds what a word contributes, from a line along x to one along the last direction; words use two tensors in turn.
#[inline(always)]
fn add_word<T: Real, const DIM: usize, const N: usize>(
    number: usize,
    [of_x, of_y, of_z]: [&[[T; N]; N]; 3],
    place: Place<DIM, N>,
    line: [T; N],
    sum: [T; N],
) -> [T; N] {
    let own = Tensor::new(number, place);
    own.write(0, &transposed(of_x, &line));
    sync_threads();
    if DIM == 3 {
        own.write(1, &transposed(of_y, &own.read(1)));
        sync_threads();
    }
    add_transposed(of_z, &own.read(DIM - 1), sum)
}

/// See [`DiagonalHanging`](super::DiagonalHanging).
///
/// # Safety
/// One block for each group of the tables, with the threads of the block; there are as many sums as nodes of all groups.
#[inline(always)]
pub unsafe fn diagonal_hanging<T: Real, const DIM: usize, const N: usize>(
    matrices: &CellMatrices<T, N>,
    lines: *const u32,
    metric: Metric<T>,
    column: u32,
    sums: *mut T,
) {
    let (place, last) = (Place::<DIM, N>::of_thread(), DIM - 1);
    let own = Tensor::new(0, place);
    // SAFETY: the caller's promise.
    let lines = HangingLines(unsafe { ldg(lines.add(place.slot())) });
    let is_column = |layer: usize| layer + N * place.line_of_cell() == column as usize;
    let mut u = [T::ZERO; N];
    for layer in 0..N {
        u[layer] = if is_column(layer) { T::from_f64(1.0) } else { T::ZERO };
    }
    u = own.interpolate(&matrices.halves, lines, u);
    // SAFETY: as above.
    u = unsafe { times_cell(matrices, metric, place, u) };
    u = own.interpolate_transposed(&matrices.halves, lines, [last, 0], u);
    for layer in 0..N {
        if is_column(layer) {
            // SAFETY: as above; the place is the thread's own.
            unsafe { *sums.add(place.first(1) + layer * Place::<DIM, N>::STEP) = u[layer] };
        }
    }
}
