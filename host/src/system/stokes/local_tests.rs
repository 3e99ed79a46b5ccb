//! Local solvers against dense solutions of the twin, and what is refused.

use super::tests::{CASES, Fixture, SMOOTHER, named, system};
use super::twin::Twin;
use super::*;
use crate::backend::cpu::Cpu;
use crate::backend::{Backend, Scalar};
use crate::testing::random;

/// Each color of each case with a coarser mesh, in roundings as [`Fixture::check`] counts them.
fn check_colors<T: Scalar>(local: LocalSolver, roundings: f64) {
    let cpu = Arc::new(Cpu::new(Some(2)).unwrap());
    let systems = CASES.iter().map(system).filter(|system| system.mesh().coarser().is_some());
    let mut colors = 0;
    for system in systems {
        let twin = Twin::new(system.with_local_solver(local).unwrap());
        let fixture = Fixture::<T>::new(&cpu, &twin.system);
        let dofs = twin.nodes.len();
        let (x, scale) = (random(dofs, 2), twin.matrix.diagonal().amax());
        let b: Vec<f64> = random(dofs, 1).into_iter().map(|b| T::from_f64(b * scale).to_f64()).collect();
        for &color in fixture.level.patches().unwrap().colors() {
            let expected = twin.smooth_color(color, &b, &x);
            // Twice, so that vectors hold what an earlier call left.
            for what in ["color", "color again"] {
                fixture.check(&format!("{what} {color}"), &fixture.smooth_color(color, &b, &x), &expected, roundings);
            }
            colors += 1;
        }
    }
    assert!(colors > 30, "{colors}");
}

#[test]
fn inverses_in_f64_solve_on_patches() {
    check_colors::<f64>(LocalSolver::Inverse, SMOOTHER);
}

#[test]
fn inverses_in_f32_solve_on_patches() {
    check_colors::<f32>(LocalSolver::Inverse, SMOOTHER);
}

#[test]
fn conjugate_gradients_in_f64_solve_on_patches() {
    check_colors::<f64>(LocalSolver::SchurCg { steps: 100 }, SMOOTHER);
}

#[test]
fn conjugate_gradients_in_f32_solve_on_patches() {
    check_colors::<f32>(LocalSolver::SchurCg { steps: 100 }, SMOOTHER);
}

/// Each patch has steps of its own: a residual that is a thousand times larger on the other patches changes nothing.
#[test]
fn conjugate_gradients_of_patches_are_independent() {
    let (cpu, steps) = (Arc::new(Cpu::new(Some(2)).unwrap()), 2);
    for (cells, degree) in [(&[2, 1][..], 2), (&[2, 1, 1], 1)] {
        let mesh = Mesh::of_box(cells, &[2.0, 1.0, 1.0][..cells.len()], 1).unwrap();
        let system = Stokes::new(mesh, degree).unwrap().with_local_solver(LocalSolver::SchurCg { steps }).unwrap();
        let twin = Twin::new(system);
        let fixture = Fixture::<f64>::new(&cpu, &twin.system);
        let lower = twin.interpolate(|_, point| if point.x < 1.0 { 1.0 } else { 0.0 });
        let (x, b) = (vec![0.0; lower.len()], random(lower.len(), 6));
        let scaled = |factor: f64| -> Vec<f64> {
            b.iter().zip(&lower).map(|(b, lower)| if *lower == 1.0 { *b } else { factor * b }).collect()
        };
        // Color 0 has two patches, on either side of x = 1.
        let [found, expected] = [1e3, 1.0].map(|factor| fixture.smooth_color(0, &scaled(factor), &x));
        let norm = |values: &[f64]| values.iter().map(|value| value * value).sum::<f64>();
        assert!(norm(&found) > 1e5 * norm(&expected), "the other patch has the larger residual");
        for ((found, expected), lower) in found.iter().zip(&expected).zip(&lower) {
            assert!(*lower == 0.0 || found == expected, "{found}, not {expected}");
        }
    }
}

