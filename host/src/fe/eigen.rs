//! Generalized symmetric eigenproblems: the 1D eigenpairs that fast diagonalization is made of.

use crate::error::{Error, Result};
use nalgebra::{DMatrix, DVector};

/// `A S = M S Λ` with `Sᵀ M S = I`.
#[derive(Clone, Debug)]
pub struct Eigenpairs {
    /// The diagonal of `Λ`.
    pub values: DVector<f64>,
    /// `S`, a function in each column; its first large entry is positive.
    pub vectors: DMatrix<f64>,
}

/// Eigenpairs of a symmetric `A` and a symmetric positive definite `M`, ascending.
///
/// With Cholesky's `M = L Lᵀ` this is the symmetric problem of `L⁻¹ A L⁻ᵀ` (Golub and Van Loan, *Matrix Computations*,
/// section 8.7.2).
///
/// # Errors
/// [`Error::SizeMismatch`] if the two are not square and of one size, [`Error::NotFinite`] for an entry that is no
/// finite number, [`Error::NotPositiveDefinite`] if `M` is not.
pub fn generalized_eigenpairs(a: &DMatrix<f64>, m: &DMatrix<f64>) -> Result<Eigenpairs> {
    check(a, a.nrows(), "stiffness matrix")?;
    check(m, a.nrows(), "mass matrix")?;
    if a.is_empty() {
        return Ok(Eigenpairs { values: DVector::zeros(0), vectors: DMatrix::zeros(0, 0) });
    }
    let singular = || Error::NotPositiveDefinite { what: "mass matrix" };
    let symmetric_eigen = |reduced: DMatrix<f64>| (0.5 * (&reduced + reduced.transpose())).symmetric_eigen();
    let (values, unsorted) = if a.nrows() < LARGE {
        let lower = m.clone().cholesky().ok_or_else(singular)?.unpack();
        let half = lower.solve_lower_triangular(a).ok_or_else(singular)?;
        let eigen = symmetric_eigen(lower.solve_lower_triangular(&half.transpose()).ok_or_else(singular)?);
        (eigen.eigenvalues, lower.tr_solve_lower_triangular(&eigen.eigenvectors).ok_or_else(singular)?)
    } else {
        let lower = Skyline::of(m).ok_or_else(singular)?;
        let eigen = symmetric_eigen(lower.solved(lower.solved(a.clone()).transpose()));
        (eigen.eigenvalues, lower.solved_transposed(eigen.eigenvectors))
    };

    let mut order: Vec<usize> = (0..a.nrows()).collect();
    order.sort_by(|&i, &j| values[i].total_cmp(&values[j]));
    let columns: Vec<DVector<f64>> = order.iter().map(|&i| with_sign(unsorted.column(i).into_owned())).collect();
    Ok(Eigenpairs {
        values: DVector::from_iterator(order.len(), order.iter().map(|&i| values[i])),
        vectors: DMatrix::from_columns(&columns),
    })
}

/// Rows from which on zeros of a mass matrix are left out.
const LARGE: usize = 64;

/// Cholesky's factor `L` of a matrix most of whose entries are zero, as that of a line of cells: of each row the entries from the matrix's
/// first one that is not zero up to the diagonal (George and Liu, *Computer Solution of Large Sparse Positive Definite Systems*, chapter 4).
struct Skyline {
    rows: Vec<(usize, Vec<f64>)>,
}

impl Skyline {
    /// None if the matrix is not positive definite.
    fn of(matrix: &DMatrix<f64>) -> Option<Self> {
        let mut rows: Vec<(usize, Vec<f64>)> = Vec::with_capacity(matrix.nrows());
        for i in 0..matrix.nrows() {
            let first = (0..i).find(|&j| matrix[(i, j)] != 0.0).unwrap_or(i);
            let mut row = Vec::with_capacity(i + 1 - first);
            for j in first..i {
                let (start, other) = &rows[j];
                let common = first.max(*start);
                let sum: f64 = row[common - first..].iter().zip(&other[common - start..]).map(|(a, b)| a * b).sum();
                row.push((matrix[(i, j)] - sum) / other[j - start]);
            }
            let square = matrix[(i, i)] - row.iter().map(|entry| entry * entry).sum::<f64>();
            row.push(Some(square.sqrt()).filter(|root| *root > 0.0)?);
            rows.push((first, row));
        }
        Some(Self { rows })
    }

    /// `L⁻¹ X`.
    fn solved(&self, mut x: DMatrix<f64>) -> DMatrix<f64> {
        for mut column in x.column_iter_mut() {
            for (i, (first, row)) in self.rows.iter().enumerate() {
                let before = column.rows(*first, i - first);
                let sum: f64 = row.iter().zip(before.iter()).map(|(entry, x)| entry * x).sum();
                column[i] = (column[i] - sum) / row[i - first];
            }
        }
        x
    }

