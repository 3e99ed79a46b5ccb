//! Residuals that grow or are not finite, and preconditioners that are not definite.

use crate::{Dense, TIGHT, run, spd};
use nalgebra::{DMatrix, DVector};
use patchmg::Error;
use patchmg::krylov::{Cg, Divergence, Gmres, IterativeSolver, Outcome, Richardson, unobserved};
use patchmg::operator::{Identity, LinearOperator};

#[test]
fn what_is_not_finite_is_divergence_with_its_iteration() {
    let diverged = |iteration| Outcome::Diverged { iteration, cause: Divergence::NotFinite };
    let large = Dense::new(DMatrix::identity(4, 4) * 1e200);
    let mut identity = Identity::new(&large.backend);
    let (info, _) = run(&mut Richardson::new(&large).unwrap(), &large, &mut identity, TIGHT).unwrap();
    assert_eq!((info.outcome, info.residual_history), (diverged(1), vec![1.0]));
    // Its entries are finite, and the squares of what an iteration leaves of them are not.
    let dense = Dense::new(spd(4, 12) * 1e200);
    let (info, x) = run(&mut Gmres::new(&dense, 3).unwrap(), &dense, &mut identity, TIGHT).unwrap();
    assert_eq!((info.outcome, info.residual_history), (diverged(1), vec![1.0]));
    assert_eq!(x, DVector::zeros(4), "as before the iteration");
    let (info, _) = run(&mut Cg::new(&large).unwrap(), &large, &mut identity, TIGHT).unwrap();
    assert!(info.converged, "conjugate gradients scale: {:?}", info.outcome);

    let broken = Dense::new(DMatrix::from_element(4, 4, f64::NAN));
    // At `x = 0` the first residual is `b`, without the operator.
    let (info, _) = run(&mut Gmres::new(&broken, 3).unwrap(), &broken, &mut identity, TIGHT).unwrap();
    assert_eq!((info.outcome, info.residual_history), (diverged(1), vec![1.0]));
    for info in [
        run(&mut Cg::new(&broken).unwrap(), &broken, &mut identity, TIGHT).unwrap().0,
        run(&mut Richardson::new(&broken).unwrap(), &broken, &mut identity, TIGHT).unwrap().0,
    ] {
        assert_eq!((info.outcome, info.residual_history), (diverged(0), Vec::new()));
    }
}

#[test]
fn a_right_hand_side_that_is_not_finite_is_an_error() {
    let operator = Dense::new(DMatrix::identity(4, 4));
    let mut identity = Identity::new(&operator.backend);
    for value in [f64::NAN, f64::INFINITY] {
        let b = operator.set(&DVector::from_element(4, value));
        let mut x = operator.vector().unwrap();
        let mut solver = Richardson::new(&operator).unwrap();
        let error = solver.solve(&operator, &mut identity, &b, &mut x, &TIGHT, &mut unobserved).unwrap_err();
        assert!(matches!(error, Error::NotFinite { what: "norm of the right-hand side", .. }), "{error}");
    }
}

/// `x ← x + 3 (b - x)` doubles the residual each time.
#[test]
fn growth_is_divergence_with_a_finite_history() {
    let operator = Dense::new(DMatrix::identity(4, 4));
    let mut large = Dense::new(DMatrix::identity(4, 4) * 3.0);
    let (info, _) = run(&mut Richardson::new(&operator).unwrap(), &operator, &mut large, TIGHT).unwrap();
    // 2^20 is the first power above 1e6.
    assert_eq!(info.outcome, Outcome::Diverged { iteration: 20, cause: Divergence::Growth });
    assert_eq!((info.iterations, info.converged, info.residual_history.len()), (20, false, 21));
    assert!(info.residual_history.iter().all(|residual| residual.is_finite()));
}

#[test]
fn conjugate_gradients_diverge_with_a_preconditioner_that_is_not_definite() {
    let operator = Dense::new(spd(10, 9));
    let (info, x) =
        run(&mut Cg::new(&operator).unwrap(), &operator, &mut Dense::new(-DMatrix::identity(10, 10)), TIGHT).unwrap();
    let cause = Divergence::IndefinitePreconditioner;
    assert_eq!((info.outcome, info.residual_history), (Outcome::Diverged { iteration: 1, cause }, vec![1.0]));
    assert_eq!(x, DVector::zeros(10));
}
