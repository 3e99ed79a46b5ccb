//! Headers of `.npy` arrays, version 1.0 of the [format](https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html): a Python
//! dictionary of type, order and shape.

use std::io::{self, Read};

const MAGIC: &[u8; 6] = b"\x93NUMPY";
/// The header ends at a multiple of so many bytes.
const ALIGNMENT: usize = 64;
/// Type of the only arrays that there are here: `f64`, little endian.
pub const TYPE: &str = "<f8";

/// What a header says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// As NumPy names it.
    pub descr: String,
    /// Whether the first index runs fastest.
    pub is_fortran: bool,
    pub shape: Vec<usize>,
}

impl Header {
    /// Of an array of `f64` whose last index runs fastest.
    pub fn of(shape: &[usize]) -> Self {
        Self { descr: TYPE.into(), is_fortran: false, shape: shape.to_vec() }
    }

    pub fn bytes(&self) -> Vec<u8> {
        let order = if self.is_fortran { "True" } else { "False" };
        let text =
            format!("{{'descr': '{}', 'fortran_order': {order}, 'shape': {}, }}", self.descr, tuple(&self.shape));
        let before = MAGIC.len() + 4;
        // At the end is a line feed.
        let padded = (before + text.len() + 1).next_multiple_of(ALIGNMENT) - before;
        let mut bytes = [&MAGIC[..], &[1, 0], &(padded as u16).to_le_bytes()].concat();
        bytes.extend(format!("{text:<0$}\n", padded - 1).bytes());
        bytes
    }

    /// The header at the beginning of an array.
    ///
    /// # Errors
    /// Those of the file; [`io::ErrorKind::InvalidData`] for what is no header, or one of a record.
    pub fn read(file: &mut impl Read) -> io::Result<Self> {
        let mut start = [0; 10];
        file.read_exact(&mut start)?;
        let invalid = |what: &str| io::Error::new(io::ErrorKind::InvalidData, format!("no array of NumPy: {what}"));
        if start[..6] != *MAGIC {
            return Err(invalid("it does not begin as one"));
        }
        // Versions 2 and 3 are for headers of more than 64 KiB, or with letters that are not ASCII: those of records.
        if start[6] != 1 {
            return Err(invalid(&format!("version {} of the format, not 1", start[6])));
        }
        let mut text = vec![0; usize::from(u16::from_le_bytes([start[8], start[9]]))];
        file.read_exact(&mut text)?;
        let text = String::from_utf8(text).map_err(|_| invalid("its header is no text"))?;
        Self::parsed(&text).ok_or_else(|| invalid(&format!("its header is {}", text.trim())))
    }

    fn parsed(text: &str) -> Option<Self> {
        let after = |key: &str| Some(text.split_once(&format!("'{key}':"))?.1.trim_start());
        let descr = after("descr")?.strip_prefix('\'')?.split_once('\'')?.0;
        let order = after("fortran_order")?;
        let is_fortran = order.starts_with("True");
        let shape = after("shape")?.strip_prefix('(')?.split_once(')')?.0;
        let sizes = shape.split(',').map(str::trim).filter(|size| !size.is_empty());
        let shape = sizes.map(|size| size.parse().ok()).collect::<Option<_>>()?;
        (is_fortran || order.starts_with("False")).then(|| Self { descr: descr.into(), is_fortran, shape })
    }
}

/// A tuple of Python.
pub fn tuple(shape: &[usize]) -> String {
    match shape {
        [one] => format!("({one},)"),
        sizes => format!("({})", sizes.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// That of `numpy.lib.format.write_array_header_1_0`.
    #[test]
    fn a_header_is_numpys() {
        let header = Header::of(&[3, 4]);
        let text = "\u{1}\0v\0{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }";
        let expected = [b"\x93NUMPY", text.as_bytes(), &[b' '; 58], b"\n"].concat();
        assert_eq!(header.bytes(), expected);
        assert_eq!(expected.len() % ALIGNMENT, 0);
    }

    #[test]
    fn headers_come_back() {
        for shape in [&[][..], &[7], &[2, 3], &[usize::MAX, 1, 0, 12345678]] {
            for is_fortran in [false, true] {
                let header = Header { is_fortran, ..Header::of(shape) };
                let bytes = header.bytes();
                assert_eq!(bytes.len() % ALIGNMENT, 0);
                assert_eq!(Header::read(&mut &bytes[..]).unwrap(), header);
            }
        }
        assert_eq!([&[][..], &[7], &[2, 3]].map(tuple), ["()", "(7,)", "(2, 3)"]);
    }

    #[test]
    fn other_bytes_are_no_header() {
        let header =
            |text: &str| [b"\x93NUMPY\x01\0", &(text.len() as u16).to_le_bytes()[..], text.as_bytes()].concat();
        for (bytes, reason) in [
            (b"PK\x03\x04 and so on".to_vec(), "does not begin"),
            (b"\x93NUMPY\x02\0\0\0\0\0".to_vec(), "version 2"),
            (
                header("{'descr': [('x', '<f8')], 'fortran_order': False, 'shape': (3,), }"),
                "its header is {'descr': [(",
            ),
            (header("{'descr': '<f8', 'fortran_order': 0, 'shape': (3,), }"), "its header is"),
            (header("{'descr': '<f8', 'fortran_order': False, 'shape': (-3,), }"), "its header is"),
            (header("{'descr': '<f8', 'fortran_order': False, 'shape': (3"), "its header is"),
            (header(""), "its header is"),
        ] {
            let error = Header::read(&mut &bytes[..]).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData);
            assert!(error.to_string().contains(reason), "{error}");
        }
        let short = &Header::of(&[1]).bytes()[..50];
        assert_eq!(Header::read(&mut &short[..]).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }
}
