//! What a solve is to do, and the memory that it takes.

use crate::backend::{Backend, Scalar};
use crate::choice::named_choice;
use crate::error::{Error, Result};
use crate::krylov::{Cg, DEFAULT_RESTART, Fgmres, Gmres, Richardson, RoundedFgmres, Stopping, check_restart};
use crate::multigrid::{Fmg, LowPrecision, LowPrecisionNesting, Multigrid, SmootherConfig, VCycle};
use crate::operator::vector_bytes;
use crate::system::{Runs, System};
use std::borrow::Cow;

/// How to solve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// Full multigrid.
    #[default]
    Fmg,
    /// V-cycle iteration.
    VCycle,
    /// Restarted GMRES, right-preconditioned by a V-cycle; flexible in mixed precision, where a V-cycle's rounding makes
    /// it a different map each time.
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

impl Method {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Fmg, Self::VCycle, Self::Gmres, Self::Fgmres, Self::Cg];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fmg => "fmg",
            Self::VCycle => "vcycle",
            Self::Gmres => "gmres",
            Self::Fgmres => "fgmres",
            Self::Cg => "cg",
        }
    }
}

impl Precision {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::F64, Self::F32, Self::Mixed];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::F64 => "f64",
            Self::F32 => "f32",
            Self::Mixed => "mixed",
        }
    }
}

named_choice!(Method, "method");
named_choice!(Precision, "precision");

/// The order in which a cycle visits the levels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Cycle {
    /// Down and up once.
    #[default]
    V,
    /// Every coarse correction by two cycles.
    W,
}

impl Cycle {
    /// Both.
    pub const ALL: [Self; 2] = [Self::V, Self::W];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::V => "v",
            Self::W => "w",
        }
    }
}

named_choice!(Cycle, "cycle");

/// What [`solve`](super::solve) does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// How to solve.
    pub method: Method,
    /// In which precision.
    pub precision: Precision,
    /// Smoother of the cycle.
    pub smoother: SmootherConfig,
    /// V-cycle or W-cycle.
    pub cycle: Cycle,
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
            smoother: SmootherConfig::default(),
            cycle: Cycle::default(),
            stopping: Stopping::default(),
            restart: DEFAULT_RESTART,
        }
    }
}

/// Bytes of a machine's memory that a solve takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryPlan {
    /// Tables and vectors of each level of the V-cycle, and of full multigrid around it, coarse to fine.
    pub levels: Vec<u64>,
    /// The rest: the solver's vectors and its operator, right-hand side and solution.
    pub solver: u64,
}

impl MemoryPlan {
    /// All.
    pub fn total(&self) -> u64 {
        self.levels.iter().sum::<u64>() + self.solver
    }
}

impl Config {
    /// Bytes of the machine's memory that [`solve`](super::solve) needs: all vectors and tables.
    ///
    /// # Errors
    /// Those of [`hierarchy`](crate::multigrid::hierarchy).
    pub fn bytes<E: System, B: Runs<E>>(&self, system: &E) -> Result<u64> {
        Ok(self.memory_plan::<E, B>(system)?.total())
    }

    /// The same by levels.
    ///
    /// # Errors
    /// Those of [`hierarchy`](crate::multigrid::hierarchy).
    pub fn memory_plan<E: System, B: Runs<E>>(&self, system: &E) -> Result<MemoryPlan> {
        let (storage, outer) = (system.layout().storage(), system.by_default_kernels());
        let mut plan = match self.precision {
            Precision::F64 => self.plan_in::<E, B, f64>(system)?,
            Precision::F32 => self.plan_in::<E, B, f32>(system)?,
            Precision::Mixed => {
                let mut levels = Multigrid::<B, f32>::bytes_by_level(system, &self.smoother)?;
                let rounded = if self.method == Method::Fmg {
                    let nested = LowPrecisionNesting::<B, f64, f32>::bytes_by_level(&*outer)?;
                    levels.iter_mut().zip(nested).for_each(|(level, nested)| *level += nested);
                    0
                } else {
                    LowPrecision::<B, f64, f32, Multigrid<B, f32>>::bytes(storage) + B::level_bytes::<f64>(&outer)
                };
                MemoryPlan { levels, solver: rounded + self.vector_bytes::<B, f64>(storage) }
            }
        };
        if system.is_nonlinear() {
            plan.solver += vector_bytes::<f64>(3, storage);
        }
        Ok(plan)
    }

    /// All of them in one scalar. The operator is the finest level of the V-cycle if it has the same kernels.
    fn plan_in<E: System, B: Runs<E>, T: Scalar>(&self, system: &E) -> Result<MemoryPlan> {
        let operator = match system.by_default_kernels() {
            Cow::Borrowed(_) => 0,
            Cow::Owned(outer) => B::level_bytes::<T>(&outer),
        };
        let levels = Multigrid::<B, T>::bytes_by_level(system, &self.smoother)?;
        Ok(MemoryPlan { levels, solver: operator + self.vector_bytes::<B, T>(system.layout().storage()) })
    }

    /// The solver's vectors, the load vector and the solution.
    fn vector_bytes<B: Backend, T: Scalar>(&self, storage: usize) -> u64 {
        let solver = match self.method {
            Method::Fmg => Fmg::<B, T>::bytes(storage),
            Method::VCycle => Richardson::<B, T>::bytes(storage),
            Method::Gmres | Method::Fgmres if self.precision == Precision::Mixed => {
                RoundedFgmres::<B, T>::bytes(storage, self.basis_vectors())
            }
            Method::Gmres => Gmres::<B, T>::bytes(storage, self.basis_vectors()),
            Method::Fgmres => Fgmres::<B, T>::bytes(storage, self.basis_vectors()),
            Method::Cg => Cg::<B, T>::bytes(storage),
        };
        solver + vector_bytes::<T>(2, storage)
    }

    /// Whether the values are allowed, and the backend has the memory.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`], [`Error::Unsupported`] and [`Error::OutOfMemory`].
    pub fn check<E: System, B: Runs<E>>(&self, backend: &B, system: &E) -> Result<()> {
        self.stopping.check()?;
        self.smoother.check()?;
        self.smoother.check_system(system)?;
        if self.method == Method::Cg && !system.is_definite() {
            return Err(Error::InvalidArgument {
                name: "solver",
                value: self.method.to_string(),
                allowed: "another one: conjugate gradients need a positive definite matrix".into(),
            });
        }
        if system.is_nonlinear() && self.precision == Precision::F32 {
            return Err(Error::InvalidArgument {
                name: "precision",
                value: self.precision.to_string(),
                allowed: "f64 or mixed: Newton's method needs residuals in f64".into(),
            });
        }
        match self.precision {
            Precision::F64 => backend.check::<f64>(system)?,
            Precision::F32 | Precision::Mixed => backend.check::<f32>(system)?,
        }
        check_restart(self.restart)?;
        let (needed, info) = (self.bytes::<E, B>(system)?, backend.info());
        if needed > info.memory_free {
            return Err(Error::OutOfMemory { device: info.name, needed, available: info.memory_free });
        }
        Ok(())
    }

    /// Basis vectors that GMRES gets.
    pub(super) fn basis_vectors(&self) -> usize {
        self.restart.min(self.stopping.max_iters)
    }

    /// The cycle, as the method can use it.
    pub(super) fn cycle(&self) -> VCycle {
        let cycle = if self.method == Method::Cg { VCycle::symmetric() } else { VCycle::default() };
        VCycle { coarse_cycles: if self.cycle == Cycle::W { 2 } else { 1 }, ..cycle }
    }
}
