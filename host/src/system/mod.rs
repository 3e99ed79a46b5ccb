//! Equations with their discretizations: where these meet machines.

mod axes;
pub mod elliptic;
pub mod poisson;
mod scalar;
pub mod separable;
pub mod stokes;
mod suitable;

pub use elliptic::Elliptic;
pub use poisson::Poisson;
pub use separable::Separable;
pub use stokes::Stokes;

use crate::backend::{Backend, OuterProducts, Scalar};
use crate::error::Result;
use crate::layout::Layout;
use crate::level::SharedLevel;
use crate::problem::SampledLoad;
use crate::solve::SolutionOnMachine;
use std::borrow::Cow;
use std::sync::Arc;

/// Smoothers with which V-cycles of a system converge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Smoothers {
    /// Any.
    Any,
    /// Multiplicative vertex patches, and Chebyshev's.
    Strong,
    /// Multiplicative vertex patches: the diagonal has zeros.
    Patches,
}

/// An equation with its discretization on one mesh, and the kernels by which it is computed.
pub trait System: Clone + Send + Sync + 'static {
    /// What solves it: a function, or one for each field.
    type Solution: Send;

    /// 2 or 3.
    fn dim(&self) -> usize;

    /// Cells of the mesh.
    fn cells(&self) -> usize;

    /// The blocks of its vectors.
    fn layout(&self) -> Layout;

    /// The functions whose values are in a vector.
    ///
    /// # Errors
    /// [`SizeMismatch`](crate::Error::SizeMismatch) for a vector that is not [laid out](Self::layout) so.
    fn solution(&self, values: Vec<f64>) -> Result<Self::Solution>;

    /// The load vector for which there is a solution, if constants or the like are in the null space of the transposed matrix: every
    /// solve begins with it.
    ///
    /// # Errors
    /// [`OutOfMemory`](crate::Error::OutOfMemory).
    fn project_load<'a>(&self, load: Cow<'a, [f64]>) -> Result<Cow<'a, [f64]>> {
        Ok(load)
    }

    /// A constant of the solution that [`Self::project_load`] takes from a load vector because it is better computed apart.
    fn left_out(&self, _load: &[f64]) -> f64 {
        0.0
    }

    /// [`Self::solution`] with what was [left out](Self::left_out).
    ///
    /// # Errors
    /// Those of [`Self::solution`].
    fn solution_with(&self, values: Vec<f64>, _left_out: f64) -> Result<Self::Solution> {
        self.solution(values)
    }

    /// The same on the next coarser mesh, unless this one is the coarsest.
    fn coarser(&self) -> Option<Result<Self>>;

    /// The same by the kernels that are the fastest: an operator outside of the V-cycle has these. Borrowed if it has them.
    fn by_default_kernels(&self) -> Cow<'_, Self>;

    /// The smoothers with which V-cycles converge.
    fn smoothers(&self) -> Smoothers {
        Smoothers::Any
    }

    /// Whether levels of it have [a solver](crate::level::Level::has_solver) if it is the coarsest.
    fn has_solver(&self) -> bool {
        true
    }

    /// Whether its matrix is symmetric positive definite, as conjugate gradients need.
    fn is_definite(&self) -> bool {
        true
    }

    /// Whether it is a nonlinear equation, whose levels can be [linearized](crate::level::NonlinearLevel). They begin with a linear one.
    fn is_nonlinear(&self) -> bool {
        false
    }

    /// Whether patches and restriction take a residual of all dofs, which is written before: its words count.
    fn stores_residuals(&self) -> bool {
        false
    }
}

