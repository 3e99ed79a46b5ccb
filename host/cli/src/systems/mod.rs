//! The systems that the program offers. A system is a module here, a name, and a line of [`with_system!`].

mod box_args;
mod data;
mod elliptic;
mod forest_args;
mod forest_mesh;
mod poisson;
mod separable;
mod side;
mod stokes;

use crate::args::{CaseArgs, written};
use crate::failure::Failure;
use crate::report::CycleReport;
pub use box_args::BoxArgs;
use clap::ValueEnum;
use data::GIVEN;
pub use elliptic::ForestProblem;
pub use forest_args::ForestArgs;
use patchmg::Error;
use patchmg::output::vtu;
use patchmg::solve::{Case, Method, Report};
use patchmg::system::{ModelProblem, System};
pub use poisson::{PoissonProblem, ProductArgs};
use std::fmt;
use std::path::{Path, PathBuf};
pub use stokes::{FlowArgs, FlowParameters};

/// Equation and discretization.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum SystemName {
    /// Poisson's equation, continuous elements
    #[default]
    PoissonCg,
    /// Poisson's equation, discontinuous elements, symmetric interior penalty
    PoissonDg,
    /// The Stokes equations, Raviart-Thomas elements: velocities are divergence-free in every point
    Stokes,
    /// Elliptic equations with coefficients, continuous elements on meshes that are refined where it matters
    Elliptic,
}

/// As on the command line and in results.
impl fmt::Display for SystemName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.to_possible_value().expect("no system is hidden");
        f.write_str(value.get_name())
    }
}

written!(SystemName);

/// Systems of the library: options choose between two of them for `poisson-cg` and `poisson-dg`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `-Δu = f` on equal cells, by kernels of its own.
    Poisson,
    /// With coefficients, conditions on sides and graded cells.
    Separable,
    Stokes,
    Elliptic,
}

/// An expression with `$problem` as the type of a system's model problems.
macro_rules! with_system {
    ($kind:expr, $problem:ident => $run:expr) => {
        match $kind {
            $crate::systems::Kind::Poisson => {
                type $problem = $crate::systems::PoissonProblem;
                $run
            }
            $crate::systems::Kind::Separable => {
                type $problem = patchmg::system::separable::Problem;
                $run
            }
            $crate::systems::Kind::Stokes => {
                type $problem = patchmg::system::stokes::Problem;
                $run
            }
            $crate::systems::Kind::Elliptic => {
                type $problem = $crate::systems::ForestProblem;
                $run
            }
        }
    };
}

pub(crate) use with_system;

impl CaseArgs {
    /// The library's system.
    pub fn kind(&self) -> Kind {
        match self.system {
            SystemName::PoissonCg | SystemName::PoissonDg if self.needs_general_box() => Kind::Separable,
            SystemName::PoissonCg | SystemName::PoissonDg => Kind::Poisson,
            SystemName::Stokes => Kind::Stokes,
            SystemName::Elliptic => Kind::Elliptic,
        }
    }

    /// The problem that was given, or that of the system.
    pub fn problem_name(&self) -> &str {
        let by_default = || match self.system {
            SystemName::Elliptic => self.forest_problem(),
            SystemName::Stokes => patchmg::system::stokes::Problem::DEFAULT,
            SystemName::PoissonCg | SystemName::PoissonDg if self.is_given() => GIVEN,
            SystemName::PoissonCg | SystemName::PoissonDg => PoissonProblem::DEFAULT,
        };
        self.problem.as_deref().unwrap_or_else(by_default)
    }

    /// The tolerance that was given, or that of the problem: a correction of Newton's needs few digits.
    pub fn rtol(&self) -> f64 {
        self.rtol.unwrap_or(if self.is_nonlinear() { 1e-4 } else { 1e-9 })
    }

    /// Where the residuals that are shown end, about.
    pub fn last_residual(&self) -> f64 {
        if self.is_nonlinear() { 1e-12 } else { self.rtol() }
    }

    /// The solver that was given, or that of the system.
    pub fn method(&self) -> Method {
        self.solver.unwrap_or_else(|| with_system!(self.kind(), Problem => Problem::SOLVER))
    }

    /// That no option of another system was given.
    pub fn check_options(&self) -> Result<(), Failure> {
        use SystemName::{Elliptic, PoissonCg, PoissonDg, Stokes};
        let data = self.forest.data.expressions().map(|(option, expression)| (option, expression.to_string()));
        let (coefficient, data): (Vec<_>, Vec<_>) = data.partition(|(option, _)| *option == "coefficient");
        let sides = self.forest.side.first().map(|side| ("side", side.to_string()));
        let of_others = [
            (&[Stokes][..], self.flow_options()),
            (&[Elliptic], self.forest_options().into_iter().chain(coefficient).collect()),
            (&[PoissonCg, PoissonDg, Elliptic], data),
            (&[PoissonCg, PoissonDg, Elliptic], sides.into_iter().collect()),
            (&[PoissonCg, PoissonDg], self.boxes.given()),
        ];
        for (systems, options) in of_others.into_iter().filter(|(systems, _)| !systems.contains(&self.system)) {
            if let Some((option, value)) = options.first() {
                let systems: Vec<_> = systems.iter().map(SystemName::to_string).collect();
                let reason =
                    format_args!("belongs to --system {}, and --system is {}", systems.join(", "), self.system);
                return Err(Failure::usage(option, value, reason));
            }
        }
        Ok(())
    }

