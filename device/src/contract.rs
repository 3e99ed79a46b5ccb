//! THE tensor contraction: a 1D matrix times one mode of a tensor, one column at a time, the column in registers.
//!
//! A patch (two equal cells) and a cell are symmetric about their middle, so every 1D matrix `C` of `R` rows and
//! columns `0..N` is centrosymmetric, `C[R-1-i][N-1-j] = C[i][j]`, and maps even columns to even ones and odd to odd.
//! Splitting `x` into its even and odd part halves the multiplications and the coefficients: `R N / 2` instead of
//! `R N`. Eigenvectors are even or odd themselves; [`Parity`] holds them.

use crate::scalar::{Real, Value};
use bytemuck::{Pod, Zeroable};

/// A centrosymmetric matrix of `R` rows and `N` columns, `H = ceil(R / 2)`, as its even and odd part.
///
/// Row `i < H` holds `C[i][j] + C[i][N-1-j]` for `j < ceil(N/2)` (the middle column once, if `N` is odd), then
/// `C[i][j] - C[i][N-1-j]` for `j < floor(N/2)`; both halved, so that `y_i = e_i + o_i` and `y_{R-1-i} = e_i - o_i`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Centrosymmetric<T, const N: usize, const H: usize> {
    rows: [[T; N]; H],
}

// SAFETY: an array of `Pod` numbers without padding.
unsafe impl<T: Zeroable, const N: usize, const H: usize> Zeroable for Centrosymmetric<T, N, H> {}
// SAFETY: as above; `repr(C)` over one array has no padding.
unsafe impl<T: Pod, const N: usize, const H: usize> Pod for Centrosymmetric<T, N, H> {}

impl<T: Real, const N: usize, const H: usize> Centrosymmetric<T, N, H> {
    /// From the entries `C[i][j]` of the first `H` rows.
    pub fn new(entry: impl Fn(usize, usize) -> f64) -> Self {
        let even = N.div_ceil(2);
        let mut rows = [[T::ZERO; N]; H];
        for (i, row) in rows.iter_mut().enumerate() {
            for (j, coefficient) in row.iter_mut().enumerate() {
                *coefficient = T::from_f64(if j >= even {
                    0.5 * (entry(i, j - even) - entry(i, N - 1 - (j - even)))
                } else if 2 * j + 1 == N {
                    entry(i, j)
                } else {
                    0.5 * (entry(i, j) + entry(i, N - 1 - j))
                });
            }
        }
        Self { rows }
    }

    /// `factor C`.
    pub fn times(&self, factor: T) -> Self {
        Self { rows: self.rows.map(|row| row.map(|coefficient| factor * coefficient)) }
    }

    /// `y = C x` with `R` rows, `ceil(R / 2) = H`.
    #[inline(always)]
    pub fn apply<V: Value<T>, const R: usize>(&self, x: &[V; N]) -> [V; R] {
        const { assert!(R.div_ceil(2) == H) }
        let split = Split::new(x);
        let mut y = [V::ZERO; R];
        for i in 0..H {
            let (even, odd) = self.row(i, &split);
            y[R - 1 - i] = even - odd;
            y[i] = if 2 * i + 1 == R { even } else { even + odd };
        }
        y
    }

    /// `y = C x` of a matrix with `C[N-1-i][N-1-j] = -C[i][j]`, of which these are the first rows: derivatives.
    #[inline(always)]
    pub fn apply_anti<V: Value<T>>(&self, x: &[V; N]) -> [V; N] {
        const { assert!(N.div_ceil(2) == H) }
        let split = Split::new(x);
        let mut y = [V::ZERO; N];
        for i in 0..H {
            let (even, odd) = self.row(i, &split);
            y[N - 1 - i] = odd - even;
            y[i] = even + odd;
        }
        y
    }

