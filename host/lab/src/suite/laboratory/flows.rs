//! The Stokes equations: iterations, errors, and times of parts and of solves.

use super::speed::Solved;
use super::{Laboratory, Size, TimedLevel, Values, timed, values};
use crate::suite::experiment::{FlowPart, FlowTask};
use crate::suite::traffic::{Traffic, WAVEFRONT_BYTES};
use crate::suite::work::stokes_operator_flops;
use patchmg::krylov::{Stopping, unobserved};
use patchmg::measure::{LevelBench, Part, Protocol, Timing};
use patchmg::mesh::Mesh;
use patchmg::solve::{Case, Config, Method, Precision, Report};
use patchmg::system::poisson::{PatchKernel, Poisson};
use patchmg::system::stokes::{FlowErrors, LocalSolver, Problem, StokesKernel, Vortex};
use patchmg::system::{ModelProblem, Runs, Stokes, System};
use patchmg_cli::error::{Error, Library, Result};

/// When a solve ends, and how many basis vectors it has.
#[derive(Clone, Copy)]
struct Ending {
    rtol: f64,
    restart: usize,
}

impl Ending {
    /// Of the paper's comparison with Poisson's equation, and of its fastest solves.
    const EARLY: Self = Self { rtol: 1e-6, restart: 10 };

    /// More basis vectors than solves have iterations, but for degree 1 on the finest levels.
    const fn at(rtol: f64) -> Self {
        Self { rtol, restart: 30 }
    }
}

impl Size {
    fn stokes(&self, local: LocalSolver) -> Result<Stokes> {
        let mesh = Mesh::unit_cube(self.dim, self.refine)?;
        Ok(Stokes::new(mesh, self.degree)?.with_local_solver(local)?)
    }
}

/// Milliseconds of a part, a number for each unknown, and throughput.
fn throughput(timing: Timing, dofs: f64) -> Values {
    let Timing { median_s, min_s, max_s, .. } = timing;
    values([
        ("time_ms", 1e3 * median_s),
        ("min_ms", 1e3 * min_s),
        ("max_ms", 1e3 * max_s),
        ("gdof_per_s", 1e-9 * dofs / median_s),
    ])
}

impl<B: Runs<Poisson> + Runs<Stokes>> Laboratory<B> {
    pub(super) fn flow(&mut self, size: Size, mixed: bool, task: FlowTask) -> Result<Values> {
        match task {
            FlowTask::Iterations { local, rtol } => self.flow_solve(size, mixed, local, Ending::at(rtol), None),
            FlowTask::Solve { local, rtol } => {
                self.flow_solve(size, mixed, local, Ending::at(rtol), Some(self.protocol))
            }
            FlowTask::Operator(kernel) => self.flow_operator(size, kernel),
            FlowTask::Step(local, kernel) => self.flow_step(size, local, kernel),
            FlowTask::Comparison(local) => self.flow_comparison(size, local),
            FlowTask::Speed(part) => self.flow_speed(size, mixed, part),
            FlowTask::Memory(method) => self.flow_memory(size, mixed, method),
        }
    }

    /// Iterations and errors, with times by a protocol.
    fn flow_solve(
        &mut self,
        size: Size,
        mixed: bool,
        local: LocalSolver,
        Ending { rtol, restart }: Ending,
        timed: Option<Protocol>,
    ) -> Result<Values> {
        // Makes room.
        self.level = None;
        let precision = if mixed { Precision::Mixed } else { Precision::F64 };
        let stopping = Stopping { rtol, ..Stopping::default() };
        let config = Config { method: Method::Fgmres, precision, stopping, restart, ..Config::default() };
        let case = Case { system: size.stokes(local)?, problem: Problem::Vortex(Vortex::default()), config };
        let protocol = timed.unwrap_or(Protocol::ONCE);
        let prepared = case.prepare(&*self.backend)?;
        let Report { dofs, info, errors, timing, .. } = prepared.solve(&self.backend, protocol, &mut unobserved)?.0;
        let last = info.residual_history.last().copied().unwrap_or(f64::NAN);
        let count = info.iterations as f64;
        let mut row = Values::from([
            ("iterations".into(), info.converged.then_some(count)),
            ("nu".into(), info.converged.then(|| -8.0 * count / last.log10())),
            ("fractional_iterations".into(), info.fractional_iterations),
            ("residual".into(), Some(last)),
        ]);
        if let Some(FlowErrors { velocity, pressure_l2, largest_divergence }) = errors {
            row.insert("l2_error".into(), velocity.map(|velocity| velocity.l2));
            row.insert("h1_error".into(), velocity.map(|velocity| velocity.h1));
            row.insert("l2_error_p".into(), pressure_l2);
            row.insert("divergence".into(), Some(largest_divergence));
        }
        if timed.is_some() && info.converged {
            self.basis.measured(format!("solve, {local}, L = {}", size.refine), protocol.warmup, timing);
            row.extend(values([
                ("time_s", timing.median_s),
                ("min_s", timing.min_s),
                ("max_s", timing.max_s),
                ("ns_per_dof", 1e9 * timing.median_s / dofs as f64),
                ("mdof_per_s", 1e-6 * dofs as f64 / timing.median_s),
            ]));
        }
        Ok(row)
    }

