//! The Stokes equations.

use super::{Details, Offered, ProblemName};
use crate::args::{CaseArgs, Smoother};
use crate::choices::EXACT_SCHUR;
use crate::failure::Failure;
use crate::report::FlowParameters;
use patchmg::solve::{Case, Config};
use patchmg::system::Stokes;
use patchmg::system::stokes::{Flow, FlowErrors, Problem, Vortex};
use std::path::Path;

/// Basis vectors of GMRES unless told otherwise: with elements of degree 1 iterations grow with the level.
const RESTART: usize = 30;

impl Offered for Problem {
    /// The library says which values are not allowed; here, which options do not go together.
    fn case(args: &CaseArgs) -> Result<Case<Self>, Failure> {
        let engine = args.products.engine.map(|engine| ("engine", engine.to_string()));
        let mut given = args.kernel_options().into_iter().chain(engine);
        if let Some((option, value)) = given.find(|(option, value)| (*option, value.as_str()) != ("local", EXACT_SCHUR))
        {
            let reason = if option == "local" { "must be exact" } else { "is not there" };
            return Err(Failure::usage(option, value, format_args!("{reason} with --system {}", args.system)));
        }
        let default = Vortex::default();
        let vortex = Vortex { mu: args.flow.mu.unwrap_or(default.mu), sigma: args.flow.sigma.unwrap_or(default.sigma) };
        let problem = match args.problem_name() {
            ProblemName::Paper2 => Self::Vortex(vortex),
            ProblemName::Cavity => Self::Cavity,
            ProblemName::TaylorGreen => Self::TaylorGreen,
            other => return Err(other.refused(args.system, "paper2, cavity or taylor-green")),
        };
        let of_vortex = args.flow_options().into_iter().find(|(option, _)| ["mu", "sigma"].contains(option));
        if let (Some((option, value)), false) = (of_vortex, matches!(problem, Self::Vortex(_))) {
            let reason = format_args!("belongs to --problem paper2, and --problem is {}", problem.name());
            return Err(Failure::usage(option, value, reason));
        }
        let system = Stokes::new(args.mesh()?, args.degree)?
            .with_viscosity(args.flow.nu.unwrap_or(1.0))?
            .with_mass(args.flow.mass.unwrap_or(0.0))?;
        let config = args.config()?;
        Ok(Case { system, problem, config: Config { restart: args.restart.unwrap_or(RESTART), ..config } })
    }

    fn kernels(args: &CaseArgs, _system: &Stokes) -> String {
        if args.smoother == Smoother::Patch {
            ": residual of all dofs, then local solver exact".into()
        } else {
            String::new()
        }
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
            },
            kernel: "global".into(),
            variant: "basic".into(),
            local: EXACT_SCHUR.into(),
            products: None,
            l2_error: velocity.map(|errors| errors.l2),
            h1_error: velocity.map(|errors| errors.h1),
            l2_error_p: Some(errors.and_then(|errors| errors.pressure_l2)),
            div_max: errors.map(|errors| errors.largest_divergence),
        }
    }

    fn vtu_bytes(case: &Case<Self>) -> Result<[u64; 2], Failure> {
        Ok(case.system.vtu_bytes()?)
    }

    fn is_finite(flow: &Flow) -> bool {
        flow.velocity()
            .iter()
            .chain([flow.pressure()])
            .all(|function| function.values().iter().all(|value| value.is_finite()))
    }

    fn write_vtu(&self, flow: &Flow, path: &Path) -> Result<(), Failure> {
        Ok(flow.write_vtu(path)?)
    }
}

impl CaseArgs {
    /// Options of the Stokes equations that were given, with their values.
    pub(super) fn flow_options(&self) -> Vec<(&'static str, String)> {
        let given = [("nu", self.flow.nu), ("mass", self.flow.mass), ("mu", self.flow.mu), ("sigma", self.flow.sigma)];
        given.into_iter().filter_map(|(option, value)| Some((option, format!("{:?}", value?)))).collect()
    }
}
