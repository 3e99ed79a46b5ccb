//! What each solver computes, against a direct solver, and what it refuses.

use crate::{Dense, TIGHT, random, right_hand_side, run, spd, true_residual};
use nalgebra::{DMatrix, DVector};
use patchmg::Error;
use patchmg::krylov::{Cg, Fgmres, Gmres, IterativeSolver, Outcome, Stopping, unobserved};
use patchmg::operator::{Identity, LinearOperator};
use std::ops::ControlFlow;

#[test]
fn gmres_equals_a_direct_solver() {
    let n = 40;
    for matrix in [spd(n, 1), random(n, 2) + DMatrix::identity(n, n) * 3.0] {
        let operator = Dense::new(matrix.clone());
        let expected = matrix.lu().solve(&right_hand_side(n)).unwrap();
        let mut identity = Identity::new(&operator.backend);
        let (info, x) = run(&mut Gmres::new(&operator, n).unwrap(), &operator, &mut identity, TIGHT).unwrap();
        assert!(info.converged && info.iterations <= n, "{info:?}");
        assert!((&x - &expected).norm() < 1e-8 * expected.norm());
        assert!((info.residual_history.last().unwrap() - true_residual(&operator, &x)).abs() < 1e-13);
    }
}

#[test]
fn gmres_minimizes_over_the_right_preconditioned_krylov_space() {
    let n = 30;
    let (a, m) = (random(n, 3) + DMatrix::identity(n, n) * 2.0, random(n, 4) + DMatrix::identity(n, n));
    let (operator, mut preconditioner) = (Dense::new(a.clone()), Dense::new(m.clone()));
    let mut solver = Gmres::new(&operator, 12).unwrap();
    let stopping = Stopping { max_iters: 12, ..TIGHT };
    let (info, _) = run(&mut solver, &operator, &mut preconditioner, stopping).unwrap();
    let b = right_hand_side(n);
    let mut images: Vec<DVector<f64>> = Vec::new();
    for found in &info.residual_history[1..] {
        let last = images.last().unwrap_or(&b);
        let image = &a * &m * last;
        images.push(image.normalize());
        let q = DMatrix::from_columns(&images).qr().q();
        let least = (&b - &q * (q.transpose() * &b)).norm() / b.norm();
        assert!((found / least - 1.0).abs() < 1e-6, "{found} != {least}");
    }
}

/// Lengths of vectors of the basis are powers of the operator's norm, unless they are scaled.
#[test]
fn gmres_does_not_depend_on_the_size_of_operator_and_right_hand_side() {
    let n = 30;
    let matrix = random(n, 13) + DMatrix::identity(n, n) * 3.0;
    let history = |scale: f64, size: f64| {
        let operator = Dense::new(&matrix * scale);
        let (b, mut x) = (operator.set(&(right_hand_side(n) * size)), operator.vector().unwrap());
        let (mut solver, mut identity) = (Gmres::new(&operator, n).unwrap(), Identity::new(&operator.backend));
        let info = solver.solve(&operator, &mut identity, &b, &mut x, &TIGHT, &mut unobserved).unwrap();
        assert!(info.converged, "{scale:e}, {size:e}: {:?}", info.outcome);
        info.residual_history
    };
    let expected = history(1.0, 1.0);
    assert!(expected.len() > 10, "{expected:?}");
    for (scale, size) in [(1e90, 1.0), (1e-90, 1.0), (1.0, 1e-150), (1.0, 1e150), (1e-12, 1e140)] {
        let found = history(scale, size);
        assert_eq!(found.len(), expected.len(), "{scale:e}, {size:e}");
        for (found, expected) in found.iter().zip(&expected).take(expected.len() - 1) {
            assert!((found / expected - 1.0).abs() < 1e-6, "{scale:e}, {size:e}: {found} != {expected}");
        }
    }
}

/// `solve` begins at 0, and leaves 0 where it does not get anywhere; `solve_from` begins at what it is given.
#[test]
fn a_solution_begins_at_zero_or_where_it_is_said() {
    let (operator, b) = (Dense::new(spd(12, 3)), right_hand_side(12));
    let mut identity = Identity::new(&operator.backend);
    let noise = DVector::from_element(12, 7.5);
    let solvers: [Box<dyn IterativeSolver<_, _, _, _>>; 3] = [
        Box::new(Gmres::new(&operator, 40).unwrap()),
        Box::new(Fgmres::new(&operator, 40).unwrap()),
        Box::new(Cg::new(&operator).unwrap()),
    ];
    for mut solver in solvers {
        let mut x = operator.set(&noise);
        let on_machine = operator.set(&b);
        let mut at_once = |_: usize, _: f64| ControlFlow::Break(());
        let info = solver.solve(&operator, &mut identity, &on_machine, &mut x, &TIGHT, &mut at_once).unwrap();
        assert_eq!((info.outcome, info.residual_history), (Outcome::Stopped, vec![1.0]));
        assert_eq!(operator.get(&x).unwrap(), DVector::zeros(12));
        let mut x = operator.set(&noise);
        let from = solver.solve_from(&operator, &mut identity, &on_machine, &mut x, &TIGHT, &mut at_once).unwrap();
        let expected = true_residual(&operator, &noise);
        assert!((from.residual_history[0] / expected - 1.0).abs() < 1e-12);
        assert_eq!(operator.get(&x).unwrap(), noise);
        let info = solver.solve(&operator, &mut identity, &on_machine, &mut x, &TIGHT, &mut unobserved).unwrap();
        assert!(info.converged && info.residual_history[0] == 1.0, "{info:?}");
        assert!(true_residual(&operator, &operator.get(&x).unwrap()) <= 1.0001e-11);
    }
}

