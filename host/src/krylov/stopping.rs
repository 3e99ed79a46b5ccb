//! When an iteration ends, and what it reports.

use super::Observer;
use crate::backend::{Backend, Scalar, unit_roundoff};
use crate::error::{Error, Result};
use crate::operator::LinearOperator;
use std::fmt;

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

/// Why an iteration ended.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Outcome {
    /// The residual reached the tolerance.
    Converged,
    /// The iterations that [`Stopping`] allows did not suffice.
    #[default]
    MaxIterations,
    /// The [observer](super::Observer) ended it.
    Stopped,
    /// The residual stopped falling.
    Stagnated {
        /// The last `|b - A x| / |b|`.
        residual: f64,
        /// Whether rounding is why: the residual is below 4 times an estimate of what rounding `x` changes of it. If
        /// not, it stayed the same to 6 digits for another reason.
        rounding: bool,
    },
    /// The iteration moves away from the solution.
    Diverged {
        /// At which iteration that was seen; the history ends before it unless the residual there is finite.
        iteration: usize,
        /// How that was seen.
        cause: Divergence,
    },
}

/// How divergence shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Divergence {
    /// The residual rose a million times above the larger of `|b|` and the first residual.
    Growth,
    /// A residual, or what it is computed from, is infinite or not a number.
    NotFinite,
    /// `r · M r <= 0` for the symmetric preconditioner `M` of conjugate gradients. `I - M A` then has an eigenvalue of at
    /// least 1: the cycle that `M` is diverges by itself.
    IndefinitePreconditioner,
}

impl Outcome {
    /// As the program's JSON has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Converged => "converged",
            Self::MaxIterations => "max-iters",
            Self::Stopped => "stopped",
            Self::Stagnated { .. } => "stagnated",
            Self::Diverged { .. } => "diverged",
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Converged => write!(f, "converged"),
            Self::MaxIterations => write!(f, "not converged"),
            Self::Stopped => write!(f, "stopped"),
            Self::Stagnated { residual, rounding } => {
                write!(f, "stagnated at {residual:.1e}{}", if *rounding { ": rounding" } else { "" })
            }
            Self::Diverged { iteration, cause } => write!(f, "diverged at iteration {iteration}: {cause}"),
        }
    }
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Growth => write!(f, "the residual grew by more than {GROWTH:e}"),
            Self::NotFinite => write!(f, "the residual is not finite"),
            Self::IndefinitePreconditioner => write!(f, "the preconditioner is not positive definite"),
        }
    }
}

/// What an iteration did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Info {
    /// Iterations done.
    pub iterations: usize,
    /// Whether the tolerance was reached: `outcome` is [`Outcome::Converged`].
    pub converged: bool,
    /// Why it ended.
    pub outcome: Outcome,
    /// `|b - A x| / |b|` at the start and after every iteration. All of it is finite: an iteration whose residual is not
    /// has no entry and is none of `iterations`.
    pub residual_history: Vec<f64>,
    /// `i - 1 + log(r_{i-1} / rtol) / log(r_{i-1} / r_i)` at the last iteration `i`: where a straight line through the
    /// last two residuals, on a logarithmic scale, meets the tolerance. `None` if it was not reached.
    pub fractional_iterations: Option<f64>,
    /// Iterations within the preconditioner in all, where it iterates: on a coarsest level that is not solved exactly.
    pub inner_iterations: Option<usize>,
}

/// Divergence: a residual so many times the larger of `|b|` and the first residual. Conjugate gradients that converge may
/// have residuals up to the square root of the condition number times the first, which is below this for condition
/// numbers up to 1e12; PETSc's default, 1e4, covers 1e8.
const GROWTH: f64 = 1e6;
/// Residuals computed from `x` without progress before it is asked why.
const WINDOW: usize = 5;
/// Progress: within a window the residual falls by that part. An iteration that gains 0.5 % each time goes on.
const PROGRESS: f64 = 0.02;
/// Rounding: a residual below so many times [`rounding`]. All solvers, smoothers and precisions here end at 0.25 to 1.05 times
/// it (9 problems on a CPU, degrees 1 to 10); more than 1 leaves room for other machines.
const NEAR: f64 = 4.0;
/// Standstill: residuals of a window differ by no more than that part. A digit would take 2 million iterations.
const STANDSTILL: f64 = 1e-6;

