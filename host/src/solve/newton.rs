//! Newton's method with backtracking, on the vectors of a machine.

use super::{Parts, PartsIn, Solver, upload};
use crate::backend::{Backend, Scalar};
use crate::error::{Result, invalid};
use crate::krylov::{Divergence, Info, Observer, Outcome, Stopping, unobserved};
use crate::operator::{LinearOperator, Preconditioner};
use crate::system::{Nonlinear, System};
use std::ops::ControlFlow;

/// How [`Solver::newton`] iterates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NewtonConfig {
    /// Ends, converged, once the Euclidean norm of the residual is at most that.
    pub tolerance: f64,
    /// A step is halved so often at most until the residual falls.
    pub max_halvings: usize,
    /// Steps at most.
    pub max_steps: usize,
    /// When the equation of a correction is solved. Its `rtol` is what the residual of that is to fall by, but never further than
    /// to a tenth of `tolerance`.
    pub linear: Stopping,
}

impl NewtonConfig {
    /// What is usual, with as many steps as iterations for a correction.
    pub fn new(linear: Stopping) -> Self {
        Self { tolerance: 1e-12, max_halvings: 10, max_steps: linear.max_iters, linear }
    }

    /// Whether the values are allowed.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument).
    pub fn check(&self) -> Result<()> {
        if !(self.tolerance > 0.0 && self.tolerance.is_finite()) {
            return Err(invalid("the tolerance of Newton's method", self.tolerance, "positive and finite"));
        }
        self.linear.check()
    }
}

