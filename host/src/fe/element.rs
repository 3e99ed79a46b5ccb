//! Lagrange bases on Gauss-Lobatto and on Gauss points, and the matrices of a cell.

use super::null_space::stiffness_with_zero_row_sums;
use super::quadrature::{Quadrature, gauss_lobatto_points};
use crate::error::{Error, Result};
use nalgebra::DMatrix;

/// Degrees up to this one are supported.
pub const MAX_DEGREE: usize = 10;

/// The Lagrange basis `l_0 .. l_k` of degree `k` on the Gauss-Lobatto points of `[0, 1]`, or on the Gauss points.
#[derive(Clone, Debug)]
pub struct Element {
    nodes: Vec<f64>,
    /// `1 / prod_{j != i} (x_i - x_j)`.
    barycentric: Vec<f64>,
    /// `l_j'(x_i)` in row `i`.
    differentiation: DMatrix<f64>,
    rule: Quadrature,
}

impl Element {
    /// On the Gauss-Lobatto points.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] unless `degree` is 1 to [`MAX_DEGREE`].
    pub fn new(degree: usize) -> Result<Self> {
        check_degree(degree)?;
        Self::on(gauss_lobatto_points(degree))
    }

    /// On the Gauss points: the mass matrix is diagonal, and no node lies at an end.
    ///
    /// # Errors
    /// As for [`Self::new`].
    pub fn gauss(degree: usize) -> Result<Self> {
        check_degree(degree)?;
        Self::on(Quadrature::gauss(degree + 1)?.points)
    }

    fn on(nodes: Vec<f64>) -> Result<Self> {
        let degree = nodes.len() - 1;
        let barycentric: Vec<f64> = (0..=degree)
            .map(|i| 1.0 / (0..=degree).filter(|&j| j != i).map(|j| nodes[i] - nodes[j]).product::<f64>())
            .collect();
        let differentiation = differentiation_matrix(&nodes, &barycentric);
        Ok(Self { nodes, barycentric, differentiation, rule: Quadrature::gauss(degree + 1)? })
    }

    /// Polynomial degree `k`.
    pub fn degree(&self) -> usize {
        self.nodes.len() - 1
    }

    /// The `k + 1` nodes, ascending; of Gauss-Lobatto points the first is 0 and the last 1.
    pub fn nodes(&self) -> &[f64] {
        &self.nodes
    }

    /// Gauss's rule of `k + 1` points.
    pub fn rule(&self) -> &Quadrature {
        &self.rule
    }

    /// `l_0(x) .. l_k(x)`, by the second barycentric formula (Berrut and Trefethen, *SIAM Review* 46, 2004, equation
    /// 4.2); at a node exactly a unit vector.
    pub fn values(&self, x: f64) -> Vec<f64> {
        if let Some(node) = self.nodes.iter().position(|&node| node == x) {
            return (0..self.nodes.len()).map(|i| if i == node { 1.0 } else { 0.0 }).collect();
        }
        let terms: Vec<f64> = self.nodes.iter().zip(&self.barycentric).map(|(node, w)| w / (x - node)).collect();
        let sum: f64 = terms.iter().sum();
        terms.iter().map(|term| term / sum).collect()
    }

    /// `l_0'(x) .. l_k'(x)`: the derivatives at the nodes, interpolated, which is exact because they have degree `k - 1`.
    pub fn derivatives(&self, x: f64) -> Vec<f64> {
        let values = self.values(x);
        (0..values.len())
            .map(|i| values.iter().enumerate().map(|(j, v)| v * self.differentiation[(j, i)]).sum())
            .collect()
    }

    /// `∫ l_i l_j` over `[0, 1]`, by Gauss's rule of `k + 1` points, which is exact.
    pub fn mass(&self) -> DMatrix<f64> {
        self.gram(|x| self.values(x))
    }

    /// `∫ l_i' l_j'` over `[0, 1]`, by the same rule. Its rows [sum to zero exactly](stiffness_with_zero_row_sums) in `f64`.
    pub fn stiffness(&self) -> DMatrix<f64> {
        stiffness_with_zero_row_sums(&self.gram(|x| self.derivatives(x)), &self.nodes, f64::MANTISSA_DIGITS)
    }

    /// Interpolation from a cell to its two halves: `(2k + 1) x (k + 1)`, row `i` the basis at the `i`-th node of the
    /// halves. Rows of nodes that are nodes of the cell are exactly unit vectors.
    pub fn prolongation(&self) -> DMatrix<f64> {
        let k = self.degree();
        let mut matrix = DMatrix::zeros(2 * k + 1, k + 1);
        for row in 0..=2 * k {
            let (half, node) = if row <= k { (0.0, row) } else { (1.0, row - k) };
            for (column, value) in self.values(0.5 * (half + self.nodes[node])).into_iter().enumerate() {
                matrix[(row, column)] = value;
            }
        }
        centrosymmetric_part(&matrix)
    }

