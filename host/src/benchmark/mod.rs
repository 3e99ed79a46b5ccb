//! How long the parts of a problem take, suites of such experiments, and how two runs compare.

pub mod compare;
pub mod hashes;
mod level_bench;
mod parts;
mod report;
pub mod suite;

pub use level_bench::{LevelBench, Part};
pub use parts::{Measurement, cycle_words_per_dof, parts};
pub use report::BenchReport;
