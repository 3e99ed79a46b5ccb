//! Discontinuous elements: the whole method against an independent implementation, and against what the form must do.

#[path = "common/cases.rs"]
mod common;
#[path = "common/histories.rs"]
mod histories;

use common::{config, cpu, pseudo_random, solve_system};
use glam::DVec3;
use histories::dg_oracles;
use nalgebra::{DMatrix, DVector};
use patchmg::Error;
use patchmg::backend::Backend;
use patchmg::krylov::unobserved;
use patchmg::mesh::Mesh;
use patchmg::multigrid::{Multigrid, SmootherConfig, VCycle};
use patchmg::operator::{LinearOperator, Preconditioner};
use patchmg::problem::{ErrorNorms, ExactSolution, Field, load_vector};
use patchmg::solve::{Config, Method, Precision, Report, solve};
use patchmg::space::Family;
use patchmg::space::Space;
use patchmg::system::Runs;
use patchmg::system::poisson::{Poisson, Problem};

fn space(dim: usize, degree: usize, refine: usize) -> Space {
    Space::discontinuous(Mesh::unit_cube(dim, refine).unwrap(), degree).unwrap()
}

fn sine(parameters: [usize; 3], method: Method, precision: Precision, rtol: f64) -> Report {
    solve_system(Family::Discontinuous, parameters, Problem::Sine, config(method, precision, rtol))
}

#[test]
fn residuals_and_errors_are_those_of_an_independent_implementation() {
    let oracles = dg_oracles();
    assert!(oracles.len() >= 15);
    for oracle in oracles {
        let parameters = [oracle.dim, oracle.degree, oracle.refine];
        let report = sine(parameters, Method::Fgmres, Precision::F64, oracle.rtol);
        let (found, expected) = (report.info.residual_history, oracle.gmres);
        assert_eq!(found.len(), expected.len(), "{parameters:?}: {found:?} != {expected:?}");
        for (found, expected) in found.iter().zip(&expected) {
            // The last entry is computed anew from the solution: its rounding is relative to the right-hand side, and to
            // how much larger `A` is than what it makes of a smooth function.
            let close = (found - expected).abs() < 1e-3 * expected + 5e-13;
            assert!(close, "{parameters:?}: residual {found:e} != {expected:e}");
        }
        let (found, expected) = (report.errors.unwrap().l2, oracle.l2_error);
        if expected > 1e-11 {
            assert!((found / expected - 1.0).abs() < 1e-3, "{parameters:?}: error {found:e} != {expected:e}");
        } else {
            // There the other implementation is at its own rounding.
            assert!(found < expected, "{parameters:?}: error {found:e} > {expected:e}");
        }
    }
}

#[test]
fn gmres_and_mixed_precision_need_as_many_iterations_for_the_same_error() {
    for parameters in [[2, 3, 4], [2, 5, 3], [3, 1, 3], [3, 3, 3], [3, 5, 2]] {
        let double = sine(parameters, Method::Fgmres, Precision::F64, 1e-8);
        for (method, precision) in
            [(Method::Gmres, Precision::F64), (Method::Fgmres, Precision::Mixed), (Method::Gmres, Precision::Mixed)]
        {
            let other = sine(parameters, method, precision, 1e-8);
            let name = format!("{parameters:?}, {method:?}, {precision:?}");
            assert_eq!(other.info.iterations, double.info.iterations, "{name}");
            let [found, expected] = [&other, &double].map(|report| report.errors.unwrap().l2);
            assert!((found / expected - 1.0).abs() < 1e-2, "{name}: {found:e} != {expected:e}");
        }
    }
}

/// To 1e-8, errors of high degrees are what the last iteration leaves of the residual: that of `f64` is farther below the
/// tolerance than a V-cycle in `f32` comes. Solved further, both end at the same error, the rounding of the solver in `f64`.
#[test]
fn mixed_precision_ends_at_the_error_of_f64() {
    for parameters in [[2, 7, 5], [3, 7, 3]] {
        let solve = |rtol| [Precision::F64, Precision::Mixed].map(|p| sine(parameters, Method::Fgmres, p, rtol));
        let l2 = |report: &Report| report.errors.unwrap().l2;
        let ([double, mixed], [double_further, mixed_further]) = (solve(1e-8), solve(1e-11));
        assert!([&double, &mixed, &double_further, &mixed_further].iter().all(|report| report.info.converged));
        let context = [&double, &mixed, &double_further, &mixed_further].map(|report| (l2(report), &report.info));
        assert!(l2(&mixed_further) < 1.2 * l2(&double_further), "{parameters:?}: {context:?}");
        if parameters == [2, 7, 5] {
            let last = |report: &Report| *report.info.residual_history.last().unwrap();
            assert!(l2(&mixed) > 2.0 * l2(&double) && last(&mixed) > 2.0 * last(&double), "{context:?}");
            assert!(l2(&mixed) > 10.0 * l2(&mixed_further), "{context:?}");
        }
    }
}

