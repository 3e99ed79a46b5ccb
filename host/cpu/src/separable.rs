//! Separable operators on cells that lie anywhere, inverted by fast diagonalization: each cell has a list of its nodes, and eigenfunctions
//! of its own.

use super::indexed::{Tensor, line, set_line};
use super::lanes::{Lanes, Vectorized};
use super::sweep::Shared;
use core::ops::Range;
use patchmg_device::scalar::Value;
use pulp::{Simd, WithSimd};

/// What cells have for their approximate inverses. Cell `c` is lane `c % width` of batch `c / width`, the width being
/// [`indexed_width`](super::indexed_width): of a batch's lanes, for each entry, for each batch.
#[derive(Clone, Debug)]
pub struct SeparableCells<T> {
    /// Nodes of the `(k + 1)^dim` places, x fastest.
    pub nodes: Vec<u32>,
    /// `W`, of each place.
    pub weights: Vec<T>,
    /// `S`, a function in each column, by rows, for each direction.
    pub functions: Vec<T>,
    /// `1 / Σ_d Λ_d`, of each place.
    pub inverse_eigenvalues: Vec<T>,
}

/// Lines that are done at a time: as many as read an entry of a matrix once.
const LINES: usize = 4;

/// Batches that a thread does.
pub(super) struct Part<'a, T, const D: usize, const N: usize, const L: usize> {
    pub cells: &'a SeparableCells<T>,
    pub range: Range<usize>,
    pub x: &'a [T],
    pub sums: Shared<T>,
}

impl<T: Vectorized, const D: usize, const N: usize, const L: usize> WithSimd for Part<'_, T, D, N, L> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let SeparableCells { nodes, weights, functions, inverse_eigenvalues } = self.cells;
        let (width, places) = (Lanes::<S, T>::WIDTH, N * L);
        let [mut u, mut v] = [[[Lanes::<S, T>::ZERO; N]; L]; 2];
        let mut matrices = [[[Lanes::<S, T>::ZERO; N]; N]; D];
        for batch in self.range.clone() {
            let of_batch = batch * places * width..(batch + 1) * places * width;
            let values: &mut [T] = bytemuck::cast_slice_mut(u.as_flattened_mut());
            values.iter_mut().zip(&nodes[of_batch.clone()]).for_each(|(value, &node)| *value = self.x[node as usize]);
            let entries: &mut [T] = bytemuck::cast_slice_mut(matrices.as_flattened_mut().as_flattened_mut());
            entries.copy_from_slice(&functions[batch * D * N * N * width..][..D * N * N * width]);
            scale::<S, T>(&weights[of_batch.clone()], u.as_flattened_mut());
            for (d, matrix) in matrices.iter().enumerate() {
                contract::<S, T, N, L, true>(d, matrix, &u, &mut v);
                core::mem::swap(&mut u, &mut v);
            }
            scale::<S, T>(&inverse_eigenvalues[of_batch.clone()], u.as_flattened_mut());
            for (d, matrix) in matrices.iter().enumerate() {
                contract::<S, T, N, L, false>(d, matrix, &u, &mut v);
                core::mem::swap(&mut u, &mut v);
            }
            scale::<S, T>(&weights[of_batch.clone()], u.as_flattened_mut());
            for (place, value) in u.as_flattened().iter().enumerate() {
                // SAFETY: `sums` is as long as `nodes`, and a batch is in one range alone.
                unsafe { value.store(self.sums.pointer().add(of_batch.start + place * width)) };
            }
        }
    }
}

/// `u_i *= factors_i`.
#[inline(always)]
fn scale<S: Simd, T: Vectorized>(factors: &[T], u: &mut [Lanes<S, T>]) {
    for (u, factors) in u.iter_mut().zip(factors.chunks_exact(Lanes::<S, T>::WIDTH)) {
        // SAFETY: there are as many as lanes.
        let factors = unsafe { Lanes::<S, T>::load(factors.as_ptr()) };
        *u = factors.times_add(*u, Lanes::<S, T>::ZERO);
    }
}

/// `y = M x` along the lines of a direction, or `Mᵀ x`.
#[inline(always)]
fn contract<S: Simd, T: Vectorized, const N: usize, const L: usize, const TRANSPOSED: bool>(
    d: usize,
    matrix: &[[Lanes<S, T>; N]; N],
    x: &Tensor<S, T, N, L>,
    y: &mut Tensor<S, T, N, L>,
) {
    for first in (0..L / LINES * LINES).step_by(LINES) {
        contract_lines::<S, T, N, L, TRANSPOSED, LINES>([d, first], matrix, x, y);
    }
    for first in L / LINES * LINES..L {
        contract_lines::<S, T, N, L, TRANSPOSED, 1>([d, first], matrix, x, y);
    }
}

#[inline(always)]
fn contract_lines<
    S: Simd,
    T: Vectorized,
    const N: usize,
    const L: usize,
    const TRANSPOSED: bool,
    const COUNT: usize,
>(
    [d, first]: [usize; 2],
    matrix: &[[Lanes<S, T>; N]; N],
    x: &Tensor<S, T, N, L>,
    y: &mut Tensor<S, T, N, L>,
) {
    let place = |number: usize| [d, (first + number) % N, (first + number) / N];
    let mut lines = [[Lanes::<S, T>::ZERO; N]; COUNT];
    for number in 0..COUNT {
        lines[number] = line::<_, T, N, L>(x, place(number));
    }
    let mut results = [[Lanes::<S, T>::ZERO; N]; COUNT];
    for i in 0..N {
        let mut sums = [Lanes::<S, T>::ZERO; COUNT];
        for j in 0..N {
            let entry = if TRANSPOSED { matrix[j][i] } else { matrix[i][j] };
            for number in 0..COUNT {
                sums[number] = entry.times_add(lines[number][j], sums[number]);
            }
        }
        for number in 0..COUNT {
            results[number][i] = sums[number];
        }
    }
    for number in 0..COUNT {
        set_line::<_, T, N, L>(y, place(number), &results[number]);
    }
}
