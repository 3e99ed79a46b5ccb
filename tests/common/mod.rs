//! Independent oracles that tests share: the dense operator, and a direct solver.
#![allow(dead_code)] // each test binary uses its own part

use nalgebra::DMatrix;
use patchmg::fe::{assemble, generalized_eigenpairs};
use patchmg::space::Space;

/// 1D mass and stiffness matrix of `-u''` on all cells of a direction, unknowns alone.
pub fn line_matrices(space: &Space) -> (DMatrix<f64>, DMatrix<f64>) {
    let (cells, h) = (space.mesh().cells_per_direction() as usize, space.mesh().cell_size());
    let n = cells * space.degree() - 1;
    let unknowns = |cell: DMatrix<f64>| assemble(&cell, cells).view((1, 1), (n, n)).into_owned();
    (unknowns(space.element().mass() * h), unknowns(space.element().stiffness() / h))
}

/// The stiffness matrix of `-Δ` on the unknowns, in the order of dofs, as a sum of Kronecker products.
pub fn dense_operator(space: &Space) -> DMatrix<f64> {
    let (m, a) = line_matrices(space);
    // `x` is the fastest index, so the last factor.
    let plane = m.kronecker(&a) + a.kronecker(&m);
    if space.dim() == 2 { plane } else { m.kronecker(&plane) + a.kronecker(&m.kronecker(&m)) }
}

/// The exact discrete solution of `A x = b`, both in the order of dofs, by diagonalization of the whole mesh's 1D problem, and
/// once more for what rounding left of the residual.
pub fn direct_solve(space: &Space, b: &[f64]) -> Vec<f64> {
    let (m, a) = line_matrices(space);
    let pairs = generalized_eigenpairs(&a, &m).unwrap();
    let (n, dim) = (a.nrows(), space.dim());
    let transposed = pairs.vectors.transpose();
    let in_all_modes = |matrices: &[&DMatrix<f64>], x: &[f64]| {
        matrices.iter().enumerate().fold(x.to_vec(), |x, (mode, matrix)| contract(matrix, &x, mode))
    };
    let solve = |b: &[f64]| {
        let mut x = in_all_modes(&vec![&transposed; dim], b);
        for (index, value) in x.iter_mut().enumerate() {
            *value /= (0..dim).map(|mode| pairs.values[index / n.pow(mode as u32) % n]).sum::<f64>();
        }
        in_all_modes(&vec![&pairs.vectors; dim], &x)
    };
    let mut x = solve(b);
    let mut residual = b.to_vec();
    for direction in 0..dim {
        let matrices: Vec<_> = (0..dim).map(|mode| if mode == direction { &a } else { &m }).collect();
        let product = in_all_modes(&matrices, &x);
        residual.iter_mut().zip(&product).for_each(|(residual, product)| *residual -= product);
    }
    x.iter_mut().zip(solve(&residual)).for_each(|(x, correction)| *x += correction);
    x
}

/// A square matrix times one mode of a tensor, first mode fastest.
fn contract(matrix: &DMatrix<f64>, x: &[f64], mode: usize) -> Vec<f64> {
    let n = matrix.nrows();
    let stride = n.pow(mode as u32);
    let entry = |index: usize| {
        let (row, first) = (index / stride % n, index - index / stride % n * stride);
        (0..n).map(|j| matrix[(row, j)] * x[first + j * stride]).sum()
    };
    (0..x.len()).map(entry).collect()
}
