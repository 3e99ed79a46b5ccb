//! The error type of the library.

use crate::units::bytes;
use glam::DVec3;
use std::path::PathBuf;

/// What can go wrong, with the values that explain it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An argument is outside what is supported.
    #[error("{name} is {value}, but must be {allowed}")]
    InvalidArgument {
        /// Name of the argument, as a user would write it.
        name: &'static str,
        /// What was given.
        value: String,
        /// What is allowed.
        allowed: String,
    },
    /// A vector, or a list, has the wrong length.
    #[error("{what} has length {found}, expected {expected}")]
    SizeMismatch {
        /// What has the wrong length.
        what: &'static str,
        /// Length needed.
        expected: usize,
        /// Length given.
        found: usize,
    },
    /// A right-hand side, or an iterate, is not a finite number.
    #[error("{what} is not finite: {value} at {place}")]
    NotFinite {
        /// Which quantity.
        what: &'static str,
        /// The value found.
        value: f64,
        /// Where: a point, a dof or an iteration.
        place: String,
    },
    /// More fluid would flow out of the domain than into it, or less.
    #[error("the net flux through the boundary is {net:e} of {total:e} in all, but must be 0")]
    NetFlux {
        /// `∫ u·n` over the boundary, `n` pointing outward.
        net: f64,
        /// `∫ |u·n|`.
        total: f64,
    },
    /// The backend has no kernel for what was asked.
    #[error("{backend} has no {what} '{asked}'; it has: {available}")]
    Unsupported {
        /// Name of the backend.
        backend: &'static str,
        /// Kind of thing, for example `variant`.
        what: &'static str,
        /// What was asked for.
        asked: String,
        /// What there is.
        available: String,
    },
    /// The program does not carry the GPU kernels that were asked for.
    #[error("this program has no GPU kernels of module '{module}'; it has: {available}")]
    NoModule {
        /// Name of the module.
        module: String,
        /// The modules that there are.
        available: String,
    },
    /// The problem needs more memory than there is.
    #[error("{device} has {} of free memory, the problem needs {}", bytes(*available), bytes(*needed))]
    OutOfMemory {
        /// Device, or the host.
        device: String,
        /// Bytes needed.
        needed: u64,
        /// Bytes free.
        available: u64,
    },
    /// No driver, or no device of that number.
    #[error("no CUDA device: {reason}")]
    NoDevice {
        /// Why.
        reason: String,
    },
    /// The CUDA driver refused a call.
    #[error("CUDA driver: {call} failed with {code} ({name})")]
    Driver {
        /// Driver function.
        call: &'static str,
        /// `CUresult` as a number.
        code: i32,
        /// Its name.
        name: String,
    },
    /// A device did not finish its work in time: a kernel hangs.
    #[error("{what} did not finish within {seconds} s")]
    Timeout {
        /// Which device.
        what: &'static str,
        /// How long it had.
        seconds: u64,
    },
    /// A matrix that must be symmetric positive definite is not.
    #[error("{what} is not positive definite")]
    NotPositiveDefinite {
        /// Which matrix.
        what: &'static str,
    },
    /// A file could not be read, or would not be written.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The file of a mesh holds what is not understood, or a mesh that is not allowed.
    #[error("line {line}: {what} is {found}, but must be {allowed}")]
    MeshFile {
        /// Line of the file, from 1 on.
        line: usize,
        /// What it is about, for example an element with its number in the file.
        what: String,
        /// What was found.
        found: String,
        /// What is allowed.
        allowed: String,
    },
    /// A file of a solution holds something else, or the solution of another problem.
    #[error("{path}: {what} is {found}, but must be {allowed}")]
    SolutionFile {
        /// The file.
        path: PathBuf,
        /// What it is about, for example the shape of an array.
        what: String,
        /// What was found.
        found: String,
        /// What is allowed.
        allowed: String,
    },
    /// A file could not be written; what it held before, it still holds.
    #[error("{path} cannot be written: {source}")]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
}

/// Result with the library's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An [`Error::InvalidArgument`].
pub(crate) fn invalid(name: &'static str, value: impl ToString, allowed: impl ToString) -> Error {
    Error::InvalidArgument { name, value: value.to_string(), allowed: allowed.to_string() }
}

/// The value of a function at a point.
///
/// # Errors
/// [`Error::NotFinite`].
pub(crate) fn finite(what: &'static str, value: f64, point: DVec3) -> Result<f64> {
    if value.is_finite() { Ok(value) } else { Err(Error::NotFinite { what, value, place: point.to_string() }) }
}

/// An [`Error::MeshFile`].
pub(crate) fn in_mesh_file(line: usize, what: impl ToString, found: impl ToString, allowed: impl ToString) -> Error {
    Error::MeshFile { line, what: what.to_string(), found: found.to_string(), allowed: allowed.to_string() }
}

/// That a vector, or another list, has as many entries as are expected.
///
/// # Errors
/// [`Error::SizeMismatch`].
pub(crate) fn check_length(what: &'static str, expected: usize, found: usize) -> Result<()> {
    if found == expected { Ok(()) } else { Err(Error::SizeMismatch { what, expected, found }) }
}

/// That it has as many, or more.
///
/// # Errors
/// [`Error::SizeMismatch`].
pub(crate) fn check_at_least(what: &'static str, expected: usize, found: usize) -> Result<()> {
    if found >= expected { Ok(()) } else { Err(Error::SizeMismatch { what, expected, found }) }
}
