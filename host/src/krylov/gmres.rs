//! Restarted GMRES, right-preconditioned, and its flexible variant (Saad, Iterative Methods for Sparse Linear Systems,
//! algorithms 9.5 and 9.6).

use super::directions::{Directions, DirectionsOf, Kept, KeptRounded, Recomputed};
use super::gram::{Gram, keeps_length};
use super::least_squares::{Column, LeastSquares};
use super::stopping::{Divergence, Info, Monitor, Stopping};
use super::{IterativeSolver, Observer};
use crate::backend::{Backend, Scalar};
use crate::error::{Error, Result};
use crate::operator::{LinearOperator, vector_bytes};
use std::iter;

/// Basis vectors of GMRES unless told otherwise: a V-cycle with patch smoothers needs fewer iterations than that.
pub const DEFAULT_RESTART: usize = 10;

/// GMRES: the preconditioner must be the same linear map every time.
pub type Gmres<B, T> = Arnoldi<B, T, Recomputed<B, T>>;
/// Flexible GMRES: the preconditioner may vary; needs `restart - 1` vectors more.
pub type Fgmres<B, T> = Arnoldi<B, T, Kept<B, T>>;
/// Flexible GMRES that keeps the results of a preconditioner in `f32`, which computes in `f32`; needs `restart` vectors in `f32` more.
pub type RoundedFgmres<B, T> = Arnoldi<B, T, KeptRounded<B, T>>;

/// Minimal residuals over Krylov spaces of `A M`, by Arnoldi's method.
///
/// Classical Gram-Schmidt is done once, and vectors of the basis keep their lengths; the products that remain between them are known
/// and taken into account. So an iteration passes over the basis twice, for products and for the correction; the last one before
/// a restart or the end does without the correction. With a preconditioner that computes in `f32`, vectors of the basis mostly stay
/// as they are, and only what it takes is made orthogonal.
pub struct Arnoldi<B: Backend, T: Scalar, D> {
    /// The basis begins with it, or with `b` in a solve that begins at zero.
    residual: B::Vector<T>,
    space: Space<B, T, D>,
}

impl<B: Backend, T: Scalar, D: Directions<B, T>> Arnoldi<B, T, D> {
    /// Bytes of the vectors that [`Self::new`] allocates, for vectors of `storage` entries.
    pub fn bytes(storage: usize, restart: usize) -> u64 {
        vector_bytes::<T>(restart + 1, storage) + D::bytes(storage, restart)
    }

    /// With its vectors, for `restart` iterations between restarts. Errors:
    /// [`InvalidArgument`](Error::InvalidArgument) for a `restart` of 0; those of [`Backend::zeros`].
    pub fn new(operator: &impl LinearOperator<B, T>, restart: usize) -> Result<Self> {
        check_restart(restart)?;
        let space = Space {
            others: (1..restart).map(|_| operator.vector()).collect::<Result<_>>()?,
            directions: D::new(operator, restart)?,
            work: operator.vector()?,
        };
        Ok(Self { residual: operator.vector()?, space })
    }
}

/// A Krylov space but for its first vector.
struct Space<B: Backend, T: Scalar, D> {
    /// The other vectors of the basis. Each is `A z_j` first.
    others: Vec<B::Vector<T>>,
    directions: D,
    /// `A z_j` of the last `j`, which no other follows.
    work: B::Vector<T>,
}

impl<B: Backend, T: Scalar, D> Space<B, T, D> {
    /// From the first vector, which is the residual but for a factor, and the residual's norm, iterates until a restart or the end is
    /// due; coefficients of the directions, and the norm of the residual that they leave. If an iteration diverges, the coefficients are those
    /// before it. All iterations but the last are recorded. `is_rounded` says that the first vector is rounded already where the directions want it.
    #[allow(clippy::too_many_arguments)] // those of a solver
    fn cycle<M>(
        &mut self,
        operator: &impl LinearOperator<B, T>,
        preconditioner: &mut M,
        first: &B::Vector<T>,
        (residual, mut gram): (f64, Gram),
        is_rounded: bool,
        monitor: &mut Monitor,
    ) -> Result<(Vec<f64>, f64)>
    where
        D: DirectionsOf<B, T, M>,
    {
        let backend = &**operator.backend();
        if let Some(rounded) = self.directions.rounded(preconditioner).filter(|_| !is_rounded) {
            backend.convert(1.0 / gram.norm(0), first, rounded)?;
        }
        let mut problem = LeastSquares::new(residual);
        let restart = self.others.len() + 1;
        for j in 0..restart {
            let (others, following) = self.others.split_at_mut(j);
            let basis: Vec<_> = iter::once(first).chain(&*others).collect();
            let w = following.first_mut().unwrap_or(&mut self.work);
            self.directions.product(j, operator, preconditioner, basis[j], gram.norm(j), w)?;
            let is_full = j + 1 == restart || monitor.is_last();
            let is_last = |column: &Column| is_full || monitor.accepts(problem.residual_with(column));
            let rounded = self.directions.rounded(preconditioner);
            let column = gram.orthogonalize(backend, &basis, w, rounded, is_last)?;
            if !column.is_finite() {
                monitor.diverge(Divergence::NotFinite);
                break;
            }
            let is_invariant = column.below == 0.0;
            problem.push(column);
            if is_full || is_invariant || monitor.accepts(problem.residual()) {
                break;
            }
            monitor.record_estimate(problem.residual());
            if monitor.is_stopped() {
                break;
            }
        }
        Ok((problem.solve(), problem.residual()))
    }

