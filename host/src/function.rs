//! Functions of a finite element space.

use crate::error::{Error, Result};
use crate::memory;
use crate::output::nodal_values::{self, Nodes};
use crate::output::vtu;
use crate::problem::{ErrorNorms, ExactSolution, error_norms};
use crate::space::{Axis, Space};
use glam::DVec3;
use std::path::Path;

/// `u_h = sum_i u_i φ_i` in a space.
#[derive(Clone, Debug)]
pub struct Function {
    space: Space,
    values: Vec<f64>,
}

/// The basis of a direction at a point, in the cell that holds it.
struct BasisAt {
    /// The cell's first node.
    first: usize,
    values: Vec<f64>,
    derivatives: Vec<f64>,
}

impl Function {
    /// Of nodal values in the storage order of a space; entries that are no unknowns are those of a boundary.
    ///
    /// # Errors
    /// [`Error::SizeMismatch`] unless there are [`Space::storage`] values.
    pub fn new(space: &Space, values: Vec<f64>) -> Result<Self> {
        space.check_storage("values", values.len())?;
        Ok(Self { space: space.clone(), values })
    }

    /// The space.
    pub fn space(&self) -> &Space {
        &self.space
    }

    /// Nodal values, in the storage order of the space.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The nodal values alone.
    pub fn into_values(self) -> Vec<f64> {
        self.values
    }

