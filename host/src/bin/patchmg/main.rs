//! The command line of patchmg. Only this folder parses arguments, prints and exits.

mod against;
mod allocator;
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
use failure::Failure;
use std::io::IsTerminal;
use std::process::ExitCode;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::EnvFilter;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(help) => return say(&help),
    };
    // A panic is a mistake in the program; its message is already on standard error.
    let done = std::panic::catch_unwind(|| run(&cli)).unwrap_or_else(|_| Err(Failure::internal()));
    match (done, console::lost()) {
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

fn run(cli: &Cli) -> Result<ExitCode, Failure> {
    log()?;
    match &cli.command {
        Command::Solve(args) => solve::run(args),
        Command::Bench(args) => bench::run(args),
        Command::Kernels(args) => kernels::run(args),
        Command::Info(args) => info::run(args),
    }
}

/// Sends what PATCHMG_LOG asks for to standard error.
fn log() -> Result<(), Failure> {
    const VARIABLE: &str = "PATCHMG_LOG";
    let wanted = std::env::var_os(VARIABLE).filter(|wanted| !wanted.is_empty()).unwrap_or("warn".into());
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