    /// The same, if it is one of the system's.
    fn problem_of<P: Offered>(&self) -> Result<&str, Failure> {
        let (name, names) = (self.problem_name(), P::PROBLEMS.iter().map(|(name, _)| *name).collect::<Vec<_>>());
        if names.contains(&name) {
            return Ok(name);
        }
        let (last, others) = names.split_last().expect("every system has a problem");
        let reason = format_args!("must be {} or {last} with --system {}", others.join(", "), self.system);
        Err(Failure::usage("problem", name, reason))
    }

    /// The solution in the file of `--start-from`, in the order of the system's vectors.
    pub(crate) fn start<P: Offered>(&self, case: &Case<P>) -> Result<Option<Vec<f64>>, Failure> {
        let read = |path: &PathBuf| match P::read_npz(case, path) {
            Ok(values) => Ok(values),
            Err(Error::SolutionFile { path, what, found, allowed }) => Err(Failure::usage(
                "start-from",
                path.display(),
                format_args!("{what} is {found}, but must be {allowed}"),
            )),
            Err(Error::Io { path, source }) => Err(Failure::usage("start-from", path.display(), source)),
            Err(other) => Err(other.into()),
        };
        self.start_from.as_ref().map(read).transpose()
    }

    /// The elements, as a person reads it.
    pub fn elements(&self) -> String {
        format!("{}{}", with_system!(self.kind(), Problem => Problem::ELEMENTS), self.degree)
    }
}

/// Model problems of all systems, each with what it is.
pub fn problems() -> impl Iterator<Item = (&'static str, &'static str)> {
    let mut problems: Vec<(&str, &str)> = Vec::new();
    for kind in [Kind::Poisson, Kind::Separable, Kind::Stokes, Kind::Elliptic] {
        for problem in with_system!(kind, Problem => Problem::PROBLEMS) {
            if !problems.iter().any(|(name, _)| *name == problem.0) {
                problems.push(*problem);
            }
        }
    }
    problems.into_iter()
}

/// What the program says of a system's model problems, and what its options mean to them.
pub trait Offered: ModelProblem {
    /// Names on the command line, at least two, each with what it is.
    const PROBLEMS: &'static [(&'static str, &'static str)];

    /// Those of them whose solution is known.
    const WITH_SOLUTION: &'static str;

    /// The one that is taken where none is given.
    const DEFAULT: &'static str;

    /// The solver that is taken where none is given.
    const SOLVER: Method = Method::Fmg;

    /// The elements' name before their degree.
    const ELEMENTS: &'static str;

    /// Whether a next mesh may depend on the errors and on the solution.
    const ADAPTS: bool = false;

    /// The case that the arguments describe.
    fn case(args: &CaseArgs) -> Result<Case<Self>, Failure>;

    /// An error of the library, in the options that it is about.
    fn refused(_args: &CaseArgs, error: Error) -> Failure {
        error.into()
    }

    /// The smoother's kernels, to follow its name.
    fn kernels(case: &Case<Self>) -> String;

    /// The smoother's name and its kernels.
    fn smoother_in_words(case: &Case<Self>) -> String {
        format!("{}{}", case.config.smoother.name(), Self::kernels(case))
    }

    /// Whether the solution is known, so that its errors can be computed.
    fn knows_solution(case: &Case<Self>) -> bool;

    /// Makes what the case takes where nothing was given part of the arguments.
    fn fill(case: &Case<Self>, args: &mut CaseArgs);

    /// What results have of the case and of its solution's errors.
    fn details(case: &Case<Self>, errors: Option<Self::Errors>) -> Details;

    /// Bytes of the solution's VTU file, and of the host's memory while it is written, both at most.
    fn most_vtu_bytes(case: &Case<Self>, config: &vtu::Config) -> Result<[u64; 2], Failure>;

    /// Whether all values of a solution are finite.
    fn is_finite(solution: &<Self::System as System>::Solution) -> bool;

    /// What is noted down of a cycle, if a system refines its mesh where it matters.
    fn cycle(_case: &Case<Self>, _report: &Report<Self::Errors>) -> Option<CycleReport> {
        None
    }

    /// The case on the next mesh, after so many meshes, if there is to be one.
    fn adapted(
        _args: &CaseArgs,
        _case: &Case<Self>,
        _report: &Report<Self::Errors>,
        _cycle: usize,
    ) -> Result<Option<Case<Self>>, Failure> {
        Ok(None)
    }

    /// What the solve on the next mesh begins with, if not with what its method begins with: the solution on the last one, there.
    fn guess(
        _args: &CaseArgs,
        _next: &Case<Self>,
        _solution: &<Self::System as System>::Solution,
    ) -> Result<Option<Vec<f64>>, Failure> {
        Ok(None)
    }

    /// Writes a solution for ParaView, and its error where it is known.
    fn write_vtu(
        &self,
        solution: &<Self::System as System>::Solution,
        path: &Path,
        config: &vtu::Config,
    ) -> Result<(), Failure>;

    /// Writes a solution for NumPy.
    fn write_npz(solution: &<Self::System as System>::Solution, path: &Path) -> patchmg::Result<()>;

    /// A solution that [`Self::write_npz`] wrote, in the order of the system's vectors, to begin with.
    fn read_npz(case: &Case<Self>, path: &Path) -> patchmg::Result<Vec<f64>>;
}

/// Fields of [`SolveReport`](crate::report::SolveReport) that a system fills in.
#[derive(Default)]
pub struct Details {
    pub flow: FlowParameters,
    pub kernel: String,
    pub variant: String,
    pub local: String,
    pub products: Option<String>,
    pub l2_error: Option<f64>,
    pub h1_error: Option<f64>,
    pub l2_error_p: Option<Option<f64>>,
    pub div_max: Option<f64>,
    pub area: Option<f64>,
}
