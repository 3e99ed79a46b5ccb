//! The V-cycle as a preconditioner: symmetric, exact on one patch, in low precision.

use crate::Vector;
use crate::common::{cpu, pseudo_random, space};
use patchmg::Error;
use patchmg::backend::Backend;
use patchmg::backend::cpu::Cpu;
use patchmg::krylov::{Fgmres, IterativeSolver, RoundedFgmres, Stopping, unobserved};
use patchmg::multigrid::{LowPrecision, Multigrid, SmootherConfig, VCycle};
use patchmg::operator::{LinearOperator, Preconditioner};
use patchmg::system::{Poisson, Runs};

/// A vector of random unknowns.
fn random_vector(space: &patchmg::space::Space, seed: u64) -> Vector {
    let mut next = pseudo_random(seed);
    let dofs: Vec<f64> = (0..space.dofs()).map(|_| next()).collect();
    let backend = cpu();
    let mut x = backend.zeros(space.storage()).unwrap();
    backend.upload(&space.from_dofs(&dofs).unwrap(), &mut x).unwrap();
    x
}

fn asymmetry(space: &patchmg::space::Space, m: &mut impl Preconditioner<Cpu, f64>) -> f64 {
    let backend = cpu();
    let (x, y) = (random_vector(space, 1), random_vector(space, 2));
    let mut z = backend.zeros(space.storage()).unwrap();
    m.apply(&y, &mut z).unwrap();
    let xmy = backend.dot(&x, &z).unwrap();
    let length = backend.norm(&x).unwrap() * backend.norm(&z).unwrap();
    m.apply(&x, &mut z).unwrap();
    (xmy - backend.dot(&y, &z).unwrap()).abs() / length
}

#[test]
fn the_v_cycle_with_adjoint_post_smoothing_is_symmetric() {
    let backend = cpu();
    for [dim, degree, refine] in [[2, 1, 4], [2, 4, 3], [3, 1, 3], [3, 3, 2]] {
        let space = space(dim, degree, refine);
        let mut symmetric =
            Multigrid::<_, f64>::new(&backend, &Poisson::from(&space), &SmootherConfig::default(), VCycle::symmetric())
                .unwrap();
        assert!(symmetric.is_symmetric());
        let found = asymmetry(&space, &mut symmetric);
        assert!(found < 1e-14, "{dim}D Q{degree}: {found}");
        let mut usual =
            Multigrid::<_, f64>::new(&backend, &Poisson::from(&space), &SmootherConfig::default(), VCycle::default())
                .unwrap();
        assert!(!usual.is_symmetric());
        let found = asymmetry(&space, &mut usual);
        assert!(found > 1e-7, "{dim}D Q{degree}: {found}");
    }
}

#[test]
fn a_v_cycle_on_one_patch_is_a_direct_solver() {
    let backend = cpu();
    for (dim, degree) in [(2, 1), (2, 10), (3, 1), (3, 5)] {
        let space = space(dim, degree, 1);
        let operator = backend.level::<f64>(&Poisson::from(&space)).unwrap();
        let mut multigrid =
            Multigrid::<_, f64>::new(&backend, &Poisson::from(&space), &SmootherConfig::default(), VCycle::default())
                .unwrap();
        let b = random_vector(&space, 3);
        let (mut x, mut r) = (operator.vector().unwrap(), operator.vector().unwrap());
        multigrid.apply(&b, &mut x).unwrap();
        operator.residual(&b, &x, &mut r).unwrap();
        let relative = backend.norm(&r).unwrap() / backend.norm(&b).unwrap();
        assert!(relative < 1e-11, "{dim}D Q{degree}: {relative}");
    }
}

#[test]
fn low_precision_does_not_underflow() {
    let backend = cpu();
    let space = space(2, 3, 3);
    let mut double =
        Multigrid::<_, f64>::new(&backend, &Poisson::from(&space), &SmootherConfig::default(), VCycle::default())
            .unwrap();
    let single =
        Multigrid::<_, f32>::new(&backend, &Poisson::from(&space), &SmootherConfig::default(), VCycle::default())
            .unwrap();
    let mut single = LowPrecision::<_, f64, f32, _>::new(&backend, single, space.storage()).unwrap();
    let (unit, mut small) = (random_vector(&space, 4), random_vector(&space, 4));
    backend.axpby(1e-60, &unit, 0.0, &mut small).unwrap();
    let mut expected = backend.zeros::<f64>(space.storage()).unwrap();
    let mut found = backend.zeros::<f64>(space.storage()).unwrap();
    double.apply(&small, &mut expected).unwrap();
    single.apply(&small, &mut found).unwrap();
    let norm = backend.norm(&expected).unwrap();
    backend.axpby(-1.0, &expected, 1.0, &mut found).unwrap();
    assert!(norm > 0.0 && backend.norm(&found).unwrap() < 1e-5 * norm);
}

