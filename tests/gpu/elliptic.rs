//! Elliptic equations on forests: levels and solves against the CPU backend.

use super::compare::{assert_close, assert_histories_close, assert_identical, downloaded, random, tolerance};
use crate::films::Film;
use crate::forests::{Oracle, check_chain};
use crate::{Outcome, Suite};
use glam::DVec3;
use patchmg::Result;
use patchmg::backend::Scalar;
use patchmg::backend::cpu::Cpu;
use patchmg::backend::cuda::Cuda;
use patchmg::forest::{Adaptation, CoarseMesh, Forest};
use patchmg::krylov::{Stopping, unobserved};
use patchmg::level::SharedLevel;
use patchmg::multigrid::SmootherConfig;
use patchmg::operator::LinearOperator;
use patchmg::solve::{Case, Config, Method, Precision, Report};
use patchmg::system::elliptic::{Benchmark, Coefficient, Equation, Flux, PLaplacian, Smoothing, Writes};
use patchmg::system::{Elliptic, Runs, System};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    Apply,
    Residual,
    SmoothedResidual,
    RestrictResidual,
    RestrictResidualOfSmoothed,
    ProlongateAdd,
    InverseDiagonal,
    /// On the coarsest level.
    Solve,
}

const OPERATIONS: [Operation; 8] = [
    Operation::Apply,
    Operation::Residual,
    Operation::SmoothedResidual,
    Operation::RestrictResidual,
    Operation::RestrictResidualOfSmoothed,
    Operation::ProlongateAdd,
    Operation::InverseDiagonal,
    Operation::Solve,
];

#[derive(Clone, Copy, Debug)]
enum Domain {
    /// The L in 2D, refined at its corner.
    LShape,
    /// The L in 3D, refined at its edge.
    HyperL,
    /// Between two spheres, refined near a point.
    Shell,
}

const DOMAINS: [Domain; 3] = [Domain::LShape, Domain::HyperL, Domain::Shell];

impl Domain {
    fn dim(self) -> usize {
        if let Domain::LShape = self { 2 } else { 3 }
    }

    fn benchmark(self) -> Benchmark {
        match self {
            Domain::LShape => Benchmark::Corner,
            Domain::HyperL => Benchmark::HyperL,
            Domain::Shell => Benchmark::Shell,
        }
    }

    fn forest(self, refinements: usize, cycles: i32) -> Result<Forest> {
        let mut coarse = match self {
            Domain::LShape => CoarseMesh::l_shape(2)?,
            Domain::HyperL => CoarseMesh::l_shape(3)?,
            Domain::Shell => CoarseMesh::shell(0.5, 1.0)?,
        };
        self.benchmark().number_sides(&mut coarse)?;
        let middle = if let Domain::Shell = self { DVec3::splat(0.4) } else { DVec3::ZERO };
        let mut forest = Forest::new(coarse).refine_uniformly(refinements)?;
        for cycle in 0..cycles {
            let is_near = |point: DVec3| point.distance(middle) < 0.8 / 2.0_f64.powi(refinements as i32 + cycle - 1);
            let refines = |leaf| is_near(forest.point(leaf, [0.5; 3]));
            let flag = |leaf| if refines(leaf) { Adaptation::Refine } else { Adaptation::Keep };
            forest = forest.adapt(&forest.leaves().iter().map(flag).collect::<Vec<_>>())?;
        }
        Ok(forest)
    }

    /// Whether it is tested: coarsest meshes without unknowns have no solution, and the host computes diagonals slowly.
    fn has(self, degree: usize, operation: Operation) -> bool {
        match operation {
            Operation::Solve => degree > 1 || matches!(self, Domain::HyperL),
            Operation::InverseDiagonal => degree <= 3,
            _ => true,
        }
    }

    fn system(self, degree: usize, refinements: usize, cycles: i32, equation: Equation) -> Result<Elliptic> {
        Elliptic::new(&self.forest(refinements, cycles)?, degree, equation)
    }
}