#[test]
fn restarted_gmres_ends_at_the_true_residual() {
    let operator = Dense::new(spd(40, 5));
    let mut identity = Identity::new(&operator.backend);
    let (full, _) = run(&mut Gmres::new(&operator, 40).unwrap(), &operator, &mut identity, TIGHT).unwrap();
    let (info, x) = run(&mut Gmres::new(&operator, 5).unwrap(), &operator, &mut identity, TIGHT).unwrap();
    assert!(info.converged && info.iterations > full.iterations, "{info:?}");
    assert!(true_residual(&operator, &x) <= 1.0001e-11);
    assert!(info.residual_history.windows(2).all(|pair| pair[1] <= pair[0] * (1.0 + 1e-6)), "{info:?}");
    assert_eq!(info.residual_history[..5], full.residual_history[..5]);
}

#[test]
fn only_flexible_gmres_is_right_about_a_preconditioner_that_varies() {
    let operator = Dense::new(random(40, 6) + DMatrix::identity(40, 40) * 4.0);
    let varying = || Dense { alternates: true, ..Dense::new(DMatrix::identity(40, 40)) };
    let stopping = Stopping { max_iters: 60, ..TIGHT };
    let (flexible, x) = run(&mut Fgmres::new(&operator, 40).unwrap(), &operator, &mut varying(), stopping).unwrap();
    assert!(flexible.converged && flexible.iterations <= 40, "{flexible:?}");
    assert!(true_residual(&operator, &x) <= 1.0001e-11);
    // What plain GMRES reports at the end is true all the same.
    let (plain, x) = run(&mut Gmres::new(&operator, 40).unwrap(), &operator, &mut varying(), stopping).unwrap();
    let (last, truth) = (*plain.residual_history.last().unwrap(), true_residual(&operator, &x));
    assert!((last - truth).abs() <= 1e-12 + 1e-9 * truth, "{last} != {truth}");
    assert_eq!(plain.converged, truth <= 1e-11);
}

#[test]
fn conjugate_gradients_equal_a_direct_solver() {
    let (operator, mut preconditioner) = (Dense::new(spd(40, 7)), Dense::new(spd(40, 8)));
    let expected = operator.matrix.clone().lu().solve(&right_hand_side(40)).unwrap();
    let mut solver = Cg::new(&operator).unwrap();
    let (info, x) = run(&mut solver, &operator, &mut preconditioner, TIGHT).unwrap();
    assert!(info.converged, "{info:?}");
    assert!((x - &expected).norm() < 1e-8 * expected.norm());
}

#[test]
fn conjugate_gradients_refuse_what_they_cannot_solve() {
    let operator = Dense::new(spd(10, 9));
    let mut solver = Cg::new(&operator).unwrap();
    let error = run(&mut solver, &operator, &mut Dense::new(random(10, 10)), TIGHT).unwrap_err();
    assert!(matches!(error, Error::InvalidArgument { .. }), "{error}");
    let negative = Dense::new(-spd(10, 9));
    let mut identity = Identity::new(&operator.backend);
    let error = run(&mut solver, &negative, &mut identity, TIGHT).unwrap_err();
    assert!(matches!(error, Error::NotPositiveDefinite { what: "operator" }), "{error}");
}

#[test]
fn breakdown_is_no_panic() {
    let n = 8;
    // One step is enough: the Krylov space stops growing.
    let operator = Dense::new(DMatrix::identity(n, n));
    let mut identity = Identity::new(&operator.backend);
    let (info, _) = run(&mut Gmres::new(&operator, n).unwrap(), &operator, &mut identity, TIGHT).unwrap();
    assert_eq!((info.iterations, info.converged), (1, true));
    // No step is enough: the operator is singular.
    let zero = Dense::new(DMatrix::zeros(n, n));
    let stopping = Stopping { max_iters: 3, ..TIGHT };
    let (info, x) = run(&mut Gmres::new(&zero, 3).unwrap(), &zero, &mut identity, stopping).unwrap();
    assert_eq!((info.iterations, info.outcome), (3, Outcome::MaxIterations));
    assert_eq!(x, DVector::zeros(n));
}

#[test]
fn nothing_is_the_solution_for_nothing() {
    let operator = Dense::new(spd(6, 11));
    let mut identity = Identity::new(&operator.backend);
    let b = operator.vector().unwrap();
    let mut x = operator.set(&right_hand_side(6));
    let mut solver = Gmres::new(&operator, 3).unwrap();
    let info = solver.solve(&operator, &mut identity, &b, &mut x, &TIGHT, &mut unobserved).unwrap();
    assert_eq!((info.iterations, info.converged, info.residual_history), (0, true, vec![0.0]));
    assert_eq!(operator.get(&x).unwrap(), DVector::zeros(6));
    assert!(matches!(Gmres::new(&operator, 0), Err(Error::InvalidArgument { name: "restart", .. })));
}