    /// `L⁻ᵀ X`.
    fn solved_transposed(&self, mut x: DMatrix<f64>) -> DMatrix<f64> {
        for mut column in x.column_iter_mut() {
            for (i, (first, row)) in self.rows.iter().enumerate().rev() {
                let value = column[i] / row[i - first];
                column[i] = value;
                for (entry, x) in row.iter().zip(column.rows_mut(*first, i - first).iter_mut()) {
                    *x -= entry * value;
                }
            }
        }
        x
    }
}

/// As [`generalized_eigenpairs`], for `A` and `M` that are centrosymmetric: the functions that are even about the middle
/// first, then the odd ones, one fewer if there is a node in the middle, each group ascending. Even and odd functions are
/// two separate problems, so parity holds to the last bit.
///
/// # Errors
/// As [`generalized_eigenpairs`].
pub fn symmetric_eigenpairs(a: &DMatrix<f64>, m: &DMatrix<f64>) -> Result<Eigenpairs> {
    let n = a.nrows();
    check(a, n, "stiffness matrix")?;
    check(m, n, "mass matrix")?;
    let odd = n / 2;
    let even = n - odd;
    let even_pairs = generalized_eigenpairs(&even_part(a), &even_part(m))?;
    let odd_pairs = generalized_eigenpairs(&odd_part(a), &odd_part(m))?;
    let half = std::f64::consts::FRAC_1_SQRT_2;
    let vectors = DMatrix::from_fn(n, n, |node, f| {
        let mirrored = node.min(n - 1 - node);
        match (f < even, 2 * mirrored + 1 == n) {
            (true, true) => even_pairs.vectors[(mirrored, f)],
            (true, false) => half * even_pairs.vectors[(mirrored, f)],
            (false, true) => 0.0,
            (false, false) if node < odd => half * odd_pairs.vectors[(mirrored, f - even)],
            (false, false) => -half * odd_pairs.vectors[(mirrored, f - even)],
        }
    });
    let values = DVector::from_iterator(n, even_pairs.values.iter().chain(&odd_pairs.values).copied());
    Ok(Eigenpairs { values, vectors })
}

/// In the orthonormal basis `(e_i + e_{n-1-i}) / √2` and, if there is one, the middle `e_i`.
fn even_part(matrix: &DMatrix<f64>) -> DMatrix<f64> {
    let (n, size) = (matrix.nrows(), matrix.nrows().div_ceil(2));
    let is_middle = |i: usize| 2 * i + 1 == n;
    DMatrix::from_fn(size, size, |i, j| match (is_middle(i), is_middle(j)) {
        (true, true) => matrix[(i, j)],
        (false, false) => matrix[(i, j)] + matrix[(i, n - 1 - j)],
        _ => std::f64::consts::SQRT_2 * matrix[(i, j)],
    })
}

/// In the orthonormal basis `(e_i - e_{n-1-i}) / √2`.
fn odd_part(matrix: &DMatrix<f64>) -> DMatrix<f64> {
    let (n, size) = (matrix.nrows(), matrix.nrows() / 2);
    DMatrix::from_fn(size, size, |i, j| matrix[(i, j)] - matrix[(i, n - 1 - j)])
}

/// The sign that makes the first entry of at least half the largest magnitude positive.
fn with_sign(vector: DVector<f64>) -> DVector<f64> {
    let large = 0.5 * vector.amax();
    if vector.iter().find(|v| v.abs() >= large).is_some_and(|&v| v < 0.0) { -vector } else { vector }
}

