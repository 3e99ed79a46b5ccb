//! The solver of a coarsest mesh with too many cells for one patch.

use super::level::StokesLevel;
use crate::backend::{Backend, Scalar};
use crate::error::Result;
use crate::krylov::{Fgmres, IterativeSolver, Stopping, unobserved};
use crate::level::Patches;
use crate::operator::{LinearOperator, Preconditioner};

/// As paper 2: accurate enough below a V-cycle.
const STOPPING: Stopping = Stopping { rtol: 1e-2, max_iters: 300 };
/// Basis vectors; iterations grow with the number of cells in a direction.
const RESTART: usize = 150;

/// Flexible GMRES to a residual of 1e-2, preconditioned by a smoothing step.
pub(super) struct CoarseSolver<B: Backend, T: Scalar> {
    solver: Fgmres<B, T>,
    /// In all solves so far.
    pub iterations: usize,
}

impl<B: Backend, T: Scalar> CoarseSolver<B, T> {
    /// Bytes of its vectors, of `storage` entries each.
    pub fn bytes(storage: usize) -> u64 {
        Fgmres::<B, T>::bytes(storage, RESTART)
    }

    /// With its vectors.
    pub fn new(level: &StokesLevel<B, T>) -> Result<Self> {
        Ok(Self { solver: Fgmres::new(level, RESTART)?, iterations: 0 })
    }

    /// `x ≈ A⁻¹ b`, whatever was in `x`.
    pub fn solve(&mut self, level: &StokesLevel<B, T>, b: &B::Vector<T>, x: &mut B::Vector<T>) -> Result<()> {
        let info = self.solver.solve(level, &mut SmoothingStep(level), b, x, &STOPPING, &mut unobserved)?;
        self.iterations += info.iterations;
        Ok(())
    }
}

/// A step of the patch smoother from zero.
struct SmoothingStep<'a, B: Backend, T: Scalar>(&'a StokesLevel<B, T>);

impl<B: Backend, T: Scalar> Preconditioner<B, T> for SmoothingStep<'_, B, T> {
    fn apply(&mut self, r: &B::Vector<T>, z: &mut B::Vector<T>) -> Result<()> {
        self.0.backend().set_zero(z)?;
        self.0.colors().iter().try_for_each(|&color| self.0.smooth_color(color, r, z))
    }

    fn is_symmetric(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use crate::backend::cpu::Cpu;
    use crate::krylov::{Stopping, unobserved};
    use crate::mesh::Mesh;
    use crate::solve::{Case, Config, Method, Precision};
    use crate::system::Stokes;
    use crate::system::stokes::{Problem, Vortex};
    use std::sync::Arc;

    /// A coarsest mesh that is solved to 1e-2 alone costs the V-cycle at most an iteration.
    #[test]
    fn a_coarsest_mesh_may_be_solved_by_iteration() {
        let cpu = Arc::new(Cpu::new(Some(2)).unwrap());
        let mesh = Mesh::of_box(&[7, 5], &[1.4, 1.0], 2).unwrap();
        let solve = |system: Stokes, precision| {
            let stopping = Stopping { rtol: 1e-8, ..Stopping::default() };
            let config = Config { method: Method::Fgmres, precision, stopping, restart: 30, ..Config::default() };
            let case = Case { system, problem: Problem::Vortex(Vortex::default()), config };
            case.solve(&cpu, &mut unobserved).unwrap().0
        };
        for degree in [1, 2] {
            let system = Stokes::new(mesh, degree).unwrap();
            let exact = solve(system.clone(), Precision::F64).info;
            assert_eq!(exact.inner_iterations, None);
            for precision in [Precision::F64, Precision::Mixed] {
                let report = solve(system.clone().with_most_pressures(0), precision);
                let (info, divergence) = (report.info, report.errors.unwrap().largest_divergence);
                assert!(info.converged && info.iterations <= exact.iterations + 1, "{info:?}, not {exact:?}");
                assert!(info.inner_iterations.unwrap() > info.iterations, "{info:?}");
                assert!(divergence < 1e-9, "{divergence}");
            }
        }
    }
}
