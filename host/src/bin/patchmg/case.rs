//! The model problem that the arguments describe.

use crate::args::{self, CaseArgs};
use crate::failure::Failure;
use patchmg::Error;
use patchmg::backend::{DeviceInfo, LocalSolver, PatchKernel, Structure, ThreadStructure, Variant};
use patchmg::krylov::Stopping;
use patchmg::multigrid::SmootherConfig;
use patchmg::output::table::bytes;
use patchmg::problem::Problem;
use patchmg::solve::{Case, Config, Method, Precision};

impl CaseArgs {
    /// The library says which values are not allowed; here, which options do not go together.
    pub fn model(&self) -> Result<Case, Failure> {
        let method = match self.solver {
            args::Solver::Fmg => Method::Fmg,
            args::Solver::Vcycle => Method::VCycle,
            args::Solver::Gmres => Method::Gmres,
            args::Solver::Fgmres => Method::Fgmres,
            args::Solver::Cg => Method::Cg,
        };
        let precision = match self.precision {
            args::Precision::F64 => Precision::F64,
            args::Precision::F32 => Precision::F32,
            args::Precision::Mixed => Precision::Mixed,
        };
        let problem = match self.problem {
            args::Problem::One => Problem::One,
            args::Problem::Sine => Problem::Sine,
        };
        let stopping = Stopping { rtol: self.rtol, max_iters: self.max_iters };
        let config = Config { method, precision, smoother: self.smoother()?, stopping, ..Config::default() };
        Ok(Case { dim: self.dim, degree: self.degree, refine: self.refine, problem, config })
    }

    fn smoother(&self) -> Result<SmootherConfig, Failure> {
        let mut smoother = match self.smoother {
            args::Smoother::Patch => SmootherConfig::Patch(self.patch_kernel()),
            args::Smoother::AdditivePatch => SmootherConfig::additive_patch(self.dim),
            args::Smoother::PointGs => SmootherConfig::PointGaussSeidel,
            args::Smoother::Jacobi => SmootherConfig::jacobi(),
            args::Smoother::Chebyshev => SmootherConfig::chebyshev(),
        };
        if let Some(given) = self.damping {
            match &mut smoother {
                SmootherConfig::AdditivePatch { damping } | SmootherConfig::Jacobi { damping } => *damping = given,
                _ => {
                    let reason =
                        format_args!("--smoother {} is not damped, additive-patch and jacobi are", self.smoother);
                    return Err(Failure::usage("damping", given, reason));
                }
            }
        }
        Ok(smoother)
    }

    /// An error of the library, in the options that it is about.
    pub fn refused(&self, error: Error) -> Failure {
        match error {
            Error::Unsupported { backend, available, .. } => {
                let rest = format!(
                    "with --variant '{}' --local '{}' --thread-structure '{}'",
                    self.variant, self.local, self.thread_structure
                );
                Failure::usage("kernel", self.kernel, format_args!("{rest}, {backend} has: {available}"))
            }
            other => other.into(),
        }
    }

    fn patch_kernel(&self) -> PatchKernel {
        PatchKernel {
            structure: match self.kernel {
                args::Kernel::Global => Structure::Global,
                args::Kernel::Separate => Structure::Separate,
                args::Kernel::Fused => Structure::Fused,
            },
            variant: match self.variant {
                args::Variant::Basic => Variant::Basic,
                args::Variant::Linear => Variant::Linear,
                args::Variant::ConflictFree => Variant::ConflictFree,
                args::Variant::Boundary => Variant::Boundary,
                args::Variant::Register => Variant::Register,
            },
            local: match self.local {
                args::Local::Fdm => LocalSolver::Fdm,
                args::Local::Inverse => LocalSolver::Inverse,
            },
            threads: match self.thread_structure {
                args::ThreadStructure::Column => ThreadStructure::Column,
                args::ThreadStructure::Dof => ThreadStructure::Dof,
            },
            patches: self.patches_per_block,
            data_only: false,
        }
    }
}

/// What is about to run.
pub fn parameters(args: &CaseArgs, device: &DeviceInfo, memory: u64) -> String {
    let domain = if args.dim == 2 { "square" } else { "cube" };
    format!(
        "\
{} on the unit {domain}, degree {}, 2^{} cells a direction, problem {}
solver     {}, precision {}, relative tolerance {:e}, at most {} iterations
smoother   {}: kernel {}, variant {}, local solver {}
backend    {}: {}, {} {}, {}
memory     {} needed, {} free
",
        args.system,
        args.degree,
        args.refine,
        args.problem,
        args.solver,
        args.precision,
        args.rtol,
        args.max_iters,
        args.smoother,
        args.kernel,
        args.variant,
        args.local,
        device.backend,
        device.name,
        device.units,
        if device.backend == "cpu" { "threads" } else { "multiprocessors" },
        device.architecture,
        bytes(memory),
        bytes(device.memory_free),
    )
}
