//! Iterative solvers of `A x = b` over a [`LinearOperator`](crate::operator::LinearOperator) and a
//! [`Preconditioner`](crate::operator::Preconditioner), written once over a [`Backend`](crate::backend::Backend).
//!
//! A solver owns its vectors, all allocated when it is made, and can be used many times. Every `solve` starts from what
//! is in `x`, stops as [`Stopping`] says, tells an observer `(iteration, relative residual)` as it goes, and returns an
//! [`Info`]. Residuals are Euclidean, relative to `|b|`.

mod cg;
mod directions;
mod gmres;
mod least_squares;
mod richardson;
mod stopping;

pub use cg::Cg;
pub use directions::{Directions, Kept, Recomputed};
pub use gmres::{Arnoldi, DEFAULT_RESTART, Fgmres, Gmres};
pub use richardson::Richardson;
pub use stopping::{Info, Stopping};
