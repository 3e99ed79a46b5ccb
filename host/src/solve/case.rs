//! A model problem from its parameters to a report.

use super::{Config, Solution, solve};
use crate::backend::Backend;
use crate::error::Result;
use crate::krylov::Info;
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
    pub solve_s: f64,
}

impl Case {
    /// The finite element space.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::Error::InvalidArgument) for a dimension, refinement or degree that there is not.
    pub fn space(&self) -> Result<Space> {
        Space::new(Mesh::unit_cube(self.dim, self.refine)?, self.degree)
    }

    /// Sets up and solves; a report, and the nodal values in storage order.
    ///
    /// # Errors
    /// Those of [`Self::space`] and [`Config::check`], before anything large is allocated; those of [`solve`] and of
    /// [`load_vector`].
    pub fn solve<B: Backend>(
        &self,
        backend: &Arc<B>,
        observer: &mut dyn FnMut(usize, f64),
    ) -> Result<(Report, Vec<f64>)> {
        let start = Instant::now();
        let space = self.space()?;
        self.config.check(&**backend, &space)?;
        let load = load_vector(&space, &*self.problem.right_hand_side(self.dim))?;
        let load_s = start.elapsed().as_secs_f64();

        let Solution { values, info, setup_s, solve_s } = solve(backend, &space, load, &self.config, observer)?;
        let exact = self.problem.solution(self.dim);
        let errors = exact.map(|exact| error_norms(&space, &values, &*exact)).transpose()?;
        let report = Report {
            cells: space.mesh().cells(),
            dofs: space.dofs(),
            info,
            errors,
            setup_s: load_s + setup_s,
            solve_s,
        };
        Ok((report, values))
    }
}
