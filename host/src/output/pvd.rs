//! Series of files by time (`.pvd`), as ParaView takes them.

use super::{file, xml};
use crate::error::{Error, Result, invalid};
use std::path::{Path, PathBuf};

/// A list of VTU files, each with its time: `film.pvd` lists `film-0.vtu`, `film-1.vtu` and so on, which lie beside it.
///
/// ```
/// use patchmg::output::pvd::Series;
/// use patchmg::output::vtu;
/// # use patchmg::{function::Function, mesh::Mesh, space::Space};
/// # fn main() -> patchmg::Result<()> {
/// # let folder = tempfile::tempdir().unwrap();
/// # let list = folder.path().join("film.pvd");
/// # let space = Space::new(Mesh::unit_cube(2, 2)?, 2)?;
/// # let u = Function::new(&space, vec![0.0; space.storage()])?;
/// let mut series = Series::new(&list);
/// for step in 0..3 {
///     series.write(0.1 * f64::from(step), |file| u.write_vtu(file, None, &vtu::Config::default()))?;
/// }
/// # assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 4);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Series {
    list: PathBuf,
    /// Time and name of each file.
    files: Vec<(f64, String)>,
}

impl Series {
    /// A series without files, which will be listed in `list`.
    pub fn new(list: &Path) -> Self {
        Self { list: list.to_owned(), files: Vec::new() }
    }

    /// Has `write` write the next file, and the list with it.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a time that is not finite; those of `write` and [`file::write`].
    pub fn write<E: From<Error>>(&mut self, time: f64, write: impl FnOnce(&Path) -> Result<(), E>) -> Result<(), E> {
        if !time.is_finite() {
            return Err(invalid("time", time, "finite").into());
        }
        let stem = self.list.file_stem().unwrap_or_default().to_string_lossy();
        let name = format!("{stem}-{}.vtu", self.files.len());
        write(&self.list.with_file_name(&name))?;
        self.files.push((time, name));
        Ok(file::write(&self.list, self.text().as_bytes())?)
    }

    fn text(&self) -> String {
        let line = |(time, name): &(f64, String)| {
            format!("    <DataSet timestep=\"{time}\" group=\"\" part=\"0\" file=\"{}\"/>\n", xml::escaped(name))
        };
        let lines: String = self.files.iter().map(line).collect();
        format!(
            "<?xml version=\"1.0\"?>\n<VTKFile type=\"Collection\" version=\"0.1\">\n  <Collection>\n{lines}  </Collection>\n</VTKFile>\n"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_list_names_its_files_and_their_times() {
        let folder = tempfile::tempdir().unwrap();
        let list = folder.path().join("a&b.pvd");
        let mut series = Series::new(&list);
        for time in [0.0, 0.25, 1e-300] {
            let written = |path: &Path| file::write(path, b"here");
            series.write::<Error>(time, written).unwrap();
        }
        let text = fs::read_to_string(&list).unwrap();
        assert!(text.contains("timestep=\"0.25\" group=\"\" part=\"0\" file=\"a&amp;b-1.vtu\"/>"), "{text}");
        assert_eq!(text.matches("<DataSet").count(), 3);
        for number in 0..3 {
            assert_eq!(fs::read(folder.path().join(format!("a&b-{number}.vtu"))).unwrap(), b"here");
        }
    }

    /// What is not written is not listed, and its number is that of the next one.
    #[test]
    fn files_that_are_not_written_are_not_listed() {
        let folder = tempfile::tempdir().unwrap();
        let mut series = Series::new(&folder.path().join("u.pvd"));
        let fail =
            |path: &Path| Err(Error::Write { path: path.to_owned(), source: std::io::ErrorKind::StorageFull.into() });
        assert!(matches!(series.write(0.0, fail), Err(Error::Write { .. })));
        assert!(matches!(
            series.write::<Error>(f64::NAN, |_| Ok(())),
            Err(Error::InvalidArgument { name: "time", .. })
        ));
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
        series.write::<Error>(0.5, |path| file::write(path, b"")).unwrap();
        assert!(fs::exists(folder.path().join("u-0.vtu")).unwrap());
    }
}