    /// `C x + D z`, both with `R` rows.
    #[inline(always)]
    pub fn apply_sum<V: Value<T>, const R: usize>(&self, x: &[V; N], other: &Self, z: &[V; N]) -> [V; R] {
        const { assert!(R.div_ceil(2) == H) }
        let (x, z) = (Split::new(x), Split::new(z));
        let mut y = [V::ZERO; R];
        for i in 0..H {
            let (even, odd) = self.row(i, &x);
            let (even, odd) = other.row_add(i, &z, even, odd);
            y[R - 1 - i] = even - odd;
            y[i] = if 2 * i + 1 == R { even } else { even + odd };
        }
        y
    }

    /// Adds `C x`, split into its even and odd part, to such a sum; [`Self::join`] gives what it is of.
    #[inline(always)]
    pub fn add_split<V: Value<T>>(&self, x: &[V; N], sum: &mut [(V, V); H]) {
        let x = Split::new(x);
        for i in 0..H {
            sum[i] = self.row_add(i, &x, sum[i].0, sum[i].1);
        }
    }

    /// `y` with `R` rows, `ceil(R / 2) = H`, from its even and odd part.
    #[inline(always)]
    pub fn join<V: Value<T>, const R: usize>(parts: &[(V, V); H]) -> [V; R] {
        const { assert!(R.div_ceil(2) == H) }
        let mut y = [V::ZERO; R];
        for i in 0..H {
            let (even, odd) = parts[i];
            y[R - 1 - i] = even - odd;
            y[i] = if 2 * i + 1 == R { even } else { even + odd };
        }
        y
    }

    /// Row `i < H` times a column: even and odd part of the result, whose entry `i` is their sum and `R - 1 - i` their
    /// difference.
    #[inline(always)]
    pub fn row<V: Value<T>>(&self, i: usize, x: &Split<V, N>) -> (V, V) {
        self.row_add(i, x, V::ZERO, V::ZERO)
    }

    /// [`Self::row`] added to such parts.
    #[inline(always)]
    pub fn row_add<V: Value<T>>(&self, i: usize, x: &Split<V, N>, mut even: V, mut odd: V) -> (V, V) {
        let half = N.div_ceil(2);
        for j in 0..half {
            even = V::fma(self.rows[i][j], x.parts[j], even);
        }
        for j in half..N {
            odd = V::fma(self.rows[i][j], x.parts[j], odd);
        }
        (even, odd)
    }
}

/// A column as its even part (`ceil(N/2)` sums `x_j + x_{N-1-j}`, the middle entry once), then its odd part.
pub struct Split<V, const N: usize> {
    parts: [V; N],
}

impl<V: Copy, const N: usize> Split<V, N> {
    /// Of a column.
    #[inline(always)]
    pub fn new<T>(x: &[V; N]) -> Self
    where
        V: Value<T>,
    {
        let half = N.div_ceil(2);
        let mut parts = *x;
        for j in 0..N / 2 {
            parts[j] = x[j] + x[N - 1 - j];
            parts[half + j] = x[j] - x[N - 1 - j];
        }
        if N % 2 == 1 {
            parts[N / 2] = x[N / 2];
        }
        Self { parts }
    }
}

/// `M` functions on `M = 2E - 1` or `M = 2E` nodes, each even or odd about the middle: `E` even ones, then `M - E` odd ones.
///
/// `even[e][a]` is the value of even function `e` at node `a < E`, `odd[o][a]` that of odd function `o` at node `a < M - E`.
/// If `M` is odd, node `E - 1` is the middle, and the last row and column of `odd` are unused zeros.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Parity<T, const E: usize> {
    even: [[T; E]; E],
    odd: [[T; E]; E],
}

// SAFETY: two arrays of `Pod` numbers of the same alignment: no padding.
unsafe impl<T: Zeroable, const E: usize> Zeroable for Parity<T, E> {}
// SAFETY: as above.
unsafe impl<T: Pod, const E: usize> Pod for Parity<T, E> {}

impl<T: Real, const E: usize> Parity<T, E> {
    /// From `value(function, node)`, functions ordered even ones first.
    pub fn new<const M: usize>(value: impl Fn(usize, usize) -> f64) -> Self {
        const { assert!(M.div_ceil(2) == E) }
        let mut result = Self { even: [[T::ZERO; E]; E], odd: [[T::ZERO; E]; E] };
        for f in 0..E {
            for a in 0..E {
                result.even[f][a] = T::from_f64(value(f, a));
                if f < M - E && a < M - E {
                    result.odd[f][a] = T::from_f64(value(E + f, a));
                }
            }
        }
        result
    }

