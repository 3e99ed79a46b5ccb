//! What a solve and a measurement have to say, in the order of their JSON.

use crate::error::{Error, Result};
use crate::hashes::KernelHashes;
use crate::systems::FlowParameters;
use patchmg::measure::{LevelTimes, Measurement, Protocol, Timing};
use patchmg::solve::NewtonStep;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::path::Path;

/// Record of one solve: what was asked, on which machine, and what came out.
///
/// Field names and their order are those of the JSON object; times are seconds, errors are absolute, residuals relative
/// to the Euclidean norm of the right-hand side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SolveReport {
    pub system: String,
    pub dim: usize,
    pub degree: usize,
    pub refine: usize,
    /// In each direction, before refinement.
    #[serde(default)]
    pub base_cells: Vec<usize>,
    /// Side lengths of the domain.
    #[serde(default)]
    pub size: Vec<f64>,
    pub cells: usize,
    /// Unknowns; boundary values are none.
    pub dofs: usize,
    pub problem: String,
    #[serde(flatten)]
    pub flow: FlowParameters,
    pub solver: String,
    /// Basis vectors of `gmres` and `fgmres`; fewer if iterations end before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restart: Option<usize>,
    pub smoother: String,
    /// `v` or `w`.
    #[serde(default)]
    pub cycle: String,
    pub kernel: String,
    pub variant: String,
    pub local: String,
    /// Kernels of discontinuous elements by products of small matrices; none for columns in registers.
    #[serde(default)]
    pub products: Option<String>,
    pub precision: String,
    pub backend: String,
    pub device: String,
    pub iterations: usize,
    pub converged: bool,
    /// Why the solver ended: `converged`, `max-iters`, `stagnated` or `diverged`.
    #[serde(default)]
    pub reason: String,
    pub rtol: f64,
    pub residual_history: Vec<f64>,
    /// The last of `residual_history`; none if that is empty, because no residual was finite.
    pub relative_residual: Option<f64>,
    /// Where a straight line through the last two residuals, on a logarithmic scale, meets `rtol`; none if not converged.
    pub fractional_iterations: Option<f64>,
    /// Iterations on the coarsest mesh in all, where it is solved by iteration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inner_iterations: Option<usize>,
    /// `||u_h - u||` in L2; none where `u` is not known, or the solver diverged.
    pub l2_error: Option<f64>,
    /// `||grad (u_h - u)||` in L2; none where `u` is not known, or the solver diverged.
    pub h1_error: Option<f64>,
    /// `||p_h - p||` in L2, of systems with a pressure; null where `p` is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub l2_error_p: Option<Option<f64>>,
    /// The largest `|div u_h|`; systems with a divergence have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub div_max: Option<f64>,
    /// Steps of Newton's method, of nonlinear problems; `iterations` counts them, `residual_history` has their residuals.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub newton: Vec<NewtonReport>,
    /// Of a minimal surface.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub area: Option<f64>,
    /// One for each mesh, of systems that refine where it matters. What stands above is of the last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cycles: Vec<CycleReport>,
    pub setup_s: f64,
    pub solve_s: f64,
    /// `solve_s` over `dofs`, nanoseconds.
    pub ns_per_dof: f64,
    /// What repeats the solve: the options, with defaults filled in, under the names that they have on the command line.
    #[serde(default)]
    pub options: Map<String, Value>,
    pub version: String,
    /// Revision that the program was built from.
    pub commit: String,
}

/// A step of Newton's method.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NewtonReport {
    /// Euclidean norm of the residual after it; not relative.
    pub residual: f64,
    pub linear_iterations: usize,
    /// Part of the correction that was added.
    pub step_length: f64,
}

impl From<NewtonStep> for NewtonReport {
    fn from(step: NewtonStep) -> Self {
        let NewtonStep { residual, linear_iterations, step_length } = step;
        Self { residual, linear_iterations, step_length }
    }
}

/// A solve on one of several meshes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CycleReport {
    pub cells: usize,
    /// Unknowns.
    pub dofs: usize,
    /// With those on the boundary and hanging ones.
    pub nodes: usize,
    pub iterations: usize,
    /// Relative to the residual of zero with boundary values.
    pub residual_history: Vec<f64>,
    /// None where the solution is not known.
    pub l2_error: Option<f64>,
    /// These are none if the solver diverged.
    pub l2_norm: Option<f64>,
    pub h1_seminorm: Option<f64>,
    /// The largest value at a node.
    pub max_nodal: Option<f64>,
    /// Kelly's: the root of the sum of squares.
    pub estimate: Option<f64>,
    pub setup_s: f64,
    pub solve_s: f64,
}

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
    /// Coarse to fine.
    #[serde(default)]
    pub levels: Vec<LevelTimes>,
}

/// A value as indented JSON with a line end.
///
/// # Errors
/// [`Error::Output`], naming `path`, for a value that JSON cannot hold.
pub fn json(value: &impl Serialize, path: &Path) -> Result<String> {
    serde_json::to_string_pretty(value)
        .map(|text| text + "\n")
        .map_err(|e| Error::Output { path: path.to_owned(), reason: e.to_string() })
}
