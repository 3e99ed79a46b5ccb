//! Data of problems, as expressions.

use crate::args::CaseArgs;
use crate::expression::Expression;
use crate::failure::Failure;
use patchmg::forest::CoarseMesh;
use patchmg::system::elliptic::{Diffusion, EllipticProblem, Equation, SharedField};
use std::sync::Arc;

/// The problem whose data are these.
pub const GIVEN: &str = "given";

/// The right-hand side, the coefficient, the boundary values and the solution.
#[derive(Clone, Debug, clap::Args, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
#[command(next_help_heading = "Data")]
pub struct DataArgs {
    /// Of given: f, of x, y and z by + - * / ^, sin, cos, tan, exp, log, sqrt, abs, min, max, atan2 and pi, for example
    /// "exp(x) * sin(3 * pi * y)" [default: 0]
    #[arg(long, value_name = "EXPR", allow_hyphen_values = true)]
    pub rhs: Option<Expression>,
    /// Of given with --system elliptic: the coefficient, positive, for example "1 + 10 * x^2" [default: 1]
    #[arg(long, value_name = "EXPR", allow_hyphen_values = true)]
    pub coefficient: Option<Expression>,
    /// Of given: u on sides without a --side, for example "min(x, y)" [default: --exact, or else 0]
    #[arg(long, value_name = "EXPR", allow_hyphen_values = true)]
    pub boundary: Option<Expression>,
    /// Of given: the solution, to which errors are computed.
    #[arg(long, value_name = "EXPR", allow_hyphen_values = true)]
    pub exact: Option<Expression>,
}

impl DataArgs {
    /// Those that were given, with their names.
    pub fn expressions(&self) -> impl Iterator<Item = (&'static str, &Expression)> {
        let Self { rhs, coefficient, boundary, exact } = self;
        let all = [("rhs", rhs), ("coefficient", coefficient), ("boundary", boundary), ("exact", exact)];
        all.into_iter().filter_map(|(option, expression)| Some((option, expression.as_ref()?)))
    }
}

/// A function of the library.
pub fn field(expression: &Expression) -> SharedField {
    let expression = expression.clone();
    Arc::new(move |point| expression.value(point.into()))
}

/// Refuses z in 2D.
pub fn check_dim(option: &str, value: impl std::fmt::Display, of: &Expression, dim: usize) -> Result<(), Failure> {
    match of.is_of(dim) {
        true => Ok(()),
        false => Err(Failure::usage(option, value, format_args!("has z, must be of x and y in {dim}D"))),
    }
}

impl CaseArgs {
    /// Whether expressions give the problem.
    pub(super) fn is_given(&self) -> bool {
        let has_sides = !self.forest.side.is_empty() && !self.is_on_forest();
        let has_data = self.forest.data.expressions().next().is_some() || has_sides;
        self.problem.as_deref().map_or(has_data, |problem| problem == GIVEN)
    }

    /// That the problem has no data of its own, and that a boundary is left for what --boundary says.
    pub(super) fn check_data(&self, mesh: &CoarseMesh) -> Result<(), Failure> {
        for (option, expression) in self.forest.data.expressions() {
            if !self.is_given() {
                let reason = format_args!("belongs to --problem {GIVEN}, and --problem is {}", self.problem_name());
                return Err(Failure::usage(option, expression, reason));
            }
            check_dim(option, expression, expression, mesh.dim())?;
        }
        let has_side = |number: &u32| self.forest.side.iter().any(|side| side.number() == Some(*number));
        match &self.forest.data.boundary {
            Some(values) if mesh.boundary_numbers().iter().all(has_side) => {
                Err(Failure::usage("boundary", values, "each boundary has a --side, there must be one without"))
            }
            _ => Ok(()),
        }
    }

    /// Makes the data part of a problem.
    pub(super) fn apply_data(&self, mesh: &CoarseMesh, equation: &mut Equation, problem: &mut EllipticProblem) {
        let DataArgs { rhs, coefficient, boundary, exact } = self.forest.data.clone();
        if let Some(rhs) = &rhs {
            problem.right_hand_side = field(rhs);
        }
        if let Some(coefficient) = coefficient {
            equation.diffusion = Diffusion::scalar(move |point| coefficient.value(point.into()));
        }
        if let Some(values) = boundary.as_ref().or(exact.as_ref()) {
            for number in mesh.boundary_numbers().difference(&equation.natural) {
                problem.values.entry(*number).or_insert_with(|| field(values));
            }
        }
        problem.exact = exact.map(|exact| Arc::new(exact) as _);
    }
}
