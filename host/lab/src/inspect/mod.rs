//! What is known of the GPU kernels without a GPU: registers and spills from the assembler, instructions from the PTX,
//! bank conflicts from a run on the host.

mod assembler;
mod filter;
mod instructions;
mod report;

pub use assembler::{Assembler, Resources};
pub use filter::Filter;
pub use instructions::InstructionMix;
pub use report::{KernelReport, SharedMemory, Wavefronts};

use cuda_builder::{ptx, side_by_side};
use patchmg::output::file;
use patchmg_cli::error::{Error, Library, Result};
use patchmg_cli::hashes::module_ptx;
use patchmg_device::kernels::{KernelSpec, Module};
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// A report on each kernel that the filter lets pass, in the order of the list; what the assembler tells is left out if
/// there is none.
///
/// # Errors
/// [`Library::Unsupported`] if there is no such kernel, and those of the assembler.
pub fn reports(filter: &Filter, assembler: Option<&Assembler>) -> Result<Vec<KernelReport>> {
    let kernels = listed(filter)?;
    let mut modules: Vec<_> = kernels.iter().map(|(module, _)| *module).collect();
    modules.dedup();
    let mut code = HashMap::new();
    for module in modules {
        let wanted: HashSet<_> = kernels.iter().filter(|(of, _)| *of == module).map(|(_, spec)| &*spec.name).collect();
        if let Some(text) = module_ptx(module)? {
            code.insert(module, ptx::with_entries(&text, |name| wanted.contains(name)));
        }
    }
    let (shared_memory, resources) = std::thread::scope(|scope| {
        // The assembler works in processes of its own.
        let resources = scope.spawn(|| assemble(assembler, &code));
        let shared_memory = side_by_side(&kernels, |_, (module, spec)| Ok::<_, Error>(SharedMemory::of(*module, spec)));
        (shared_memory, resources.join().expect("a worker returns its errors"))
    });
    let (shared_memory, resources): (Vec<_>, _) = (shared_memory?, resources?);
    let mixes: HashMap<_, _> =
        code.values().flat_map(|text| ptx::entries(text)).map(|entry| (entry.name, entry)).collect();
    Ok(kernels
        .iter()
        .zip(shared_memory)
        .map(|((module, spec), shared_memory)| {
            let mix = mixes.get(&*spec.name).map(|entry| entry.opcodes().collect());
            KernelReport::new(*module, spec, resources.get(&spec.name).copied(), mix, shared_memory)
        })
        .collect())
}

/// The kernels that a filter lets pass, at least one.
fn listed(filter: &Filter) -> Result<Vec<(Module, KernelSpec)>> {
    let kernels = filter.kernels();
    if kernels.is_empty() {
        return Err(unknown("kernel", &filter.to_string(), near(filter.name.as_deref().unwrap_or_default())));
    }
    Ok(kernels)
}

/// Resources of all entries, modules side by side.
fn assemble(assembler: Option<&Assembler>, code: &HashMap<Module, String>) -> Result<HashMap<String, Resources>> {
    let Some(assembler) = assembler else { return Ok(HashMap::new()) };
    let takes = |module: &Module| assembler.takes_hopper() || !module.needs_hopper();
    let mut modules: Vec<_> = code.iter().filter(|(module, _)| takes(module)).map(|(_, text)| text).collect();
    // Tasks are taken from the end, the longest first.
    modules.sort_unstable_by_key(|text| text.len());
    let resources = side_by_side(&modules, |_, text| assembler.resources(text))?;
    Ok(resources.into_iter().flatten().collect())
}

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

/// Writes the PTX of the modules that hold kernels which the filter lets pass, as a GPU is given it, to a folder: a file
/// `MODULE.ptx` each, for an assembler, or to be changed and read instead of the program's (`PATCHMG_PTX_DIR`). How many.
///
/// # Errors
/// [`Library::Unsupported`] if there is no such kernel, or if the program was built without GPU kernels, and [`Library::Io`].
pub fn write_ptx(filter: &Filter, folder: &Path) -> Result<usize> {
    let mut modules: Vec<_> = listed(filter)?.into_iter().map(|(module, _)| module).collect();
    modules.dedup();
    std::fs::create_dir_all(folder).map_err(|source| Library::Io { path: folder.into(), source })?;
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

fn without_kernels(name: &str) -> Error {
    unknown("PTX of kernel", name, String::from("none: built without GPU kernels"))
}

fn unknown(what: &'static str, name: &str, available: String) -> Error {
    Library::Unsupported { backend: "cuda", what, asked: name.to_owned(), available }.into()
}
