//! VTU files, whatever makes their numbers: tags first, behind them the arrays as they are in memory (appended, raw), so that none is held as
//! a whole.

use super::vtk_cell;
use glam::DVec3;
use std::io::{self, Write};

/// Bytes of the file besides its arrays, at most.
pub const TAGS: u64 = 2 << 10;
/// Bytes before an array: how many it has.
const HEADER: u64 = 8;
/// Bytes that are written at once, about.
const BUFFER: usize = 64 << 10;

/// Lagrange cells of one degree.
pub struct Grid {
    pub dim: usize,
    pub nodes_a_cell: u64,
    pub points: u64,
    pub cells: u64,
}

impl Grid {
    /// The file: coordinates of all points, the points of each cell in VTK's order, and data of points and cells.
    pub fn write<'a>(
        &self,
        file: &mut dyn Write,
        points: impl Iterator<Item = DVec3> + 'a,
        connectivity: impl Iterator<Item = u64> + 'a,
        point_data: Vec<Array<'a>>,
        cell_data: Vec<Array<'a>>,
    ) -> io::Result<()> {
        let &Self { dim, nodes_a_cell, points: point_count, cells } = self;
        let indices = |name, count, indices: Box<dyn Iterator<Item = u64> + 'a>| match self.index_bytes() {
            4 => Array::new("Int32", name, 1, count, indices.map(|index| (index as u32).to_le_bytes())),
            _ => Array::new("Int64", name, 1, count, indices.map(u64::to_le_bytes)),
        };
        let sections = [
            ("PointData", point_data),
            ("CellData", cell_data),
            ("Points", vec![Array::floats("Points", 3, point_count, points.flat_map(|point| point.to_array()))]),
            (
                "Cells",
                vec![
                    indices("connectivity", cells * nodes_a_cell, Box::new(connectivity)),
                    indices("offsets", cells, Box::new((1..=cells).map(move |cell| cell * nodes_a_cell))),
                    Array::bytes("types", cells, (0..cells).map(move |_| vtk_cell::cell_type(dim))),
                ],
            ),
        ];
        // Readers take the numbering of Lagrange hexahedra from the version.
        writeln!(file, "<?xml version=\"1.0\"?>")?;
        writeln!(
            file,
            "<VTKFile type=\"UnstructuredGrid\" version=\"2.2\" byte_order=\"LittleEndian\" header_type=\"UInt64\">"
        )?;
        writeln!(file, "<UnstructuredGrid>\n<Piece NumberOfPoints=\"{point_count}\" NumberOfCells=\"{cells}\">")?;
        let mut offset = 0;
        for (section, arrays) in &sections {
            writeln!(file, "<{section}>")?;
            for array in arrays {
                array.tag(file, offset)?;
                offset += HEADER + array.length;
            }
            writeln!(file, "</{section}>")?;
        }
        write!(file, "</Piece>\n</UnstructuredGrid>\n<AppendedData encoding=\"raw\">\n_")?;
        for array in sections.into_iter().flat_map(|(_, arrays)| arrays) {
            file.write_all(&array.length.to_le_bytes())?;
            (array.write)(file)?;
        }
        writeln!(file, "\n</AppendedData>\n</VTKFile>")
    }

    /// Bytes of the file, less than [`TAGS`] too many, with arrays of so many numbers a point and of so many bytes a cell.
    pub fn size(&self, point_numbers: &[u64], cell_bytes: &[u64]) -> u64 {
        let index = self.index_bytes();
        let of_points = [3].iter().chain(point_numbers).map(|numbers| 8 * numbers * self.points);
        let of_cells = [index * self.nodes_a_cell, index, 1];
        let of_cells = of_cells.iter().chain(cell_bytes).map(|bytes| bytes * self.cells);
        TAGS + of_points.chain(of_cells).map(|bytes| HEADER + bytes).sum::<u64>()
    }

    /// Bytes of an index of a point, or of a place among the points of all cells.
    fn index_bytes(&self) -> u64 {
        if self.points.max(self.cells * self.nodes_a_cell) <= i32::MAX as u64 { 4 } else { 8 }
    }
}

/// Writes something.
type Writer<'a> = dyn FnOnce(&mut dyn Write) -> io::Result<()> + 'a;

/// An array of a file, and what writes it.
pub struct Array<'a> {
    kind: &'static str,
    name: &'a str,
    components: u64,
    /// In bytes.
    length: u64,
    write: Box<Writer<'a>>,
}

impl<'a> Array<'a> {
    /// `tuples` tuples of `f64`.
    pub fn floats(name: &'a str, components: u64, tuples: u64, values: impl Iterator<Item = f64> + 'a) -> Self {
        Self::new("Float64", name, components, tuples, values.map(f64::to_le_bytes))
    }

    /// So many numbers below 256.
    pub fn bytes(name: &'a str, count: u64, values: impl Iterator<Item = u8> + 'a) -> Self {
        Self::new("UInt8", name, 1, count, values.map(|value| [value]))
    }

    fn new<const B: usize>(
        kind: &'static str,
        name: &'a str,
        components: u64,
        tuples: u64,
        words: impl Iterator<Item = [u8; B]> + 'a,
    ) -> Self {
        let write = |file: &mut dyn Write| {
            let mut buffer = Vec::with_capacity(BUFFER);
            for word in words {
                buffer.extend(word);
                if buffer.len() + B > BUFFER {
                    file.write_all(&buffer)?;
                    buffer.clear();
                }
            }
            file.write_all(&buffer)
        };
        Self { kind, name, components, length: components * tuples * B as u64, write: Box::new(write) }
    }

    fn tag(&self, file: &mut dyn Write, offset: u64) -> io::Result<()> {
        let Self { kind, name, components, .. } = self;
        writeln!(
            file,
            "<DataArray type=\"{kind}\" Name=\"{name}\" NumberOfComponents=\"{components}\" format=\"appended\" \
             offset=\"{offset}\"/>"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_have_64_bits_where_32_are_too_few() {
        let grid = |points, cells| Grid { dim: 3, nodes_a_cell: 8, points, cells };
        let most = i32::MAX as u64;
        assert_eq!([grid(most, 1), grid(most + 1, 1)].map(|grid| grid.index_bytes()), [4, 8]);
        assert_eq!([grid(9, most / 8), grid(9, most / 8 + 1)].map(|grid| grid.index_bytes()), [4, 8]);
        assert_eq!(grid(1, 0).size(&[], &[]) - grid(0, 0).size(&[], &[]), 24);
        assert_eq!(grid(0, 1).size(&[], &[]) - grid(0, 0).size(&[], &[]), 4 * 9 + 1);
    }
}
