//! The Stokes equations: residual histories and errors against an independent implementation.

#[path = "common/cases.rs"]
mod common;
#[path = "common/histories.rs"]
mod histories;

use common::{config, cpu};
use glam::DVec3;
use histories::{deviation, stokes_oracles};
use patchmg::Error;
use patchmg::backend::cpu::Cpu;
use patchmg::fe::Quadrature;
use patchmg::krylov::{Outcome, unobserved};
use patchmg::mesh::Mesh;
use patchmg::multigrid::SmootherConfig;
use patchmg::problem::{Constant, ExactSolution, Field};
use patchmg::solve::{Case, Config, Cycle, Method, Precision, Report, Solver};
use patchmg::system::stokes::{Flow, FlowErrors, FlowSample, LocalSolver, Problem, Vortex};
use patchmg::system::{ModelProblem, Stokes, System};
use std::f64::consts::PI;
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

#[test]
fn the_cavity_is_symmetric_and_nothing_flows_through_a_line() {
    let system = cube(2, 5, 4);
    let (report, flow) = solve_on(&system, Problem::Cavity, fgmres(Precision::F64, 1e-12));
    let FlowErrors { velocity, pressure_l2, largest_divergence } = report.errors.unwrap();
    assert!(report.info.outcome == Outcome::Converged && report.info.iterations <= 5, "{report:?}");
    assert!(velocity.is_none() && pressure_l2.is_none() && largest_divergence < 1e-10 * largest_slope(&flow));
    // As much flows to the right as to the left, up as down.
    for place in [0.1, 0.3, 0.5, 0.77] {
        let [across, down] = [flux(&flow, 0, [place, 0.0], 1, 32), flux(&flow, 1, [0.0, place], 0, 32)];
        assert!(across.abs() < 1e-13 && down.abs() < 1e-13, "{place}: {across} {down}");
    }
    // The mirror image of a Stokes flow, run backwards, is one.
    let largest_pressure = flow.pressure().values().iter().fold(0.0, |largest: f64, p| largest.max(p.abs()));
    for point in middles(system.mesh()).0 {
        let mirrored = DVec3::new(1.0 - point.x, point.y, 0.0);
        let [here, there] = [point, mirrored].map(|point| flow.velocity_at(point).unwrap());
        assert!((here.x - there.x).abs() < 1e-12 && (here.y + there.y).abs() < 1e-12, "{point}: {here}, {there}");
        let [p, q] = [point, mirrored].map(|point| flow.pressure().at(point).unwrap());
        assert!((p + q).abs() < 1e-12 * largest_pressure, "{point}: {p}, {q}");
    }
    // Boundary values hold weakly: well where the flow is smooth, least in the corners under the lid.
    for (along, error) in [(0.5, 1e-7), (0.3, 1e-7), (0.1, 1e-5), (0.9, 1e-5), (0.03, 0.05)] {
        let at = |x, y| flow.velocity_at(DVec3::new(x, y, 0.0)).unwrap();
        assert!((at(along, 1.0).x - 1.0).abs() < error && at(along, 1.0).y == 0.0, "{along}: {}", at(along, 1.0));
        assert!(at(along, 0.0).x.abs() < 1e-7 && at(along, 0.0).y == 0.0, "{along}: {}", at(along, 0.0));
        for wall in [at(0.0, 1.0 - along), at(1.0, 1.0 - along)] {
            assert!(wall.x == 0.0 && wall.y.abs() < error, "{along}: {wall}");
        }
    }
}

/// Meleshko's superposition, *Proceedings of the Royal Society A* 452, 1996: `ψ` as series of biharmonic functions, `cosh α y cos α x`,
/// `y sinh α y cos α x` and those with x and y exchanged, whose coefficients solve a linear system. Computed with 160 and 240 functions
/// of each kind, which differ by less than 3e-8.
#[test]
fn the_cavity_is_that_of_a_series() {
    let (_, flow) = solve_on(&cube(2, 5, 4), Problem::Cavity, fgmres(Precision::F64, 1e-10));
    let series = [
        ([0.5, 0.25], -0.122_595_56),
        ([0.5, 0.5], -0.205_191_72),
        // The least on the middle line.
        ([0.5, 0.535_924], -0.207_755_92),
        ([0.5, 0.75], -0.032_443_68),
        ([0.25, 0.75], -0.101_123_97),
    ];
    for ([x, y], expected) in series {
        let found = flow.velocity_at(DVec3::new(x, y, 0.0)).unwrap().x;
        assert!((found - expected).abs() < 2e-7, "{x} {y}: {found}, not {expected}");
    }
    // ψ, from the floor up.
    let found = flux(&flow, 0, [0.5, 0.0], 1, 24);
    assert!((found + 0.099_828_06).abs() < 2e-7, "{found}");
}

