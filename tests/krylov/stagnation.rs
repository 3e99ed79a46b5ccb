//! Iterations that gain nothing any more, by rounding or not, and slow ones that go on.

use crate::common::solve_system;
use crate::{Dense, TIGHT, run};
use nalgebra::{DMatrix, DVector};
use patchmg::krylov::{Gmres, Info, IterativeSolver, Outcome, Richardson, Stopping, unobserved};
use patchmg::multigrid::SmootherConfig;
use patchmg::operator::{Identity, LinearOperator};
use patchmg::solve::{Config, Method, Precision};
use patchmg::space::Family;
use patchmg::system::poisson::Problem;

/// Where nothing is gained, and not because of rounding.
#[test]
fn a_standstill_is_stagnation_without_a_reason() {
    let n = 8;
    let standstill = Outcome::Stagnated { residual: 1.0, rounding: false };
    // A preconditioner that does nothing.
    let operator = Dense::new(DMatrix::identity(n, n));
    let mut nothing = Dense::new(DMatrix::zeros(n, n));
    let (info, _) = run(&mut Richardson::new(&operator).unwrap(), &operator, &mut nothing, TIGHT).unwrap();
    assert_eq!((info.iterations, info.outcome), (5, standstill));
    // A cyclic shift: the Krylov space has the solution in it after `n` iterations and nothing of it before.
    let shift = Dense::new(DMatrix::from_fn(n, n, |i, j| f64::from(i == (j + 1) % n)));
    let mut identity = Identity::new(&shift.backend);
    let b = shift.set(&DVector::from_fn(n, |i, _| f64::from(i == 0)));
    for (restart, iterations, outcome) in [(3, 15, standstill), (n, n, Outcome::Converged)] {
        let mut x = shift.vector().unwrap();
        let mut gmres = Gmres::new(&shift, restart).unwrap();
        let info = gmres.solve(&shift, &mut identity, &b, &mut x, &TIGHT, &mut unobserved).unwrap();
        assert_eq!((info.iterations, info.outcome), (iterations, outcome), "restart {restart}");
    }
}

/// `x ← x + 0.01 (b - A x)` with `A = I` gains 1 % an iteration.
#[test]
fn slow_convergence_is_not_stagnation() {
    let operator = Dense::new(DMatrix::identity(8, 8));
    let mut small = Dense::new(DMatrix::identity(8, 8) * 0.01);
    for rtol in [1e-6, 1e-9] {
        let stopping = Stopping { rtol, max_iters: 10_000 };
        let (info, _) = run(&mut Richardson::new(&operator).unwrap(), &operator, &mut small, stopping).unwrap();
        assert!(info.converged, "{:?}", info.outcome);
        assert_eq!(info.iterations, (rtol.ln() / 0.99f64.ln()).ceil() as usize);
    }
}

#[test]
fn every_solver_stops_at_rounding() {
    let cases = [
        (Family::Continuous, [2, 1, 5]),
        (Family::Continuous, [2, 3, 4]),
        (Family::Continuous, [2, 10, 3]),
        (Family::Continuous, [3, 2, 3]),
        (Family::Continuous, [3, 7, 2]),
        (Family::Discontinuous, [2, 2, 4]),
        (Family::Discontinuous, [3, 4, 2]),
    ];
    for ((system, parameters), method) in cases.into_iter().flat_map(|case| Method::ALL.map(|method| (case, method))) {
        for precision in Precision::ALL {
            let run = |rtol| {
                let stopping = Stopping { rtol, max_iters: 100 };
                let config = Config { method, precision, stopping, ..Config::default() };
                solve_system(system, parameters, Problem::Sine, config).info
            };
            let check = |info: &Info| {
                let name = format!("{system:?} {parameters:?} {method:?} {precision:?}: {info:?}");
                let last = *info.residual_history.last().unwrap();
                assert_eq!(info.outcome, Outcome::Stagnated { residual: last, rounding: true }, "{name}");
                assert!(!info.converged && info.fractional_iterations.is_none(), "{name}");
                assert!(last < if precision == Precision::F32 { 1e-3 } else { 1e-11 }, "{name}");
                (last, name)
            };
            let (floor, _) = check(&run(1e-20));
            // A tolerance just below: as long as rounding happens to lower the residual by 2 %, the iteration goes on.
            let info = run(0.3 * floor);
            let (_, name) = check(&info);
            let near = info.residual_history.iter().position(|&residual| residual <= 2.0 * floor).unwrap();
            assert!(info.iterations <= near + 20, "{name}");
        }
    }
}

/// Just above the residual where it stagnates, an iteration that gains a few percent each time goes on.
#[test]
fn slow_multigrid_converges_to_near_its_rounding() {
    let smoother = SmootherConfig::Jacobi { damping: 0.1 };
    for (method, parameters) in [(Method::VCycle, [2, 2, 3]), (Method::Cg, [2, 4, 3]), (Method::Gmres, [2, 4, 3])] {
        let run = |rtol| {
            let stopping = Stopping { rtol, max_iters: 2000 };
            let config = Config { method, smoother, stopping, ..Config::default() };
            solve_system(Family::Continuous, parameters, Problem::Sine, config).info
        };
        let Outcome::Stagnated { residual, rounding: true } = run(1e-20).outcome else {
            panic!("{method:?}: {:?}", run(1e-20))
        };
        let info = run(2.0 * residual);
        assert!(info.converged, "{method:?}: {:?}, stagnates at {residual:e}", info.outcome);
        assert!(info.iterations > 25, "{method:?}: {} iterations", info.iterations);
    }
}
