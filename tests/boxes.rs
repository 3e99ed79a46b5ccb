//! Boxes: other numbers of cells, side lengths and edges in each direction.

#[path = "common/cases.rs"]
mod cases;
mod common;

use cases::{cpu, pseudo_random};
use common::direct_solve;
use patchmg::krylov::{Stopping, unobserved};
use patchmg::mesh::Mesh;
use patchmg::solve::{Case, Config, Method, Precision, Report, Solver};
use patchmg::space::Family;
use patchmg::system::Poisson;
use patchmg::system::poisson::Problem;

const FAMILIES: [Family; 2] = [Family::Continuous, Family::Discontinuous];

fn mesh(cells: &[usize], lengths: &[f64], refine: usize) -> Mesh {
    Mesh::of_box(cells, lengths, refine).unwrap()
}

fn solve(family: Family, mesh: Mesh, degree: usize, problem: Problem, config: Config) -> Report {
    let system = Poisson::new(family, mesh, degree).unwrap();
    let (report, _) = Case { system, problem, config }.solve(&cpu(), &mut unobserved).unwrap();
    assert!(report.info.converged, "{family:?} Q{degree} on {:?} cells: {:?}", mesh.cells_along(), report.info);
    report
}

fn config(method: Method, rtol: f64) -> Config {
    Config { method, stopping: Stopping { rtol, max_iters: 30 }, ..Config::default() }
}

/// Cells of boxes, side lengths and refinements: odd numbers below, long and short edges, one patch in a direction.
const BOXES: [(&[usize], &[f64], usize); 6] = [
    (&[3, 2], &[1.5, 1.0], 2),
    (&[1, 1], &[1.0, 30.0], 3),
    (&[5, 1], &[0.3, 1.0], 1),
    (&[3, 2, 1], &[1.5, 1.0, 0.5], 1),
    (&[1, 1, 1], &[1.0, 10.0, 0.7], 2),
    (&[1, 3, 2], &[4.0, 1.0, 1.0], 1),
];

/// The operator assembled in the test, and solved there by other means.
#[test]
fn solutions_are_those_of_the_assembled_operator() {
    for (cells, lengths, refine) in BOXES {
        for degree in [1, 2, 4] {
            let system = Poisson::continuous(mesh(cells, lengths, refine), degree).unwrap();
            let space = system.space();
            let b: Vec<f64> = std::iter::repeat_with(pseudo_random(7)).take(space.dofs()).collect();
            let expected = direct_solve(space, &b);
            let scale = expected.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
            for (method, precision) in [(Method::Fmg, Precision::F64), (Method::Fgmres, Precision::Mixed)] {
                let config = Config { precision, ..config(method, 1e-11) };
                let mut solver = Solver::new(&cpu(), &system, &config).unwrap();
                let solution = solver.solve(&space.from_dofs(&b).unwrap()).unwrap();
                assert!(solution.info.converged, "Q{degree}, {cells:?} cells: {:?}", solution.info);
                for (found, expected) in space.to_dofs(solution.u.values()).unwrap().iter().zip(&expected) {
                    assert!((found - expected).abs() < 1e-8 * scale, "Q{degree}, {cells:?} cells: {found} {expected}");
                }
            }
        }
    }
}

#[test]
fn errors_fall_with_the_order_of_the_elements() {
    for family in FAMILIES {
        for (cells, lengths, degree, refine) in [
            (&[3, 2][..], &[1.5, 1.0][..], 2, 4),
            (&[1, 1], &[1.0, 4.0], 3, 4),
            (&[3, 5], &[0.2, 1.0], 1, 4),
            (&[3, 2, 1], &[1.5, 1.0, 0.5], 2, 3),
            (&[1, 1, 2], &[1.0, 3.0, 1.0], 3, 3),
        ] {
            let errors = |refine| {
                let mesh = mesh(cells, lengths, refine);
                solve(family, mesh, degree, Problem::Sine, config(Method::Fgmres, 1e-11)).errors.unwrap()
            };
            let (coarse, fine) = (errors(refine - 1), errors(refine));
            let (l2, h1) = ((coarse.l2 / fine.l2).log2(), (coarse.h1 / fine.h1).log2());
            assert!((l2 - degree as f64 - 1.0).abs() < 0.25, "{family:?} Q{degree} {cells:?}: order {l2} in L2");
            assert!((h1 - degree as f64).abs() < 0.25, "{family:?} Q{degree} {cells:?}: order {h1} in H1");
        }
    }
}

