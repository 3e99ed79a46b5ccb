//! The model problem that the arguments describe.

use crate::args::{self, CaseArgs};
use crate::failure::Failure;
use patchmg::Error;
use patchmg::backend::{DeviceInfo, PatchKernel};
use patchmg::krylov::Stopping;
use patchmg::multigrid::SmootherConfig;
use patchmg::output::table::bytes;
use patchmg::solve::{Case, Config};

impl CaseArgs {
    /// The library says which values are not allowed; here, which options do not go together.
    pub fn model(&self) -> Result<Case, Failure> {
        let stopping = Stopping { rtol: self.rtol, max_iters: self.max_iters };
        let config = Config {
            method: self.solver,
            precision: self.precision,
            smoother: self.smoother()?,
            stopping,
            ..Config::default()
        };
        let Self { system, dim, degree, refine, problem, .. } = *self;
        Ok(Case { system, dim, degree, refine, problem, config })
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
                    self.variant.name(),
                    self.local.name(),
                    self.thread_structure.name()
                );
                Failure::usage("kernel", self.kernel.name(), format_args!("{rest}, {backend} has: {available}"))
            }
            other => other.into(),
        }
    }

    fn patch_kernel(&self) -> PatchKernel {
        PatchKernel {
            structure: self.kernel,
            variant: self.variant,
            local: self.local,
            threads: self.thread_structure,
            patches: self.patches_per_block,
            data_only: false,
            products: None,
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
        args.system.name(),
        args.degree,
        args.refine,
        args.problem.name(),
        args.solver.name(),
        args.precision.name(),
        args.rtol,
        args.max_iters,
        args.smoother,
        args.kernel.name(),
        args.variant.name(),
        args.local.name(),
        device.backend,
        device.name,
        device.units,
        if device.backend == "cpu" { "threads" } else { "multiprocessors" },
        device.architecture,
        bytes(memory),
        bytes(device.memory_free),
    )
}