/// The ways to sum up at nodes against the CPU's.
pub fn add_writes<T: Scalar>(suite: &mut Suite) {
    for domain in DOMAINS {
        for (degree, writes) in [(2, Writes::Colors), (2, Writes::Atomics), (3, Writes::Colors), (3, Writes::Atomics)] {
            let sums = [
                Operation::Apply,
                Operation::Residual,
                Operation::SmoothedResidual,
                Operation::RestrictResidual,
                Operation::RestrictResidualOfSmoothed,
            ];
            for operation in sums {
                let name = format!("elliptic::{domain:?}::q{degree}::{writes}::{operation:?}::{}", T::NAME);
                suite.test(name, move |gpu| {
                    let equation = domain.benchmark().equation(domain.dim());
                    let system = domain.system(degree, 2, 2, equation)?;
                    let expected = run::<_, T>(operation, &Arc::new(Cpu::new(None)?), &system)?;
                    let system = system.with_writes(writes);
                    let found = run::<_, T>(operation, gpu, &system)?;
                    assert_close(&found, &expected, tolerance::<T>())?;
                    match writes {
                        Writes::Atomics => Ok(()),
                        _ => assert_identical(&found, &run::<_, T>(operation, gpu, &system)?),
                    }
                });
            }
        }
    }
}

pub fn add<T: Scalar>(suite: &mut Suite) {
    for domain in DOMAINS {
        for degree in 1..=if domain.dim() == 2 { 8 } else { 6 } {
            for smoothing in [Smoothing::Local, Smoothing::Global] {
                for operation in OPERATIONS.into_iter().filter(|&operation| domain.has(degree, operation)) {
                    let name = format!("elliptic::{domain:?}::q{degree}::{smoothing:?}::{operation:?}::{}", T::NAME);
                    suite.test(name, move |gpu| {
                        let mut equation = Equation { smoothing, ..domain.benchmark().equation(domain.dim()) };
                        if let Smoothing::Local = smoothing {
                            equation.reaction = 0.5;
                            equation.natural = BTreeSet::from([0]);
                            let robin = Coefficient::new(|point| 1.5 + point.x * point.y);
                            equation.robin = BTreeMap::from([(0, robin)]);
                        }
                        let refinements = if domain.dim() == 2 { 2 } else { 1 };
                        let system = domain.system(degree, refinements, 2, equation)?;
                        let found = run::<_, T>(operation, gpu, &system)?;
                        let expected = run::<_, T>(operation, &Arc::new(Cpu::new(None)?), &system)?;
                        // The host's inverse of the coarsest matrix is as exact as its condition has it.
                        let factor = if let Operation::Solve = operation { 100.0 } else { 1.0 };
                        assert_close(&found, &expected, factor * tolerance::<T>())?;
                        assert_identical(&found, &run::<_, T>(operation, gpu, &system)?)
                    });
                }
            }
        }
    }
}

/// What Newton's method asks of a level: the residual, products with the derivative, its diagonal, values on the next coarser mesh.
pub fn add_newton<T: Scalar>(suite: &mut Suite) {
    for domain in DOMAINS {
        for degree in 1..=if domain.dim() == 2 { 8 } else { 6 } {
            for by_kernels in [true, false] {
                let name = format!("elliptic::newton::{domain:?}::q{degree}::{by_kernels}::{}", T::NAME);
                suite.test(name, move |gpu| {
                    let flux = PLaplacian { p: if by_kernels { 3.0 } else { 3.25 }, epsilon: 0.5 };
                    let flux: Option<Arc<dyn Flux>> = Some(Arc::new(flux));
                    let equation = Equation { flux, reaction: 0.5, ..domain.benchmark().equation(domain.dim()) };
                    let system = domain.system(degree, if domain.dim() == 2 { 2 } else { 1 }, 2, equation)?;
                    let found = linearized::<_, T>(gpu, &system)?;
                    let expected = linearized::<_, T>(&Arc::new(Cpu::new(None)?), &system)?;
                    for (found, expected) in found.iter().zip(&expected) {
                        assert_close(found, expected, 10.0 * tolerance::<T>())?;
                    }
                    let again = linearized::<_, T>(gpu, &system)?;
                    found.iter().zip(&again).try_for_each(|(found, again)| assert_identical(again, found))
                });
            }
        }
    }
}

fn linearized<B: Runs<Elliptic>, T: Scalar>(backend: &Arc<B>, system: &Elliptic) -> Result<[Vec<T>; 4]> {
    let level: SharedLevel<B, T> = backend.level(system)?;
    let nonlinear = level.nonlinear()?;
    let vector = |seed: u64| {
        let values = random::<f64>(seed, system.layout().dofs());
        level.vector_of(&mut |dof| values[dof])
    };
    let (b, u, x, mut y) = (vector(1)?, vector(2)?, vector(3)?, vector(4)?);
    let found = |vector: &B::Vector<T>| downloaded(&**backend, vector, system.layout().storage());
    nonlinear.nonlinear_residual(&b, &u, &mut y)?;
    let residual = found(&y)?;
    nonlinear.linearize(&u)?;
    level.apply(&x, &mut y)?;
    let product = found(&y)?;
    nonlinear.update_inverse_diagonal(&mut y)?;
    let diagonal = found(&y)?;
    let coarser = system.coarser().transpose()?.unwrap_or_else(|| system.clone());
    let mut coarse = backend.zeros(coarser.layout().storage())?;
    nonlinear.interpolate(&u, &mut coarse)?;
    let on_coarser = downloaded(&**backend, &coarse, coarser.layout().storage())?;
    Ok([residual, product, diagonal, on_coarser])
}

