//! The naive twin of the backend: dense 1D matrices of the whole level over dofs, dense patch matrices, all in `f64`.

use crate::fe::{Element, assemble};
use crate::mesh::Mesh;
use crate::space::Space;
use nalgebra::{DMatrix, DVector};

/// One level.
pub struct Twin {
    pub dim: usize,
    degree: usize,
    mass: DMatrix<f64>,
    stiffness: DMatrix<f64>,
    /// From the coarse level's dofs of a direction to this one's.
    prolongation: DMatrix<f64>,
    patch: DMatrix<f64>,
}

fn inner(matrix: &DMatrix<f64>) -> DMatrix<f64> {
    matrix.view((1, 1), (matrix.nrows() - 2, matrix.ncols() - 2)).into_owned()
}

impl Twin {
    pub fn new(dim: usize, refine: usize, degree: usize) -> Self {
        let element = Element::new(degree).unwrap();
        let (cells, h) = (1 << refine, 0.5f64.powi(refine as i32));
        let (mass, stiffness) = (element.mass() * h, element.stiffness() / h);
        let cell = element.prolongation();
        let mut prolongation = DMatrix::zeros(cells * degree + 1, cells / 2 * degree + 1);
        for coarse in 0..cells / 2 {
            prolongation.view_mut((2 * coarse * degree, coarse * degree), cell.shape()).copy_from(&cell);
        }
        let (m, s) = (inner(&assemble(&mass, 2)), inner(&assemble(&stiffness, 2)));
        let mut patch = s.kronecker(&m) + m.kronecker(&s);
        if dim == 3 {
            patch = s.kronecker(&m.kronecker(&m)) + m.kronecker(&patch);
        }
        Self {
            dim,
            degree,
            mass: inner(&assemble(&mass, cells)),
            stiffness: inner(&assemble(&stiffness, cells)),
            prolongation: inner(&prolongation),
            patch,
        }
    }

    pub fn space(&self) -> Space {
        let cells = (self.mass.nrows() + 1) / self.degree;
        Space::new(Mesh::unit_cube(self.dim, cells.ilog2() as usize).unwrap(), self.degree).unwrap()
    }

    fn tensor(&self, x: &[f64], matrices: [&DMatrix<f64>; 3]) -> Vec<f64> {
        (0..self.dim).fold(x.to_vec(), |x, direction| along(&x, matrices[direction], direction))
    }

    /// `A x`.
    pub fn apply(&self, x: &[f64]) -> Vec<f64> {
        let mut y = vec![0.0; x.len()];
        for direction in 0..self.dim {
            let mut matrices = [&self.mass; 3];
            matrices[direction] = &self.stiffness;
            for (y, term) in y.iter_mut().zip(self.tensor(x, matrices)) {
                *y += term;
            }
        }
        y
    }

    /// `b - A x`.
    pub fn residual(&self, b: &[f64], x: &[f64]) -> Vec<f64> {
        b.iter().zip(self.apply(x)).map(|(b, y)| b - y).collect()
    }

    /// `Pᵀ (b - A x)`.
    pub fn restrict_residual(&self, b: &[f64], x: &[f64]) -> Vec<f64> {
        self.tensor(&self.residual(b, x), [&self.prolongation.transpose(); 3])
    }

    /// `x + P coarse`.
    pub fn prolongate_add(&self, coarse: &[f64], x: &[f64]) -> Vec<f64> {
        x.iter().zip(self.tensor(coarse, [&self.prolongation; 3])).map(|(x, p)| x + p).collect()
    }

    /// `x + sum_j R_jᵀ A_j⁻¹ R_j (b - A x)` over the patches of a color.
    pub fn smooth_color(&self, color: usize, b: &[f64], x: &[f64]) -> Vec<f64> {
        let (n, m, k) = (self.mass.nrows(), 2 * self.degree - 1, self.degree);
        let cells = (n + 1) / k;
        let residual = self.residual(b, x);
        let mut x = x.to_vec();
        let inverse = self.patch.clone().cholesky().unwrap();
        let vertices = |direction: usize| {
            let first = 1 + (color >> direction) % 2;
            let range = if direction < self.dim { first..cells } else { 1..2 };
            range.step_by(2)
        };
        for vz in vertices(2) {
            for vy in vertices(1) {
                for vx in vertices(0) {
                    // Dof 0 of a direction is node 1, so vertex v is dof v k - 1, and its patch begins k - 1 before.
                    let index = |i: usize| {
                        let at = [i % m + (vx - 1) * k, i / m % m + (vy - 1) * k, i / (m * m) + (vz - 1) * k];
                        (0..self.dim).rev().fold(0, |offset, direction| offset * n + at[direction])
                    };
                    let local = DVector::from_fn(m.pow(self.dim as u32), |i, _| residual[index(i)]);
                    for (i, correction) in inverse.solve(&local).iter().enumerate() {
                        x[index(i)] += correction;
                    }
                }
            }
        }
        x
    }
}

/// A matrix times one mode of a tensor, first mode fastest; the other modes keep their size.
fn along(x: &[f64], matrix: &DMatrix<f64>, direction: usize) -> Vec<f64> {
    // Modes before `direction` are done and have `rows` entries, those behind it still have `columns`.
    let (rows, columns) = matrix.shape();
    let stride = rows.pow(direction as u32);
    let outer = x.len() / (stride * columns);
    let mut y = vec![0.0; stride * rows * outer];
    for o in 0..outer {
        for i in 0..rows {
            for j in 0..columns {
                let coefficient = matrix[(i, j)];
                if coefficient != 0.0 {
                    for s in 0..stride {
                        y[(o * rows + i) * stride + s] += coefficient * x[(o * columns + j) * stride + s];
                    }
                }
            }
        }
    }
    y
}
