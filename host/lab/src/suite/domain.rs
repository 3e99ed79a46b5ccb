//! Domains of paper 3 as coarse meshes, with the equation that is solved there, and the paper's smoother.

use patchmg::forest::{CoarseMesh, Forest};
use patchmg::multigrid::SmootherConfig;
use patchmg::system::elliptic::{Benchmark, EllipticProblem, Equation};
use patchmg_cli::error::Result;

/// Chebyshev iteration of degree 5, for eigenvalues from 0.1 to 1.2 times the estimate of the largest one (paper 3, section 2.1).
pub const CHEBYSHEV: SmootherConfig = SmootherConfig::Chebyshev { degree: 5, range: 12.0 };

/// A domain and its problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Domain {
    /// `(-1, 1)²` without a quadrant, in 3D times `(0, 1)`, with the solution that is singular at the corner (paper 3, section 4.1).
    L,
    /// Between radii 1/2 and 1, with the coefficient of 1 to 10^6 (section 4.2).
    Shell,
    /// The unit disk or ball, with the minimal surface of the tables' frequency (section 4.3).
    Disk,
    /// The unit square or cube, with Laplace's operator. Not in the paper.
    Box,
}

/// `u = sin(2π(x + y))` on the boundary of the minimal surface: the paper's text says 1, its tables agree with 2.
const FREQUENCY: u32 = 2;
/// Cells of the shell in 2D, as deal.II has them.
const RING: usize = 10;

impl Domain {
    fn benchmark(self) -> Option<Benchmark> {
        match self {
            Self::L => Some(Benchmark::Corner),
            Self::Shell => Some(Benchmark::Shell),
            Self::Disk => Some(Benchmark::MinimalSurface { frequency: FREQUENCY }),
            Self::Box => None,
        }
    }

    /// Coefficients and kinds of sides.
    pub fn equation(self, dim: usize) -> Equation {
        self.benchmark().map_or_else(Equation::default, |benchmark| benchmark.equation(dim))
    }

    /// Right-hand side, boundary values and solution.
    pub fn problem(self, dim: usize) -> EllipticProblem {
        self.benchmark().map_or_else(|| EllipticProblem::new(|_| 1.0), |benchmark| benchmark.problem(dim))
    }

    /// The coarse mesh, all of whose cells are refined so often.
    ///
    /// # Errors
    /// Those of [`Forest::refine_uniformly`].
    pub fn forest(self, dim: usize, refine: usize) -> Result<Forest> {
        let coarse = match (self, dim) {
            (Self::L, 2) => CoarseMesh::l_shape(2)?,
            (Self::L, _) => CoarseMesh::l_shape(2)?.extruded(1.0, 1)?,
            (Self::Shell, 2) => CoarseMesh::annulus(0.5, 1.0, RING)?,
            (Self::Shell, _) => CoarseMesh::shell(0.5, 1.0)?,
            (Self::Disk, 2) => CoarseMesh::disk(1.0)?,
            (Self::Disk, _) => CoarseMesh::ball(1.0)?,
            (Self::Box, _) => CoarseMesh::of_box(&vec![1; dim], &vec![1.0; dim])?,
        };
        Ok(Forest::new(coarse).refine_uniformly(refine)?)
    }

    /// Unknowns of `Q_k` on that mesh: with `n = 2^refine k`, `sum_e c_e (n - 1)^e` over the dimension `e` of the `c_e` entities
    /// of the coarse mesh that are not on the boundary.
    pub fn dofs(self, [dim, degree, refine]: [usize; 3]) -> usize {
        // Vertices, edges, faces and cells.
        let inside = match (self, dim) {
            (Self::L, 2) => [0, 2, 3, 0],
            (Self::L, _) => [0, 0, 2, 3],
            (Self::Shell, 2) => [0, 10, 10, 0],
            (Self::Shell, _) => [0, 8, 12, 6],
            (Self::Disk, 2) => [4, 8, 5, 0],
            (Self::Disk, _) => [8, 20, 18, 7],
            (Self::Box, 2) => [0, 0, 1, 0],
            (Self::Box, _) => [0, 0, 0, 1],
        };
        let between = (degree << refine) - 1;
        inside.into_iter().zip(0..).map(|(count, dim)| count * between.pow(dim)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use patchmg::system::System;
    use patchmg::system::elliptic::Elliptic;

    #[test]
    fn unknowns_are_those_of_the_mesh() {
        for domain in [Domain::L, Domain::Shell, Domain::Disk, Domain::Box] {
            for size in [[2, 1, 1], [2, 3, 2], [3, 2, 1], [3, 1, 2]] {
                let [dim, degree, refine] = size;
                let forest = domain.forest(dim, refine).unwrap();
                let system = Elliptic::new(&forest, degree, domain.equation(dim)).unwrap();
                assert_eq!(domain.dofs(size), system.layout().dofs(), "{domain:?} {size:?}");
            }
        }
    }
}
