//! Where points are computed: a machine, and what was set up or measured there already.

mod basis;
mod floor;
mod flows;
mod forests;
mod operator;
mod program;
mod roofline;
mod solves;
mod speed;

pub use basis::Basis;
pub use program::Program;

use super::experiment::{Key, Launch, Point, Rule, Task};
use forests::Forests;
use operator::Reference;
use patchmg::backend::Scalar;
use patchmg::krylov::{Stopping, unobserved};
use patchmg::measure::{LevelBench, Part};
use patchmg::measure::{Protocol, Timing, measure};
use patchmg::mesh::Mesh;
use patchmg::multigrid::{Multigrid, SmootherConfig};
use patchmg::operator::Preconditioner;
use patchmg::solve::{Case, Config, Method, Precision, Report};
use patchmg::space::Family;
use patchmg::system::elliptic::Elliptic;
use patchmg::system::poisson::{Paper1, PatchKernel, Poisson, Problem, Variant};
use patchmg::system::stokes::{LocalSolver, StokesKernel};
use patchmg::system::{Runs, Stokes, System};
use patchmg_cli::error::{Error, Result};
use speed::Solved;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A row's values, by column.
pub type Values = BTreeMap<String, Option<f64>>;

/// Work that takes longer, in seconds, is timed once.
const LONG: f64 = 0.5;
/// Relative tolerance of all solves.
const RTOL: f64 = 1e-9;

/// One machine.
pub struct Laboratory<B: Runs<Poisson>> {
    backend: Arc<B>,
    protocol: Protocol,
    /// The last level that was timed: neighbouring points differ in the kernel alone.
    level: Option<(Size, PatchKernel, Box<dyn TimedLevel>)>,
    /// Experiments share measurements.
    timings: Known<(Size, PatchKernel, Part), Timing>,
    /// And whole points.
    points: Known<(Size, bool, Task), Values>,
    flows: Known<(Size, LocalSolver, StokesKernel, Part), Timing>,
    cycles: Known<(Size, PatchKernel), Timing>,
    solves: Known<(Size, bool, Method), Solved>,
    forests: Forests,
    /// The last load vector of `u = prod sin(pi x_i)`.
    load: Option<(Size, Vec<f64>)>,
    /// What the last operators were compared with.
    reference: Option<(Size, Reference, Basis)>,
    program: Option<Program>,
    /// Of what is being computed.
    basis: Basis,
}

/// Values that were found, by what was asked for, with what they come from.
type Known<K, V> = Vec<(K, V, Basis)>;

#[derive(Clone, Copy, Debug, PartialEq)]
struct Size {
    elements: Family,
    dim: usize,
    degree: usize,
    refine: usize,
    /// Of refinement where the error seems large.
    cycle: Option<usize>,
    single: bool,
}

impl Size {
    fn of(point: &Point) -> Self {
        let Key { dim, degree, refine, cycle, .. } = point.key;
        let single = point.key.precision != Precision::F64.name();
        Self { elements: point.elements, dim, degree, refine, cycle, single }
    }

    fn system(&self, kernel: PatchKernel) -> Result<Poisson> {
        let mesh = Mesh::unit_cube(self.dim, self.refine)?;
        Ok(Poisson::new(self.elements, mesh, self.degree)?.with_kernel(kernel))
    }

    /// By default kernels.
    fn poisson(&self) -> Result<Poisson> {
        self.system(PatchKernel::default())
    }

    fn dofs(&self) -> Result<usize> {
        Ok(self.poisson()?.layout().dofs())
    }

    fn double(self) -> Self {
        Self { single: false, ..self }
    }

    fn word(&self) -> f64 {
        if self.single { 4.0 } else { 8.0 }
    }

    fn scalar(&self) -> &'static str {
        if self.single { "f32" } else { "f64" }
    }
}

/// A [`LevelBench`] in any scalar.
trait TimedLevel {
    fn set_system(&mut self, system: &Poisson) -> Result<()>;
    fn time(&mut self, part: Part, protocol: Protocol) -> Result<Timing>;
    fn resident_blocks(&self) -> Result<Vec<(String, u32)>>;
}

impl<B: Runs<Poisson>, T: Scalar> TimedLevel for LevelBench<B, T> {
    fn set_system(&mut self, system: &Poisson) -> Result<()> {
        Ok(self.set_system(system)?)
    }

    fn time(&mut self, part: Part, protocol: Protocol) -> Result<Timing> {
        Ok(self.time(part, protocol)?)
    }

    fn resident_blocks(&self) -> Result<Vec<(String, u32)>> {
        Ok(self.resident_blocks()?)
    }
}

/// How often a part was done before, and its time.
fn timed(level: &mut dyn TimedLevel, part: Part, protocol: Protocol) -> Result<(usize, Timing)> {
    let first = level.time(part, Protocol::ONCE)?;
    // The first time is one more that does not count, unless it is the only one.
    Ok(if first.median_s > LONG { (0, first) } else { (protocol.warmup + 1, level.time(part, protocol)?) })
}

