//! Iterative solvers of `A x = b` over a [`LinearOperator`] and a
//! [`Preconditioner`](crate::operator::Preconditioner), written once over a [`Backend`].
//!
//! An [`IterativeSolver`] owns its vectors, all allocated when it is made, and can be used many times.

mod cg;
mod directions;
mod gmres;
mod gram;
mod least_squares;
mod richardson;
mod stopping;

use crate::backend::{Backend, Scalar};
use crate::error::Result;
use crate::operator::LinearOperator;
use std::ops::ControlFlow;

pub use cg::Cg;
pub use directions::{Directions, DirectionsOf, Kept, KeptRounded, Recomputed};
pub(crate) use gmres::check_restart;
pub use gmres::{Arnoldi, DEFAULT_RESTART, Fgmres, Gmres, RoundedFgmres};
pub use richardson::Richardson;
pub use stopping::{Divergence, Info, Outcome, Stopping};

/// Is told the iteration, 0 at the start, and the residual `|b - A x| / |b|` in the Euclidean norm, which may come from a
/// recurrence. `Break` ends the iteration there: [`Outcome::Stopped`].
pub type Observer<'a> = dyn FnMut(usize, f64) -> ControlFlow<()> + 'a;

/// An observer that looks at nothing.
pub fn unobserved(_iteration: usize, _residual: f64) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// An iteration for `A x = b`, with operators of type `A` and preconditioners of type `M`.
pub trait IterativeSolver<B: Backend, T: Scalar, A: LinearOperator<B, T>, M> {
    /// Solves `A x = b` until `stopping` says so, whatever was in `x`: from 0, or from a guess of the method's own. Entries that are no
    /// unknowns are zero in `b`, and become so in `x`.
    ///
    /// For `b = 0` the solution is 0 at once.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::Error::InvalidArgument) for a bad `stopping` or a preconditioner that the solver cannot
    /// use, [`NotFinite`](crate::Error::NotFinite) for a right-hand side that is not, and those of the backend. That the
    /// iteration did not converge is no error: [`Info::outcome`] says why.
    fn solve(
        &mut self,
        operator: &A,
        preconditioner: &mut M,
        b: &B::Vector<T>,
        x: &mut B::Vector<T>,
        stopping: &Stopping,
        observer: &mut Observer,
    ) -> Result<Info> {
        operator.backend().set_zero(x)?;
        self.solve_from(operator, preconditioner, b, x, stopping, observer)
    }

    /// As [`Self::solve`], but from what is in `x`; entries of `x` that are no unknowns must be zero.
    ///
    /// # Errors
    /// Those of [`Self::solve`].
    fn solve_from(
        &mut self,
        operator: &A,
        preconditioner: &mut M,
        b: &B::Vector<T>,
        x: &mut B::Vector<T>,
        stopping: &Stopping,
        observer: &mut Observer,
    ) -> Result<Info>;
}