/// Keeps the history, tells the observer and decides.
pub(super) struct Monitor<'a> {
    stopping: Stopping,
    /// Norm of `b`, or 1 if `b = 0`.
    norm_b: f64,
    /// Unit roundoff of the vectors' scalar.
    unit: f64,
    history: Vec<f64>,
    /// Why the iteration ends, once it does.
    outcome: Option<Outcome>,
    window: Window,
    observer: &'a mut Observer<'a>,
}

/// Relative residuals, computed from `x`, since the last one that was progress.
#[derive(Clone, Copy, Debug)]
struct Window {
    /// The one that was progress.
    start: f64,
    /// How many followed.
    count: usize,
    lowest: f64,
    highest: f64,
}

impl Window {
    fn new(start: f64) -> Self {
        Self { start, count: 0, lowest: start, highest: start }
    }

    /// Whether it is full with this residual.
    fn is_filled_by(&mut self, residual: f64) -> bool {
        if residual < (1.0 - PROGRESS) * self.start {
            *self = Self::new(residual);
        } else {
            self.count += 1;
            self.lowest = self.lowest.min(residual);
            self.highest = self.highest.max(residual);
        }
        self.count == WINDOW
    }
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
        observer: &'a mut Observer<'a>,
    ) -> Result<(Self, f64)> {
        let backend = operator.backend();
        let norm_b = backend.norm(b)?;
        let mut monitor = Self::new(stopping, norm_b, unit_roundoff::<T>(), observer)?;
        if norm_b == 0.0 {
            backend.set_zero(x)?;
        }
        operator.residual(b, x, residual)?;
        let norm = backend.norm(residual)?;
        monitor.record(norm);
        Ok((monitor, norm))
    }

    /// The same of an iteration that begins at `x = 0`: the residual is `b`, whose norm is given.
    pub(super) fn start_at_zero<T: Scalar>(
        norm_b: f64,
        stopping: &Stopping,
        observer: &'a mut Observer<'a>,
    ) -> Result<Self> {
        let mut monitor = Self::new(stopping, norm_b, unit_roundoff::<T>(), observer)?;
        monitor.record(norm_b);
        Ok(monitor)
    }

    /// Of a right-hand side with a norm, which must be finite.
    fn new(stopping: &Stopping, norm_b: f64, unit: f64, observer: &'a mut Observer<'a>) -> Result<Self> {
        stopping.check()?;
        if !norm_b.is_finite() {
            return Err(Error::NotFinite { what: "norm of the right-hand side", value: norm_b, place: "start".into() });
        }
        Ok(Self {
            stopping: *stopping,
            norm_b: if norm_b == 0.0 { 1.0 } else { norm_b },
            unit,
            history: Vec::with_capacity(stopping.max_iters.min(1000) + 1),
            outcome: None,
            window: Window::new(f64::INFINITY),
            observer,
        })
    }

    /// A residual's norm by recurrence, after an iteration.
    pub(super) fn record_estimate(&mut self, norm: f64) {
        let (iteration, relative) = (self.history.len(), norm / self.norm_b);
        if !relative.is_finite() {
            return self.diverge(Divergence::NotFinite);
        }
        self.history.push(relative);
        if (self.observer)(iteration, relative).is_break() {
            self.outcome = Some(Outcome::Stopped);
        }
        if relative > GROWTH * self.history[0].max(1.0) {
            self.outcome = Some(Outcome::Diverged { iteration, cause: Divergence::Growth });
        }
    }

    /// The norm of a residual computed from `x`, at the start and after an iteration. Whether the window is full.
    fn record(&mut self, norm: f64) -> bool {
        self.outcome = None;
        self.record_estimate(norm);
        let is_open = matches!(self.outcome, None | Some(Outcome::Stopped));
        let Some(&relative) = self.history.last().filter(|_| is_open) else { return false };
        if relative <= self.stopping.rtol {
            self.outcome = Some(Outcome::Converged);
        } else if self.is_stopped() {
            return false;
        } else if self.iterations() >= self.stopping.max_iters {
            self.outcome = Some(Outcome::MaxIterations);
        }
        self.window.is_filled_by(relative)
    }

    /// Records the norm, which it gives, of a `residual` computed from `x` after an iteration, and looks for stagnation;
    /// `work` may be overwritten.
    ///
    /// # Errors
    /// Those of the backend.
    pub(super) fn check<B: Backend, T: Scalar>(
        &mut self,
        operator: &impl LinearOperator<B, T>,
        x: &B::Vector<T>,
        residual: &B::Vector<T>,
        work: &mut B::Vector<T>,
    ) -> Result<f64> {
        let norm = operator.backend().norm(residual)?;
        if self.record(norm) && !self.is_converged() {
            self.look_for_stagnation(norm, operator, x, residual, work)?;
        }
        Ok(norm)
    }

    /// [`Self::check`] after what is most likely the last iteration: `residual` is computed here, and only if the iteration goes on or may have
    /// stagnated.
    ///
    /// # Errors
    /// Those of the backend.
    pub(super) fn check_last<B: Backend, T: Scalar>(
        &mut self,
        operator: &impl LinearOperator<B, T>,
        b: &B::Vector<T>,
        x: &B::Vector<T>,
        residual: &mut B::Vector<T>,
        work: &mut B::Vector<T>,
    ) -> Result<f64> {
        let norm = operator.residual_norm(b, x, work)?;
        let may_stagnate = self.record(norm) && !self.is_converged();
        if may_stagnate || !self.is_done() {
            operator.residual(b, x, residual)?;
        }
        if may_stagnate {
            self.look_for_stagnation(norm, operator, x, residual, work)?;
        }
        Ok(norm)
    }

    /// Whether residuals of the window, which is full, the last one of this norm, have stopped falling.
    fn look_for_stagnation<B: Backend, T: Scalar>(
        &mut self,
        norm: f64,
        operator: &impl LinearOperator<B, T>,
        x: &B::Vector<T>,
        residual: &B::Vector<T>,
        work: &mut B::Vector<T>,
    ) -> Result<()> {
        let Window { lowest, highest, .. } = self.window;
        let rounding = lowest <= NEAR * rounding(operator, x, residual, work)? / self.norm_b;
        if rounding || highest - lowest <= STANDSTILL * lowest {
            self.outcome = Some(Outcome::Stagnated { residual: norm / self.norm_b, rounding });
        }
        self.window = Window::new(lowest);
        Ok(())
    }

    /// Ends the iteration that is under way.
    pub(super) fn diverge(&mut self, cause: Divergence) {
        self.outcome = Some(Outcome::Diverged { iteration: self.history.len(), cause });
    }

    /// Iterations recorded.
    pub(super) fn iterations(&self) -> usize {
        self.history.len().saturating_sub(1)
    }

    /// Whether a residual by recurrence is so small that `b - A x` must be computed: within the tolerance, or below `u |b|`,
    /// where it is not that of `x`, whose rounding alone makes about `u |A| |x|`, and `|A| |x| >= |A x| = |b|` nearly.
    pub(super) fn accepts(&self, norm: f64) -> bool {
        norm / self.norm_b <= self.stopping.rtol.max(self.unit)
    }

    /// Whether one iteration more is the last allowed.
    pub(super) fn is_last(&self) -> bool {
        self.iterations() + 1 >= self.stopping.max_iters
    }

    /// Whether the iteration ends here.
    pub(super) fn is_done(&self) -> bool {
        self.outcome.is_some()
    }

    /// Whether the iteration ends here because of its tolerance, with something left to correct.
    pub(super) fn could_improve(&self) -> bool {
        self.is_converged() && self.history.last() != Some(&0.0)
    }

    /// Whether the observer ended the iteration.
    pub(super) fn is_stopped(&self) -> bool {
        self.outcome == Some(Outcome::Stopped)
    }

    fn is_converged(&self) -> bool {
        self.outcome == Some(Outcome::Converged)
    }

    pub(super) fn finish(self) -> Info {
        let (iterations, converged) = (self.iterations(), self.is_converged());
        let fractional_iterations = converged.then(|| match self.history[..] {
            [.., before, last] => (iterations - 1) as f64 + fraction(before, last, self.stopping.rtol),
            _ => 0.0,
        });
        let outcome = self.outcome.unwrap_or_default();
        Info {
            iterations,
            converged,
            outcome,
            residual_history: self.history,
            fractional_iterations,
            inner_iterations: None,
        }
    }
}