    /// Seconds of a part of a level; a long one is timed by its first run.
    fn flow_time(&mut self, size: Size, local: LocalSolver, part: Part) -> Result<Timing> {
        self.flow_time_of(size, local, StokesKernel::default(), part)
    }

    /// The same by other kernels.
    fn flow_time_of(&mut self, size: Size, local: LocalSolver, kernel: StokesKernel, part: Part) -> Result<Timing> {
        let asked = (size, local, kernel, part);
        if let Some((_, timing, basis)) = self.flows.iter().find(|(known, ..)| *known == asked) {
            self.basis.extend(basis);
            return Ok(*timing);
        }
        // Makes room.
        self.level = None;
        let (system, backend, protocol) =
            (size.stokes(local)?.with_kernel(kernel), self.backend.clone(), self.protocol);
        let mut level = self.without_basis(|| {
            let level: Box<dyn TimedLevel> = match size.single {
                true => Box::new(LevelBench::<B, f32>::new(&backend, &system)?),
                false => Box::new(LevelBench::<B, f64>::new(&backend, &system)?),
            };
            Ok(level)
        })?;
        let (timing, basis) = self.with_basis(|laboratory| {
            let (warmup, timing) = timed(&mut *level, part, protocol)?;
            let what = format!("{}, {local}, {kernel}, {}, L = {}", part.name(), size.scalar(), size.refine);
            laboratory.basis.measured(what, warmup, timing);
            Ok(timing)
        })?;
        self.flows.push((asked, timing, basis));
        Ok(timing)
    }

    /// Beside a copy, two words of memory for an unknown each, and beside shared memory, whose traffic needs no GPU.
    fn flow_operator(&mut self, size: Size, kernel: StokesKernel) -> Result<Values> {
        let traffic = if size.single {
            Traffic::of_stokes_operator::<f32>(kernel, size.degree)
        } else {
            Traffic::of_stokes_operator::<f64>(kernel, size.degree)
        };
        let mut row = Values::new();
        if let Some(Traffic { patch_wavefronts, block_excess }) = traffic {
            row.extend(values([("wavefronts", patch_wavefronts), ("conflicts", block_excess)]));
        }
        let rates = self.backend.info().rates;
        let timing = match self.flow_time_of(size, LocalSolver::Exact, kernel, Part::Operator) {
            Err(Error::Library(Library::Unsupported { .. })) if rates.is_none() => return Ok(row),
            timing => timing?,
        };
        let copy = self.flow_time(size, LocalSolver::Exact, Part::Copy)?;
        let dofs = size.stokes(LocalSolver::Exact)?.layout().dofs() as f64;
        let rate = |timing: Timing| 1e-9 * 2.0 * size.word() * dofs / timing.median_s;
        row.extend(throughput(timing, dofs));
        row.extend(values([
            ("gb_per_s", rate(timing)),
            ("copy_gb_per_s", rate(copy)),
            ("copy_percent", 100.0 * copy.median_s / timing.median_s),
        ]));
        if size.dim == 3 {
            let cells = f64::from(1 << size.refine).powi(3);
            let (flops, seconds) = (stokes_operator_flops(size.degree) * cells, timing.median_s);
            row.extend(values([("gflops", 1e-9 * flops / seconds)]));
            let Some(rates) = rates else { return Ok(row) };
            let (peak, bandwidth) = (rates.flops(size.word() as usize), rates.shared_memory());
            row.extend(values([("peak_percent", 100.0 * flops / seconds / peak)]));
            if let Some(Traffic { patch_wavefronts, .. }) = traffic {
                let bytes = patch_wavefronts * WAVEFRONT_BYTES * cells / 8.0;
                row.extend(values([
                    ("intensity", flops / bytes),
                    ("l1_percent", 100.0 * bytes / seconds / bandwidth),
                    ("roof_percent", 100.0 * flops / seconds / peak.min(bandwidth * flops / bytes)),
                ]));
            }
        }
        Ok(row)
    }

