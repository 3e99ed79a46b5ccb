//! The Stokes equations with data of one's own: `-ν Δu + ∇p = f`, `∇·u = 0` on the unit square, `u` given on its boundary.
//!
//! Run it with `cargo run --release --example stokes`.
//!
//! The solution is known: the vortex `u = (sin(πx) cos(πy), -cos(πx) sin(πy))` and the pressure `p = x y - 1/4`.

use glam::DVec3;
use patchmg::backend::cpu::Cpu;
use patchmg::mesh::Mesh;
use patchmg::output::table::order;
use patchmg::problem::{ExactSolution, Field, load_vector};
use patchmg::solve::{Config, Method, Solver};
use patchmg::system::{Stokes, System};
use std::f64::consts::PI;
use std::sync::Arc;

/// `k` of the elements `RT_k x Q_k`.
const DEGREE: usize = 2;
const VISCOSITY: f64 = 0.1;

fn velocity(point: DVec3) -> DVec3 {
    let ((sx, cx), (sy, cy)) = ((PI * point.x).sin_cos(), (PI * point.y).sin_cos());
    DVec3::new(sx * cy, -cx * sy, 0.0)
}

fn force(point: DVec3) -> DVec3 {
    2.0 * PI * PI * VISCOSITY * velocity(point) + DVec3::new(point.y, point.x, 0.0)
}

/// A component of the velocity, with its gradient.
struct Velocity(usize);

impl Field for Velocity {
    fn value(&self, point: DVec3) -> f64 {
        velocity(point)[self.0]
    }
}

impl ExactSolution for Velocity {
    fn gradient(&self, point: DVec3) -> DVec3 {
        let ((sx, cx), (sy, cy)) = ((PI * point.x).sin_cos(), (PI * point.y).sin_cos());
        PI * [DVec3::new(cx * cy, -sx * sy, 0.0), DVec3::new(sx * sy, -cx * cy, 0.0)][self.0]
    }
}

struct Pressure;

impl Field for Pressure {
    fn value(&self, point: DVec3) -> f64 {
        point.x * point.y - 0.25
    }
}

impl ExactSolution for Pressure {
    fn gradient(&self, point: DVec3) -> DVec3 {
        DVec3::new(point.y, point.x, 0.0)
    }
}

/// Errors in L2 of velocity and pressure.
fn errors(cpu: &Arc<Cpu>, refine: usize) -> patchmg::Result<[f64; 2]> {
    let stokes = Stokes::new(Mesh::unit_cube(2, refine)?, DEGREE)?.with_viscosity(VISCOSITY)?;
    let mut load = vec![0.0; stokes.layout().storage()];
    for (d, space) in stokes.velocity_spaces().iter().enumerate() {
        let block = stokes.layout().blocks()[d].clone();
        load[block].copy_from_slice(&load_vector(space, &|point: DVec3| force(point)[d])?);
    }
    stokes.add_boundary_load(&velocity, &mut load)?;

    let config = Config { method: Method::Fgmres, ..Config::default() };
    let solution = Solver::new(cpu, &stokes, &config)?.solve(&load)?;
    assert!(solution.info.converged);
    // Normal velocities on the boundary are no unknowns.
    let flow = solution.u.with_boundary_velocity(&velocity)?;
    let of_velocity = flow.velocity_error_to(&[&Velocity(0), &Velocity(1)])?.l2;
    let of_pressure = flow.pressure().error_to(&Pressure)?.l2;
    let (unknowns, iterations) = (stokes.layout().dofs(), solution.info.iterations);
    let divergence = flow.largest_divergence()?;
    println!(
        "{unknowns:6} unknowns, {iterations} iterations, errors: velocity {of_velocity:.3e}, pressure {of_pressure:.3e}; |∇·u| <= {divergence:.1e}"
    );
    // The velocity is divergence-free in every point but for rounding, whatever the mesh and the tolerance.
    assert!(divergence < 1e-11);
    Ok([of_velocity, of_pressure])
}

fn main() -> patchmg::Result<()> {
    let cpu = Arc::new(Cpu::new(None)?);
    let ([velocity, pressure], [fine_velocity, fine_pressure]) = (errors(&cpu, 3)?, errors(&cpu, 4)?);
    let orders = [order(velocity, fine_velocity), order(pressure, fine_pressure)];
    println!("orders: velocity {:.2}, pressure {:.2}", orders[0], orders[1]);
    // `k + 1` for both.
    assert!(orders.iter().all(|order| *order > DEGREE as f64 + 0.9));
    Ok(())
}
