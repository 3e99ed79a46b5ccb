//! From a choice of solver and precision to a solution: sets up operator, multigrid and solver on a backend, and runs
//! them.

use crate::backend::{Backend, Scalar};
use crate::error::{Error, Result};
use crate::krylov::{Cg, DEFAULT_RESTART, Fgmres, Gmres, Info, Richardson, Solver, Stopping};
use crate::multigrid::{Fmg, FullCycle, LowPrecision, Multigrid, VCycle, hierarchy};
use crate::operator::{LinearOperator, Poisson};
use crate::space::Space;
use std::sync::Arc;
use std::time::Instant;

/// How to solve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// Full multigrid.
    #[default]
    Fmg,
    /// V-cycle iteration.
    VCycle,
    /// Restarted GMRES, right-preconditioned by a V-cycle.
    Gmres,
    /// Flexible GMRES, preconditioned by a V-cycle.
    Fgmres,
    /// Conjugate gradients, preconditioned by a symmetric V-cycle.
    Cg,
}

/// Scalars of the solver and of its V-cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// `f64` throughout.
    #[default]
    F64,
    /// `f32` throughout; residuals stop falling at about 1e-6.
    F32,
    /// V-cycle in `f32`, the rest in `f64`.
    Mixed,
}

/// What [`solve`] does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// How to solve.
    pub method: Method,
    /// In which precision.
    pub precision: Precision,
    /// Until when.
    pub stopping: Stopping,
    /// Basis vectors of GMRES; more than `stopping.max_iters` are not allocated.
    pub restart: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            method: Method::default(),
            precision: Precision::default(),
            stopping: Stopping::default(),
            restart: DEFAULT_RESTART,
        }
    }
}

impl Config {
    /// Bytes of machine memory that [`solve`] needs: all vectors, and the eigenvalues of a patch on every level.
    ///
    /// # Errors
    /// Those of [`Space::new`] on the coarser levels.
    pub fn bytes<B: Backend>(&self, space: &Space) -> Result<u64> {
        let multigrid = match self.precision {
            Precision::F64 => Multigrid::<B, f64>::bytes(space)?,
            Precision::F32 => Multigrid::<B, f32>::bytes(space)?,
            Precision::Mixed => {
                Multigrid::<B, f32>::bytes(space)? + LowPrecision::<B, f64, f32, Multigrid<B, f32>>::bytes(space)
            }
        };
        Ok(multigrid
            + match self.precision {
                Precision::F32 => self.outer_bytes::<B, f32>(space),
                Precision::F64 | Precision::Mixed => self.outer_bytes::<B, f64>(space),
            })
    }

    fn outer_bytes<B: Backend, T: Scalar>(&self, space: &Space) -> u64 {
        let storage = space.storage();
        let load_and_solution = 2 * (storage * size_of::<T>()) as u64;
        load_and_solution
            + match self.method {
                Method::Fmg => Fmg::<B, T>::bytes(storage),
                Method::VCycle => Richardson::<B, T>::bytes(storage),
                Method::Gmres => Gmres::<B, T>::bytes(storage, self.basis()),
                Method::Fgmres => Fgmres::<B, T>::bytes(storage, self.basis()),
                Method::Cg => Cg::<B, T>::bytes(storage),
            }
    }

    /// Whether the values are allowed, and the backend has the memory.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] and [`Error::OutOfMemory`].
    pub fn check<B: Backend>(&self, backend: &B, space: &Space) -> Result<()> {
        self.stopping.check()?;
        if self.restart == 0 {
            return Err(Error::InvalidArgument { name: "restart", value: "0".into(), allowed: "at least 1".into() });
        }
        let (needed, info) = (self.bytes::<B>(space)?, backend.info());
        if needed > info.memory_free {
            return Err(Error::OutOfMemory { device: info.name, needed, available: info.memory_free });
        }
        Ok(())
    }

    fn basis(&self) -> usize {
        self.restart.min(self.stopping.max_iters)
    }

    fn cycle(&self) -> VCycle {
        if self.method == Method::Cg { VCycle::symmetric() } else { VCycle::default() }
    }
}

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
    pub solve_s: f64,
}

/// Solves `-Δu = f` for the load vector `b_i = ∫ f φ_i`, given in the storage order of `space`.
///
/// `observer` is told the iteration and its relative residual.
///
/// # Errors
/// Those of [`Config::check`], before anything is allocated; [`Error::SizeMismatch`] for a load vector of another
/// length; those of [`Solver::solve`] and of the backend.
pub fn solve<B: Backend>(
    backend: &Arc<B>,
    space: &Space,
    load: Vec<f64>,
    config: &Config,
    observer: &mut dyn FnMut(usize, f64),
) -> Result<Solution> {
    config.check(&**backend, space)?;
    if load.len() != space.storage() {
        return Err(Error::SizeMismatch { what: "load vector", expected: space.storage(), found: load.len() });
    }
    let cycle = config.cycle();
    match config.precision {
        Precision::F64 => {
            run::<B, f64, _>(backend, space, load, config, observer, || Multigrid::<B, f64>::new(backend, space, cycle))
        }
        Precision::F32 => {
            run::<B, f32, _>(backend, space, load, config, observer, || Multigrid::<B, f32>::new(backend, space, cycle))
        }
        Precision::Mixed => run::<B, f64, _>(backend, space, load, config, observer, || {
            LowPrecision::new(backend, space, Multigrid::<B, f32>::new(backend, space, cycle)?)
        }),
    }
}

fn run<B: Backend, T: Scalar, M: FullCycle<B, T>>(
    backend: &Arc<B>,
    space: &Space,
    load: Vec<f64>,
    config: &Config,
    observer: &mut dyn FnMut(usize, f64),
    multigrid: impl FnOnce() -> Result<M>,
) -> Result<Solution> {
    let start = Instant::now();
    let operator = Poisson::<B, T>::new(backend, space)?;
    let mut b = operator.vector()?;
    let load: Vec<T> = load.into_iter().map(T::from_f64).collect();
    backend.upload(&load, &mut b)?;
    drop(load);
    let mut x = operator.vector()?;

    let mut multigrid = multigrid()?;
    let mut solver = solver::<B, T, M>(config, &operator)?;
    backend.synchronize()?;
    let setup_s = start.elapsed().as_secs_f64();

    let start = Instant::now();
    let info = solver.solve(&operator, &mut multigrid, &b, &mut x, &config.stopping, observer)?;
    backend.synchronize()?;
    let solve_s = start.elapsed().as_secs_f64();

    // Makes room for the solution where the machine's memory is the host's.
    drop((solver, multigrid, b));
    let mut values = vec![T::ZERO; space.storage()];
    backend.download(&x, &mut values)?;
    Ok(Solution { values: values.into_iter().map(T::to_f64).collect(), info, setup_s, solve_s })
}

fn solver<B: Backend, T: Scalar, M: FullCycle<B, T>>(
    config: &Config,
    operator: &Poisson<B, T>,
) -> Result<Box<dyn Solver<B, T, Poisson<B, T>, M>>> {
    Ok(match config.method {
        Method::Fmg => Box::new(Fmg::new(operator)?),
        Method::VCycle => Box::new(Richardson::new(operator)?),
        Method::Gmres => Box::new(Gmres::new(operator, config.basis())?),
        Method::Fgmres => Box::new(Fgmres::new(operator, config.basis())?),
        Method::Cg => Box::new(Cg::new(operator)?),
    })
}