    /// Nodal values at all nodes of the space, `x` fastest, also at nodes that are not stored, where it is zero.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn values_at_nodes(&self) -> Result<Vec<f64>> {
        let mut values = memory::zeros(self.space.axes().iter().map(Axis::all_nodes).product())?;
        values
            .iter_mut()
            .zip(nodal_values::values_at_nodes(&self.space, &self.values))
            .for_each(|(to, from)| *to = from);
        Ok(values)
    }

    /// `u_h(point)`; in 2D the third coordinate counts for nothing. Where a discontinuous function has several values it is
    /// that of the cell with the larger coordinates.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] outside the domain.
    pub fn at(&self, point: DVec3) -> Result<f64> {
        Ok(self.sum(&self.place(point)?, |_, basis| &basis.values))
    }

    /// `∇u_h(point)`, with third component 0 in 2D; of the cell that [`Self::at`] takes.
    ///
    /// # Errors
    /// Those of [`Self::at`].
    pub fn gradient_at(&self, point: DVec3) -> Result<DVec3> {
        let place = self.place(point)?;
        let slope =
            |along: usize| self.sum(&place, |d, basis| if d == along { &basis.derivatives } else { &basis.values });
        Ok(DVec3::new(slope(0), slope(1), slope(2)))
    }

    /// The basis of each direction at a point; in 2D the constant 1 in the third.
    fn place(&self, point: DVec3) -> Result<[BasisAt; 3]> {
        let mut place = [(); 3].map(|()| BasisAt { first: 0, values: vec![1.0], derivatives: vec![0.0] });
        for (d, axis) in self.space.axes().iter().enumerate() {
            let length = self.space.mesh().lengths()[d];
            if !(0.0..=length).contains(&point[d]) {
                let direction = ["x", "y", "z"][d];
                let (value, allowed) = (point.to_string(), format!("in the domain: 0 to {length} in {direction}"));
                return Err(Error::InvalidArgument { name: "point", value, allowed });
            }
            let (cell, x) = axis.locate(point[d]);
            let derivatives = axis.element().derivatives(x).into_iter().map(|slope| slope / axis.width(cell));
            place[d] = BasisAt {
                first: cell * axis.stride(),
                values: axis.element().values(x),
                derivatives: derivatives.collect(),
            };
        }
        Ok(place)
    }

    /// Nodal values of the cell times a factor of each direction.
    fn sum<'a>(&self, place: &'a [BasisAt; 3], factors: impl Fn(usize, &'a BasisAt) -> &'a [f64]) -> f64 {
        let [of_x, of_y, of_z] = [0, 1, 2].map(|d| factors(d, &place[d]));
        let mut sum = 0.0;
        for (z, of_z) in of_z.iter().enumerate() {
            for (y, of_y) in of_y.iter().enumerate() {
                for (x, of_x) in of_x.iter().enumerate() {
                    let node = [place[0].first + x, place[1].first + y, place[2].first + z];
                    sum += of_x * of_y * of_z * self.values[self.space.offset(node)];
                }
            }
        }
        sum
    }

    /// Norms of `u_h - u`.
    ///
    /// # Errors
    /// [`Error::NotFinite`] if a value of either is not finite.
    pub fn error_to(&self, u: &(impl ExactSolution + ?Sized)) -> Result<ErrorNorms> {
        error_norms(&self.space, &self.values, u)
    }

    /// Writes it to a VTU file for ParaView, with cells of the element's degree; the error, too, if `exact` is given.
    ///
    /// # Errors
    /// Those of [`vtu::write()`].
    pub fn write_vtu(&self, path: &Path, exact: Option<&dyn Fn(DVec3) -> f64>, config: &vtu::Config) -> Result<()> {
        vtu::write(path, &self.space, &self.values, exact, config)
    }

    /// Writes it to a file that NumPy loads (`.npz`): `values` at all nodes, with indices along `z`, `y` and `x`, or `y` and `x` in
    /// 2D, and `points`, the nodes, with one index more for the coordinates. Both are `f64`.
    ///
    /// # Errors
    /// Those of [`write_with`](crate::output::file::write_with).
    pub fn write_npz(&self, path: &Path) -> Result<()> {
        let values = nodal_values::values_at_nodes(&self.space, &self.values);
        nodal_values::write(path, vec![(Nodes::of_space(&self.space, None), Box::new(values))])
    }

    /// The function of a space that [`Self::write_npz`] wrote. Values at nodes that are no unknowns are left out.
    ///
    /// # Errors
    /// [`Error::SolutionFile`] for another file, or one with other nodes; [`Error::Io`], [`Error::OutOfMemory`].
    pub fn read_npz(space: &Space, path: &Path) -> Result<Self> {
        let values = nodal_values::read(path, vec![Nodes::of_space(space, None)])?.pop().unwrap_or_default();
        Self::new(space, nodal_values::from_values_at_nodes(space, &values)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::Mesh;

    /// `x (1 - x) (1 + y) (1 - y) y [(1 + z) (1 - z) z]`, zero on the boundary.
    fn polynomial(dim: usize, p: DVec3) -> f64 {
        let cubic = |x: f64| x * (1.0 - x * x);
        p.x * (1.0 - p.x) * cubic(p.y) * if dim == 3 { cubic(p.z) } else { 1.0 }
    }

    #[test]
    fn a_polynomial_of_the_space_has_its_value_everywhere() {
        for dim in [2, 3] {
            let mesh = Mesh::unit_cube(dim, 2).unwrap();
            for space in [Space::new(mesh, 3).unwrap(), Space::discontinuous(mesh, 3).unwrap()] {
                let dofs: Vec<_> = space.unknowns().map(|node| polynomial(dim, space.point(node))).collect();
                let function = Function::new(&space, space.from_dofs(&dofs).unwrap()).unwrap();
                for point in [[0.0, 0.0, 0.0], [0.3, 0.71, 0.99], [0.25, 0.5, 0.75], [1.0, 0.4, 0.2], [0.6, 1.0, 1.0]] {
                    let point = DVec3::from_array(point);
                    let (found, expected) = (function.at(point).unwrap(), polynomial(dim, point));
                    assert!((found - expected).abs() < 1e-15, "{dim}D {point}: {found} {expected}");
                }
            }
        }
    }

    #[test]
    fn a_polynomial_of_a_space_on_a_box_has_its_gradient_everywhere() {
        for (cells, lengths) in [(&[2, 1][..], &[2.0, 0.5][..]), (&[1, 2, 2], &[3.0, 2.0, 0.6])] {
            let mesh = Mesh::of_box(cells, lengths, 1).unwrap();
            let (dim, scale) = (mesh.dim(), DVec3::from_array(mesh.lengths()));
            for space in [Space::new(mesh, 3).unwrap(), Space::discontinuous(mesh, 3).unwrap()] {
                let dofs: Vec<_> = space.unknowns().map(|node| polynomial(dim, space.point(node) / scale)).collect();
                let function = Function::new(&space, space.from_dofs(&dofs).unwrap()).unwrap();
                for part in [[0.0, 0.0, 0.0], [0.3, 0.71, 0.99], [0.25, 0.5, 0.75], [1.0, 0.4, 0.2], [0.6, 1.0, 1.0]] {
                    let part = DVec3::from_array(part);
                    let (found, cubic) = (function.gradient_at(part * scale).unwrap(), |x: f64| x * (1.0 - x * x));
                    let (square, of_z) = (part.x * (1.0 - part.x), if dim == 3 { cubic(part.z) } else { 1.0 });
                    let slope = |x: f64| 1.0 - 3.0 * x * x;
                    let of_dz = if dim == 3 { slope(part.z) } else { 0.0 };
                    let expected = DVec3::new(
                        (1.0 - 2.0 * part.x) * cubic(part.y) * of_z,
                        square * slope(part.y) * of_z,
                        square * cubic(part.y) * of_dz,
                    ) / scale.with_z(if dim == 3 { scale.z } else { 1.0 });
                    assert!((found - expected).length() < 1e-13, "{part}: {found} {expected}");
                }
                assert!(function.gradient_at(scale * 1.1).is_err());
            }
        }
    }

    #[test]
    fn a_polynomial_of_a_space_on_a_box_has_its_value_everywhere() {
        for (cells, lengths) in [(&[5, 3][..], &[2.5, 0.6][..]), (&[1, 5, 2], &[3.0, 2.5, 0.6])] {
            let mesh = Mesh::of_box(cells, lengths, 1).unwrap();
            // Its value on the unit square or cube, as far along each side.
            let value = |p: DVec3| polynomial(mesh.dim(), p / DVec3::from_array(mesh.lengths()));
            for space in [Space::new(mesh, 3).unwrap(), Space::discontinuous(mesh, 3).unwrap()] {
                let dofs: Vec<_> = space.unknowns().map(|node| value(space.point(node))).collect();
                let function = Function::new(&space, space.from_dofs(&dofs).unwrap()).unwrap();
                for part in [[0.0, 0.0, 0.0], [0.3, 0.71, 0.99], [0.25, 0.5, 0.75], [1.0, 0.4, 0.2], [0.6, 1.0, 1.0]] {
                    let point = DVec3::from_array(part) * DVec3::from_array(mesh.lengths());
                    let (found, expected) = (function.at(point).unwrap(), value(point));
                    assert!((found - expected).abs() < 1e-14, "{point}: {found} {expected}");
                }
                for direction in 0..mesh.dim() {
                    let mut outside = DVec3::from_array(mesh.lengths()) * 0.5;
                    outside[direction] = mesh.lengths()[direction] + 1e-9;
                    let message = function.at(outside).unwrap_err().to_string();
                    let domain = format!("0 to {} in {}", lengths[direction], ["x", "y", "z"][direction]);
                    assert!(message.ends_with(&domain), "{message}");
                }
            }
        }
    }

    /// Values jump between cells: each cell's own at its nodes, the one with the larger coordinates where they meet.
    #[test]
    fn cells_of_a_box_are_found() {
        let mesh = Mesh::of_box(&[2, 5], &[2.0, 1.0], 1).unwrap();
        let space = Space::discontinuous(mesh, 1).unwrap();
        let cell = |x: usize, y: usize| (x + 4 * y) as f64;
        let dofs: Vec<_> = space.unknowns().map(|[x, y, _]| cell(x / 2, y / 2)).collect();
        let function = Function::new(&space, dofs).unwrap();
        for (point, expected) in
            [([0.1, 0.05], cell(0, 0)), ([1.5, 0.05], cell(3, 0)), ([1.9, 0.55], cell(3, 5)), ([2.0, 1.0], cell(3, 9))]
        {
            let found = function.at(DVec3::new(point[0], point[1], 0.0)).unwrap();
            assert!((found - expected).abs() < 1e-13, "{point:?}: {found} {expected}");
        }
    }

    /// Where the length is not the cell size times the number of cells, by rounding.
    #[test]
    fn all_nodes_are_in_the_domain() {
        for (cells, length) in [(11, 0.1), (25, 7.0), (3, 0.7)] {
            let mesh = Mesh::of_box(&[cells, 1], &[length, 1.0], 1).unwrap();
            let is_rounded_up = mesh.cell_sizes()[0] * mesh.cells_along()[0] as f64 > length;
            assert_eq!(is_rounded_up, cells != 3, "what the case is there for");
            for space in [Space::new(mesh, 2).unwrap(), Space::discontinuous(mesh, 2).unwrap()] {
                let function = Function::new(&space, vec![0.0; space.storage()]).unwrap();
                for node in space.unknowns() {
                    let point = space.point(node);
                    assert!(function.at(point).is_ok(), "{point}");
                }
            }
        }
    }

    #[test]
    fn values_at_nodes_are_those_of_all_nodes() {
        let mesh = Mesh::of_box(&[1, 2, 1], &[1.0, 3.0, 0.5], 1).unwrap();
        for space in [Space::new(mesh, 2).unwrap(), Space::discontinuous(mesh, 2).unwrap()] {
            let dofs: Vec<_> = space.unknowns().map(|node| polynomial(3, space.point(node))).collect();
            let function = Function::new(&space, space.from_dofs(&dofs).unwrap()).unwrap();
            let [x, y, z] = [0, 1, 2].map(|d| space.axes()[d].all_nodes());
            let nodes = (0..x * y * z).map(|index| [index % x, index / x % y, index / (x * y)]);
            let is_inside = |node: [usize; 3]| (0..3).all(|d| space.axes()[d].unknown_nodes().contains(&node[d]));
            let expected = nodes.map(|node| if is_inside(node) { polynomial(3, space.point(node)) } else { 0.0 });
            assert_eq!(function.values_at_nodes().unwrap(), expected.collect::<Vec<_>>());
        }
    }

    #[test]
    fn functions_come_back_from_archives() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("u.npz");
        let mesh = Mesh::unit_cube(3, 1).unwrap();
        for space in [Space::new(mesh, 3).unwrap(), Space::discontinuous(mesh, 2).unwrap()] {
            let dofs: Vec<_> = space.unknowns().map(|node| polynomial(3, space.point(node))).collect();
            let function = Function::new(&space, space.from_dofs(&dofs).unwrap()).unwrap();
            function.write_npz(&path).unwrap();
            assert_eq!(Function::read_npz(&space, &path).unwrap().values(), function.values());
            let other = Space::new(Mesh::unit_cube(3, 2).unwrap(), 3).unwrap();
            assert!(matches!(Function::read_npz(&other, &path), Err(Error::SolutionFile { .. })));
        }
    }

    #[test]
    fn points_outside_and_wrong_lengths_are_refused() {
        let space = Space::new(Mesh::unit_cube(2, 1).unwrap(), 2).unwrap();
        let function = Function::new(&space, vec![0.0; space.storage()]).unwrap();
        for point in [DVec3::new(-1e-9, 0.5, 0.0), DVec3::new(0.5, 1.5, 0.0), DVec3::new(f64::NAN, 0.5, 0.0)] {
            assert!(function.at(point).unwrap_err().to_string().starts_with("point is ["));
        }
        assert_eq!(function.at(DVec3::new(0.5, 0.5, 7.0)).unwrap(), 0.0);
        assert!(matches!(Function::new(&space, vec![0.0]), Err(Error::SizeMismatch { found: 1, .. })));
    }
}
