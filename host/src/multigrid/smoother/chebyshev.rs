//! Chebyshev iteration, preconditioned by the diagonal.

use super::Smoother;
use crate::backend::{Backend, Scalar};
use crate::error::{Error, Result};
use crate::level::{Level, SharedLevel};
use crate::operator::vector_bytes;
use nalgebra::DMatrix;

/// Steps of the estimate of the largest eigenvalue.
const ESTIMATE_STEPS: usize = 10;
/// The estimate is from below; so many times as large is taken for an upper bound.
const SAFETY: f64 = 1.2;

/// Chebyshev iteration of degree `m` for `D⁻¹ A`, `D` being the diagonal of `A` (Saad, Iterative Methods for Sparse Linear
/// Systems, algorithm 12.1; Adams, Brezina, Hu and Tuminaro, J. Comput. Phys. 188, 2003).
///
/// A step multiplies the error by `T_m((θ - D⁻¹ A) / δ) / T_m(θ / δ)`, small on `[θ - δ, θ + δ] = [b / range, b]`. The
/// bound `b` is 1.2 times the largest eigenvalue that 10 steps of Lanczos' method find, the coefficients being those of
/// conjugate gradients for a right-hand side whose unknown `i` is `i mod 11 - 5`: as in deal.II.
pub struct Chebyshev<B: Backend, S: Scalar> {
    level: SharedLevel<B, S>,
    degree: usize,
    center: f64,
    radius: f64,
    inverse_diagonal: B::Vector<S>,
    residual: B::Vector<S>,
    direction: B::Vector<S>,
}

impl<B: Backend, S: Scalar> Chebyshev<B, S> {
    /// Bytes of the vectors that [`Self::new`] allocates, for vectors of `storage` entries. The estimate gives one back.
    pub fn bytes(storage: usize) -> u64 {
        vector_bytes::<S>(4, storage)
    }

    /// On a level; estimates the largest eigenvalue.
    ///
    /// # Errors
    /// [`Error::NotPositiveDefinite`] if the estimate meets a negative eigenvalue; those of the backend.
    pub fn new(level: &SharedLevel<B, S>, degree: usize, range: f64) -> Result<Self> {
        let Scaled { inverse_diagonal, bound, residual, direction } = Scaled::new(&**level)?;
        let (center, radius) = (0.5 * (bound + bound / range), 0.5 * (bound - bound / range));
        Ok(Self { level: level.clone(), degree, center, radius, inverse_diagonal, residual, direction })
    }

    /// `[θ - δ, θ + δ]`.
    pub fn interval(&self) -> [f64; 2] {
        [self.center - self.radius, self.center + self.radius]
    }
}

/// What iterations for `D⁻¹ A` need: an upper bound of its eigenvalues, and two vectors whose entries mean nothing.
pub(super) struct Scaled<B: Backend, S: Scalar> {
    pub inverse_diagonal: B::Vector<S>,
    pub bound: f64,
    pub residual: B::Vector<S>,
    pub direction: B::Vector<S>,
}

impl<B: Backend, S: Scalar> Scaled<B, S> {
    /// # Errors
    /// [`Error::NotPositiveDefinite`] if the estimate meets a negative eigenvalue; those of the backend.
    pub fn new(level: &dyn Level<B, S>) -> Result<Self> {
        let inverse_diagonal = level.inverse_diagonal()?;
        let mut residual = level.vector_of(&mut |i| (i % 11) as f64 - 5.0)?;
        let mut direction = level.vector()?;
        let bound = SAFETY * largest_eigenvalue(level, &inverse_diagonal, &mut residual, &mut direction)?;
        Ok(Self { inverse_diagonal, bound, residual, direction })
    }
}

/// Of `D⁻¹ A`, from below: that of the tridiagonal matrix of Lanczos' method, which the coefficients of conjugate gradients
/// give (Saad, section 6.7.3), for the right-hand side in `residual`.
fn largest_eigenvalue<B: Backend, S: Scalar>(
    level: &dyn Level<B, S>,
    inverse_diagonal: &B::Vector<S>,
    residual: &mut B::Vector<S>,
    direction: &mut B::Vector<S>,
) -> Result<f64> {
    let backend = level.backend();
    // `D⁻¹ r`, then `A p`.
    let mut work = level.vector()?;
    let mut lanczos = DMatrix::zeros(ESTIMATE_STEPS, ESTIMATE_STEPS);
    let (mut steps, mut first_product, mut last_product, mut last_alpha) = (0, 0.0, 0.0, 0.0);
    while steps < ESTIMATE_STEPS {
        backend.diagonal_axpby(1.0, inverse_diagonal, residual, 0.0, &mut work)?;
        let product = backend.dot(residual, &work)?;
        if steps == 0 {
            first_product = product;
        } else if product <= first_product * f64::from(f32::EPSILON).powi(2) {
            // What is left is rounding: the Krylov space holds the solution.
            break;
        }
        let beta = if steps == 0 { 0.0 } else { product / last_product };
        backend.axpby(1.0, &work, beta, direction)?;
        level.apply(direction, &mut work)?;
        let energy = backend.dot(direction, &work)?;
        if energy <= 0.0 {
            return Err(Error::NotPositiveDefinite { what: "operator" });
        }
        let alpha = product / energy;
        lanczos[(steps, steps)] = 1.0 / alpha;
        if steps > 0 {
            lanczos[(steps, steps)] += beta / last_alpha;
            lanczos[(steps, steps - 1)] = beta.sqrt() / last_alpha;
            lanczos[(steps - 1, steps)] = lanczos[(steps, steps - 1)];
        }
        backend.axpby(-alpha, &work, 1.0, residual)?;
        (last_product, last_alpha, steps) = (product, alpha, steps + 1);
    }
    let found = lanczos.view((0, 0), (steps, steps)).into_owned();
    Ok(found.symmetric_eigenvalues().max())
}

impl<B: Backend, S: Scalar> Smoother<B, S> for Chebyshev<B, S> {
    fn step(&mut self, b: &B::Vector<S>, x: &mut B::Vector<S>) -> Result<()> {
        let backend = self.level.backend();
        let ratio = self.center / self.radius;
        let mut rho = 1.0 / ratio;
        let mut factors = (1.0 / self.center, 0.0);
        for _ in 0..self.degree {
            self.level.smoothed_residual(b, x, &mut self.residual)?;
            let (of_residual, of_direction) = factors;
            backend.diagonal_axpby(
                of_residual,
                &self.inverse_diagonal,
                &self.residual,
                of_direction,
                &mut self.direction,
            )?;
            backend.axpby(1.0, &self.direction, 1.0, x)?;
            let next = 1.0 / (2.0 * ratio - rho);
            factors = (2.0 * next / self.radius, next * rho);
            rho = next;
        }
        Ok(())
    }

    fn step_adjoint(&mut self, b: &B::Vector<S>, x: &mut B::Vector<S>) -> Result<()> {
        self.step(b, x)
    }

    fn is_fixed(&self) -> bool {
        true
    }

    fn level(&self) -> &dyn Level<B, S> {
        &*self.level
    }
}
