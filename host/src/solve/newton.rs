//! Newton's method with backtracking.

use super::{Config, Solver};
use crate::error::{Result, invalid};
use crate::krylov::{Divergence, Info, Observer, Outcome};
use crate::system::{Nonlinear, Runs, System};
use std::ops::ControlFlow;
use std::sync::Arc;

/// How [`newton`] iterates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NewtonConfig {
    /// Ends, converged, once the Euclidean norm of the residual is at most that.
    pub tolerance: f64,
    /// A step is halved so often at most until the residual falls.
    pub max_halvings: usize,
    /// How the equation of each correction is solved. Its `rtol` is what the residual of that is to fall by, but never further
    /// than to a tenth of `tolerance`; not more than its `max_iters` steps are taken.
    pub linear: Config,
}

impl NewtonConfig {
    /// What is usual, with a way to solve.
    pub fn new(linear: Config) -> Self {
        Self { tolerance: 1e-12, max_halvings: 10, linear }
    }

    /// Whether the values are allowed.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument).
    pub fn check(&self) -> Result<()> {
        if !(self.tolerance > 0.0 && self.tolerance.is_finite()) {
            return Err(invalid("the tolerance of Newton's method", self.tolerance, "positive and finite"));
        }
        self.linear.stopping.check()
    }
}

/// A step of Newton's method.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NewtonStep {
    /// The Euclidean norm of the residual after it.
    pub residual: f64,
    /// Iterations for the correction.
    pub linear_iterations: usize,
    /// Part of the correction that was added: 1, 1/2, 1/4 and so on.
    pub step_length: f64,
}

/// What [`newton`] found.
#[derive(Clone, Debug)]
pub struct NewtonSolution<U> {
    /// The last iterate.
    pub u: U,
    /// Steps as iterations; residuals are relative to the first.
    pub info: Info,
    /// One for each step.
    pub steps: Vec<NewtonStep>,
}

/// Solves `A(u) = b` by `A'(u) w = b - A(u)`, `u ← u + t w`, `t` being the largest of 1, 1/2, 1/4 and so on for which the residual
/// falls (paper 3, section 4.3). The observer is told each step, and the residual relative to the first.
///
/// That it did not converge is no error: `info.outcome` says why.
///
/// # Errors
/// Those of the equation, of [`NewtonConfig::check`], of [`Solver::new`] and of [`Solver::solve`].
pub fn newton<E: System, B: Runs<E>>(
    backend: &Arc<B>,
    equation: &dyn Nonlinear<System = E>,
    start: E::Solution,
    config: &NewtonConfig,
    observer: &mut Observer,
) -> Result<NewtonSolution<E::Solution>> {
    config.check()?;
    let (mut u, mut steps) = (start, Vec::new());
    let mut residual = equation.residual(&u)?;
    let first = norm(&residual);
    let (mut last, mut history) = (first, Vec::new());
    let outcome = loop {
        if !last.is_finite() {
            break Outcome::Diverged { iteration: steps.len(), cause: Divergence::NotFinite };
        }
        let relative = if first > 0.0 { last / first } else { 0.0 };
        history.push(relative);
        let goes_on = observer(steps.len(), relative) == ControlFlow::Continue(());
        if last <= config.tolerance {
            break Outcome::Converged;
        }
        if !goes_on {
            break Outcome::Stopped;
        }
        if steps.len() == config.linear.stopping.max_iters {
            break Outcome::MaxIterations;
        }
        let mut linear = config.linear;
        linear.stopping.rtol = linear.stopping.rtol.max(0.1 * config.tolerance / last);
        let correction = Solver::new(backend, &equation.derivative(&u)?, &linear)?.solve(&residual)?;
        if let Outcome::Diverged { cause, .. } = correction.info.outcome {
            break Outcome::Diverged { iteration: steps.len() + 1, cause };
        }
        let lengths = (0..=config.max_halvings).map(|halvings| 0.5_f64.powi(halvings as i32));
        let Some(Tried { next, step_length }) = first_that_falls(equation, &u, &correction.u, last, lengths)? else {
            break Outcome::Stagnated { residual: last / first, rounding: false };
        };
        (u, residual, last) = next;
        steps.push(NewtonStep { residual: last, linear_iterations: correction.info.iterations, step_length });
    };
    let converged = outcome == Outcome::Converged;
    let info = Info { iterations: steps.len(), converged, outcome, residual_history: history, ..Info::default() };
    Ok(NewtonSolution { u, info, steps })
}

/// A step whose residual is lower.
struct Tried<U> {
    /// The iterate, its residual, and the norm of that.
    next: (U, Vec<f64>, f64),
    step_length: f64,
}

/// The first of the lengths for which the residual of `u + length * correction` is below `bound`.
fn first_that_falls<E: System>(
    equation: &dyn Nonlinear<System = E>,
    u: &E::Solution,
    correction: &E::Solution,
    bound: f64,
    lengths: impl Iterator<Item = f64>,
) -> Result<Option<Tried<E::Solution>>> {
    for step_length in lengths {
        let next = equation.corrected(u, correction, step_length)?;
        let residual = equation.residual(&next)?;
        let norm = norm(&residual);
        if norm < bound {
            return Ok(Some(Tried { next: (next, residual, norm), step_length }));
        }
    }
    Ok(None)
}

fn norm(residual: &[f64]) -> f64 {
    residual.iter().map(|value| value * value).sum::<f64>().sqrt()
}