/// What Newton's method begins with.
#[derive(Clone, Copy, Debug)]
pub enum NewtonStart<'a> {
    /// The solution of the linear equation of the solver's system for a load vector.
    Linear(&'a [f64]),
    /// A vector of the system; values that are given are added.
    Guess(&'a [f64]),
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

/// What [`Solver::newton`] found.
#[derive(Clone, Debug)]
pub struct NewtonSolution<U> {
    /// The last iterate.
    pub u: U,
    /// Steps as iterations; residuals are relative to the first.
    pub info: Info,
    /// One for each step.
    pub steps: Vec<NewtonStep>,
    /// Seconds, that for the start included.
    pub seconds: f64,
}

impl<E: System> Solver<E> {
    /// Solves `A(u) = b` by `A'(u) w = b - A(u)`, `u ← u + t w`, `t` being the largest of 1, 1/2, 1/4 and so on for which the residual
    /// falls (paper 3, section 4.3). The observer is told each step, and the residual relative to the first. Only scalars pass
    /// between host and machine, but for the start, the end, and what the system's [levels](crate::level::NonlinearLevel) need.
    ///
    /// From then on the solver is that of the last derivative. That the method did not converge is no error: `info.outcome` says
    /// why.
    ///
    /// # Errors
    /// [`Error::Unsupported`](crate::Error::Unsupported) if the system is not [nonlinear](System::is_nonlinear);
    /// [`Error::SizeMismatch`](crate::Error::SizeMismatch) for a vector of another length; those of [`NewtonConfig::check`], of the
    /// levels, and of [`Self::solve`].
    pub fn newton(
        &mut self,
        equation: &Nonlinear,
        start: NewtonStart,
        config: &NewtonConfig,
        observer: &mut Observer,
    ) -> Result<NewtonSolution<E::Solution>> {
        config.check()?;
        let of_start = match start {
            NewtonStart::Linear(load) => ("load vector", load),
            NewtonStart::Guess(guess) => ("guess", guess),
        };
        for (what, vector) in [("load vector", &*equation.load), ("given values", &*equation.given), of_start] {
            self.layout.check(what, vector.len())?;
        }
        let Done { info, steps, seconds } = self.parts.newton(equation, start, config, observer)?;
        Ok(NewtonSolution { u: self.system.solution(self.parts.values()?)?, info, steps, seconds })
    }
}

/// What was done.
pub(super) struct Done {
    info: Info,
    steps: Vec<NewtonStep>,
    seconds: f64,
}

impl<B: Backend, T: Scalar, M: Preconditioner<B, T>> PartsIn<B, T, M> {
    /// Leaves the last iterate in `x`.
    pub(super) fn newton(
        &mut self,
        equation: &Nonlinear,
        start: NewtonStart,
        config: &NewtonConfig,
        observer: &mut Observer,
    ) -> Result<Done> {
        let backend = self.backend.clone();
        let vector = |values: &[f64]| {
            let mut vector = self.operator.vector()?;
            upload(&*backend, values, &mut vector)?;
            Ok(vector)
        };
        let (load, given) = (vector(&equation.load)?, vector(&equation.given)?);
        let u = match start {
            NewtonStart::Linear(load) => {
                upload(&*backend, load, &mut self.b)?;
                self.operator.vector()?
            }
            NewtonStart::Guess(guess) => vector(guess)?,
        };
        // The next iterate takes the place of the given values.
        let mut iterates = Iterates { load, u, next: given };
        let (mut done, mut steps) = (None, Vec::new());
        let seconds = backend.time(&mut || {
            if let NewtonStart::Linear(_) = start {
                self.run(None, &config.linear, &mut unobserved)?;
                backend.axpby(1.0, &self.x, 0.0, &mut iterates.u)?;
            }
            backend.axpby(1.0, &iterates.next, 1.0, &mut iterates.u)?;
            done = Some(self.iterate(&mut iterates, config, &mut steps, observer)?);
            Ok(())
        })?;
        backend.axpby(1.0, &iterates.u, 0.0, &mut self.x)?;
        let (outcome, residual_history) = done.unwrap_or((Outcome::Stopped, Vec::new()));
        let converged = outcome == Outcome::Converged;
        let info = Info { iterations: steps.len(), converged, outcome, residual_history, ..Info::default() };
        Ok(Done { info, steps, seconds })
    }

    /// From `u`: why it ended, and residuals relative to the first.
    fn iterate(
        &mut self,
        iterates: &mut Iterates<B, T>,
        config: &NewtonConfig,
        steps: &mut Vec<NewtonStep>,
        observer: &mut Observer,
    ) -> Result<(Outcome, Vec<f64>)> {
        let backend = self.backend.clone();
        let Iterates { load, u, next } = iterates;
        self.operator.nonlinear()?.nonlinear_residual(load, u, &mut self.b)?;
        let first = backend.norm(&self.b)?;
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
            if steps.len() == config.max_steps {
                break Outcome::MaxIterations;
            }
            self.update(u)?;
            let rtol = config.linear.rtol.max(0.1 * config.tolerance / last);
            let (linear, _) = self.run(None, &Stopping { rtol, ..config.linear }, &mut unobserved)?;
            if let Outcome::Diverged { cause, .. } = linear.outcome {
                break Outcome::Diverged { iteration: steps.len() + 1, cause };
            }
            let mut halvings = 0;
            let (norm, step_length) = loop {
                let step_length = 0.5_f64.powi(halvings as i32);
                backend.axpby(1.0, u, 0.0, next)?;
                backend.axpby(step_length, &self.x, 1.0, next)?;
                self.operator.nonlinear()?.nonlinear_residual(load, next, &mut self.b)?;
                let norm = backend.norm(&self.b)?;
                if norm < last || halvings == config.max_halvings {
                    break (norm, step_length);
                }
                halvings += 1;
            };
            if norm.is_nan() || norm >= last {
                break Outcome::Stagnated { residual: last / first, rounding: false };
            }
            std::mem::swap(u, next);
            last = norm;
            steps.push(NewtonStep { residual: last, linear_iterations: linear.iterations, step_length });
        };
        Ok((outcome, history))
    }

    /// Operator and preconditioner become those of the derivative at `u`.
    fn update(&mut self, u: &B::Vector<T>) -> Result<()> {
        if self.has_own_operator {
            self.operator.nonlinear()?.linearize(u)?;
        }
        self.multigrid.update(u)
    }
}

/// Vectors beside those of the solver, which has the residual for its right-hand side and the correction for its solution.
struct Iterates<B: Backend, T: Scalar> {
    load: B::Vector<T>,
    u: B::Vector<T>,
    next: B::Vector<T>,
}
