//! The command line of `patchmg-lab`: that of `patchmg`, for what only the laboratory has.

mod against;
mod bench;
mod compare;
mod compile;
mod kernels;
mod progress;
mod suite;

use crate::inspect::{Assembler, Filter};
use clap::Parser;
use patchmg_cli::args::{
    BenchArgs, CommandLine, CompareArgs, CompileArgs, ConvergeArgs, KernelFilterArgs, KernelsArgs, Scalar, SolveArgs,
};
use std::process::ExitCode;

/// The laboratory of patchmg: suites of experiments, comparisons of their results, the list of GPU kernels, GPU kernels compiled in
/// other ways, and solves by the papers' GPU kernels.
#[derive(Debug, Parser)]
#[command(
    name = "patchmg-lab",
    version = patchmg_cli::VERSION_AND_COMMIT,
    arg_required_else_help = true,
    max_term_width = 120,
    after_help = "\
Examples:
  patchmg-lab bench --suite speed --output results
  patchmg-lab kernels smooth --dim 3
  patchmg-lab compile short --only axis --unroll-limit 1000
  patchmg-lab compare built-in short

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
    /// Compile GPU kernels with other options, or from another checkout, to a folder of PTX. Needs no GPU.
    Compile(CompileArgs),
    /// Compare GPU kernels of two folders of PTX: registers, shared memory, instructions; on a GPU also times.
    Compare(CompareArgs),
}

impl CommandLine for Lab {
    fn is_verbose(&self) -> bool {
        match &self.command {
            Command::Solve(args) => args.case.verbose,
            Command::Bench(args) => args.case.verbose,
            Command::Converge(args) => args.case.verbose,
            Command::Kernels(_) | Command::Compile(_) | Command::Compare(_) => false,
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
        Command::Compile(args) => compile::run(args),
        Command::Compare(args) => compare::run(args),
    })
}

/// Kernels whose name contains one of `names`.
fn filter(names: Vec<String>, args: &KernelFilterArgs) -> Filter {
    let scalar = args.scalar.map(|scalar| match scalar {
        Scalar::F32 => "f32",
        Scalar::F64 => "f64",
    });
    Filter { names, dim: args.dim, degree: args.degree, scalar, patches: None }
}

fn missing_assembler() -> String {
    format!("not found: {}", Assembler::INSTALL)
}
