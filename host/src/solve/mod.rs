//! From a choice of solver and precision to a solution: sets up operator, multigrid and solver on a backend, and runs
//! them.

mod case;
mod config;
mod newton;
mod on_machine;
mod ready;

use crate::backend::{Backend, OuterProducts, Scalar};
use crate::error::{Result, check_at_least};
use crate::function::Function;
use crate::krylov::{
    Cg, Fgmres, Gmres, Info, IterativeSolver, Observer, Richardson, RoundedFgmres, Stopping, unobserved,
};
use crate::layout::Layout;
use crate::level::SharedLevel;
use crate::measure::{Protocol, Timing};
use crate::memory;
use crate::multigrid::{Fmg, LowPrecision, LowPrecisionNesting, Multigrid, NestedIteration, levels};
use crate::operator::{LinearOperator, Preconditioner};
use crate::problem::SampledLoad;
use crate::system::{Nonlinear, Runs, System};
use newton::Done;
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

pub use case::{Case, Found, PreparedCase, Report, Solved, Wanted};
pub use config::{Config, Cycle, MemoryPlan, Method, Precision};
pub use newton::{NewtonConfig, NewtonSolution, NewtonStart, NewtonStep};
pub use on_machine::SolutionOnMachine;
use on_machine::{SolutionVector, VectorOnMachine, download};
use ready::announce_solves;

/// What a solve found.
#[derive(Clone, Debug)]
pub struct Solution<U = Function> {
    /// The solution, as the system [makes it](System::solution) of values.
    pub u: U,
    /// What the solver did.
    pub info: Info,
    /// Seconds to set up: tables, vectors, and the load vector's way to the machine.
    pub setup_s: f64,
    /// Seconds to solve.
    pub timing: Timing,
}

/// Solves a system for a load vector in the order of its vectors: for [`Poisson`](crate::system::Poisson)'s equation,
/// `b_i = ∫ f φ_i` and that of [boundary values](crate::system::Poisson::add_boundary_load) if there are any. For more than one
/// right-hand side there is [`Solver`].
///
/// # Errors
/// Those of [`Solver::new`] and [`Solver::solve`].
pub fn solve<E: System, B: Runs<E>>(
    backend: &Arc<B>,
    system: &E,
    load: Vec<f64>,
    config: &Config,
    observer: &mut Observer,
) -> Result<Solution<E::Solution>> {
    solve_repeatedly(backend, system, load, config, Protocol::ONCE, observer)
}

/// [`solve`] from `x = 0` as often as `protocol` says, on what is set up once: the last solution, and all times.
///
/// # Errors
/// Those of [`solve`]; [`InvalidArgument`](crate::Error::InvalidArgument) for no repetition.
pub fn solve_repeatedly<E: System, B: Runs<E>>(
    backend: &Arc<B>,
    system: &E,
    load: Vec<f64>,
    config: &Config,
    protocol: Protocol,
    observer: &mut Observer,
) -> Result<Solution<E::Solution>> {
    let found = solve_on_machine(backend, system, Load::Values(load), None, config, protocol, observer)?;
    let (info, setup_s) = (found.info, found.setup_s);
    Ok(Solution { u: system.solution_with(found.x.values()?, found.left_out)?, info, setup_s, timing: found.timing })
}

/// A load vector.
#[derive(Clone, Debug)]
enum Load {
    /// On the host.
    Values(Vec<f64>),
    /// For the machine to evaluate.
    Products(OuterProducts),
    /// The same.
    Samples(SampledLoad),
}

impl Load {
    /// Entries; a sum of products leaves those behind it zero.
    fn check(&self, layout: &Layout) -> Result<()> {
        match self {
            Self::Values(values) => layout.check("load vector", values.len()),
            Self::Products(tensor) => check_at_least("load vector", tensor.len(), layout.storage()),
            Self::Samples(load) => layout.check("load vector", load.len()),
        }
    }