/// `u |x| |A r| / |r|`, with the unit roundoff `u` of the scalar: by about how much `b - A x` changes when `x` is rounded,
/// which no iteration can go far below (Greenbaum, *Estimating the attainable accuracy of recursively computed residual
/// methods*, SIAM J. Matrix Anal. Appl. 18, 1997). `|A r| / |r|` never exceeds `|A|`, so that the estimate is not too
/// large, and is near to it where `r` is rounding, which is rough.
fn rounding<B: Backend, T: Scalar>(
    operator: &impl LinearOperator<B, T>,
    x: &B::Vector<T>,
    r: &B::Vector<T>,
    work: &mut B::Vector<T>,
) -> Result<f64> {
    let backend = operator.backend();
    operator.apply(r, work)?;
    Ok(unit_roundoff::<T>() * backend.norm(x)? * backend.norm(work)? / backend.norm(r)?)
}

/// Which part of the step from `before` to `last` reaches `rtol`; 0 if `before` was there.
fn fraction(before: f64, last: f64, rtol: f64) -> f64 {
    if before <= rtol { 0.0 } else { (before / rtol).ln() / (before / last).ln() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::cpu::{Cpu, Vector};
    use crate::krylov::unobserved;
    use std::cell::Cell;
    use std::ops::ControlFlow;
    use std::sync::Arc;

    fn run(stopping: Stopping, norms: &[f64]) -> Info {
        let mut seen = Vec::new();
        let mut observer = |iteration: usize, relative: f64| {
            seen.push((iteration, relative));
            ControlFlow::Continue(())
        };
        let mut monitor = Monitor::new(&stopping, 2.0, 1e-16, &mut observer).unwrap();
        for &norm in norms {
            assert!(!monitor.history.iter().any(|&r| r <= stopping.rtol));
            monitor.record(norm);
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
        assert_eq!(info.outcome, Outcome::MaxIterations);
    }

    /// `A = 2 I`, which counts how often a residual is computed.
    struct Twice {
        cpu: Arc<Cpu>,
        residuals: Cell<usize>,
    }

    impl LinearOperator<Cpu, f64> for Twice {
        fn backend(&self) -> &Arc<Cpu> {
            &self.cpu
        }

        fn storage(&self) -> usize {
            1
        }

        fn apply(&self, x: &Vector<f64>, y: &mut Vector<f64>) -> Result<()> {
            self.cpu.axpby(2.0, x, 0.0, y)
        }

        fn residual(&self, b: &Vector<f64>, x: &Vector<f64>, r: &mut Vector<f64>) -> Result<()> {
            self.residuals.set(self.residuals.get() + 1);
            r[0] = b[0] - 2.0 * x[0];
            Ok(())
        }

        fn residual_norm(&self, b: &Vector<f64>, x: &Vector<f64>, _work: &mut Vector<f64>) -> Result<f64> {
            Ok((b[0] - 2.0 * x[0]).abs())
        }
    }

    #[test]
    fn a_residual_is_computed_only_where_it_is_needed() {
        let operator = Twice { cpu: Arc::new(Cpu::new(Some(1)).unwrap()), residuals: Cell::new(0) };
        let vector = |value: f64| {
            let mut vector = operator.vector().unwrap();
            vector[0] = value;
            vector
        };
        let (b, [mut residual, mut work]) = (vector(4.0), [vector(7.0), vector(7.0)]);
        let mut observer = unobserved;
        let stopping = Stopping { rtol: 1e-3, max_iters: 2 };
        let mut monitor = Monitor::start_at_zero::<f64>(4.0, &stopping, &mut observer).unwrap();
        // Not the end: the iteration goes on with the residual.
        let norm = monitor.check_last(&operator, &b, &vector(1.5), &mut residual, &mut work).unwrap();
        assert_eq!((norm, residual[0], operator.residuals.get(), monitor.is_done()), (1.0, 1.0, 1, false));
        let norm = monitor.check_last(&operator, &b, &vector(1.9999), &mut residual, &mut work).unwrap();
        assert!((norm - 2e-4).abs() < 1e-12 && monitor.is_converged());
        assert_eq!((residual[0], operator.residuals.get()), (1.0, 1));
        // No more iterations are allowed, or it has diverged.
        for (x, outcome) in [
            (1.5, Outcome::MaxIterations),
            (f64::NAN, Outcome::Diverged { iteration: 1, cause: Divergence::NotFinite }),
        ] {
            let (mut observer, stopping) = (unobserved, Stopping { max_iters: 1, ..stopping });
            let mut monitor = Monitor::start_at_zero::<f64>(4.0, &stopping, &mut observer).unwrap();
            monitor.check_last(&operator, &b, &vector(x), &mut residual, &mut work).unwrap();
            assert_eq!((monitor.outcome, operator.residuals.get()), (Some(outcome), 1));
        }
        // The window is full: whether rounding is why needs the residual.
        let mut observer = unobserved;
        let stopping = Stopping { max_iters: 100, ..stopping };
        let mut monitor = Monitor::start_at_zero::<f64>(4.0, &stopping, &mut observer).unwrap();
        while !monitor.is_done() {
            monitor.check_last(&operator, &b, &vector(1.5), &mut residual, &mut work).unwrap();
        }
        assert_eq!(monitor.outcome, Some(Outcome::Stagnated { residual: 0.25, rounding: false }));
    }

    /// How many residuals a window takes that begins at 1, each the `factor` times the last.
    fn filled_after(factor: f64) -> Option<usize> {
        let mut window = Window::new(f64::INFINITY);
        (0..100).position(|i| window.is_filled_by(factor.powi(i)))
    }

    #[test]
    fn an_iteration_that_gains_half_a_percent_is_never_asked_why() {
        assert_eq!(filled_after(0.99), None);
        assert_eq!(filled_after(0.995), None);
        assert_eq!(filled_after(0.9965), Some(WINDOW));
        assert_eq!(filled_after(1.0), Some(WINDOW));
        assert_eq!(filled_after(1.1), Some(WINDOW));
    }

    #[test]
    fn growth_beyond_what_converging_iterations_have_is_divergence() {
        let stopping = Stopping { rtol: 1e-3, max_iters: 10 };
        // Relative to the right-hand side, or to a worse start.
        for (norms, iteration) in [(&[2.0, 1.9e6, 2.1e6][..], 2), (&[1e-2, 1.9e6, 2.1e6], 2), (&[2e3, 1.9e9, 2.1e9], 2)]
        {
            let info = run(stopping, norms);
            assert_eq!(info.outcome, Outcome::Diverged { iteration, cause: Divergence::Growth }, "{norms:?}");
            assert_eq!((info.iterations, info.converged), (iteration, false));
        }
    }

    #[test]
    fn a_residual_that_is_not_finite_is_divergence_and_no_entry() {
        for bad in [f64::NAN, f64::INFINITY] {
            let info = run(Stopping::default(), &[2.0, 1.0, bad]);
            assert_eq!(info.outcome, Outcome::Diverged { iteration: 2, cause: Divergence::NotFinite });
            assert_eq!((info.iterations, info.residual_history), (1, vec![1.0, 0.5]));
            let info = run(Stopping::default(), &[bad]);
            assert_eq!(info.outcome, Outcome::Diverged { iteration: 0, cause: Divergence::NotFinite });
            assert_eq!((info.iterations, info.residual_history), (0, Vec::new()));
        }
    }

    #[test]
    fn outcomes_read_as_sentences() {
        let stagnated = |rounding| Outcome::Stagnated { residual: 3.21e-9, rounding };
        assert_eq!(stagnated(true).to_string(), "stagnated at 3.2e-9: rounding");
        assert_eq!(stagnated(false).to_string(), "stagnated at 3.2e-9");
        let diverged = Outcome::Diverged { iteration: 4, cause: Divergence::Growth };
        assert_eq!(diverged.to_string(), "diverged at iteration 4: the residual grew by more than 1e6");
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
        let mut observer = unobserved;
        assert!(matches!(
            Monitor::new(&Stopping::default(), f64::NAN, 1e-16, &mut observer),
            Err(Error::NotFinite { .. })
        ));
    }
}
