//! Fields as VTU files (VTK's XML format for unstructured grids) with Lagrange cells of the space's degree; arrays are binary, and
//! compressed by zlib.
//!
//! VTK takes the nodes of its Lagrange cells for equidistant in reference coordinates, where the space has
//! Gauss-Lobatto points. So values are those of the polynomial at equidistant points, and a reader sees exactly `u_h`.

use super::vtu_file::{Array, Grid};
use super::{compressed, file, vtk_cell};
use crate::error::Result;
use crate::memory;
use crate::space::{Axis, Space};
use glam::DVec3;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;

/// How a file is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// Type of coordinates and values.
    pub float: Float,
}

/// Type of floating-point numbers in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Float {
    /// 32 bits, about 7 digits: files are smaller.
    F32,
    /// 64 bits, as numbers are computed.
    #[default]
    F64,
}

impl Float {
    pub(super) fn bytes(self) -> u64 {
        match self {
            Self::F32 => 4,
            Self::F64 => 8,
        }
    }
}

/// Points of the file in each direction: those that neighbouring continuous cells share are counted once; in 2D one in the third.
pub(super) fn lattice(space: &Space) -> [usize; 3] {
    [0, 1, 2].map(|d| space.axes().get(d).map_or(1, Axis::all_nodes))
}

/// Cell, and point in it, of a point in a direction; the last cell's if several share it.
fn locate(axis: &Axis, point: usize) -> (usize, usize) {
    let cell = (point / axis.stride()).min(axis.cells() - 1);
    (cell, point - cell * axis.stride())
}

/// The cells of the file.
fn grid(space: &Space, config: &Config) -> Grid {
    let [points, cells] =
        [lattice(space), space.mesh().cells_along()].map(|sizes| sizes.iter().map(|&n| n as u64).product());
    let nodes_a_cell = (space.degree() as u64 + 1).pow(space.dim() as u32);
    Grid { dim: space.dim(), nodes_a_cell, points, cells, config: *config }
}

/// Bytes of the file that [`write()`] makes, at most: points, their values, and the points of cells.
pub fn most_bytes(space: &Space, with_error: bool, config: &Config) -> u64 {
    most_bytes_of_arrays(space, if with_error { &[1, 1] } else { &[1] }, config)
}

/// With arrays of so many numbers a point.
pub(crate) fn most_bytes_of_arrays(space: &Space, components: &[u64], config: &Config) -> u64 {
    grid(space, config).most_bytes(components, &[], &[])
}

/// Bytes of the host's memory that [`write()`] takes at most: `solution`, values at equidistant points, twice meanwhile, and blocks
/// that are compressed.
pub fn memory(space: &Space) -> u64 {
    let points: u64 = lattice(space).iter().map(|&n| n as u64).product();
    let [solution, values] = [space.storage() as u64, points].map(|entries| entries * size_of::<f64>() as u64);
    solution + values + values.max(compressed::memory())
}

/// Writes point data `solution` and, where the exact solution is known, `error = solution - exact`.
///
/// `solution` is in the storage order of the space.
///
/// # Errors
/// [`Error::SizeMismatch`](crate::Error::SizeMismatch) if `solution` is no vector of the space,
/// [`Error::OutOfMemory`](crate::Error::OutOfMemory), and those of
/// [`file::write_with`].
pub fn write(
    path: &Path,
    space: &Space,
    solution: &[f64],
    exact: Option<&dyn Fn(DVec3) -> f64>,
    config: &Config,
) -> Result<()> {
    space.check_storage("solution", solution.len())?;
    let values = at_equidistant_points(space, solution, space)?;
    let count = values.len() as u64;
    let mut data = vec![Array::floats("solution", 1, count, values.iter().copied(), config)];
    data.extend(exact.map(|exact| {
        let errors = points(space).zip(&values).map(move |(point, value)| value - exact(point));
        Array::floats("error", 1, count, errors, config)
    }));
    file::write_with(path, |file| document(file, space, data, config))
}

/// Functions of other spaces on the same mesh, as a field of one component or of three.
pub(crate) struct Field<'a> {
    pub name: &'static str,
    /// The functions of its components; a vector in 2D has two.
    pub components: Vec<(&'a Space, &'a [f64])>,
}

impl Field<'_> {
    /// Numbers a point: a vector has three in 2D, too.
    fn width(&self) -> u64 {
        if self.components.len() == 1 { 1 } else { 3 }
    }
}