    /// On the host, with so many entries.
    fn into_values(self, storage: usize) -> Result<Vec<f64>> {
        match self {
            Self::Values(values) => Ok(values),
            Self::Products(tensor) => {
                let mut values = memory::zeros(storage)?;
                tensor.evaluate(&mut values, false);
                Ok(values)
            }
            Self::Samples(load) => load.values(),
        }
    }

    /// As the machine takes it, and what was [left out](System::left_out).
    fn projected<E: System>(self, system: &E) -> Result<(Self, f64)> {
        match self {
            Self::Values(values) => {
                let left_out = system.left_out(&values);
                Ok((Self::Values(system.project_load(values.into())?.into_owned()), left_out))
            }
            Self::Products(_) | Self::Samples(_) => Ok((self, 0.0)),
        }
    }
}

/// What a solve found, with the solution on the machine.
struct OnMachine<B: Backend> {
    x: Box<dyn VectorOnMachine<B>>,
    left_out: f64,
    info: Info,
    setup_s: f64,
    timing: Timing,
}

/// [`solve_repeatedly`], from a guess if there is one; all but the solution is freed.
fn solve_on_machine<E: System, B: Runs<E>>(
    backend: &Arc<B>,
    system: &E,
    load: Load,
    guess: Option<&[f64]>,
    config: &Config,
    protocol: Protocol,
    observer: &mut Observer,
) -> Result<OnMachine<B>> {
    protocol.check()?;
    guess.map_or(Ok(()), |guess| system.layout().check("guess", guess.len()))?;
    let SetUp { mut parts, left_out, setup_s } = set_up(backend, system, config, Some(load))?;
    let (mut info, mut seconds) = (Info::default(), Vec::new());
    for _ in 0..protocol.warmup + protocol.repetitions {
        let (done, took) = parts.run(guess, &config.stopping, observer)?;
        info = done;
        seconds.push(took);
    }
    let timing = Timing::of(seconds.split_off(protocol.warmup))?;
    Ok(OnMachine { x: parts.into_solution(), left_out, info, setup_s, timing })
}

/// What a [`Solver`] is made of.
struct SetUp<B: Backend> {
    parts: Box<dyn PartsOn<B>>,
    left_out: f64,
    setup_s: f64,
}

/// Allocates all that solves need; with the first load vector, whose memory on the host is free again before the multigrid's vectors are allocated.
fn set_up<E: System, B: Runs<E>>(
    backend: &Arc<B>,
    system: &E,
    config: &Config,
    load: Option<Load>,
) -> Result<SetUp<B>> {
    config.check(&**backend, system)?;
    load.as_ref().map_or(Ok(()), |load| load.check(&system.layout()))?;
    let start = Instant::now();
    let (load, left_out) = load.map(|load| load.projected(system)).transpose()?.unzip();
    let parts = parts(backend, system, config, load)?;
    backend.synchronize()?;
    Ok(SetUp { parts, left_out: left_out.unwrap_or(0.0), setup_s: start.elapsed().as_secs_f64() })
}

/// Operator, multigrid and solver of a system, with all their vectors on a machine: set up once, for any number of right-hand
/// sides.
///
/// ```
/// use patchmg::backend::cpu::Cpu;
/// use patchmg::mesh::Mesh;
/// use patchmg::problem::load_vector;
/// use patchmg::solve::{Config, Solver};
/// use patchmg::system::Poisson;
/// use glam::DVec3;
/// use std::sync::Arc;
///
/// # fn main() -> patchmg::Result<()> {
/// let poisson = Poisson::continuous(Mesh::unit_cube(2, 4)?, 3)?;
/// let mut solver = Solver::new(&Arc::new(Cpu::new(None)?), &poisson, &Config::default())?;
/// for frequency in 1..4 {
///     let load = load_vector(solver.system().space(), &|x: DVec3| (f64::from(frequency) * x.x).sin())?;
///     let solution = solver.solve(&load)?;
///     println!("{}", solution.u.at(DVec3::new(0.5, 0.5, 0.0))?);
/// }
/// # Ok(())
/// # }
/// ```
pub struct Solver<E: System> {
    system: E,
    layout: Layout,
    stopping: Stopping,
    parts: Box<dyn Parts>,
    setup_s: f64,
}

