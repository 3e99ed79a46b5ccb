//! Placeholder.
pub mod parallel;
