//! The Stokes equations: residual histories and errors against an independent implementation.

#[path = "common/cases.rs"]
mod common;
#[path = "common/histories.rs"]
mod histories;
mod stokes {
    mod boundary;
    mod cavity;
}

use common::{config, cpu};
use glam::DVec3;
use histories::{deviation, stokes_oracles};
use patchmg::Error;
use patchmg::backend::cpu::Cpu;
use patchmg::fe::Quadrature;
use patchmg::krylov::{Outcome, unobserved};
use patchmg::mesh::Mesh;
use patchmg::multigrid::SmootherConfig;
use patchmg::problem::Constant;
use patchmg::solve::{Case, Config, Cycle, Method, Precision, Report, Solver};
use patchmg::system::stokes::{Flow, FlowErrors, LocalSolver, Problem, Vortex};
use patchmg::system::{Stokes, System};
use std::sync::Arc;

#[test]
fn histories_and_errors_are_those_of_an_independent_implementation() {
    let oracles = stokes_oracles();
    assert!(oracles.len() > 15);
    for oracle in oracles {
        let report = oracle.case().unwrap().solve(&cpu(), &mut unobserved).unwrap().0;
        let found = &report.info.residual_history;
        assert!(found.len() >= oracle.history.len(), "{oracle:?}: {report:?}");
        assert!(deviation(found, &oracle.history) < 0.01, "{oracle:?}: {report:?}");
        let FlowErrors { velocity, pressure_l2, largest_divergence } = report.errors.unwrap();
        let near = |found: f64, expected: f64| (found / expected - 1.0).abs() < 0.01;
        assert!(near(velocity.unwrap().l2, oracle.l2_u) || oracle.l2_u < 1e-12, "{oracle:?}: {report:?}");
        assert!(near(pressure_l2.unwrap(), oracle.l2_p), "{oracle:?}: {report:?}");
        assert!(largest_divergence < 1e-10, "{oracle:?}: {report:?}");
    }
}

fn system(cells: &[usize], lengths: &[f64], refine: usize, degree: usize) -> Stokes {
    Stokes::new(Mesh::of_box(cells, lengths, refine).unwrap(), degree).unwrap()
}

/// On the unit square or cube.
fn cube(dim: usize, refine: usize, degree: usize) -> Stokes {
    system(&[1; 3][..dim], &[1.0; 3][..dim], refine, degree)
}

fn vortex() -> Problem {
    Problem::Vortex(Vortex::default())
}

fn solve_on(system: &Stokes, problem: Problem, config: Config) -> (Report<FlowErrors>, Flow) {
    Case { system: system.clone(), problem, config }.solve(&cpu(), &mut unobserved).unwrap()
}

fn fgmres(precision: Precision, rtol: f64) -> Config {
    config(Method::Fgmres, precision, rtol)
}

/// Middles of cells, and how far from them the cells reach.
fn middles(mesh: &Mesh) -> (impl Iterator<Item = DVec3>, DVec3) {
    let (dim, sizes) = (mesh.dim(), DVec3::from_array(mesh.cell_sizes()));
    let middle = move |cell: [usize; 3]| {
        let mut point = DVec3::ZERO;
        (0..dim).for_each(|d| point[d] = (cell[d] as f64 + 0.5) * sizes[d]);
        point
    };
    (mesh.cell_indices().map(middle), 0.5 * sizes)
}

/// The largest difference quotient of the velocity over half a cell: no more than the largest derivative.
fn largest_slope(flow: &Flow) -> f64 {
    let mesh = *flow.pressure().space().mesh();
    let (points, half) = middles(&mesh);
    let quotients = points.flat_map(|point| {
        (0..mesh.dim()).map(move |d| {
            let mut step = DVec3::ZERO;
            step[d] = 0.5 * half[d];
            let [upper, lower] = [point + step, point - step].map(|point| flow.velocity_at(point).unwrap());
            ((upper - lower) / half[d]).abs().max_element()
        })
    });
    quotients.fold(0.0, f64::max)
}

/// `∫ u_c` in 2D over a line in direction `d`, from the end of the domain to the end of so many cells: Gauss's rule in each.
fn flux(flow: &Flow, component: usize, at: [f64; 2], d: usize, cells: usize) -> f64 {
    let axis = &flow.velocity()[component].space().axes()[d];
    let rule = Quadrature::gauss(axis.degree() + 1).unwrap();
    let of_cell = |cell: usize| -> f64 {
        let values = rule.points.iter().zip(&rule.weights).map(|(x, weight)| {
            let mut point = DVec3::new(at[0], at[1], 0.0);
            point[d] = (cell as f64 + x) * axis.cell_size();
            weight * axis.cell_size() * flow.velocity_at(point).unwrap()[component]
        });
        values.sum()
    };
    (0..cells).map(of_cell).sum()
}

