//! Data of problems on forests, as expressions.

use crate::args::CaseArgs;
use crate::expression::Expression;
use crate::failure::Failure;
use glam::DVec3;
use patchmg::Error;
use patchmg::forest::CoarseMesh;
use patchmg::problem::{ExactSolution, Field};
use patchmg::system::elliptic::{Diffusion, EllipticProblem, Equation, SharedField};
use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

/// The problem whose data are these.
pub const GIVEN: &str = "given";

/// The right-hand side, the coefficient, the boundary values and the solution.
#[derive(Clone, Debug, clap::Args)]
pub struct DataArgs {
    /// Of given: f, of x, y and z by + - * / ^, sin, cos, tan, exp, log, sqrt, abs, min, max, atan2 and pi, for example
    /// "exp(x) * sin(3 * pi * y)". [default: 0]
    #[arg(long, value_name = "EXPR", allow_hyphen_values = true)]
    pub rhs: Option<Expression>,
    /// Of given: the coefficient, positive, for example "1 + 10 * x^2". [default: 1]
    #[arg(long, value_name = "EXPR", allow_hyphen_values = true)]
    pub coefficient: Option<Expression>,
    /// Of given: u on boundaries without a --side, for example "min(x, y)". [default: --exact, or else 0]
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

/// That an expression knows no third coordinate in 2D.
pub fn check_dim(option: &str, value: impl std::fmt::Display, of: &Expression, dim: usize) -> Result<(), Failure> {
    match of.is_of(dim) {
        true => Ok(()),
        false => Err(Failure::usage(option, value, format_args!("has z, must be of x and y in {dim}D"))),
    }
}

/// A solution, and the first point and value that was not finite.
#[derive(Debug)]
pub struct Exact {
    expression: Expression,
    not_finite: OnceLock<(DVec3, f64)>,
}

impl Exact {
    fn check(&self, point: DVec3, value: f64) {
        if !value.is_finite() {
            self.not_finite.get_or_init(|| (point, value));
        }
    }

    /// That it was finite so far.
    pub fn checked(&self) -> patchmg::Result<()> {
        let what = "the exact solution or its gradient";
        let error = |&(point, value): &(DVec3, f64)| Error::NotFinite { what, value, place: point.to_string() };
        self.not_finite.get().map_or(Ok(()), |found| Err(error(found)))
    }
}

impl Field for Exact {
    fn value(&self, point: DVec3) -> f64 {
        let value = self.expression.value(point.into());
        self.check(point, value);
        value
    }
}

impl ExactSolution for Exact {
    fn gradient(&self, point: DVec3) -> DVec3 {
        let gradient = self.expression.gradient(point.into());
        gradient.into_iter().for_each(|derivative| self.check(point, derivative));
        gradient.into()
    }
}

/// Numbers of a mesh's boundaries.
pub fn boundaries(mesh: &CoarseMesh) -> BTreeSet<u32> {
    let faces = (0..mesh.cells()).flat_map(|cell| (0..2 * mesh.dim()).map(move |face| (cell, face)));
    faces.filter_map(|(cell, face)| mesh.boundary(cell, face)).collect()
}

impl CaseArgs {
    /// Whether the problem is that of the expressions.
    pub(super) fn is_given(&self) -> bool {
        let has_data = self.forest.data.expressions().next().is_some();
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
        let has_side = |number: &u32| self.forest.side.iter().any(|side| side.number() == *number);
        match &self.forest.data.boundary {
            Some(values) if boundaries(mesh).iter().all(has_side) => {
                Err(Failure::usage("boundary", values, "each boundary has a --side, there must be one without"))
            }
            _ => Ok(()),
        }
    }

    /// Makes the data part of a problem; the solution, if it is known.
    pub(super) fn apply_data(
        &self,
        mesh: &CoarseMesh,
        equation: &mut Equation,
        problem: &mut EllipticProblem,
    ) -> Option<Arc<Exact>> {
        let DataArgs { rhs, coefficient, boundary, exact } = self.forest.data.clone();
        if let Some(rhs) = &rhs {
            problem.right_hand_side = field(rhs);
        }
        if let Some(coefficient) = coefficient {
            equation.diffusion = Diffusion::scalar(move |point| coefficient.value(point.into()));
        }
        if let Some(values) = boundary.as_ref().or(exact.as_ref()) {
            for number in boundaries(mesh).difference(&equation.natural) {
                problem.values.entry(*number).or_insert_with(|| field(values));
            }
        }
        let exact = exact.map(|expression| Arc::new(Exact { expression, not_finite: OnceLock::new() }));
        problem.exact = exact.clone().map(|exact| exact as _);
        exact
    }
}