/// Writes fields at the points of a space of discontinuous elements.
///
/// # Errors
/// Those of [`write()`].
pub(crate) fn write_fields(path: &Path, space: &Space, fields: &[Field], config: &Config) -> Result<()> {
    let sample = |field: &Field| {
        let values = field.components.iter().map(|(own, values)| at_equidistant_points(own, values, space));
        values.collect::<Result<Vec<_>>>()
    };
    let sampled = fields.iter().map(sample).collect::<Result<Vec<_>>>()?;
    let count = grid(space, config).points;
    let data = fields.iter().zip(&sampled).map(|(field, values)| {
        let width = field.width();
        let component = |i: u64, c: u64| values.get(c as usize).map_or(0.0, |values| values[i as usize]);
        let words = (0..count).flat_map(move |i| (0..width).map(move |c| (i, c)));
        Array::floats(field.name, width, count, words.map(move |(i, c)| component(i, c)), config)
    });
    file::write_with(path, |file| document(file, space, data.collect(), config))
}

/// The file, array by array as they are computed, with data of the points.
fn document(file: &mut BufWriter<&File>, space: &Space, data: Vec<Array>, config: &Config) -> io::Result<()> {
    let nodes = vtk_cell::nodes(space.dim(), space.degree());
    grid(space, config).write(file, points(space), connectivity(space, &nodes), data, Vec::new())
}

/// Visits a lattice, `x` fastest.
pub(super) fn each_point([along_x, along_y, along_z]: [usize; 3]) -> impl Iterator<Item = [usize; 3]> {
    (0..along_z).flat_map(move |z| (0..along_y).flat_map(move |y| (0..along_x).map(move |x| [x, y, z])))
}

fn points(space: &Space) -> impl Iterator<Item = DVec3> {
    let coordinate = |axis: &Axis, point: usize| {
        let (cell, local) = locate(axis, point);
        axis.at(cell, local as f64 / axis.degree() as f64)
    };
    let along = |axis: &Axis| (0..axis.all_nodes()).map(|point| coordinate(axis, point)).collect();
    let coordinates: [Vec<f64>; 3] = [0, 1, 2].map(|d| space.axes().get(d).map_or_else(|| vec![0.0], along));
    each_point(lattice(space)).map(move |index| DVec3::from_array([0, 1, 2].map(|d| coordinates[d][index[d]])))
}

/// Points of each cell, in VTK's order.
fn connectivity(space: &Space, nodes: &[[usize; 3]]) -> impl Iterator<Item = u64> {
    let [along_x, along_y, _] = lattice(space);
    let strides = [0, 1, 2].map(|d| space.axes().get(d).map_or(0, Axis::stride));
    let index = move |[x, y, z]: [usize; 3]| x + along_x * (y + along_y * z);
    each_point(space.mesh().cells_along()).flat_map(move |cell| {
        let first = index([0, 1, 2].map(|d| cell[d] * strides[d]));
        nodes.iter().map(move |&node| (first + index(node)) as u64)
    })
}

