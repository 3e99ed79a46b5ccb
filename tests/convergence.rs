//! Errors for the known solution `u = prod_i sin(πx_i)`: reference values, orders, and what mixed precision changes.

#[path = "common/cases.rs"]
mod common;

use approx::assert_relative_eq;
use common::{solve, solve_system};
use patchmg::krylov::{Outcome, Stopping};
use patchmg::problem::ErrorNorms;
use patchmg::solve::{Config, Method, Precision};
use patchmg::space::Family;
use patchmg::system::poisson::Problem;

fn errors(parameters: [usize; 3]) -> ErrorNorms {
    solve(parameters, Problem::Sine, Method::Fmg, Precision::F64, 1e-12).errors.unwrap()
}

/// Values on which deal.II, NGSolve and DOLFINx agree.
#[test]
fn l2_errors_equal_those_of_other_codes() {
    for (degree, refine, l2) in [(2, 2, 1.66629e-3), (2, 3, 2.121e-4), (3, 2, 7.5856e-5), (3, 3, 4.8106e-6)] {
        assert_relative_eq!(errors([3, degree, refine]).l2, l2, max_relative = 5e-4);
    }
}

#[test]
fn errors_fall_with_the_order_of_the_space() {
    let degrees = (1..=6).map(|degree| [2, degree, 3]).chain((1..=4).map(|degree| [3, degree, 2]));
    for [dim, degree, refine] in degrees {
        let (coarse, fine) = (errors([dim, degree, refine]), errors([dim, degree, refine + 1]));
        let l2 = (coarse.l2 / fine.l2).log2();
        let h1 = (coarse.h1 / fine.h1).log2();
        assert!((l2 - (degree + 1) as f64).abs() < 0.15, "{dim}D Q{degree}: L2 error falls with order {l2}");
        assert!((h1 - degree as f64).abs() < 0.15, "{dim}D Q{degree}: H1 error falls with order {h1}");
    }
}

#[test]
fn mixed_precision_costs_neither_iterations_nor_accuracy() {
    for parameters in [[2, 1, 5], [2, 4, 4], [2, 8, 3], [3, 2, 3], [3, 4, 2]] {
        for method in Method::ALL {
            let double = solve(parameters, Problem::Sine, method, Precision::F64, 1e-9);
            let mixed = solve(parameters, Problem::Sine, method, Precision::Mixed, 1e-9);
            let context = format!("{parameters:?} {method:?}: {:?}, {:?}", double.info, mixed.info);
            assert!(double.info.converged && mixed.info.converged, "{context}");
            assert_eq!(double.info.iterations, mixed.info.iterations, "{context}");
            let (double, mixed) = (double.errors.unwrap(), mixed.errors.unwrap());
            for (mixed, double) in [(mixed.l2, double.l2), (mixed.h1, double.h1)] {
                // The highest degree's error is rounding alone.
                assert!((mixed - double).abs() < 1e-3 * double + 1e-11, "{context}: {mixed}, {double}");
            }
        }
    }
}

/// Discretization errors are below 1e-15 here. Rows of 1D stiffness matrices that sum to a unit of rounding instead of zero act
/// as a reaction term: the errors were 7.2e-12, 1.8e-12 and 5.7e-12, four times those one level below.
#[test]
fn rounding_is_no_reaction_term() {
    for parameters in [[2, 10, 6], [2, 8, 6], [2, 5, 7]] {
        for method in [Method::Fmg, Method::VCycle, Method::Gmres] {
            // Until rounding stops them.
            let stopping = Stopping { rtol: 1e-14, max_iters: 8 };
            let config = Config { method, stopping, ..Config::default() };
            let l2 = solve_system(Family::Continuous, parameters, Problem::Sine, config).errors.unwrap().l2;
            assert!(l2 < 5e-14, "{parameters:?} {method:?}: {l2:e}");
        }
    }
}

/// In `f32` errors were 7.3e-4 and 3.0e-3 for the same reason.
#[test]
fn single_precision_has_the_error_of_its_numbers_on_fine_levels() {
    for parameters in [[2, 5, 7], [2, 10, 7]] {
        let config = Config { stopping: Stopping { rtol: 1e-9, max_iters: 8 }, ..Config::default() };
        let config = Config { method: Method::VCycle, precision: Precision::F32, ..config };
        let l2 = solve_system(Family::Continuous, parameters, Problem::Sine, config).errors.unwrap().l2;
        assert!(l2 < 3e-6, "{parameters:?}: {l2:e}");
    }
}

#[test]
fn single_precision_reaches_what_it_can() {
    for method in [Method::Fmg, Method::VCycle, Method::Gmres, Method::Fgmres, Method::Cg] {
        let report = solve([2, 2, 4], Problem::Sine, method, Precision::F32, 1e-4);
        assert!(report.info.converged, "{method:?}: {:?}", report.info);
        let expected = errors([2, 2, 4]).l2;
        assert_relative_eq!(report.errors.unwrap().l2, expected, max_relative = 0.05);
        let stuck = solve([2, 2, 4], Problem::Sine, method, Precision::F32, 1e-7).info;
        assert!(matches!(stuck.outcome, Outcome::Stagnated { rounding: true, .. }), "{method:?}: {:?}", stuck.outcome);
        assert!(stuck.iterations < 30 && stuck.fractional_iterations.is_none(), "{method:?}: {stuck:?}");
    }
}
