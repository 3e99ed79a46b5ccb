//! Chebyshev iteration of the fourth kind.

use super::Smoother;
use super::chebyshev::Scaled;
use super::preconditioning::Preconditioning;
use crate::backend::{Backend, Scalar};
use crate::error::Result;
use crate::level::{Level, SharedLevel};
use crate::operator::vector_bytes;

/// Chebyshev iteration of the fourth kind with optimal weights for `D⁻¹ A`, `D` being the diagonal of `A` (Lottes, *Numerical Linear
/// Algebra with Applications* 30, 2023, e2518; Phillips and Fischer, arXiv:2210.03179).
///
/// For a symmetric V-cycle with `m` steps of a polynomial smoother, the bound of the contraction falls with
/// `sup λ p(λ)² / (1 - p(λ)²)` over the eigenvalues `λ`, `p` being the polynomial by which a step multiplies the error. This `p` is
/// the best one for eigenvalues from 0 to `b`, so that no lower end of a range is to be chosen. The bound `b` is that of
/// [`Chebyshev`](super::Chebyshev).
pub struct ChebyshevFourthKind<B: Backend, S: Scalar> {
    level: SharedLevel<B, S>,
    weights: &'static [f64],
    scaled: Scaled<B, S>,
    /// Beside that of `scaled`.
    residual: B::Vector<S>,
}

/// The largest degree.
pub(super) const MOST: usize = 6;

/// The weights of each degree (Lottes; Phillips and Fischer, table 5).
const WEIGHTS: [&[f64]; MOST] = [
    &[1.125],
    &[1.02387287570313, 1.26408905371085],
    &[1.00842544782028, 1.08867839208730, 1.33753125909618],
    &[1.00391310427285, 1.04035811188593, 1.14863498546254, 1.38268869241000],
    &[1.00212930146164, 1.02173711549260, 1.07872433192603, 1.19810065292663, 1.41322542791682],
    &[1.00128517255940, 1.01304293035233, 1.04678215124113, 1.11616489419675, 1.23829020218444, 1.43524297106744],
];

impl<B: Backend, S: Scalar> ChebyshevFourthKind<B, S> {
    /// Bytes of the vectors that [`Self::new`] allocates, for vectors of `storage` entries: what the estimate of the bound gives back is
    /// taken again.
    pub fn bytes(storage: usize, is_nonlinear: bool) -> u64 {
        let taken_again = if is_nonlinear { vector_bytes::<S>(1, storage) } else { 0 };
        Scaled::<B, S>::bytes(storage, is_nonlinear) + taken_again
    }

    /// Of a degree from 1 to 6 on a level; estimates the largest eigenvalue.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) for another degree; those of [`Chebyshev::new`](super::Chebyshev::new).
    pub fn new(level: &SharedLevel<B, S>, degree: usize) -> Result<Self> {
        super::SmootherConfig::ChebyshevFourthKind { degree }.check()?;
        let scaled = Scaled::new(&**level, Preconditioning::Diagonal(level.inverse_diagonal()?), false)?;
        Ok(Self { level: level.clone(), weights: WEIGHTS[degree - 1], scaled, residual: level.vector()? })
    }
}

/// Factors of the last direction and of the preconditioned residual in direction `k = 1, ...`, for eigenvalues up to 1.
fn recurrence(k: usize) -> (f64, f64) {
    let k = k as f64;
    ((2.0 * k - 3.0) / (2.0 * k + 1.0), (8.0 * k - 4.0) / (2.0 * k + 1.0))
}

impl<B: Backend, S: Scalar> ChebyshevFourthKind<B, S> {
    /// A step, from `x` or from 0.
    fn iterate(&mut self, from_zero: bool, b: &B::Vector<S>, x: &mut B::Vector<S>) -> Result<()> {
        let Self { level, scaled: Scaled { preconditioner, bound, residual, direction, .. }, .. } = self;
        let (backend, entries) = (level.backend(), level.smoothed_entries());
        let (mut residual, mut next) = (residual, &mut self.residual);
        if from_zero {
            backend.set_zero(x)?;
        } else {
            level.smoothed_residual(b, x, residual)?;
        }
        for (k, &weight) in (1..).zip(self.weights) {
            let (of_direction, of_residual) = recurrence(k);
            let of_direction = if k == 1 { 0.0 } else { of_direction };
            let of_residual = of_residual / *bound;
            // The residual of 0 is `b`.
            let starts = from_zero && k == 1;
            let own = if starts { b } else { &*residual };
            preconditioner.axpby(&**level, entries, of_residual, own, of_direction, direction)?;
            backend.axpby_first(entries, weight, direction, if starts { 0.0 } else { 1.0 }, x)?;
            if k < self.weights.len() {
                // The residual of the iteration without weights.
                level.smoothed_residual(own, direction, next)?;
                std::mem::swap(&mut residual, &mut next);
            }
        }
        Ok(())
    }
}

impl<B: Backend, S: Scalar> Smoother<B, S> for ChebyshevFourthKind<B, S> {
    fn step(&mut self, b: &B::Vector<S>, x: &mut B::Vector<S>) -> Result<()> {
        self.iterate(false, b, x)
    }

    fn step_from_zero(&mut self, b: &B::Vector<S>, x: &mut B::Vector<S>) -> Result<()> {
        self.iterate(true, b, x)
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

#[cfg(test)]
mod tests {
    use super::*;

    /// By which a step multiplies an error of eigenvalue `λ`, for a bound of 1.
    fn polynomial(weights: &[f64], lambda: f64) -> f64 {
        let (mut error, mut residual, mut direction) = (1.0, lambda, 0.0);
        for (k, weight) in (1..).zip(weights) {
            let (of_direction, of_residual) = recurrence(k);
            direction = of_direction * direction + of_residual * residual;
            error -= weight * direction;
            residual -= lambda * direction;
        }
        error
    }

    /// The best polynomial has the same largest value between all of its zeros, and at both ends.
    #[test]
    fn weights_are_optimal() {
        for weights in WEIGHTS {
            let value = |i: usize| {
                let lambda = 1e-5 * i as f64;
                let square = polynomial(weights, lambda).powi(2);
                lambda * square / (1.0 - square)
            };
            let values: Vec<f64> = (1..=100_000).map(value).collect();
            let last = values.len() - 1;
            let is_peak =
                |&i: &usize| (i == 0 || values[i - 1] < values[i]) && (i == last || values[i + 1] < values[i]);
            let peaks: Vec<f64> = (0..=last).filter(is_peak).map(|i| values[i]).collect();
            assert_eq!(peaks.len(), weights.len() + 1, "{peaks:?}");
            let [least, most] = [peaks.iter().copied().fold(1.0, f64::min), peaks.iter().copied().fold(0.0, f64::max)];
            assert!(most / least - 1.0 < 1e-3 && most < 1.0 / 3.0 + 1e-9, "{peaks:?}");
        }
    }
}
