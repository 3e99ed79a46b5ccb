//! Errors of the programs, beside those of the library.

pub use patchmg::Error as Library;
use std::path::PathBuf;

/// What can go wrong in a program, with the values that explain it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An error of the library.
    #[error(transparent)]
    Library(#[from] Library),
    /// A program that this one calls is not there, or refused its work.
    #[error("{program}: {message}")]
    Tool {
        /// Its name.
        program: String,
        /// What it said.
        message: String,
    },
    /// GPU kernels could not be compiled.
    #[error(transparent)]
    Compile(#[from] cuda_builder::CudaBuilderError),
    /// A file that was read holds something else.
    #[error("{path}: {reason}")]
    Input {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// Results of another run lie where results are to go.
    #[error("{} holds results of another run: {}", path.display(), listed(differences))]
    OtherRun {
        /// The file.
        path: PathBuf,
        /// What differs, with the value of the earlier and of this run.
        differences: Vec<(&'static str, String, String)>,
    },
    /// Results were found under different conditions.
    #[error("results cannot be compared: {what} was {earlier} and is {now}")]
    NotComparable {
        /// What differs.
        what: &'static str,
        /// In the earlier result.
        earlier: String,
        /// In the later one.
        now: String,
    },
    /// A plot could not be drawn, or a file format not be written.
    #[error("{path}: {reason}")]
    Output {
        /// The file.
        path: PathBuf,
        /// The reason given by the library that writes it.
        reason: String,
    },
}

fn listed(differences: &[(&str, String, String)]) -> String {
    let each = |(what, earlier, now): &(&str, String, String)| format!("{what} {earlier} there, {now} now");
    differences.iter().map(each).collect::<Vec<_>>().join("; ")
}

/// Result with the [`Error`] of a program.
pub type Result<T, E = Error> = std::result::Result<T, E>;
