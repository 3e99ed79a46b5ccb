//! Fields as VTU files (VTK's XML format for unstructured grids) with Lagrange cells of the space's degree.
//!
//! VTK takes the nodes of its Lagrange cells for equidistant in reference coordinates, where the space has
//! Gauss-Lobatto points. So values are those of the polynomial at equidistant points, and a reader sees exactly `u_h`.

use super::vtk_cell;
use crate::error::{Error, Result};
use crate::space::Space;
use glam::DVec3;
use std::path::Path;
use vtkio::model::{
    Attribute, Attributes, ByteOrder, Cells, DataArray, DataSet, ElementType, UnstructuredGridPiece, Version,
    VertexNumbers, Vtk,
};

/// Bytes of the largest file that is written: the writer holds about three times as much in memory.
pub const LIMIT: u64 = 4 << 30;

/// Bytes of the file besides its arrays.
const TAGS: u64 = 1 << 10;

/// Points of the file in a direction: those that neighbouring continuous cells share are counted once.
fn lattice(space: &Space) -> usize {
    match space {
        Space::Continuous(_) => space.row() + 1,
        Space::Discontinuous(_) => space.row(),
    }
}

/// Cell, and point in it, of a point in a direction; the last cell's if several share it.
fn locate(space: &Space, point: usize) -> (usize, usize) {
    let cell = (point / space.cell_stride()).min(space.mesh().cells_per_direction() as usize - 1);
    (cell, point - cell * space.cell_stride())
}

/// Bytes of the file that [`write()`] makes, to a few percent: points, their values, and the corners of cells, as base64.
pub fn size(space: &Space, with_error: bool) -> u64 {
    let dim = space.dim() as u32;
    let points = (lattice(space) as u64).pow(dim);
    let cells = u64::from(space.mesh().cells_per_direction()).pow(dim);
    let per_point = 3 * 8 + 8 + if with_error { 8 } else { 0 };
    let per_cell = 8 * (space.degree() as u64 + 1).pow(dim) + 8 + 1;
    TAGS + (points * per_point + cells * per_cell) / 3 * 4
}

/// Writes point data `solution` and, where the exact solution is known, `error = solution - exact`.
///
/// `solution` is in the storage order of the space.
///
/// # Errors
/// [`Error::SizeMismatch`] if `solution` is no vector of the space, [`Error::Output`] if the file would be larger than
/// [`LIMIT`] or cannot be written.
pub fn write(path: &Path, space: &Space, solution: &[f64], exact: Option<&dyn Fn(DVec3) -> f64>) -> Result<()> {
    if solution.len() != space.storage() {
        let (expected, found) = (space.storage(), solution.len());
        return Err(Error::SizeMismatch { what: "solution", expected, found });
    }
    check_size(path, space, exact.is_some())?;
    let values = at_equidistant_points(space, solution);
    let points = points(space);
    let mut data = vec![attribute("solution", values.clone())];
    if let Some(exact) = exact {
        let error = points.chunks_exact(3).zip(&values).map(|(p, value)| value - exact(DVec3::from_slice(p))).collect();
        data.push(attribute("error", error));
    }
    let file = Vtk {
        // Readers take the numbering of Lagrange hexahedra from the version.
        version: Version::new((2, 2)),
        title: String::new(),
        byte_order: ByteOrder::LittleEndian,
        file_path: None,
        data: DataSet::inline(UnstructuredGridPiece {
            points: points.into(),
            cells: cells(space),
            data: Attributes { point: data, cell: Vec::new() },
        }),
    };
    let failed = |reason: String| Error::Output { path: path.to_owned(), reason };
    let target = std::fs::File::create(path).map_err(|source| Error::Io { path: path.to_owned(), source })?;
    file.write_xml(std::io::BufWriter::new(target)).map_err(|e| failed(e.to_string()))
}

/// Whether the file would be within [`LIMIT`].
///
/// # Errors
/// [`Error::Output`] with both sizes if not.
pub fn check_size(path: &Path, space: &Space, with_error: bool) -> Result<()> {
    let size = size(space, with_error);
    if size <= LIMIT {
        return Ok(());
    }
    let reason = format!("the file would have {size} bytes, more than the limit of {LIMIT} bytes");
    Err(Error::Output { path: path.to_owned(), reason })
}

fn attribute(name: &str, values: Vec<f64>) -> Attribute {
    Attribute::DataArray(DataArray {
        name: name.to_string(),
        elem: ElementType::Scalars { num_comp: 1, lookup_table: None },
        data: values.into(),
    })
}

/// Visits a lattice of `n` points a direction, `x` fastest.
fn each_point(dim: usize, n: usize) -> impl Iterator<Item = [usize; 3]> {
    let layers = if dim == 2 { 1 } else { n };
    (0..layers).flat_map(move |z| (0..n).flat_map(move |y| (0..n).map(move |x| [x, y, z])))
}

fn points(space: &Space) -> Vec<f64> {
    let (degree, h) = (space.degree() as f64, space.mesh().cell_size());
    let n = lattice(space);
    let coordinates: Vec<f64> = (0..n)
        .map(|point| {
            let (cell, local) = locate(space, point);
            (cell as f64 + local as f64 / degree) * h
        })
        .collect();
    each_point(space.dim(), n).flatten().map(|i| coordinates[i]).collect()
}