/// Steps of Newton's method, on an adaptive mesh.
pub fn add_films(suite: &mut Suite) {
    for precision in [Precision::F64, Precision::Mixed] {
        suite.test(format!("elliptic::film::{precision:?}"), move |gpu| {
            let benchmark = Benchmark::MinimalSurface { frequency: 2 };
            let mut forest = Forest::new(CoarseMesh::disk(1.0)?).refine_uniformly(3)?;
            let flag = |leaf| if leaf % 5 == 0 { Adaptation::Refine } else { Adaptation::Keep };
            forest = forest.adapt(&(0..forest.leaves().len()).map(flag).collect::<Vec<_>>())?;
            let stopping = Stopping { rtol: 1e-4, ..Stopping::default() };
            let smoother = SmootherConfig::Chebyshev { degree: 5, range: 12.0 };
            let config = Config { method: Method::Cg, precision, smoother, stopping, ..Config::default() };
            let system = Elliptic::new(&forest, 4, benchmark.equation(2))?;
            let case = Case { system, problem: benchmark.problem(2), config };
            let (found, _) = case.clone().solve(gpu, &mut unobserved)?;
            let (expected, _) = case.clone().solve(&Arc::new(Cpu::new(None)?), &mut unobserved)?;
            let steps = |report: &Report| -> Vec<(usize, f64)> {
                report.newton.iter().map(|step| (step.linear_iterations, step.step_length)).collect()
            };
            if !found.info.converged || steps(&found) != steps(&expected) {
                return Err(format!("steps {:?}, expected {:?}", found.newton, expected.newton).into());
            }
            let (again, _) = case.solve(gpu, &mut unobserved)?;
            assert_identical(&again.info.residual_history, &found.info.residual_history)
        });
    }
}

/// What an operation makes of random vectors.
fn run<B: Runs<Elliptic>, T: Scalar>(operation: Operation, backend: &Arc<B>, system: &Elliptic) -> Result<Vec<T>> {
    let level: SharedLevel<B, T> = backend.level(system)?;
    let vector = |seed: u64, level: &SharedLevel<B, T>, system: &Elliptic| {
        let values = random::<f64>(seed, system.layout().dofs());
        level.vector_of(&mut |dof| values[dof])
    };
    let (b, mut x, mut y) = (vector(1, &level, system)?, vector(2, &level, system)?, vector(3, &level, system)?);
    let found = |vector: &B::Vector<T>| downloaded(&**backend, vector, system.layout().storage());
    match operation {
        Operation::Apply => level.apply(&x, &mut y)?,
        Operation::Residual => level.residual(&b, &x, &mut y)?,
        Operation::SmoothedResidual => {
            // Behind the last node that is smoothed anything may be left.
            backend.set_zero(&mut y)?;
            level.smoothed_residual(&b, &x, &mut y)?;
        }
        Operation::InverseDiagonal => y = level.inverse_diagonal()?,
        Operation::RestrictResidual | Operation::RestrictResidualOfSmoothed | Operation::ProlongateAdd => {
            let coarser = system.coarser().transpose()?.unwrap_or_else(|| system.clone());
            let mut coarse = vector(4, &backend.level(&coarser)?, &coarser)?;
            if operation != Operation::ProlongateAdd {
                if let Operation::RestrictResidual = operation {
                    level.restrict_residual(&b, &x, &mut coarse)?;
                } else {
                    backend.diagonal_axpby(1.0, &level.inverse_diagonal()?, &x, 0.0, &mut y)?;
                    level.restrict_residual_of_smoothed(&b, &y, &mut coarse)?;
                }
                return downloaded(&**backend, &coarse, coarser.layout().storage());
            }
            level.prolongate_add(&coarse, &mut x)?;
            return found(&x);
        }
        Operation::Solve => {
            let mut coarsest = system.clone();
            while let Some(coarser) = coarsest.coarser().transpose()? {
                coarsest = coarser;
            }
            let level = backend.level(&coarsest)?;
            let (b, mut x) = (vector(5, &level, &coarsest)?, vector(6, &level, &coarsest)?);
            level.solve(&b, &mut x)?;
            return downloaded(&**backend, &x, coarsest.layout().storage());
        }
    }
    found(&y)
}

