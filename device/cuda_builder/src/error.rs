//! What can go wrong between a device crate and its PTX.

use crate::NvvmArch;
use crate::compiler::Rejected;
use crate::ptx::Violation;
use std::path::PathBuf;

/// Why there is no PTX.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CudaBuilderError {
    /// No compiler has the source of `core`, which is not distributed for `nvptx64-nvidia-cuda`.
    #[error(
        "no compiler on this machine can build device code: it needs Rust {needed} or newer with the source of `core`.\n\
         {}\n\
         Either of these commands installs one:\n    \
         rustup component add rust-src\n    \
         apt-get install --no-install-recommends rustc-web cargo-web rust-web-src gcc\n\
         Or name one in the variable PATCHMG_DEVICE_RUSTC.",
        list(rejected)
    )]
    NoCompiler {
        /// Oldest version that will do.
        needed: &'static str,
        /// What was tried.
        rejected: Vec<Rejected>,
    },
    /// There is no crate at the path given.
    #[error("{0} is no crate: it has no Cargo.toml")]
    CratePathDoesntExist(PathBuf),
    /// There is no such architecture.
    #[error("'{name}' is no architecture: known are {}", known_architectures())]
    UnknownArch {
        /// As it was given.
        name: String,
    },
    /// A package that should carry compiled kernels carries none.
    #[error("{0} has no packed kernels: in the tree, .ci/package fills it before it makes packages")]
    NotPacked(PathBuf),
    /// Neither a build script's `OUT_DIR` nor a folder of the caller's is known.
    #[error("OUT_DIR is not set: outside a build script, say where to build with `CudaBuilder::out_dir`")]
    NoOutDir,
    /// A file could not be read or written.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A program could not be started.
    #[error("could not run {program}: {source}")]
    Start {
        /// The program.
        program: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The compiler reported errors.
    #[error("{what} did not compile:\n{output}")]
    BuildFailed {
        /// A module, or `core`.
        what: String,
        /// What the compiler said.
        output: String,
    },
    /// PTX is not what its kernel list promises.
    #[error("the PTX is not as listed:\n{}", list(violations))]
    Check {
        /// All that was found, in all modules.
        violations: Vec<Violation>,
    },
}

fn list<T: std::fmt::Display>(items: &[T]) -> String {
    items.iter().map(|item| format!("  - {item}")).collect::<Vec<_>>().join("\n")
}

fn known_architectures() -> String {
    NvvmArch::ALL.map(NvvmArch::target_cpu).join(", ")
}

/// Gives an error of the file system its path.
pub(crate) trait At<T> {
    fn at(self, path: impl Into<PathBuf>) -> Result<T, CudaBuilderError>;
}

impl<T> At<T> for std::io::Result<T> {
    fn at(self, path: impl Into<PathBuf>) -> Result<T, CudaBuilderError> {
        self.map_err(|source| CudaBuilderError::Io { path: path.into(), source })
    }
}
