//! The naive twin of a level: the dense matrix of the weak form, summed up by quadrature cell by cell and face by face, and dense
//! solutions on patches, all in `f64`. Of the library it uses bases and the numbering of nodes alone, no 1D matrix.

use super::Stokes;
use crate::fe::Quadrature;
use crate::space::{Axis, Space};
use glam::DVec3;
use nalgebra::{DMatrix, DVector};
use std::collections::BTreeSet;

/// One level.
pub struct Twin {
    pub system: Stokes,
    /// Block and node of each dof.
    pub nodes: Vec<(usize, [usize; 3])>,
    /// The dof of a block's entries, if they are unknowns.
    dofs: Vec<Vec<Option<usize>>>,
    pub matrix: DMatrix<f64>,
}

/// A basis function in a point of a cell.
struct Shape {
    dof: usize,
    block: usize,
    value: f64,
    gradient: DVec3,
}

/// What should come out, and how large the terms are that it is the sum of: rounding is a multiple of this.
pub struct Expected {
    pub values: Vec<f64>,
    pub terms: Vec<f64>,
}

impl Expected {
    fn add(&mut self, dof: usize, value: f64, terms: f64) {
        self.values[dof] += value;
        self.terms[dof] += terms;
    }
}

impl Twin {
    /// `s (u, v) + ν (∇u, ∇v) + ν Σ_F ∫ σ [u] [v] - {∂ₙu} [v] - [u] {∂ₙv} - (p, ∇·v) - (q, ∇·u)` with `σ = 2 k (k + 1) / h` on all
    /// faces (paper 2, equation 3).
    pub fn new(system: Stokes) -> Self {
        let (mut nodes, mut dofs) = (Vec::new(), Vec::new());
        for (block, space) in system.spaces.iter().enumerate() {
            let mut of_block = vec![None; space.storage()];
            for node in space.unknowns() {
                of_block[space.offset(node)] = Some(nodes.len());
                nodes.push((block, node));
            }
            dofs.push(of_block);
        }
        let matrix = DMatrix::zeros(nodes.len(), nodes.len());
        let mut twin = Self { system, nodes, dofs, matrix };
        twin.add_cells();
        twin.add_faces();
        twin
    }

    pub fn dim(&self) -> usize {
        self.system.mesh().dim()
    }

    /// Points and weights on the reference cell, in `fixed` at a place of its own.
    fn points(&self, fixed: Option<(usize, f64)>) -> Vec<([f64; 3], f64)> {
        // Exact for products of polynomials of degree k + 1.
        let rule = Quadrature::gauss(self.system.degree() + 2).unwrap();
        let along = |d: usize| match fixed {
            Some((direction, place)) if direction == d => vec![(place, 1.0)],
            _ if d < self.dim() => rule.points.iter().copied().zip(rule.weights.iter().copied()).collect(),
            _ => vec![(0.0, 1.0)],
        };
        let mut points = vec![([0.0; 3], 1.0)];
        for d in 0..3 {
            let along = along(d);
            points = points
                .into_iter()
                .flat_map(|(point, weight)| {
                    along.iter().map(move |&(x, w)| {
                        let mut point = point;
                        point[d] = x;
                        (point, weight * w)
                    })
                })
                .collect();
        }
        points
    }

