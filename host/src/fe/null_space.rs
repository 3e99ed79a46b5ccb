//! Rounding after which constants lie exactly in the null space of a matrix.
//!
//! The rows of a stiffness matrix sum to zero, but rounding each entry by itself leaves some units of rounding. A solver
//! sees them as a reaction term that is the same on every cell: the error grows as `1 / h²` when the mesh is refined.

use nalgebra::DMatrix;

/// Binary fixed-point numbers: the multiples of a power of two.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FixedPoint {
    spacing: f64,
}

impl FixedPoint {
    /// The fixed-point numbers for rows of `terms` entries that sum to zero and whose absolute values sum to at most `largest`.
    ///
    /// Floating point numbers of `digits` binary digits sum up such a row exactly, in any order. The spacing is
    /// `g = 2^(e - digits)` with the least `e` such that `2^e` exceeds `largest` and what rounding can add to it. Positive and
    /// negative entries cancel, so a partial sum is at most `2^e / 2`, an integer times `g` of at most `digits - 1`
    /// digits. The digit to spare allows more: rows of two cells are added at their common node, and entries are
    /// halved for the even and odd parts of [`Centrosymmetric`](patchmg_device::contract::Centrosymmetric). Powers of two
    /// may multiply everything. All of these results are exact as well.
    pub fn of_row_sums(largest: f64, terms: usize, digits: u32) -> Self {
        let unit = 2f64.powi(1 - digits as i32);
        Self { spacing: unit * power_of_two_below(largest * (1.0 + terms as f64 * unit)) }
    }

    /// The nearest fixed-point number.
    pub fn round(self, value: f64) -> f64 {
        if self.spacing == 0.0 { value } else { (value / self.spacing).round() * self.spacing }
    }

    /// Rounds each entry but the pivots. The pivot of a row becomes minus the sum of the other entries, which is exact.
    ///
    /// The pivot of row `i` is in column `i (columns - 1) / (rows - 1)`: the diagonal of a square matrix. Symmetric matrices
    /// stay symmetric, and centrosymmetric ones centrosymmetric, to the last bit.
    pub fn with_zero_row_sums(self, matrix: &DMatrix<f64>) -> DMatrix<f64> {
        let (rows, columns) = matrix.shape();
        let mut rounded = matrix.map(|entry| self.round(entry));
        for i in 0..rows {
            let pivot = if rows > 1 { i * (columns - 1) / (rows - 1) } else { 0 };
            rounded[(i, pivot)] = 0.0;
            rounded[(i, pivot)] = -rounded.row(i).sum();
        }
        rounded
    }
}

/// Rounds a matrix whose rows sum to zero but for rounding: in floating point numbers of `digits` binary digits they then
/// sum to zero exactly, in any order ([`FixedPoint::of_row_sums`], [`FixedPoint::with_zero_row_sums`]).
///
/// Entries change by at most half a spacing `g`, pivots by at most `columns g / 2` and the error of their row's sum; `g` is
/// at most `2^(1 - digits)` times the largest row sum of absolute values.
pub fn with_zero_row_sums(matrix: &DMatrix<f64>, digits: u32) -> DMatrix<f64> {
    FixedPoint::of_row_sums(largest_row_sum(matrix), matrix.ncols(), digits).with_zero_row_sums(matrix)
}

/// As [`with_zero_row_sums`], for the stiffness matrix `K` of a 1D element with these nodes, symmetric and centrosymmetric:
/// besides, the energy `xᵀ K x` of a linear function stays within half a spacing `g` times the square of the shortest
/// distance of two nodes. An error there is one of the diffusion coefficient, which no refinement takes away.
///
/// With zero row sums `xᵀ K x = -Σ_{i<j} K_ij (x_i - x_j)²`. What rounding adds is taken back in steps of `g`, at most one an
/// entry, from the farthest pair of nodes to the nearest.
pub fn stiffness_with_zero_row_sums(matrix: &DMatrix<f64>, nodes: &[f64], digits: u32) -> DMatrix<f64> {
    stiffness_in_fixed_point(stiffness_fixed_point(largest_row_sum(matrix), nodes.len(), digits), matrix, nodes)
}

/// The fixed-point numbers of [`stiffness_with_zero_row_sums`], for a matrix of `n` rows whose absolute values sum to at most `largest`.
pub(crate) fn stiffness_fixed_point(largest: f64, n: usize, digits: u32) -> FixedPoint {
    // An entry may change by three halves of a spacing.
    FixedPoint::of_row_sums(largest, 3 * n, digits)
}

/// [`stiffness_with_zero_row_sums`] in given fixed-point numbers.
pub(crate) fn stiffness_in_fixed_point(grid: FixedPoint, matrix: &DMatrix<f64>, nodes: &[f64]) -> DMatrix<f64> {
    let n = matrix.nrows();
    let mut rounded = matrix.map(|entry| grid.round(entry));
    // A pair, its mirror image, and how much they weigh in the energy.
    let pairs = (0..n).flat_map(|i| (i + 1..n).map(move |j| (i, j))).filter(|&(i, j)| i + j < n);
    let weight = |&(i, j): &(usize, usize)| {
        let distance = nodes[j] - nodes[i];
        distance * distance * if i + j + 1 == n { 1.0 } else { 2.0 }
    };
    let mut pairs: Vec<_> = pairs.map(|pair| (weight(&pair), pair)).collect();
    pairs.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut error: f64 = pairs.iter().map(|&(weight, at)| weight * (rounded[at] - matrix[at])).sum();
    for (weight, (i, j)) in pairs {
        let step = (error / (weight * grid.spacing)).round().clamp(-1.0, 1.0) * grid.spacing;
        error -= weight * step;
        let entry = rounded[(i, j)] - step;
        for at in [(i, j), (j, i), (n - 1 - i, n - 1 - j), (n - 1 - j, n - 1 - i)] {
            rounded[at] = entry;
        }
    }
    grid.with_zero_row_sums(&rounded)
}

