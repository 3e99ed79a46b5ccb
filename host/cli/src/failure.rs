//! What went wrong, in the words of the command line, and the exit code that it has.

use crate::args::Cli;
use crate::error::{Error, Library};
use clap::CommandFactory;
use clap::error::ErrorKind;
use patchmg::output::table::bytes;
use std::fmt;
use std::process::ExitCode;

/// Ends the program.
pub struct Failure {
    code: u8,
    message: String,
    kind: Kind,
}

/// What may be done about a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// `patchmg-lab` may have the GPU kernels that were asked for.
    NoKernels,
    /// So many bytes were needed and free.
    OutOfMemory([u64; 2]),
    Other,
}

const INTERNAL: u8 = 1;
/// A result that cannot be written.
const OUTPUT: u8 = 1;
const USAGE: u8 = 2;
pub const DEVICE: u8 = 4;

/// `CUDA_ERROR_OUT_OF_MEMORY`.
const OUT_OF_MEMORY: i32 = 2;

/// Whether an argument of the library is an option of the command line.
fn is_option(name: &str) -> bool {
    Cli::command()
        .get_subcommands()
        .any(|command| command.get_arguments().any(|argument| argument.get_long() == Some(name)))
}

impl Failure {
    fn new(code: u8, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), kind: Kind::Other }
    }

    /// Wrong usage of an option.
    pub fn usage(option: &str, value: impl std::fmt::Display, reason: impl std::fmt::Display) -> Self {
        Self::new(USAGE, format!("invalid value '{value}' for '--{option}': {reason}"))
    }

    /// Wrong usage of an argument that is no option.
    pub fn argument(name: &str, value: impl fmt::Display, reason: impl fmt::Display) -> Self {
        Self::new(USAGE, format!("invalid value '{value}' for '{name}': {reason}"))
    }

    /// An environment variable that cannot be understood.
    pub fn variable(name: &str, value: &str, reason: impl std::fmt::Display) -> Self {
        Self::new(USAGE, format!("invalid value '{value}' for {name}: {reason}"))
    }

    /// More memory than there is, for an option.
    pub fn memory(option: &str, needed: u64, available: u64) -> Self {
        let [available, needed] = [available, needed].map(bytes);
        Self::new(DEVICE, format!("the host has {available} of free memory, '--{option}' needs {needed}"))
    }

    /// Standard output does not take what was written to it.
    pub fn output(reason: impl std::fmt::Display) -> Self {
        Self::new(OUTPUT, format!("standard output cannot be written: {reason}"))
    }

    /// A mistake in the program.
    pub fn internal() -> Self {
        Self::new(INTERNAL, "internal error; please report it with the lines above")
    }

    /// `patchmg-lab` does not start. The message begins with `belongs`, for example "this command belongs".
    pub(crate) fn no_laboratory(belongs: &str, name: &str, reason: &std::io::Error) -> Self {
        let build = format!("cargo build --release --package {name}");
        Self::new(USAGE, format!("{belongs} to {name}, which does not start ({reason}); build it: {build}"))
    }

    /// Whether GPU kernels were asked for that this program does not carry.
    pub(crate) fn is_without_kernels(&self) -> bool {
        self.kind == Kind::NoKernels
    }

    /// Bytes that were needed and free, if that was too few.
    pub(crate) fn needed_and_free(&self) -> Option<[u64; 2]> {
        if let Kind::OutOfMemory(bytes) = self.kind { Some(bytes) } else { None }
    }

    /// Says it on standard error, as wrong arguments are said.
    pub fn report(self) -> ExitCode {
        let error: clap::Error = clap::Error::raw(ErrorKind::Io, format_args!("{}\n", self.message));
        // Nobody is left to hear if standard error is closed.
        let _ = error.with_cmd(&Cli::command()).print();
        ExitCode::from(self.code)
    }
}

/// What is wrong.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Library(error) => error.into(),
            Error::Output { .. } => Self::new(OUTPUT, error.to_string()),
            _ => Self::new(USAGE, error.to_string()),
        }
    }
}

impl From<Library> for Failure {
    fn from(error: Library) -> Self {
        let code = match &error {
            Library::InvalidArgument { name, value, allowed } if is_option(name) => {
                return Self::usage(name, value, format_args!("must be {allowed}"));
            }
            Library::InvalidArgument { .. }
            | Library::SolutionFile { .. }
            | Library::Unsupported { .. }
            | Library::NoModule { .. }
            | Library::NotFinite { .. }
            | Library::NetFlux { .. }
            | Library::MeshFile { .. }
            | Library::Io { .. } => USAGE,
            Library::Write { .. } => OUTPUT,
            Library::OutOfMemory { .. } | Library::NoDevice { .. } | Library::Driver { code: OUT_OF_MEMORY, .. } => {
                DEVICE
            }
            _ => INTERNAL,
        };
        match error {
            Library::OutOfMemory { needed, available, .. } => {
                Self { kind: Kind::OutOfMemory([needed, available]), ..Self::new(code, error.to_string()) }
            }
            Library::NoModule { .. } => Self { kind: Kind::NoKernels, ..Self::new(code, error.to_string()) },
            _ => Self::new(code, error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_net_flux_is_wrong_input() {
        let failure = Failure::from(Library::NetFlux { net: 0.5, total: 2.0 });
        assert_eq!(failure.code, USAGE);
        assert_eq!(failure.message, "the net flux through the boundary is 5e-1 of 2e0 in all, but must be 0");
    }

    #[test]
    fn memory_has_units() {
        let (needed, available) = (3 << 30, 1_300_000_000);
        let failure = Failure::from(Library::OutOfMemory { device: "the host".into(), needed, available });
        assert_eq!(failure.needed_and_free(), Some([needed, available]));
        assert_eq!(failure.to_string(), "the host has 1.21 GiB of free memory, the problem needs 3.00 GiB");
    }

    #[test]
    fn only_kernels_that_are_not_carried_are_the_laboratorys() {
        let (asked, available) = (String::from("patch_variants_3d_q4"), String::from("blas1"));
        let failure = Failure::from(Library::NoModule { module: asked.clone(), available: available.clone() });
        assert!(failure.is_without_kernels() && failure.code == USAGE && failure.message.contains(&asked));
        let other = Library::Unsupported { backend: "cpu", what: "kernel", asked, available };
        assert!(!Failure::from(other).is_without_kernels());
    }
}
