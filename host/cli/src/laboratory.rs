//! Hands over to `patchmg-lab`, which has the suites, the comparisons, the kernel list and the papers' GPU kernels.

use crate::console;
use crate::failure::Failure;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

const NAME: &str = "patchmg-lab";

/// Becomes `patchmg-lab` with the arguments of this process: the one beside this program, else the one in `PATH`.
///
/// # Errors
/// How to build it, if there is none.
pub fn run() -> Result<ExitCode, Failure> {
    become_it("this command belongs")
}

/// Becomes `patchmg-lab` if a command failed because this program does not carry the GPU kernels.
///
/// # Errors
/// The failure itself, or how to build `patchmg-lab`.
pub fn run_for_kernels(failure: Failure) -> Result<ExitCode, Failure> {
    if failure.is_without_kernels() { become_it("the GPU kernels that were asked for belong") } else { Err(failure) }
}

fn become_it(belongs: &str) -> Result<ExitCode, Failure> {
    // A closed standard output cannot be told behind a new program's start.
    console::print("").map_err(Failure::output)?;
    let beside = std::env::current_exe().ok().map(|program| program.with_file_name(NAME)).filter(|path| path.is_file());
    let reason = Command::new(beside.unwrap_or(PathBuf::from(NAME))).args(std::env::args_os().skip(1)).exec();
    Err(Failure::no_laboratory(belongs, NAME, &reason))
}
