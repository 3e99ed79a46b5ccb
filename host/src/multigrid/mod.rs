//! Geometric multigrid, written once over a [`Backend`](crate::backend::Backend) and its [`Level`](crate::level::Level)s.
//!
//! Level 1 is the coarsest, which is solved exactly: one vertex patch; a box that has an odd number of cells in a direction, or few enough nodes
//! ([`DirectNodes`](crate::system::separable::DirectNodes)); or the coarse mesh of a forest. If that is large, Chebyshev iteration solves it to a small
//! error ([`Level::has_solver`](crate::level::Level::has_solver)). [`Multigrid`] is one V-cycle (paper 1,
//! algorithm 2.1) as a preconditioner, and guesses the solution for [`Fmg`], full multigrid (algorithm 2.2). [`LowPrecision`] is a
//! V-cycle in a smaller scalar; [`LowPrecisionNesting`] also guesses, with the residuals of all levels in the larger one.

mod coarsest;
mod fmg;
mod level;
mod nested;
mod part;
mod precision;
mod repeated;
mod smoother;
mod vcycle;

pub use fmg::{Fmg, NestedIteration};
pub use level::{SmoothedLevel, hierarchy, levels};
pub use nested::LowPrecisionNesting;
pub use part::LevelPart;
pub use precision::LowPrecision;
pub use smoother::{
    AdditivePatchSmoother, Chebyshev, ChebyshevFourthKind, Jacobi, PatchSmoother, PointGaussSeidel, Smoother,
    SmootherConfig,
};
pub use vcycle::{Multigrid, PostSmoothing, VCycle};
