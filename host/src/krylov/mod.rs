//! Iterative solvers of `A x = b` over a [`LinearOperator`](crate::operator::LinearOperator) and a
//! [`Preconditioner`](crate::operator::Preconditioner), written once over a [`Backend`].
//!
//! A [`Solver`] owns its vectors, all allocated when it is made, and can be used many times.

mod cg;
mod directions;
mod gmres;
mod least_squares;
mod richardson;
mod stopping;

use crate::backend::{Backend, Scalar};
use crate::error::Result;

pub use cg::Cg;
pub use directions::{Directions, Kept, Recomputed};
pub(crate) use gmres::check_restart;
pub use gmres::{Arnoldi, DEFAULT_RESTART, Fgmres, Gmres};
pub use richardson::Richardson;
pub use stopping::{Divergence, Info, Outcome, Stopping};

/// An iteration for `A x = b`, with operators of type `A` and preconditioners of type `M`.
pub trait Solver<B: Backend, T: Scalar, A, M> {
    /// Solves `A x = b` from what is in `x`, until `stopping` says so.
    ///
    /// `observer` is told the iteration, 0 at the start, and the residual `|b - A x| / |b|` in the Euclidean norm. For
    /// `b = 0` the solution is 0 at once.
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
        observer: &mut dyn FnMut(usize, f64),
    ) -> Result<Info>;
}