    /// `z_f = sum_a value(f, a) x_a`: nodes to functions (`S^T x`).
    #[inline(always)]
    pub fn analyze<V: Value<T>, const M: usize>(&self, x: &[V; M]) -> [V; M] {
        const { assert!(M.div_ceil(2) == E) }
        let mut z = [V::ZERO; M];
        let x = Split::new(x).parts;
        for f in 0..E {
            for a in 0..E {
                z[f] = V::fma(self.even[f][a], x[a], z[f]);
            }
        }
        for f in 0..M - E {
            for a in 0..M - E {
                z[E + f] = V::fma(self.odd[f][a], x[E + a], z[E + f]);
            }
        }
        z
    }

    /// `x_a = sum_f value(f, a) z_f`: functions to nodes (`S z`).
    #[inline(always)]
    pub fn synthesize<V: Value<T>, const M: usize>(&self, z: &[V; M]) -> [V; M] {
        const { assert!(M.div_ceil(2) == E) }
        let mut x = [V::ZERO; M];
        for a in 0..E {
            let (mut even, mut odd) = (V::ZERO, V::ZERO);
            for f in 0..E {
                even = V::fma(self.even[f][a], z[f], even);
            }
            if a < M - E {
                for f in 0..M - E {
                    odd = V::fma(self.odd[f][a], z[E + f], odd);
                }
                x[a] = even + odd;
                x[M - 1 - a] = even - odd;
            } else {
                x[a] = even;
            }
        }
        x
    }
}

/// `N` functions on `N` nodes without any symmetry.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Dense<T, const N: usize> {
    rows: [[T; N]; N],
}

// SAFETY: an array of `Pod` numbers without padding.
unsafe impl<T: Zeroable, const N: usize> Zeroable for Dense<T, N> {}
// SAFETY: as above.
unsafe impl<T: Pod, const N: usize> Pod for Dense<T, N> {}

impl<T: Real, const N: usize> Dense<T, N> {
    /// From its entries.
    pub fn new(entry: impl Fn(usize, usize) -> f64) -> Self {
        Self { rows: core::array::from_fn(|i| core::array::from_fn(|j| T::from_f64(entry(i, j)))) }
    }

    /// `D x`.
    #[inline(always)]
    pub fn times<V: Value<T>>(&self, x: &[V; N]) -> [V; N] {
        let mut y = [V::ZERO; N];
        for i in 0..N {
            for j in 0..N {
                y[i] = V::fma(self.rows[i][j], x[j], y[i]);
            }
        }
        y
    }