impl<E: System> Solver<E> {
    /// Allocates all that solves need.
    ///
    /// # Errors
    /// Those of [`Config::check`], before anything is allocated, and of the backend.
    pub fn new<B: Runs<E>>(backend: &Arc<B>, system: &E, config: &Config) -> Result<Self> {
        let SetUp { parts, setup_s, .. } = set_up(backend, system, config, None)?;
        let (layout, stopping) = (system.layout(), config.stopping);
        Ok(Self { system: system.clone(), layout, stopping, parts, setup_s })
    }

    /// The system.
    pub fn system(&self) -> &E {
        &self.system
    }

    /// From `x = 0`, for a load vector in the order of the system's vectors, as in [`solve`].
    ///
    /// # Errors
    /// [`SizeMismatch`](crate::Error::SizeMismatch) for a load vector of another length; those of [`IterativeSolver::solve`]
    /// and of the backend.
    pub fn solve(&mut self, load: &[f64]) -> Result<Solution<E::Solution>> {
        self.solve_from(load, None, &mut unobserved)
    }

    /// From a guess if there is one, in the order of the system's vectors: full multigrid then leaves out its first pass.
    ///
    /// # Errors
    /// Those of [`Self::solve`], and [`SizeMismatch`](crate::Error::SizeMismatch) for a guess of another length.
    pub fn solve_from(
        &mut self,
        load: &[f64],
        guess: Option<&[f64]>,
        observer: &mut Observer,
    ) -> Result<Solution<E::Solution>> {
        self.layout.check("load vector", load.len())?;
        guess.map_or(Ok(()), |guess| self.layout.check("guess", guess.len()))?;
        let start = Instant::now();
        self.parts.load(&self.system.project_load(load.into())?)?;
        let setup_s = start.elapsed().as_secs_f64();
        let (info, seconds) = self.parts.run(guess, &self.stopping, observer)?;
        let u = self.system.solution_with(self.parts.values()?, self.system.left_out(load))?;
        Ok(Solution { u, info, setup_s, timing: Timing::of(vec![seconds])? })
    }
}

/// A [`Solver`] in a precision.
trait Parts {
    fn load(&mut self, load: &[f64]) -> Result<()>;
    /// From a guess, or zero; what was done, and seconds.
    fn run(&mut self, guess: Option<&[f64]>, stopping: &Stopping, observer: &mut Observer) -> Result<(Info, f64)>;
    /// [`Solver::newton`].
    fn newton(
        &mut self,
        equation: &Nonlinear,
        start: NewtonStart,
        config: &NewtonConfig,
        observer: &mut Observer,
    ) -> Result<Done>;
    fn values(&self) -> Result<Vec<f64>>;
}

/// The same where the machine is known.
trait PartsOn<B: Backend>: Parts {
    /// The solution alone.
    fn into_solution(self: Box<Self>) -> Box<dyn VectorOnMachine<B>>;
}

struct PartsIn<B: Backend, T: Scalar, M> {
    backend: Arc<B>,
    operator: SharedLevel<B, T>,
    /// Whether the operator is no level of the multigrid.
    has_own_operator: bool,
    multigrid: M,
    solver: Box<AnySolver<B, T, M>>,
    b: B::Vector<T>,
    x: B::Vector<T>,
}

