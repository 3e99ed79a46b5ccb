//! From a choice of solver and precision to a solution: sets up operator, multigrid and solver on a backend, and runs
//! them.

mod case;
mod config;

use crate::backend::{PatchKernel, Scalar};
use crate::error::{Error, Result};
use crate::krylov::{Cg, Fgmres, Gmres, Info, Richardson, Solver};
use crate::level::SharedLevel;
use crate::measure::{Protocol, Timing};
use crate::memory;
use crate::multigrid::{Fmg, LowPrecision, LowPrecisionNesting, Multigrid, NestedIteration};
use crate::operator::{LinearOperator, Preconditioner};
use crate::space::Space;
use crate::system::Runs;
use std::sync::Arc;
use std::time::Instant;

pub use case::{Case, PreparedCase, Report, System};
pub use config::{Config, Method, Precision};

/// What [`solve`] found.
#[derive(Clone, Debug)]
pub struct Solution {
    /// Values at the nodes, in the storage order of the space.
    pub values: Vec<f64>,
    /// What the solver did.
    pub info: Info,
    /// Seconds to set up: tables, vectors, the load vector's way to the machine.
    pub setup_s: f64,
    /// Seconds to solve.
    pub timing: Timing,
}

/// Solves `-Δu = f` for the load vector `b_i = ∫ f φ_i`, with that of [boundary values](crate::problem::add_boundary_load) if
/// there are any, given in the storage order of `space`.
///
/// `observer` is told the iteration and its relative residual.
///
/// # Errors
/// Those of [`Config::check`], before anything is allocated; [`Error::SizeMismatch`] for a load vector of another
/// length; those of [`Solver::solve`] and of the backend.
pub fn solve<B: Runs>(
    backend: &Arc<B>,
    space: &Space,
    load: Vec<f64>,
    config: &Config,
    observer: &mut dyn FnMut(usize, f64),
) -> Result<Solution> {
    solve_repeatedly(backend, space, load, config, Protocol::ONCE, observer)
}

/// [`solve`] from `x = 0` as often as `protocol` says, on what is set up once: the last solution, and all times.
///
/// # Errors
/// Those of [`solve`]; [`Error::InvalidArgument`] for no repetition.
pub fn solve_repeatedly<B: Runs>(
    backend: &Arc<B>,
    space: &Space,
    load: Vec<f64>,
    config: &Config,
    protocol: Protocol,
    observer: &mut dyn FnMut(usize, f64),
) -> Result<Solution> {
    protocol.check()?;
    config.check(&**backend, space)?;
    if load.len() != space.storage() {
        return Err(Error::SizeMismatch { what: "load vector", expected: space.storage(), found: load.len() });
    }
    let (smoother, cycle) = (&config.smoother, config.cycle());
    match config.precision {
        Precision::F64 => run::<B, f64, _>(backend, space, load, config, protocol, observer, |operator| {
            Ok((Multigrid::new(backend, space, smoother, cycle)?, solver(config, operator)?))
        }),
        Precision::F32 => run::<B, f32, _>(backend, space, load, config, protocol, observer, |operator| {
            Ok((Multigrid::new(backend, space, smoother, cycle)?, solver(config, operator)?))
        }),
        Precision::Mixed if config.method == Method::Fmg => {
            run::<B, f64, _>(backend, space, load, config, protocol, observer, |operator| {
                let multigrid = LowPrecisionNesting::<B, f64, f32>::new(backend, space, smoother, cycle)?;
                Ok((multigrid, solver(config, operator)?))
            })
        }
        Precision::Mixed => run::<B, f64, _>(backend, space, load, config, protocol, observer, |operator| {
            let multigrid = Multigrid::<B, f32>::new(backend, space, smoother, cycle)?;
            Ok((LowPrecision::new(backend, space, multigrid)?, preconditioned(config, operator)?))
        }),
    }
}

/// `set_up` makes the multigrid and the solver for an operator.
fn run<B: Runs, T: Scalar, M>(
    backend: &Arc<B>,
    space: &Space,
    load: Vec<f64>,
    config: &Config,
    protocol: Protocol,
    observer: &mut dyn FnMut(usize, f64),
    set_up: impl FnOnce(&SharedLevel<B, T>) -> Result<(M, Box<AnySolver<B, T, M>>)>,
) -> Result<Solution> {
    let start = Instant::now();
    let operator = backend.level::<T>(space, PatchKernel::default())?;
    let mut b = operator.vector()?;
    let load: Vec<T> = memory::convert(load)?;
    backend.upload(&load, &mut b)?;
    drop(load);
    let mut x = operator.vector()?;

    let (mut multigrid, mut solver) = set_up(&operator)?;
    backend.synchronize()?;
    let setup_s = start.elapsed().as_secs_f64();

    let (mut info, mut seconds) = (Info::default(), Vec::new());
    for _ in 0..protocol.warmup + protocol.repetitions {
        backend.set_zero(&mut x)?;
        seconds.push(backend.time(&mut || {
            info = solver.solve(&operator, &mut multigrid, &b, &mut x, &config.stopping, observer)?;
            Ok(())
        })?);
    }
    let timing = Timing::of(seconds.split_off(protocol.warmup))?;

    // Makes room for the solution where the machine's memory is the host's.
    drop((solver, multigrid, b));
    let mut values: Vec<T> = memory::zeros(space.storage())?;
    backend.download(&x, &mut values)?;
    Ok(Solution { values: memory::convert(values)?, info, setup_s, timing })
}

type AnySolver<B, T, M> = dyn Solver<B, T, SharedLevel<B, T>, M>;

/// Any solver: full multigrid asks for a multigrid that can do its first pass.
fn solver<B: Runs, T: Scalar, M: NestedIteration<B, T>>(
    config: &Config,
    operator: &SharedLevel<B, T>,
) -> Result<Box<AnySolver<B, T, M>>> {
    match config.method {
        Method::Fmg => Ok(Box::new(Fmg::new(operator)?)),
        _ => preconditioned(config, operator),
    }
}

/// A solver that asks for a preconditioner alone; full multigrid without its first pass is V-cycle iteration.
fn preconditioned<B: Runs, T: Scalar, M: Preconditioner<B, T>>(
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