    /// `x = old x + sum_j y_j z_j`; `old = 0` overwrites whatever was in `x`.
    fn correct<M>(
        &mut self,
        backend: &B,
        preconditioner: &mut M,
        first: &B::Vector<T>,
        y: &[f64],
        old: f64,
        x: &mut B::Vector<T>,
    ) -> Result<()>
    where
        D: DirectionsOf<B, T, M>,
    {
        let basis: Vec<_> = iter::once(first).chain(&self.others).take(y.len()).collect();
        self.directions.correct(backend, preconditioner, &basis, y, &mut self.work, old, x)
    }
}

impl<B: Backend, T: Scalar, D> Arnoldi<B, T, D> {
    /// Iterates until the monitor is done.
    fn run<M>(
        &mut self,
        operator: &impl LinearOperator<B, T>,
        preconditioner: &mut M,
        b: &B::Vector<T>,
        x: &mut B::Vector<T>,
        Start { mut monitor, mut norm, mut is_from_zero, mut is_rounded }: Start,
    ) -> Result<Info>
    where
        D: DirectionsOf<B, T, M>,
    {
        let backend = &**operator.backend();
        let Self { residual, space } = self;
        while !monitor.is_done() {
            let gram = Gram::new::<T>(norm);
            let is_scaled = gram.norm(0) != norm;
            match (is_scaled, is_from_zero) {
                (true, true) => backend.axpby(1.0 / norm, b, 0.0, residual)?,
                (true, false) => backend.combine::<T, T>(&[], &[], 1.0 / norm, residual)?,
                (false, _) => (),
            }
            let first = if is_from_zero && !is_scaled { b } else { &*residual };
            let (y, estimate) = space.cycle(operator, preconditioner, first, (norm, gram), is_rounded, &mut monitor)?;
            if !y.is_empty() {
                let old = if is_from_zero { 0.0 } else { 1.0 };
                space.correct(backend, preconditioner, first, &y, old, x)?;
                is_from_zero = false;
            }
            if !monitor.is_done() {
                norm = if monitor.accepts(estimate) || monitor.is_last() {
                    monitor.check_last(operator, b, x, residual, &mut space.work)?
                } else {
                    operator.residual(b, x, residual)?;
                    monitor.check(operator, x, residual, &mut space.work)?
                };
                is_rounded = false;
            }
        }
        if is_from_zero {
            backend.set_zero(x)?;
        }
        Ok(monitor.finish())
    }
}

/// Where a solve begins.
struct Start<'a> {
    monitor: Monitor<'a>,
    /// Of the residual, which is `b`, or in the solver's vector for it.
    norm: f64,
    /// Whether `x = 0` is meant, whatever is in `x`.
    is_from_zero: bool,
    /// See [`Space::cycle`].
    is_rounded: bool,
}

/// Within a cycle the history has the residual of the least-squares problem, which for right preconditioning is that of
/// `x` in exact arithmetic; at a restart and at the end it has the recomputed `|b - A x|`, and only that one ends the
/// iteration as converged or stagnated. When the least-squares problem reaches the tolerance and `|b - A x|` does not, a
/// restart is due.
impl<B, T, A, M, D> IterativeSolver<B, T, A, M> for Arnoldi<B, T, D>
where
    B: Backend,
    T: Scalar,
    A: LinearOperator<B, T>,
    D: DirectionsOf<B, T, M>,
{
    fn solve(
        &mut self,
        operator: &A,
        preconditioner: &mut M,
        b: &B::Vector<T>,
        x: &mut B::Vector<T>,
        stopping: &Stopping,
        observer: &mut Observer,
    ) -> Result<Info> {
        let backend = &**operator.backend();
        let (norm, is_rounded) = match self.space.directions.rounded(preconditioner) {
            Some(rounded) => {
                let norm = backend.norm_rounded(b, rounded)?;
                (norm, keeps_length::<f32>(norm))
            }
            None => (backend.norm(b)?, false),
        };
        let monitor = Monitor::start_at_zero::<T>(norm, stopping, observer)?;
        self.run(operator, preconditioner, b, x, Start { monitor, norm, is_from_zero: true, is_rounded })
    }

    fn solve_from(
        &mut self,
        operator: &A,
        preconditioner: &mut M,
        b: &B::Vector<T>,
        x: &mut B::Vector<T>,
        stopping: &Stopping,
        observer: &mut Observer,
    ) -> Result<Info> {
        let (monitor, norm) = Monitor::start(operator, b, x, &mut self.residual, stopping, observer)?;
        self.run(operator, preconditioner, b, x, Start { monitor, norm, is_from_zero: false, is_rounded: false })
    }
}

/// Whether GMRES can have so many basis vectors.
pub(crate) fn check_restart(restart: usize) -> Result<()> {
    if restart == 0 {
        return Err(Error::InvalidArgument { name: "restart", value: "0".into(), allowed: "at least 1".into() });
    }
    Ok(())
}
