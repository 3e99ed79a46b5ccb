//! What is known of the GPU kernels without a GPU: registers and spills from the assembler, instructions from the PTX,
//! bank conflicts from a run on the host.

mod assembler;
mod filter;
mod instructions;
mod report;
mod selection;

pub use assembler::{Assembler, Resources};
pub use filter::Filter;
pub use instructions::InstructionMix;
pub use report::{KernelReport, SharedMemory, Wavefronts};
pub use selection::Selection;

use cuda_builder::ptx;
use patchmg::output::file;
use patchmg_cli::error::{Error, Library, Result};
use patchmg_cli::hashes::module_ptx;
use patchmg_device::kernels::{KernelSpec, Module};
use std::path::Path;

/// The PTX of one kernel alone, with the declarations of its module.
///
/// # Errors
/// [`Library::Unsupported`], naming similar kernels, if there is none of this name, or if the program was built without GPU
/// kernels.
pub fn kernel_ptx(name: &str) -> Result<String> {
    let (module, spec) = find(name)?;
    let alone = module_ptx(module)?.map(|text| ptx::with_entries(&text, |entry| entry == spec.name));
    alone.ok_or_else(|| without_kernels(name))
}

/// Writes the PTX of the modules that hold these kernels, as a GPU is given it, to a folder: a file `MODULE.ptx` each, for an assembler,
/// or to be changed and read instead of the program's (`PATCHMG_PTX_DIR`). How many.
///
/// # Errors
/// [`Library::Unsupported`] if the program was built without GPU kernels, and [`Library::Io`].
pub fn write_ptx(selection: &Selection, folder: &Path) -> Result<usize> {
    std::fs::create_dir_all(folder).map_err(|source| Library::Io { path: folder.into(), source })?;
    let modules: Vec<_> = selection.modules().collect();
    for &module in &modules {
        let name = module.name();
        let text = module_ptx(module)?.ok_or_else(|| without_kernels(&name))?;
        file::write(&folder.join(format!("{name}.ptx")), text.as_bytes())?;
    }
    Ok(modules.len())
}

/// A kernel of the list by its name.
fn find(name: &str) -> Result<(Module, KernelSpec)> {
    let mut kernels = Filter::default().kernels();
    if let Some(index) = kernels.iter().position(|(_, spec)| spec.name == name) {
        return Ok(kernels.swap_remove(index));
    }
    Err(unknown("kernel", name, near(name)))
}

/// Some kernels with similar names.
fn near(name: &str) -> String {
    let mut names: Vec<_> = Filter::default().kernels().into_iter().map(|(_, spec)| spec.name).collect();
    names.sort_by_cached_key(|known| strsim::levenshtein(known, name));
    names.truncate(4);
    names.join(", ") + ", ..."
}

pub(crate) fn without_kernels(name: &str) -> Error {
    unknown("PTX of kernel", name, String::from("none: built without GPU kernels"))
}

fn unknown(what: &'static str, name: &str, available: String) -> Error {
    Library::Unsupported { backend: "cuda", what, asked: name.to_owned(), available }.into()
}
