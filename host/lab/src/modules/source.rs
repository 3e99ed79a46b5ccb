//! Where PTX to compare comes from.

use super::record::{self, Record};
use crate::inspect::without_kernels;
use patchmg_cli::error::{Error, Result};
use patchmg_cli::hashes::module_ptx_of;
use patchmg_device::kernels::Module;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

/// Word for the PTX in the program.
const BUILT_IN: &str = "built-in";

/// PTX of modules.
#[derive(Clone, Debug)]
pub enum Source {
    /// Of all modules, in the program.
    BuiltIn,
    /// In a folder.
    Folder(Box<Folder>),
}

/// A folder with files `MODULE.ptx`.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
    modules: Vec<Module>,
    /// PTX that is no module's.
    others: Vec<String>,
    record: Option<Record>,
    /// Modules whose PTX is not what the record says.
    changed: Vec<String>,
}

impl Source {
    /// A folder, or the word `built-in`.
    ///
    /// # Errors
    /// [`Error::Input`] for what is no folder, or holds no PTX of a module; [`Error::Library`] for a file that cannot be read.
    pub fn open(path: &Path) -> Result<Self> {
        if path == Path::new(BUILT_IN) {
            return Ok(Self::BuiltIn);
        }
        let refused = |reason: &str| Error::Input { path: path.to_owned(), reason: reason.into() };
        if !path.is_dir() {
            return Err(refused("no folder; A and B are folders of PTX, or the word built-in"));
        }
        let mut files = record::files(path)?;
        let known: BTreeMap<String, Module> = Module::all().into_iter().map(|module| (module.name(), module)).collect();
        let others = files.keys().filter(|name| !known.contains_key(*name)).cloned().collect();
        files.retain(|name, _| known.contains_key(name));
        if files.is_empty() {
            return Err(refused("holds no PTX of a module; a module has a file of its name, for example blas1.ptx"));
        }
        let record = Record::read(path)?;
        let mut changed = Vec::new();
        for (name, file) in &files {
            let text = record::read(file)?;
            if record.as_ref().and_then(|record| record.is_unchanged(name, &text)) == Some(false) {
                changed.push(name.clone());
            }
        }
        let modules = files.keys().map(|name| known[name]).collect();
        Ok(Self::Folder(Box::new(Folder { path: path.to_owned(), modules, others, record, changed })))
    }

    /// Its modules; none if it has all.
    pub fn modules(&self) -> Option<&[Module]> {
        match self {
            Self::BuiltIn => None,
            Self::Folder(folder) => Some(&folder.modules),
        }
    }

    /// Whether it has a module.
    pub fn has(&self, module: Module) -> bool {
        self.modules().is_none_or(|modules| modules.contains(&module))
    }

    /// The folder, if it is one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::BuiltIn => None,
            Self::Folder(folder) => Some(&folder.path),
        }
    }

    /// How it was compiled, if a record says it.
    pub fn record(&self) -> Option<&Record> {
        match self {
            Self::BuiltIn => None,
            Self::Folder(folder) => folder.record.as_ref(),
        }
    }

    /// Modules whose PTX was changed since it was compiled.
    pub fn changed(&self) -> &[String] {
        match self {
            Self::BuiltIn => &[],
            Self::Folder(folder) => &folder.changed,
        }
    }

    /// The PTX of a module as a GPU would be given it.
    ///
    /// # Errors
    /// [`Library::Unsupported`](patchmg::Error::Unsupported) in a program without GPU kernels, and those of a file.
    pub fn ptx(&self, module: Module) -> Result<String> {
        let name = module.name();
        let text = match self {
            Self::BuiltIn => None,
            Self::Folder(folder) => Some(record::read(&folder.path.join(format!("{name}.ptx")))?),
        };
        module_ptx_of(module, text)?.ok_or_else(|| without_kernels(&name))
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Self::Folder(folder) = self else { return f.write_str(BUILT_IN) };
        let Folder { path, record, changed, others, .. } = &**folder;
        write!(f, "{}", path.display())?;
        match record {
            Some(record) => write!(f, ", compiled from {}", record.options)?,
            None => write!(f, ", without a record of how it was compiled")?,
        }
        if !changed.is_empty() {
            write!(f, "; changed since: {}", changed.join(", "))?;
        }
        if !others.is_empty() {
            write!(f, "; no modules, and left out: {}", others.join(", "))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_without_ptx_of_a_module_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let refused = |path: &Path, part: &str| {
            let error = Source::open(path).unwrap_err().to_string();
            assert!(error.contains(path.to_str().unwrap()) && error.contains(part), "{error}");
        };
        refused(&at("nowhere"), "built-in");
        refused(folder.path(), "blas1.ptx");
        std::fs::write(at("mine.ptx"), "").unwrap();
        refused(folder.path(), "no PTX of a module");
        refused(&at("mine.ptx"), "no folder");
        std::fs::write(at("blas1.ptx"), "").unwrap();
        let source = Source::open(folder.path()).unwrap();
        assert_eq!(source.modules(), Some(&[Module::Blas1][..]));
        assert!(
            source.to_string().ends_with("without a record of how it was compiled; no modules, and left out: mine")
        );
        std::fs::write(at("compile.json"), "[]").unwrap();
        refused(folder.path(), "compile.json");
    }

    #[test]
    fn the_program_has_all_modules() {
        let source = Source::open(Path::new("built-in")).unwrap();
        assert!(source.modules().is_none() && Module::all().into_iter().all(|module| source.has(module)));
        assert_eq!(source.to_string(), "built-in");
        assert_eq!(source.ptx(Module::Blas1).is_ok(), cfg!(feature = "cuda"));
    }
}
