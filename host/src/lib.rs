//! Matrix-free geometric multigrid with vertex-patch smoothers for high-order tensor-product finite elements, on CPUs
//! and on NVIDIA GPUs.

pub mod backend;
pub mod benchmark;
pub mod error;
pub mod fe;
pub mod inspect;
pub mod krylov;
pub mod measure;
pub mod memory;
pub mod mesh;
pub mod multigrid;
pub mod operator;
pub mod output;
pub mod problem;
pub mod solve;
pub mod space;

pub use error::{Error, Result};

/// The program in the README compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
