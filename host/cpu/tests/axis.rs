//! Matrices along an axis, against a plain loop. Not in their file: the kernels are not compiled again for tests.

use patchmg_cpu::{AxisMatrix, SimdLevel, Sweep, Vectorized, apply_along_axis};
use patchmg_device::scalar::Value;

/// Numbers between -1 and 1 whose products need rounding.
fn numbers<T: Vectorized>(count: usize, seed: usize) -> Vec<T> {
    (0..count).map(|i| T::from_f64(((i * 7919 + seed * 104_729 + 1) % 1009) as f64 / 504.5 - 1.0)).collect()
}

/// `y = (I ⊗ Q ⊗ I) x`, or `y += ..`, entry by entry.
fn reference<T: Vectorized>(q: &AxisMatrix<T>, inner: usize, outer: usize, x: &[T], y: &mut [T], add: bool) {
    for (index, y) in y.iter_mut().enumerate().take(outer * q.rows * inner) {
        let (line, i, o) = (index % inner, index / inner % q.rows, index / inner / q.rows);
        let mut sum = if add { *y } else { <T as Value<T>>::ZERO };
        for t in 0..q.count[i] as usize {
            let column = q.first[i] as usize + t;
            sum = T::fma(q.entries[t * q.rows + i], x[(o * q.columns + column) * inner + line], sum);
        }
        *y = sum;
    }
}

/// Bit for bit, on any number of threads, and not beyond the last line.
fn check<T: Vectorized>() {
    // Bands and full matrices along x, y and z; lines of one piece and of several, in one task and in many.
    let cases = [
        (5, 12, 4, 1, 7),
        (33, 70, 5, 1, 300),
        (40, 40, 40, 1, 200),
        (7, 9, 3, 6, 11),
        (7, 9, 3, 6, 600),
        (24, 12, 12, 2100, 2),
        (9, 20, 6, 5000, 1),
        (1, 1, 1, 1, 1),
        (3, 4, 2, 17, 0),
    ];
    for threads in [1, 2, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let sweep = Sweep { pool: &pool, simd: SimdLevel::detect().unwrap() };
        for (rows, columns, width, inner, outer) in cases {
            let spread = |row: usize| (row * (columns - width)).div_ceil(rows) as u32;
            let first = (0..rows).map(spread).collect();
            // Shorter rows beside longer ones.
            let count: Vec<u32> = (0..rows).map(|row| (width - row % width.min(7)) as u32).collect();
            let mut entries = numbers::<T>(rows * width, 1);
            for (row, &count) in count.iter().enumerate() {
                (count as usize..width).for_each(|t| entries[t * rows + row] = <T as Value<T>>::ZERO);
            }
            let q = AxisMatrix { rows, columns, width, first, count, entries };
            let x = numbers(outer * columns * inner + 3, 2);
            for add in [false, true] {
                let mut y = numbers(outer * rows * inner + 5, 3);
                let mut expected = y.clone();
                reference(&q, inner, outer, &x, &mut expected, add);
                apply_along_axis(sweep, &q, inner, outer, &x, &mut y, add);
                assert!(y == expected, "{rows} x {columns}, width {width}, inner {inner}, outer {outer}, add {add}");
            }
        }
    }
}

#[test]
fn it_is_equivalent_to_a_plain_loop() {
    check::<f32>();
    check::<f64>();
}

#[test]
fn rows_stay_within_the_matrix() {
    let rows = [vec![], vec![(0, 1.0), (1, 2.0), (2, 3.0)], vec![(4, 5.0)], vec![(2, 1.0), (4, -1.0)]];
    let matrix = AxisMatrix::from_rows(5, &rows);
    assert_eq!((matrix.width, matrix.first.clone(), matrix.count.clone()), (3, vec![0, 0, 2, 2], vec![0, 3, 3, 3]));
    let entry = |matrix: &AxisMatrix<f64>, i: usize, j: usize| {
        let t = j.wrapping_sub(matrix.first[i] as usize);
        if t < matrix.width { matrix.entries[t * matrix.rows + i] } else { 0.0 }
    };
    let (dense, transposed) = (AxisMatrix::dense(4, 5, |i, j| entry(&matrix, i, j)), matrix.transposed());
    for (i, j) in (0..4).flat_map(|i| (0..5).map(move |j| (i, j))) {
        let expected = rows[i].iter().find(|(column, _)| *column == j).map_or(0.0, |(_, value)| *value);
        assert_eq!([entry(&matrix, i, j), entry(&dense, i, j), entry(&transposed, j, i)], [expected; 3]);
    }
}
