//! Elliptic equations on forests: products, solves, Newton's method, set-up. Meshes are kept from row to row.

use super::{LONG, Laboratory, RTOL, Size, TimedLevel, Values, timed, values};
use crate::suite::domain::{CHEBYSHEV, Domain};
use crate::suite::experiment::{ForestPart, ForestTask, Point, Task};
use patchmg::forest::{Forest, Marking};
use patchmg::krylov::{Stopping, unobserved};
use patchmg::measure::{LevelBench, Part, Protocol, Timing};
use patchmg::multigrid::SmootherConfig;
use patchmg::operator::LinearOperator;
use patchmg::solve::{Case, Config, Method, Precision, Report};
use patchmg::system::elliptic::{Elliptic, Equation, ForestFunction, Writes};
use patchmg::system::{Poisson, Runs, Stokes, System};
use patchmg_cli::error::Result;
use std::sync::Arc;
use std::time::Instant;

/// Which cells are refined and coarsened from cycle to cycle (paper 3, section 4.1).
const MARKING: Marking = Marking::FixedNumber { refine: 0.3, coarsen: 0.03 };
/// Relative tolerance of a correction of Newton's method (section 4.3).
const CORRECTION_RTOL: f64 = 1e-4;
/// More than any solve of the suites takes.
const MAX_ITERS: usize = 500;

/// A mesh, by what makes it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Place {
    domain: Domain,
    dim: usize,
    degree: usize,
    /// Of all cells.
    refine: usize,
    /// Of refinement where the error seems large.
    cycle: usize,
}

impl Place {
    fn new(domain: Domain, Size { dim, degree, refine, cycle, .. }: Size) -> Self {
        Self { domain, dim, degree, refine, cycle: cycle.unwrap_or(0) }
    }

    fn equation(&self) -> Equation {
        self.domain.equation(self.dim)
    }
}

/// What was made for earlier rows.
#[derive(Default)]
pub(super) struct Forests {
    /// Meshes with their unknowns.
    meshes: Vec<(Place, Arc<Forest>, usize)>,
    /// On the last mesh.
    system: Option<(Place, Elliptic)>,
    /// The last solution by [`standard`], from which the next mesh follows.
    solution: Option<(Place, ForestFunction)>,
}

/// Conjugate gradients.
fn config(smoother: SmootherConfig, precision: Precision, rtol: f64) -> Config {
    let stopping = Stopping { rtol, max_iters: MAX_ITERS };
    Config { method: Method::Cg, precision, smoother, stopping, ..Config::default() }
}

/// How a solution is found that says where to refine.
fn standard() -> Config {
    config(CHEBYSHEV, Precision::Mixed, RTOL)
}

impl<B: Runs<Poisson> + Runs<Stokes> + Runs<Elliptic>> Laboratory<B> {
    /// Unknowns of a point. Of a mesh by cycles, those of the first mesh that has more than `most`, if an earlier one has.
    ///
    /// # Errors
    /// Those of the solves that say where to refine.
    pub fn dofs(&mut self, point: &Point, most: usize) -> Result<usize> {
        let first = point.dofs();
        let (Task::Forest(domain, _), Some(cycles)) = (point.task, point.key.cycle) else { return Ok(first) };
        let place = Place::new(domain, Size::of(point));
        let mut dofs = first;
        for cycle in 0..=cycles {
            if dofs > most {
                break;
            }
            dofs = self.mesh(Place { cycle, ..place })?.1;
        }
        Ok(dofs)
    }

    pub(super) fn forest(
        &mut self,
        domain: Domain,
        size: Size,
        precision: Precision,
        task: ForestTask,
    ) -> Result<Values> {
        let place = Place::new(domain, size);
        match task {
            ForestTask::Product => self.forest_product(place, precision),
            ForestTask::Solve { smoother, timed } => self.forest_solve(place, config(smoother, precision, RTOL), timed),
            ForestTask::Newton { timed } => self.newton(place, precision, timed),
            ForestTask::Speed(part) => self.forest_speed(place, precision, part),
        }
    }

    /// Makes a mesh, and those before it; with its unknowns.
    fn mesh(&mut self, place: Place) -> Result<(Arc<Forest>, usize)> {
        if let Some((_, forest, dofs)) = self.forests.meshes.iter().find(|(known, ..)| *known == place) {
            return Ok((forest.clone(), *dofs));
        }
        let forest = Arc::new(match place.cycle.checked_sub(1) {
            None => place.domain.forest(place.dim, place.refine)?,
            Some(cycle) => self.refined(Place { cycle, ..place })?,
        });
        let dofs = self.new_system(place, &forest)?.layout().dofs();
        self.forests.meshes.push((place, forest.clone(), dofs));
        Ok((forest, dofs))
    }

