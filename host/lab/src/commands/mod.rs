//! The command line of `patchmg-lab`: that of `patchmg`, for what only the laboratory has.

mod against;
mod bench;
mod kernels;
mod progress;
mod suite;

use clap::Parser;
use patchmg_cli::args::{BenchArgs, CommandLine, ConvergeArgs, KernelsArgs, SolveArgs};
use std::process::ExitCode;

/// The laboratory of patchmg: suites of experiments, comparisons of their results, the list of GPU kernels, and solves by the
/// papers' GPU kernels.
#[derive(Debug, Parser)]
#[command(
    name = "patchmg-lab",
    version = patchmg_cli::VERSION_AND_COMMIT,
    arg_required_else_help = true,
    max_term_width = 120,
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
    /// Solve a model problem, on a GPU also by the papers' kernels.
    Solve(Box<SolveArgs>),
    /// Run a suite of experiments, compare results, or time the parts of a model problem.
    Bench(Box<BenchArgs>),
    /// Solve on finer and finer meshes, or for several degrees, on a GPU also by the papers' kernels.
    Converge(Box<ConvergeArgs>),
    /// List the GPU kernels: registers, shared memory, spills, barriers, instructions and bank conflicts. Needs no GPU.
    Kernels(KernelsArgs),
}

impl CommandLine for Lab {
    fn is_verbose(&self) -> bool {
        match &self.command {
            Command::Solve(args) => args.case.verbose,
            Command::Bench(args) => args.case.verbose,
            Command::Converge(args) => args.case.verbose,
            Command::Kernels(_) => false,
        }
    }
}

/// The program `patchmg-lab`.
pub fn main() -> ExitCode {
    crate::add_paper_kernels();
    patchmg_cli::program(|lab: &Lab| match &lab.command {
        Command::Solve(args) => patchmg_cli::solve::run(args),
        Command::Bench(args) => bench::run(args),
        Command::Converge(args) => patchmg_cli::converge::run(args),
        Command::Kernels(args) => kernels::run(args),
    })
}
