//! Dense matrices along an axis of tensors, as products of matrices, which find more in cache than sums row by row.

use nalgebra::{Dyn, MatrixView, MatrixViewMut, RealField};
use patchmg_cpu::AxisMatrix;
use rayon::prelude::*;

/// Lines that one product has at most. A constant, so that results do not depend on the number of threads.
const LINES: usize = 128;

type View<'a, T> = MatrixView<'a, T, Dyn, Dyn, Dyn, Dyn>;
type ViewMut<'a, T> = MatrixViewMut<'a, T, Dyn, Dyn, Dyn, Dyn>;

/// The column in which all rows that have entries begin, if they are many and so are the lines.
pub fn first_column<T>(matrix: &AxisMatrix<T>, lines: usize) -> Option<usize> {
    let mut firsts = matrix.first.iter().zip(&matrix.count).filter(|&(_, &count)| count > 0).map(|(&first, _)| first);
    let first = firsts.next()?;
    let is_dense = matrix.is_large() && lines >= LINES && firsts.all(|other| other == first);
    is_dense.then_some(first as usize)
}

/// `y = (I ⊗ Q ⊗ I) x`, or `y += ..` if `add`, by the threads of the caller, for a matrix whose rows [begin](first_column) in one column.
pub fn apply<T: RealField + Copy>(
    matrix: &AxisMatrix<T>,
    first: usize,
    [inner, outer]: [usize; 2],
    x: &[T],
    y: &mut [T],
    add: bool,
) {
    let &AxisMatrix { rows, columns, width, ref entries, .. } = matrix;
    let transposed = View::from_slice_with_strides(entries, width, rows, rows, 1);
    let (old, y) = (if add { T::one() } else { T::zero() }, &mut y[..outer * rows * inner]);
    if inner == 1 {
        let x = View::from_slice_with_strides(&x[first..], outer, width, columns, 1);
        return multiply(ViewMut::from_slice_with_strides_mut(y, outer, rows, rows, 1), x, transposed, old);
    }
    let (of_x, of_y) = (x.chunks(columns * inner), y.par_chunks_mut(rows * inner));
    of_y.zip(of_x.collect::<Vec<_>>()).for_each(|(y, x)| {
        let x = View::from_slice_with_strides(&x[first * inner..], inner, width, 1, inner);
        multiply(ViewMut::from_slice_with_strides_mut(y, inner, rows, 1, inner), x, transposed, old);
    });
}

/// `y = x matrix + old y`; each row is a line.
fn multiply<T: RealField + Copy>(mut y: ViewMut<T>, x: View<T>, matrix: View<T>, old: T) {
    let lines = y.nrows();
    if lines <= LINES {
        return y.gemm(T::one(), &x, &matrix, old);
    }
    let half = (lines / 2).next_multiple_of(LINES);
    let (lower, upper) = y.rows_range_pair_mut(..half, half..);
    rayon::join(
        || multiply(lower, x.rows_range(..half), matrix, old),
        || multiply(upper, x.rows_range(half..), matrix, old),
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::random;

    /// Against sums, for rows of which some are empty.
    #[test]
    fn products_are_sums_over_columns() {
        let (rows, columns) = (70, 81);
        let entries = random(rows * columns, 3);
        let row = |i: usize| -> Vec<(usize, f64)> {
            if i.is_multiple_of(9) { Vec::new() } else { (1..columns).map(|j| (j, entries[i * columns + j])).collect() }
        };
        let table: Vec<_> = (0..rows).map(row).collect();
        let matrix = AxisMatrix::from_rows(columns, &table);
        for [inner, outer] in [[1, 300], [150, 2], [128, 3]] {
            let first = first_column(&matrix, inner * outer).unwrap();
            let x = random(outer * columns * inner, 4);
            for add in [false, true] {
                let old = if add { random(outer * rows * inner, 5) } else { vec![f64::NAN; outer * rows * inner] };
                let mut y = old.clone();
                apply(&matrix, first, [inner, outer], &x, &mut y, add);
                for (place, y) in y.iter().enumerate() {
                    let (i, row, o) = (place % inner, place / inner % rows, place / (inner * rows));
                    let of_row = table[row].iter().map(|&(j, entry)| entry * x[(o * columns + j) * inner + i]);
                    let expected = of_row.sum::<f64>() + if add { old[place] } else { 0.0 };
                    assert!((y - expected).abs() < 1e-12, "inner {inner}, row {row}: {y} instead of {expected}");
                }
            }
        }
    }

    #[test]
    fn rows_of_different_columns_are_no_product() {
        let rows =
            |shift: usize| (0..100).map(|i| (0..90).map(|j| (j + i * shift / 50, 1.0)).collect()).collect::<Vec<_>>();
        assert_eq!(first_column(&AxisMatrix::from_rows(100, &rows(0)), 1000), Some(0));
        assert_eq!(first_column(&AxisMatrix::from_rows(100, &rows(0)), 1), None);
        assert_eq!(first_column(&AxisMatrix::from_rows(100, &rows(1)), 1000), None);
    }
}
