//! Values of functions at the nodes of their elements, with the nodes, as arrays of NumPy: what a solution can be computed on from.

use super::npz::{self, Archive, Array};
use super::vtu::{each_point, lattice};
use crate::error::Result;
use crate::memory;
use crate::space::Space;
use glam::DVec3;
use std::path::Path;

/// How far a node of a file may be from where it should be, in parts of the largest coordinate.
const TOLERANCE: f64 = 1e-10;

/// The nodes of a function, in the order of its values in a file.
pub struct Nodes<'a> {
    /// Name of the array of values. Without one, as the only function of a file, values are `values` and nodes are `points`.
    pub name: Option<&'static str>,
    /// Of the array of values; that of the nodes has one index more, of [`Self::dim`] coordinates.
    pub shape: Vec<usize>,
    /// 2 or 3.
    pub dim: usize,
    /// In the order of the array.
    pub points: Box<dyn Iterator<Item = DVec3> + 'a>,
}

impl<'a> Nodes<'a> {
    /// All nodes of a space, also those that are no unknowns, as a lattice: indices along z, y and x, or y and x in 2D.
    pub fn of_space(space: &'a Space, name: Option<&'static str>) -> Self {
        let (sizes, dim) = (lattice(space), space.dim());
        let shape = sizes[..dim].iter().rev().copied().collect();
        Self { name, shape, dim, points: Box::new(each_point(sizes).map(|node| space.point(node))) }
    }

    fn names(&self) -> [String; 2] {
        match self.name {
            Some(name) => [name.into(), format!("{name}_points")],
            None => ["values", "points"].map(String::from),
        }
    }

    fn shape_of_points(&self) -> Vec<usize> {
        [&self.shape[..], &[self.dim]].concat()
    }
}

/// Values of a function of a space at all of its nodes, in the order of [`Nodes::of_space`]; zero where they are not stored.
pub fn values_at_nodes<'a>(space: &'a Space, values: &'a [f64]) -> impl Iterator<Item = f64> + 'a {
    each_point(lattice(space)).map(|node| space.offset_of_unknown(node).map_or(0.0, |offset| values[offset]))
}

/// The function of a space with these values at its unknowns, in its storage order.
///
/// # Errors
/// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
pub fn from_values_at_nodes(space: &Space, values: &[f64]) -> Result<Vec<f64>> {
    let mut stored: Vec<f64> = memory::zeros(space.storage())?;
    for (node, &value) in each_point(lattice(space)).zip(values) {
        if let Some(offset) = space.offset_of_unknown(node) {
            stored[offset] = value;
        }
    }
    Ok(stored)
}

/// Writes the values of functions.
///
/// # Errors
/// Those of [`npz::write`].
pub fn write<'a>(path: &Path, functions: Vec<(Nodes<'a>, Box<dyn Iterator<Item = f64> + 'a>)>) -> Result<()> {
    let mut arrays = Vec::new();
    for (nodes, values) in functions {
        let ([name, name_of_points], shape, dim) = (nodes.names(), nodes.shape_of_points(), nodes.dim);
        let coordinates = nodes.points.flat_map(move |point| point.to_array().into_iter().take(dim));
        arrays.push(Array { name: name_of_points, shape, values: Box::new(coordinates) });
        arrays.push(Array { name, shape: nodes.shape, values });
    }
    npz::write(path, arrays)
}

/// Values of functions at these nodes, that [`write`] wrote.
///
/// # Errors
/// [`Error::SolutionFile`](crate::Error::SolutionFile) for other nodes, with what differs, and what [`Archive::read`] refuses;
/// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
pub fn read(path: &Path, functions: Vec<Nodes>) -> Result<Vec<Vec<f64>>> {
    let archive = Archive::open(path)?;
    archive.check_names(&functions.iter().flat_map(Nodes::names).collect::<Vec<_>>())?;
    functions.into_iter().map(|nodes| read_function(&archive, nodes)).collect()
}

