//! VTU files array by array, whatever makes their numbers.

use super::vtk_cell;
use glam::DVec3;
use std::io::{self, Write};

/// Lagrange cells of one degree.
pub struct Grid {
    pub dim: usize,
    pub nodes_a_cell: u64,
    pub points: u64,
    pub cells: u64,
}

impl Grid {
    /// The file: coordinates of all points, the points of each cell in VTK's order, then what `point_data` and `cell_data` write for
    /// so many points and cells.
    pub fn write(
        &self,
        file: &mut dyn Write,
        points: impl Iterator<Item = DVec3>,
        connectivity: impl Iterator<Item = u64>,
        point_data: impl FnOnce(&mut dyn Write, u64) -> io::Result<()>,
        cell_data: impl FnOnce(&mut dyn Write, u64) -> io::Result<()>,
    ) -> io::Result<()> {
        let &Self { dim, nodes_a_cell, points: point_count, cells } = self;
        // Readers take the numbering of Lagrange hexahedra from the version.
        writeln!(file, "<?xml version=\"1.0\"?>")?;
        writeln!(
            file,
            "<VTKFile type=\"UnstructuredGrid\" version=\"2.2\" byte_order=\"LittleEndian\" header_type=\"UInt64\">"
        )?;
        writeln!(file, "<UnstructuredGrid>\n<Piece NumberOfPoints=\"{point_count}\" NumberOfCells=\"{cells}\">")?;
        writeln!(file, "<PointData>")?;
        point_data(file, point_count)?;
        writeln!(file, "</PointData>\n<CellData>")?;
        cell_data(file, cells)?;
        writeln!(file, "</CellData>\n<Points>")?;
        let coordinates = points.flat_map(|point| point.to_array());
        array(file, "Float64", "Points", 3, point_count, coordinates.map(f64::to_le_bytes))?;
        writeln!(file, "</Points>\n<Cells>")?;
        array(file, "Int64", "connectivity", 1, cells * nodes_a_cell, connectivity.map(u64::to_le_bytes))?;
        let offsets = (1..=cells).map(|cell| cell * nodes_a_cell);
        array(file, "Int64", "offsets", 1, cells, offsets.map(u64::to_le_bytes))?;
        let types = (0..cells).map(|_| [vtk_cell::cell_type(dim)]);
        array(file, "UInt8", "types", 1, cells, types)?;
        writeln!(file, "</Cells>\n</Piece>\n</UnstructuredGrid>\n</VTKFile>")
    }
}

/// Bytes before an array: how many it has.
pub const HEADER: u64 = 8;

/// An array of `tuples` tuples, its words as they are in memory, in base64.
pub fn array<const B: usize>(
    file: &mut dyn Write,
    kind: &str,
    name: &str,
    components: u64,
    tuples: u64,
    words: impl Iterator<Item = [u8; B]>,
) -> io::Result<()> {
    write!(file, "<DataArray type=\"{kind}\" Name=\"{name}\" NumberOfComponents=\"{components}\" format=\"binary\">")?;
    let bytes = components * tuples * B as u64;
    // A multiple of 3, so that no padding is within the text.
    let mut buffer = Vec::with_capacity(3 << 12);
    for byte in bytes.to_le_bytes().into_iter().chain(words.flatten()) {
        buffer.push(byte);
        if buffer.len() == buffer.capacity() {
            file.write_all(&base64(&buffer))?;
            buffer.clear();
        }
    }
    file.write_all(&base64(&buffer))?;
    writeln!(file, "</DataArray>")
}

/// RFC 4648, section 4.
fn base64(bytes: &[u8]) -> Vec<u8> {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = Vec::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let mut word = [0; 4];
        word[1..=group.len()].copy_from_slice(group);
        let word = u32::from_be_bytes(word);
        for digit in 0..4 {
            let value = (word >> (18 - 6 * digit)) & 63;
            text.push(if digit <= group.len() { DIGITS[value as usize] } else { b'=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_the_standard() {
        // RFC 4648, section 10.
        for (bytes, text) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")] {
            assert_eq!(base64(bytes.as_bytes()), text.as_bytes());
        }
        assert_eq!(base64(&[0xfb, 0xef, 0xff]), b"++//");
    }
}