    /// The basis functions that are unknowns, in a point of the reference cell.
    fn shapes(&self, cell: [usize; 3], point: [f64; 3]) -> Vec<Shape> {
        let mut shapes = Vec::new();
        for (block, space) in self.system.spaces.iter().enumerate() {
            let first = first_node(space, cell);
            let bases: Vec<[Vec<f64>; 2]> =
                space.axes().iter().enumerate().map(|(d, axis)| basis(axis, point[d])).collect();
            for local in locals(space) {
                let node = [0, 1, 2].map(|d| first[d] + local[d]);
                // The last node of a continuous axis is not stored.
                if space.axes().iter().enumerate().any(|(d, axis)| !axis.unknown_nodes().contains(&node[d])) {
                    continue;
                }
                let dof = self.dofs[block][space.offset(node)].unwrap();
                let product = |slope: Option<usize>| -> f64 {
                    let factor = |d: usize| bases[d][usize::from(slope == Some(d))][local[d]];
                    (0..bases.len()).map(factor).product()
                };
                let mut gradient = DVec3::ZERO;
                (0..bases.len()).for_each(|d| gradient[d] = product(Some(d)));
                shapes.push(Shape { dof, block, value: product(None), gradient });
            }
        }
        shapes
    }

    fn add_cells(&mut self) {
        let (dim, mesh) = (self.dim(), *self.system.mesh());
        let (mass, viscosity) = (self.system.mass(), self.system.viscosity());
        let volume: f64 = mesh.cell_sizes()[..dim].iter().product();
        for cell in mesh.cell_indices() {
            for (point, weight) in self.points(None) {
                let weight = weight * volume;
                let shapes = self.shapes(cell, point);
                for (v, u) in shapes.iter().flat_map(|v| shapes.iter().map(move |u| (v, u))) {
                    self.matrix[(v.dof, u.dof)] += weight
                        * match (v.block == dim, u.block == dim) {
                            (false, false) if v.block == u.block => {
                                mass * v.value * u.value + viscosity * v.gradient.dot(u.gradient)
                            }
                            (false, true) => -u.value * v.gradient[v.block],
                            (true, false) => -v.value * u.gradient[u.block],
                            _ => 0.0,
                        };
                }
            }
        }
    }

    /// Each face once, all components alike: the jump of a normal component cancels.
    fn add_faces(&mut self) {
        let (dim, mesh) = (self.dim(), *self.system.mesh());
        let (k, viscosity) = (self.system.degree(), self.system.viscosity());
        let (cells, sizes) = (mesh.cells_along(), mesh.cell_sizes());
        for direction in 0..dim {
            let area: f64 = (0..dim).filter(|&d| d != direction).map(|d| sizes[d]).product();
            let penalty = (2 * k * (k + 1)) as f64 / sizes[direction];
            // The cell above each face, and in the end the faces above the last cells.
            for upper in mesh.cell_indices().flat_map(|cell| {
                let mut last = cell;
                last[direction] += 1;
                std::iter::once(cell).chain((last[direction] == cells[direction]).then_some(last))
            }) {
                let sides = [upper[direction].checked_sub(1), Some(upper[direction])]
                    .map(|c| c.filter(|&c| c < cells[direction]));
                let count = sides.iter().flatten().count() as f64;
                for (point, weight) in self.points(Some((direction, 0.0))) {
                    // Of a dof: its component, jump and mean of the normal derivative; the normal points to the upper cell.
                    let mut traces = Vec::new();
                    for (side, sign) in sides.into_iter().zip([1.0, -1.0]) {
                        let Some(along) = side else { continue };
                        let (mut cell, mut point) = (upper, point);
                        cell[direction] = along;
                        point[direction] = if sign > 0.0 { 1.0 } else { 0.0 };
                        let velocities = self.shapes(cell, point).into_iter().filter(|shape| shape.block < dim);
                        traces.extend(velocities.map(|Shape { dof, block, value, gradient }| {
                            (dof, block, sign * value, gradient[direction] / count)
                        }));
                    }
                    for &(row, component, jump_v, mean_v) in &traces {
                        for &(column, other, jump_u, mean_u) in &traces {
                            // On the boundary a normal component is given strongly.
                            if component == other && (count > 1.0 || component != direction) {
                                let terms = penalty * jump_u * jump_v - mean_u * jump_v - jump_u * mean_v;
                                self.matrix[(row, column)] += viscosity * weight * area * terms;
                            }
                        }
                    }
                }
            }
        }
    }