    /// The mesh of the next cycle.
    fn refined(&mut self, place: Place) -> Result<Forest> {
        let (forest, _) = self.mesh(place)?;
        let known = self.forests.solution.take().filter(|(known, _)| *known == place);
        let u = match known {
            Some((_, u)) => u,
            None => self.solve_on(place, &standard(), Protocol::ONCE)?.1,
        };
        Ok(forest.adapt(&MARKING.mark(&u.kelly_indicators(&place.equation())?)?)?)
    }

    fn system_on(&mut self, place: Place) -> Result<Elliptic> {
        let (forest, _) = self.mesh(place)?;
        match &self.forests.system {
            Some((known, system)) if *known == place => Ok(system.clone()),
            _ => self.new_system(place, &forest),
        }
    }

    fn new_system(&mut self, place: Place, forest: &Forest) -> Result<Elliptic> {
        self.make_room();
        self.forests.system = None;
        let system = Elliptic::new(forest, place.degree, place.equation())?;
        self.forests.system = Some((place, system.clone()));
        Ok(system)
    }

    fn make_room(&mut self) {
        (self.level, self.forests.solution) = (None, None);
    }

    /// Solves from nothing.
    fn solve_on(&mut self, place: Place, config: &Config, protocol: Protocol) -> Result<(Report, ForestFunction)> {
        let system = self.system_on(place)?;
        self.make_room();
        let case = Case { system, problem: place.domain.problem(place.dim), config: *config };
        Ok(case.prepare(&*self.backend)?.solve(&self.backend, protocol, &mut unobserved)?)
    }

    /// Iterations and error of a solve, and its time.
    fn forest_solve(&mut self, place: Place, config: Config, timed: bool) -> Result<Values> {
        let protocol = if timed { self.protocol } else { Protocol::ONCE };
        let (report, u) = self.solve_on(place, &config, protocol)?;
        let Report { cells, dofs, info, errors, timing, .. } = report;
        let mut row = values([("cells", cells as f64), ("nodes", self.system_on(place)?.nodes() as f64)]);
        if config == standard() {
            self.forests.solution = Some((place, u));
        }
        row.insert("iterations".into(), info.converged.then_some(info.iterations as f64));
        row.insert("l2_error".into(), errors.map(|errors| errors.l2));
        if timed && info.converged {
            self.basis.measured("solve", protocol.warmup, timing);
            row.extend(values([
                ("time_s", timing.median_s),
                ("min_s", timing.min_s),
                ("max_s", timing.max_s),
                ("ns_per_dof", 1e9 * timing.median_s / dofs as f64),
            ]));
        }
        Ok(row)
    }

    /// Steps of Newton's method and what is done in them, all their time.
    fn newton(&mut self, place: Place, precision: Precision, timed: bool) -> Result<Values> {
        let protocol = if timed { self.protocol } else { Protocol::ONCE };
        let (report, _) = self.solve_on(place, &config(CHEBYSHEV, precision, CORRECTION_RTOL), protocol)?;
        let Report { cells, info, newton, timing, .. } = report;
        let mut row = values([("cells", cells as f64), ("nodes", self.system_on(place)?.nodes() as f64)]);
        if !info.converged {
            return Ok(row);
        }
        let halvings: f64 = newton.iter().map(|step| -step.step_length.log2()).sum();
        let steps = newton.len() as f64;
        row.extend(values([
            ("steps", steps),
            ("residuals", 1.0 + 2.0 * steps + halvings),
            ("linear_iterations", newton.iter().map(|step| step.linear_iterations as f64).sum()),
        ]));
        if timed {
            self.basis.measured("Newton's method", protocol.warmup, timing);
            let Timing { median_s, min_s, max_s, .. } = timing;
            row.extend(values([("time_s", median_s), ("min_s", min_s), ("max_s", max_s)]));
        }
        Ok(row)
    }

