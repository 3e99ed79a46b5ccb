//! The program `patchmg`: its command line, and what `patchmg-lab` shares with it. Only programs parse arguments, print
//! and exit; the method is the library [`patchmg`].

pub mod args;
pub mod bench;
mod case;
pub mod chart;
mod choices;
pub mod console;
pub mod failure;
mod info;
mod laboratory;
pub mod machine;
pub mod report;
pub mod result;
mod solve;

use args::{Cli, Command};
use clap::Parser;
use failure::Failure;
use std::process::ExitCode;
use tracing_subscriber::EnvFilter;

/// Version of the programs.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Revision that they are built from; `unknown` outside of a checkout.
pub const COMMIT: &str = env!("PATCHMG_COMMIT");

/// The program `patchmg`.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    run(|| match &cli.command {
        Command::Solve(args) => solve::run(args),
        Command::Bench(args) if args.is_of_the_laboratory() => laboratory::run(),
        Command::Bench(args) => bench::run(args),
        Command::Kernels(_) => laboratory::run(),
        Command::Info(args) => info::run(args),
    })
}

/// Runs a command, and says on standard error what it failed with.
pub fn run(command: impl FnOnce() -> Result<ExitCode, Failure> + std::panic::UnwindSafe) -> ExitCode {
    let filter = EnvFilter::try_from_env("PATCHMG_LOG").unwrap_or_else(|_| EnvFilter::new("warn"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    // A panic is a mistake in the program; its message is already on standard error.
    let done = std::panic::catch_unwind(command).unwrap_or_else(|_| Err(Failure::internal()));
    done.unwrap_or_else(Failure::report)
}
