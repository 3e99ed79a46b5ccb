//! VTU files, whatever makes their numbers: tags first, behind them the compressed arrays (appended), none of which is held as a whole.

use super::vtu::{Config, Float};
use super::{compressed, vtk_cell, xml};
use glam::DVec3;
use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};

/// Bytes of the file besides its arrays, at most.
pub const TAGS: u64 = 2 << 10;
/// Bytes that are written at once, about.
const BUFFER: usize = 64 << 10;

/// Lagrange cells of one degree.
pub struct Grid {
    pub dim: usize,
    pub nodes_a_cell: u64,
    pub points: u64,
    pub cells: u64,
    pub config: Config,
}

impl Grid {
    /// The file: coordinates of all points, the points of each cell in VTK's order, and data of points and cells.
    pub fn write<'a>(
        &self,
        file: &mut BufWriter<&File>,
        points: impl Iterator<Item = DVec3> + 'a,
        connectivity: impl Iterator<Item = u64> + 'a,
        point_data: Vec<Array<'a>>,
        cell_data: Vec<Array<'a>>,
    ) -> io::Result<()> {
        let &Self { dim, nodes_a_cell, points: point_count, cells, ref config } = self;
        let indices = |name, count, indices: Box<dyn Iterator<Item = u64> + 'a>| match self.index_bytes() {
            4 => Array::new("Int32", name, 1, count, indices.map(|index| (index as u32).to_le_bytes())),
            _ => Array::new("Int64", name, 1, count, indices.map(u64::to_le_bytes)),
        };
        let coordinates = points.flat_map(|point| point.to_array());
        let sections = [
            ("PointData", point_data),
            ("CellData", cell_data),
            ("Points", vec![Array::floats("Points", 3, point_count, coordinates, config)]),
            (
                "Cells",
                vec![
                    indices("connectivity", cells * nodes_a_cell, Box::new(connectivity)),
                    indices("offsets", cells, Box::new((1..=cells).map(move |cell| cell * nodes_a_cell))),
                    Array::bytes("types", cells, (0..cells).map(move |_| vtk_cell::cell_type(dim))),
                ],
            ),
        ];
        let mut contents = Vec::new();
        let sections = sections.map(|(section, arrays)| {
            let tags = arrays.into_iter().map(|Array { tag, length, write }| {
                contents.push((length, write));
                tag
            });
            (section, tags.collect())
        });
        let mut offsets = vec![0; contents.len()];
        // Where arrays lie is known when they are compressed; then the tags are written again, with as many bytes.
        file.write_all(self.tags(&sections, &offsets).as_bytes())?;
        let begin = file.stream_position()?;
        for ((length, write), offset) in contents.into_iter().zip(&mut offsets) {
            *offset = file.stream_position()? - begin;
            compressed::write(file, length, write)?;
        }
        file.write_all(b"\n</AppendedData>\n</VTKFile>\n")?;
        file.seek(SeekFrom::Start(0))?;
        file.write_all(self.tags(&sections, &offsets).as_bytes())
    }

    /// The tags before the arrays.
    fn tags(&self, sections: &[(&str, Vec<Tag>)], offsets: &[u64]) -> String {
        let Self { points, cells, .. } = self;
        let mut offsets = offsets.iter();
        let mut section = |(section, tags): &(&str, Vec<Tag>)| {
            let tags: String = tags.iter().zip(offsets.by_ref()).map(|(tag, &offset)| tag.text(offset)).collect();
            format!("<{section}>\n{tags}</{section}>\n")
        };
        let sections: String = sections.iter().map(&mut section).collect();
        // Readers take the numbering of Lagrange hexahedra from the version.
        format!(
            "<?xml version=\"1.0\"?>\n\
             <VTKFile type=\"UnstructuredGrid\" version=\"2.2\" byte_order=\"LittleEndian\" header_type=\"UInt64\" \
             compressor=\"vtkZLibDataCompressor\">\n\
             <UnstructuredGrid>\n<Piece NumberOfPoints=\"{points}\" NumberOfCells=\"{cells}\">\n{sections}</Piece>\n\
             </UnstructuredGrid>\n<AppendedData encoding=\"raw\">\n_"
        )
    }

    /// Bytes of the file at most, with arrays of so many numbers a point and a cell, and of so many bytes a cell.
    pub fn most_bytes(&self, point_numbers: &[u64], cell_numbers: &[u64], cell_bytes: &[u64]) -> u64 {
        let (float, index) = (self.config.float.bytes(), self.index_bytes());
        let of_points = [3].iter().chain(point_numbers).map(|numbers| float * numbers * self.points);
        let of_cells = cell_numbers.iter().map(|numbers| float * numbers * self.cells);
        let bytes_of_cells = [index * self.nodes_a_cell, index, 1];
        let bytes_of_cells = bytes_of_cells.iter().chain(cell_bytes).map(|bytes| bytes * self.cells);
        TAGS + of_points.chain(of_cells).chain(bytes_of_cells).map(compressed::most_bytes).sum::<u64>()
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
    tag: Tag<'a>,
    /// In bytes.
    length: u64,
    write: Box<Writer<'a>>,
}

impl<'a> Array<'a> {
    /// `tuples` tuples of floating-point numbers.
    pub fn floats(
        name: &'a str,
        components: u64,
        tuples: u64,
        values: impl Iterator<Item = f64> + 'a,
        config: &Config,
    ) -> Self {
        match config.float {
            Float::F32 => {
                Self::new("Float32", name, components, tuples, values.map(|value| (value as f32).to_le_bytes()))
            }
            Float::F64 => Self::new("Float64", name, components, tuples, values.map(f64::to_le_bytes)),
        }
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
        Self { tag: Tag { kind, name, components }, length: components * tuples * B as u64, write: Box::new(write) }
    }
}

/// What a tag says of its array.
struct Tag<'a> {
    kind: &'static str,
    name: &'a str,
    components: u64,
}

impl Tag<'_> {
    /// As long for any offset.
    fn text(&self, offset: u64) -> String {
        let Self { kind, name, components } = self;
        let (name, offset) = (xml::escaped(name), format!("\"{offset}\""));
        format!(
            "<DataArray type=\"{kind}\" Name=\"{name}\" NumberOfComponents=\"{components}\" format=\"appended\" \
             offset={offset:<22}/>\n"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_have_64_bits_where_32_are_too_few() {
        let grid = |points, cells| Grid { dim: 3, nodes_a_cell: 8, points, cells, config: Config::default() };
        let most = i32::MAX as u64;
        assert_eq!([grid(most, 1), grid(most + 1, 1)].map(|grid| grid.index_bytes()), [4, 8]);
        assert_eq!([grid(9, most / 8), grid(9, most / 8 + 1)].map(|grid| grid.index_bytes()), [4, 8]);
    }

    #[test]
    fn tags_are_as_long_whatever_the_offset() {
        let tag = Tag { kind: "Float64", name: "a<b", components: 1 };
        assert_eq!(tag.text(0).len(), tag.text(u64::MAX).len());
        assert!(tag.text(12).contains(" Name=\"a&lt;b\" NumberOfComponents=\"1\" format=\"appended\" offset=\"12\" "));
    }
}
