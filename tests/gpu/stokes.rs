//! The Stokes equations: levels and solves against the CPU backend.

use super::compare::{assert_close, assert_histories_close, assert_identical, downloaded, random, tolerance};
use crate::{Outcome, Suite};
use patchmg::Result;
use patchmg::backend::Scalar;
use patchmg::backend::cpu::Cpu;
use patchmg::backend::cuda::Cuda;
use patchmg::krylov::unobserved;
use patchmg::level::SharedLevel;
use patchmg::mesh::Mesh;
use patchmg::multigrid::{Multigrid, SmootherConfig, VCycle};
use patchmg::operator::LinearOperator;
use patchmg::solve::{Case, Config, Method, Precision};
use patchmg::system::stokes::{LocalSolver, Paper2, Problem, StokesKernel, Vortex};
use patchmg::system::{Runs, Stokes, System};
use std::sync::Arc;

/// What a level does.
#[derive(Clone, Copy, Debug)]
pub enum Operation {
    Apply,
    Residual,
    SmoothColors,
    RestrictResidual,
    ProlongateAdd,
    VCycle,
}

pub const OPERATIONS: [Operation; 6] = [
    Operation::Apply,
    Operation::Residual,
    Operation::SmoothColors,
    Operation::RestrictResidual,
    Operation::ProlongateAdd,
    Operation::VCycle,
];

/// Base cells, side lengths, refinements; `s` and `ν`.
type Box = (&'static [usize], &'static [f64], usize, f64, f64);

/// Patches at both ends, at one and at none; cells unequal; one direction
/// coarsened; tiles and blocks that are not full; an odd number of cells below.
const BOXES: [Box; 8] = [
    (&[1, 1], &[1.0, 1.0], 2, 0.0, 1.0),
    (&[1, 1], &[1.0, 1.0], 4, 3.0, 0.5),
    (&[3, 1], &[3.0, 1.25], 2, 0.0, 1.0),
    (&[1, 1], &[3.0, 1.0], 2, 100.0, 0.25),
    (&[1, 1, 1], &[1.0, 1.0, 1.0], 2, 0.0, 1.0),
    (&[1, 1, 1], &[1.0, 1.25, 1.125], 2, 50.0, 0.5),
    (&[2, 1, 1], &[2.0, 1.0, 1.5], 1, 0.0, 1.0),
    (&[3, 1, 1], &[3.0, 1.0, 1.0], 1, 0.0, 2.0),
];

/// So few that rounding stays small.
const FEW_STEPS: LocalSolver = LocalSolver::SchurCg { steps: 5 };

pub fn add<T: Scalar>(suite: &mut Suite) {
    for (number, (cells, lengths, refine, mass, viscosity)) in BOXES.into_iter().enumerate() {
        for degree in Stokes::degrees(cells.len()) {
            // The host computes slowly.
            let refine = if cells.len() == 3 && degree > 3 { 1 } else { refine };
            let system = move || {
                Stokes::new(Mesh::of_box(cells, lengths, refine)?, degree)?.with_mass(mass)?.with_viscosity(viscosity)
            };
            for operation in OPERATIONS {
                let name = format!("stokes::{number}::rt{degree}::{operation:?}::{}", T::NAME);
                suite.test(name, move |gpu| check::<T>(gpu, &system()?, StokesKernel::default(), operation));
            }
            // Of paper 2 there are operators, and three local solvers; the host inverts local matrices slowly.
            let has_paper2 = cells.len() == 3 && degree <= 4;
            for level in Paper2::ALL.into_iter().filter(|_| has_paper2) {
                for operation in [Operation::Apply, Operation::Residual, Operation::VCycle] {
                    let name = format!("stokes::paper2::{level}::{number}::rt{degree}::{operation:?}::{}", T::NAME);
                    suite.test(name, move |gpu| check::<T>(gpu, &system()?, StokesKernel::Paper2(level), operation));
                }
            }
            for (local, level) in
                [(LocalSolver::Inverse, Paper2::Basic), (FEW_STEPS, Paper2::Shared), (FEW_STEPS, Paper2::ConflictFree)]
            {
                if has_paper2 && (degree <= 2 || local != LocalSolver::Inverse) {
                    let name = format!("stokes::paper2::{level}::{local}::{number}::rt{degree}::{}", T::NAME);
                    let (kernel, operation) = (StokesKernel::Paper2(level), Operation::SmoothColors);
                    let system = move || system()?.with_local_solver(local);
                    suite.test(name, move |gpu| check::<T>(gpu, &system()?, kernel, operation));
                }
            }
        }
    }
}

