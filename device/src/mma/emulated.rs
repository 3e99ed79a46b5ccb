//! A product on the host: lanes exchange their fragments.

use super::{LANES, Shape};
use cuda_std::emulate::exchange;
use std::vec;

/// Words of a lane's fragments of `A` and `B` together, at most.
const WORDS: usize = 24;

/// Adds a lane's elements of `A B` to `c`; `value` is that of an element of `A` or `B` among its register words.
///
/// Not generic, so that it is compiled here, with optimization: emulated kernels are not.
#[inline(never)]
pub fn multiply_add(shape: Shape, a: &[u32], b: &[u32], value: fn(&[u32], usize) -> f64, c: &mut [f64]) {
    let mut given = [0; WORDS];
    given[..a.len()].copy_from_slice(a);
    given[a.len()..a.len() + b.len()].copy_from_slice(b);
    let all = exchange(given);
    let Shape { rows, columns, inner, .. } = shape;
    let (mut left, mut right) = (vec![0.0; rows * inner], vec![0.0; inner * columns]);
    for (lane, words) in all.iter().enumerate() {
        let (a, b) = words.split_at(a.len());
        for i in 0..shape.a_elements() {
            let (row, column) = shape.a(lane, i);
            left[row * inner + column] = value(a, i);
        }
        for i in 0..shape.b_elements() {
            let (row, column) = shape.b(lane, i);
            right[row * columns + column] = value(b, i);
        }
    }
    let lane = cuda_std::thread::thread_idx_x() as usize % LANES;
    for (i, sum) in c.iter_mut().enumerate() {
        let (row, column) = shape.c(lane, i);
        for k in 0..inner {
            *sum = left[row * inner + k].mul_add(right[k * columns + column], *sum);
        }
    }
}