    /// `A x`.
    pub fn apply(&self, x: &[f64]) -> Expected {
        let x = DVector::from_column_slice(x);
        let terms = self.matrix.map(f64::abs) * x.map(f64::abs);
        Expected { values: (&self.matrix * x).as_slice().to_vec(), terms: terms.as_slice().to_vec() }
    }

    /// `b - A x`.
    pub fn residual(&self, b: &[f64], x: &[f64]) -> Expected {
        let mut residual = self.apply(x);
        residual.values.iter_mut().zip(b).for_each(|(value, b)| *value = b - *value);
        residual.terms.iter_mut().zip(b).for_each(|(terms, b)| *terms += b.abs());
        residual
    }

    /// The nodal values of the basis functions of the next coarser level.
    pub fn prolongation(&self, coarse: &Self) -> DMatrix<f64> {
        let mut matrix = DMatrix::zeros(self.nodes.len(), coarse.nodes.len());
        for (dof, &(block, node)) in self.nodes.iter().enumerate() {
            let space = &coarse.system.spaces[block];
            // From the fine cell and the node in it, so that a node between two cells has no side by rounding.
            let (mut cell, mut point) = ([0; 3], [0.0; 3]);
            for (d, axis) in self.system.spaces[block].axes().iter().enumerate() {
                let (fine, local) = (node[d] / axis.stride(), axis.element().nodes()[node[d] % axis.stride()]);
                let ratio = axis.cells() / space.axes()[d].cells();
                cell[d] = fine / ratio;
                point[d] = ((fine % ratio) as f64 + local) / ratio as f64;
            }
            for shape in coarse.shapes(cell, point).into_iter().filter(|shape| shape.block == block) {
                matrix[(dof, shape.dof)] += shape.value;
            }
        }
        matrix
    }

    /// Vertices of a color, counted in cells.
    fn vertices(&self, color: usize) -> Vec<[usize; 3]> {
        let (cells, mut vertices) = (self.system.mesh().cells_along(), vec![[0; 3]]);
        for d in 0..self.dim() {
            // Where there is one cell, that is the patch: as if another one, which is not there, followed.
            let along = (1..cells[d].max(2)).filter(|vertex| vertex % 2 != (color >> d) % 2);
            let with = |vertex: [usize; 3]| {
                along.clone().map(move |along| {
                    let mut vertex = vertex;
                    vertex[d] = along;
                    vertex
                })
            };
            vertices = vertices.into_iter().flat_map(with).collect();
        }
        vertices
    }

    /// The dofs of the cells around a vertex, without normal components on the patch's boundary.
    fn patch(&self, vertex: [usize; 3]) -> Vec<usize> {
        let is_inside = |block: usize, node: [usize; 3]| {
            self.system.spaces[block].axes().iter().enumerate().all(|(d, axis)| {
                let (begin, end) = ((vertex[d] - 1) * axis.stride(), (vertex[d] + 1) * axis.stride());
                if d == block { begin < node[d] && node[d] < end } else { begin <= node[d] && node[d] < end }
            })
        };
        (0..self.nodes.len()).filter(|&dof| is_inside(self.nodes[dof].0, self.nodes[dof].1)).collect()
    }

    /// The values of fields at the nodes.
    pub fn interpolate(&self, field: impl Fn(usize, DVec3) -> f64) -> Vec<f64> {
        let value = |&(block, node): &(usize, [usize; 3])| field(block, self.system.spaces[block].point(node));
        self.nodes.iter().map(value).collect()
    }