fn parts<E: System, B: Runs<E>>(
    backend: &Arc<B>,
    system: &E,
    config: &Config,
    load: Option<Load>,
) -> Result<Box<dyn PartsOn<B>>> {
    let single = |levels: &[SharedLevel<B, f32>]| {
        Multigrid::with_levels(levels, |level| config.smoother.build(level), config.cycle())
    };
    let outer = system.by_default_kernels();
    Ok(match config.precision {
        Precision::F64 => parts_in::<E, B, f64>(backend, system, config, load)?,
        Precision::F32 => parts_in::<E, B, f32>(backend, system, config, load)?,
        Precision::Mixed if config.method == Method::Fmg => {
            let (low, levels) = (levels::<E, B, f32>(backend, system)?, levels::<E, B, f64>(backend, &outer)?);
            Box::new(PartsIn::new(config, &levels, true, load, |operator| {
                Ok((LowPrecisionNesting::new(&levels, single(&low)?)?, solver(config, operator)?))
            })?)
        }
        Precision::Mixed => {
            let (low, operator) = (levels::<E, B, f32>(backend, system)?, backend.level_for_products::<f64>(&outer)?);
            Box::new(PartsIn::new(config, &[operator], true, load, |operator| {
                // A V-cycle in lower precision is no fixed linear map: `M (V y)` differs from `sum y_j M v_j` by its rounding, which the
                // operator enlarges. The flexible variant, the same in exact arithmetic, keeps the `M v_j`.
                let solver: Box<AnySolver<B, f64, _>> = match config.method {
                    Method::Gmres | Method::Fgmres => Box::new(RoundedFgmres::new(operator, config.basis_vectors())?),
                    _ => preconditioned(config, operator)?,
                };
                Ok((LowPrecision::new(backend, single(&low)?, operator.storage())?, solver))
            })?)
        }
    })
}

/// All of them in one scalar. The operator is the finest level of the V-cycle if it has the same kernels.
fn parts_in<E: System, B: Runs<E>, T: Scalar>(
    backend: &Arc<B>,
    system: &E,
    config: &Config,
    load: Option<Load>,
) -> Result<Box<dyn PartsOn<B>>> {
    let levels = levels::<E, B, T>(backend, system)?;
    let (operator, has_own_operator) = match system.by_default_kernels() {
        Cow::Borrowed(_) => (levels[levels.len() - 1].clone(), false),
        Cow::Owned(outer) => (backend.level(&outer)?, true),
    };
    Ok(Box::new(PartsIn::new(config, &[operator], has_own_operator, load, |operator| {
        let multigrid = Multigrid::with_levels(&levels, |level| config.smoother.build(level), config.cycle())?;
        Ok((multigrid, solver(config, operator)?))
    })?))
}

impl<B: Backend, T: Scalar, M: Preconditioner<B, T>> PartsIn<B, T, M> {
    /// `set_up` makes the multigrid and the solver for the operator, which is the last of `levels`; on the others the solver itself computes.
    fn new(
        config: &Config,
        levels: &[SharedLevel<B, T>],
        has_own_operator: bool,
        load: Option<Load>,
        set_up: impl FnOnce(&SharedLevel<B, T>) -> Result<(M, Box<AnySolver<B, T, M>>)>,
    ) -> Result<Self> {
        let operator = levels[levels.len() - 1].clone();
        let (backend, mut b, mut x) = (operator.backend().clone(), operator.vector()?, operator.vector()?);
        // Before the load is computed, so that kernels are compiled together, and before V-cycles are recorded: recordings last until memory is given
        // back.
        announce_solves(config, levels, &b, &mut x)?;
        match load {
            Some(Load::Values(load)) => backend.upload(&memory::convert::<f64, T>(load)?, &mut b)?,
            Some(Load::Products(tensor)) => backend.outer_products(&tensor, &mut b, false)?,
            Some(Load::Samples(load)) => load.write(&*backend, &mut b)?,
            None => {}
        }
        let (mut multigrid, solver) = set_up(&operator)?;
        // In mixed precision its cycle has been recorded.
        if multigrid.is_fixed() {
            backend.announce(&mut || multigrid.apply(&b, &mut x))?;
        }
        backend.prepare_announced();
        Ok(Self { backend, operator, has_own_operator, multigrid, solver, b, x })
    }
}

