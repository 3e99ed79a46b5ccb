//! A matrix along an axis of a tensor, run on the host (`patchmg_emulation`), against a plain loop.

use patchmg_device::axis::{Apply, AxisShape, MODULE};
use patchmg_device::scalar::Real;
use patchmg_device::typed::Arguments as _;
use patchmg_emulation::{Arguments, Kernel};

/// Numbers with few digits, so that products and sums of a few thousand of them are exact in `f32`, too.
fn numbers<T: Real>(count: usize, seed: usize) -> Vec<T> {
    (0..count).map(|index| T::from_f64(((index + seed) * 7919 % 31) as f64 - 15.0)).collect()
}

/// A matrix whose rows begin at these columns, applied to a tensor.
fn check<T: Real>(shape: AxisShape, first: impl Fn(usize) -> usize, add: bool) {
    let [outer, rows, columns, inner, width] =
        [shape.outer, shape.rows, shape.columns, shape.inner, shape.width].map(|size| size as usize);
    let first: Vec<u32> = (0..rows).map(|row| first(row) as u32).collect();
    assert!(first.iter().all(|&first| first as usize + width <= columns));
    let (entries, x) = (numbers::<T>(width * rows, 3), numbers::<T>(outer * columns * inner, 5));
    let old =
        if add { numbers::<T>(outer * rows * inner, 8) } else { vec![T::from_f64(f64::NAN); outer * rows * inner] };

    let mut expected = old.clone();
    for o in 0..outer {
        for row in 0..rows {
            for i in 0..inner {
                let y = &mut expected[(o * rows + row) * inner + i];
                *y = if add { *y } else { T::ZERO };
                for t in 0..width {
                    *y = *y + entries[t * rows + row] * x[(o * columns + first[row] as usize + t) * inner + i];
                }
            }
        }
    }

    let mut y = old;
    let (entries, first, x, add) = (entries.as_ptr(), first.as_ptr(), x.as_ptr(), u32::from(add));
    let arguments = Apply { entries, first, x, y: y.as_mut_ptr(), shape, add };
    let kernel = Kernel::new(MODULE, Apply::<T>::spec(MODULE)).unwrap();
    // SAFETY: the matrix and the vectors are as the shape says.
    unsafe { kernel.run(shape.blocks(), Arguments { typed: Some(&arguments), ..Arguments::default() }) };
    assert_eq!(y, expected, "{shape:?}");
}

fn check_all(shape: AxisShape, first: impl Fn(usize) -> usize) {
    for add in [false, true] {
        check::<f32>(shape, &first, add);
        check::<f64>(shape, &first, add);
    }
}

/// Outer and inner sizes: the axis is the first one, the last one, or one between; sizes that fill blocks and that do not.
const SIZES: [[u32; 2]; 8] = [[1, 1], [40, 1], [1, 5], [3, 16], [2, 257], [1, 600], [300, 3], [70, 1]];

#[test]
fn dense_matrices() {
    for [outer, inner] in SIZES {
        for [rows, columns] in [[1, 1], [8, 7], [20, 33]] {
            check_all(AxisShape { outer, rows, columns, inner, width: columns }, |_| 0);
        }
    }
    check_all(AxisShape { outer: 1, rows: 300, columns: 300, inner: 2, width: 300 }, |_| 0);
}

#[test]
fn banded_matrices() {
    for [outer, inner] in SIZES {
        // Restriction and prolongation of quadratic elements between 6 and 3 cells, as to their pattern.
        check_all(AxisShape { outer, rows: 6, columns: 12, inner, width: 7 }, |row| (2 * row).saturating_sub(3).min(5));
        check_all(AxisShape { outer, rows: 12, columns: 6, inner, width: 3 }, |row| (row / 4 * 2).min(3));
    }
    check_all(AxisShape { outer: 2, rows: 600, columns: 608, inner: 1, width: 9 }, |row| row);
}

#[test]
fn a_tensor_without_entries() {
    check_all(AxisShape { outer: 3, rows: 0, columns: 4, inner: 2, width: 2 }, |_| 0);
}

#[test]
#[should_panic(expected = "arguments of this kernel")]
fn arguments_of_another_kernel_are_refused() {
    let shape = AxisShape { outer: 1, rows: 1, columns: 1, inner: 1, width: 1 };
    let arguments = Apply::<f32>::zeros();
    let kernel = Kernel::new(MODULE, Apply::<f64>::spec(MODULE)).unwrap();
    // SAFETY: it does not come to the kernel.
    unsafe { kernel.run(shape.blocks(), Arguments { typed: Some(&arguments), ..Arguments::default() }) };
}