fn read_function(archive: &Archive, nodes: Nodes) -> Result<Vec<f64>> {
    let ([name, name_of_points], shape_of_points) = (nodes.names(), nodes.shape_of_points());
    let mut values: Vec<f64> = memory::zeros(nodes.shape.iter().product())?;
    archive.read(&name, &nodes.shape, |number, value| {
        values[number] = value;
        Ok(())
    })?;
    let (dim, mut points) = (nodes.dim, nodes.points);
    let (mut point, mut size, mut farthest) = (DVec3::ZERO, 0.0_f64, None::<(f64, usize, f64, f64)>);
    archive.read(&name_of_points, &shape_of_points, |number, found| {
        let direction = number % dim;
        if direction == 0 {
            // There are as many as the shape says.
            point = points.next().unwrap_or_default();
        }
        let expected = point[direction];
        let distance = (found - expected).abs();
        size = size.max(expected.abs());
        if farthest.is_none_or(|(most, ..)| distance > most) {
            farthest = Some((distance, number, found, expected));
        }
        Ok(())
    })?;
    match farthest {
        Some((distance, number, found, expected)) if distance > TOLERANCE * size => {
            let (direction, node) = (["x", "y", "z"][number % dim], number / dim);
            let what = format!("coordinate {direction} of node {node} in '{name_of_points}'");
            Err(archive.refused(what, found.to_string(), format!("{expected}, as in this problem")))
        }
        _ => Ok(values),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::mesh::Mesh;
    use crate::testing::random;

    fn nodes<'a>(points: &'a [DVec3], name: Option<&'static str>) -> Nodes<'a> {
        Nodes { name, shape: vec![points.len()], dim: 3, points: Box::new(points.iter().copied()) }
    }

    #[test]
    fn functions_of_a_space_come_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("u.npz");
        for mesh in
            [Mesh::of_box(&[3, 2], &[1.5, 0.3], 1).unwrap(), Mesh::of_box(&[1, 2, 3], &[1.0, 2.0, 3.0], 1).unwrap()]
        {
            for space in [Space::new(mesh, 3).unwrap(), Space::discontinuous(mesh, 2).unwrap()] {
                let u = space.from_dofs(&random(space.dofs(), 5)).unwrap();
                let of_nodes = values_at_nodes(&space, &u);
                write(&path, vec![(Nodes::of_space(&space, None), Box::new(of_nodes))]).unwrap();
                let [values] = read(&path, vec![Nodes::of_space(&space, None)]).unwrap().try_into().unwrap();
                assert_eq!(from_values_at_nodes(&space, &values).unwrap(), u);
                // x runs fastest, and values are those of the nodes.
                let archive = Archive::open(&path).unwrap();
                let (sizes, dim) = (lattice(&space), space.dim());
                let shape: Vec<_> = sizes[..dim].iter().rev().copied().chain([dim]).collect();
                let mut points = Vec::new();
                archive
                    .read("points", &shape, |_, x| {
                        points.push(x);
                        Ok(())
                    })
                    .unwrap();
                for node in space.unknowns() {
                    let number = node[0] + sizes[0] * (node[1] + sizes[1] * node[2]);
                    assert_eq!(points[dim * number..][..dim], space.point(node).to_array()[..dim]);
                    assert_eq!(values[number], u[space.offset(node)]);
                }
            }
        }
    }

    #[test]
    fn other_nodes_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("u.npz");
        let points = [DVec3::new(0.0, 1.0, 2.0), DVec3::new(0.5, 0.0, 1.0)];
        let values = || Box::new([1.0, 2.0].into_iter());
        write(&path, vec![(nodes(&points, None), values())]).unwrap();
        assert_eq!(read(&path, vec![nodes(&points, None)]).unwrap(), [[1.0, 2.0]]);
        let close = [points[0], points[1] + DVec3::splat(1e-12)];
        assert_eq!(read(&path, vec![nodes(&close, None)]).unwrap(), [[1.0, 2.0]]);
        let other = [points[0], DVec3::new(0.5, 0.25, 1.0)];
        for (asked, message) in [
            (nodes(&other, None), "coordinate y of node 1 in 'points' is 0, but must be 0.25, as in this problem"),
            (nodes(&points[..1], None), "the shape of 'values' is (2,), but must be (1,)"),
            (
                nodes(&points, Some("pressure")),
                "the list of arrays is points, values, but must be pressure, pressure_points",
            ),
        ] {
            let error = read(&path, vec![asked]).unwrap_err();
            assert!(matches!(error, Error::SolutionFile { .. }));
            assert_eq!(error.to_string(), format!("{}: {message}", path.display()));
        }
        write(&path, vec![(nodes(&points, Some("pressure")), values())]).unwrap();
        assert_eq!(read(&path, vec![nodes(&points, Some("pressure"))]).unwrap(), [[1.0, 2.0]]);
    }
}
