//! A model problem from its parameters to a report.

use super::{Config, Solution, solve_repeatedly};
use crate::error::{Error, Result};
use crate::function::Function;
use crate::krylov::{Info, Observer, Outcome};
use crate::measure::{Protocol, Timing};
use crate::mesh::Mesh;
use crate::problem::{ErrorNorms, Problem, add_boundary_load, load_vector};
use crate::space::Space;
use crate::system::Runs;
use std::sync::Arc;
use std::time::Instant;

/// Equation and discretization.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum System {
    /// Poisson's equation, continuous elements.
    #[default]
    PoissonCg,
    /// Poisson's equation, discontinuous elements by the symmetric interior penalty method.
    PoissonDg,
}

impl System {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::PoissonCg, Self::PoissonDg];

    /// As on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::PoissonCg => "poisson-cg",
            Self::PoissonDg => "poisson-dg",
        }
    }
}

/// A model problem, its discretization and how to solve it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Case {
    /// Equation and discretization.
    pub system: System,
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
    /// Norms of the error, where the solution is known; none if the iteration diverged.
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
    /// [`Error::InvalidArgument`] for a dimension, refinement or degree that there is not, and for a problem with boundary
    /// values if the system takes none.
    pub fn space(&self) -> Result<Space> {
        let mesh = Mesh::unit_cube(self.dim, self.refine)?;
        match self.system {
            System::PoissonCg if self.problem.boundary_values(self.dim).is_some() => Err(Error::InvalidArgument {
                name: "problem",
                value: self.problem.name().into(),
                allowed: "zero on the boundary with continuous elements: one or sine".into(),
            }),
            System::PoissonCg => Space::new(mesh, self.degree),
            System::PoissonDg => Space::discontinuous(mesh, self.degree),
        }
    }

    /// Space and load vector, for a backend that has the memory to solve.
    ///
    /// # Errors
    /// Those of [`Self::space`] and [`Config::check`], before anything large is allocated; those of [`load_vector`] and
    /// [`add_boundary_load`].
    pub fn prepare<B: Runs>(&self, backend: &B) -> Result<PreparedCase> {
        let start = Instant::now();
        let space = self.space()?;
        self.config.check(backend, &space)?;
        let mut load = load_vector(&space, &*self.problem.right_hand_side(self.dim))?;
        if let Some(values) = self.problem.boundary_values(self.dim) {
            add_boundary_load(&space, &*values, &mut load)?;
        }
        Ok(PreparedCase { case: *self, space, load, prepare_s: start.elapsed().as_secs_f64() })
    }

    /// Sets up and solves; a report, and the solution.
    ///
    /// # Errors
    /// Those of [`Self::prepare`] and [`PreparedCase::solve`].
    pub fn solve<B: Runs>(&self, backend: &Arc<B>, observer: &mut Observer) -> Result<(Report, Function)> {
        self.prepare(&**backend)?.solve(backend, Protocol::ONCE, observer)
    }
}

impl PreparedCase {
    /// Solves as often as `protocol` says; a report, and the solution.
    ///
    /// # Errors
    /// Those of [`solve_repeatedly`] and of [`Function::error_to`].
    pub fn solve<B: Runs>(
        self,
        backend: &Arc<B>,
        protocol: Protocol,
        observer: &mut Observer,
    ) -> Result<(Report, Function)> {
        let Self { case, space, load, prepare_s } = self;
        let Solution { u, info, setup_s, timing } =
            solve_repeatedly(backend, &space, load, &case.config, protocol, observer)?;
        let diverged = matches!(info.outcome, Outcome::Diverged { .. });
        let exact = case.problem.solution(case.dim).filter(|_| !diverged);
        let errors = exact.map(|exact| u.error_to(&*exact)).transpose()?;
        let (cells, dofs) = (space.mesh().cells(), space.dofs());
        Ok((Report { cells, dofs, info, errors, setup_s: prepare_s + setup_s, timing }, u))
    }
}
