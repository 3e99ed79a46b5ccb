//! The PTX of kernels: in the program, added to it, or in a folder.

use crate::error::{Error, Result};
use cuda_builder::ptx::{Constants, unpack, with_constants};
use patchmg_device::kernels::Module;
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};

/// Name and packed PTX of modules, as a package of kernels carries them.
pub type Modules = &'static [(&'static str, &'static [u8])];

/// What the program has beside the library's own kernels.
static ADDED: RwLock<Vec<Modules>> = RwLock::new(Vec::new());

/// A folder whose files `<module>.ptx` win over the PTX in the program: for experiments with kernels.
const FOLDER_VARIABLE: &str = "PATCHMG_PTX_DIR";

/// Adds kernels to those of the library, which has what solvers run by default: `patchmg_paper_kernels::MODULES` holds the
/// kernels of the papers. Of modules of one name the one that was added last counts.
pub fn add_modules(modules: Modules) {
    ADDED.write().unwrap_or_else(PoisonError::into_inner).push(modules);
}

/// The modules in this program: those added last first, then those of the library.
fn tables() -> Vec<Modules> {
    let added = ADDED.read().unwrap_or_else(PoisonError::into_inner);
    added.iter().rev().copied().chain([patchmg_kernels::MODULES]).collect()
}

/// Names of the modules in this program.
pub fn module_names() -> Vec<&'static str> {
    tables().into_iter().flatten().map(|&(name, _)| name).collect()
}

/// The PTX in this program of a module, for example `poisson_cg_3d_q3`; unpacked at every call.
pub fn ptx(module: &str) -> Option<String> {
    Some(unpack(packed(module)?).expect("a build script packed it"))
}

fn packed(module: &str) -> Option<&'static [u8]> {
    tables().into_iter().flatten().find(|(name, _)| *name == module).map(|&(_, packed)| packed)
}

/// Parameters of a module's kernels that are the same for every mesh.
pub(crate) type ConstantsOf = fn(Module) -> Result<Vec<Constants>>;

/// The PTX of a module that a GPU is given: that of the folder in `PATCHMG_PTX_DIR`, else that in this program, with constants
/// as operands of its instructions.
///
/// # Errors
/// [`Error::NoModule`] for a module that there is not, [`Error::Io`] for a file that cannot be read, and those of the constants.
pub(crate) fn given_ptx(module: Module, constants: ConstantsOf) -> Result<String> {
    Ok(with_known(source(&module.name(), folder())?, &constants(module)?))
}

/// The PTX of a module with constants as operands of its instructions.
pub(crate) fn with_known(text: String, constants: &[Constants]) -> String {
    if constants.is_empty() { text } else { with_constants(&text, constants) }
}

/// That the program has a module.
pub(crate) fn require(module: Module) -> Result<()> {
    let name = module.name();
    let is_there = packed(&name).is_some() || folder().is_some_and(|folder| file(&folder, &name).is_file());
    if is_there { Ok(()) } else { Err(no_module(&name)) }
}

fn folder() -> Option<PathBuf> {
    std::env::var_os(FOLDER_VARIABLE).map(PathBuf::from)
}

/// A module's PTX, from the folder if it has it.
fn source(module: &str, folder: Option<PathBuf>) -> Result<String> {
    if let Some(path) = folder.map(|folder| file(&folder, module)) {
        match std::fs::read_to_string(&path) {
            Ok(text) => return Ok(text),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(source) => return Err(Error::Io { path, source }),
        }
    }
    ptx(module).ok_or_else(|| no_module(module))
}

fn file(folder: &Path, module: &str) -> PathBuf {
    folder.join(format!("{module}.ptx"))
}

fn no_module(module: &str) -> Error {
    Error::NoModule { module: module.to_owned(), available: module_names().join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_in_the_folder_wins() {
        let folder = tempfile::tempdir().unwrap();
        let module = "blas1";
        assert_eq!(source(module, Some(folder.path().into())).ok().as_deref(), ptx(module).as_deref());
        std::fs::write(folder.path().join(format!("{module}.ptx")), "mine").unwrap();
        assert_eq!(source(module, Some(folder.path().into())).unwrap(), "mine");
    }

    #[test]
    fn a_module_that_is_not_there_is_an_error_that_names_it() {
        let error = source("stokes_2d_q1", None).unwrap_err();
        assert!(matches!(&error, Error::NoModule { module, .. } if module == "stokes_2d_q1"), "{error}");
        assert!(error.to_string().contains("poisson_cg_3d_q4"), "{error}");
    }

    #[test]
    fn added_modules_are_found_and_win() {
        const MINE: &[u8] = &[120, 1, 1, 4, 0, 251, 255, 109, 105, 110, 101, 4, 52, 1, 170]; // "mine", stored
        assert!(matches!(source("mine", None), Err(Error::NoModule { .. })));
        add_modules(&[("mine", &[])]);
        add_modules(&[("mine", MINE)]);
        assert_eq!(source("mine", None).unwrap(), "mine");
        assert!(module_names().contains(&"mine") && module_names().contains(&"blas1"));
    }
}
