//! Record of one problem that was timed.

use super::hashes::KernelHashes;
use super::parts::Measurement;
use crate::measure::{Protocol, Timing};
use crate::output::report::SolveReport;
use serde::{Deserialize, Serialize};

/// A solve, and the parts of its problem, in the order of the JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchReport {
    #[serde(flatten)]
    pub solve: SolveReport,
    pub driver: Option<String>,
    /// Newest version of the CUDA API that the driver has.
    #[serde(default)]
    pub cuda_api: Option<String>,
    /// The GPU kernels that were launched; none without a GPU.
    #[serde(default)]
    pub kernels: Option<KernelHashes>,
    pub protocol: Protocol,
    /// Of the solve, whose median is `solve_s`.
    pub solve_timing: Timing,
    pub measurements: Vec<Measurement>,
}
