//! Compiles `device/` to PTX and writes the table that the library embeds: `ptx.rs` in `OUT_DIR`, with
//! `MODULES: &[(name, packed PTX)]`. Without the feature `cuda` nothing of the device is built.

use cuda_builder::{CompiledModule, CudaBuilder, CudaBuilderError, Module, NvvmArch, ptx, side_by_side};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var_os("CARGO_FEATURE_CUDA").is_none() {
        return ExitCode::SUCCESS;
    }
    for variable in ["DOCS_RS", "PATCHMG_DEVICE_RUSTC", "PATCHMG_DEVICE_CARGO"] {
        println!("cargo:rerun-if-env-changed={variable}");
    }
    let names = match std::env::var_os("DOCS_RS") {
        Some(_) => Ok(Vec::new()),
        None => compile(),
    };
    match names.and_then(|names| write_table(&names)) {
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

/// Compiles all modules, packs them and returns their names.
fn compile() -> Result<Vec<String>, CudaBuilderError> {
    let modules: Vec<_> = patchmg_device::kernels::Module::all()
        .into_iter()
        .map(|module| {
            let kernels = module.kernels().into_iter().map(|kernel| ptx::Kernel {
                name: kernel.name,
                threads: kernel.most_threads,
                min_blocks: kernel.min_blocks,
                shared_bytes: kernel.shared_bytes,
                barriers: kernel.barriers,
            });
            let compiled = Module::new(module.name()).cfg(module.cfg()).environment(module.environment());
            let compiled = if module.needs_hopper() { compiled.arch(NvvmArch::Compute90) } else { compiled };
            compiled.kernels(kernels)
        })
        .collect();
    for path in ["Cargo.toml", "src", "cuda_std"] {
        println!("cargo:rerun-if-changed=device/{path}");
    }
    let compiled = CudaBuilder::new("device").arch(NvvmArch::Compute80).build_modules(&modules)?;
    side_by_side(&compiled, |_, module| pack(module).map(|()| module.name.clone()))
}

/// Writes the packed PTX of a module, if what is there is not that.
fn pack(module: &CompiledModule) -> Result<(), CudaBuilderError> {
    let io = |path: &Path| {
        let path = path.to_path_buf();
        move |source| CudaBuilderError::Io { path, source }
    };
    let text = std::fs::read_to_string(&module.ptx).map_err(io(&module.ptx))?;
    let path = module.ptx.with_extension("z");
    if std::fs::read(&path).is_ok_and(|packed| ptx::unpack(&packed).is_some_and(|found| found == text)) {
        return Ok(());
    }
    std::fs::write(&path, ptx::pack(&text)).map_err(io(&path))
}

/// Writes the Rust source that embeds the packed PTX of these modules.
fn write_table(names: &[String]) -> Result<(), CudaBuilderError> {
    let rows: String = names
        .iter()
        .map(|name| format!("    ({name:?}, include_bytes!(concat!(env!(\"OUT_DIR\"), \"/ptx/{name}.z\"))),\n"))
        .collect();
    let table = format!("/// Name and packed PTX of every module.\nstatic MODULES: &[(&str, &[u8])] = &[\n{rows}];\n");
    let path = PathBuf::from(std::env::var_os("OUT_DIR").ok_or(CudaBuilderError::NoOutDir)?).join("ptx.rs");
    std::fs::write(&path, table).map_err(|source| CudaBuilderError::Io { path, source })
}
