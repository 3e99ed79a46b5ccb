//! The command line of `patchmg-lab`: that of `patchmg`, for the commands which only the laboratory has.

mod against;
mod bench;
mod kernels;
mod progress;
mod suite;

use clap::Parser;
use patchmg_cli::args::{BenchArgs, KernelsArgs};
use std::process::ExitCode;

/// The laboratory of patchmg: suites of experiments, comparisons of their results, and the list of GPU kernels.
#[derive(Debug, Parser)]
#[command(
    name = "patchmg-lab",
    version,
    arg_required_else_help = true,
    after_help = "\
Example:
  patchmg-lab bench --suite speed --output results

Exit codes are those of patchmg."
)]
struct Lab {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Run a suite of experiments, or compare results.
    Bench(Box<BenchArgs>),
    /// List the GPU kernels: registers, shared memory, spills, barriers, instructions and bank conflicts. Needs no GPU.
    Kernels(KernelsArgs),
}

/// The program `patchmg-lab`.
pub fn main() -> ExitCode {
    patchmg_cli::program(|lab: &Lab| match &lab.command {
        Command::Bench(args) => bench::run(args),
        Command::Kernels(args) => kernels::run(args),
    })
}
