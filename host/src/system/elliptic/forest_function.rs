//! Functions on the leaves of a forest.

use super::Elliptic;
use super::cell::{CellShape, Workspace};
use super::mesh::Mesh;
use super::metric::Geometry;
use crate::backend::cpu::parallel::{try_map_chunks, try_map_with};
use crate::error::{Error, Result, check_length, finite, invalid};
use crate::memory;
use crate::output::nodal_values::{self, Nodes};
use crate::output::vtu_file::{Array, Grid};
use crate::output::{compressed, file, vtk_cell, vtu};
use crate::problem::{ErrorNorms, ExactSolution};
use glam::DVec3;
use std::path::Path;
use std::sync::Arc;

/// A function of the continuous elements on a forest.
#[derive(Clone, Debug)]
pub struct ForestFunction {
    mesh: Arc<Mesh>,
    /// At all nodes, also those that hang.
    values: Vec<f64>,
}

/// Sizes of a function.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Norms {
    /// `(∫ u²)^(1/2)`.
    pub l2: f64,
    /// `(∫ |∇u|²)^(1/2)`.
    pub h1: f64,
    /// The largest `|u|` at a node.
    pub largest: f64,
}

impl ForestFunction {
    /// With values at nodes; those at hanging nodes follow.
    pub(super) fn new(system: &Elliptic, mut values: Vec<f64>) -> Self {
        system.mesh.interpolate_hanging(&mut values);
        Self { mesh: system.mesh.clone(), values }
    }

    pub(super) fn mesh(&self) -> &Mesh {
        &self.mesh
    }

    /// Adds a multiple of values at all nodes.
    pub(super) fn add(&mut self, factor: f64, values: &[f64]) {
        self.values.iter_mut().zip(values).for_each(|(own, value)| *own += factor * value);
    }

    /// Its interpolation by the elements of another system, on a forest of the same coarse mesh.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if that has another number of cells; [`Error::OutOfMemory`].
    pub fn interpolated(&self, system: &Elliptic) -> Result<Self> {
        let (old, new) = (self.mesh.forest(), system.forest());
        if old.coarse().cells() != new.coarse().cells() {
            let allowed = format!("{}, as many as that of the function", old.coarse().cells());
            return Err(invalid("the number of cells of the coarse mesh", new.coarse().cells(), allowed));
        }
        let (element, nodes) = (self.mesh.element(), system.mesh.element().nodes());
        let (dim, n, m) = (old.dim(), element.degree() + 1, nodes.len());
        let mut of_cells: Vec<f64> = memory::zeros(system.mesh.cells().all().len())?;
        let of_cell = |(): &mut (), cell: usize, values: &mut [f64]| -> Result<()> {
            let leaf = &new.leaves()[cell];
            let mut last = None;
            for (i, value) in values.iter_mut().enumerate() {
                let x = [i % m, i / m % m, i / m / m].map(|i| nodes[i]);
                let (found, x) = old.locate(leaf, if dim == 3 { x } else { [x[0], x[1], 0.0] });
                let own = match last.take() {
                    Some((same, own)) if same == found => own,
                    _ => self.mesh.values_of(found, &self.values),
                };
                let rows = x.map(|x| element.values(x));
                let along_z = |j: usize| if dim == 3 { rows[2][j / n / n] } else { 1.0 };
                let weight = |j: usize| rows[0][j % n] * rows[1][j / n % n] * along_z(j);
                *value = own.iter().enumerate().map(|(j, value)| weight(j) * value).sum();
                last = Some((found, own));
            }
            Ok(())
        };
        try_map_chunks(&mut of_cells, system.mesh.cells().nodes_a_cell(), || (), of_cell)?;
        let mut values = memory::zeros(system.nodes())?;
        for (cell, of_cell) in of_cells.chunks_exact(system.mesh.cells().nodes_a_cell()).enumerate() {
            let nodes = system.mesh.numbering().leaf_nodes(cell);
            nodes.zip(of_cell).for_each(|(node, &value)| values[node as usize] = value);
        }
        Ok(Self::new(system, values))
    }