/// Without mass; slowest where cells are six times as long as wide.
#[test]
fn every_step_of_conjugate_gradients_brings_the_exact_solution_nearer() {
    let cpu = Arc::new(Cpu::new(Some(2)).unwrap());
    for case in CASES.iter().filter(|case| case.4 == 0.0) {
        let system = system(case);
        if system.mesh().coarser().is_none() {
            continue;
        }
        let solve = |local| {
            let system = system.clone().with_local_solver(local).unwrap();
            let fixture = Fixture::<f64>::new(&cpu, &system);
            let dofs = system.layout().dofs();
            fixture.smooth_color(0, &random(dofs, 1), &vec![0.0; dofs])
        };
        let exact = solve(LocalSolver::Exact);
        let size = exact.iter().map(|value| value * value).sum::<f64>().sqrt();
        let errors = [1, 3, 6, 10, 15].map(|steps| {
            let found = solve(LocalSolver::SchurCg { steps });
            let square: f64 = found.iter().zip(&exact).map(|(found, exact)| (found - exact) * (found - exact)).sum();
            square.sqrt() / size
        });
        let falls = errors.windows(2).all(|pair| pair[1] < 0.9 * pair[0] || pair[0] < 1e-12);
        assert!(falls && errors[0] > 1e-3 && errors[4] < 1e-2, "{}: {errors:?}", named(&system));
    }
}

#[test]
fn local_solvers_have_names_and_refuse_what_they_cannot() {
    for local in LocalSolver::ALL {
        assert_eq!(local.to_string().parse::<LocalSolver>().unwrap(), local);
    }
    let message = "fdm".parse::<LocalSolver>().unwrap_err().to_string();
    assert_eq!(message, "local is fdm, but must be exact, schur-cg, inverse");
    let system = |dim: usize, degree| Stokes::new(Mesh::unit_cube(dim, 3).unwrap(), degree).unwrap();
    for steps in [0, 1001, usize::MAX] {
        let refused = system(2, 1).with_local_solver(LocalSolver::SchurCg { steps }).unwrap_err().to_string();
        assert_eq!(refused, format!("local-steps is {steps}, but must be from 1 to 1000"));
    }
    assert!(system(2, 8).with_local_solver(LocalSolver::Inverse).is_ok());
    assert!(system(3, 4).with_local_solver(LocalSolver::Inverse).is_ok());
    // 8 kinds of patches with 3 * 11 * 12^2 + 12^3 dofs.
    let refused = system(3, 5).with_local_solver(LocalSolver::Inverse).unwrap_err().to_string();
    assert_eq!(
        refused,
        "local is inverse, which would store 2.50 GiB of inverses on a level, but must be one that stores at most 2.00 GiB, \
         as exact and schur-cg do"
    );
}

#[test]
fn vectors_are_divided_entry_by_entry() {
    let cpu = Cpu::new(Some(2)).unwrap();
    let vector = |values: &[f64]| {
        let mut vector = cpu.zeros(values.len()).unwrap();
        cpu.upload(values, &mut vector).unwrap();
        vector
    };
    let (x, d) = (vector(&[3.0, 1.0, 0.0, -6.0, 0.0]), vector(&[2.0, 0.0, 0.0, -3.0, -0.0]));
    let mut y = vector(&[f64::NAN; 5]);
    cpu.divide(&x, &d, &mut y).unwrap();
    let mut found = [1.0; 5];
    cpu.download(&y, &mut found).unwrap();
    assert_eq!(found, [1.5, 0.0, 0.0, 2.0, 0.0]);
    for (x, d) in [(&x, &vector(&[1.0])), (&vector(&[1.0]), &d)] {
        assert!(matches!(cpu.divide(x, d, &mut y), Err(Error::SizeMismatch { expected: 5, found: 1, .. })));
    }
}
