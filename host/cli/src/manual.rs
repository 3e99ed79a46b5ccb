//! `patchmg completions` and `patchmg man`.

use crate::args::{Cli, CompletionsArgs, ManArgs, Shell};
use crate::console;
use crate::failure::Failure;
use clap::{Command, CommandFactory};
use clap_complete::aot::{Generator, generate};
use clap_mangen::Man;
use std::process::ExitCode;

/// Writes a script that completes the command line of a shell.
///
/// # Errors
/// Standard output cannot be written.
pub fn completions(args: &CompletionsArgs) -> Result<ExitCode, Failure> {
    let script = match args.shell {
        Shell::Bash => script(clap_complete::aot::Bash),
        Shell::Zsh => script(clap_complete::aot::Zsh),
        Shell::Fish => script(clap_complete::aot::Fish),
    };
    print(&script)
}

fn script(shell: impl Generator) -> Vec<u8> {
    let mut script = Vec::new();
    generate(shell, &mut Cli::command(), "patchmg", &mut script);
    script
}

/// Writes the manual page of the program, or of one of its commands.
///
/// # Errors
/// A command that there is not; standard output cannot be written.
pub fn page(args: &ManArgs) -> Result<ExitCode, Failure> {
    let mut program = Cli::command();
    program.build();
    let command = match &args.command {
        None => program,
        Some(name) => {
            let Some(command) = program.find_subcommand(name) else {
                let names = program.get_subcommands().map(Command::get_name).collect::<Vec<_>>().join(", ");
                return Err(Failure::argument("COMMAND", name, format_args!("must be one of {names}")));
            };
            command.clone()
        }
    };
    let mut page = Vec::new();
    Man::new(command)
        .source(format!("patchmg {}", crate::VERSION))
        .manual("patchmg")
        .render(&mut page)
        .map_err(Failure::output)?;
    print(&page)
}

fn print(text: &[u8]) -> Result<ExitCode, Failure> {
    console::print(&String::from_utf8_lossy(text)).map_err(Failure::output)?;
    Ok(ExitCode::SUCCESS)
}
