//! The kernels that a package carries: modules of `patchmg-device` as packed PTX, in a table.

use crate::error::{At, CudaBuilderError};
use crate::{CompiledModule, CudaBuilder, Module, NvvmArch, ptx, side_by_side};
use patchmg_device::kernels;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// From the packages' folders.
const DEVICE: &str = "../..";
/// In a package, the folder of the packed modules.
const PACKED: &str = "packed";

/// Which kernels a package carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernels {
    /// Those that the library runs by default: what every program needs.
    Library,
    /// Those of papers 1, 2 and 4, to compare with.
    Papers,
}

impl Kernels {
    /// Their modules, in the order of the list.
    pub fn modules(self) -> impl Iterator<Item = kernels::Module> {
        kernels::Module::all().into_iter().filter(move |module| Self::of(module) == self)
    }

    fn of(module: &kernels::Module) -> Self {
        if module.is_of_paper() { Self::Papers } else { Self::Library }
    }
}

impl From<kernels::Module> for Module {
    fn from(module: kernels::Module) -> Self {
        let kernels = module.kernels().into_iter().map(|kernel| ptx::Kernel {
            name: kernel.name,
            threads: kernel.most_threads,
            min_blocks: kernel.min_blocks,
            shared_bytes: kernel.shared_bytes,
            barriers: kernel.barriers,
        });
        let arch = if module.needs_hopper() { NvvmArch::Compute90 } else { NvvmArch::Compute80 };
        Self::new(module.name()).cfg(module.cfg()).environment(module.environment()).arch(arch).kernels(kernels)
    }
}

/// The build script of a package in `device/ptx/`: writes `modules.rs` to `OUT_DIR`, with
/// `MODULES: &[(name, packed PTX)]`. In the tree the modules are compiled. In a package, which has no `device/` around it,
/// they lie in the folder `packed`. Without the feature `cuda` there are none.
pub fn embed(kernels: Kernels) -> ExitCode {
    match table(kernels).and_then(|table| write(&table)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            if let CudaBuilderError::NoCompiler { .. } = error {
                eprintln!("Without GPU kernels, for the CPU alone: cargo build --no-default-features");
            }
            ExitCode::FAILURE
        }
    }
}

/// Rust source of the table.
fn table(kernels: Kernels) -> Result<String, CudaBuilderError> {
    println!("cargo:rerun-if-changed=build.rs");
    for variable in ["DOCS_RS", "PATCHMG_DEVICE_RUSTC", "PATCHMG_DEVICE_CARGO"] {
        println!("cargo:rerun-if-env-changed={variable}");
    }
    let variable = |name| std::env::var_os(name).is_some();
    if !variable("CARGO_FEATURE_CUDA") || variable("DOCS_RS") {
        return Ok(rows("OUT_DIR", "", &[]));
    }
    let device = Path::new(DEVICE);
    // A folder that no program has by chance where it keeps packages.
    Ok(if device.join("cuda_std/macros").is_dir() {
        rows("OUT_DIR", "ptx", &compile(device, kernels)?)
    } else {
        rows("CARGO_MANIFEST_DIR", PACKED, &carried(Path::new(PACKED))?)
    })
}

/// Compiles modules, packs them and returns their names.
fn compile(device: &Path, kernels: Kernels) -> Result<Vec<String>, CudaBuilderError> {
    for path in ["Cargo.toml", "src", "cuda_std"] {
        println!("cargo:rerun-if-changed={}", device.join(path).display());
    }
    let modules: Vec<Module> = kernels.modules().map(Module::from).collect();
    let compiled = CudaBuilder::new(device).build_modules(&modules)?;
    side_by_side(&compiled, |_, module| pack(module).map(|()| module.name.clone()))
}

/// Writes the packed PTX of a module, unless the file already holds it.
fn pack(module: &CompiledModule) -> Result<(), CudaBuilderError> {
    let text = fs::read_to_string(&module.ptx).at(&module.ptx)?;
    let path = module.ptx.with_extension("z");
    if fs::read(&path).is_ok_and(|packed| ptx::unpack(&packed).is_some_and(|found| found == text)) {
        return Ok(());
    }
    fs::write(&path, ptx::pack(&text)).at(path)
}

/// The names of the packed modules in the folder of a package.
fn carried(folder: &Path) -> Result<Vec<String>, CudaBuilderError> {
    println!("cargo:rerun-if-changed={}", folder.display());
    let not_packed = || CudaBuilderError::NotPacked(std::path::absolute(folder).unwrap_or(folder.into()));
    let entries = fs::read_dir(folder).map_err(|_| not_packed())?.map(|entry| Ok(entry.at(folder)?.file_name()));
    let files = entries.collect::<Result<Vec<_>, CudaBuilderError>>()?;
    let name = |file: &std::ffi::OsString| Some(file.to_str()?.strip_suffix(".z")?.to_owned());
    let mut names: Vec<_> = files.iter().filter_map(name).collect();
    names.sort();
    if names.is_empty() { Err(not_packed()) } else { Ok(names) }
}

/// Rust source that embeds `NAME.z` from a folder in the one that a variable of cargo names.
fn rows(variable: &str, folder: &str, names: &[String]) -> String {
    let row = |name| format!("    ({name:?}, include_bytes!(concat!(env!({variable:?}), \"/{folder}/{name}.z\"))),\n");
    let rows: String = names.iter().map(row).collect();
    format!("/// Name and packed PTX of every module.\npub static MODULES: &[(&str, &[u8])] = &[\n{rows}];\n")
}

/// Writes the table.
fn write(table: &str) -> Result<(), CudaBuilderError> {
    let path = PathBuf::from(std::env::var_os("OUT_DIR").ok_or(CudaBuilderError::NoOutDir)?).join("modules.rs");
    fs::write(&path, table).at(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_without_kernels_is_an_error_that_says_how_to_fill_it() {
        let folder = std::env::temp_dir().join(format!("cuda_builder-embed-{}", std::process::id()));
        let refused = |outcome: Result<Vec<String>, CudaBuilderError>| {
            let error = outcome.unwrap_err();
            assert!(matches!(error, CudaBuilderError::NotPacked(_)), "{error}");
            assert!(error.to_string().contains(".ci/package"), "{error}");
        };
        refused(carried(&folder));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("README"), "no kernel").unwrap();
        refused(carried(&folder));
        for name in ["b.z", "a.z"] {
            fs::write(folder.join(name), ptx::pack(name)).unwrap();
        }
        assert_eq!(carried(&folder).unwrap(), ["a", "b"]);
        fs::remove_dir_all(&folder).unwrap();
    }
}