/// `u_h` on the lattice of equidistant points of a space on the same mesh, one direction after the other.
fn at_equidistant_points(space: &Space, u_h: &[f64], points: &Space) -> Result<Vec<f64>> {
    let (mut sizes, to) = (lattice(space), lattice(points));
    let mut values: Vec<f64> = memory::zeros(sizes.iter().product())?;
    for [x, y, z] in space.unknowns() {
        values[x + sizes[0] * (y + sizes[1] * z)] = u_h[space.offset([x, y, z])];
    }
    for (direction, (axis, target)) in space.axes().iter().zip(points.axes()).enumerate() {
        let degree = target.degree();
        let basis: Vec<_> = (0..=degree).map(|i| axis.element().values(i as f64 / degree as f64)).collect();
        let (inner, n, m) = (sizes[..direction].iter().product::<usize>(), sizes[direction], to[direction]);
        let outer: usize = sizes[direction + 1..].iter().product();
        let mut sampled: Vec<f64> = memory::zeros(inner * m * outer)?;
        for (plane, point) in (0..outer).flat_map(|plane| (0..m).map(move |point| (plane, point))) {
            let (cell, local) = locate(target, point);
            let line = &mut sampled[(plane * m + point) * inner..][..inner];
            for (j, factor) in basis[local].iter().enumerate() {
                let nodes = &values[(plane * n + cell * axis.stride() + j) * inner..][..inner];
                line.iter_mut().zip(nodes).for_each(|(sum, node)| *sum += factor * node);
            }
        }
        sizes[direction] = m;
        values = sampled;
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::mesh::Mesh;
    use crate::space::Family;
    use crate::testing::VtuFile;

    fn space(dim: usize, degree: usize) -> Space {
        Space::new(Mesh::unit_cube(dim, 1).unwrap(), degree).unwrap()
    }

    /// `prod_i x_i (1 - x_i)`: in the space for degree 2 and up, and for degree 1 nodes are what is compared.
    fn bubble(x: DVec3, dim: usize) -> f64 {
        x.to_array()[..dim].iter().map(|x| x * (1.0 - x)).product()
    }

    fn interpolate(space: &Space, f: impl Fn(DVec3) -> f64) -> Vec<f64> {
        let dofs: Vec<_> = space.unknowns().map(|node| f(space.point(node))).collect();
        space.from_dofs(&dofs).unwrap()
    }

    /// Whether `most_bytes` was right.
    fn assert_size(path: &Path, space: &Space, with_error: bool) {
        let (found, said) = (std::fs::metadata(path).unwrap().len(), most_bytes(space, with_error, &Config::default()));
        assert!(found <= said, "{found} bytes, said were at most {said}");
    }

    #[test]
    fn a_polynomial_of_the_space_comes_back_exactly() {
        let folder = tempfile::tempdir().unwrap();
        for (dim, degree) in [(2, 1), (2, 2), (2, 7), (3, 1), (3, 2), (3, 5)] {
            let space = space(dim, degree);
            let path = folder.path().join("bubble.vtu");
            let solution = interpolate(&space, |x| bubble(x, dim));
            write(&path, &space, &solution, Some(&|x| bubble(x, dim)), &Config::default()).unwrap();
            assert_size(&path, &space, true);

            let file = VtuFile::of(&path);
            assert!(file.is_complete());
            let (points, cells) = ((2 * degree + 1).pow(dim as u32), 2usize.pow(dim as u32));
            assert_eq!([file.count("NumberOfPoints"), file.count("NumberOfCells")], [points, cells]);
            let (solution, errors) = (file.floats("solution"), file.floats("error"));
            assert_eq!([solution.len(), errors.len()], [points; 2]);
            assert_eq!(file.bytes("types"), vec![vtk_cell::cell_type(dim); cells]);
            for (x, value) in file.floats("Points").chunks_exact(3).zip(solution) {
                approx::assert_abs_diff_eq!(value, bubble(DVec3::from_slice(x), dim), epsilon = 1e-15);
            }
            assert!(errors.iter().all(|e| e.abs() < 1e-15));
        }
    }

    /// Jumps between cells are kept: every cell has points of its own.
    #[test]
    fn a_discontinuous_function_comes_back_exactly() {
        let folder = tempfile::tempdir().unwrap();
        for (dim, degree) in [(2, 1), (2, 3), (3, 2)] {
            let space = Space::discontinuous(Mesh::unit_cube(dim, 1).unwrap(), degree).unwrap();
            let path = folder.path().join("jumps.vtu");
            // On cell c, x^k + c: in the space, with a jump at every face.
            let value = |cell: usize, x: DVec3| x.x.powi(degree as i32) + cell as f64;
            let number = |node: [usize; 3]| (0..dim).map(|d| (node[d] / (degree + 1)) << d).sum::<usize>();
            let dofs: Vec<_> = space.unknowns().map(|node| value(number(node), space.point(node))).collect();
            write(&path, &space, &space.from_dofs(&dofs).unwrap(), None, &Config::default()).unwrap();
            assert_size(&path, &space, false);

            let file = VtuFile::of(&path);
            assert_eq!(file.count("NumberOfPoints"), (2 * (degree + 1)).pow(dim as u32));
            let (points, solution) = (file.floats("Points"), file.floats("solution"));
            let (connectivity, offsets) = (file.numbers("connectivity"), file.numbers("offsets"));
            assert_eq!(offsets.len(), 2usize.pow(dim as u32));
            let nodes = (degree + 1).pow(dim as u32);
            for (cell, vertices) in connectivity.chunks_exact(nodes).enumerate() {
                assert_eq!(offsets[cell], (cell + 1) * nodes);
                let middle = |d: usize| 0.25 + 0.5 * (cell >> d & 1) as f64;
                for &vertex in vertices {
                    let x = DVec3::from_slice(&points[3 * vertex..][..3]);
                    approx::assert_abs_diff_eq!(solution[vertex], value(cell, x), epsilon = 1e-14);
                    assert!((0..dim).all(|d| (x[d] - middle(d)).abs() <= 0.25 + 1e-15), "{x} is not in cell {cell}");
                }
            }
        }
    }

    /// Points span the box, cells are where they belong, and a polynomial of the space has its value at every point.
    #[test]
    fn a_function_on_a_box_comes_back_exactly() {
        let folder = tempfile::tempdir().unwrap();
        let cases: &[(&[usize], &[f64], usize)] =
            &[(&[3, 1], &[0.5, 4.0], 2), (&[1, 4], &[0.5, 4.0], 5), (&[1, 3, 2], &[3.0, 0.5, 2.0], 2)];
        for &(base, lengths, degree) in cases {
            let mesh = Mesh::of_box(base, lengths, 1).unwrap();
            let (dim, sizes) = (mesh.dim(), mesh.cell_sizes());
            let value = |x: DVec3| bubble(x / DVec3::from_array(mesh.lengths()), dim);
            for space in [Space::new(mesh, degree).unwrap(), Space::discontinuous(mesh, degree).unwrap()] {
                let path = folder.path().join("box.vtu");
                write(&path, &space, &interpolate(&space, value), Some(&value), &Config::default()).unwrap();
                assert_size(&path, &space, true);

                let file = VtuFile::of(&path);
                let along = |axis: &Axis| match axis.family() {
                    Family::Continuous => axis.cells() * degree + 1,
                    Family::Discontinuous => axis.cells() * (degree + 1),
                };
                let points: usize = space.axes().iter().map(along).product();
                assert_eq!([file.count("NumberOfPoints"), file.count("NumberOfCells")], [points, mesh.cells()]);
                let (found, solution) = (file.floats("Points"), file.floats("solution"));
                assert_eq!([found.len(), solution.len()], [3 * points, points]);
                for (d, length) in [0, 1, 2].map(|d| lengths.get(d).copied().unwrap_or(0.0)).into_iter().enumerate() {
                    let coordinates = || found.iter().skip(d).step_by(3).copied();
                    let ends = [coordinates().fold(f64::NAN, f64::min), coordinates().fold(f64::NAN, f64::max)];
                    assert_eq!(ends, [0.0, length]);
                }
                for (x, value_there) in found.chunks_exact(3).zip(&solution) {
                    approx::assert_abs_diff_eq!(*value_there, value(DVec3::from_slice(x)), epsilon = 1e-15);
                }
                assert!(file.floats("error").iter().all(|e| e.abs() < 1e-15));

                let nodes = (degree + 1).pow(dim as u32);
                let connectivity = file.numbers("connectivity");
                assert_eq!(connectivity.len(), nodes * mesh.cells());
                assert_eq!(file.numbers("offsets"), (1..=mesh.cells()).map(|cell| cell * nodes).collect::<Vec<_>>());
                for (vertices, cell) in connectivity.chunks_exact(nodes).zip(mesh.cell_indices()) {
                    // Every point of the cell's lattice once.
                    let place = |vertex: &usize| {
                        let x = &found[3 * vertex..][..3];
                        [0, 1, 2].map(|d| {
                            let local = if d < dim { (x[d] / sizes[d] - cell[d] as f64) * degree as f64 } else { 0.0 };
                            assert!((local - local.round()).abs() < 1e-12, "{x:?} in {cell:?}");
                            local.round() as i64
                        })
                    };
                    let mut places: Vec<_> = vertices.iter().map(place).collect();
                    places.sort_unstable();
                    places.dedup();
                    assert_eq!(places.len(), nodes);
                    assert!(
                        places.iter().flatten().all(|at| (0..=degree as i64).contains(at)),
                        "{places:?} in {cell:?}"
                    );
                }
            }
        }
    }

    /// Points and values are those of 64 bits, rounded.
    #[test]
    fn a_file_of_32_bits_is_rounded_and_smaller() {
        let folder = tempfile::tempdir().unwrap();
        let space = Space::new(Mesh::unit_cube(3, 3).unwrap(), 3).unwrap();
        let values = interpolate(&space, |x| x.x.exp() * (3.0 * x.y).sin() + x.z);
        let [single, double] = [Float::F32, Float::F64].map(|float| {
            let (path, config) = (folder.path().join("solution.vtu"), Config { float });
            write(&path, &space, &values, None, &config).unwrap();
            let bytes = std::fs::metadata(&path).unwrap().len();
            assert!(bytes <= most_bytes(&space, false, &config));
            (VtuFile::of(&path), bytes)
        });
        assert!(single.0.is_complete() && single.1 < double.1 * 3 / 4, "{} of {} bytes", single.1, double.1);
        for name in ["Points", "solution"] {
            let rounded: Vec<_> = double.0.floats(name).into_iter().map(|value| f64::from(value as f32)).collect();
            assert_eq!(single.0.floats(name), rounded);
        }
        for name in ["connectivity", "offsets"] {
            assert_eq!(single.0.numbers(name), double.0.numbers(name));
        }
    }

    #[test]
    fn a_vector_of_another_space_is_refused() {
        let (small, large) = (space(2, 2), space(2, 3));
        let vector = vec![0.0; large.storage()];
        let result = write(Path::new("unused.vtu"), &small, &vector, None, &Config::default());
        assert!(matches!(result, Err(Error::SizeMismatch { what: "solution", .. })));
    }
}