#[test]
fn every_solver_and_smoother_finds_the_same_solution() {
    for parameters in [[2, 3, 3], [3, 2, 2]] {
        let reference = sine(parameters, Method::Fgmres, Precision::F64, 1e-10).errors.unwrap().l2;
        for smoother in [SmootherConfig::default(), SmootherConfig::chebyshev()] {
            for method in Method::ALL {
                if (smoother, method) == (SmootherConfig::default(), Method::Fgmres) {
                    continue; // the reference
                }
                let config = Config { smoother, ..config(method, Precision::F64, 1e-10) };
                let report = solve_system(Family::Discontinuous, parameters, Problem::Sine, config);
                let name = format!("{parameters:?}, {smoother:?}, {method:?}: {} iterations", report.info.iterations);
                assert!(report.info.converged, "{name}");
                assert!((report.errors.unwrap().l2 / reference - 1.0).abs() < 1e-5, "{name}");
            }
        }
    }
}

#[test]
fn smoothers_that_diverge_are_refused() {
    let (space, continuous) = (space(2, 1, 2), Space::new(Mesh::unit_cube(2, 2).unwrap(), 1).unwrap());
    for smoother in [SmootherConfig::additive_patch(2), SmootherConfig::PointGaussSeidel, SmootherConfig::jacobi()] {
        let error = Config { smoother, ..Config::default() }.check(&*cpu(), &Poisson::from(&space)).unwrap_err();
        assert!(matches!(error, Error::InvalidArgument { name: "smoother", .. }), "{error}");
        Config { smoother, ..Config::default() }.check(&*cpu(), &Poisson::from(&continuous)).unwrap();
    }
}

/// Without a check of the configuration, too.
#[test]
fn point_gauss_seidel_is_unsupported() {
    let (backend, space) = (cpu(), space(2, 1, 2));
    let level = backend.level::<f64>(&Poisson::from(&space)).unwrap();
    let (b, mut x) = (backend.zeros(space.storage()).unwrap(), backend.zeros(space.storage()).unwrap());
    let refused = level.point_gauss_seidel(&b, &mut x, false);
    assert!(matches!(refused, Err(Error::Unsupported { backend: "cpu", .. })));
}

/// The V-cycle's rate does not depend on the mesh.
#[test]
fn iterations_do_not_grow_with_the_mesh() {
    for (dim, degree, refines) in [(2, 1, 3..=6), (2, 2, 3..=6), (2, 4, 2..=5), (3, 1, 2..=4), (3, 2, 2..=4)] {
        let counts: Vec<_> = refines
            .map(|refine| sine([dim, degree, refine], Method::Fgmres, Precision::F64, 1e-8).info.iterations)
            .collect();
        let most = if degree == 1 { 6 } else { 4 };
        assert!(counts.iter().all(|&count| (2..=most).contains(&count)), "{dim}D Q{degree}: {counts:?}");
    }
}

/// `A` as a dense matrix, in the order of dofs.
fn dense(space: &Space) -> DMatrix<f64> {
    let backend = cpu();
    let level = backend.level::<f64>(&Poisson::from(space)).unwrap();
    let (mut x, mut y) = (backend.zeros(space.storage()).unwrap(), backend.zeros(space.storage()).unwrap());
    let mut matrix = DMatrix::zeros(space.dofs(), space.dofs());
    let mut unit = vec![0.0; space.storage()];
    for dof in 0..space.dofs() {
        unit[dof] = 1.0;
        backend.upload(&unit, &mut x).unwrap();
        unit[dof] = 0.0;
        level.apply(&x, &mut y).unwrap();
        backend.download(&y, matrix.column_mut(dof).as_mut_slice()).unwrap();
    }
    matrix
}

#[test]
fn the_operator_is_symmetric_positive_definite() {
    for [dim, degree, refine] in [[2, 1, 2], [2, 2, 2], [2, 3, 1], [2, 8, 1], [3, 1, 1], [3, 2, 1], [3, 1, 2]] {
        let matrix = dense(&space(dim, degree, refine));
        let scale = matrix.amax();
        assert!((&matrix - matrix.transpose()).amax() < 1e-13 * scale, "{dim}D Q{degree}");
        assert!(matrix.cholesky().is_some(), "{dim}D Q{degree}");
    }
}

