//! Solves on finer and finer meshes, or for several degrees, and the orders of their errors.

use crate::chart::{Chart, Scale, Series};
use crate::report::SolveReport;
use serde::Serialize;
use serde_json::{Map, Value};

/// All solves, in the order of their degrees and refinements.
#[derive(Debug, Serialize)]
pub struct Study {
    pub runs: Vec<Run>,
    /// Those of all runs, with their degrees and refinements.
    options: Map<String, Value>,
    version: &'static str,
    commit: &'static str,
}

/// A solve, and how its errors compare with those of the one before.
#[derive(Debug, Serialize)]
pub struct Run {
    /// Longest edge of the base cells over `2^refine`.
    pub h: f64,
    /// Orders `log(e / e') / log(h / h')` of the errors, where `e` and `h` are of the solve before; none without such a solve of the
    /// same degree, or if one of the two did not converge.
    pub l2_order: Option<f64>,
    pub h1_order: Option<f64>,
    pub l2_order_p: Option<f64>,
    #[serde(flatten)]
    pub solve: SolveReport,
}

impl Run {
    /// Without orders, on a mesh whose base cells have a longest edge of `width`.
    pub fn new(solve: SolveReport, width: f64) -> Self {
        let h = width / 2.0_f64.powf(solve.refine as f64);
        Self { h, l2_order: None, h1_order: None, l2_order_p: None, solve }
    }

    /// The error of the pressure.
    pub fn l2_error_p(&self) -> Option<f64> {
        self.solve.l2_error_p.flatten()
    }

    fn order(&self, coarser: &Self, error: fn(&Self) -> Option<f64>) -> Option<f64> {
        let is_comparable =
            self.solve.degree == coarser.solve.degree && self.solve.converged && coarser.solve.converged;
        let order = (error(coarser)? / error(self)?).ln() / (coarser.h / self.h).ln();
        (is_comparable && order.is_finite()).then_some(order)
    }
}

impl Study {
    /// Without solves yet.
    pub fn new(options: Map<String, Value>) -> Self {
        Self { runs: Vec::new(), options, version: crate::VERSION, commit: crate::COMMIT }
    }

    /// Adds a solve, with its orders.
    pub fn push(&mut self, mut run: Run) -> &Run {
        if let Some(coarser) = self.runs.last() {
            run.l2_order = run.order(coarser, |run| run.solve.l2_error);
            run.h1_order = run.order(coarser, |run| run.solve.h1_error);
            run.l2_order_p = run.order(coarser, Run::l2_error_p);
        }
        self.runs.push(run);
        &self.runs[self.runs.len() - 1]
    }

    /// Errors over unknowns, of solves that converged: those in L2 for each degree if degrees have several meshes, else all.
    pub fn chart(&self, title: String) -> Chart {
        const L2: fn(&Run) -> Option<f64> = |run| run.solve.l2_error;
        let series = |label: String, runs: &[Run], error: fn(&Run) -> Option<f64>| {
            let converged = runs.iter().filter(|run| run.solve.converged);
            let points = converged.filter_map(|run| Some((run.solve.dofs as f64, error(run)?))).collect();
            Series { label, points }
        };
        let degrees: Vec<&[Run]> = self.runs.chunk_by(|a, b| a.solve.degree == b.solve.degree).collect();
        let are_by_degree = degrees.len() > 1 && degrees.iter().any(|runs| runs.len() > 1);
        let (y_label, mut series): (_, Vec<_>) = if are_by_degree {
            let of_degree = |runs: &&[Run]| series(format!("degree {}", runs[0].solve.degree), runs, L2);
            ("L2 error", degrees.iter().map(of_degree).collect())
        } else {
            let errors: [(_, fn(&Run) -> _); 3] =
                [("L2", L2), ("H1", |run| run.solve.h1_error), ("pressure, L2", Run::l2_error_p)];
            ("error", errors.map(|(label, error)| series(label.into(), &self.runs, error)).into())
        };
        series.retain(|series| !series.points.is_empty());
        Chart { title, x_label: "unknowns".into(), y_label: y_label.into(), x_scale: Scale::Log, series, line: None }
    }
}