/// Directions in `f32` are what an `f32` V-cycle gives, so that nothing is lost: the same iterations as with directions in `f64`, and a
/// residual far below the precision of `f32`.
#[test]
fn directions_kept_in_single_precision_lose_nothing() {
    let backend = cpu();
    for (dim, degree, refine) in [(2, 3, 4), (3, 2, 3)] {
        let space = space(dim, degree, refine);
        let operator = backend.level::<f64>(&Poisson::from(&space)).unwrap();
        let single = || {
            let (poisson, smoother) = (Poisson::from(&space), SmootherConfig::default());
            let single = Multigrid::<_, f32>::new(&backend, &poisson, &smoother, VCycle::default()).unwrap();
            LowPrecision::<_, f64, f32, _>::new(&backend, single, space.storage()).unwrap()
        };
        let (b, stopping) = (random_vector(&space, 5), Stopping { rtol: 1e-12, max_iters: 30 });
        let (mut x, mut r) = (operator.vector().unwrap(), operator.vector().unwrap());
        let mut wide = Fgmres::new(&operator, 10).unwrap();
        let expected = wide.solve(&operator, &mut single(), &b, &mut x, &stopping, &mut unobserved).unwrap();
        let mut rounded = RoundedFgmres::new(&operator, 10).unwrap();
        // From zero, whatever is in `x`.
        let found = rounded.solve(&operator, &mut single(), &b, &mut x, &stopping, &mut unobserved).unwrap();
        assert!(found.converged, "{found:?}");
        for (found, expected) in found.residual_history.iter().zip(&expected.residual_history) {
            assert!((found - expected).abs() < 1e-3 * expected + 1e-13, "{found:e} != {expected:e}");
        }
        operator.residual(&b, &x, &mut r).unwrap();
        assert!(backend.norm(&r).unwrap() <= 1e-12 * backend.norm(&b).unwrap());
        // The solution is where it starts.
        let again = rounded.solve_from(&operator, &mut single(), &b, &mut x, &stopping, &mut unobserved).unwrap();
        assert_eq!((again.iterations, again.converged), (0, true));
    }
}

/// Also where the right-hand side itself cannot be rounded to `f32`.
#[test]
fn directions_kept_in_single_precision_do_not_depend_on_the_length_of_the_right_hand_side() {
    let backend = cpu();
    let space = space(2, 3, 4);
    let operator = backend.level::<f64>(&Poisson::from(&space)).unwrap();
    let (poisson, smoother) = (Poisson::from(&space), SmootherConfig::default());
    let single = Multigrid::<_, f32>::new(&backend, &poisson, &smoother, VCycle::default()).unwrap();
    let mut single = LowPrecision::<_, f64, f32, _>::new(&backend, single, space.storage()).unwrap();
    let mut solver = RoundedFgmres::new(&operator, 10).unwrap();
    let mut solve = |factor: f64| {
        let (mut b, mut x) = (random_vector(&space, 5), operator.vector().unwrap());
        backend.combine::<f64, f64>(&[], &[], factor, &mut b).unwrap();
        solver.solve(&operator, &mut single, &b, &mut x, &Stopping::default(), &mut unobserved).unwrap()
    };
    let expected = solve(1.0);
    assert!(expected.converged, "{expected:?}");
    for factor in [1e-60, 1e-40, 1e-7, 1e-3, 1e3, 1e7, 1e45, 1e60] {
        let found = solve(factor);
        assert_eq!(found.iterations, expected.iterations, "{factor:e}");
        for (found, expected) in found.residual_history.iter().zip(&expected.residual_history) {
            assert!((found - expected).abs() < 1e-3 * expected, "{factor:e}: {found:e} != {expected:e}");
        }
    }
    let nothing = solve(0.0);
    assert_eq!((nothing.iterations, nothing.converged), (0, true));
}

#[test]
fn a_v_cycle_that_does_not_smooth_is_refused() {
    let cycle = VCycle { pre: 0, post: 0, ..VCycle::default() };
    assert!(matches!(
        Multigrid::<_, f64>::new(&cpu(), &Poisson::from(&space(2, 1, 2)), &SmootherConfig::default(), cycle),
        Err(Error::InvalidArgument { .. })
    ));
}
