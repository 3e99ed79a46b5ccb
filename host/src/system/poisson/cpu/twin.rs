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
    /// Of each direction.
    lines: Vec<Line>,
    /// Dofs of a patch in a direction.
    width: usize,
}

/// One direction.
struct Line {
    mass: DMatrix<f64>,
    stiffness: DMatrix<f64>,
    /// From the coarse level's dofs of the direction to this one's; the identity if the direction is not coarsened.
    prolongation: DMatrix<f64>,
}

fn inner(matrix: &DMatrix<f64>) -> DMatrix<f64> {
    matrix.view((1, 1), (matrix.nrows() - 2, matrix.ncols() - 2)).into_owned()
}

/// `line(cells, cell size, whether they are coarsened)` for each direction of a mesh.
fn lines(mesh: &Mesh, line: impl Fn(usize, f64, bool) -> Line) -> Vec<Line> {
    let coarsened = mesh.coarsened_directions().unwrap_or_default();
    (0..mesh.dim()).map(|d| line(mesh.cells_along()[d], mesh.cell_sizes()[d], coarsened[d])).collect()
}

impl Twin {
    pub fn new(mesh: Mesh, degree: usize) -> Self {
        let element = Element::new(degree).unwrap();
        let cell = element.prolongation();
        let line = |cells: usize, h: f64, is_coarsened: bool| {
            let coarse_cells = if is_coarsened { cells / 2 } else { cells };
            let mut prolongation = DMatrix::identity(cells * degree + 1, coarse_cells * degree + 1);
            if is_coarsened {
                prolongation.fill(0.0);
                for coarse in 0..coarse_cells {
                    prolongation.view_mut((2 * coarse * degree, coarse * degree), cell.shape()).copy_from(&cell);
                }
            }
            Line {
                mass: inner(&assemble(&(element.mass() * h), cells)),
                stiffness: inner(&assemble(&(element.stiffness() / h), cells)),
                prolongation: inner(&prolongation),
            }
        };
        Self {
            dim: mesh.dim(),
            lines: lines(&mesh, line),
            space: Space::new(mesh, degree).unwrap(),
            width: 2 * degree - 1,
        }
    }

