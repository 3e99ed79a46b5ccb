//! A model problem from its parameters to a report.

use super::{Config, Solution, solve_repeatedly};
use crate::backend::Backend;
use crate::error::Result;
use crate::krylov::Info;
use crate::measure::{Protocol, Timing};
use crate::mesh::Mesh;
use crate::problem::{ErrorNorms, Problem, error_norms, load_vector};
use crate::space::Space;
use std::sync::Arc;
use std::time::Instant;

/// A model problem, its discretization and how to solve it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Case {
    /// 2 or 3.
    pub dim: usize,
    /// Polynomial degree `k`.
    pub degree: usize,
    /// `2^refine` cells a direction.
    pub refine: usize,
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
    /// Norms of the error, where the solution is known.
    pub errors: Option<ErrorNorms>,
    /// Seconds to set up: space, load vector, tables and vectors.
    pub setup_s: f64,
    /// Seconds to solve.
    pub timing: Timing,
}

/// A case whose space and load vector are there.
#[derive(Clone, Debug)]
pub struct PreparedCase {
    case: Case,
    space: Space,
    load: Vec<f64>,
    prepare_s: f64,
}

impl Case {
    /// The finite element space.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::Error::InvalidArgument) for a dimension, refinement or degree that there is not.
    pub fn space(&self) -> Result<Space> {
        Space::new(Mesh::unit_cube(self.dim, self.refine)?, self.degree)
    }

    /// Space and load vector, for a backend that has the memory to solve.
    ///
    /// # Errors
    /// Those of [`Self::space`] and [`Config::check`], before anything large is allocated; those of [`load_vector`].
    pub fn prepare<B: Backend>(&self, backend: &B) -> Result<PreparedCase> {
        let start = Instant::now();
        let space = self.space()?;
        self.config.check(backend, &space)?;
        let load = load_vector(&space, &*self.problem.right_hand_side(self.dim))?;
        Ok(PreparedCase { case: *self, space, load, prepare_s: start.elapsed().as_secs_f64() })
    }

    /// Sets up and solves; a report, and the nodal values in storage order.
    ///
    /// # Errors
    /// Those of [`Self::prepare`] and [`PreparedCase::solve`].
    pub fn solve<B: Backend>(
        &self,
        backend: &Arc<B>,
        observer: &mut dyn FnMut(usize, f64),
    ) -> Result<(Report, Vec<f64>)> {
        self.prepare(&**backend)?.solve(backend, Protocol::ONCE, observer)
    }
}

impl PreparedCase {
    /// Solves as often as `protocol` says; a report, and the nodal values in storage order.
    ///
    /// # Errors
    /// Those of [`solve_repeatedly`] and of [`error_norms`].
    pub fn solve<B: Backend>(
        self,
        backend: &Arc<B>,
        protocol: Protocol,
        observer: &mut dyn FnMut(usize, f64),
    ) -> Result<(Report, Vec<f64>)> {
        let Self { case, space, load, prepare_s } = self;
        let Solution { values, info, setup_s, timing } =
            solve_repeatedly(backend, &space, load, &case.config, protocol, observer)?;
        let exact = case.problem.solution(case.dim);
        let errors = exact.map(|exact| error_norms(&space, &values, &*exact)).transpose()?;
        let (cells, dofs) = (space.mesh().cells(), space.dofs());
        Ok((Report { cells, dofs, info, errors, setup_s: prepare_s + setup_s, timing }, values))
    }
}