#[test]
fn a_symmetric_cycle_is_symmetric_and_the_usual_one_is_not() {
    let (backend, space) = (cpu(), space(2, 2, 3));
    let operator = backend.level::<f64>(&Poisson::from(&space)).unwrap();
    let mut random = pseudo_random(7);
    let mut vector = || {
        let mut vector = operator.vector().unwrap();
        let host: Vec<f64> = (0..space.storage()).map(|_| random()).collect();
        backend.upload(&host, &mut vector).unwrap();
        vector
    };
    let (x, y) = (vector(), vector());
    let asymmetry = |cycle| {
        let mut multigrid =
            Multigrid::<_, f64>::new(&backend, &Poisson::from(&space), &SmootherConfig::default(), cycle).unwrap();
        let (mut mx, mut my) = (operator.vector().unwrap(), operator.vector().unwrap());
        multigrid.apply(&x, &mut mx).unwrap();
        multigrid.apply(&y, &mut my).unwrap();
        let (a, b) = (backend.dot(&x, &my).unwrap(), backend.dot(&y, &mx).unwrap());
        (a - b).abs() / (backend.norm(&x).unwrap() * backend.norm(&my).unwrap())
    };
    assert!(asymmetry(VCycle::symmetric()) < 1e-13);
    assert!(asymmetry(VCycle::default()) > 1e-6);
}

/// `((x + 2y - z) / 3)^k`, of the degree of the space and not zero on the boundary.
struct Power {
    dim: usize,
    degree: i32,
}

impl Power {
    fn base(&self, point: DVec3) -> f64 {
        point.dot(self.direction())
    }
    fn direction(&self) -> DVec3 {
        DVec3::new(1.0, 2.0, if self.dim == 2 { 0.0 } else { -1.0 }) / 3.0
    }
    fn minus_laplacian(&self, point: DVec3) -> f64 {
        let factor = f64::from(self.degree * (self.degree - 1)) * self.direction().length_squared();
        if factor == 0.0 { 0.0 } else { -factor * self.base(point).powi(self.degree - 2) }
    }
}

impl Field for Power {
    fn value(&self, point: DVec3) -> f64 {
        self.base(point).powi(self.degree)
    }
}

impl ExactSolution for Power {
    fn gradient(&self, point: DVec3) -> DVec3 {
        f64::from(self.degree) * self.base(point).powi(self.degree - 1) * self.direction()
    }
}

#[test]
fn a_polynomial_of_the_space_is_reproduced_with_its_boundary_values() {
    for (dim, refine) in [(2, 1), (2, 3), (3, 1), (3, 2)] {
        for degree in 1..=8 {
            let (space, exact) = (space(dim, degree, refine), Power { dim, degree: degree as i32 });
            let mut load = load_vector(&space, &|point: DVec3| exact.minus_laplacian(point)).unwrap();
            let poisson = Poisson::from(&space);
            poisson.add_boundary_load(&exact, &mut load).unwrap();
            let config = config(Method::Fgmres, Precision::F64, 1e-13);
            let u = solve(&cpu(), &poisson, load, &config, &mut unobserved).unwrap().u;
            let ErrorNorms { l2, h1 } = u.error_to(&exact).unwrap();
            assert!(l2 < 1e-11 && h1 < 1e-9, "{dim}D Q{degree}, refine {refine}: {l2:e} {h1:e}");
        }
    }
}

#[test]
fn errors_fall_with_the_order_of_the_elements_whatever_the_boundary_values() {
    for (dim, degrees, refine) in [(2, 1..=5, 4), (3, 1..=3, 3)] {
        for degree in degrees {
            let [coarse, fine] = [refine - 1, refine].map(|refine| {
                let config = config(Method::Fgmres, Precision::F64, 1e-12);
                let report = solve_system(Family::Discontinuous, [dim, degree, refine], Problem::Cosine, config);
                report.errors.unwrap()
            });
            let (l2, h1) = ((coarse.l2 / fine.l2).log2(), (coarse.h1 / fine.h1).log2());
            assert!((l2 - degree as f64 - 1.0).abs() < 0.25, "{dim}D Q{degree}: order {l2} in L2");
            assert!((h1 - degree as f64).abs() < 0.25, "{dim}D Q{degree}: order {h1} in H1");
        }
    }
}

/// What is solved is the system of the matrix, to rounding.
#[test]
fn the_solver_inverts_the_dense_matrix() {
    for [dim, degree, refine] in [[2, 2, 2], [3, 1, 2], [2, 4, 1]] {
        let space = space(dim, degree, refine);
        let load = load_vector(&space, &|p: DVec3| (p.x + 3.0 * p.y * p.y).exp()).unwrap();
        let expected = dense(&space).cholesky().unwrap().solve(&DVector::from_column_slice(&load));
        let config = config(Method::Fgmres, Precision::F64, 1e-13);
        let found = solve(&cpu(), &Poisson::from(&space), load, &config, &mut unobserved).unwrap().u.into_values();
        assert!((DVector::from_vec(found) - &expected).amax() < 1e-11 * expected.amax());
    }
}