    /// A product of which cells sum up their results in each of some ways.
    fn products_on(&mut self, place: Place, precision: Precision, ways: &[Writes]) -> Result<Vec<Timing>> {
        let system = self.system_on(place)?;
        self.make_room();
        let (backend, protocol) = (self.backend.clone(), self.protocol);
        let mut time = |writes: Writes| {
            let system = system.clone().with_writes(writes);
            let mut level = self.without_basis(|| {
                let level: Box<dyn TimedLevel> = match precision {
                    Precision::F64 => Box::new(LevelBench::<B, f64>::new(&backend, &system)?),
                    _ => Box::new(LevelBench::<B, f32>::new(&backend, &system)?),
                };
                Ok(level)
            })?;
            let (warmup, timing) = timed(&mut *level, Part::Operator, protocol)?;
            self.basis.measured(format!("product, {writes}, {precision}"), warmup, timing);
            Ok(timing)
        };
        ways.iter().map(|&writes| time(writes)).collect()
    }

    /// By all ways on a GPU; a CPU gathers.
    fn forest_product(&mut self, place: Place, precision: Precision) -> Result<Values> {
        let gathers_only = !self.backend.info().backend.is_gpu();
        let ways = [Writes::Gather, Writes::Colors, Writes::Atomics];
        let ways = if gathers_only { &ways[..1] } else { &ways[..] };
        let timings = self.products_on(place, precision, ways)?;
        let system = self.system_on(place)?;
        let mut row = values([("cells", system.cells() as f64)]);
        for (writes, timing) in ways.iter().zip(&timings) {
            row.insert(format!("{writes}_ms"), Some(1e3 * timing.median_s));
        }
        let Timing { median_s, min_s, max_s, .. } = timings[0];
        row.extend(values([
            ("min_ms", 1e3 * min_s),
            ("max_ms", 1e3 * max_s),
            ("gdof_per_s", 1e-9 * system.layout().dofs() as f64 / median_s),
        ]));
        Ok(row)
    }

    /// Nanoseconds for an unknown of a product or of a solve, or seconds of what is more.
    fn forest_speed(&mut self, place: Place, precision: Precision, part: ForestPart) -> Result<Values> {
        let protocol = self.protocol;
        let mut row = Values::new();
        let (timing, per_dof) = match part {
            ForestPart::Product => {
                let timings = self.products_on(place, precision, &[Writes::Gather])?;
                (timings.first().copied(), 1e9 / self.mesh(place)?.1 as f64)
            }
            ForestPart::Solve => {
                let (report, _) = self.solve_on(place, &config(CHEBYSHEV, precision, RTOL), protocol)?;
                row.extend(values([("iterations", report.info.iterations as f64)]));
                self.basis.measured("solve", protocol.warmup, report.timing);
                (report.info.converged.then_some(report.timing), 1e9 / report.dofs as f64)
            }
            ForestPart::Newton => {
                let (report, _) = self.solve_on(place, &config(CHEBYSHEV, precision, CORRECTION_RTOL), protocol)?;
                row.extend(values([("steps", report.newton.len() as f64), ("setup_s", report.setup_s)]));
                self.basis.measured("Newton's method", protocol.warmup, report.timing);
                (report.info.converged.then_some(report.timing), 1.0)
            }
            ForestPart::SetUp => (Some(self.time_of_set_up(place)?), 1.0),
        };
        // The time of a solve that did not end where it should says nothing.
        if let Some(Timing { median_s, min_s, max_s, .. }) = timing {
            row.extend(values([
                ("measured", per_dof * median_s),
                ("min", per_dof * min_s),
                ("max", per_dof * max_s),
                ("time_ms", 1e3 * median_s),
            ]));
        }
        Ok(row)
    }

    /// Seconds from the leaves of a mesh to the end of the first product in `f64`, on the finest of all levels.
    fn time_of_set_up(&mut self, place: Place) -> Result<Timing> {
        let (forest, _) = self.mesh(place)?;
        self.make_room();
        self.forests.system = None;
        let once = || -> Result<f64> {
            let start = Instant::now();
            let system = Elliptic::new(&forest, place.degree, place.equation())?;
            let level = self.backend.level_for_products::<f64>(&system)?;
            let (x, mut y) = (level.vector()?, level.vector()?);
            level.apply(&x, &mut y)?;
            self.backend.synchronize()?;
            Ok(start.elapsed().as_secs_f64())
        };
        let first = once()?;
        let (warmup, seconds) = match self.protocol {
            _ if first > LONG => (0, vec![first]),
            Protocol { warmup, repetitions } => {
                (1..warmup).try_for_each(|_| once().map(drop))?;
                (warmup.max(1), (0..repetitions).map(|_| once()).collect::<Result<_>>()?)
            }
        };
        let timing = Timing::of(seconds)?;
        self.basis.measured("set-up", warmup, timing);
        Ok(timing)
    }
}