/// A right-hand side for a system, and what is known of the solution. Any type can be one.
pub trait ModelProblem: Clone + Send + Sync + 'static {
    /// What it is a problem for.
    type System: System;
    /// How far a solution is from the exact one.
    type Errors: Send;

    /// Whether a system can have it.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::Error::InvalidArgument).
    fn check(&self, system: &Self::System) -> Result<()>;

    /// The load vector, laid out as the system's vectors.
    ///
    /// # Errors
    /// [`OutOfMemory`](crate::Error::OutOfMemory), and [`NotFinite`](crate::Error::NotFinite) for data that are not finite numbers.
    fn load(&self, system: &Self::System) -> Result<Vec<f64>>;

    /// The load vector as a sum of outer products of vectors along axes, which a machine evaluates in its own memory; none if it is no
    /// such sum. Only for systems that take load vectors [as they are](System::project_load).
    ///
    /// # Errors
    /// Those of [`Self::load`].
    fn load_products(&self, _system: &Self::System) -> Result<Option<OuterProducts>> {
        Ok(None)
    }

    /// The load vector by functions that a machine evaluates in its own memory, in all quadrature points; none if they are not known as
    /// [programs](crate::backend::Program). Only for systems that take load vectors [as they are](System::project_load).
    ///
    /// # Errors
    /// Those of [`Self::load`].
    fn sampled_load(&self, _system: &Self::System) -> Result<Option<SampledLoad>> {
        Ok(None)
    }

    /// The data of the equation, if it is [nonlinear](System::is_nonlinear); [`Self::load`] is that of the linear one that Newton's
    /// method begins with.
    ///
    /// # Errors
    /// Those of [`Self::load`].
    fn nonlinear(&self, _system: &Self::System) -> Result<Option<Nonlinear>> {
        Ok(None)
    }

    /// A solution with what the problem gives on the boundary and is no unknown.
    ///
    /// # Errors
    /// Those of the boundary values.
    fn with_boundary_values(
        &self,
        solution: <Self::System as System>::Solution,
    ) -> Result<<Self::System as System>::Solution> {
        Ok(solution)
    }

    /// Errors of a solution, as far as the exact one is known.
    ///
    /// # Errors
    /// [`NotFinite`](crate::Error::NotFinite) for values that are not finite numbers.
    fn errors(&self, solution: &<Self::System as System>::Solution) -> Result<Option<Self::Errors>>;

    /// [`Self::errors`] of a solution that lies on a machine, computed there.
    ///
    /// # Errors
    /// Those of [`Self::errors`], and of the machine.
    fn errors_on_machine<B: Backend>(
        &self,
        _system: &Self::System,
        _solution: &SolutionOnMachine<B>,
    ) -> Result<ErrorsOnMachine<Self::Errors>> {
        Ok(ErrorsOnMachine::OnHost)
    }
}

/// What [`ModelProblem::errors_on_machine`] found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ErrorsOnMachine<N> {
    /// Errors, as far as the exact solution is known.
    Known(Option<N>),
    /// The machine does not compute them: [`ModelProblem::errors`] does.
    OnHost,
}

/// The data of a nonlinear equation `A(u) = b`, laid out as the vectors of a system. `A` is that of its
/// [levels](crate::level::NonlinearLevel).
#[derive(Clone, Debug, PartialEq)]
pub struct Nonlinear {
    /// `b`.
    pub load: Vec<f64>,
    /// `u` where it is given and no unknown, 0 elsewhere.
    pub given: Vec<f64>,
}

/// The PTX of a module that a GPU is given: that of the folder in `PATCHMG_PTX_DIR`, else that in this program, with the
/// coefficients that are the same for every mesh as operands of its instructions.
///
/// # Errors
/// [`NoModule`](crate::Error::NoModule) for a module that there is not, and [`Io`](crate::Error::Io) for a file that cannot be
/// read.
#[cfg(feature = "cuda")]
pub fn module_ptx(module: patchmg_device::kernels::Module) -> Result<String> {
    crate::backend::cuda::modules::given_ptx(module, constants)
}

/// PTX of a module from elsewhere, as a GPU would be given it.
///
/// # Errors
/// Those of the coefficients.
#[cfg(feature = "cuda")]
pub fn module_ptx_of(module: patchmg_device::kernels::Module, text: String) -> Result<String> {
    Ok(crate::backend::cuda::modules::with_known(text, &constants(module)?))
}

/// What kernels of a module take of their 1D matrices at every launch.
#[cfg(feature = "cuda")]
fn constants(module: patchmg_device::kernels::Module) -> Result<Vec<cuda_builder::ptx::Constants>> {
    match module {
        patchmg_device::kernels::Module::Typed { .. } => separable::cuda::constants(module),
        _ => poisson::cuda::constants(module),
    }
}

/// A machine that has levels of a system.
pub trait Runs<E: System>: Backend {
    /// Whether the machine has the system's kernels for its space and a scalar.
    ///
    /// # Errors
    /// [`Unsupported`](crate::Error::Unsupported), with those that it has.
    fn check<T: Scalar>(&self, system: &E) -> Result<()>;

    /// Makes a system ready: 1D matrices and tables in the machine's memory.
    ///
    /// # Errors
    /// Those of [`Self::check`] and of the machine.
    fn level<T: Scalar>(self: &Arc<Self>, system: &E) -> Result<SharedLevel<Self, T>>;

    /// The same for products and residuals alone: [`Level::inverse_diagonal`](crate::level::Level::inverse_diagonal), transfers and solutions
    /// may be errors.
    ///
    /// # Errors
    /// Those of [`Self::level`].
    fn level_for_products<T: Scalar>(self: &Arc<Self>, system: &E) -> Result<SharedLevel<Self, T>> {
        self.level(system)
    }

    /// Bytes of a level's tables and vectors on the machine.
    fn level_bytes<T: Scalar>(system: &E) -> u64;

    /// Bytes of the vectors that its [patches](crate::level::Level::patches) allocate besides.
    fn patches_bytes<T: Scalar>(_system: &E) -> u64 {
        0
    }
}