fn cells(space: &Space) -> Cells {
    let (dim, degree, n) = (space.dim(), space.degree(), lattice(space));
    let nodes = vtk_cell::nodes(dim, degree);
    let index = |[x, y, z]: [usize; 3]| x + n * (y + n * z);
    let mut connectivity = Vec::new();
    for cell in each_point(dim, space.mesh().cells_per_direction() as usize) {
        let first = index(cell.map(|c| c * space.cell_stride()));
        connectivity.extend(nodes.iter().map(|&node| (first + index(node)) as u64));
    }
    let count = connectivity.len() / nodes.len();
    Cells {
        cell_verts: VertexNumbers::XML {
            connectivity,
            offsets: (1..=count).map(|c| (c * nodes.len()) as u64).collect(),
        },
        types: vec![vtk_cell::cell_type(dim); count],
    }
}

/// `u_h` on the lattice of equidistant points, one direction after the other.
fn at_equidistant_points(space: &Space, solution: &[f64]) -> Vec<f64> {
    let (dim, degree, stride) = (space.dim(), space.degree(), space.cell_stride());
    let n = lattice(space);
    let basis: Vec<_> = (0..=degree).map(|i| space.element().values(i as f64 / degree as f64)).collect();
    let mut values = vec![0.0; n.pow(dim as u32)];
    for [x, y, z] in space.unknowns() {
        values[x + n * (y + n * z)] = solution[space.offset([x, y, z])];
    }
    let mut column = vec![0.0; n];
    for direction in 0..dim {
        let step = n.pow(direction as u32);
        for start in (0..values.len()).filter(|i| (i / step).is_multiple_of(n)) {
            for (i, value) in column.iter_mut().enumerate() {
                *value = values[start + i * step];
            }
            for i in 0..n {
                let (cell, local) = locate(space, i);
                let nodes = &column[cell * stride..][..=degree];
                values[start + i * step] = basis[local].iter().zip(nodes).map(|(l, u)| l * u).sum();
            }
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::Mesh;
    use vtkio::model::Piece;

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

    fn read_back(path: &Path) -> UnstructuredGridPiece {
        let Ok(Vtk { data: DataSet::UnstructuredGrid { mut pieces, .. }, .. }) = Vtk::import(path) else {
            panic!("no unstructured grid");
        };
        let Some(Piece::Inline(piece)) = pieces.pop() else { panic!("no data") };
        *piece
    }

    #[test]
    fn a_polynomial_of_the_space_comes_back_exactly() {
        let folder = tempfile::tempdir().unwrap();
        for (dim, degree) in [(2, 1), (2, 2), (2, 7), (3, 1), (3, 2), (3, 5)] {
            let space = space(dim, degree);
            let path = folder.path().join("bubble.vtu");
            let solution = interpolate(&space, |x| bubble(x, dim));
            write(&path, &space, &solution, Some(&|x| bubble(x, dim))).unwrap();
            let size_off = std::fs::metadata(&path).unwrap().len() as f64 / size(&space, true) as f64;
            assert!((0.8..1.2).contains(&size_off), "{dim}D, degree {degree}: size estimate is off by {size_off}");

            let piece = read_back(&path);
            assert_eq!(piece.num_points(), (2 * degree + 1).pow(dim as u32));
            assert_eq!(piece.cells.num_cells(), 2usize.pow(dim as u32));
            let points = piece.points.into_vec::<f64>().unwrap();
            let [Attribute::DataArray(solution), Attribute::DataArray(error)] = &piece.data.point[..] else {
                panic!("two arrays expected");
            };
            for (x, value) in points.chunks_exact(3).zip(solution.data.iter::<f64>().unwrap()) {
                approx::assert_abs_diff_eq!(*value, bubble(DVec3::from_slice(x), dim), epsilon = 1e-15);
            }
            assert!(error.data.iter::<f64>().unwrap().all(|e| e.abs() < 1e-15));
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
            write(&path, &space, &space.from_dofs(&dofs).unwrap(), None).unwrap();
            let size_off = std::fs::metadata(&path).unwrap().len() as f64 / size(&space, false) as f64;
            assert!((0.8..1.2).contains(&size_off), "{dim}D, degree {degree}: size estimate is off by {size_off}");

            let piece = read_back(&path);
            assert_eq!(piece.num_points(), (2 * (degree + 1)).pow(dim as u32));
            let points = piece.points.into_vec::<f64>().unwrap();
            let Attribute::DataArray(solution) = &piece.data.point[0] else { panic!("an array expected") };
            let solution: Vec<f64> = solution.data.iter::<f64>().unwrap().copied().collect();
            let VertexNumbers::XML { connectivity, offsets } = piece.cells.cell_verts else { panic!("not of XML") };
            assert_eq!(offsets.len(), 2usize.pow(dim as u32));
            let nodes = (degree + 1).pow(dim as u32);
            for (cell, vertices) in connectivity.chunks_exact(nodes).enumerate() {
                let middle = |d: usize| 0.25 + 0.5 * (cell >> d & 1) as f64;
                for &vertex in vertices {
                    let x = DVec3::from_slice(&points[3 * vertex as usize..][..3]);
                    approx::assert_abs_diff_eq!(solution[vertex as usize], value(cell, x), epsilon = 1e-14);
                    assert!((0..dim).all(|d| (x[d] - middle(d)).abs() <= 0.25 + 1e-15), "{x} is not in cell {cell}");
                }
            }
        }
    }

    #[test]
    fn a_vector_of_another_space_is_refused() {
        let (small, large) = (space(2, 2), space(2, 3));
        let vector = vec![0.0; large.storage()];
        let result = write(Path::new("unused.vtu"), &small, &vector, None);
        assert!(matches!(result, Err(Error::SizeMismatch { what: "solution", .. })));
    }

    #[test]
    fn an_absurdly_large_file_is_refused_with_its_size() {
        let space = Space::new(Mesh::unit_cube(3, 8).unwrap(), 4).unwrap();
        let message = check_size(Path::new("huge.vtu"), &space, true).unwrap_err().to_string();
        assert!(message.contains(&size(&space, true).to_string()), "{message}");
    }
}