/// `values` in the scalar of a vector, to the machine.
fn upload<B: Backend, T: Scalar>(backend: &B, values: &[f64], vector: &mut B::Vector<T>) -> Result<()> {
    if size_of::<T>() == size_of::<f64>() {
        return backend.upload(bytemuck::cast_slice::<f64, T>(values), vector);
    }
    let mut rounded: Vec<T> = memory::zeros(values.len())?;
    rounded.iter_mut().zip(values).for_each(|(rounded, &value)| *rounded = T::from_f64(value));
    backend.upload(&rounded, vector)
}

impl<B: Backend, T: Scalar, M: Preconditioner<B, T>> Parts for PartsIn<B, T, M> {
    fn load(&mut self, load: &[f64]) -> Result<()> {
        upload(&*self.backend, load, &mut self.b)
    }

    fn run(&mut self, guess: Option<&[f64]>, stopping: &Stopping, observer: &mut Observer) -> Result<(Info, f64)> {
        let Self { backend, operator, multigrid, solver, b, x, .. } = self;
        if let Some(guess) = guess {
            upload(&**backend, guess, x)?;
        }
        let (mut info, before) = (Info::default(), multigrid.inner_iterations());
        let seconds = backend.time(&mut || {
            info = match guess {
                Some(_) => solver.solve_from(operator, multigrid, b, x, stopping, observer)?,
                None => solver.solve(operator, multigrid, b, x, stopping, observer)?,
            };
            Ok(())
        })?;
        info.inner_iterations = multigrid.inner_iterations().zip(before).map(|(after, before)| after - before);
        Ok((info, seconds))
    }

    fn newton(
        &mut self,
        equation: &Nonlinear,
        start: NewtonStart,
        config: &NewtonConfig,
        observer: &mut Observer,
    ) -> Result<Done> {
        self.newton(equation, start, config, observer)
    }

    fn values(&self) -> Result<Vec<f64>> {
        download(&*self.backend, &self.x, self.operator.storage())
    }
}

impl<B: Backend, T: Scalar, M: Preconditioner<B, T>> PartsOn<B> for PartsIn<B, T, M> {
    fn into_solution(self: Box<Self>) -> Box<dyn VectorOnMachine<B>> {
        let Self { backend, operator, x, .. } = *self;
        Box::new(SolutionVector::<B, T> { backend, x, len: operator.storage() })
    }
}

type AnySolver<B, T, M> = dyn IterativeSolver<B, T, SharedLevel<B, T>, M>;

/// Any solver: full multigrid asks for a multigrid that can do its first pass.
fn solver<B: Backend, T: Scalar, M: NestedIteration<B, T>>(
    config: &Config,
    operator: &SharedLevel<B, T>,
) -> Result<Box<AnySolver<B, T, M>>> {
    match config.method {
        Method::Fmg => Ok(Box::new(Fmg::new(operator)?)),
        _ => preconditioned(config, operator),
    }
}

/// A solver that asks for a preconditioner alone; full multigrid without its first pass is V-cycle iteration.
fn preconditioned<B: Backend, T: Scalar, M: Preconditioner<B, T>>(
    config: &Config,
    operator: &SharedLevel<B, T>,
) -> Result<Box<AnySolver<B, T, M>>> {
    Ok(match config.method {
        Method::Fmg | Method::VCycle => Box::new(Richardson::new(operator)?),
        Method::Gmres => Box::new(Gmres::new(operator, config.basis_vectors())?),
        Method::Fgmres => Box::new(Fgmres::new(operator, config.basis_vectors())?),
        Method::Cg => Box::new(Cg::new(operator)?),
    })
}
