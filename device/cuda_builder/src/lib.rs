//! Compiles a device crate to PTX from a build script: rust-cuda's `CudaBuilder`, driving rustc's own NVPTX backend.
//!
//! ```no_run
//! use cuda_builder::{CudaBuilder, NvvmArch};
//!
//! # fn main() -> Result<(), cuda_builder::CudaBuilderError> {
//! let ptx = CudaBuilder::new("device").arch(NvvmArch::Compute80).build()?;
//! # Ok(())
//! # }
//! ```
//!
//! A crate whose kernels take long to compile is better split into [modules](Module), compiled side by side and only
//! when a file that they depend on has changed: [`CudaBuilder::build_modules`].
//!
//! [`embed`] does so for the packages that carry this project's kernels.
//!
//! What is compiled is then [checked](ptx::check), because mistakes in PTX show late: a kernel that is missing fails at
//! its first launch, a barrier in both arms of a branch hangs, and a register array in local memory is merely slow.

mod arch;
mod builder;
mod cache;
mod compiler;
mod embed;
mod error;
mod module;
pub mod ptx;
mod side_by_side;
mod sysroot;

pub use arch::NvvmArch;
pub use builder::CudaBuilder;
pub use compiler::{Compiler, Rejected};
pub use embed::{Kernels, embed};
pub use error::CudaBuilderError;
pub use module::{CompiledModule, Module};
pub use side_by_side::side_by_side;