fn values<const N: usize>(pairs: [(&str, f64); N]) -> Values {
    pairs.into_iter().map(|(name, value)| (name.to_string(), Some(value))).collect()
}

fn precision(size: Size, mixed: bool) -> Precision {
    match (size.single, mixed) {
        (_, true) => Precision::Mixed,
        (true, _) => Precision::F32,
        (false, _) => Precision::F64,
    }
}

/// With the precision of a point.
fn in_precision(config: Config, size: Size, mixed: bool) -> Config {
    Config { precision: precision(size, mixed), ..config }
}

impl<B: Runs<Poisson>> Laboratory<B> {
    /// With nothing set up.
    pub fn new(backend: &Arc<B>, protocol: Protocol, program: Option<Program>) -> Self {
        Self {
            backend: backend.clone(),
            protocol,
            level: None,
            timings: Vec::new(),
            points: Vec::new(),
            flows: Vec::new(),
            cycles: Vec::new(),
            solves: Vec::new(),
            forests: Forests::default(),
            load: None,
            reference: None,
            program,
            basis: Basis::default(),
        }
    }
}

impl<B: Runs<Poisson> + Runs<Stokes> + Runs<Elliptic>> Laboratory<B> {
    /// The values of a point, and what they come from.
    ///
    /// # Errors
    /// Those of the backend; [`Library::Unsupported`] for what this machine has no kernels for.
    pub fn compute(&mut self, point: &Point) -> Result<(Values, Basis)> {
        let (size, mixed) = (Size::of(point), point.key.precision == Precision::Mixed.name());
        let asked = (size, mixed, point.task);
        if let Some((_, known, basis)) = self.points.iter().find(|(known, ..)| *known == asked) {
            return Ok((known.clone(), basis.clone()));
        }
        let (found, basis) = self.with_basis(|laboratory| laboratory.task(point.task, size, mixed))?;
        self.points.push((asked, found.clone(), basis.clone()));
        Ok((found, basis))
    }

    fn task(&mut self, task: Task, size: Size, mixed: bool) -> Result<Values> {
        match task {
            Task::Iterations { method, smoother, rule } => self.iterations(size, method, smoother, rule),
            Task::Solve { problem, config, kernel } => {
                self.solve(size, problem, in_precision(config, size, mixed), kernel)
            }
            Task::History { config, kernel } => self.history(size, in_precision(config, size, mixed), kernel),
            Task::Errors { flexible, kernel } => self.errors(size, flexible, kernel),
            Task::Step(kernel) => self.step(size, kernel),
            Task::Analysis(kernel) => self.analysis(size, kernel),
            Task::Launch(launch) => self.launch(size, launch),
            Task::Components(kernel) => self.components(size, kernel),
            Task::Levels => self.levels(size),
            Task::Roofline(part) => self.roofline(size, part),
            Task::SharedRoofline(kernel) => self.analysis(size, kernel),
            Task::Roofs(units) => self.roofs(size, units),
            Task::Operator(aspect, kernel) => self.operator(size, aspect, kernel),
            Task::Floor(part) => self.floor(size, part),
            Task::Correction => self.correction(size),
            Task::Transfer => self.transfer(size),
            Task::VCycle => self.v_cycle(size),
            Task::Speed(method) => self.speed(size, mixed, method),
            Task::Memory(method) => self.memory(size, mixed, method),
            Task::Start(kernels, data) => self.start(size, kernels, data),
            Task::Comparison => self.comparison(size),
            Task::Flow(task) => self.flow(size, mixed, task),
            Task::Forest(domain, task) => self.forest(domain, size, precision(size, mixed), task),
        }
    }
}

impl<B: Runs<Poisson>> Laboratory<B> {
    /// The level with its vectors and a kernel.
    fn set_up(&mut self, size: Size, kernel: PatchKernel) -> Result<&mut dyn TimedLevel> {
        match &mut self.level {
            Some((at, current, level)) if *at == size => {
                if *current != kernel {
                    level.set_system(&size.system(kernel)?)?;
                    *current = kernel;
                }
            }
            _ => {
                // Makes room first.
                self.level = None;
                let system = size.system(kernel)?;
                let backend = self.backend.clone();
                // Kernels that fill vectors are not those that are timed.
                let level = self.without_basis(|| {
                    let level: Box<dyn TimedLevel> = if size.single {
                        Box::new(LevelBench::<B, f32>::new(&backend, &system)?)
                    } else {
                        Box::new(LevelBench::<B, f64>::new(&backend, &system)?)
                    };
                    Ok(level)
                })?;
                self.level = Some((size, kernel, level));
            }
        }
        let Some((_, _, level)) = &mut self.level else { unreachable!("it was set up") };
        Ok(&mut **level)
    }

