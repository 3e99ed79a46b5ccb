//! Arrays of `f64` as NumPy's `savez` writes them and its `load` reads them: a zip archive with a file `NAME.npy` for each, not compressed.

mod header;

use super::file;
use crate::error::{Error, Result};
use header::{Header, TYPE, tuple};
use rawzip::{
    CompressionMethod, FileReader, RECOMMENDED_BUFFER_SIZE, ZipArchive, ZipArchiveEntryWayfinder, ZipArchiveWriter,
};
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

/// Bytes that are read or written at once.
const BUFFER: usize = 64 << 10;

/// An array to write, the last index of which runs fastest.
pub struct Array<'a> {
    pub name: String,
    pub shape: Vec<usize>,
    pub values: Box<dyn Iterator<Item = f64> + 'a>,
}

/// Writes arrays, value by value.
///
/// # Errors
/// Those of [`file::write_with`].
pub fn write(path: &Path, arrays: Vec<Array>) -> Result<()> {
    file::write_with(path, |file| {
        let mut archive = ZipArchiveWriter::new(file);
        arrays.into_iter().try_for_each(|array| write_array(&mut archive, array))?;
        archive.finish().map_err(io::Error::other).map(drop)
    })
}

fn write_array<W: Write>(archive: &mut ZipArchiveWriter<W>, array: Array) -> io::Result<()> {
    let Array { name, shape, values } = array;
    let (mut entry, config) = archive.new_file(&*format!("{name}.npy")).start().map_err(io::Error::other)?;
    let mut writer = BufWriter::with_capacity(BUFFER, config.wrap(&mut entry));
    writer.write_all(&Header::of(&shape).bytes())?;
    let mut count = 0;
    for value in values {
        writer.write_all(&value.to_le_bytes())?;
        count += 1;
    }
    if count != shape.iter().product::<usize>() {
        return Err(io::Error::other(format!("'{name}' has {count} values, not the shape {}", tuple(&shape))));
    }
    let writer = writer.into_inner().map_err(|error| error.into_error())?;
    let (_, descriptor) = writer.finish().map_err(io::Error::other)?;
    entry.finish(descriptor).map_err(io::Error::other).map(drop)
}

/// A file that is read.
pub struct Archive {
    path: PathBuf,
    archive: ZipArchive<FileReader>,
    arrays: Vec<StoredArray>,
}

struct StoredArray {
    name: String,
    compression: CompressionMethod,
    place: ZipArchiveEntryWayfinder,
}

