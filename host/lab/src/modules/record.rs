//! How the PTX in a folder was compiled.

use super::Options;
use patchmg::output::file;
use patchmg_cli::error::{Error, Library, Result};
use patchmg_cli::{hashes, report};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// File beside the PTX.
const FILE: &str = "compile.json";
const PTX: &str = "ptx";

/// How all of a folder was compiled, in the order of its JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Of the program.
    pub version: String,
    pub commit: String,
    /// For example `rustc 1.95.0 (59807616e 2026-04-14)`.
    pub compiler: String,
    pub options: Options,
    pub modules: Vec<CompiledModule>,
}

/// A module that was compiled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CompiledModule {
    pub name: String,
    /// Flags of the compiler that decide what code it makes.
    pub flags: Vec<String>,
    /// Of the PTX, as that of a kernel ([`hashes::hash`]).
    pub hash: String,
    /// In what the PTX differs from the kernel list, in words.
    pub differences: Vec<String>,
}

impl Record {
    /// That of a folder, if it has one.
    ///
    /// # Errors
    /// [`Library::Io`] for a file that cannot be read, [`Error::Input`] for one that holds something else.
    pub fn read(folder: &Path) -> Result<Option<Self>> {
        let path = folder.join(FILE);
        let text = match std::fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(Library::Io { path, source }.into()),
        };
        let record = serde_json::from_slice(&text);
        record.map(Some).map_err(|reason| Error::Input { path, reason: format!("no record of `compile`: {reason}") })
    }

    /// Whether a module's PTX is what was compiled; none for a module that was not.
    pub fn is_unchanged(&self, module: &str, ptx: &str) -> Option<bool> {
        self.modules.iter().find(|known| known.name == module).map(|known| known.hash == hashes::hash(ptx))
    }

    /// Writes the PTX of its modules and itself to a folder, made if it is not there, in place of what an earlier one wrote.
    ///
    /// # Errors
    /// Those of [`replaceable`], [`Library::Io`] and [`Library::Write`].
    pub(super) fn write(&self, folder: &Path, ptx: &BTreeMap<String, String>) -> Result<()> {
        let earlier = replaceable(folder)?;
        std::fs::create_dir_all(folder).map_err(|source| Library::Io { path: folder.into(), source })?;
        for (name, text) in ptx {
            file::write(&file_of(folder, name), text.as_bytes())?;
        }
        for path in earlier.into_iter().filter(|(name, _)| !ptx.contains_key(name)).map(|(_, path)| path) {
            std::fs::remove_file(&path).map_err(|source| Library::Io { path, source })?;
        }
        let path = folder.join(FILE);
        Ok(file::write(&path, report::json(self, &path)?.as_bytes())?)
    }
}

/// PTX in a folder by the names of modules; all of it may be replaced, because `compile` wrote it and nobody changed it since.
///
/// # Errors
/// [`Error::Input`] with what may not, [`Library::Io`].
pub(super) fn replaceable(folder: &Path) -> Result<BTreeMap<String, PathBuf>> {
    let files = files(folder)?;
    if files.is_empty() {
        return Ok(files);
    }
    let record = Record::read(folder)?;
    for (name, path) in &files {
        let text = read(path)?;
        let reason = match record.as_ref().and_then(|record| record.is_unchanged(name, &text)) {
            Some(true) => continue,
            Some(false) => "was changed since it was compiled",
            None => "was not written by `compile`",
        };
        return Err(Error::Input {
            path: path.clone(),
            reason: format!("{reason}, and is not overwritten; take another folder"),
        });
    }
    Ok(files)
}

/// The PTX in a folder by the names of modules; none of a folder that is not there.
pub(super) fn files(folder: &Path) -> Result<BTreeMap<String, PathBuf>> {
    let io = |source| Library::Io { path: folder.to_owned(), source };
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(BTreeMap::new()),
        entries => entries.map_err(io)?,
    };
    let mut files = BTreeMap::new();
    for entry in entries {
        let path = entry.map_err(io)?.path();
        if path.extension().is_some_and(|extension| extension == PTX)
            && let Some(name) = path.file_stem().and_then(|name| name.to_str())
        {
            files.insert(name.to_owned(), path);
        }
    }
    Ok(files)
}

pub(super) fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).map_err(|source| Library::Io { path: path.to_owned(), source }.into())
}

fn file_of(folder: &Path, module: &str) -> PathBuf {
    folder.join(format!("{module}.{PTX}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(modules: &[(&str, &str)]) -> (Record, BTreeMap<String, String>) {
        let compiled = |&(name, text): &(&str, &str)| CompiledModule {
            name: name.into(),
            flags: vec!["-Ctarget-cpu=sm_80".into()],
            hash: hashes::hash(text),
            differences: Vec::new(),
        };
        let [version, commit, compiler] = ["0.1.0", "0123abc", "rustc 1.95.0"].map(String::from);
        let modules_of = modules.iter().map(compiled).collect();
        let record = Record { version, commit, compiler, options: Options::default(), modules: modules_of };
        (record, modules.iter().map(|&(name, text)| (name.into(), text.into())).collect())
    }

    #[test]
    fn a_folder_is_replaced_unless_somebody_changed_it() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("new/ptx");
        let write = |modules: &[(&str, &str)]| {
            let (record, ptx) = record(modules);
            record.write(&folder, &ptx).map(|()| record)
        };
        let names = || files(&folder).unwrap().into_keys().collect::<Vec<_>>();
        assert_eq!(names(), [""; 0]);
        write(&[("a", "ret;"), ("b", "exit;")]).unwrap();
        assert_eq!(names(), ["a", "b"]);
        let second = write(&[("b", "trap;"), ("c", "ret;")]).unwrap();
        assert_eq!(names(), ["b", "c"]);
        assert_eq!(read(&folder.join("b.ptx")).unwrap(), "trap;");
        assert_eq!(Record::read(&folder).unwrap(), Some(second.clone()));
        assert_eq!([second.is_unchanged("b", "trap;"), second.is_unchanged("b", "ret;")], [Some(true), Some(false)]);
        assert_eq!(second.is_unchanged("a", "ret;"), None);

        let refused = |file: &str, why: &str| {
            let error = write(&[("b", "ret;")]).unwrap_err().to_string();
            assert!(error.contains(file) && error.contains(why), "{error}");
        };
        std::fs::write(folder.join("b.ptx"), "changed;").unwrap();
        refused("b.ptx", "was changed since");
        assert_eq!(read(&folder.join("b.ptx")).unwrap(), "changed;");
        std::fs::write(folder.join("b.ptx"), "trap;").unwrap();
        std::fs::write(folder.join("mine.ptx"), "ret;").unwrap();
        refused("mine.ptx", "was not written by");
        std::fs::write(folder.join(FILE), "{}").unwrap();
        refused(FILE, "no record of `compile`");
        std::fs::remove_file(folder.join(FILE)).unwrap();
        refused("b.ptx", "was not written by");
    }
}