/// Velocity in L2 and in the seminorm of H1, pressure in L2.
#[test]
fn errors_fall_by_the_orders_of_the_elements() {
    for (dim, degree, refine) in [(2, 1, 5), (2, 2, 4), (2, 3, 4), (3, 1, 3), (3, 2, 2)] {
        let errors = [refine, refine + 1].map(|refine| {
            let (report, flow) = solve_on(&cube(dim, refine, degree), vortex(), fgmres(Precision::F64, 1e-11));
            assert!((report.info.outcome == Outcome::Converged), "{report:?}");
            let errors = report.errors.unwrap();
            assert!(errors.largest_divergence < 1e-10 * largest_slope(&flow), "{report:?}");
            [errors.velocity.unwrap().l2, errors.velocity.unwrap().h1, errors.pressure_l2.unwrap()]
        });
        let [velocity, slopes, pressure] = [0, 1, 2].map(|i| (errors[0][i] / errors[1][i]).log2());
        let case = format!("{dim}D, k = {degree}, refine {refine}: {velocity} {slopes} {pressure}");
        let k = degree as f64;
        assert!((velocity - (k + 1.0)).abs() < 0.12, "{case}");
        assert!((slopes - k).abs() < 0.05, "{case}");
        assert!((pressure - (k + 1.0)).abs() < 0.05, "{case}");
    }
}

/// Vortices along the boundary in boxes, at rest and as in a step in time: only boundary values that are right have these orders.
#[test]
fn taylor_green_vortices_have_the_orders_of_the_elements() {
    for (cells, lengths, degree, refine, mass, viscosity) in [
        (&[1, 1][..], &[1.0, 1.0][..], 1, 4, 0.0, 1.0),
        (&[1, 1], &[1.0, 1.0], 3, 3, 0.0, 1.0),
        (&[2, 1], &[2.0, 1.25], 2, 3, 50.0, 0.25),
        (&[1, 1, 1], &[1.0, 1.0, 1.0], 1, 3, 0.0, 1.0),
        (&[1, 1, 1], &[1.0, 1.25, 0.8], 2, 2, 10.0, 0.5),
    ] {
        let errors = [refine, refine + 1].map(|refine| {
            let system = system(cells, lengths, refine, degree).with_mass(mass).unwrap();
            let system = system.with_viscosity(viscosity).unwrap();
            let (report, flow) = solve_on(&system, Problem::TaylorGreen, fgmres(Precision::F64, 1e-10));
            assert!(report.info.outcome == Outcome::Converged, "{report:?}");
            let FlowErrors { velocity, pressure_l2, largest_divergence } = report.errors.unwrap();
            assert!(largest_divergence < 1e-10 * largest_slope(&flow), "{report:?}");
            // Its size: a quarter of the square, an eighth of the cube and more of its three terms.
            let energy = flow.kinetic_energy().unwrap();
            assert!(cells.len() == 3 || lengths[0] != 1.0 || (energy - 0.25).abs() < 0.01, "{energy}");
            [velocity.unwrap().l2, velocity.unwrap().h1, pressure_l2.unwrap()]
        });
        let [velocity, slopes, pressure] = [0, 1, 2].map(|i| (errors[0][i] / errors[1][i]).log2());
        let case = format!("{cells:?}, k = {degree}, refine {refine}: {velocity} {slopes} {pressure}, {errors:?}");
        let k = degree as f64;
        // On coarse meshes the pressure's error falls faster.
        assert!((velocity - (k + 1.0)).abs() < 0.2 && (slopes - k).abs() < 0.1, "{case}");
        assert!(pressure > k + 0.9 && pressure < k + 1.4, "{case}");
    }
}

/// With a cycle in `f32` the divergence is as small: corrections of patches have none, up to rounding that `f64` corrects.
#[test]
fn a_cycle_in_f32_takes_as_many_iterations() {
    for (system, rtol) in [
        (cube(2, 5, 2), 1e-9),
        (cube(2, 4, 4), 1e-9),
        (cube(3, 3, 2), 1e-9),
        (system(&[2, 1], &[2.0, 1.0], 4, 3), 1e-9),
    ] {
        for problem in [vortex(), Problem::Cavity] {
            let [double, mixed] = [Precision::F64, Precision::Mixed].map(|precision| {
                let (report, flow) = solve_on(&system, problem, fgmres(precision, rtol));
                let divergence = report.errors.unwrap().largest_divergence / largest_slope(&flow);
                assert!((report.info.outcome == Outcome::Converged) && divergence < 1e-10, "{divergence:e} {report:?}");
                report.info.iterations
            });
            assert!(mixed <= double + 1, "{double} iterations in f64, {mixed} mixed");
        }
    }
}