    /// `Dᵀ x`.
    #[inline(always)]
    pub fn transposed<V: Value<T>>(&self, x: &[V; N]) -> [V; N] {
        let mut y = [V::ZERO; N];
        for j in 0..N {
            for i in 0..N {
                y[j] = V::fma(self.rows[i][j], x[i], y[j]);
            }
        }
        y
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec::Vec;

    fn entries(count: usize) -> Vec<f64> {
        (0..count).map(|i| ((i * 37 + 11) % 101) as f64 / 50.0 - 1.0).collect()
    }

    fn centrosymmetric<const R: usize, const N: usize, const H: usize>() {
        let raw = entries(R * N);
        let c = |i: usize, j: usize| raw[i * N + j] + raw[(R - 1 - i) * N + N - 1 - j];
        let symmetric_d = |i: usize, j: usize| 0.5 * c(i, j) * c(i, j) - 0.3;
        let x: [f64; N] = core::array::from_fn(|j| raw[(3 * j + 1) % (R * N)]);
        let z: [f64; N] = core::array::from_fn(|j| raw[(5 * j + 2) % (R * N)]);
        let (cm, dm) = (Centrosymmetric::<f64, N, H>::new(c), Centrosymmetric::<f64, N, H>::new(symmetric_d));
        let y: [f64; R] = cm.apply(&x);
        let w: [f64; R] = cm.apply_sum(&x, &dm, &z);
        for i in 0..R {
            let cx: f64 = (0..N).map(|j| c(i, j) * x[j]).sum();
            let dz: f64 = (0..N).map(|j| symmetric_d(i, j) * z[j]).sum();
            assert!((y[i] - cx).abs() < 1e-13, "{R}x{N} row {i}: {} != {cx}", y[i]);
            assert!((w[i] - cx - dz).abs() < 1e-12, "{R}x{N} row {i}: {} != {}", w[i], cx + dz);
        }
    }

    #[test]
    fn centrosymmetric_equals_the_dense_product() {
        centrosymmetric::<3, 3, 2>();
        centrosymmetric::<2, 3, 1>();
        centrosymmetric::<3, 2, 2>();
        centrosymmetric::<4, 7, 2>();
        centrosymmetric::<7, 4, 4>();
        centrosymmetric::<5, 9, 3>();
        centrosymmetric::<17, 17, 9>();
        centrosymmetric::<17, 9, 9>();
    }

    fn anti<const N: usize, const H: usize>() {
        let raw = entries(N * N);
        let c = |i: usize, j: usize| raw[i * N + j] - raw[(N - 1 - i) * N + N - 1 - j];
        let x: [f64; N] = core::array::from_fn(|j| raw[(3 * j + 1) % (N * N)]);
        let y = Centrosymmetric::<f64, N, H>::new(c).apply_anti(&x);
        for (i, y) in y.into_iter().enumerate() {
            let cx: f64 = (0..N).map(|j| c(i, j) * x[j]).sum();
            assert!((y - cx).abs() < 1e-13, "{N} row {i}: {y} != {cx}");
        }
    }

    #[test]
    fn anti_equals_the_dense_product() {
        anti::<2, 1>();
        anti::<3, 2>();
        anti::<6, 3>();
        anti::<9, 5>();
    }

    fn parity<const E: usize, const M: usize>() {
        let raw = entries(M * M);
        let value = |f: usize, a: usize| {
            let (a, sign) = if a < E { (a, 1.0) } else { (M - 1 - a, -1.0) };
            if f < E {
                raw[f * M + a]
            } else if 2 * a + 1 == M {
                0.0
            } else {
                sign * raw[f * M + a]
            }
        };
        let s = Parity::<f64, E>::new::<M>(value);
        let x: [f64; M] = core::array::from_fn(|j| raw[(7 * j + 3) % (M * M)]);
        let z: [f64; M] = s.analyze(&x);
        let y: [f64; M] = s.synthesize(&x);
        for i in 0..M {
            let expected: f64 = (0..M).map(|a| value(i, a) * x[a]).sum();
            assert!((z[i] - expected).abs() < 1e-13, "analyze {i} of {M}: {} != {expected}", z[i]);
            let expected: f64 = (0..M).map(|f| value(f, i) * x[f]).sum();
            assert!((y[i] - expected).abs() < 1e-13, "synthesize {i} of {M}: {} != {expected}", y[i]);
        }
    }

    #[test]
    fn parity_equals_the_dense_product() {
        parity::<1, 1>();
        parity::<2, 3>();
        parity::<3, 5>();
        parity::<7, 13>();
        parity::<10, 19>();
        parity::<1, 2>();
        parity::<2, 4>();
        parity::<9, 18>();
    }

    #[test]
    fn dense_is_the_dense_product() {
        let raw = entries(5 * 5 + 5);
        let (dense, x) = (Dense::<f64, 5>::new(|i, j| raw[5 * i + j]), core::array::from_fn(|j| raw[25 + j]));
        let (y, z) = (dense.times(&x), dense.transposed(&x));
        for i in 0..5 {
            let expected: f64 = (0..5).map(|j| raw[5 * i + j] * x[j]).sum();
            assert!((y[i] - expected).abs() < 1e-14);
            let expected: f64 = (0..5).map(|j| raw[5 * j + i] * x[j]).sum();
            assert!((z[i] - expected).abs() < 1e-14);
        }
    }
}
