//! The command line of patchmg. Only this folder parses arguments, prints and exits.

mod against;
mod args;
mod bench;
mod case;
mod choices;
mod console;
mod failure;
mod info;
mod kernels;
mod machine;
mod result;
mod solve;
mod suite;

use args::{Cli, Command};
use clap::Parser;
use std::process::ExitCode;
use tracing_subscriber::EnvFilter;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let filter = EnvFilter::try_from_env("PATCHMG_LOG").unwrap_or_else(|_| EnvFilter::new("warn"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    // A panic is a mistake in the program; its message is already on standard error.
    std::panic::catch_unwind(|| run(&cli)).unwrap_or_else(|_| failure::Failure::internal().report())
}

fn run(cli: &Cli) -> ExitCode {
    let done = match &cli.command {
        Command::Solve(args) => solve::run(args),
        Command::Bench(args) => bench::run(args),
        Command::Kernels(args) => kernels::run(args),
        Command::Info(args) => info::run(args),
    };
    done.unwrap_or_else(failure::Failure::report)
}