/// Cells of any shape, patches at both ends of a direction on coarser levels, one direction coarsened at a time; a viscosity, and the
/// mass of time steps that are long or short. The bounds are one iteration more than was measured.
#[test]
fn boxes_and_coefficients_take_a_few_iterations() {
    for (base, most) in [
        (cube(2, 4, 2), 8),
        (system(&[2, 1], &[2.0, 1.0], 4, 2), 8),
        (system(&[1, 1], &[3.0, 1.0], 4, 2), 8),
        (system(&[1, 1], &[3.0, 1.0], 4, 3), 6),
        (system(&[3, 2], &[1.5, 1.0], 3, 2), 8),
        (system(&[1, 2, 1], &[1.0, 2.5, 0.8], 2, 1), 8),
        (system(&[1, 2, 1], &[1.0, 2.5, 0.8], 2, 2), 6),
    ] {
        let solve_with = |mass: f64, viscosity: f64| {
            let system = base.clone().with_mass(mass).unwrap().with_viscosity(viscosity).unwrap();
            assert_eq!((system.mass(), system.viscosity(), system.degree()), (mass, viscosity, base.degree()));
            let (report, flow) = solve_on(&system, vortex(), fgmres(Precision::F64, 1e-9));
            let case = format!("s {mass}, nu {viscosity}, {:?}: {report:?}", base.mesh());
            assert!(report.info.outcome == Outcome::Converged && report.info.iterations <= most, "{case}");
            let errors = report.errors.unwrap();
            assert!(errors.largest_divergence < 1e-10 * largest_slope(&flow), "{case}");
            [errors.velocity.unwrap().l2, errors.pressure_l2.unwrap()]
        };
        let [velocity, pressure] = solve_with(0.0, 1.0);
        for (mass, viscosity) in [(1.0, 1.0), (1000.0, 1.0), (0.0, 1e-3), (0.0, 50.0), (1000.0, 1e-3)] {
            let [u, p] = solve_with(mass, viscosity);
            // Without mass the velocity is the same whatever the viscosity: it does not see the pressure.
            assert!(mass != 0.0 || (u / velocity - 1.0).abs() < 5e-3, "{mass} {viscosity}: {u}, {velocity} with 1");
            assert!(u < 1.005 * velocity, "{mass} {viscosity}: {u}, {velocity} without mass");
            assert!((p / pressure - 1.0).abs() < 0.02, "{mass} {viscosity}: {p}, {pressure} with viscosity 1");
        }
    }
}

/// Iterations at most, of full multigrid after its first pass.
#[test]
fn every_method_that_applies_solves() {
    for system in [cube(2, 4, 3), cube(3, 3, 2)] {
        for (method, most) in [(Method::Fmg, 3), (Method::VCycle, 5), (Method::Gmres, 4), (Method::Fgmres, 4)] {
            let solve = |precision, rtol| {
                let (report, flow) = solve_on(&system, vortex(), config(method, precision, rtol));
                let case = format!("{method} {precision}: {report:?}");
                assert!(report.info.outcome == Outcome::Converged && report.info.iterations <= most, "{case}");
                let errors = report.errors.unwrap();
                let divergence = errors.largest_divergence / largest_slope(&flow);
                (report.info.iterations, errors.velocity.unwrap().l2, errors.pressure_l2.unwrap(), divergence)
            };
            let (iterations, velocity, pressure, divergence) = solve(Precision::F64, 1e-9);
            assert!(divergence < 1e-10, "{method}: {divergence:e}");
            let (mixed, u, p, divergence) = solve(Precision::Mixed, 1e-9);
            assert!(mixed <= iterations + 1 && divergence < 1e-10, "{method}: {mixed}, {iterations}; {divergence:e}");
            assert!((u / velocity - 1.0).abs() < 1e-4 && (p / pressure - 1.0).abs() < 1e-4, "{method}: {u} {p}");
            // In `f32` the divergence is bounded by the residual alone.
            let (_, u, p, _) = solve(Precision::F32, 1e-5);
            assert!(u < 4.0 * velocity && p < 1.1 * pressure, "{method}: {u} {p}, {velocity} {pressure} in f64");
        }
    }
}