    /// `∫ f_block φ` over the domain for every basis function, exact for `f` of degree `k + 2`.
    pub fn integrate(&self, f: impl Fn(usize, DVec3) -> f64) -> Vec<f64> {
        let mesh = self.system.mesh();
        let sizes = DVec3::from_array(mesh.cell_sizes());
        let volume: f64 = mesh.cell_sizes()[..self.dim()].iter().product();
        let mut integrals = vec![0.0; self.nodes.len()];
        for cell in mesh.cell_indices() {
            for (point, weight) in self.points(None) {
                let place = (DVec3::from_array(cell.map(|c| c as f64)) + DVec3::from_array(point)) * sizes;
                for Shape { dof, block, value, .. } in self.shapes(cell, point) {
                    integrals[dof] += weight * volume * value * f(block, place);
                }
            }
        }
        integrals
    }

    /// `x + Σ_j R_jᵀ A_j⁻¹ R_j (b - A x)` over the patches of a color, `A_j = R_j A R_jᵀ` bordered by the pressure's integral, which
    /// is zero for the correction.
    pub fn smooth_color(&self, color: usize, b: &[f64], x: &[f64]) -> Expected {
        let patches: Vec<_> = self.vertices(color).into_iter().map(|vertex| self.patch(vertex)).collect();
        self.smooth(&patches, b, x)
    }

    /// All dofs as one patch.
    pub fn solve(&self, b: &[f64]) -> Expected {
        self.smooth(&[(0..self.nodes.len()).collect()], b, &vec![0.0; b.len()])
    }

    fn smooth(&self, patches: &[Vec<usize>], b: &[f64], x: &[f64]) -> Expected {
        let residual = self.residual(b, x);
        let mut smoothed = Expected { values: x.to_vec(), terms: x.iter().map(|x| x.abs()).collect() };
        let is_pressure = |block: usize, _| if block == self.dim() { 1.0 } else { 0.0 };
        let (integrals, mut seen) = (self.integrate(is_pressure), BTreeSet::new());
        assert!(!patches.is_empty());
        for patch in patches {
            assert!(patch.iter().all(|&dof| seen.insert(dof)), "patches of a color overlap");
            let size = patch.len();
            let mut local = DMatrix::zeros(size + 1, size + 1);
            for (i, &row) in patch.iter().enumerate() {
                for (j, &column) in patch.iter().enumerate() {
                    local[(i, j)] = self.matrix[(row, column)];
                }
                (local[(i, size)], local[(size, i)]) = (integrals[row], integrals[row]);
            }
            let on_patch =
                |vector: &[f64]| DVector::from_fn(size + 1, |i, _| if i < size { vector[patch[i]] } else { 0.0 });
            let sizes = local.map(f64::abs);
            let (solver, inverse) =
                (local.clone().lu(), local.clone().try_inverse().expect("a patch has one solution"));
            let solve = |right: &DVector<f64>| solver.solve(right).expect("the inverse is there");
            let right = on_patch(&residual.values);
            let mut correction = solve(&right);
            correction += solve(&(right - local * &correction));
            // What the matrix's rounding and the right-hand side's change.
            let terms = inverse.map(f64::abs) * (sizes * correction.map(f64::abs) + on_patch(&residual.terms));
            for (i, &dof) in patch.iter().enumerate() {
                smoothed.add(dof, correction[i], terms[i]);
            }
        }
        smoothed
    }
}

/// Values and derivatives of an axis's basis on a cell.
fn basis(axis: &Axis, x: f64) -> [Vec<f64>; 2] {
    let slopes = axis.element().derivatives(x).into_iter().map(|slope| slope / axis.cell_size()).collect();
    [axis.element().values(x), slopes]
}

fn first_node(space: &Space, cell: [usize; 3]) -> [usize; 3] {
    [0, 1, 2].map(|d| space.axes().get(d).map_or(0, |axis| cell[d] * axis.stride()))
}

/// Nodes of a cell, counted from its first one.
fn locals(space: &Space) -> impl Iterator<Item = [usize; 3]> {
    let [x, y, z] = [0, 1, 2].map(|d| space.axes().get(d).map_or(1, |axis| axis.degree() + 1));
    (0..x * y * z).map(move |index| [index % x, index / x % y, index / (x * y)])
}
