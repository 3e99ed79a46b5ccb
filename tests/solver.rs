//! A solver that is set up once: many right-hand sides, guesses, observers that stop it.

use patchmg::backend::cpu::Cpu;
use patchmg::krylov::{Outcome, Stopping, unobserved};
use patchmg::mesh::Mesh;
use patchmg::problem::load_vector;
use patchmg::solve::{Config, Method, Precision, Solver, solve};
use patchmg::space::Space;
use patchmg::system::Poisson;
use std::ops::ControlFlow;
use std::sync::Arc;

fn configs() -> impl Iterator<Item = Config> {
    let with = |method| {
        [Precision::F64, Precision::F32, Precision::Mixed].map(move |precision| {
            let rtol = if precision == Precision::F32 { 1e-4 } else { 1e-9 };
            let stopping = Stopping { rtol, ..Stopping::default() };
            Config { method, precision, stopping, ..Config::default() }
        })
    };
    Method::ALL.into_iter().flat_map(with)
}

fn spaces() -> [Space; 2] {
    let mesh = Mesh::unit_cube(2, 4).unwrap();
    [Space::new(mesh, 3).unwrap(), Space::discontinuous(mesh, 2).unwrap()]
}

fn loads(space: &Space) -> [Vec<f64>; 2] {
    [1.0, 7.0].map(|k| load_vector(space, &move |p: glam::DVec3| (k * p.x).sin() * (1.0 - p.y)).unwrap())
}

fn cpu() -> Arc<Cpu> {
    Arc::new(Cpu::new(Some(2)).unwrap())
}

#[test]
fn a_right_hand_side_has_the_same_solution_whatever_was_solved_before() {
    let backend = cpu();
    for space in spaces() {
        for config in configs() {
            let mut solver = Solver::new(&backend, &Poisson::from(&space), &config).unwrap();
            for load in loads(&space) {
                let found = solver.solve(&load).unwrap();
                let alone = solve(&backend, &Poisson::from(&space), load, &config, &mut unobserved).unwrap();
                assert!(found.info.converged, "{config:?}");
                assert_eq!(found.info, alone.info, "{config:?}");
                assert_eq!(found.u.values(), alone.u.values(), "{config:?}");
            }
        }
    }
}

#[test]
fn a_solution_as_the_guess_needs_no_iteration() {
    let backend = cpu();
    for space in spaces() {
        for config in configs() {
            let [load, _] = loads(&space);
            let mut solver = Solver::new(&backend, &Poisson::from(&space), &config).unwrap();
            let first = solver.solve(&load).unwrap();
            let again = solver.solve_from(&load, Some(first.u.values()), &mut unobserved).unwrap();
            assert_eq!((again.info.outcome, again.info.iterations), (Outcome::Converged, 0), "{config:?}");
            assert_eq!(again.u.values(), first.u.values(), "{config:?}");
            let last = *first.info.residual_history.last().unwrap();
            // In `f32`, the residual of a solution that went to the host and back is the same.
            assert!((again.info.residual_history[0] / last - 1.0).abs() < 1e-6, "{config:?}: {:?}", again.info);
        }
    }
}

#[test]
fn an_observer_stops_at_the_iteration_that_it_wants() {
    let (backend, [space, _]) = (cpu(), spaces());
    let [load, _] = loads(&space);
    for config in configs() {
        let config = Config { stopping: Stopping { rtol: 1e-15, ..config.stopping }, ..config };
        let mut solver = Solver::new(&backend, &Poisson::from(&space), &config).unwrap();
        for last in [0, 1] {
            let mut seen = Vec::new();
            let mut observer = |iteration, residual| {
                seen.push(residual);
                if iteration == last { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            };
            let solution = solver.solve_from(&load, None, &mut observer).unwrap();
            assert_eq!((solution.info.outcome, solution.info.iterations), (Outcome::Stopped, last), "{config:?}");
            assert_eq!(seen, solution.info.residual_history, "{config:?}");
            // What was found so far is there: its residual is the one that was seen, which may be by recurrence. (In `f32`,
            // that of a second iteration is rounding already.)
            let from = solver.solve_from(&load, Some(solution.u.values()), &mut |_, _| ControlFlow::Break(())).unwrap();
            let (found, expected) = (from.info.residual_history[0], seen[last]);
            assert!((found / expected - 1.0).abs() < 1e-2, "{config:?}, {last}: {found:e} {expected:e}");
        }
    }
}

#[test]
fn vectors_of_another_length_are_refused() {
    let [space, _] = spaces();
    let [load, _] = loads(&space);
    let mut solver = Solver::new(&cpu(), &Poisson::from(&space), &Config::default()).unwrap();
    let message = |error: patchmg::Error| error.to_string();
    assert!(message(solver.solve(&load[1..]).unwrap_err()).contains("load vector"));
    assert!(message(solver.solve_from(&load, Some(&[0.0]), &mut unobserved).unwrap_err()).contains("guess"));
}