    fn gram(&self, functions: impl Fn(f64) -> Vec<f64>) -> DMatrix<f64> {
        let n = self.nodes.len();
        let mut matrix = DMatrix::zeros(n, n);
        for (&x, &weight) in self.rule.points.iter().zip(&self.rule.weights) {
            let f = functions(x);
            for i in 0..n {
                for j in 0..n {
                    matrix[(i, j)] += weight * (f[i] * f[j]);
                }
            }
        }
        centrosymmetric_part(&matrix)
    }
}

fn check_degree(degree: usize) -> Result<()> {
    if (1..=MAX_DEGREE).contains(&degree) {
        return Ok(());
    }
    let allowed = format!("1 to {MAX_DEGREE}");
    Err(Error::InvalidArgument { name: "degree", value: degree.to_string(), allowed })
}

/// The matrix of `cells` equal cells in a row, from that of one cell: `cells k + 1` nodes, contributions to shared nodes
/// added.
pub fn assemble(cell: &DMatrix<f64>, cells: usize) -> DMatrix<f64> {
    assemble_multiples(cell, &vec![1.0; cells])
}

/// [`assemble`] for cells whose matrices are multiples of one, by these factors.
pub(crate) fn assemble_multiples(cell: &DMatrix<f64>, factors: &[f64]) -> DMatrix<f64> {
    let degree = cell.nrows().saturating_sub(1);
    let n = factors.len() * degree + 1;
    let mut matrix = DMatrix::zeros(n, n);
    for (index, &factor) in factors.iter().enumerate() {
        let mut block = matrix.view_mut((index * degree, index * degree), cell.shape());
        block += cell * factor;
    }
    matrix
}

/// `D[i][j] = l_j'(x_i)`; the diagonal makes rows sum to zero, which is what derivatives of constants must do (Berrut
/// and Trefethen 2004, section 9.3).
fn differentiation_matrix(nodes: &[f64], barycentric: &[f64]) -> DMatrix<f64> {
    let n = nodes.len();
    let mut matrix =
        DMatrix::from_fn(
            n,
            n,
            |i, j| {
                if i == j { 0.0 } else { barycentric[j] / barycentric[i] / (nodes[i] - nodes[j]) }
            },
        );
    for i in 0..n {
        matrix[(i, i)] = -matrix.row(i).sum();
    }
    matrix
}

/// `(C + J C J) / 2`, `J` reversing the order: takes away what rounding did to the symmetry of a cell about its middle.
fn centrosymmetric_part(matrix: &DMatrix<f64>) -> DMatrix<f64> {
    let (rows, columns) = matrix.shape();
    DMatrix::from_fn(rows, columns, |i, j| 0.5 * (matrix[(i, j)] + matrix[(rows - 1 - i, columns - 1 - j)]))
}

#[cfg(test)]
mod tests {
    use super::super::null_space::{cancel_in_any_order, largest_row_sum, with_zero_row_sums};
    use super::*;
    use approx::{assert_abs_diff_eq, assert_relative_eq};

    fn elements() -> impl Iterator<Item = Element> {
        (1..=MAX_DEGREE).map(|k| Element::new(k).unwrap())
    }

    #[test]
    fn degrees_out_of_range_are_refused() {
        for degree in [0, 11, 99] {
            let message = Element::new(degree).unwrap_err().to_string();
            assert_eq!(message, format!("degree is {degree}, but must be 1 to 10"));
        }
    }

    #[test]
    fn basis_reproduces_polynomials_and_their_derivatives() {
        for element in elements() {
            let k = element.degree() as i32;
            for x in [0.0, 0.013, 0.25, 0.5, 0.77, 1.0, element.nodes()[1]] {
                let (values, derivatives) = (element.values(x), element.derivatives(x));
                for power in 0..=k {
                    let nodal: Vec<f64> = element.nodes().iter().map(|t| t.powi(power)).collect();
                    let value: f64 = nodal.iter().zip(&values).map(|(f, l)| f * l).sum();
                    let slope: f64 = nodal.iter().zip(&derivatives).map(|(f, l)| f * l).sum();
                    let exact = if power == 0 { 0.0 } else { power as f64 * x.powi(power - 1) };
                    assert_abs_diff_eq!(value, x.powi(power), epsilon = 4e-15);
                    assert_abs_diff_eq!(slope, exact, epsilon = 4e-13);
                }
            }
        }
    }

    #[test]
    fn basis_is_a_unit_vector_at_a_node() {
        for element in elements() {
            for (i, &node) in element.nodes().iter().enumerate() {
                for (j, value) in element.values(node).into_iter().enumerate() {
                    assert_eq!(value, if i == j { 1.0 } else { 0.0 });
                }
            }
        }
    }

    #[test]
    fn matrices_of_degree_one_and_two_are_the_textbook_ones() {
        let known = |entries: &[f64], n: usize, scale: f64| DMatrix::from_row_slice(n, n, entries) * scale;
        let element = Element::new(1).unwrap();
        assert_abs_diff_eq!(element.mass(), known(&[2., 1., 1., 2.], 2, 1. / 6.), epsilon = 1e-15);
        assert_abs_diff_eq!(element.stiffness(), known(&[1., -1., -1., 1.], 2, 1.), epsilon = 1e-15);
        let element = Element::new(2).unwrap();
        let mass = known(&[4., 2., -1., 2., 16., 2., -1., 2., 4.], 3, 1. / 30.);
        let stiffness = known(&[7., -8., 1., -8., 16., -8., 1., -8., 7.], 3, 1. / 3.);
        assert_abs_diff_eq!(element.mass(), mass, epsilon = 1e-15);
        assert_abs_diff_eq!(element.stiffness(), stiffness, epsilon = 4e-15);
    }