impl Archive {
    /// The archive at a path.
    ///
    /// # Errors
    /// [`Error::Io`], and [`Error::SolutionFile`] for another kind of file.
    pub fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(|source| Error::Io { path: path.to_owned(), source })?;
        let other = |reason: rawzip::Error| Error::SolutionFile {
            path: path.to_owned(),
            what: "the file".into(),
            found: format!("no archive ({reason})"),
            allowed: "an .npz archive of NumPy".into(),
        };
        let mut buffer = vec![0; RECOMMENDED_BUFFER_SIZE];
        let archive = ZipArchive::from_file(file, &mut buffer).map_err(other)?;
        let (mut arrays, mut entries) = (Vec::new(), archive.entries(&mut buffer));
        while let Some(entry) = entries.next_entry().map_err(other)? {
            let name = String::from_utf8_lossy(entry.file_path().as_bytes()).into_owned();
            if let Some(name) = name.strip_suffix(".npy") {
                let (compression, place) = (entry.compression_method(), entry.wayfinder());
                arrays.push(StoredArray { name: name.into(), compression, place });
            }
        }
        Ok(Self { path: path.to_owned(), archive, arrays })
    }

    /// An error of this file.
    pub fn refused(&self, what: impl Into<String>, found: impl Into<String>, allowed: impl Into<String>) -> Error {
        Error::SolutionFile { path: self.path.clone(), what: what.into(), found: found.into(), allowed: allowed.into() }
    }

    /// That there are arrays of these names.
    ///
    /// # Errors
    /// [`Error::SolutionFile`] with the names that there are, if one is missing.
    pub fn check_names(&self, names: &[String]) -> Result<()> {
        if names.iter().all(|name| self.arrays.iter().any(|array| array.name == *name)) {
            return Ok(());
        }
        let found: Vec<_> = self.arrays.iter().map(|array| &*array.name).collect();
        let found = if found.is_empty() { "empty".into() } else { found.join(", ") };
        Err(self.refused("the list of arrays", found, names.join(", ")))
    }

    /// Calls `visit` with number and value of each entry of an array, the last index of which runs fastest.
    ///
    /// # Errors
    /// [`Error::SolutionFile`] unless it is an array of this shape, of `f64`, finite and not compressed; [`Error::Io`], also for a
    /// wrong checksum; those of `visit`.
    pub fn read(&self, name: &str, shape: &[usize], mut visit: impl FnMut(usize, f64) -> Result<()>) -> Result<()> {
        self.check_names(&[name.into()])?;
        let Some(array) = self.arrays.iter().find(|array| array.name == name) else { return Ok(()) };
        if array.compression != CompressionMethod::STORE {
            let allowed = "not compressed, as numpy.savez writes it";
            return Err(self.refused(format!("'{name}'"), "compressed", allowed));
        }
        let of_file = |source: io::Error| Error::Io { path: self.path.clone(), source };
        let entry = self.archive.get_entry(array.place).map_err(|error| of_file(io::Error::other(error)))?;
        let mut reader = BufReader::with_capacity(BUFFER, entry.verifying_reader(entry.reader()));
        let Header { descr, is_fortran, shape: found } = Header::read(&mut reader).map_err(of_file)?;
        if found != shape {
            return Err(self.refused(format!("the shape of '{name}'"), tuple(&found), tuple(shape)));
        }
        if descr != TYPE {
            return Err(self.refused(format!("the type of '{name}'"), descr, TYPE));
        }
        if is_fortran && shape.len() > 1 {
            let [fortran, c] = ["first", "last"].map(|index| format!("one in which the {index} index runs fastest"));
            return Err(self.refused(format!("the order of '{name}'"), fortran, c));
        }
        let mut bytes = [0; size_of::<f64>()];
        for number in 0..shape.iter().product() {
            reader.read_exact(&mut bytes).map_err(of_file)?;
            let value = f64::from_le_bytes(bytes);
            if !value.is_finite() {
                return Err(self.refused(format!("entry {number} of '{name}'"), value.to_string(), "finite"));
            }
            visit(number, value)?;
        }
        match reader.read(&mut bytes).map_err(of_file)? {
            0 => Ok(()),
            _ => Err(self.refused(format!("'{name}'"), "longer than its shape", "as long")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::random;

    fn array<'a>(name: &str, shape: &[usize], values: &'a [f64]) -> Array<'a> {
        Array { name: name.into(), shape: shape.to_vec(), values: Box::new(values.iter().copied()) }
    }

    fn values(archive: &Archive, name: &str, shape: &[usize]) -> Result<Vec<f64>> {
        let mut values = Vec::new();
        archive.read(name, shape, |number, value| {
            assert_eq!(number, values.len());
            values.push(value);
            Ok(())
        })?;
        Ok(values)
    }

    #[test]
    fn arrays_come_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.npz");
        let (one, large) = (random(1, 1), random(3 * 40 * 1000, 2));
        write(
            &path,
            vec![array("one", &[1], &one), array("large", &[3, 40, 1000], &large), array("none", &[0, 2], &[])],
        )
        .unwrap();
        let archive = Archive::open(&path).unwrap();
        assert_eq!(values(&archive, "large", &[3, 40, 1000]).unwrap(), large);
        assert_eq!(values(&archive, "one", &[1]).unwrap(), one);
        assert_eq!(values(&archive, "none", &[0, 2]).unwrap(), [0.0; 0]);
        for (name, shape, message) in [
            ("large", &[40, 3, 1000][..], "the shape of 'large' is (3, 40, 1000), but must be (40, 3, 1000)"),
            ("large", &[120_000], "the shape of 'large' is (3, 40, 1000), but must be (120000,)"),
            ("other", &[1], "the list of arrays is one, large, none, but must be other"),
        ] {
            let error = values(&archive, name, shape).unwrap_err();
            assert!(matches!(&error, Error::SolutionFile { path: named, .. } if *named == path));
            assert!(error.to_string().ends_with(message), "{error}");
        }
    }

    #[test]
    fn a_shape_that_is_not_filled_is_not_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.npz");
        for count in [5, 7] {
            let error = write(&path, vec![array("u", &[2, 3], &vec![0.0; count])]).unwrap_err().to_string();
            assert!(error.ends_with(&format!("'u' has {count} values, not the shape (2, 3)")), "{error}");
            assert!(!path.exists());
        }
    }

    #[test]
    fn damage_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.npz");
        write(&path, vec![array("u", &[1000], &random(1000, 3))]).unwrap();
        let good = std::fs::read(&path).unwrap();
        let mut flipped = good.clone();
        flipped[5000] ^= 1;
        std::fs::write(&path, flipped).unwrap();
        let error = values(&Archive::open(&path).unwrap(), "u", &[1000]).unwrap_err();
        assert!(matches!(error, Error::Io { .. }) && error.to_string().contains("checksum"), "{error}");
        for length in [0, 100, good.len() - 1] {
            std::fs::write(&path, &good[..length]).unwrap();
            let error = Archive::open(&path).err().unwrap();
            assert!(matches!(&error, Error::SolutionFile { found, .. } if found.starts_with("no archive")), "{error}");
        }
        write(&path, vec![array("u", &[2], &[1.0, f64::NAN])]).unwrap();
        let error = values(&Archive::open(&path).unwrap(), "u", &[2]).unwrap_err().to_string();
        assert!(error.ends_with("entry 1 of 'u' is NaN, but must be finite"), "{error}");
    }
}