    /// Seconds of a part of a level; long ones are timed by their first run.
    fn time(&mut self, size: Size, kernel: PatchKernel, part: Part) -> Result<Timing> {
        let asked = (size, kernel, part);
        if let Some((_, timing, basis)) = self.timings.iter().find(|(known, ..)| *known == asked) {
            self.basis.extend(basis);
            return Ok(*timing);
        }
        let protocol = self.protocol;
        self.set_up(size, kernel)?;
        let (timing, basis) = self.with_basis(|laboratory| {
            let level = laboratory.set_up(size, kernel)?;
            let (warmup, timing) = timed(level, part, protocol)?;
            let kernel = if kernel == PatchKernel::default() { String::new() } else { format!(" ({kernel})") };
            let what = format!("{}{kernel}, {}, L = {}", part.name(), size.scalar(), size.refine);
            laboratory.basis.measured(what, warmup, timing);
            Ok(timing)
        })?;
        self.timings.push((asked, timing, basis));
        Ok(timing)
    }

    fn step(&mut self, size: Size, kernel: PatchKernel) -> Result<Values> {
        let seconds = self.time(size, kernel, Part::Step)?.median_s;
        let dofs = size.dofs()? as f64;
        let colors = f64::from(1 << size.dim);
        Ok(values([
            ("step_ms", 1e3 * seconds),
            ("color_ms", 1e3 * seconds / colors),
            ("gdof_per_s", 1e-9 * dofs / seconds),
        ]))
    }

    /// Milliseconds of a color, and of its loads and stores alone where they can be timed, and blocks of a multiprocessor.
    fn launch(&mut self, size: Size, launch: Launch) -> Result<Values> {
        let color_ms = |laboratory: &mut Self, kernel| {
            Ok::<_, Error>(1e3 * laboratory.time(size, kernel, Part::Step)?.median_s / f64::from(1 << size.dim))
        };
        let [global, separate, fused] = [Paper1::Global, Paper1::Separate, Paper1::Fused]
            .map(|kernels| kernels(Variant::ConflictFree).by_default());
        // The solver alone is the global step without its residual.
        let solver_ms = |laboratory: &mut Self| {
            Ok::<_, Error>(
                color_ms(laboratory, global)? - 1e3 * laboratory.time(size, global, Part::Residual)?.median_s,
            )
        };
        let (whole, index, milliseconds) = match launch {
            Launch::Fused => (Some((fused, Paper1::FusedData)), 0, color_ms(self, fused)?),
            Launch::Separate => (Some((separate, Paper1::SeparateData)), usize::MAX, color_ms(self, separate)?),
            Launch::Solver => (None, 1, solver_ms(self)?),
            Launch::Residual => (None, 0, color_ms(self, separate)? - solver_ms(self)?),
        };
        let mut row = values([("color_ms", milliseconds)]);
        if let Some((_, data)) = whole {
            row.extend(values([("data_only_ms", color_ms(self, data.by_default())?)]));
        }
        let timed = whole.map_or(separate, |(kernel, _)| kernel);
        if let Some((_, blocks)) = self.set_up(size, timed)?.resident_blocks()?.get(index) {
            row.extend(values([("blocks_per_sm", f64::from(*blocks))]));
        }
        Ok(row)
    }

    /// Solves from nothing.
    fn report(
        &mut self,
        size: Size,
        kernel: PatchKernel,
        problem: Problem,
        config: Config,
        protocol: Protocol,
    ) -> Result<Report> {
        // Makes room.
        self.level = None;
        let case = Case { system: size.system(kernel)?, problem, config };
        Ok(case.prepare(&*self.backend)?.solve(&self.backend, protocol, &mut unobserved)?.0)
    }

    fn iterations(&mut self, size: Size, method: Method, smoother: SmootherConfig, rule: Rule) -> Result<Values> {
        // Relative to the first residual of full multigrid, which is far below the right-hand side, rounding comes near.
        let rtol = if rule == Rule::FirstPass { 1e-14 } else { RTOL };
        let max_iters = if rule == Rule::FirstPass { 30 } else { 100 };
        let config = Config { method, smoother, stopping: Stopping { rtol, max_iters }, ..Config::default() };
        let info = self.report(size, PatchKernel::default(), Problem::One, config, Protocol::ONCE)?.info;
        let history = &info.residual_history;
        let first = if rule == Rule::FirstPass { history.first().copied().unwrap_or(1.0) } else { 1.0 };
        let iterations = history.iter().position(|&residual| residual <= RTOL * first);
        let least = usize::from(method == Method::Fmg);
        let mut row = Values::from([("iterations".into(), iterations.map(|count| count.max(least) as f64))]);
        if rule == Rule::RightHandSide {
            row.insert("fractional_iterations".into(), info.fractional_iterations);
        }
        row.extend(values([("first_residual", history.first().copied().unwrap_or(f64::NAN))]));
        Ok(row)
    }

