//! The systems that the program offers. A system is a module here, a name, and a line of [`with_system!`].

mod poisson;
mod stokes;

use crate::args::CaseArgs;
use crate::failure::Failure;
use crate::report::FlowParameters;
use clap::ValueEnum;
use patchmg::Error;
use patchmg::solve::Case;
use patchmg::system::{ModelProblem, System};
use std::fmt;
use std::path::Path;

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
}

/// As on the command line and in results.
impl fmt::Display for SystemName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.to_possible_value().expect("no system is hidden");
        f.write_str(value.get_name())
    }
}

/// A model problem's name on the command line; every system has some of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ProblemName {
    /// f = 1, u = 0 on the boundary
    One,
    /// f such that u = prod_i sin(pi x_i / size_i)
    Sine,
    /// f and boundary values such that u = prod_i cos(pi x_i / size_i); poisson-dg alone
    Cosine,
    /// stokes: vortices that vanish on the boundary, equations 11 to 13 of the paper, with --mu and --sigma
    Paper2,
    /// stokes: the driven cavity, the upper wall of the last direction moving in x with velocity 1
    Cavity,
    /// stokes: steady vortices that turn along the boundary, in 2D the curl of sin(pi x / size_x) sin(pi y / size_y) / pi
    TaylorGreen,
}

/// As on the command line and in results.
impl fmt::Display for ProblemName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.to_possible_value().expect("no problem is hidden");
        f.write_str(value.get_name())
    }
}

impl CaseArgs {
    /// The problem that was given, or that of the system.
    pub fn problem_name(&self) -> ProblemName {
        self.problem.unwrap_or(match self.system {
            SystemName::PoissonCg | SystemName::PoissonDg => ProblemName::Sine,
            SystemName::Stokes => ProblemName::Paper2,
        })
    }

    /// The elements, as a person reads it.
    pub fn elements(&self) -> String {
        match self.system {
            SystemName::PoissonCg | SystemName::PoissonDg => format!("Q{}", self.degree),
            SystemName::Stokes => format!("RT{}", self.degree),
        }
    }
}

impl ProblemName {
    /// Refuses a problem of other systems.
    fn refused(self, system: SystemName, allowed: &str) -> Failure {
        Failure::usage("problem", self, format_args!("must be {allowed} with --system {system}"))
    }
}

/// An expression with `$problem` as the type of a system's model problems.
macro_rules! with_system {
    ($name:expr, $problem:ident => $run:expr) => {
        match $name {
            $crate::systems::SystemName::PoissonCg | $crate::systems::SystemName::PoissonDg => {
                type $problem = patchmg::system::poisson::Problem;
                $run
            }
            $crate::systems::SystemName::Stokes => {
                type $problem = patchmg::system::stokes::Problem;
                $run
            }
        }
    };
}

pub(crate) use with_system;

/// What the program says of a system's model problems, and what its options mean to them.
pub trait Offered: ModelProblem {
    /// The case that the arguments describe.
    fn case(args: &CaseArgs) -> Result<Case<Self>, Failure>;

    /// An error of the library, in the options that it is about.
    fn refused(_args: &CaseArgs, error: Error) -> Failure {
        error.into()
    }

    /// The smoother's kernels, to follow its name.
    fn kernels(args: &CaseArgs, system: &Self::System) -> String;

    /// What results have of the case and of its solution's errors.
    fn details(case: &Case<Self>, errors: Option<Self::Errors>) -> Details;

    /// Bytes of the solution's VTU file, and of the host's memory while it is written.
    fn vtu_bytes(case: &Case<Self>) -> Result<[u64; 2], Failure>;

    /// Whether all values of a solution are finite.
    fn is_finite(solution: &<Self::System as System>::Solution) -> bool;

    /// Writes a solution for ParaView, and its error where it is known.
    fn write_vtu(&self, solution: &<Self::System as System>::Solution, path: &Path) -> Result<(), Failure>;
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
}
