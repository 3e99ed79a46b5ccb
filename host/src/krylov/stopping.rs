//! When an iteration ends, and what it reports.

use crate::backend::{Backend, Scalar};
use crate::error::{Error, Result};
use crate::operator::LinearOperator;

/// When an iteration ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stopping {
    /// Ends, converged, once `|b - A x| <= rtol |b|`; above 0 and below 1.
    pub rtol: f64,
    /// Ends, not converged, after so many iterations; at least 1.
    pub max_iters: usize,
}

impl Default for Stopping {
    fn default() -> Self {
        Self { rtol: 1e-9, max_iters: 100 }
    }
}

impl Stopping {
    /// Whether the values are allowed.
    pub fn check(&self) -> Result<()> {
        if !(self.rtol > 0.0 && self.rtol < 1.0) {
            return Err(Error::InvalidArgument {
                name: "rtol",
                value: format!("{:?}", self.rtol),
                allowed: "above 0 and below 1".into(),
            });
        }
        if self.max_iters == 0 {
            return Err(Error::InvalidArgument { name: "max-iters", value: "0".into(), allowed: "at least 1".into() });
        }
        Ok(())
    }
}

/// What an iteration did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Info {
    /// Iterations done.
    pub iterations: usize,
    /// Whether the tolerance was reached.
    pub converged: bool,
    /// `|b - A x| / |b|` at the start and after every iteration.
    pub residual_history: Vec<f64>,
    /// `i - 1 + log(r_{i-1} / rtol) / log(r_{i-1} / r_i)` at the last iteration `i`: where a straight line through the
    /// last two residuals, on a logarithmic scale, meets the tolerance. `None` if it was not reached.
    pub fractional_iterations: Option<f64>,
}

/// Keeps the history, tells the observer and decides.
pub(super) struct Monitor<'a> {
    stopping: Stopping,
    norm_b: f64,
    history: Vec<f64>,
    observer: &'a mut dyn FnMut(usize, f64),
}

impl<'a> Monitor<'a> {
    /// Of an iteration for `A x = b` that begins at `x`: leaves `b - A x` in `residual`, and gives its norm, which it
    /// records. For `b = 0` it begins, and ends, at the solution 0.
    pub(super) fn start<B: Backend, T: Scalar>(
        operator: &impl LinearOperator<B, T>,
        b: &B::Vector<T>,
        x: &mut B::Vector<T>,
        residual: &mut B::Vector<T>,
        stopping: &Stopping,
        observer: &'a mut dyn FnMut(usize, f64),
    ) -> Result<(Self, f64)> {
        let backend = operator.backend();
        let norm_b = backend.norm(b)?;
        let mut monitor = Self::new(stopping, if norm_b == 0.0 { 1.0 } else { norm_b }, observer)?;
        if norm_b == 0.0 {
            backend.set_zero(x)?;
        }
        operator.residual(b, x, residual)?;
        let norm = backend.norm(residual)?;
        monitor.record(norm)?;
        Ok((monitor, norm))
    }

    /// `norm_b` must be finite and above 0.
    fn new(stopping: &Stopping, norm_b: f64, observer: &'a mut dyn FnMut(usize, f64)) -> Result<Self> {
        stopping.check()?;
        if !norm_b.is_finite() {
            return Err(Error::NotFinite { what: "norm of the right-hand side", value: norm_b, place: "start".into() });
        }
        Ok(Self {
            stopping: *stopping,
            norm_b,
            history: Vec::with_capacity(stopping.max_iters.min(1000) + 1),
            observer,
        })
    }

    /// The residual's norm, at the start and after each iteration.
    pub(super) fn record(&mut self, norm: f64) -> Result<()> {
        let iteration = self.history.len();
        if !norm.is_finite() {
            return Err(Error::NotFinite {
                what: "norm of the residual",
                value: norm,
                place: format!("iteration {iteration}"),
            });
        }
        let relative = norm / self.norm_b;
        self.history.push(relative);
        (self.observer)(iteration, relative);
        Ok(())
    }

