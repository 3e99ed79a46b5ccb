//! From a choice of solver and precision to a solution: sets up operator, multigrid and solver on a backend, and runs
//! them.

mod case;
mod config;
mod newton;

use crate::backend::{Backend, Scalar};
use crate::error::{Error, Result};
use crate::function::Function;
use crate::krylov::{Cg, Fgmres, Gmres, Info, IterativeSolver, Observer, Richardson, Stopping, unobserved};
use crate::layout::Layout;
use crate::level::SharedLevel;
use crate::measure::{Protocol, Timing};
use crate::memory;
use crate::multigrid::{Fmg, LowPrecision, LowPrecisionNesting, Multigrid, NestedIteration, levels};
use crate::operator::{LinearOperator, Preconditioner};
use crate::system::{Nonlinear, Runs, System};
use newton::Done;
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

pub use case::{Case, PreparedCase, Report, Solved};
pub use config::{Config, Cycle, MemoryPlan, Method, Precision};
pub use newton::{NewtonConfig, NewtonSolution, NewtonStart, NewtonStep};

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
/// Those of [`solve`]; [`Error::InvalidArgument`] for no repetition.
pub fn solve_repeatedly<E: System, B: Runs<E>>(
    backend: &Arc<B>,
    system: &E,
    load: Vec<f64>,
    config: &Config,
    protocol: Protocol,
    observer: &mut Observer,
) -> Result<Solution<E::Solution>> {
    solve_from_repeatedly(backend, system, load, None, config, protocol, observer)
}

/// The same from a guess, if there is one.
fn solve_from_repeatedly<E: System, B: Runs<E>>(
    backend: &Arc<B>,
    system: &E,
    load: Vec<f64>,
    guess: Option<&[f64]>,
    config: &Config,
    protocol: Protocol,
    observer: &mut Observer,
) -> Result<Solution<E::Solution>> {
    protocol.check()?;
    guess.map_or(Ok(()), |guess| system.layout().check("guess", guess.len()))?;
    let mut solver = Solver::set_up(backend, system, config, Some(load))?;
    let (mut info, mut seconds) = (Info::default(), Vec::new());
    for _ in 0..protocol.warmup + protocol.repetitions {
        let (done, took) = solver.parts.run(guess, &config.stopping, observer)?;
        info = done;
        seconds.push(took);
    }
    let timing = Timing::of(seconds.split_off(protocol.warmup))?;
    let Solver { parts, left_out, setup_s, .. } = solver;
    Ok(Solution { u: system.solution_with(parts.into_values()?, left_out)?, info, setup_s, timing })
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
    /// Of the solution for the first load vector: see [`System::left_out`].
    left_out: f64,
    setup_s: f64,
}

impl<E: System> Solver<E> {
    /// Allocates all that solves need.
    ///
    /// # Errors
    /// Those of [`Config::check`], before anything is allocated, and of the backend.
    pub fn new<B: Runs<E>>(backend: &Arc<B>, system: &E, config: &Config) -> Result<Self> {
        Self::set_up(backend, system, config, None)
    }

    /// With the first load vector, whose memory is free again before the multigrid takes its own.
    fn set_up<B: Runs<E>>(backend: &Arc<B>, system: &E, config: &Config, load: Option<Vec<f64>>) -> Result<Self> {
        config.check(&**backend, system)?;
        let layout = system.layout();
        if let Some(load) = &load {
            layout.check("load vector", load.len())?;
        }
        let start = Instant::now();
        let left_out = load.as_ref().map_or(0.0, |load| system.left_out(load));
        let load = load.map(|load| Ok::<_, Error>(system.project_load(load.into())?.into_owned())).transpose()?;
        let parts = parts(backend, system, config, load)?;
        backend.synchronize()?;
        let setup_s = start.elapsed().as_secs_f64();
        Ok(Self { system: system.clone(), layout, stopping: config.stopping, parts, left_out, setup_s })
    }

    /// The system.
    pub fn system(&self) -> &E {
        &self.system
    }

    /// From `x = 0`, for a load vector in the order of the system's vectors, as in [`solve`].
    ///
    /// # Errors
    /// [`Error::SizeMismatch`] for a load vector of another length; those of [`IterativeSolver::solve`]
    /// and of the backend.
    pub fn solve(&mut self, load: &[f64]) -> Result<Solution<E::Solution>> {
        self.solve_from(load, None, &mut unobserved)
    }

