//! The Stokes equations.

use super::{Details, Offered};
use crate::args::{CaseArgs, number, whole};
use crate::failure::Failure;
use clap::Args;
use patchmg::multigrid::SmootherConfig;
use patchmg::output::vtu;
use patchmg::solve::{Case, Config};
use patchmg::system::Stokes;
use patchmg::system::stokes::{Flow, FlowErrors, LocalSolver, Problem, Vortex};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Basis vectors of GMRES unless told otherwise: with elements of degree 1 iterations grow with the level.
const RESTART: usize = 30;

/// The Stokes equations, `s u - nu Laplace(u) + grad(p) = f`, `div(u) = 0`.
#[derive(Clone, Debug, Args, Serialize)]
#[serde(rename_all = "kebab-case")]
#[command(next_help_heading = "Stokes equations")]
pub struct FlowArgs {
    /// Viscosity nu, above 0 [default: 1]
    #[arg(long, value_name = "NU", value_parser = number, allow_hyphen_values = true)]
    pub nu: Option<f64>,
    /// Factor s of the velocity, at least 0: 1 / dt for a step in time [default: 0]
    #[arg(long, value_name = "S", value_parser = number, allow_hyphen_values = true)]
    pub mass: Option<f64>,
    /// Steps of conjugate gradients of --local schur-cg, 1 to 1000 [default: 15]
    #[arg(long, value_name = "N", value_parser = whole, allow_hyphen_values = true)]
    pub local_steps: Option<usize>,
    /// Middle of the vortices of --problem paper2 [default: 0.5]
    #[arg(long, value_name = "MU", value_parser = number, allow_hyphen_values = true)]
    pub mu: Option<f64>,
    /// Their width, above 0 [default: 1]
    #[arg(long, value_name = "SIGMA", value_parser = number, allow_hyphen_values = true)]
    pub sigma: Option<f64>,
}

/// What the Stokes equations have; none of them of other systems.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FlowParameters {
    /// Viscosity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nu: Option<f64>,
    /// Factor `s` of the velocity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mass: Option<f64>,
    /// Middle of the vortices of `paper2`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mu: Option<f64>,
    /// Their width.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sigma: Option<f64>,
    /// Steps of conjugate gradients on each patch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local_steps: Option<usize>,
}

