//! A dense matrix along an axis of a tensor by products of small matrices, run on the host (`patchmg_emulation`), against a plain loop.

#[path = "common/numbers.rs"]
mod numbers;

use numbers::{found, numbers};
use patchmg_device::dense::{DenseShape, ampere, arranged, hopper};
use patchmg_device::kernels::Module;
use patchmg_device::scalar::Real;
use patchmg_device::typed::Arguments as Parameters;
use patchmg_emulation::{Arguments, Kernel};

fn check<T: Real, P: Parameters<Scalar = T>>(
    module: Module,
    shape: DenseShape,
    add: bool,
    parameters: impl Fn(*const f64, *const T, *mut T, u32) -> P,
) {
    assert!(shape.is_taken::<T>([0, 0]));
    let [outer, rows, columns, inner] = [shape.outer, shape.rows, shape.columns, shape.inner].map(|size| size as usize);
    let part = |first: u32, count: u32| first as usize..(first + count) as usize;
    let of_rows = part(shape.first_row, shape.row_count);
    let of_columns = part(shape.first_column, shape.column_count);
    let entries = numbers::<f64>(rows * columns, 3);
    let entry = |row: usize, column: usize| entries[row * columns + column];
    // Nothing outside of these columns is read.
    let mut x = numbers::<T>(outer * columns * inner, 5);
    let is_read = |place: usize| of_columns.contains(&(place / inner % columns));
    x.iter_mut().enumerate().filter(|&(place, _)| !is_read(place)).for_each(|(_, x)| *x = T::from_f64(f64::NAN));
    let old = found::<T>(outer * rows * inner, 8, add);
    let mut expected = old.clone();
    for o in 0..outer {
        for row in 0..rows {
            for i in 0..inner {
                let y = &mut expected[(o * rows + row) * inner + i];
                let begin = if add { y.to_f64() } else { 0.0 };
                let products = of_columns
                    .clone()
                    .map(|column| entry(row, column) * x[(o * columns + column) * inner + i].to_f64());
                let products = products.filter(|_| of_rows.contains(&row));
                *y = T::from_f64(products.fold(begin, |sum, product| sum + product));
            }
        }
    }
    let mut y = old;
    let matrix =
        arranged(of_rows.len(), of_columns.len(), |row, column| entry(of_rows.start + row, of_columns.start + column));
    let arguments = parameters(matrix.as_ptr(), x.as_ptr(), y.as_mut_ptr(), u32::from(add));
    let kernel = Kernel::new(module, P::spec(module)).unwrap();
    // SAFETY: the matrix and the vectors are as the shape says.
    unsafe { kernel.run(shape.blocks(), Arguments { typed: Some(&arguments), ..Arguments::default() }) };
    assert_eq!(y, expected, "{shape:?}");
}

fn check_all<T: Real + cuda_std::shared::Word>(shape: DenseShape) {
    for add in [false, true] {
        if shape.inner == 1 {
            check(ampere::MODULE, shape, add, |matrix, x, y, add| ampere::Along::<T> { matrix, x, y, shape, add });
            check(hopper::MODULE, shape, add, |matrix, x, y, add| hopper::Along::<T> { matrix, x, y, shape, add });
        } else {
            check(ampere::MODULE, shape, add, |matrix, x, y, add| ampere::Across::<T> { matrix, x, y, shape, add });
            check(hopper::MODULE, shape, add, |matrix, x, y, add| hopper::Across::<T> { matrix, x, y, shape, add });
        }
    }
}

/// All rows and columns have entries.
fn full([outer, rows, columns, inner]: [u32; 4]) -> DenseShape {
    DenseShape { outer, rows, columns, inner, first_row: 0, row_count: rows, first_column: 0, column_count: columns }
}

/// Rows, columns and lines that fill blocks and that do not; rows and columns without entries at both ends.
#[test]
fn along_rows() {
    for sizes in [[3, 70, 36, 1], [130, 3, 4, 1]] {
        check_all::<f32>(full(sizes));
        check_all::<f64>(full(sizes));
    }
    check_all::<f64>(full([3, 5, 6, 1]));
    let part = DenseShape { first_row: 2, row_count: 65, first_column: 4, column_count: 12, ..full([5, 70, 20, 1]) };
    check_all::<f32>(part);
    check_all::<f64>(part);
}

#[test]
fn across_rows() {
    for sizes in [[1, 3, 5, 4], [3, 70, 19, 60]] {
        check_all::<f32>(full(sizes));
        check_all::<f64>(full(sizes));
    }
    check_all::<f64>(full([3, 5, 6, 2]));
    let part = DenseShape { first_row: 1, row_count: 8, first_column: 3, column_count: 5, ..full([2, 11, 9, 12]) };
    check_all::<f32>(part);
    check_all::<f64>(part);
}

#[test]
fn tensors_whose_rows_are_no_whole_chunks_are_not_taken() {
    let shape = full([2, 64, 66, 1]);
    assert!(!shape.is_taken::<f32>([0, 0]) && shape.is_taken::<f64>([0, 0]));
    let shape = full([2, 64, 66, 7]);
    assert!(!shape.is_taken::<f32>([0, 0]) && !shape.is_taken::<f64>([0, 0]));
    let shape = full([2, 64, 68, 1]);
    assert!(!shape.is_taken::<f32>([2, 0]) && shape.is_taken::<f64>([2, 0]) && !shape.is_taken::<f64>([1, 0]));
    assert!(!shape.is_taken::<f64>([0, 1]));
    let shifted = DenseShape { first_column: 2, column_count: 64, ..shape };
    assert!(!shifted.is_taken::<f32>([0, 0]) && shifted.is_taken::<f64>([0, 0]));
}