/// With values on the boundary, too.
#[test]
fn discontinuous_elements_take_boundary_values_on_boxes() {
    let errors = |refine| {
        let mesh = mesh(&[3, 2], &[1.5, 0.5], refine);
        solve(Family::Discontinuous, mesh, 3, Problem::Cosine, config(Method::Fgmres, 1e-11)).errors.unwrap().l2
    };
    let order = (errors(2) / errors(3)).log2();
    assert!((order - 4.0).abs() < 0.2, "order {order}");
}

fn iterations(family: Family, lengths: &[f64], refine: usize, degree: usize) -> usize {
    let mesh = mesh(&[1; 3][..lengths.len()], lengths, refine);
    solve(family, mesh, degree, Problem::One, config(Method::Gmres, 1e-9)).info.iterations
}

#[test]
fn long_cells_take_two_iterations_more_at_most() {
    for family in FAMILIES {
        for degree in [1, 2, 3, 6] {
            let refine = if degree < 4 { 5 } else { 4 };
            let square = iterations(family, &[1.0, 1.0], refine, degree);
            for aspect in [1.4, 2.0, 5.0, 10.0, 100.0] {
                let found = iterations(family, &[aspect, 1.0], refine, degree);
                assert!(found <= square + 2, "{family:?} Q{degree}, 1 : {aspect}: {found}, the square {square}");
            }
        }
        for degree in [2, 3] {
            let cube = iterations(family, &[1.0; 3], 3, degree);
            for aspect in [2.0f64, 10.0, 100.0] {
                for lengths in [[aspect, 1.0, 1.0], [1.0, aspect, aspect], [1.0, aspect, aspect.sqrt()]] {
                    let found = iterations(family, &lengths, 3, degree);
                    assert!(found <= cube + 2, "{family:?} Q{degree} {lengths:?}: {found}, the cube {cube}");
                }
            }
        }
    }
}

/// Base cells are no other than refined ones.
#[test]
fn base_cells_of_a_power_of_two_are_refinements() {
    let history = |mesh| solve(Family::Continuous, mesh, 3, Problem::Sine, config(Method::Fmg, 1e-9)).info;
    let (refined, base) = (Mesh::unit_cube(3, 3).unwrap(), mesh(&[4, 4, 4], &[1.0; 3], 1));
    assert_eq!(history(refined), history(base));
}

/// A box that is larger in all directions has the same iterations.
#[test]
fn the_unit_of_length_does_not_matter() {
    let history = |scale: f64, precision| {
        let lengths = [1.5 * scale, scale, 0.5 * scale];
        let config = Config { precision, ..config(Method::Fgmres, 1e-9) };
        solve(Family::Continuous, mesh(&[3, 2, 1], &lengths, 2), 3, Problem::One, config).info.residual_history
    };
    for precision in [Precision::F64, Precision::Mixed] {
        let reference = history(1.0, precision);
        for scale in [1e-3, 7.0, 1e4] {
            let found = history(scale, precision);
            assert_eq!(found.len(), reference.len(), "{precision:?}, {scale}: {found:?}");
            for (found, expected) in found.iter().zip(&reference).filter(|(_, expected)| **expected > 1e-7) {
                assert!((found / expected - 1.0).abs() < 1e-2, "{precision:?}, {scale}: {found} {expected}");
            }
        }
    }
}