    /// Its values at the unknowns, 0 at other nodes: a guess for solvers.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn unknowns(&self) -> Result<Vec<f64>> {
        let mut unknowns: Vec<f64> = memory::zeros(self.values.len())?;
        for ((entry, kind), &value) in unknowns.iter_mut().zip(self.mesh.kinds()).zip(&self.values) {
            *entry = if kind.is_unknown() { value } else { 0.0 };
        }
        Ok(unknowns)
    }

    /// Values at all nodes, also those that hang, in the order of [`Numbering`](crate::forest::Numbering).
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Its norms, by Gauss's rule of `k + 2` points a direction.
    ///
    /// # Errors
    /// [`Error::NotFinite`] if a value is not finite.
    pub fn norms(&self) -> Result<Norms> {
        let ErrorNorms { l2, h1 } = self.difference(|_| (0.0, DVec3::ZERO))?;
        Ok(Norms { l2, h1, largest: self.values.iter().fold(0.0, |largest, value| value.abs().max(largest)) })
    }

    /// Norms of the difference to a known function, by the same rule.
    ///
    /// # Errors
    /// As for [`Self::norms`], with the point for values and derivatives of `u`.
    pub fn error_to(&self, u: &(impl ExactSolution + ?Sized)) -> Result<ErrorNorms> {
        self.difference(|point| (u.value(point), u.gradient(point)))
    }

    /// Writes a VTU file with Lagrange cells of degree `k`: `solution` at the points, in which leaves of different levels have
    /// hanging nodes of their own, and for each cell `level` and what is given under other names.
    ///
    /// VTK takes points for equidistant in the coordinates of cells; cells have curved edges of degree `k`.
    ///
    /// # Errors
    /// [`Error::SizeMismatch`] unless there is a number for each cell; [`Error::InvalidArgument`] for a name with control characters,
    /// which XML does not have; [`Error::OutOfMemory`] and those of [`file::write_with`].
    pub fn write_vtu(&self, path: &Path, of_cells: &[(&str, &[f64])], config: &vtu::Config) -> Result<()> {
        let (mesh, dim, k) = (&*self.mesh, self.mesh.dim(), self.mesh.degree());
        let (cells, n) = (mesh.cells().cells(), k + 1);
        for (name, numbers) in of_cells {
            check_length("numbers of cells", cells, numbers.len())?;
            if name.contains(char::is_control) {
                return Err(invalid("the name of numbers of cells", format!("{name:?}"), "without control characters"));
            }
        }
        let positions = mesh.node_positions()?;
        let rows: Vec<Vec<f64>> = (0..n).map(|i| mesh.element().values(i as f64 / k as f64)).collect();
        let nodes = vtk_cell::nodes(dim, k);
        let mut points = memory::zeros::<[f64; 3]>(self.values.len())?;
        let mut values: Vec<f64> = memory::zeros(self.values.len())?;
        for cell in 0..cells {
            let own = mesh.values_of(cell, &self.values);
            for (node, place) in mesh.numbering().leaf_nodes(cell).zip(0..) {
                let [x, y, z] = [place % n, place / n % n, place / n / n];
                let along_z = |i: usize| if dim == 3 { rows[z][i / n / n] } else { 1.0 };
                let weight = |i: usize| rows[x][i % n] * rows[y][i / n % n] * along_z(i);
                let sum: DVec3 = positions.positions(cell).iter().enumerate().map(|(i, &at)| weight(i) * at).sum();
                points[node as usize] = sum.to_array();
                values[node as usize] = own.iter().enumerate().map(|(i, value)| weight(i) * value).sum();
            }
        }
        let connectivity = (0..cells).flat_map(|cell| {
            let numbers: Vec<u32> = mesh.numbering().leaf_nodes(cell).collect();
            nodes.iter().map(move |&[x, y, z]| u64::from(numbers[x + n * (y + n * z)]))
        });
        let count = cells as u64;
        let solution = Array::floats("solution", 1, points.len() as u64, values.into_iter(), config);
        let mut cell_data = vec![Array::bytes("level", count, mesh.forest().leaves().iter().map(|leaf| leaf.level))];
        cell_data.extend(
            of_cells.iter().map(|(name, numbers)| Array::floats(name, 1, count, numbers.iter().copied(), config)),
        );
        let at_points = points.iter().map(|&point| DVec3::from_array(point));
        let grid = Self::grid(mesh, config);
        file::write_with(path, |file| grid.write(file, at_points, connectivity, vec![solution], cell_data))
    }

    fn grid(mesh: &Mesh, config: &vtu::Config) -> Grid {
        let nodes_a_cell = (mesh.degree() as u64 + 1).pow(mesh.dim() as u32);
        let (points, cells) = (mesh.numbering().nodes() as u64, mesh.cells().cells() as u64);
        Grid { dim: mesh.dim(), nodes_a_cell, points, cells, config: *config }
    }

    /// Bytes of that file at most, with so many numbers for each cell.
    pub fn most_vtu_bytes(system: &Elliptic, of_cells: u64, config: &vtu::Config) -> u64 {
        Self::grid(&system.mesh, config).most_bytes(&[1], &[of_cells], &[1])
    }

    /// Bytes of the host's memory that writing it takes at most: points, values at them, and blocks that are compressed.
    pub fn vtu_memory(system: &Elliptic) -> u64 {
        (system.nodes() * (size_of::<[f64; 3]>() + size_of::<f64>())) as u64 + compressed::memory()
    }

    /// Writes it to a file that NumPy loads (`.npz`): `values` at all nodes, also those that hang, in the order of [`Self::values`], and
    /// `points`, the nodes, with a second index for the coordinates. Both are `f64`.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] and those of [`file::write_with`].
    pub fn write_npz(&self, path: &Path) -> Result<()> {
        let values = self.values.iter().copied();
        nodal_values::write(path, vec![(Self::nodes(&self.mesh)?, Box::new(values))])
    }

    /// The function of a system's elements that [`Self::write_npz`] wrote.
    ///
    /// # Errors
    /// [`Error::SolutionFile`] for another file, or one with other nodes; [`Error::Io`], [`Error::OutOfMemory`].
    pub fn read_npz(system: &Elliptic, path: &Path) -> Result<Self> {
        let values = nodal_values::read(path, vec![Self::nodes(&system.mesh)?])?.pop().unwrap_or_default();
        Ok(Self::new(system, values))
    }

    fn nodes(mesh: &Mesh) -> Result<Nodes<'static>> {
        let positions = mesh.node_positions()?;
        let mut points = memory::zeros::<[f64; 3]>(mesh.numbering().nodes())?;
        for cell in 0..mesh.cells().cells() {
            let nodes = mesh.numbering().leaf_nodes(cell);
            nodes.zip(positions.positions(cell).iter()).for_each(|(node, at)| points[node as usize] = at.to_array());
        }
        let (shape, dim) = (vec![points.len()], mesh.dim());
        Ok(Nodes { name: None, shape, dim, points: Box::new(points.into_iter().map(DVec3::from_array)) })
    }

    /// `∫ g(x, u, ∇u)`, by Gauss's rule of `k + 3` points a direction.
    ///
    /// # Errors
    /// [`Error::NotFinite`] if it is not finite.
    pub fn integral(&self, g: impl Fn(DVec3, f64, DVec3) -> f64 + Sync) -> Result<f64> {
        let [sum] = self.integrate(self.mesh.degree() + 3, |point, value, gradient| Ok([g(point, value, gradient)]))?;
        Ok(sum)
    }

    fn difference(&self, exact: impl Fn(DVec3) -> (f64, DVec3) + Sync) -> Result<ErrorNorms> {
        let dim = self.mesh.dim();
        let squares = self.integrate(self.mesh.degree() + 2, |point, value, gradient| {
            let (exact, mut exact_gradient) = exact(point);
            if dim == 2 {
                exact_gradient.z = 0.0;
            }
            for given in [exact, exact_gradient.x, exact_gradient.y, exact_gradient.z] {
                finite("the exact solution or its gradient", given, point)?;
            }
            Ok([(value - exact).powi(2), (gradient - exact_gradient).length_squared()])
        })?;
        let [l2, h1] = squares.map(f64::sqrt);
        Ok(ErrorNorms { l2, h1 })
    }

    /// Integrals of functions of point, value and gradient, by Gauss's rule of so many points a direction.
    fn integrate<const N: usize>(
        &self,
        points: usize,
        integrands: impl Fn(DVec3, f64, DVec3) -> Result<[f64; N]> + Sync,
    ) -> Result<[f64; N]> {
        let mesh = &*self.mesh;
        let (geometry, shape) = (Geometry::new(mesh, points)?, CellShape::<f64>::with_points(mesh, points)?);
        let of_cell = |workspace: &mut Workspace<f64>, cell: usize| -> Result<[f64; N]> {
            let mut values = mesh.values_of(cell, &self.values);
            shape.evaluate(&mut values, workspace);
            let mut sums = [0.0; N];
            geometry.for_each_point(cell, |q, place| {
                let gradient = place.jacobian.inverse().transpose() * workspace.gradient(q);
                let integrands = integrands(place.point, values[q], gradient)?;
                sums.iter_mut().zip(integrands).for_each(|(sum, value)| *sum += place.weight * value);
                Ok(())
            })?;
            match sums.into_iter().find(|sum| !sum.is_finite()) {
                None => Ok(sums),
                Some(value) => Err(Error::NotFinite { what: "integral", value, place: format!("cell {cell}") }),
            }
        };
        let mut sums = [0.0; N];
        for cell in try_map_with(mesh.cells().cells(), Workspace::default, of_cell)? {
            sums.iter_mut().zip(cell).for_each(|(sum, value)| *sum += value);
        }
        Ok(sums)
    }
}
