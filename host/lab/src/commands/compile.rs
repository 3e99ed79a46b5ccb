//! `patchmg compile`.

use super::filter;
use super::progress::Progress;
use crate::inspect::Selection;
use crate::modules::{self, Options};
use patchmg_cli::args::CompileArgs;
use patchmg_cli::failure::Failure;
use patchmg_cli::result;
use patchmg_device::kernels::Module;
use std::process::ExitCode;

/// Of the device crate.
const MANIFEST: &str = "Cargo.toml";
/// In its manifest.
const NAME: &str = "name = \"patchmg-device\"";

pub fn run(args: &CompileArgs) -> Result<ExitCode, Failure> {
    let console = result::console(None, args.quiet);
    let options = Options {
        device: args.device.clone(),
        arch: args.arch.clone(),
        unroll_limit: args.unroll_limit,
        min_blocks: args.min_blocks,
        fast_math: args.fast_math.clone(),
        llvm_args: args.llvm_arg.clone(),
    };
    options.architecture()?;
    check_device(args)?;
    if args.folder.exists() && !args.folder.is_dir() {
        return Err(Failure::argument("FOLDER", args.folder.display(), "must be a folder, or not be there"));
    }
    let modules: Vec<Module> = Selection::of(&filter(args.only.clone(), &args.filter))?.modules().collect();

    let progress = Progress::new(console, modules.len());
    let record = modules::compile(&modules, &options, &args.folder, |name, rebuilt| {
        progress.line(if rebuilt { format!("{name}: compiled") } else { format!("{name}: as before") });
        progress.advance(1);
    });
    progress.finish();
    let record = record?;
    for module in record.modules.iter().filter(|module| !module.differences.is_empty()) {
        console.line(format_args!("{} is not as the list of kernels says:", module.name));
        module.differences.iter().for_each(|difference| console.line(format_args!("  - {difference}")));
    }
    let (count, folder) = (record.modules.len(), args.folder.display());
    console.line(format_args!("{count} modules in {folder}, compiled from {options} by {}", record.compiler));
    Ok(ExitCode::SUCCESS)
}

/// Another crate would compile to PTX without kernels.
fn check_device(args: &CompileArgs) -> Result<(), Failure> {
    let manifest = std::fs::read_to_string(args.device.join(MANIFEST));
    if manifest.is_ok_and(|text| text.lines().any(|line| line.trim() == NAME)) {
        return Ok(());
    }
    let reason = "must be the folder device of a checkout of patchmg";
    Err(Failure::usage("device", args.device.display(), reason))
}
