//! A model problem from its parameters to a report.

use super::{Config, Solution, solve_repeatedly};
use crate::error::{Error, Result};
use crate::function::Function;
use crate::krylov::{Info, Observer, Outcome};
use crate::measure::{Protocol, Timing};
use crate::mesh::Mesh;
use crate::problem::{ErrorNorms, Problem, load_vector};
use crate::system::{Runs, System};
use std::sync::Arc;
use std::time::Instant;

/// A model problem, its discretization and how to solve it.
#[derive(Clone, Debug)]
pub struct Case<E: System> {
    /// Equation, discretization and kernels.
    pub system: E,
    /// Right-hand side, and solution if known.
    pub problem: Problem,
    /// How to solve.
    pub config: Config,
}

/// What a solve did and how well.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Cells of the mesh.
    pub cells: usize,
    /// Unknowns.
    pub dofs: usize,
    /// What the solver did.
    pub info: Info,
    /// Norms of the error, where the solution is known; none if the iteration diverged.
    pub errors: Option<ErrorNorms>,
    /// Seconds to set up: load vector, tables and vectors.
    pub setup_s: f64,
    /// Seconds to solve.
    pub timing: Timing,
}

/// A case whose load vector is there.
#[derive(Clone, Debug)]
pub struct PreparedCase<E: System> {
    case: Case<E>,
    load: Vec<f64>,
    prepare_s: f64,
}

impl<E: System> Case<E> {
    /// Whether the system's space has the problem, and a backend what it takes to solve.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a problem with boundary values that the system does not take; those of [`Config::check`].
    pub fn check<B: Runs<E>>(&self, backend: &B) -> Result<()> {
        if self.problem.boundary_values(self.mesh()).is_some() && !self.system.takes_boundary_values() {
            return Err(Error::InvalidArgument {
                name: "problem",
                value: self.problem.to_string(),
                allowed: "zero on the boundary with continuous elements: one or sine".into(),
            });
        }
        self.config.check(backend, &self.system)
    }

    /// The load vector, for a backend that has the memory to solve.
    ///
    /// # Errors
    /// Those of [`Self::check`], before anything large is allocated; those of [`load_vector`] and [`System::add_boundary_load`].
    pub fn prepare<B: Runs<E>>(self, backend: &B) -> Result<PreparedCase<E>> {
        let start = Instant::now();
        self.check(backend)?;
        let mut load = load_vector(self.system.space(), &*self.problem.right_hand_side(self.mesh()))?;
        if let Some(values) = self.problem.boundary_values(self.mesh()) {
            self.system.add_boundary_load(&*values, &mut load)?;
        }
        Ok(PreparedCase { case: self, load, prepare_s: start.elapsed().as_secs_f64() })
    }

    fn mesh(&self) -> &Mesh {
        self.system.space().mesh()
    }

    /// Sets up and solves; a report, and the solution.
    ///
    /// # Errors
    /// Those of [`Self::prepare`] and [`PreparedCase::solve`].
    pub fn solve<B: Runs<E>>(self, backend: &Arc<B>, observer: &mut Observer) -> Result<(Report, Function)> {
        self.prepare(&**backend)?.solve(backend, Protocol::ONCE, observer)
    }
}

impl<E: System> PreparedCase<E> {
    /// Solves as often as `protocol` says; a report, and the solution.
    ///
    /// # Errors
    /// Those of [`solve_repeatedly`] and of [`Function::error_to`].
    pub fn solve<B: Runs<E>>(
        self,
        backend: &Arc<B>,
        protocol: Protocol,
        observer: &mut Observer,
    ) -> Result<(Report, Function)> {
        let Self { case, load, prepare_s } = self;
        let Solution { u, info, setup_s, timing } =
            solve_repeatedly(backend, &case.system, load, &case.config, protocol, observer)?;
        let diverged = matches!(info.outcome, Outcome::Diverged { .. });
        let exact = case.problem.solution(case.mesh()).filter(|_| !diverged);
        let errors = exact.map(|exact| u.error_to(&*exact)).transpose()?;
        let (cells, dofs) = (case.mesh().cells(), case.system.space().dofs());
        Ok((Report { cells, dofs, info, errors, setup_s: prepare_s + setup_s, timing }, u))
    }
}