    /// Iterations recorded.
    pub(super) fn iterations(&self) -> usize {
        self.history.len() - 1
    }

    /// Whether a residual is small enough.
    pub(super) fn accepts(&self, norm: f64) -> bool {
        norm / self.norm_b <= self.stopping.rtol
    }

    /// Whether one iteration more is the last allowed.
    pub(super) fn is_last(&self) -> bool {
        self.iterations() + 1 >= self.stopping.max_iters
    }

    /// Whether the iteration ends here.
    pub(super) fn is_done(&self) -> bool {
        self.is_converged() || self.iterations() >= self.stopping.max_iters
    }

    /// Whether nothing is left to correct.
    pub(super) fn is_exact(&self) -> bool {
        self.history.last() == Some(&0.0)
    }

    fn is_converged(&self) -> bool {
        self.history.last().is_some_and(|&relative| relative <= self.stopping.rtol)
    }

    pub(super) fn finish(self) -> Info {
        let (iterations, converged) = (self.iterations(), self.is_converged());
        let fractional_iterations = converged.then(|| match self.history[..] {
            [.., before, last] => (iterations - 1) as f64 + fraction(before, last, self.stopping.rtol),
            _ => 0.0,
        });
        Info { iterations, converged, residual_history: self.history, fractional_iterations }
    }
}

/// Which part of the step from `before` to `last` reaches `rtol`; 0 if `before` was there.
fn fraction(before: f64, last: f64, rtol: f64) -> f64 {
    if before <= rtol { 0.0 } else { (before / rtol).ln() / (before / last).ln() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(stopping: Stopping, norms: &[f64]) -> Info {
        let mut seen = Vec::new();
        let mut observer = |iteration: usize, relative: f64| seen.push((iteration, relative));
        let mut monitor = Monitor::new(&stopping, 2.0, &mut observer).unwrap();
        for &norm in norms {
            assert!(!monitor.history.iter().any(|&r| r <= stopping.rtol));
            monitor.record(norm).unwrap();
        }
        assert!(monitor.is_done());
        let info = monitor.finish();
        assert_eq!(seen, info.residual_history.iter().copied().enumerate().collect::<Vec<_>>());
        info
    }

    #[test]
    fn fractional_iterations_interpolate_logarithmically() {
        let stopping = Stopping { rtol: 1e-3, max_iters: 10 };
        let info = run(stopping, &[2.0, 2e-2, 2e-4]);
        assert_eq!((info.iterations, info.converged), (2, true));
        assert!((info.fractional_iterations.unwrap() - 1.5).abs() < 1e-12);
        assert_eq!(run(stopping, &[2.0, 0.0]).fractional_iterations, Some(0.0));
        assert_eq!(run(stopping, &[1e-4]).fractional_iterations, Some(0.0));
    }

    #[test]
    fn too_few_iterations_are_no_error() {
        let info = run(Stopping { rtol: 1e-3, max_iters: 2 }, &[2.0, 1.0, 0.5]);
        assert_eq!((info.iterations, info.converged, info.fractional_iterations), (2, false, None));
    }

    #[test]
    fn bad_values_are_refused() {
        for rtol in [0.0, -1e-9, 1.0, f64::NAN, f64::INFINITY] {
            assert!(matches!(
                Stopping { rtol, max_iters: 1 }.check(),
                Err(Error::InvalidArgument { name: "rtol", .. })
            ));
        }
        let none = Stopping { max_iters: 0, ..Stopping::default() };
        assert!(matches!(none.check(), Err(Error::InvalidArgument { name: "max-iters", .. })));
        let mut observer = |_, _| ();
        assert!(matches!(Monitor::new(&Stopping::default(), f64::NAN, &mut observer), Err(Error::NotFinite { .. })));
        let mut monitor = Monitor::new(&Stopping::default(), 1.0, &mut observer).unwrap();
        monitor.record(1.0).unwrap();
        let error = monitor.record(f64::NAN).unwrap_err();
        assert!(matches!(error, Error::NotFinite { ref place, .. } if place == "iteration 1"), "{error}");
    }
}
