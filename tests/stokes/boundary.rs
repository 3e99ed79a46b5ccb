//! Velocities that are given on the boundary.

use crate::{cpu, cube, fgmres, flux, largest_slope, solve_on, system};
use glam::DVec3;
use patchmg::krylov::{Outcome, unobserved};
use patchmg::problem::{ExactSolution, Field};
use patchmg::solve::{Case, Precision};
use patchmg::system::stokes::{Flow, FlowErrors, FlowSample, Problem};
use patchmg::system::{ModelProblem, Stokes, System};
use std::f64::consts::PI;

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