    /// A V-cycle on a level.
    fn cycle(&mut self, size: Size, kernel: PatchKernel) -> Result<Timing> {
        if let Some((_, timing, basis)) = self.cycles.iter().find(|(known, ..)| *known == (size, kernel)) {
            self.basis.extend(basis);
            return Ok(*timing);
        }
        // Makes room.
        self.level = None;
        let (timing, basis) = self.with_basis(|laboratory| {
            let timing = match size.single {
                true => laboratory.cycle_in::<f32>(size, kernel),
                false => laboratory.cycle_in::<f64>(size, kernel),
            }?;
            let what = format!("V-cycle, {}, L = {}", size.scalar(), size.refine);
            laboratory.basis.measured(what, laboratory.protocol.warmup, timing);
            Ok(timing)
        })?;
        self.cycles.push(((size, kernel), timing, basis));
        Ok(timing)
    }

    fn cycle_in<S: Scalar>(&mut self, size: Size, kernel: PatchKernel) -> Result<Timing> {
        let (system, smoother) = (size.system(kernel)?, SmootherConfig::default());
        let mut multigrid = Multigrid::<B, S>::new(&self.backend, &system, &smoother, Default::default())?;
        let backend = self.backend.clone();
        let bench = || Ok(LevelBench::<B, S>::new(&backend, &system)?);
        let mut bench = self.without_basis(bench)?;
        let (b, x) = bench.vectors();
        Ok(measure(&*self.backend, self.protocol, || multigrid.apply(b, x))?)
    }

    /// Components of GMRES in mixed precision, each the time of doing it once times how often the solve does it; vector
    /// operations of GMRES are what is left of the solve.
    fn components(&mut self, size: Size, kernel: PatchKernel) -> Result<Values> {
        let config = Config { method: Method::Gmres, precision: Precision::Mixed, ..Config::default() };
        // The basic kernels take long.
        let protocol = Protocol { repetitions: 1, ..self.protocol };
        let Report { dofs, info, timing, .. } = self.report(size, kernel, Problem::One, config, protocol)?;
        self.basis.measured("solve", protocol.warmup, timing);
        if !info.converged {
            // Its time is that of the most iterations allowed.
            return Ok(Values::from([("iterations".into(), None)]));
        }
        let cycles = info.iterations as f64;
        let (single, double) = (Size { single: true, ..size }, size.double());
        let part = |laboratory: &mut Self, part| Ok::<_, Error>(laboratory.time(single, kernel, part)?.median_s);
        let smooth = 2.0 * part(self, Part::Step)?;
        let transfer = part(self, Part::Restrict)? + self.correction_time(single, kernel)?.median_s;
        let operator = self.time(double, PatchKernel::default(), Part::Operator)?.median_s;
        let coarser = self.cycle(Size { refine: size.refine - 1, ..single }, kernel)?.median_s;
        let total = timing.median_s;
        // One application more than cycles: the first residual.
        let known = [cycles * coarser, cycles * transfer, cycles * smooth, (cycles + 1.0) * operator];
        let [coarser, transfer, smooth, operator] = known;
        let mut row = values([
            ("coarser_s", coarser),
            ("transfer_s", transfer),
            ("smooth_s", smooth),
            ("operator_s", operator),
            ("vectors_s", total - known.iter().sum::<f64>()),
            ("time_s", total),
            ("iterations", cycles),
            ("gdof_per_s", 1e-9 * dofs as f64 / total),
        ]);
        for (name, part) in [("coarser", coarser), ("transfer", transfer), ("smooth", smooth), ("operator", operator)] {
            row.extend(values([(&*format!("{name}_percent"), 100.0 * part / total)]));
        }
        row.extend(values([("vectors_percent", 100.0 * (1.0 - known.iter().sum::<f64>() / total))]));
        Ok(row)
    }

    /// Shares of the levels: differences of V-cycles that start on neighbouring levels.
    fn levels(&mut self, size: Size) -> Result<Values> {
        let kernel = PatchKernel::default();
        let finest = self.cycle(size, kernel)?.median_s;
        let mut at = |below: usize| match size.refine.checked_sub(below) {
            Some(refine) if refine >= 1 => Ok(self.cycle(Size { refine, ..size }, kernel)?.median_s),
            _ => Ok::<_, Error>(0.0),
        };
        let (second, third) = (at(1)?, at(2)?);
        Ok(values([
            ("cycle_ms", 1e3 * finest),
            ("finest_percent", 100.0 * (1.0 - second / finest)),
            ("second_percent", 100.0 * (second - third) / finest),
            ("coarser_percent", 100.0 * third / finest),
        ]))
    }
}