impl Offered for Problem {
    const PROBLEMS: &'static [(&'static str, &'static str)] = &[
        (
            "paper2",
            "stokes: vortices that vanish on the boundary, equations 11 to 13 of the paper, with --mu and --sigma",
        ),
        ("cavity", "stokes: the driven cavity, the upper wall of the last direction moving in x with velocity 1"),
        (
            "taylor-green",
            "stokes: steady vortices that turn along the boundary, in 2D the curl of sin(pi x / size_x) sin(pi y / size_y) / pi",
        ),
    ];
    const WITH_SOLUTION: &'static str = "paper2 or taylor-green";
    const DEFAULT: &'static str = "paper2";
    const ELEMENTS: &'static str = "RT";

    /// The library says which values are not allowed; here, which options do not go together.
    fn case(args: &CaseArgs) -> Result<Case<Self>, Failure> {
        let engine = args.products.engine.map(|engine| ("engine", engine.to_string()));
        let mut given = args.kernel_options().into_iter().chain(engine);
        if let Some((option, value)) = given.find(|(option, _)| *option != "local") {
            return Err(Failure::usage(option, value, format_args!("is not there with --system {}", args.system)));
        }
        let default = Vortex::default();
        let vortex = Vortex { mu: args.flow.mu.unwrap_or(default.mu), sigma: args.flow.sigma.unwrap_or(default.sigma) };
        let problem = match args.problem_of::<Self>()? {
            "cavity" => Self::Cavity,
            "taylor-green" => Self::TaylorGreen,
            _ => Self::Vortex(vortex),
        };
        let of_vortex = args.flow_options().into_iter().find(|(option, _)| ["mu", "sigma"].contains(option));
        if let (Some((option, value)), false) = (of_vortex, matches!(problem, Self::Vortex(_))) {
            let reason = format_args!("belongs to --problem paper2, and --problem is {}", problem.name());
            return Err(Failure::usage(option, value, reason));
        }
        let system = Stokes::new(args.mesh()?, args.degree())?
            .with_viscosity(args.flow.nu.unwrap_or(1.0))?
            .with_mass(args.flow.mass.unwrap_or(0.0))?
            .with_local_solver(args.local_solver()?)?;
        let config = args.config(SmootherConfig::Patch)?;
        Ok(Case { system, problem, config: Config { restart: args.restart.unwrap_or(RESTART), ..config } })
    }

    fn kernels(case: &Case<Self>) -> String {
        let local_solver = case.system.local_solver();
        let steps = match local_solver {
            _ if case.config.smoother != SmootherConfig::Patch => return String::new(),
            LocalSolver::SchurCg { steps: 1 } => ", 1 step".into(),
            LocalSolver::SchurCg { steps } => format!(", {steps} steps"),
            LocalSolver::Exact | LocalSolver::Inverse => String::new(),
        };
        format!(": residual of all dofs, then local solver {local_solver}{steps}")
    }

    fn knows_solution(case: &Case<Self>) -> bool {
        !matches!(case.problem, Self::Cavity)
    }

    fn fill(case: &Case<Self>, args: &mut CaseArgs) {
        let FlowParameters { nu, mass, mu, sigma, local_steps } = Self::details(case, None).flow;
        args.flow = FlowArgs { nu, mass, local_steps, mu, sigma };
        args.local = Some(case.system.local_solver().name().into());
    }

    fn details(case: &Case<Self>, errors: Option<FlowErrors>) -> Details {
        let velocity = errors.and_then(|errors| errors.velocity);
        let vortex = if let Self::Vortex(vortex) = case.problem { Some(vortex) } else { None };
        Details {
            flow: FlowParameters {
                nu: Some(case.system.viscosity()),
                mass: Some(case.system.mass()),
                mu: vortex.map(|vortex| vortex.mu),
                sigma: vortex.map(|vortex| vortex.sigma),
                local_steps: match case.system.local_solver() {
                    LocalSolver::SchurCg { steps } => Some(steps),
                    LocalSolver::Exact | LocalSolver::Inverse => None,
                },
            },
            kernel: "global".into(),
            variant: "basic".into(),
            local: case.system.local_solver().to_string(),
            products: None,
            l2_error: velocity.map(|errors| errors.l2),
            h1_error: velocity.map(|errors| errors.h1),
            l2_error_p: Some(errors.and_then(|errors| errors.pressure_l2)),
            div_max: errors.map(|errors| errors.largest_divergence),
            ..Details::default()
        }
    }

    fn most_vtu_bytes(case: &Case<Self>, config: &vtu::Config) -> Result<[u64; 2], Failure> {
        Ok(case.system.most_vtu_bytes(config)?)
    }

    fn is_finite(flow: &Flow) -> bool {
        flow.velocity()
            .iter()
            .chain([flow.pressure()])
            .all(|function| function.values().iter().all(|value| value.is_finite()))
    }

    fn write_vtu(&self, flow: &Flow, path: &Path, config: &vtu::Config) -> Result<(), Failure> {
        Ok(flow.write_vtu(path, config)?)
    }

    fn write_npz(flow: &Flow, path: &Path) -> patchmg::Result<()> {
        flow.write_npz(path)
    }

    fn read_npz(case: &Case<Self>, path: &Path) -> patchmg::Result<Vec<f64>> {
        case.system.vector_of(&Flow::read_npz(&case.system, path)?)
    }
}

impl CaseArgs {
    /// Options of the Stokes equations that were given, with their values.
    pub(super) fn flow_options(&self) -> Vec<(&'static str, String)> {
        let given = [("nu", self.flow.nu), ("mass", self.flow.mass), ("mu", self.flow.mu), ("sigma", self.flow.sigma)];
        let given = given.into_iter().filter_map(|(option, value)| Some((option, format!("{:?}", value?))));
        given.chain(self.flow.local_steps.map(|steps| ("local-steps", steps.to_string()))).collect()
    }

    /// The solver on patches.
    fn local_solver(&self) -> Result<LocalSolver, Failure> {
        let local = match self.local.as_deref() {
            // The name of a solver of Poisson's equation alone is not one of the library's.
            Some(name) => name.parse().map_err(|_| {
                let names = LocalSolver::ALL.map(LocalSolver::name).join(", ");
                Failure::usage("local", name, format_args!("must be one of {names} with --system {}", self.system))
            })?,
            None => LocalSolver::default(),
        };
        match (local, self.flow.local_steps) {
            (local, None) => Ok(local),
            (LocalSolver::SchurCg { .. }, Some(steps)) => Ok(LocalSolver::SchurCg { steps }),
            (local, Some(steps)) => {
                let reason = format_args!("belongs to --local schur-cg, and --local is {local}");
                Err(Failure::usage("local-steps", steps, reason))
            }
        }
    }
}
