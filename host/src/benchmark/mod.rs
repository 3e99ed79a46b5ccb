//! How long the parts of a problem take, and suites of such experiments.

mod level_bench;
mod parts;
pub mod suite;

pub use level_bench::{LevelBench, Part};
pub use parts::{Measurement, parts};
