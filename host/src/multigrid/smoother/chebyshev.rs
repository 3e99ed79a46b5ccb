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
    range: f64,
    scaled: Scaled<B, S>,
}

impl<B: Backend, S: Scalar> Chebyshev<B, S> {
    /// Bytes of the vectors that [`Self::new`] allocates, for vectors of `storage` entries.
    pub fn bytes(storage: usize, is_nonlinear: bool) -> u64 {
        Scaled::<B, S>::bytes(storage, is_nonlinear)
    }

    /// On a level; estimates the largest eigenvalue.
    ///
    /// # Errors
    /// [`Error::NotPositiveDefinite`] if the estimate meets a negative eigenvalue; those of the backend.
    pub fn new(level: &SharedLevel<B, S>, degree: usize, range: f64) -> Result<Self> {
        Ok(Self { level: level.clone(), degree, range, scaled: Scaled::new(&**level)? })
    }

    /// `θ` and `δ`.
    fn center_and_radius(&self) -> [f64; 2] {
        let Self { range, scaled: Scaled { bound, .. }, .. } = self;
        [0.5 * (bound + bound / range), 0.5 * (bound - bound / range)]
    }

    /// `[θ - δ, θ + δ]`.
    pub fn interval(&self) -> [f64; 2] {
        let [center, radius] = self.center_and_radius();
        [center - radius, center + radius]
    }
}

/// What iterations for `D⁻¹ A` need: an upper bound of its eigenvalues, and two vectors whose entries mean nothing.
pub(super) struct Scaled<B: Backend, S: Scalar> {
    pub inverse_diagonal: B::Vector<S>,
    pub bound: f64,
    pub residual: B::Vector<S>,
    pub direction: B::Vector<S>,
    /// On a level that can be linearized: the estimate's right-hand side, and its work space.
    again: Option<[B::Vector<S>; 2]>,
}

impl<B: Backend, S: Scalar> Scaled<B, S> {
    /// Bytes of the vectors that [`Self::new`] allocates. The estimate gives one back where there is only one estimate.
    pub fn bytes(storage: usize, is_nonlinear: bool) -> u64 {
        vector_bytes::<S>(if is_nonlinear { 5 } else { 4 }, storage)
    }

    /// # Errors
    /// [`Error::NotPositiveDefinite`] if the estimate meets a negative eigenvalue; those of the backend.
    pub fn new(level: &dyn Level<B, S>) -> Result<Self> {
        let inverse_diagonal = level.inverse_diagonal()?;
        let mut residual = level.vector_of(&mut |i| (i % 11) as f64 - 5.0)?;
        let (mut direction, mut work) = (level.vector()?, level.vector()?);
        let again = match level.nonlinear() {
            Err(_) => None,
            Ok(_) => {
                let mut start = level.vector()?;
                level.backend().axpby(1.0, &residual, 0.0, &mut start)?;
                Some(start)
            }
        };
        let bound = SAFETY * largest_eigenvalue(level, &inverse_diagonal, &mut residual, [&mut direction, &mut work])?;
        Ok(Self { inverse_diagonal, bound, residual, direction, again: again.map(|start| [start, work]) })
    }

    /// For the level's operator, which has changed.
    ///
    /// # Errors
    /// Those of [`Self::new`], and of a level that cannot be linearized.
    pub fn update(&mut self, level: &dyn Level<B, S>) -> Result<()> {
        let Self { inverse_diagonal, bound, residual, direction, again } = self;
        level.nonlinear()?.update_inverse_diagonal(inverse_diagonal)?;
        if let Some([start, work]) = again {
            level.backend().axpby(1.0, start, 0.0, residual)?;
            *bound = SAFETY * largest_eigenvalue(level, inverse_diagonal, residual, [direction, work])?;
        }
        Ok(())
    }
}

/// Of `D⁻¹ A`, from below: that of the tridiagonal matrix of Lanczos' method, which the coefficients of conjugate gradients
/// give (Saad, section 6.7.3), for the right-hand side in `residual`. `work` has `D⁻¹ r`, then `A p`.
fn largest_eigenvalue<B: Backend, S: Scalar>(
    level: &dyn Level<B, S>,
    inverse_diagonal: &B::Vector<S>,
    residual: &mut B::Vector<S>,
    [direction, work]: [&mut B::Vector<S>; 2],
) -> Result<f64> {
    let backend = level.backend();
    let mut lanczos = DMatrix::zeros(ESTIMATE_STEPS, ESTIMATE_STEPS);
    let (mut steps, mut first_product, mut last_product, mut last_alpha) = (0, 0.0, 0.0, 0.0);
    while steps < ESTIMATE_STEPS {
        backend.diagonal_axpby(1.0, inverse_diagonal, residual, 0.0, work)?;
        let product = backend.dot(residual, work)?;
        if steps == 0 {
            first_product = product;
        } else if product <= first_product * f64::from(f32::EPSILON).powi(2) {
            // What is left is rounding: the Krylov space holds the solution.
            break;
        }
        let beta = if steps == 0 { 0.0 } else { product / last_product };
        backend.axpby(1.0, work, beta, direction)?;
        level.apply(direction, work)?;
        let energy = backend.dot(direction, work)?;
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
        backend.axpby(-alpha, work, 1.0, residual)?;
        (last_product, last_alpha, steps) = (product, alpha, steps + 1);
    }
    let found = lanczos.view((0, 0), (steps, steps)).into_owned();
    Ok(found.symmetric_eigenvalues().max())
}

impl<B: Backend, S: Scalar> Smoother<B, S> for Chebyshev<B, S> {
    fn step(&mut self, b: &B::Vector<S>, x: &mut B::Vector<S>) -> Result<()> {
        let [center, radius] = self.center_and_radius();
        let Self { level, scaled: Scaled { inverse_diagonal, residual, direction, .. }, .. } = self;
        let backend = level.backend();
        let ratio = center / radius;
        let mut rho = 1.0 / ratio;
        let mut factors = (1.0 / center, 0.0);
        for _ in 0..self.degree {
            level.smoothed_residual(b, x, residual)?;
            let (of_residual, of_direction) = factors;
            backend.diagonal_axpby(of_residual, inverse_diagonal, residual, of_direction, direction)?;
            backend.axpby(1.0, direction, 1.0, x)?;
            let next = 1.0 / (2.0 * ratio - rho);
            factors = (2.0 * next / radius, next * rho);
            rho = next;
        }
        Ok(())
    }

    fn step_adjoint(&mut self, b: &B::Vector<S>, x: &mut B::Vector<S>) -> Result<()> {
        self.step(b, x)
    }

    fn update(&mut self) -> Result<()> {
        self.scaled.update(&*self.level)
    }

    fn is_fixed(&self) -> bool {
        true
    }

    fn level(&self) -> &dyn Level<B, S> {
        &*self.level
    }
}
