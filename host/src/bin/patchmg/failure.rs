//! What went wrong, in the words of the command line, and the exit code that it has.

use patchmg::Error;
use std::process::ExitCode;

/// Ends the program.
pub struct Failure {
    code: u8,
    message: String,
}

const INTERNAL: u8 = 1;
const USAGE: u8 = 2;
const DEVICE: u8 = 4;

/// Arguments of the library that are options of the command line.
const OPTIONS: [&str; 18] = [
    "dim",
    "degree",
    "refine",
    "rtol",
    "max-iters",
    "threads",
    "device",
    "problem",
    "solver",
    "smoother",
    "damping",
    "precision",
    "plot",
    "vtu",
    "json",
    "arch",
    "suite",
    "only",
];

impl Failure {
    /// Wrong usage of an option.
    pub fn usage(option: &str, value: impl std::fmt::Display, reason: impl std::fmt::Display) -> Self {
        Self { code: USAGE, message: format!("invalid value '{value}' for '--{option}': {reason}") }
    }

    /// A mistake in the program.
    pub fn internal() -> Self {
        Self { code: INTERNAL, message: String::from("internal error; please report it with the lines above") }
    }

    /// Says it on standard error.
    pub fn report(self) -> ExitCode {
        use std::io::Write;
        // Nobody is left to hear if standard error is closed.
        let _ = writeln!(std::io::stderr(), "error: {}", self.message);
        ExitCode::from(self.code)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let code = match &error {
            Error::InvalidArgument { name, value, allowed } if OPTIONS.contains(name) => {
                return Self::usage(name, value, format_args!("must be {allowed}"));
            }
            Error::InvalidArgument { .. }
            | Error::Unsupported { .. }
            | Error::NotFinite { .. }
            | Error::Io { .. }
            | Error::Input { .. }
            | Error::OtherRun { .. }
            | Error::NotComparable { .. }
            | Error::Tool { .. }
            | Error::Output { .. } => USAGE,
            Error::OutOfMemory { .. } | Error::NoDevice { .. } => DEVICE,
            _ => INTERNAL,
        };
        Self { code, message: error.to_string() }
    }
}
