//! The naive twin of the backend: dense 1D matrices of the whole level over dofs, dense patch matrices cut out of them, all
//! in `f64`.

use crate::fe::{Element, assemble};
use crate::mesh::Mesh;
use crate::space::Space;
use nalgebra::{DMatrix, DVector};

/// One level.
pub struct Twin {
    pub dim: usize,
    space: Space,
    mass: DMatrix<f64>,
    stiffness: DMatrix<f64>,
    /// From the coarse level's dofs of a direction to this one's.
    prolongation: DMatrix<f64>,
    /// Dofs of a patch in a direction.
    width: usize,
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
        Self {
            dim,
            space: Space::new(Mesh::unit_cube(dim, refine).unwrap(), degree).unwrap(),
            mass: inner(&assemble(&mass, cells)),
            stiffness: inner(&assemble(&stiffness, cells)),
            prolongation: inner(&prolongation),
            width: 2 * degree - 1,
        }
    }

    /// Discontinuous elements: the form of paper 4's equation 2, face by face, with jumps and means as vectors of all dofs of
    /// a direction.
    pub fn discontinuous(dim: usize, refine: usize, degree: usize) -> Self {
        let element = Element::new(degree).unwrap();
        let (cells, h, nodes) = (1 << refine, 0.5f64.powi(refine as i32), degree + 1);
        let mut mass = DMatrix::zeros(cells * nodes, cells * nodes);
        let mut stiffness = mass.clone();
        for first in (0..cells).map(|cell| cell * nodes) {
            mass.view_mut((first, first), (nodes, nodes)).copy_from(&(element.mass() * h));
            stiffness.view_mut((first, first), (nodes, nodes)).copy_from(&(element.stiffness() / h));
        }
        let along = |cell: usize, values: Vec<f64>| {
            let mut vector = DVector::zeros(cells * nodes);
            vector.rows_mut(cell * nodes, nodes).copy_from_slice(&values);
            vector
        };
        let penalty = (degree * (degree + 1)) as f64 * (1.0 / h + 1.0 / h);
        for face in 0..=cells {
            // Signed by the normal, which points to the upper cell.
            let (mut jump, mut mean) = (DVector::zeros(cells * nodes), DVector::zeros(cells * nodes));
            let sides = f64::from(u32::from(face > 0) + u32::from(face < cells));
            if face > 0 {
                jump += along(face - 1, element.values(1.0));
                mean += along(face - 1, element.derivatives(1.0)) / (sides * h);
            }
            if face < cells {
                jump -= along(face, element.values(0.0));
                mean += along(face, element.derivatives(0.0)) / (sides * h);
            }
            stiffness += penalty * &jump * jump.transpose() - &mean * jump.transpose() - &jump * mean.transpose();
        }
        let mut prolongation = DMatrix::zeros(cells * nodes, cells / 2 * nodes);
        for cell in 0..cells {
            for (i, node) in element.nodes().iter().enumerate() {
                let values = element.values(0.5 * ((cell % 2) as f64 + node));
                for (j, value) in values.into_iter().enumerate() {
                    prolongation[(cell * nodes + i, cell / 2 * nodes + j)] = value;
                }
            }
        }
        let space = Space::discontinuous(Mesh::unit_cube(dim, refine).unwrap(), degree).unwrap();
        Self { dim, space, mass, stiffness, prolongation, width: 2 * nodes }
    }

    pub fn space(&self) -> Space {
        self.space.clone()
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
        let (n, m, stride) = (self.mass.nrows(), self.width, self.space.cell_stride());
        let cells = self.space.mesh().cells_per_direction() as usize;
        let residual = self.residual(b, x);
        let mut x = x.to_vec();
        let cut = |matrix: &DMatrix<f64>, vertex: usize| {
            let first = (vertex - 1) * stride;
            matrix.view((first, first), (m, m)).into_owned()
        };
        let vertices = |direction: usize| {
            let first = 1 + (color >> direction) % 2;
            let range = if direction < self.dim { first..cells } else { 1..2 };
            range.step_by(2)
        };
        for vz in vertices(2) {
            for vy in vertices(1) {
                for vx in vertices(0) {
                    let [[sx, mx], [sy, my], [sz, mz]] =
                        [vx, vy, vz].map(|v| [&self.stiffness, &self.mass].map(|matrix| cut(matrix, v)));
                    let mut patch = my.kronecker(&sx) + sy.kronecker(&mx);
                    if self.dim == 3 {
                        patch = mz.kronecker(&patch) + sz.kronecker(&my.kronecker(&mx));
                    }
                    let inverse = patch.cholesky().unwrap();
                    // Vertex v is node v s; the first dof of its patch is that of its first cell. Continuous elements have
                    // no dof at node 0 and none on the patch's first plane.
                    let index = |i: usize| {
                        let start = |v: usize| (v - 1) * stride;
                        let at = [i % m + start(vx), i / m % m + start(vy), i / (m * m) + start(vz)];
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