/// Iterations and residual histories, by each smoother, and the same numbers every time.
pub fn add_solves(suite: &mut Suite) {
    let smoothers = [
        ("chebyshev", SmootherConfig::Chebyshev { degree: 5, range: 12.0 }),
        ("chebyshev4", SmootherConfig::ChebyshevFourthKind { degree: 3 }),
        ("jacobi", SmootherConfig::Jacobi { damping: 0.5 }),
    ];
    for (domain, degree, refinements, cycles) in
        [(Domain::LShape, 2, 3, 4), (Domain::HyperL, 3, 1, 3), (Domain::Shell, 2, 2, 1)]
    {
        for (smoother_name, smoother) in smoothers {
            for precision in [Precision::F64, Precision::Mixed] {
                let name = format!("elliptic::solve::{domain:?}::q{degree}::{smoother_name}::{precision:?}");
                suite.test(name, move |gpu| {
                    let equation = domain.benchmark().equation(domain.dim());
                    let system = domain.system(degree, refinements, cycles, equation)?;
                    // Rounding of a V-cycle in `f32` moves small residuals.
                    let allowed = if precision == Precision::F64 { 1e-5 } else { 0.05 };
                    solve(gpu, domain.benchmark(), system, smoother, precision, allowed)
                });
            }
        }
    }
}

/// deal.II's numbers.
pub fn add_oracles(suite: &mut Suite) {
    for (line, oracle) in (1..).zip(Oracle::of_rules()) {
        let Oracle { case, degree, cells, .. } = &oracle;
        suite.test(format!("elliptic::oracles::line{line}::{case}::q{degree}::{cells}"), move |gpu| {
            oracle.check(gpu, 1);
            Ok(())
        });
    }
    for (number, chain) in (1..).zip(Oracle::chains()) {
        let Oracle { case, degree, .. } = &chain[0];
        suite.test(format!("elliptic::oracles::chain{number}::{case}::q{degree}"), move |gpu| {
            check_chain(gpu, &chain);
            Ok(())
        });
    }
    for film in Film::all() {
        let Film { dim, mapping_degree, refinements, boundary_frequency, .. } = &film;
        let name = format!("{dim}d::mapping{mapping_degree}::level{refinements}::frequency{boundary_frequency}");
        suite.test(format!("elliptic::oracles::film::{name}"), move |gpu| {
            film.check(gpu);
            Ok(())
        });
    }
}

/// A coarsest mesh that is too large for a factorization.
pub fn add_large_coarsest_mesh(suite: &mut Suite) {
    for precision in [Precision::F64, Precision::Mixed] {
        suite.test(format!("elliptic::solve::large_coarsest_mesh::{precision:?}"), move |gpu| {
            let (coarse, benchmark) = (CoarseMesh::of_box(&[40, 40], &[1.0, 1.0])?, Benchmark::Variable);
            let forest = Forest::new(coarse).refine_uniformly(1)?;
            let system = Elliptic::new(&forest, 2, benchmark.equation(2))?;
            let smoother = SmootherConfig::Chebyshev { degree: 5, range: 12.0 };
            // The smallest eigenvalue is an estimate, which depends on rounding.
            solve(gpu, benchmark, system, smoother, precision, 0.1)
        });
    }
}

fn solve(
    gpu: &Arc<Cuda>,
    benchmark: Benchmark,
    system: Elliptic,
    smoother: SmootherConfig,
    precision: Precision,
    allowed: f64,
) -> Outcome {
    let stopping = Stopping { rtol: 1e-9, ..Stopping::default() };
    let config = Config { method: Method::Cg, precision, smoother, stopping, ..Config::default() };
    let case = Case { problem: benchmark.problem(system.dim()), system, config };
    let (found, _) = case.clone().solve(gpu, &mut unobserved)?;
    let (expected, _) = case.clone().solve(&Arc::new(Cpu::new(None)?), &mut unobserved)?;
    let (found, expected) = (found.info.residual_history, expected.info.residual_history);
    assert_histories_close(&found, &expected, allowed, f64::NEG_INFINITY)?;
    let (again, _) = case.solve(gpu, &mut unobserved)?;
    assert_identical(&again.info.residual_history, &found)
}
