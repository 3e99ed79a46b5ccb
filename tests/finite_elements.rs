//! Discretization errors, with the discrete system solved exactly.

mod common;

use common::{dense_operator, direct_solve};
use nalgebra::DVector;
use patchmg::mesh::Mesh;
use patchmg::problem::{ErrorNorms, error_norms, load_vector};
use patchmg::space::Space;
use patchmg::system::poisson::Problem;

fn space(dim: usize, refine: usize, degree: usize) -> Space {
    Space::new(Mesh::unit_cube(dim, refine).unwrap(), degree).unwrap()
}

/// Errors of the exact discrete solution of the problem `sine`.
fn sine_errors(dim: usize, refine: usize, degree: usize) -> ErrorNorms {
    let space = space(dim, refine, degree);
    let b = load_vector(&space, &*Problem::Sine.right_hand_side(space.mesh())).unwrap();
    let x = direct_solve(&space, &space.to_dofs(&b).unwrap());
    error_norms(&space, &space.from_dofs(&x).unwrap(), &*Problem::Sine.solution(space.mesh()).unwrap()).unwrap()
}

#[test]
fn direct_solver_inverts_the_dense_operator() {
    for (dim, refine, degree) in [(2, 2, 3), (2, 3, 2), (3, 1, 3), (3, 2, 1)] {
        let space = space(dim, refine, degree);
        let x: Vec<f64> = (0..space.dofs()).map(|i| ((7 * i + 3) % 11) as f64 - 5.0).collect();
        let operator = dense_operator(&space);
        assert_eq!(operator, operator.transpose());
        let b = &operator * DVector::from_column_slice(&x);
        let found = direct_solve(&space, b.as_slice());
        let cholesky = operator.cholesky().unwrap().solve(&b);
        for i in 0..x.len() {
            assert!((found[i] - x[i]).abs() < 1e-11 && (cholesky[i] - x[i]).abs() < 1e-11);
        }
    }
}

#[test]
fn l2_errors_are_those_of_other_codes() {
    // deal.II, NGSolve and dolfinx agree on these.
    for (degree, refine, expected) in [(2, 2, 1.66629e-3), (2, 3, 2.121e-4), (3, 2, 7.5856e-5), (3, 3, 4.8106e-6)] {
        let error = sine_errors(3, refine, degree).l2;
        assert!((error / expected - 1.0).abs() < 2e-4, "Q{degree}, refine {refine}: {error:e} != {expected:e}");
    }
}

#[test]
fn errors_fall_with_the_order_of_the_elements() {
    for (dim, degrees, refine) in [(2, 1..=6, 4), (3, 1..=4, 3)] {
        for degree in degrees {
            let (coarse, fine) = (sine_errors(dim, refine - 1, degree), sine_errors(dim, refine, degree));
            let (l2, h1) = ((coarse.l2 / fine.l2).log2(), (coarse.h1 / fine.h1).log2());
            assert!((l2 - degree as f64 - 1.0).abs() < 0.15, "{dim}D Q{degree}: order {l2} in L2");
            assert!((h1 - degree as f64).abs() < 0.15, "{dim}D Q{degree}: order {h1} in H1");
        }
    }
}