/// The largest of the rows' sums of absolute values.
pub(crate) fn largest_row_sum(matrix: &DMatrix<f64>) -> f64 {
    matrix.row_iter().map(|row| row.iter().map(|entry| entry.abs()).sum()).fold(0.0, f64::max)
}

/// The largest power of two that is not above a positive normal number; zero for zero.
pub(crate) fn power_of_two_below(value: f64) -> f64 {
    const EXPONENT: u64 = 0x7ff0_0000_0000_0000;
    f64::from_bits(value.to_bits() & EXPONENT)
}

/// Whether floating point numbers of `digits` binary digits sum the values up to zero in any order, without rounding: the
/// values are integers times a power of two, and the positive ones sum to at most `2^digits`.
#[cfg(test)]
pub(crate) fn cancel_in_any_order(values: impl IntoIterator<Item = f64>, digits: u32) -> bool {
    // `(m, e)` with `value = m 2^e` and an odd `m`.
    let odd = |value: f64| {
        let exponent = power_of_two_below(value.abs()).log2() as i32 - 52;
        let mantissa = (value / 2f64.powi(exponent)) as i128;
        let zeros = mantissa.trailing_zeros();
        (mantissa >> zeros, exponent + zeros as i32)
    };
    let parts: Vec<_> = values.into_iter().filter(|&value| value != 0.0).map(odd).collect();
    let lowest = parts.iter().map(|part| part.1).min().unwrap_or(0);
    let integers: Vec<i128> = parts.iter().map(|&(mantissa, exponent)| mantissa << (exponent - lowest)).collect();
    let positive: i128 = integers.iter().filter(|&&integer| integer > 0).sum();
    integers.iter().sum::<i128>() == 0 && positive <= 1 << digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cancellation_is_judged_by_exact_sums() {
        assert!(cancel_in_any_order([0.75, -1.0, 0.25], 3));
        assert!(!cancel_in_any_order([0.75, -1.0, 0.25], 1), "0.75 + 0.25 are four quarters");
        assert!(!cancel_in_any_order([0.1, 0.2, -0.3], 53), "0.1 + 0.2 is not 0.3");
        // Exact in this order alone: 1 + 2⁻⁵³ is not a number.
        assert!(!cancel_in_any_order([1.0, -1.0, 2f64.powi(-53), -2f64.powi(-53)], 53));
    }

    #[test]
    fn powers_of_two_are_those_below() {
        for (value, power) in [(1.0, 1.0), (1.999, 1.0), (2.0, 2.0), (0.3, 0.25), (1e300, 2f64.powi(996)), (0.0, 0.0)] {
            assert_eq!(power_of_two_below(value), power);
        }
    }

    #[test]
    fn rows_sum_to_zero_and_entries_stay_close() {
        // Rows that sum to zero but for rounding, also just below and at a power of two.
        for (digits, scale) in [24, 53].into_iter().flat_map(|digits| [1.0, 0.3, 1.0 - 1e-9, 1e6].map(|s| (digits, s)))
        {
            for (rows, columns) in [(1, 3), (3, 3), (3, 5), (6, 11), (11, 11)] {
                let mut matrix = DMatrix::from_fn(rows, columns, |i, j| scale * ((7 * i + 3 * j) as f64).sin());
                for i in 0..rows {
                    let mean = matrix.row(i).sum() / columns as f64;
                    matrix.row_mut(i).add_scalar_mut(-mean);
                }
                let rounded = with_zero_row_sums(&matrix, digits);
                let most = largest_row_sum(&matrix) * 2f64.powi(1 - digits as i32) * columns as f64;
                assert!((&rounded - &matrix).amax() <= most);
                for row in rounded.row_iter() {
                    assert!(cancel_in_any_order(row.iter().copied(), digits));
                    assert!(cancel_in_any_order(row.iter().chain(row.iter()).copied(), digits), "two cells");
                }
                assert_eq!(with_zero_row_sums(&(&matrix * 0.125), digits), &rounded * 0.125);
            }
        }
        assert_eq!(with_zero_row_sums(&DMatrix::zeros(2, 2), 53), DMatrix::zeros(2, 2));
    }

    #[test]
    fn symmetries_are_kept() {
        let n = 6;
        let matrix = DMatrix::from_fn(n, n, |i, j| {
            let entry = |i: usize, j: usize| ((i * j) as f64).cos() + ((i + j) as f64).sin();
            entry(i, j) + entry(n - 1 - i, n - 1 - j)
        });
        let matrix = &matrix + matrix.transpose();
        let rounded = with_zero_row_sums(&matrix, 24);
        assert_eq!(rounded, rounded.transpose());
        assert_eq!(rounded, DMatrix::from_fn(n, n, |i, j| rounded[(n - 1 - i, n - 1 - j)]));
    }
}
