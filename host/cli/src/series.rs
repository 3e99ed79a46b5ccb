//! The solutions of `patchmg solve` for ParaView: a file, or one for each mesh with a list of them.

use crate::console::Console;
use crate::failure::Failure;
use crate::systems::Offered;
use patchmg::output::file;
use patchmg::system::System;
use std::path::{Path, PathBuf};

/// What `--vtu` names: a file for the last solution, or one that ends in .pvd and lists the files of all.
pub struct Series<'a> {
    path: Option<&'a Path>,
    /// Names of the files so far, if there is a list.
    written: Option<Vec<String>>,
}

impl<'a> Series<'a> {
    pub fn new(path: Option<&'a Path>) -> Self {
        let is_list = path.and_then(Path::extension).is_some_and(|extension| extension == "pvd");
        Self { path, written: is_list.then(Vec::new) }
    }

    /// Writes the solution on a mesh, and the list with it, if there is one.
    pub fn write_to_list<P: Offered>(
        &mut self,
        problem: &P,
        solution: &<P::System as System>::Solution,
        console: Console,
    ) -> Result<(), Failure> {
        let (Some(path), Some(written)) = (self.path, &mut self.written) else { return Ok(()) };
        let file = of_cycle(path, written.len());
        if write(problem, solution, &file, console)? {
            written.extend(file.file_name().map(|name| name.to_string_lossy().into_owned()));
            file::write(path, list(written).as_bytes())?;
        }
        Ok(())
    }

    /// Writes the solution that is the result, if there is no list, which has it.
    pub fn write_alone<P: Offered>(
        &self,
        problem: &P,
        solution: &<P::System as System>::Solution,
        console: Console,
    ) -> Result<(), Failure> {
        if let (Some(path), None) = (self.path, &self.written) {
            write(problem, solution, path, console)?;
        }
        Ok(())
    }
}

/// Whether it was written.
fn write<P: Offered>(
    problem: &P,
    solution: &<P::System as System>::Solution,
    path: &Path,
    console: Console,
) -> Result<bool, Failure> {
    if !P::is_finite(solution) {
        console.line(format_args!("{} is not written: the solution has values that are not finite", path.display()));
        return Ok(false);
    }
    problem.write_vtu(solution, path)?;
    Ok(true)
}

/// `film.pvd` lists `film-0.vtu`, `film-1.vtu` and so on.
fn of_cycle(list: &Path, number: usize) -> PathBuf {
    let stem = list.file_stem().unwrap_or_default().to_string_lossy();
    list.with_file_name(format!("{stem}-{number}.vtu"))
}

/// A list of files as ParaView takes them, by their place as time.
fn list(files: &[String]) -> String {
    let escaped = |name: &str| name.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;");
    let lines = files.iter().enumerate().map(|(cycle, name)| {
        format!("    <DataSet timestep=\"{cycle}\" group=\"\" part=\"0\" file=\"{}\"/>\n", escaped(name))
    });
    format!(
        "<?xml version=\"1.0\"?>\n<VTKFile type=\"Collection\" version=\"0.1\">\n  <Collection>\n{}  </Collection>\n</VTKFile>\n",
        lines.collect::<String>()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_names_its_files() {
        assert_eq!(of_cycle(Path::new("out/film.pvd"), 3), Path::new("out/film-3.vtu"));
        let list = list(&["a&b-0.vtu".into(), "a&b-1.vtu".into()]);
        assert!(list.contains("timestep=\"1\" group=\"\" part=\"0\" file=\"a&amp;b-1.vtu\"/>"), "{list}");
        assert_eq!(list.matches("<DataSet").count(), 2);
    }
}
