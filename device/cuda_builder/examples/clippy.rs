//! Runs clippy over the device crate as it is compiled for the GPU: the modules of the kernel list, one degree each.
//!
//! ```text
//! cargo run -p patchmg-cuda-builder --example clippy -- FOLDER_TO_BUILD_IN
//! ```

use cuda_builder::{CudaBuilder, CudaBuilderError, Module};
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(folder) = std::env::args_os().nth(1) else {
        eprintln!("usage: clippy FOLDER_TO_BUILD_IN");
        return ExitCode::from(2);
    };
    match lint(Path::new(&folder)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn lint(folder: &Path) -> Result<(), CudaBuilderError> {
    let mut modules = patchmg_device::kernels::Module::all();
    // Modules that differ in degree alone are the same source.
    modules.reverse();
    modules.dedup_by_key(|module| module.cfg());
    let modules: Vec<_> = modules.into_iter().map(Module::from).collect();
    let device = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    CudaBuilder::new(device).out_dir(folder).clippy(&modules)
}