/// Counts of docs/stokes.md: with W-cycles they do not grow with the level, not even for the lowest degree.
#[test]
fn iterations_with_w_cycles_do_not_grow() {
    let count = |dim, refine, degree, cycle| {
        let config = Config { cycle, restart: 30, ..fgmres(Precision::F64, 1e-8) };
        solve_on(&cube(dim, refine, degree), vortex(), config).0.info.fractional_iterations.unwrap()
    };
    for (dim, degree, refine, v, w) in [
        (2, 1, 3, 6.6, 6.0),
        (2, 1, 4, 8.8, 6.9),
        (2, 1, 5, 11.0, 6.7),
        (2, 1, 6, 13.1, 6.5),
        (2, 2, 5, 5.4, 3.6),
        (3, 2, 3, 3.3, 3.1),
    ] {
        let found = [Cycle::V, Cycle::W].map(|cycle| count(dim, refine, degree, cycle));
        assert!(
            (found[0] - v).abs() < 0.06 && (found[1] - w).abs() < 0.06,
            "{dim}D, k = {degree}, L = {refine}: {found:?}"
        );
    }
}

/// Pressure rows of a right-hand side that no flow has: what they add up to is taken from them, and nothing else.
#[test]
fn pressure_rows_are_projected_once() {
    let system = system(&[2, 1], &[2.0, 1.0], 2, 2);
    let (layout, space) = (system.layout(), system.pressure_space());
    let rows = layout.blocks()[2].clone();
    // ∫ q for each q, so that ∇·u = -1 is asked for, which nothing that stays inside can have.
    let ones = patchmg::problem::load_vector(space, &Constant(1.0)).unwrap();
    let mut load = vec![0.0; layout.storage()];
    load[rows.clone()].copy_from_slice(&ones);
    let solve = |load: &[f64]| {
        let mut solver = Solver::new(&cpu(), &system, &fgmres(Precision::F64, 1e-12)).unwrap();
        solver.solve(load).unwrap()
    };
    let solution = solve(&load);
    assert!(solution.u.kinetic_energy().unwrap() < 1e-28, "{:?}", solution.info);
    // With x besides: the divergence is what was asked for, less its mean.
    let slope = patchmg::problem::load_vector(space, &|at: DVec3| at.x).unwrap();
    load[rows].iter_mut().zip(slope).for_each(|(entry, slope)| *entry += slope);
    for given in [load.clone(), system.project_load(load.as_slice().into()).unwrap().into_owned()] {
        let solution = solve(&given);
        assert!(solution.info.outcome == Outcome::Converged && solution.info.iterations < 10, "{:?}", solution.info);
        for (node, found) in space.unknowns().zip(solution.u.divergence()) {
            let expected = 1.0 - space.point(node).x;
            assert!((found - expected).abs() < 1e-10, "{node:?}: {found}, not {expected}");
        }
        let by_case = patchmg::solve::solve(&cpu(), &system, given, &fgmres(Precision::F64, 1e-12), &mut unobserved);
        assert_eq!(by_case.unwrap().info.residual_history, solution.info.residual_history);
    }
}

#[test]
fn results_do_not_depend_on_threads() {
    for system in [cube(2, 5, 3), system(&[2, 1, 1], &[2.0, 1.0, 1.5], 2, 2)] {
        for (method, precision) in [(Method::Fgmres, Precision::Mixed), (Method::Fmg, Precision::F64)] {
            let run = |threads: usize| {
                let config = config(method, precision, 1e-8);
                let case = Case { system: system.clone(), problem: vortex(), config };
                let (report, flow) = case.solve(&Arc::new(Cpu::new(Some(threads)).unwrap()), &mut unobserved).unwrap();
                let values: Vec<u64> = flow
                    .velocity()
                    .iter()
                    .chain([flow.pressure()])
                    .flat_map(|function| function.values().iter().map(|value| value.to_bits()).collect::<Vec<_>>())
                    .collect();
                (report.info, values)
            };
            let one = run(1);
            for threads in [1, 2, 3] {
                assert!(one == run(threads), "{method} {precision} with {threads} threads");
            }
        }
    }
}