    /// Discontinuous elements: the form of paper 4's equation 2, face by face, with jumps and means as vectors of all dofs of
    /// a direction.
    pub fn discontinuous(mesh: Mesh, degree: usize) -> Self {
        let (element, nodes) = (Element::new(degree).unwrap(), degree + 1);
        let line = |cells: usize, h: f64, is_coarsened: bool| {
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
            if !is_coarsened {
                return Line { mass, stiffness, prolongation: DMatrix::identity(cells * nodes, cells * nodes) };
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
            Line { mass, stiffness, prolongation }
        };
        Self {
            dim: mesh.dim(),
            lines: lines(&mesh, line),
            space: Space::discontinuous(mesh, degree).unwrap(),
            width: 2 * nodes,
        }
    }

    pub fn space(&self) -> Space {
        self.space.clone()
    }

    /// A matrix for each direction, along each mode of a tensor.
    fn tensor<'a>(&'a self, x: &[f64], matrix: impl Fn(usize, &'a Line) -> &'a DMatrix<f64>) -> Vec<f64> {
        let (mut x, mut stride) = (x.to_vec(), 1);
        for (direction, line) in self.lines.iter().enumerate() {
            let matrix = matrix(direction, line);
            x = along(&x, matrix, stride);
            stride *= matrix.nrows();
        }
        x
    }

    /// `A x`.
    pub fn apply(&self, x: &[f64]) -> Vec<f64> {
        let mut y = vec![0.0; x.len()];
        for direction in 0..self.dim {
            let term = self.tensor(x, |d, line| if d == direction { &line.stiffness } else { &line.mass });
            for (y, term) in y.iter_mut().zip(term) {
                *y += term;
            }
        }
        y
    }

    /// Row `dof` of `A`: columns and entries, those that are zero left out.
    pub fn row(&self, mut dof: usize) -> Vec<(usize, f64)> {
        // Column, product of masses, and sum of products with one stiffness, of the directions so far.
        let (mut row, mut stride) = (vec![(0, 1.0, 0.0)], 1);
        for Line { mass, stiffness, .. } in &self.lines {
            let n = mass.nrows();
            let own = dof % n;
            let couples = (0..n).filter(|&j| mass[(own, j)] != 0.0 || stiffness[(own, j)] != 0.0);
            row = couples
                .flat_map(|j| {
                    let (m, s) = (mass[(own, j)], stiffness[(own, j)]);
                    let with = move |&(column, masses, sum): &(usize, f64, f64)| {
                        (column + stride * j, m * masses, s * masses + m * sum)
                    };
                    row.iter().map(with).collect::<Vec<_>>()
                })
                .collect();
            (dof, stride) = (dof / n, stride * n);
        }
        row.into_iter().map(|(column, _, entry)| (column, entry)).collect()
    }

    /// `A_ii` for every dof.
    pub fn diagonal(&self) -> Vec<f64> {
        let entry = |dof| self.row(dof).into_iter().find(|(column, _)| *column == dof).unwrap().1;
        (0..self.space.dofs()).map(entry).collect()
    }

    /// `A⁻¹ b`, of as few dofs as a dense matrix can have.
    pub fn solve(&self, b: &[f64]) -> Vec<f64> {
        let mut matrix = DMatrix::zeros(b.len(), b.len());
        for dof in 0..b.len() {
            for (column, entry) in self.row(dof) {
                matrix[(dof, column)] = entry;
            }
        }
        matrix.cholesky().unwrap().solve(&DVector::from_column_slice(b)).as_slice().to_vec()
    }

    /// `b - A x`.
    pub fn residual(&self, b: &[f64], x: &[f64]) -> Vec<f64> {
        b.iter().zip(self.apply(x)).map(|(b, y)| b - y).collect()
    }

    /// `Pᵀ (b - A x)`.
    pub fn restrict_residual(&self, b: &[f64], x: &[f64]) -> Vec<f64> {
        let transposed: Vec<_> = self.lines.iter().map(|line| line.prolongation.transpose()).collect();
        let (mut coarse, mut stride) = (self.residual(b, x), 1);
        for matrix in &transposed {
            coarse = along(&coarse, matrix, stride);
            stride *= matrix.nrows();
        }
        coarse
    }

    /// `x + P coarse`.
    pub fn prolongate_add(&self, coarse: &[f64], x: &[f64]) -> Vec<f64> {
        x.iter().zip(self.tensor(coarse, |_, line| &line.prolongation)).map(|(x, p)| x + p).collect()
    }

    /// `x_i += (b_i - (A x)_i) / A_ii` for one dof after the other.
    pub fn point_gauss_seidel(&self, b: &[f64], x: &[f64], reverse: bool) -> Vec<f64> {
        let (mut x, last) = (x.to_vec(), x.len() - 1);
        for dof in (0..=last).map(|dof| if reverse { last - dof } else { dof }) {
            let (mut residual, mut diagonal) = (b[dof], 0.0);
            for (column, entry) in self.row(dof) {
                residual -= entry * x[column];
                diagonal += if column == dof { entry } else { 0.0 };
            }
            x[dof] += residual / diagonal;
        }
        x
    }

    /// `x + sum_j R_jᵀ A_j⁻¹ R_j (b - A x)` over the patches of a color.
    pub fn smooth_color(&self, color: usize, b: &[f64], x: &[f64]) -> Vec<f64> {
        let (m, stride) = (self.width, self.space.axes()[0].stride());
        let cells = self.space.mesh().cells_along();
        let residual = self.residual(b, x);
        let mut x = x.to_vec();
        let cut = |matrix: &DMatrix<f64>, vertex: usize| {
            let first = (vertex - 1) * stride;
            matrix.view((first, first), (m, m)).into_owned()
        };
        let vertices = |direction: usize| {
            let first = 1 + (color >> direction) % 2;
            let range = if direction < self.dim { first..cells[direction] } else { 1..2 };
            range.step_by(2)
        };
        for vz in vertices(2) {
            for vy in vertices(1) {
                for vx in vertices(0) {
                    let vertex = [vx, vy, vz];
                    let mut patch = DMatrix::zeros(1, 1);
                    let mut masses = DMatrix::identity(1, 1);
                    for (line, vertex) in self.lines.iter().zip(vertex) {
                        let (s, m) = (cut(&line.stiffness, vertex), cut(&line.mass, vertex));
                        patch = s.kronecker(&masses) + m.kronecker(&patch);
                        masses = m.kronecker(&masses);
                    }
                    let inverse = patch.cholesky().unwrap();
                    // Vertex v is node v s; the first dof of its patch is that of its first cell. Continuous elements have
                    // no dof at node 0 and none on the patch's first plane.
                    let index = |i: usize| {
                        let local = [i % m, i / m % m, i / (m * m)];
                        let at = |d: usize| local[d] + (vertex[d] - 1) * stride;
                        (0..self.dim).rev().fold(0, |offset, d| offset * self.lines[d].mass.nrows() + at(d))
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

/// A matrix times one mode of a tensor, whose modes before it have `stride` entries; the other modes keep their size.
fn along(x: &[f64], matrix: &DMatrix<f64>, stride: usize) -> Vec<f64> {
    let (rows, columns) = matrix.shape();
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
