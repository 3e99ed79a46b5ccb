//! A matrix along an axis of a tensor, run on the host (`patchmg_emulation`), against a plain loop.

#[path = "common/numbers.rs"]
mod numbers;

use numbers::{found, numbers};
use patchmg_device::axis::{Apply, AxisShape, MODULE};
use patchmg_device::scalar::Real;
use patchmg_device::typed::Arguments as _;
use patchmg_emulation::{Arguments, Kernel};
use std::ops::Range;

/// A matrix whose rows have entries in these columns, applied to a tensor. What is stored behind them is not read.
fn check<T: Real>(shape: AxisShape, columns_of: impl Fn(usize) -> Range<usize>, add: bool) {
    let [outer, rows, columns, inner] = [shape.outer, shape.rows, shape.columns, shape.inner].map(|size| size as usize);
    let of_rows: Vec<_> = (0..rows).map(columns_of).collect();
    assert!(of_rows.iter().all(|of_row| of_row.end <= columns));
    let width = of_rows.iter().map(ExactSizeIterator::len).max().unwrap_or(0);
    let (mut entries, x) = (numbers::<T>(width * rows, 3), numbers::<T>(outer * columns * inner, 5));
    for (row, of_row) in of_rows.iter().enumerate() {
        (of_row.len()..width).for_each(|t| entries[t * rows + row] = T::from_f64(f64::NAN));
    }
    let old = found::<T>(outer * rows * inner, 8, add);

    let mut expected = old.clone();
    for o in 0..outer {
        for row in 0..rows {
            for i in 0..inner {
                let y = &mut expected[(o * rows + row) * inner + i];
                *y = if add { *y } else { T::ZERO };
                for (t, column) in of_rows[row].clone().enumerate() {
                    *y = *y + entries[t * rows + row] * x[(o * columns + column) * inner + i];
                }
            }
        }
    }

    let mut y = old;
    let [first, count]: [Vec<u32>; 2] = [
        of_rows.iter().map(|of_row| of_row.start as u32).collect(),
        of_rows.iter().map(|of_row| of_row.len() as u32).collect(),
    ];
    let (entries, x, add) = (entries.as_ptr(), x.as_ptr(), u32::from(add));
    let (first, count) = (first.as_ptr(), count.as_ptr());
    let arguments = Apply { entries, first, count, x, y: y.as_mut_ptr(), shape, add };
    let kernel = Kernel::new(MODULE, Apply::<T>::spec(MODULE)).unwrap();
    // SAFETY: the matrix and the vectors are as the shape says.
    unsafe { kernel.run(shape.blocks(), Arguments { typed: Some(&arguments), ..Arguments::default() }) };
    assert_eq!(y, expected, "{shape:?}");
}

/// So many columns, from one on.
fn from(first: usize, count: usize) -> Range<usize> {
    first..first + count
}

fn check_all(shape: AxisShape, columns_of: impl Fn(usize) -> Range<usize>) {
    for add in [false, true] {
        check::<f32>(shape, &columns_of, add);
        check::<f64>(shape, &columns_of, add);
    }
}

/// Outer and inner sizes: the axis is the first one, the last one, or one between; sizes that fill blocks and that do not.
const SIZES: [[u32; 2]; 8] = [[1, 1], [40, 1], [1, 5], [3, 16], [2, 257], [1, 600], [300, 3], [70, 1]];

#[test]
fn dense_matrices() {
    for [outer, inner] in SIZES {
        for [rows, columns] in [[1, 1], [8, 7], [20, 33]] {
            check_all(AxisShape { outer, rows, columns, inner }, |_| 0..columns as usize);
        }
    }
    check_all(AxisShape { outer: 1, rows: 300, columns: 300, inner: 2 }, |_| 0..300);
}

#[test]
fn banded_matrices() {
    for [outer, inner] in SIZES {
        // Restriction and prolongation of quadratic elements between 6 and 3 cells, as to their pattern.
        check_all(AxisShape { outer, rows: 6, columns: 12, inner }, |row| from((2 * row).saturating_sub(3).min(5), 7));
        check_all(AxisShape { outer, rows: 12, columns: 6, inner }, |row| from((row / 4 * 2).min(3), 3));
        // Of other lengths, and none.
        check_all(AxisShape { outer, rows: 20, columns: 24, inner }, |row| from(row, row * 3 % 5));
    }
    check_all(AxisShape { outer: 2, rows: 600, columns: 608, inner: 1 }, |row| from(row, 9));
}

#[test]
fn a_tensor_without_entries() {
    check_all(AxisShape { outer: 3, rows: 0, columns: 4, inner: 2 }, |_| 0..2);
}

#[test]
#[should_panic(expected = "arguments of this kernel")]
fn arguments_of_another_kernel_are_refused() {
    let shape = AxisShape { outer: 1, rows: 1, columns: 1, inner: 1 };
    let arguments = Apply::<f32>::zeros();
    let kernel = Kernel::new(MODULE, Apply::<f64>::spec(MODULE)).unwrap();
    // SAFETY: it does not come to the kernel.
    unsafe { kernel.run(shape.blocks(), Arguments { typed: Some(&arguments), ..Arguments::default() }) };
}