fn check<T: Scalar>(gpu: &Arc<Cuda>, system: &Stokes, kernel: StokesKernel, operation: Operation) -> Outcome {
    let on_gpu = system.clone().with_kernel(kernel);
    let Some(found) = run::<_, _, T>(operation, gpu, &on_gpu)? else { return Ok(()) };
    let expected = run::<_, _, T>(operation, &Arc::new(Cpu::new(None)?), system)?.unwrap_or_default();
    // A V-cycle adds up what its parts are apart; conjugate gradients, what their steps are.
    let has_steps = matches!(system.local_solver(), LocalSolver::SchurCg { .. });
    let parts = if has_steps || matches!(operation, Operation::VCycle) { 10.0 } else { 1.0 };
    assert_close(&found, &expected, parts * tolerance::<T>())?;
    assert_identical(&found, &run::<_, _, T>(operation, gpu, &on_gpu)?.unwrap_or_default())
}

/// What an operation makes of random vectors; none on a mesh that has no coarser one.
pub fn run<E: System, B: Runs<E>, T: Scalar>(
    operation: Operation,
    backend: &Arc<B>,
    system: &E,
) -> Result<Option<Vec<T>>> {
    let level: SharedLevel<B, T> = backend.level(system)?;
    let vector = |seed: u64, level: &SharedLevel<B, T>, system: &E| {
        let values = random::<f64>(seed, system.layout().dofs());
        level.vector_of(&mut |dof| values[dof])
    };
    let (b, mut x, mut y) = (vector(1, &level, system)?, vector(2, &level, system)?, vector(3, &level, system)?);
    let found = |vector: &B::Vector<T>| downloaded(&**backend, vector, system.layout().storage()).map(Some);
    let coarser = system.coarser().transpose()?;
    match (operation, coarser) {
        (Operation::Apply, _) => level.apply(&x, &mut y)?,
        (Operation::Residual, _) => level.residual(&b, &x, &mut y)?,
        (Operation::SmoothColors, _) => {
            for &color in level.patches()?.colors() {
                level.patches()?.smooth_color(color, &b, &mut x)?;
            }
            return found(&x);
        }
        (_, None) => return Ok(None),
        (Operation::VCycle, _) => {
            Multigrid::<B, T>::new(backend, system, &SmootherConfig::default(), VCycle::default())?
                .cycle(&b, &mut x)?;
            return found(&x);
        }
        (_, Some(coarser)) => {
            let mut coarse = vector(4, &backend.level(&coarser)?, &coarser)?;
            if let Operation::RestrictResidual = operation {
                level.restrict_residual(&b, &x, &mut coarse)?;
                return downloaded(&**backend, &coarse, coarser.layout().storage()).map(Some);
            }
            level.prolongate_add(&coarse, &mut x)?;
            return found(&x);
        }
    }
    found(&y)
}

/// Residual histories, each way to solve and each local solver, and the same numbers every time.
pub fn add_solves(suite: &mut Suite) {
    for (dim, degree, refine) in [(2, 1, 4), (2, 3, 4), (2, 8, 2), (3, 1, 3), (3, 2, 3), (3, 4, 2)] {
        for precision in [Precision::F64, Precision::Mixed] {
            for local in [LocalSolver::Exact, LocalSolver::SchurCg { steps: LocalSolver::STEPS }, LocalSolver::Inverse]
            {
                let name = format!("stokes::solve::{dim}d::rt{degree}::{local}::{precision:?}");
                suite.test(name, move |gpu| solve(gpu, dim, degree, refine, precision, local));
            }
        }
    }
}

fn solve(
    gpu: &Arc<Cuda>,
    dim: usize,
    degree: usize,
    refine: usize,
    precision: Precision,
    local: LocalSolver,
) -> Outcome {
    let system = Stokes::new(Mesh::unit_cube(dim, refine)?, degree)?.with_local_solver(local)?;
    let config = Config { method: Method::Fgmres, precision, restart: 30, ..Config::default() };
    let case = Case { system, problem: Problem::Vortex(Vortex::default()), config };
    let (found, _) = case.clone().solve(gpu, &mut unobserved)?;
    let (expected, _) = case.clone().solve(&Arc::new(Cpu::new(None)?), &mut unobserved)?;
    let (found, expected) = (found.info.residual_history, expected.info.residual_history);
    // Rounding of a V-cycle in `f32` moves small residuals.
    let allowed = if precision == Precision::F64 { 1e-6 } else { 0.05 };
    assert_histories_close(&found, &expected, allowed, 1e-11)?;
    let (again, _) = case.solve(gpu, &mut unobserved)?;
    assert_identical(&again.info.residual_history, &found)
}
