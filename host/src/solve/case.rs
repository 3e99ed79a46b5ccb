//! A model problem from its parameters to a report.

use super::{
    Config, Load, NewtonConfig, NewtonSolution, NewtonStart, NewtonStep, OnMachine, Solution, SolutionOnMachine,
    Solver, solve_on_machine,
};
use crate::error::{Result, invalid};
use crate::krylov::{Info, Observer, Outcome};
use crate::measure::{Protocol, Timing};
use crate::problem::{ErrorNorms, SampledLoad};
use crate::system::{ErrorsOnMachine, ModelProblem, Nonlinear, Runs, System};
use std::sync::Arc;
use std::time::Instant;

/// A model problem, its discretization and how to solve it.
#[derive(Clone, Debug)]
pub struct Case<P: ModelProblem> {
    /// Equation, discretization and kernels.
    pub system: P::System,
    /// Right-hand side, and solution if known.
    pub problem: P,
    /// How to solve.
    pub config: Config,
}

/// What a solve did and how well.
#[derive(Clone, Debug, PartialEq)]
pub struct Report<N = ErrorNorms> {
    /// Cells of the mesh.
    pub cells: usize,
    /// Unknowns.
    pub dofs: usize,
    /// What the solver did. Of a nonlinear equation, iterations are the steps of Newton's method.
    pub info: Info,
    /// These steps, if the equation is nonlinear.
    pub newton: Vec<NewtonStep>,
    /// Norms of the error, where the solution is known; none if the iteration diverged.
    pub errors: Option<N>,
    /// Seconds to set up: load vector, tables and vectors.
    pub setup_s: f64,
    /// Seconds to solve.
    pub timing: Timing,
    /// Seconds to compute the errors, on the machine or on the host.
    pub errors_s: f64,
}

/// What the solution of a [`Case`] says, and the solution.
pub type Solved<P> = (Report<<P as ModelProblem>::Errors>, <<P as ModelProblem>::System as System>::Solution);

/// What the solution of a [`Case`] says, and the solution if it is wanted.
pub type Found<P> = (Report<<P as ModelProblem>::Errors>, Option<<<P as ModelProblem>::System as System>::Solution>);

/// What a solve is to find beside what the solver does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Errors, where the solution is known.
    pub errors: bool,
    /// The solution on the host; without it, a solution stays on the machine if errors are computed there, or are not wanted.
    pub solution: bool,
}

impl Wanted {
    /// All.
    pub const ALL: Self = Self { errors: true, solution: true };
    /// Errors alone.
    pub const ERRORS: Self = Self { errors: true, solution: false };
}

/// A case whose load vector is there.
#[derive(Clone)]
pub struct PreparedCase<P: ModelProblem> {
    case: Case<P>,
    load: Load,
    prepare_s: f64,
}

impl<P: ModelProblem> Case<P> {
    /// Whether the system can have the problem, and a backend what it takes to solve.
    ///
    /// # Errors
    /// Those of [`ModelProblem::check`] and [`Config::check`].
    pub fn check<B: Runs<P::System>>(&self, backend: &B) -> Result<()> {
        self.problem.check(&self.system)?;
        self.config.check(backend, &self.system)
    }

    /// The load vector, for a backend that has the memory to solve; where it is a [sum of products](ModelProblem::load_products), or a
    /// GPU [evaluates](ModelProblem::sampled_load) it, what it is made of.
    ///
    /// # Errors
    /// Those of [`Self::check`], before anything large is allocated; those of [`ModelProblem::load`].
    pub fn prepare<B: Runs<P::System>>(self, backend: &B) -> Result<PreparedCase<P>> {
        let start = Instant::now();
        self.check(backend)?;
        let load = match self.problem.load_products(&self.system)? {
            Some(products) => Load::Products(products),
            None => match self.sampled_load(backend)? {
                Some(samples) => Load::Samples(samples),
                None => Load::Values(self.problem.load(&self.system)?),
            },
        };
        Ok(PreparedCase { case: self, load, prepare_s: start.elapsed().as_secs_f64() })
    }

    /// For a GPU; on a host, [`ModelProblem::load`] is faster.
    fn sampled_load<B: Runs<P::System>>(&self, backend: &B) -> Result<Option<SampledLoad>> {
        if backend.info().backend.is_gpu() { self.problem.sampled_load(&self.system) } else { Ok(None) }
    }

    /// Sets up and solves; a report, and the solution.
    ///
    /// # Errors
    /// Those of [`Self::prepare`] and [`PreparedCase::solve`].
    pub fn solve<B: Runs<P::System>>(self, backend: &Arc<B>, observer: &mut Observer) -> Result<Solved<P>> {
        self.prepare(&**backend)?.solve(backend, Protocol::ONCE, observer)
    }
}

