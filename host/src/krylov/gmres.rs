//! Restarted GMRES, right-preconditioned, and its flexible variant (Saad, Iterative Methods for Sparse Linear Systems,
//! algorithms 9.5 and 9.6).

use super::directions::{Directions, Kept, Recomputed};
use super::least_squares::LeastSquares;
use super::stopping::{Divergence, Info, Monitor, Stopping};
use super::{IterativeSolver, Observer};
use crate::backend::{Backend, Scalar};
use crate::error::{Error, Result};
use crate::operator::{LinearOperator, Preconditioner, vector_bytes};

/// Basis vectors of GMRES unless told otherwise: a V-cycle with patch smoothers needs fewer iterations than that.
pub const DEFAULT_RESTART: usize = 10;

/// GMRES: the preconditioner must be the same linear map every time.
pub type Gmres<B, T> = Arnoldi<B, T, Recomputed<B, T>>;
/// Flexible GMRES: the preconditioner may vary; needs `restart - 1` vectors more.
pub type Fgmres<B, T> = Arnoldi<B, T, Kept<B, T>>;

/// Minimal residuals over Krylov spaces of `A M`, by Arnoldi's method.
///
/// The basis is made orthogonal by classical Gram-Schmidt done twice, in three passes over the basis: the products; the first
/// correction, with the products of what it leaves; the second one, which also makes the norm 1.
pub struct Arnoldi<B: Backend, T: Scalar, D> {
    /// The first is the residual at the start of a cycle. Each becomes `A z_j`, then `v_(j + 1)`.
    basis: Vec<B::Vector<T>>,
    directions: D,
    /// `A z_j` of the last `j`, which no other follows.
    work: B::Vector<T>,
}

impl<B: Backend, T: Scalar, D: Directions<B, T>> Arnoldi<B, T, D> {
    /// Bytes of the vectors that [`Self::new`] allocates, for vectors of `storage` entries.
    pub fn bytes(storage: usize, restart: usize) -> u64 {
        vector_bytes::<T>(restart + D::vectors(restart) + 1, storage)
    }

    /// With its vectors, for `restart` iterations between restarts. Errors:
    /// [`InvalidArgument`](Error::InvalidArgument) for a `restart` of 0; those of [`Backend::zeros`].
    pub fn new(operator: &impl LinearOperator<B, T>, restart: usize) -> Result<Self> {
        check_restart(restart)?;
        Ok(Self {
            basis: (0..restart).map(|_| operator.vector()).collect::<Result<_>>()?,
            directions: D::new(operator, restart)?,
            work: operator.vector()?,
        })
    }

    /// From the residual in `basis[0]`, iterates until a restart or the end is due; coefficients of the directions. All
    /// iterations but the last are recorded. If an iteration diverges, the coefficients are those before it.
    fn cycle(
        &mut self,
        operator: &impl LinearOperator<B, T>,
        preconditioner: &mut impl Preconditioner<B, T>,
        residual: f64,
        monitor: &mut Monitor,
    ) -> Result<Vec<f64>> {
        let backend = &**operator.backend();
        let mut problem = LeastSquares::new(residual);
        let mut next = NextVector { products: Vec::new(), norm: residual };
        for j in 0..self.basis.len() {
            let (basis, others) = self.basis.split_at_mut(j);
            next.complete(backend, basis, &mut others[0])?;
            let z = self.directions.direction(j, preconditioner, &others[0])?;
            let (basis, others) = self.basis.split_at_mut(j + 1);
            let w = others.first_mut().unwrap_or(&mut self.work);
            operator.apply(z, w)?;
            let products;
            (products, next) = orthogonalize(backend, basis, w)?;
            if !(next.norm.is_finite() && products.iter().all(|product| product.is_finite())) {
                monitor.diverge(Divergence::NotFinite);
                break;
            }
            problem.push(products, next.norm);
            let restarts = j + 1 == self.basis.len() || next.norm == 0.0;
            if restarts || monitor.is_last() || monitor.accepts(problem.residual()) {
                break;
            }
            monitor.record_estimate(problem.residual());
            if monitor.is_stopped() {
                break;
            }
        }
        Ok(problem.solve())
    }
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
    M: Preconditioner<B, T>,
    D: Directions<B, T>,
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
        let (mut monitor, mut residual) = Monitor::start(operator, b, x, &mut self.basis[0], stopping, observer)?;
        while !monitor.is_done() {
            let y = self.cycle(operator, preconditioner, residual, &mut monitor)?;
            if !y.is_empty() {
                self.directions.correct(backend, preconditioner, &self.basis[..y.len()], &y, &mut self.work, x)?;
            }
            if !monitor.is_done() {
                operator.residual(b, x, &mut self.basis[0])?;
                residual = monitor.check(operator, x, &self.basis[0], &mut self.work)?;
            }
        }
        Ok(monitor.finish())
    }
}

/// Whether GMRES can have so many basis vectors.
pub(crate) fn check_restart(restart: usize) -> Result<()> {
    if restart == 0 {
        return Err(Error::InvalidArgument { name: "restart", value: "0".into(), allowed: "at least 1".into() });
    }
    Ok(())
}

/// What is still to do before a vector is one of the basis: subtract its products with the others, and divide by the norm.
struct NextVector {
    products: Vec<f64>,
    norm: f64,
}

impl NextVector {
    /// `w = (w - sum_j p_j v_j) / norm`.
    fn complete<B: Backend, T: Scalar>(&self, backend: &B, basis: &[B::Vector<T>], w: &mut B::Vector<T>) -> Result<()> {
        let coefficients: Vec<f64> = self.products.iter().map(|product| -product / self.norm).collect();
        let basis: Vec<_> = basis.iter().take(coefficients.len()).collect();
        backend.combine(&coefficients, &basis, 1.0 / self.norm, w)
    }
}

/// Subtracts from `w` its part in the span of an orthonormal basis but for rounding: the products `v_j · w`, and what makes `w`
/// the next vector of the basis.
fn orthogonalize<B: Backend, T: Scalar>(
    backend: &B,
    basis: &[B::Vector<T>],
    w: &mut B::Vector<T>,
) -> Result<(Vec<f64>, NextVector)> {
    let vectors: Vec<_> = basis.iter().collect();
    let mut products = backend.dots(&vectors, w)?;
    let negative: Vec<f64> = products.iter().map(|product| -product).collect();
    let mut left = backend.combine_dots(&negative, &vectors, w)?;
    let square = left.pop().unwrap_or(f64::NAN);
    products.iter_mut().zip(&left).for_each(|(sum, product)| *sum += product);
    let reduced = square - left.iter().map(|product| product * product).sum::<f64>();
    if reduced > 0.5 * square {
        return Ok((products, NextVector { products: left, norm: reduced.sqrt() }));
    }
    // Little but rounding is left; the difference of squares would not be its norm.
    let negative: Vec<f64> = left.iter().map(|product| -product).collect();
    backend.combine(&negative, &vectors, 1.0, w)?;
    Ok((products, NextVector { products: Vec::new(), norm: backend.norm(w)? }))
}
