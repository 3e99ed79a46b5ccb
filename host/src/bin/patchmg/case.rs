//! The model problem that the arguments describe.

use crate::args::{self, CaseArgs};
use patchmg::backend::DeviceInfo;
use patchmg::krylov::Stopping;
use patchmg::output::table::bytes;
use patchmg::problem::Problem;
use patchmg::solve::{Case, Config, Method, Precision};

impl CaseArgs {
    /// Unchecked: the library says what is not allowed.
    pub fn model(&self) -> Case {
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
        let config = Config { method, precision, stopping, ..Config::default() };
        Case { dim: self.dim, degree: self.degree, refine: self.refine, problem, config }
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
