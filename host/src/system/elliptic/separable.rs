//! A separable operator in the place of `A` on each cell, for fast diagonalization.

use super::cell::at_points;
use super::mesh::{Mesh, Node};
use super::metric::words;
use crate::backend::Scalar;
use crate::error::Result;
use crate::fe::{Quadrature, generalized_eigenpairs};
use nalgebra::DMatrix;

/// `Ã = Σ_d K_d ⊗ M_e + β M_d ⊗ M_e` on the nodes of a cell, products being over directions `e ≠ d`.
pub(super) struct Separable {
    /// `S_d` by directions, with `K_d S_d = M_d S_d Λ_d` and `S_dᵀ M_d S_d = I`; rows are zero at ends that are fixed.
    pub functions: Vec<DMatrix<f64>>,
    /// `1 / (Σ_d Λ_d + β)` for each product of functions, x fastest.
    pub inverse_eigenvalues: Vec<f64>,
    /// The diagonal of `Ã`.
    pub diagonal: Vec<f64>,
}

/// How 1D matrices end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// Nothing is smoothed on the face: its nodes are left out.
    Fixed,
    /// A boundary with a natural condition.
    Free,
    /// A cell that is taken for the mirror image of this one: entries of the node on the face are twice as large.
    Mirror,
}

/// What the operators of all cells need.
pub(super) struct SeparableShape<'a> {
    mesh: &'a Mesh,
    /// The basis at Gauss points, and its derivatives.
    values: DMatrix<f64>,
    derivatives: DMatrix<f64>,
}

/// Index in each direction of entry `i` of a tensor of `n` entries a direction.
fn index_of(i: usize, n: usize) -> [usize; 3] {
    [i % n, i / n % n, i / n / n]
}

impl<'a> SeparableShape<'a> {
    pub fn new(mesh: &'a Mesh) -> Result<Self> {
        let (element, points) = (mesh.element(), Quadrature::gauss(mesh.degree() + 1)?.points);
        let (values, derivatives) =
            (at_points(&points, |x| element.values(x)), at_points(&points, |x| element.derivatives(x)));
        Ok(Self { mesh, values, derivatives })
    }

    fn ends(&self, cell: usize, d: usize) -> [End; 2] {
        let (mesh, n) = (self.mesh, self.mesh.degree() + 1);
        [0, 1].map(|end| {
            let mut nodes = mesh.numbering().leaf_nodes(cell).enumerate();
            let is_smoothed = |(i, node): (usize, u32)| {
                index_of(i, n)[d] == end * (n - 1) && mesh.kinds()[node as usize] == Node::Smoothed
            };
            if !nodes.any(is_smoothed) {
                End::Fixed
            } else if mesh.forest().boundary(&mesh.forest().leaves()[cell], 2 * d + end).is_some() {
                End::Free
            } else {
                End::Mirror
            }
        })
    }

    /// `Ã` of a cell with these [`words`] at Gauss points.
    ///
    /// Words on the diagonal become products of functions of one coordinate, `g_dd ≈ a_d(x_d) Π_e m_e(x_e)`, so that the sum of
    /// squares of differences between logarithms is least; words that couple directions are left out.
    ///
    /// # Errors
    /// Those of [`generalized_eigenpairs`].
    pub fn of_cell<T: Scalar>(&self, cell: usize, metric: &[T]) -> Result<Separable> {
        let (dim, n) = (self.mesh.dim(), self.mesh.degree() + 1);
        let (nodes, words) = (n.pow(dim as u32), words(dim));
        let logarithms =
            |word: usize| -> Vec<f64> { metric.chunks_exact(words).map(|metric| metric[word].to_f64().ln()).collect() };
        let mean = |values: &[f64]| values.iter().sum::<f64>() / nodes as f64;
        let diagonal: Vec<Vec<f64>> = [0, 2, 5][..dim].iter().map(|&word| logarithms(word)).collect();
        // Word `d` along direction `e`, less its mean.
        let along = |d: usize, e: usize| {
            let (whole, mut sums) = (mean(&diagonal[d]), vec![0.0; n]);
            diagonal[d].iter().enumerate().for_each(|(i, value)| sums[index_of(i, n)[e]] += value - whole);
            sums.iter().map(|sum| sum * (n as f64 / nodes as f64)).collect::<Vec<f64>>()
        };
        // Without a reaction, the exponential of -infinity.
        let reaction = mean(&logarithms(words - 1)).exp();
        let (mut functions, mut eigenvalues, mut diagonals) = (Vec::new(), Vec::new(), Vec::new());
        for (d, own) in diagonal.iter().enumerate() {
            let ends = self.ends(cell, d);
            let whole = mean(own);
            let of_slopes = along(d, d).iter().map(|value| (whole + value).exp()).collect();
            let others: Vec<Vec<f64>> = (0..dim).filter(|&e| e != d).map(|e| along(e, d)).collect();
            let of_values = |q: usize| others.iter().map(|along| along[q]).sum::<f64>() / others.len() as f64;
            let stiffness = weighted(&self.derivatives, of_slopes, ends);
            let mass = weighted(&self.values, (0..n).map(|q| of_values(q).exp()).collect(), ends);
            let first = usize::from(ends[0] == End::Fixed);
            let count = n - first - usize::from(ends[1] == End::Fixed);
            let kept = |matrix: &DMatrix<f64>| matrix.view((first, first), (count, count)).into_owned();
            let pairs = generalized_eigenpairs(&kept(&stiffness), &kept(&mass))?;
            let mut vectors = DMatrix::zeros(n, n);
            vectors.view_mut((first, 0), (count, count)).copy_from(&pairs.vectors);
            functions.push(vectors);
            // Functions that are zero have any eigenvalue.
            eigenvalues.push(pairs.values.resize_vertically(n, 1.0));
            diagonals.push([stiffness.diagonal(), mass.diagonal()]);
        }
        let inverse_eigenvalue = |i| {
            let index = index_of(i, n);
            1.0 / ((0..dim).map(|d| eigenvalues[d][index[d]]).sum::<f64>() + reaction)
        };
        let diagonal = |i| {
            let index = index_of(i, n);
            let of = |d: usize, slopes: bool| diagonals[d][usize::from(!slopes)][index[d]];
            let product = |slope: Option<usize>| (0..dim).map(|e| of(e, slope == Some(e))).product::<f64>();
            (0..dim).map(|d| product(Some(d))).sum::<f64>() + reaction * product(None)
        };
        Ok(Separable {
            functions,
            inverse_eigenvalues: (0..nodes).map(inverse_eigenvalue).collect(),
            diagonal: (0..nodes).map(diagonal).collect(),
        })
    }
}

/// `Bᵀ W B` with its ends.
fn weighted(basis: &DMatrix<f64>, weights: Vec<f64>, ends: [End; 2]) -> DMatrix<f64> {
    let mut matrix = basis.transpose() * DMatrix::from_diagonal(&weights.into()) * basis;
    for (end, i) in ends.into_iter().zip([0, basis.ncols() - 1]) {
        if end == End::Mirror {
            matrix[(i, i)] *= 2.0;
        }
    }
    matrix
}