    /// In differences to the unrounded matrix, whose own rounding is relative to each entry.
    #[test]
    fn rounding_of_the_stiffness_keeps_the_energy_of_linear_functions() {
        for element in elements() {
            let (nodes, before) = (element.nodes(), element.gram(|x| element.derivatives(x)));
            let (change, n) = (element.stiffness() - &before, before.nrows());
            let pairs = (0..n).flat_map(|i| (i + 1..n).map(move |j| (i, j)));
            let energy: f64 = pairs.map(|(i, j)| change[(i, j)] * (nodes[j] - nodes[i]).powi(2)).sum();
            let spacing = f64::EPSILON * 2.0 * largest_row_sum(&before);
            assert!(energy.abs() <= spacing * nodes[1].powi(2), "degree {}: {energy:e}", n - 1);
        }
    }

    #[test]
    fn matrices_integrate_polynomials() {
        for element in elements() {
            let (mass, stiffness) = (element.mass(), element.stiffness());
            let power =
                |p: i32| DMatrix::from_iterator(element.nodes().len(), 1, element.nodes().iter().map(|x| x.powi(p)));
            let k = element.degree() as i32;
            for (p, q) in [(0, 0), (k, 0), (k, k), (k, k - 1)] {
                let integral = (power(p).transpose() * &mass * power(q))[0];
                assert_relative_eq!(integral, 1.0 / (p + q + 1) as f64, max_relative = 1e-13);
                let integral = (power(p).transpose() * &stiffness * power(q))[0];
                let exact = if p * q == 0 { 0.0 } else { (p * q) as f64 / (p + q - 1) as f64 };
                assert_abs_diff_eq!(integral, exact, epsilon = 1e-12);
            }
        }
    }

    #[test]
    fn matrices_are_symmetric_and_centrosymmetric_to_the_last_bit() {
        for element in elements() {
            let n = element.degree() + 1;
            for cells in [1, 2] {
                for matrix in [assemble(&element.mass(), cells), assemble(&element.stiffness(), cells)] {
                    let n = matrix.nrows();
                    assert_eq!(matrix, matrix.transpose());
                    assert_eq!(matrix, DMatrix::from_fn(n, n, |i, j| matrix[(n - 1 - i, n - 1 - j)]));
                }
            }
            let p = element.prolongation();
            assert_eq!(p, DMatrix::from_fn(2 * n - 1, n, |i, j| p[(2 * n - 2 - i, n - 1 - j)]));
        }
    }

    #[test]
    fn rows_of_the_stiffness_matrix_sum_to_zero_exactly() {
        for element in elements() {
            for digits in [f32::MANTISSA_DIGITS, f64::MANTISSA_DIGITS] {
                let cell = with_zero_row_sums(&element.stiffness(), digits);
                for row in [&cell, &assemble(&cell, 2)].iter().flat_map(|matrix| matrix.row_iter()) {
                    assert!(cancel_in_any_order(row.iter().copied(), digits), "Q{}, {digits} digits", element.degree());
                }
            }
            assert_eq!(element.stiffness(), with_zero_row_sums(&element.stiffness(), f64::MANTISSA_DIGITS));
        }
    }

    #[test]
    fn prolongation_reproduces_polynomials_and_keeps_shared_nodes() {
        for element in elements() {
            let (k, p) = (element.degree(), element.prolongation());
            for power in 0..=k as i32 {
                for row in 0..=2 * k {
                    let (half, node) = if row <= k { (0.0, row) } else { (1.0, row - k) };
                    let x = 0.5 * (half + element.nodes()[node]);
                    let value: f64 = (0..=k).map(|j| p[(row, j)] * element.nodes()[j].powi(power)).sum();
                    assert_abs_diff_eq!(value, x.powi(power), epsilon = 4e-15);
                }
            }
            let unit = |row: usize, column: usize| (0..=k).all(|j| p[(row, j)] == if j == column { 1.0 } else { 0.0 });
            assert!(unit(0, 0) && unit(2 * k, k));
            assert!(k % 2 == 1 || unit(k, k / 2));
        }
    }

    #[test]
    fn coarse_matrices_are_the_galerkin_products() {
        for element in elements() {
            let p = element.prolongation();
            // The halves have half the length: mass scales with it, stiffness against it.
            let mass = p.transpose() * (assemble(&element.mass(), 2) * 0.5) * &p;
            let stiffness = p.transpose() * (assemble(&element.stiffness(), 2) * 2.0) * &p;
            assert_abs_diff_eq!(mass, element.mass(), epsilon = 1e-14);
            assert_abs_diff_eq!(stiffness, element.stiffness(), epsilon = 1e-11);
        }
    }
}