#[test]
fn what_there_is_not_is_refused() {
    let message = |result: patchmg::Result<Stokes>| result.unwrap_err().to_string();
    let degree = |dim, degree| message(Stokes::new(Mesh::unit_cube(dim, 2).unwrap(), degree));
    for bad in [0, 9, usize::MAX] {
        assert_eq!(degree(2, bad), format!("degree is {bad}, but must be 1 to 8 in 2D with Raviart-Thomas elements"));
    }
    for bad in [0, 6] {
        assert_eq!(degree(3, bad), format!("degree is {bad}, but must be 1 to 5 in 3D with Raviart-Thomas elements"));
    }
    for nu in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(message(cube(2, 2, 2).with_viscosity(nu)), format!("nu is {nu}, but must be above 0"));
    }
    for mass in [-1.0, -1e-300, f64::NAN, f64::INFINITY] {
        assert_eq!(message(cube(2, 2, 2).with_mass(mass)), format!("mass is {mass}, but must be at least 0"));
    }
    let solve = |problem, config| {
        let case = Case { system: cube(2, 2, 2), problem, config };
        case.solve(&cpu(), &mut unobserved).unwrap_err().to_string()
    };
    assert_eq!(
        solve(vortex(), config(Method::Cg, Precision::F64, 1e-8)),
        "solver is cg, but must be another one: conjugate gradients need a positive definite matrix"
    );
    for (name, smoother) in [
        ("additive-patch", SmootherConfig::additive_patch(2)),
        ("point-gs", SmootherConfig::PointGaussSeidel),
        ("jacobi", SmootherConfig::jacobi()),
        ("chebyshev", SmootherConfig::chebyshev()),
    ] {
        let found = solve(Problem::Cavity, Config { smoother, ..Config::default() });
        assert_eq!(found, format!("smoother is {name}, but must be patch: with a pressure the diagonal has zeros"));
    }
    for sigma in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let found = solve(Problem::Vortex(Vortex { mu: 0.5, sigma }), Config::default());
        assert_eq!(found, format!("sigma is {sigma}, but must be above 0"));
    }
    for mu in [f64::NAN, f64::INFINITY] {
        let found = solve(Problem::Vortex(Vortex { mu, sigma: 1.0 }), Config::default());
        assert_eq!(found, format!("mu is {mu}, but must be a finite number"));
    }
    let system = cube(2, 2, 2);
    let load = |value| vec![value; system.layout().storage()];
    for method in [Method::Fmg, Method::VCycle, Method::Gmres, Method::Fgmres] {
        let config = Config { method, ..Config::default() };
        let error =
            patchmg::solve::solve(&cpu(), &system, load(f64::NAN), &config, &mut unobserved).map(|_| ()).unwrap_err();
        assert!(matches!(error, Error::NotFinite { .. }), "{method}: {error}");
        let error =
            patchmg::solve::solve(&cpu(), &system, vec![1.0; 3], &config, &mut unobserved).map(|_| ()).unwrap_err();
        assert!(matches!(error, Error::SizeMismatch { found: 3, .. }), "{method}: {error}");
    }
}

/// Inverses do the same in another order, and 15 steps of conjugate gradients nearly the same.
#[test]
fn local_solvers_take_the_iterations_of_the_exact_one() {
    for (system, problem) in [
        (cube(2, 4, 1), vortex()),
        (cube(2, 4, 3), vortex()),
        (cube(2, 3, 6), vortex()),
        (cube(2, 4, 2), Problem::Cavity),
        (cube(3, 3, 1), vortex()),
        (cube(3, 2, 2), vortex()),
        (system(&[2, 1], &[2.5, 1.0], 3, 2).with_mass(20.0).unwrap(), vortex()),
    ] {
        let solve = |local: LocalSolver, precision| {
            let system = system.clone().with_local_solver(local).unwrap();
            assert_eq!(system.local_solver(), local);
            let (report, flow) = solve_on(&system, problem, fgmres(precision, 1e-8));
            let divergence = report.errors.unwrap().largest_divergence / largest_slope(&flow);
            assert!(report.info.outcome == Outcome::Converged, "{local} {precision}: {report:?}");
            (report.info.residual_history, report.info.fractional_iterations.unwrap(), divergence)
        };
        let cg = LocalSolver::SchurCg { steps: LocalSolver::STEPS };
        let (exact, count, _) = solve(LocalSolver::Exact, Precision::F64);
        let (inverse, _, divergence) = solve(LocalSolver::Inverse, Precision::F64);
        assert!(divergence < 1e-10, "{divergence:e}");
        for (exact, inverse) in exact.iter().zip(&inverse).filter(|(exact, _)| **exact > 1e-9) {
            assert!((exact / inverse - 1.0).abs() < 1e-4, "{exact:e} {inverse:e}");
        }
        for precision in [Precision::F64, Precision::Mixed] {
            let (_, found, _) = solve(cg, precision);
            assert!((found - count).abs() < 0.01, "{precision}: {count} exact, {found} with conjugate gradients");
        }
        if system.degree() >= 3 {
            let (_, found, _) = solve(LocalSolver::SchurCg { steps: 1 }, Precision::F64);
            assert!(found > count + 1.0, "{count} exact, {found} with one step");
        }
    }
}