fn check(matrix: &DMatrix<f64>, size: usize, what: &'static str) -> Result<()> {
    for found in [matrix.nrows(), matrix.ncols()] {
        if found != size {
            return Err(Error::SizeMismatch { what, expected: size, found });
        }
    }
    match matrix.iter().position(|v| !v.is_finite()) {
        None => Ok(()),
        Some(at) => {
            Err(Error::NotFinite { what, value: matrix[at], place: format!("row {}, column {}", at % size, at / size) })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::element::{Element, MAX_DEGREE, assemble};
    use super::*;
    use approx::assert_abs_diff_eq;

    fn patch(degree: usize) -> (DMatrix<f64>, DMatrix<f64>) {
        let element = Element::new(degree).unwrap();
        let interior =
            |cell: DMatrix<f64>| assemble(&cell, 2).view((1, 1), (2 * degree - 1, 2 * degree - 1)).into_owned();
        (interior(element.stiffness()), interior(element.mass()))
    }

    #[test]
    fn patch_eigenpairs_satisfy_their_equations() {
        for degree in 1..=MAX_DEGREE {
            let (a, m) = patch(degree);
            for pairs in [symmetric_eigenpairs(&a, &m).unwrap(), generalized_eigenpairs(&a, &m).unwrap()] {
                let (s, lambda) = (&pairs.vectors, DMatrix::from_diagonal(&pairs.values));
                let scale = pairs.values.amax();
                assert_abs_diff_eq!(s.transpose() * &m * s, DMatrix::identity(a.nrows(), a.nrows()), epsilon = 1e-12);
                assert_abs_diff_eq!(&a * s / scale, &m * s * lambda / scale, epsilon = 1e-12);
            }
        }
    }

    /// The ends of a period are neighbours, which makes the last rows long.
    #[test]
    fn eigenpairs_of_long_lines_satisfy_their_equations() {
        let (degree, cells) = (3, 30);
        let element = Element::new(degree).unwrap();
        let count = degree * cells;
        let periodic = |cell: DMatrix<f64>| {
            let open = assemble(&cell, cells);
            DMatrix::from_fn(count, count, |i, j| {
                let images = |node: usize| if node == 0 { vec![0, count] } else { vec![node] };
                images(i).into_iter().flat_map(|i| images(j).into_iter().map(move |j| (i, j))).map(|at| open[at]).sum()
            })
        };
        let (a, m) = (periodic(element.stiffness()), periodic(element.mass()));
        let pairs = generalized_eigenpairs(&a, &m).unwrap();
        let (s, lambda) = (&pairs.vectors, DMatrix::from_diagonal(&pairs.values));
        let scale = pairs.values.amax();
        assert_abs_diff_eq!(s.transpose() * &m * s, DMatrix::identity(count, count), epsilon = 1e-12);
        assert_abs_diff_eq!(&a * s / scale, &m * s * lambda / scale, epsilon = 1e-12);
        assert!(pairs.values.as_slice().is_sorted());
        let indefinite = DMatrix::from_diagonal(&DVector::from_fn(count, |i, _| if i == 70 { -1.0 } else { 1.0 }));
        assert!(matches!(generalized_eigenpairs(&a, &indefinite), Err(Error::NotPositiveDefinite { .. })));
    }

    #[test]
    fn patch_eigenpairs_are_ordered_by_parity_and_value() {
        for degree in 1..=MAX_DEGREE {
            let (a, m) = patch(degree);
            let n = 2 * degree - 1;
            let pairs = symmetric_eigenpairs(&a, &m).unwrap();
            for f in 0..n {
                let sign = if f < degree { 1.0 } else { -1.0 };
                for node in 0..n {
                    assert_eq!(pairs.vectors[(node, f)], sign * pairs.vectors[(n - 1 - node, f)]);
                }
            }
            let values = pairs.values.as_slice();
            assert!(values[..degree].is_sorted() && values[degree..].is_sorted() && values[0] > 0.0);
            let mut all = values.to_vec();
            all.sort_by(f64::total_cmp);
            let reference = generalized_eigenpairs(&a, &m).unwrap().values;
            for (value, expected) in all.iter().zip(&reference) {
                assert!((value - expected).abs() <= 1e-12 * reference.amax(), "{value} != {expected}");
            }
        }
    }

    /// Without a node in the middle: two cells that share none, coupled to each other.
    #[test]
    fn eigenpairs_of_even_size_satisfy_their_equations_and_have_a_parity() {
        for n in [2, 4, 6, 18] {
            let m = DMatrix::from_diagonal(&DVector::from_fn(n, |i, _| 1.0 + i.min(n - 1 - i) as f64));
            let a = DMatrix::from_fn(n, n, |i, j| if i == j { 4.0 } else { -1.0 / (1.0 + i.abs_diff(j) as f64) });
            let Eigenpairs { values, vectors } = symmetric_eigenpairs(&a, &m).unwrap();
            assert_abs_diff_eq!(vectors.transpose() * &m * &vectors, DMatrix::identity(n, n), epsilon = 1e-13);
            assert_abs_diff_eq!(&a * &vectors, &m * &vectors * DMatrix::from_diagonal(&values), epsilon = 1e-12);
            for (f, node) in (0..n).flat_map(|f| (0..n).map(move |node| (f, node))) {
                let sign = if f < n / 2 { 1.0 } else { -1.0 };
                assert_eq!(vectors[(node, f)], sign * vectors[(n - 1 - node, f)]);
            }
        }
    }

    #[test]
    fn lowest_eigenvalue_of_a_patch_tends_to_that_of_the_laplacian() {
        // Two unit cells: (π / 2)²; degree 10 resolves it to rounding.
        let (a, m) = patch(10);
        let lowest = symmetric_eigenpairs(&a, &m).unwrap().values[0];
        assert_abs_diff_eq!(lowest, std::f64::consts::FRAC_PI_2.powi(2), epsilon = 1e-11);
    }

    #[test]
    fn bad_input_is_a_typed_error() {
        let (identity, indefinite) = (DMatrix::identity(3, 3), DMatrix::from_diagonal_element(3, 3, -1.0));
        assert!(matches!(generalized_eigenpairs(&identity, &indefinite), Err(Error::NotPositiveDefinite { .. })));
        assert!(matches!(symmetric_eigenpairs(&identity, &DMatrix::identity(4, 4)), Err(Error::SizeMismatch { .. })));
        let mut broken = identity.clone();
        broken[(1, 2)] = f64::NAN;
        assert!(matches!(generalized_eigenpairs(&broken, &identity), Err(Error::NotFinite { .. })));
    }
}
