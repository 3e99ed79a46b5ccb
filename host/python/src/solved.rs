//! What a solve found.

use crate::error::exception;
use crate::problem::coordinates;
use glam::DVec3;
use patchmg::function::Function;
use patchmg::krylov::Info;
use patchmg::solve::Solution;
use patchmg::system::stokes::Flow;
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;

/// The functions of a solution, one for each field, and what the solver did.
#[pyclass(frozen)]
pub struct Solved {
    functions: Vec<Function>,
    /// `∇·u` at the nodes of the last field; empty if that is no pressure.
    divergence: Vec<f64>,
    info: Info,
    seconds: [f64; 2],
}

impl From<Solution<Function>> for Solved {
    fn from(Solution { u, info, setup_s, timing }: Solution<Function>) -> Self {
        Self { functions: vec![u], divergence: Vec::new(), info, seconds: [setup_s, timing.median_s] }
    }
}

impl From<Solution<Flow>> for Solved {
    fn from(Solution { u, info, setup_s, timing }: Solution<Flow>) -> Self {
        let divergence = u.divergence();
        let functions = u.velocity().iter().chain([u.pressure()]).cloned().collect();
        Self { functions, divergence, info, seconds: [setup_s, timing.median_s] }
    }
}

#[pymethods]
impl Solved {
    #[getter]
    fn converged(&self) -> bool {
        self.info.converged
    }

    /// Why the iteration ended, as in the JSON of the program.
    #[getter]
    fn outcome(&self) -> &'static str {
        self.info.outcome.name()
    }

    /// The same in words.
    #[getter]
    fn message(&self) -> String {
        self.info.outcome.to_string()
    }

    #[getter]
    fn iterations(&self) -> usize {
        self.info.iterations
    }

    #[getter]
    fn residuals(&self) -> Vec<f64> {
        self.info.residual_history.clone()
    }

    #[getter]
    fn setup_seconds(&self) -> f64 {
        self.seconds[0]
    }

    #[getter]
    fn solve_seconds(&self) -> f64 {
        self.seconds[1]
    }

    /// Coordinates of a field's nodes along each direction.
    fn nodes(&self, field: usize) -> Vec<Vec<f64>> {
        coordinates(self.functions[field].space())
    }

    /// Writes a field's values at all of its nodes to `out`, `x` fastest.
    fn values(&self, py: Python<'_>, field: usize, out: PyBuffer<f64>) -> PyResult<()> {
        out.copy_from_slice(py, &self.functions[field].values_at_nodes().map_err(exception)?)
    }

    /// Writes the divergence of the velocity at the nodes of the pressure to `out`, `x` fastest.
    fn divergence(&self, py: Python<'_>, out: PyBuffer<f64>) -> PyResult<()> {
        out.copy_from_slice(py, &self.divergence)
    }

    /// Writes a field's values at points to `out`; `points` has the coordinates of one point after the other.
    fn evaluate(&self, py: Python<'_>, field: usize, points: PyBuffer<f64>, out: PyBuffer<f64>) -> PyResult<()> {
        let (function, points) = (&self.functions[field], points.to_vec(py)?);
        let dim = function.space().dim();
        let at = |point: &[f64]| function.at(DVec3::new(point[0], point[1], if dim == 3 { point[2] } else { 0.0 }));
        let values = py.detach(|| points.chunks_exact(dim).map(at).collect::<Result<Vec<_>, _>>());
        out.copy_from_slice(py, &values.map_err(exception)?)
    }
}