/// In 3D lid and flow have one plane of symmetry more.
#[test]
fn the_cavity_in_3d_is_symmetric_and_nothing_flows_through_a_plane() {
    let system = cube(3, 3, 2);
    let (report, flow) = solve_on(&system, Problem::Cavity, fgmres(Precision::F64, 1e-12));
    assert!(report.info.outcome == Outcome::Converged && report.info.iterations <= 7, "{report:?}");
    assert!(report.errors.unwrap().largest_divergence < 1e-10 * largest_slope(&flow));
    let largest_pressure = flow.pressure().values().iter().fold(0.0, |largest: f64, p| largest.max(p.abs()));
    for point in middles(system.mesh()).0 {
        let at = |point| (flow.velocity_at(point).unwrap(), flow.pressure().at(point).unwrap());
        let (u, p) = at(point);
        for (place, mirrored, pressure) in [
            (DVec3::new(1.0 - point.x, point.y, point.z), DVec3::new(u.x, -u.y, -u.z), -p),
            (DVec3::new(point.x, 1.0 - point.y, point.z), DVec3::new(u.x, -u.y, u.z), p),
        ] {
            let (found, q) = at(place);
            assert!((found - mirrored).length() < 1e-11, "{place}: {found}, not {mirrored}");
            assert!((q - pressure).abs() < 1e-11 * largest_pressure, "{place}: {q}, not {pressure}");
        }
    }
    // Under the lid the flow goes with it, below against it; as much in one direction as in the other.
    let rule = Quadrature::gauss(3).unwrap();
    let points = || (0..8).flat_map(|cell| rule.points.iter().map(move |x| (f64::from(cell) + x) / 8.0));
    let weights = || (0..8).flat_map(|_| rule.weights.iter().map(|weight| weight / 8.0));
    let mut flux = 0.0;
    for (y, of_y) in points().zip(weights()) {
        for (z, of_z) in points().zip(weights()) {
            flux += of_y * of_z * flow.velocity_at(DVec3::new(0.4, y, z)).unwrap().x;
        }
    }
    assert!(flux.abs() < 1e-13, "{flux}");
    let [top, middle] = [1.0, 0.5].map(|z| flow.velocity_at(DVec3::new(0.5, 0.5, z)).unwrap().x);
    assert!((top - 1.0).abs() < 1e-2 && middle < -0.1, "{top} {middle}");
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

/// Velocities that are given all over the boundary, a force and a pressure; not one of the library's problems.
#[derive(Clone)]
struct Given {
    velocity: [Smooth; 3],
    pressure: Smooth,
    force: fn(&Stokes, DVec3) -> DVec3,
}

/// A function and its gradient.
#[derive(Clone, Copy)]
struct Smooth(fn(DVec3) -> f64, fn(DVec3) -> DVec3);

impl Field for Smooth {
    fn value(&self, point: DVec3) -> f64 {
        (self.0)(point)
    }
}

impl ExactSolution for Smooth {
    fn gradient(&self, point: DVec3) -> DVec3 {
        (self.1)(point)
    }
}

impl Given {
    fn velocity_at(&self, point: DVec3) -> DVec3 {
        DVec3::from_array(self.velocity.map(|component| component.value(point)))
    }
}

impl ModelProblem for Given {
    type System = Stokes;
    type Errors = FlowErrors;

    fn check(&self, _system: &Stokes) -> patchmg::Result<()> {
        Ok(())
    }

    fn load(&self, system: &Stokes) -> patchmg::Result<Vec<f64>> {
        let mut load = vec![0.0; system.layout().storage()];
        let rest = system.solution(load.clone())?;
        system.add_cell_integrals(&rest, &|at: &FlowSample| (self.force)(system, at.point), &mut load)?;
        system.add_boundary_load(&|point| self.velocity_at(point), &mut load)?;
        Ok(load)
    }

    fn with_boundary_values(&self, flow: Flow) -> patchmg::Result<Flow> {
        flow.with_boundary_velocity(&|point| self.velocity_at(point))
    }

    fn errors(&self, flow: &Flow) -> patchmg::Result<Option<FlowErrors>> {
        let components = self.velocity.each_ref().map(|component| component as &dyn ExactSolution);
        Ok(Some(FlowErrors {
            velocity: Some(flow.velocity_error_to(&components)?),
            pressure_l2: Some(flow.pressure().error_to(&self.pressure)?.l2),
            largest_divergence: flow.largest_divergence()?,
        }))
    }
}

fn solve_given(system: &Stokes, given: Given, rtol: f64) -> (FlowErrors, Flow) {
    let case = Case { system: system.clone(), problem: given, config: fgmres(Precision::F64, rtol) };
    let (report, flow) = case.solve(&cpu(), &mut unobserved).unwrap();
    assert!(report.info.outcome == Outcome::Converged && report.info.iterations <= 20, "{:?}", report.info);
    let errors = report.errors.unwrap();
    assert!(errors.largest_divergence < 1e-10 * largest_slope(&flow), "{errors:?}");
    (errors, flow)
}

const ZERO: Smooth = Smooth(|_| 0.0, |_| DVec3::ZERO);

/// Between walls at y = 0 and 1, from left to right: `u = 4 y (1 - y)`, `p = 4 ν (l - 2 x)`, where `l = 2` is the channel's length and
/// `ν = 1/4`. Polynomials of the space for `k >= 2`.
#[test]
fn poiseuilles_flow_is_exact() {
    let along = Smooth(|at| 4.0 * at.y * (1.0 - at.y), |at| DVec3::new(0.0, 4.0 - 8.0 * at.y, 0.0));
    let pressure = Smooth(|at| 2.0 - 2.0 * at.x, |_| DVec3::new(-2.0, 0.0, 0.0));
    for (cells, lengths, degree, mass) in [
        (&[2, 1][..], &[2.0, 1.0][..], 2, 0.0),
        (&[2, 1], &[2.0, 1.0], 3, 30.0),
        (&[2, 1, 1], &[2.0, 1.0, 1.5], 2, 0.0),
    ] {
        let system = system(cells, lengths, 2, degree).with_viscosity(0.25).unwrap().with_mass(mass).unwrap();
        let force = |system: &Stokes, at: DVec3| DVec3::X * (system.mass() * 4.0 * at.y * (1.0 - at.y));
        let (errors, flow) = solve_given(&system, Given { velocity: [along, ZERO, ZERO], pressure, force }, 1e-13);
        let velocity = errors.velocity.unwrap();
        assert!(velocity.l2 < 1e-12 && velocity.h1 < 1e-10 && errors.pressure_l2.unwrap() < 1e-10, "{errors:?}");
        for x in [0.0, 0.7, 2.0] {
            let found = flow.velocity_at(DVec3::new(x, 0.5, 0.6)).unwrap();
            assert!((found - DVec3::X).length() < 1e-12, "{x}: {found}");
        }
        // What flows in flows out, through any line.
        if cells.len() == 2 {
            for x in [0.0, 0.3, 2.0] {
                let found = flux(&flow, 0, [x, 0.0], 1, 4);
                assert!((found - 2.0 / 3.0).abs() < 1e-12, "{x}: {found}");
            }
        }
    }
}

/// `u = (e^x sin 2y, e^x cos 2y / 2)` in 2D and `(e^x sin 2y + z², e^x cos 2y / 2, sin x y)` in 3D flow through all sides; the pressure
/// is `cos(x + 2y)` without its mean in 2D, and `x y z - 1/8` in 3D.
#[test]
fn a_flow_through_the_boundary_has_the_orders_of_the_elements() {
    fn wave(at: DVec3) -> [f64; 2] {
        [at.x.exp() * (2.0 * at.y).sin(), at.x.exp() * (2.0 * at.y).cos()]
    }
    let second = Smooth(|at| 0.5 * wave(at)[1], |at| DVec3::new(0.5 * wave(at)[1], -wave(at)[0], 0.0));
    // The integral over the square: the second difference of -cos(x + 2y) / 2.
    const MEAN: f64 = 0.057073982960721414;
    let plane = Given {
        velocity: [Smooth(|at| wave(at)[0], |at| DVec3::new(wave(at)[0], 2.0 * wave(at)[1], 0.0)), second, ZERO],
        pressure: Smooth(
            |at| (at.x + 2.0 * at.y).cos() - MEAN,
            |at| -(at.x + 2.0 * at.y).sin() * DVec3::new(1.0, 2.0, 0.0),
        ),
        force: |system, at| {
            // Δ of both is -3 times what they are.
            let factor = system.mass() + 3.0 * system.viscosity();
            let [sine, cosine] = wave(at);
            factor * DVec3::new(sine, 0.5 * cosine, 0.0) - (at.x + 2.0 * at.y).sin() * DVec3::new(1.0, 2.0, 0.0)
        },
    };
    let space = Given {
        velocity: [
            Smooth(|at| wave(at)[0] + at.z * at.z, |at| DVec3::new(wave(at)[0], 2.0 * wave(at)[1], 2.0 * at.z)),
            second,
            Smooth(|at| (at.x * at.y).sin(), |at| (at.x * at.y).cos() * DVec3::new(at.y, at.x, 0.0)),
        ],
        pressure: Smooth(|at| at.x * at.y * at.z - 0.125, |at| DVec3::new(at.y * at.z, at.x * at.z, at.x * at.y)),
        force: |system, at| {
            let (s, nu, [sine, cosine]) = (system.mass(), system.viscosity(), wave(at));
            let product = (at.x * at.y).sin();
            let velocity = DVec3::new(sine + at.z * at.z, 0.5 * cosine, product);
            let laplacian = DVec3::new(2.0 - 3.0 * sine, -1.5 * cosine, -(at.x * at.x + at.y * at.y) * product);
            s * velocity - nu * laplacian + DVec3::new(at.y * at.z, at.x * at.z, at.x * at.y)
        },
    };
    for (given, dim, degree, refine, mass) in [
        (&plane, 2, 1, 4, 0.0),
        (&plane, 2, 2, 3, 20.0),
        (&plane, 2, 3, 2, 0.0),
        (&space, 3, 1, 3, 5.0),
        (&space, 3, 2, 2, 0.0),
    ] {
        let errors = [refine, refine + 1].map(|refine| {
            let system = cube(dim, refine, degree).with_mass(mass).unwrap().with_viscosity(0.5).unwrap();
            let (errors, flow) = solve_given(&system, given.clone(), 1e-11);
            // The normal component, on the boundary and as near to it as inside.
            let point = DVec3::new(1.0, 0.37, if dim == 3 { 0.61 } else { 0.0 });
            let found = flow.velocity_at(point).unwrap().x;
            assert!((found - given.velocity_at(point).x).abs() < 0.05, "{found}");
            let velocity = errors.velocity.unwrap();
            [velocity.l2, velocity.h1, errors.pressure_l2.unwrap()]
        });
        let [velocity, slopes, pressure] = [0, 1, 2].map(|i| (errors[0][i] / errors[1][i]).log2());
        let case = format!("{dim}D, k = {degree}, refine {refine}: {velocity} {slopes} {pressure}, {errors:?}");
        eprintln!("{case}");
        let k = degree as f64;
        assert!((velocity - (k + 1.0)).abs() < 0.2 && (slopes - k).abs() < 0.1, "{case}");
        // Half an order less than without flow through the boundary (docs/stokes.md).
        assert!(pressure > k + 0.3, "{case}");
    }
}

/// The space has constants, and their normal component on each face: Taylor-Green vortices in a uniform flow have the errors of those
/// in a closed box.
#[test]
fn a_uniform_flow_through_the_boundary_changes_no_error() {
    const UNIFORM: DVec3 = DVec3::new(1.0, -2.0, 0.0);
    fn vortices(at: DVec3) -> [DVec3; 3] {
        let [(sin_x, cos_x), (sin_y, cos_y)] = [at.x, at.y].map(|x| (PI * x).sin_cos());
        let product = PI * cos_x * cos_y;
        [
            DVec3::new(sin_x * cos_y, -cos_x * sin_y, 0.0),
            DVec3::new(product, -PI * sin_x * sin_y, 0.0),
            DVec3::new(PI * sin_x * sin_y, -product, 0.0),
        ]
    }
    let given = Given {
        velocity: [
            Smooth(|at| UNIFORM.x + vortices(at)[0].x, |at| vortices(at)[1]),
            Smooth(|at| UNIFORM.y + vortices(at)[0].y, |at| vortices(at)[2]),
            ZERO,
        ],
        pressure: Smooth(|at| (2.0 * PI * at.x).cos() * (2.0 * PI * at.y).cos(), |_| DVec3::ZERO),
        force: |system, at| {
            let [(sin_x, cos_x), (sin_y, cos_y)] = [at.x, at.y].map(|x| (2.0 * PI * x).sin_cos());
            let diffusion = 2.0 * PI * PI * system.viscosity() * vortices(at)[0];
            system.mass() * (UNIFORM + vortices(at)[0]) + diffusion
                - 2.0 * PI * DVec3::new(sin_x * cos_y, cos_x * sin_y, 0.0)
        },
    };
    for (degree, refine, mass) in [(1, 4, 0.0), (2, 4, 10.0), (3, 3, 0.0)] {
        let system = cube(2, refine, degree).with_mass(mass).unwrap().with_viscosity(0.5).unwrap();
        let (open, flow) = solve_given(&system, given.clone(), 1e-12);
        let closed = solve_on(&system, Problem::TaylorGreen, fgmres(Precision::F64, 1e-12)).0.errors.unwrap();
        let [open, closed] = [open, closed].map(|FlowErrors { velocity, pressure_l2, .. }| {
            let velocity = velocity.unwrap();
            [velocity.l2, velocity.h1, pressure_l2.unwrap()]
        });
        for (open, closed) in open.iter().zip(closed) {
            assert!((open / closed - 1.0).abs() < 2e-3, "k = {degree}: {open}, {closed} in a closed box");
        }
        let corner = flow.velocity_at(DVec3::ZERO).unwrap();
        assert!((corner - UNIFORM).length() < 1e-12, "{corner}");
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