    /// From a guess if there is one, in the order of the system's vectors: full multigrid then leaves out its first pass.
    ///
    /// # Errors
    /// Those of [`Self::solve`], and [`Error::SizeMismatch`] for a guess of another length.
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
    /// The values alone.
    fn into_values(self: Box<Self>) -> Result<Vec<f64>>;
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
    load: Option<Vec<f64>>,
) -> Result<Box<dyn Parts>> {
    let single = || Multigrid::<B, f32>::new(backend, system, &config.smoother, config.cycle());
    let outer = system.by_default_kernels();
    Ok(match config.precision {
        Precision::F64 => parts_in::<E, B, f64>(backend, system, config, load)?,
        Precision::F32 => parts_in::<E, B, f32>(backend, system, config, load)?,
        Precision::Mixed if config.method == Method::Fmg => {
            let levels = levels::<E, B, f64>(backend, &outer)?;
            Box::new(PartsIn::new(levels[levels.len() - 1].clone(), true, load, |operator| {
                Ok((LowPrecisionNesting::new(&levels, single()?)?, solver(config, operator)?))
            })?)
        }
        Precision::Mixed => {
            Box::new(PartsIn::new(backend.level_for_products::<f64>(&outer)?, true, load, |operator| {
                Ok((LowPrecision::new(backend, single()?, operator.storage())?, preconditioned(config, operator)?))
            })?)
        }
    })
}

/// All of them in one scalar. The operator is the finest level of the V-cycle if it has the same kernels.
fn parts_in<E: System, B: Runs<E>, T: Scalar>(
    backend: &Arc<B>,
    system: &E,
    config: &Config,
    load: Option<Vec<f64>>,
) -> Result<Box<dyn Parts>> {
    let levels = levels::<E, B, T>(backend, system)?;
    let (operator, has_own_operator) = match system.by_default_kernels() {
        Cow::Borrowed(_) => (levels[levels.len() - 1].clone(), false),
        Cow::Owned(outer) => (backend.level(&outer)?, true),
    };
    Ok(Box::new(PartsIn::new(operator, has_own_operator, load, |operator| {
        let multigrid = Multigrid::with_levels(&levels, |level| config.smoother.build(level), config.cycle())?;
        Ok((multigrid, solver(config, operator)?))
    })?))
}

impl<B: Backend, T: Scalar, M> PartsIn<B, T, M> {
    /// `set_up` makes the multigrid and the solver for an operator.
    fn new(
        operator: SharedLevel<B, T>,
        has_own_operator: bool,
        load: Option<Vec<f64>>,
        set_up: impl FnOnce(&SharedLevel<B, T>) -> Result<(M, Box<AnySolver<B, T, M>>)>,
    ) -> Result<Self> {
        let (backend, mut b) = (operator.backend().clone(), operator.vector()?);
        if let Some(load) = load {
            let load: Vec<T> = memory::convert(load)?;
            backend.upload(&load, &mut b)?;
        }
        let x = operator.vector()?;
        let (multigrid, solver) = set_up(&operator)?;
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

/// A vector of the machine in `f64`.
fn download<B: Backend, T: Scalar>(backend: &B, vector: &B::Vector<T>, len: usize) -> Result<Vec<f64>> {
    let mut values: Vec<T> = memory::zeros(len)?;
    backend.download(vector, &mut values)?;
    memory::convert(values)
}

impl<B: Backend, T: Scalar, M: Preconditioner<B, T>> Parts for PartsIn<B, T, M> {
    fn load(&mut self, load: &[f64]) -> Result<()> {
        upload(&*self.backend, load, &mut self.b)
    }

    fn run(&mut self, guess: Option<&[f64]>, stopping: &Stopping, observer: &mut Observer) -> Result<(Info, f64)> {
        let Self { backend, operator, multigrid, solver, b, x, .. } = self;
        match guess {
            Some(guess) => upload(&**backend, guess, x)?,
            None => backend.set_zero(x)?,
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

    fn into_values(self: Box<Self>) -> Result<Vec<f64>> {
        let Self { backend, operator, multigrid, solver, b, x, .. } = *self;
        // Makes room for the solution where the machine's memory is the host's.
        drop((solver, multigrid, b));
        download(&*backend, &x, operator.storage())
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
        // A V-cycle in lower precision is no fixed linear map: `M⁻¹ (V y)` differs from `sum y_j M⁻¹ v_j` by its rounding,
        // which the operator enlarges. The flexible variant, the same in exact arithmetic, keeps the `M⁻¹ v_j`.
        Method::Gmres if config.precision == Precision::Mixed => {
            Box::new(Fgmres::new(operator, config.basis_vectors())?)
        }
        Method::Gmres => Box::new(Gmres::new(operator, config.basis_vectors())?),
        Method::Fgmres => Box::new(Fgmres::new(operator, config.basis_vectors())?),
        Method::Cg => Box::new(Cg::new(operator)?),
    })
}