impl<P: ModelProblem> PreparedCase<P> {
    /// Solves as often as `protocol` says; a report, and the solution.
    ///
    /// # Errors
    /// Those of [`solve_repeatedly`](super::solve_repeatedly), [`ModelProblem::with_boundary_values`] and [`ModelProblem::errors`].
    pub fn solve<B: Runs<P::System>>(
        self,
        backend: &Arc<B>,
        protocol: Protocol,
        observer: &mut Observer,
    ) -> Result<Solved<P>> {
        self.solve_from(backend, None, protocol, observer)
    }

    /// The same from a guess, in the order of the system's vectors; without one a linear equation begins with zero, and Newton's
    /// method with the solution of a linear one. Residuals of a linear equation remain relative to that of zero.
    ///
    /// # Errors
    /// Those of [`Self::solve`], and [`SizeMismatch`](crate::Error::SizeMismatch) for a guess of another length.
    pub fn solve_from<B: Runs<P::System>>(
        self,
        backend: &Arc<B>,
        guess: Option<&[f64]>,
        protocol: Protocol,
        observer: &mut Observer,
    ) -> Result<Solved<P>> {
        let (report, u) = self.solve_for(backend, guess, Wanted::ALL, protocol, observer)?;
        Ok((report, u.expect("a solution that is wanted")))
    }

    /// The same for what is wanted.
    ///
    /// # Errors
    /// Those of [`Self::solve_from`].
    pub fn solve_for<B: Runs<P::System>>(
        self,
        backend: &Arc<B>,
        guess: Option<&[f64]>,
        wanted: Wanted,
        protocol: Protocol,
        observer: &mut Observer,
    ) -> Result<Found<P>> {
        let Self { case: Case { system, problem, config }, load, prepare_s } = self;
        let mut errors_s = 0.0;
        let (u, errors, info, newton, setup_s, timing) = match problem.nonlinear(&system)? {
            None => {
                let found = solve_on_machine(backend, &system, load, guess, &config, protocol, observer)?;
                let OnMachine { x, left_out, info, setup_s, timing } = found;
                let start = Instant::now();
                let errors = match &info.outcome {
                    _ if !wanted.errors => ErrorsOnMachine::Known(None),
                    Outcome::Diverged { .. } => ErrorsOnMachine::Known(None),
                    _ => problem.errors_on_machine(&system, &SolutionOnMachine(&*x))?,
                };
                errors_s += start.elapsed().as_secs_f64();
                let u = match (wanted.solution, &errors) {
                    (false, ErrorsOnMachine::Known(_)) => None,
                    _ => Some(problem.with_boundary_values(system.solution_with(x.values()?, left_out)?)?),
                };
                (u, errors, info, Vec::new(), setup_s, timing)
            }
            Some(equation) => {
                let linear = load.into_values(system.layout().storage())?;
                let start = guess.map_or(NewtonStart::Linear(&linear), NewtonStart::Guess);
                let (solution, newton) =
                    newton_repeatedly(backend, &system, &equation, start, &config, protocol, observer)?;
                let Solution { u, info, setup_s, timing } = solution;
                let is_known = !wanted.errors || matches!(info.outcome, Outcome::Diverged { .. });
                let errors = if is_known { ErrorsOnMachine::Known(None) } else { ErrorsOnMachine::OnHost };
                (Some(u), errors, info, newton, setup_s, timing)
            }
        };
        let start = Instant::now();
        let errors = match (errors, &u) {
            (ErrorsOnMachine::Known(errors), _) => errors,
            (ErrorsOnMachine::OnHost, u) => u.as_ref().map_or(Ok(None), |u| problem.errors(u))?,
        };
        errors_s += start.elapsed().as_secs_f64();
        let (cells, dofs) = (system.cells(), system.layout().dofs());
        let report = Report { cells, dofs, info, newton, errors, setup_s: prepare_s + setup_s, timing, errors_s };
        Ok((report, u.filter(|_| wanted.solution)))
    }
}

/// [`Solver::newton`] as often as `protocol` says, each time on a solver that is set up anew: the last solution and its steps, and all
/// times.
fn newton_repeatedly<E: System, B: Runs<E>>(
    backend: &Arc<B>,
    system: &E,
    equation: &Nonlinear,
    start: NewtonStart,
    config: &Config,
    protocol: Protocol,
    observer: &mut Observer,
) -> Result<(Solution<E::Solution>, Vec<NewtonStep>)> {
    protocol.check()?;
    let (mut all_seconds, mut found) = (Vec::new(), None);
    for _ in 0..protocol.warmup + protocol.repetitions {
        // The memory of the last one.
        drop(found.take());
        let mut solver = Solver::new(backend, system, config)?;
        let done = solver.newton(equation, start, &NewtonConfig::new(config.stopping), observer)?;
        all_seconds.push(done.seconds);
        found = Some((done, solver.setup_s));
    }
    let timing = Timing::of(all_seconds.split_off(protocol.warmup))?;
    let (done, setup_s) = found.ok_or_else(|| invalid("repetitions", 0, "at least 1"))?;
    let NewtonSolution { u, info, steps, .. } = done;
    Ok((Solution { u, info, setup_s, timing }, steps))
}
