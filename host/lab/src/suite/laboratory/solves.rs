//! Solves by their results: iterations, errors, residuals.

use super::{Laboratory, Size, Values, values};
use patchmg::krylov::{Gmres, Info, IterativeSolver, Stopping, unobserved};
use patchmg::measure::Protocol;
use patchmg::multigrid::{LowPrecision, Multigrid, SmootherConfig, VCycle};
use patchmg::operator::LinearOperator;
use patchmg::problem::ErrorNorms;
use patchmg::solve::{Config, Method, Precision, Report};
use patchmg::system::poisson::{PatchKernel, Poisson, Problem};
use patchmg::system::{ModelProblem, Runs, System};
use patchmg_cli::error::Result;

/// Relative tolerance of paper 4.
const RTOL: f64 = 1e-8;

/// Iterations, none if they did not suffice.
fn iterations(info: &Info) -> Option<f64> {
    info.converged.then_some(info.iterations as f64)
}

impl<B: Runs<Poisson>> Laboratory<B> {
    /// Time, iterations and error.
    pub(super) fn solve(
        &mut self,
        size: Size,
        problem: Problem,
        config: Config,
        kernel: PatchKernel,
    ) -> Result<Values> {
        let Report { dofs, info, errors, timing, .. } = self.report(size, kernel, problem, config, self.protocol)?;
        self.basis.measured(format!("solve, L = {}", size.refine), self.protocol.warmup, timing);
        let mut row = values([
            ("time_s", timing.median_s),
            ("min_s", timing.min_s),
            ("max_s", timing.max_s),
            ("s_per_gdof", 1e9 * timing.median_s / dofs as f64),
        ]);
        row.insert("iterations".into(), iterations(&info));
        row.insert("fractional_iterations".into(), info.fractional_iterations);
        row.insert("l2_error".into(), errors.map(|errors| errors.l2));
        Ok(row)
    }

    /// `residual_i` after iteration `i`.
    pub(super) fn history(&mut self, size: Size, config: Config, kernel: PatchKernel) -> Result<Values> {
        let info = self.report(size, kernel, Problem::Sine, config, Protocol::ONCE)?.info;
        let name = |iteration| format!("residual_{iteration}");
        let residuals = info.residual_history.iter().enumerate();
        let mut row: Values = residuals.map(|(iteration, &residual)| (name(iteration), Some(residual))).collect();
        row.insert("iterations".into(), iterations(&info));
        Ok(row)
    }

    /// Errors of `u = prod sin(pi x_i)`. GMRES that is not flexible does as many iterations as the flexible variant: the bases
    /// are the same, and so are the residuals by which a GMRES ends that does not look at `b - A x`.
    pub(super) fn errors(&mut self, size: Size, flexible: bool, kernel: PatchKernel) -> Result<Values> {
        let config = Config {
            method: Method::Fgmres,
            precision: Precision::Mixed,
            stopping: Stopping { rtol: RTOL, ..Stopping::default() },
            ..Config::default()
        };
        let Report { info, errors, .. } = self.report(size, kernel, Problem::Sine, config, Protocol::ONCE)?;
        let (info, errors) = if flexible { (info, errors) } else { self.gmres(size, kernel, info.iterations.max(1))? };
        let mut row = values([
            ("iterations", info.iterations as f64),
            ("residual", info.residual_history.last().copied().unwrap_or(f64::NAN)),
        ]);
        row.insert("l2_error".into(), errors.map(|errors| errors.l2));
        row.insert("h1_error".into(), errors.map(|errors| errors.h1));
        Ok(row)
    }

    /// GMRES in `f64` that takes a V-cycle in `f32` for one linear map.
    fn gmres(&mut self, size: Size, kernel: PatchKernel, max_iters: usize) -> Result<(Info, Option<ErrorNorms>)> {
        let system = size.system(kernel)?;
        let load = self.load(size)?;
        let backend = &self.backend;
        let operator = backend.level::<f64>(&system.by_default_kernels())?;
        let (mut b, mut x) = (operator.vector()?, operator.vector()?);
        backend.upload(&load, &mut b)?;
        let multigrid = Multigrid::<B, f32>::new(backend, &system, &SmootherConfig::default(), VCycle::default())?;
        let mut cycle = LowPrecision::<B, f64, f32, _>::new(backend, multigrid, operator.storage())?;
        let mut gmres = Gmres::<B, f64>::new(&operator, max_iters)?;
        let stopping = Stopping { rtol: RTOL, max_iters };
        let info = gmres.solve(&operator, &mut cycle, &b, &mut x, &stopping, &mut unobserved)?;
        let mut values = load;
        backend.download(&x, &mut values)?;
        Ok((info, Problem::Sine.errors(&system.solution(values)?)?))
    }
}
