//! Independent oracles that tests share: the dense operator, and a direct solver.
#![allow(dead_code)] // each test binary uses its own part

use nalgebra::DMatrix;
use patchmg::fe::{assemble, generalized_eigenpairs};
use patchmg::space::{Axis, Space};

/// 1D mass and stiffness matrix of `-u''` on all cells of each direction, unknowns alone.
pub fn line_matrices(space: &Space) -> Vec<(DMatrix<f64>, DMatrix<f64>)> {
    let of_axis = |axis: &Axis| {
        let (cells, h) = (axis.cells(), axis.cell_size());
        let n = cells * axis.degree() - 1;
        let unknowns = |cell: DMatrix<f64>| assemble(&cell, cells).view((1, 1), (n, n)).into_owned();
        (unknowns(axis.element().mass() * h), unknowns(axis.element().stiffness() / h))
    };
    space.axes().iter().map(of_axis).collect()
}

/// The stiffness matrix of `-Δ` on the unknowns, in the order of dofs, as a sum of Kronecker products.
pub fn dense_operator(space: &Space) -> DMatrix<f64> {
    // `x` is the fastest index, so the last factor; one direction more each time.
    let add = |(mass, stiffness): (DMatrix<f64>, DMatrix<f64>), (m, a): (DMatrix<f64>, DMatrix<f64>)| {
        let stiffness = m.kronecker(&stiffness) + a.kronecker(&mass);
        (m.kronecker(&mass), stiffness)
    };
    line_matrices(space).into_iter().reduce(add).unwrap().1
}

/// The exact discrete solution of `A x = b`, both in the order of dofs, by diagonalization of the whole mesh's 1D problems, and
/// once more for what rounding left of the residual.
pub fn direct_solve(space: &Space, b: &[f64]) -> Vec<f64> {
    let lines = line_matrices(space);
    let pairs: Vec<_> = lines.iter().map(|(m, a)| generalized_eigenpairs(a, m).unwrap()).collect();
    let sizes: Vec<_> = lines.iter().map(|(m, _)| m.nrows()).collect();
    let in_all_modes = |matrices: Vec<DMatrix<f64>>, x: &[f64]| {
        let contract =
            |x: Vec<f64>, (mode, matrix): (usize, &DMatrix<f64>)| contract(matrix, &x, sizes[..mode].iter().product());
        matrices.iter().enumerate().fold(x.to_vec(), contract)
    };
    let solve = |b: &[f64]| {
        let mut x = in_all_modes(pairs.iter().map(|pairs| pairs.vectors.transpose()).collect(), b);
        for (mut index, value) in x.iter_mut().enumerate() {
            let mut sum = 0.0;
            for pairs in &pairs {
                sum += pairs.values[index % pairs.values.len()];
                index /= pairs.values.len();
            }
            *value /= sum;
        }
        in_all_modes(pairs.iter().map(|pairs| pairs.vectors.clone()).collect(), &x)
    };
    let mut x = solve(b);
    let mut residual = b.to_vec();
    for direction in 0..lines.len() {
        let matrix =
            |(mode, (m, a)): (usize, &(DMatrix<f64>, DMatrix<f64>))| if mode == direction { a } else { m }.clone();
        let product = in_all_modes(lines.iter().enumerate().map(matrix).collect(), &x);
        residual.iter_mut().zip(&product).for_each(|(residual, product)| *residual -= product);
    }
    x.iter_mut().zip(solve(&residual)).for_each(|(x, correction)| *x += correction);
    x
}

/// A square matrix times the mode of a tensor whose entries are `stride` apart.
fn contract(matrix: &DMatrix<f64>, x: &[f64], stride: usize) -> Vec<f64> {
    let n = matrix.nrows();
    let entry = |index: usize| {
        let (row, first) = (index / stride % n, index - index / stride % n * stride);
        (0..n).map(|j| matrix[(row, j)] * x[first + j * stride]).sum()
    };
    (0..x.len()).map(entry).collect()
}
