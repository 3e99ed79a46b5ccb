//! The program `patchmg`: its command line, and what `patchmg-lab` shares with it. Only programs parse arguments, print
//! and exit; the method is the library [`patchmg`].

mod allocator;
pub mod args;
pub mod bench;
mod case;
pub mod chart;
mod choices;
pub mod console;
pub mod converge;
mod effective;
pub mod error;
pub mod expression;
pub mod failure;
pub mod hashes;
mod info;
mod laboratory;
pub mod machine;
mod manual;
mod phases;
mod plan;
mod problem_file;
pub mod report;
pub mod result;
mod solution_files;
pub mod solve;
mod systems;

use args::{Cli, Command, CommandLine};
use failure::Failure;
use patchmg::output::table::seconds;
use std::io::IsTerminal;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::time::Instant;
use tracing::debug;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::EnvFilter;

/// Version of the programs.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Revision that they are built from; `unknown` outside of a checkout.
pub const COMMIT: &str = env!("PATCHMG_COMMIT");
/// Both, as `--version` has them.
pub const VERSION_AND_COMMIT: &str = concat!(env!("CARGO_PKG_VERSION"), " (commit ", env!("PATCHMG_COMMIT"), ")");

/// The program `patchmg`.
pub fn main() -> ExitCode {
    program(|cli: &Cli| match &cli.command {
        Command::Solve(args) => solve::run(args).or_else(laboratory::run_for_kernels),
        Command::Bench(args) if args.is_of_the_laboratory() => laboratory::run(),
        Command::Bench(args) => bench::run(args).or_else(laboratory::run_for_kernels),
        Command::Converge(args) => converge::run(args).or_else(laboratory::run_for_kernels),
        Command::Kernels(_) | Command::Compile(_) | Command::Compare(_) => laboratory::run(),
        Command::Info(args) => info::run(args),
        Command::Completions(args) => manual::completions(args),
        Command::Man(args) => manual::page(args),
    })
}

/// A program with the arguments `A`: `run` does what they ask for, and what it fails with is said on standard error.
pub fn program<A: CommandLine>(run: impl FnOnce(&A) -> Result<ExitCode, Failure>) -> ExitCode {
    let start = Instant::now();
    let given = match problem_file::expanded(&A::command(), std::env::args_os().collect()) {
        Ok(given) => given,
        Err(failure) => return failure.report(),
    };
    let arguments = match A::try_parse_from(given) {
        Ok(arguments) => arguments,
        Err(help) => return say(&help),
    };
    // A panic is a mistake in the program; its message is already on standard error.
    let done = catch_unwind(AssertUnwindSafe(|| log(arguments.is_verbose()).and_then(|()| run(&arguments))));
    debug!("in all: {}", seconds(start.elapsed().as_secs_f64()));
    match (done.unwrap_or_else(|_| Err(Failure::internal())), console::lost()) {
        (Err(failure), _) => failure.report(),
        (Ok(_), Some(reason)) => Failure::output(reason).report(),
        (Ok(code), None) => code,
    }
}

/// Wrong arguments on standard error; the help or the version on standard output, where they were asked for.
fn say(help: &clap::Error) -> ExitCode {
    if help.use_stderr() {
        // Nobody is left to hear if standard error is closed.
        let _ = help.print();
    } else if let Err(reason) = console::print("").and_then(|()| help.print()) {
        return Failure::output(reason).report();
    }
    ExitCode::from(help.exit_code() as u8)
}

/// Sends what PATCHMG_LOG asks for to standard error, or else --verbose.
fn log(is_verbose: bool) -> Result<(), Failure> {
    const VARIABLE: &str = "PATCHMG_LOG";
    let wanted = std::env::var_os(VARIABLE)
        .filter(|wanted| !wanted.is_empty())
        .unwrap_or(if is_verbose { "debug" } else { "warn" }.into());
    let wanted = wanted.to_string_lossy();
    let refuse = |reason: &dyn std::fmt::Display| Failure::variable(VARIABLE, &wanted, reason);
    // A word alone would be taken for the name of a module, and nothing be logged.
    if wanted.split(',').any(|part| !part.contains('=') && part.parse::<LevelFilter>().is_err()) {
        return Err(refuse(
            &"must be off, error, warn, info, debug or trace, or such a level for a module: patchmg=debug",
        ));
    }
    let filter = EnvFilter::try_new(&*wanted).map_err(|reason| refuse(&reason))?;
    let colors = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    tracing_subscriber::fmt().with_env_filter(filter).with_ansi(colors).with_writer(std::io::stderr).init();
    Ok(())
}
