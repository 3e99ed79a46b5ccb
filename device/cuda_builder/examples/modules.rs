//! Compiles the GPU modules whose names begin with one of the given texts, for a first look at a kernel.
//!
//! ```text
//! cargo run -p patchmg-cuda-builder --example modules -- FOLDER_TO_BUILD_IN stokes_3d_rt2 blas1
//! ```

use cuda_builder::{CudaBuilder, CudaBuilderError, Module};
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, names @ ..] = arguments.as_slice() else {
        eprintln!("usage: modules FOLDER_TO_BUILD_IN NAME...");
        return ExitCode::from(2);
    };
    match build(Path::new(folder), names) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn build(folder: &Path, names: &[String]) -> Result<(), CudaBuilderError> {
    let all = patchmg_device::kernels::Module::all();
    let wanted = all.into_iter().filter(|module| names.iter().any(|name| module.name().starts_with(name)));
    let modules: Vec<_> = wanted.map(Module::from).collect();
    let device = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for module in CudaBuilder::new(device).out_dir(folder).build_modules(&modules)? {
        println!("{}", module.ptx.display());
    }
    Ok(())
}