    /// Of a color the local solves are what a step takes beside its residuals.
    fn flow_step(&mut self, size: Size, local: LocalSolver, kernel: StokesKernel) -> Result<Values> {
        let (dofs, colors) = (size.stokes(local)?.layout().dofs() as f64, f64::from(1 << size.dim));
        let step = self.flow_time_of(size, local, kernel, Part::Step)?;
        let residual = self.flow_time_of(size, local, kernel, Part::Residual)?;
        let color_s = step.median_s / colors - residual.median_s;
        let mut row = throughput(step, dofs);
        row.extend(values([
            ("residual_ms", 1e3 * residual.median_s),
            ("local_ms", 1e3 * color_s),
            ("local_gdof_per_s", 1e-9 * dofs / color_s),
        ]));
        Ok(row)
    }

    fn flow_comparison(&mut self, size: Size, local: LocalSolver) -> Result<Values> {
        let dofs = size.stokes(local)?.layout().dofs() as f64;
        // With the normal components on its boundary, as the paper counts.
        let nodes = 2.0 * (size.degree + 1) as f64;
        let patch = nodes.powi(size.dim as i32 - 1) * (size.dim as f64 * (nodes + 1.0) + nodes);
        let operator = self.flow_time(size, LocalSolver::Exact, Part::Operator)?;
        let step = self.flow_time(size, local, Part::Step)?;
        let mut row = self.flow_solve(size, false, local, Ending::EARLY, Some(self.protocol))?;
        row.extend(values([
            ("patch_dofs", patch),
            ("operator_ns", 1e9 * operator.median_s / dofs),
            ("step_ns", 1e9 * step.median_s / dofs),
        ]));
        Ok(row)
    }

    /// Nanoseconds for an unknown.
    fn flow_speed(&mut self, size: Size, mixed: bool, part: FlowPart) -> Result<Values> {
        let part = match part {
            FlowPart::Operator => Part::Operator,
            FlowPart::Step => Part::Step,
            FlowPart::Solve => return Ok(self.flow_solved(size, mixed, Method::Fgmres)?.speed()),
        };
        let timing = self.flow_time(size, LocalSolver::Exact, part)?;
        let per_dof = 1e9 / size.stokes(LocalSolver::Exact)?.layout().dofs() as f64;
        Ok(values([
            ("measured", per_dof * timing.median_s),
            ("min", per_dof * timing.min_s),
            ("max", per_dof * timing.max_s),
            ("time_ms", 1e3 * timing.median_s),
        ]))
    }

    fn flow_memory(&mut self, size: Size, mixed: bool, method: Method) -> Result<Values> {
        Ok(self.flow_solved(size, mixed, method)?.memory_per_dof())
    }

    /// A solve to 1e-6, its time and its memory.
    fn flow_solved(&mut self, size: Size, mixed: bool, method: Method) -> Result<Solved> {
        let precision = if mixed { Precision::Mixed } else { Precision::F64 };
        let Ending { rtol, restart } = Ending::EARLY;
        let stopping = Stopping { rtol, ..Stopping::default() };
        let config = Config { method, precision, stopping, restart, ..Config::default() };
        let system = size.stokes(LocalSolver::Exact)?;
        config.check(&*self.backend, &system)?;
        let load = Problem::Vortex(Vortex::default()).load(&system)?;
        self.solve_of(&system, size, load, &config)
    }

    /// Poisson's equation by the same method.
    pub(super) fn comparison(&mut self, size: Size) -> Result<Values> {
        let kernel = PatchKernel::default();
        let stopping = Stopping { rtol: Ending::EARLY.rtol, ..Stopping::default() };
        let config = Config { method: Method::Gmres, stopping, restart: 30, ..Config::default() };
        let problem = patchmg::system::poisson::Problem::Sine;
        let mut row = self.solve(size, problem, config, kernel)?;
        if let Some(time) = row.remove("s_per_gdof") {
            row.insert("ns_per_dof".into(), time);
        }
        let dofs = size.dofs()? as f64;
        let [operator, step] = [Part::Operator, Part::Step].map(|part| self.time(size, kernel, part));
        row.extend(values([
            ("patch_dofs", (2.0 * (size.degree + 1) as f64).powi(size.dim as i32)),
            ("operator_ns", 1e9 * operator?.median_s / dofs),
            ("step_ns", 1e9 * step?.median_s / dofs),
        ]));
        Ok(row)
    }
}
