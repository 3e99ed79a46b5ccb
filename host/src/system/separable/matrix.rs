//! Matrices of a direction on a machine: sums of banded ones, as those that reach around a period are.

use super::line::{Ends, Line, Rows};
use crate::backend::{AxisMatrix, Backend, Scalar};
use crate::error::Result;
use crate::system::axes::{AxisSum, matrix_bytes};
use std::sync::Arc;

/// With so many columns, along a line.
pub(super) fn matrix<B: Backend, T: Scalar>(
    backend: &B,
    line: &Line,
    columns: usize,
    rows: &Rows,
) -> Result<AxisSum<B, T>> {
    let pieces = line.pieces(columns, rows).into_iter().map(|piece| Ok(Arc::new(backend.axis_matrix(&piece)?)));
    Ok(AxisSum(pieces.collect::<Result<_>>()?))
}

/// The same of one that is nearly full, if the line is one patch.
pub(super) fn of_patches<B: Backend, T: Scalar>(
    backend: &B,
    line: &Line,
    columns: usize,
    rows: &Rows,
) -> Result<AxisSum<B, T>> {
    if !line.is_whole() {
        return matrix(backend, line, columns, rows);
    }
    Ok(AxisSum(vec![Arc::new(backend.dense_axis_matrix(&AxisMatrix::from_rows(columns, rows))?)]))
}

/// Bytes of one with so many rows and entries a row, at most.
pub(super) fn bytes<T: Scalar>(line: &Line, rows: usize, width: usize) -> u64 {
    bytes_of_pieces::<T>(line.ends == Ends::Periodic, rows, width)
}

/// The same of one whose rows reach around a period, which makes it two pieces, or do not.
pub(super) fn bytes_of_pieces<T: Scalar>(reaches_around: bool, rows: usize, width: usize) -> u64 {
    if reaches_around { 2 * matrix_bytes::<T>(rows, width) } else { matrix_bytes::<T>(rows, width) }
}

/// Entries of a row of nodes of each direction; 1 in the third in 2D.
pub(super) fn sizes(lines: &[Line]) -> [usize; 3] {
    [0, 1, 2].map(|d| lines.get(d).map_or(1, Line::stored))
}
