//! A pressure projection: the part of a flow that is not free of divergence, from `-Δp = -∇·w` in a closed box, no flux through its sides.
//!
//! Run it with `cargo run --release --example box_neumann`.
//!
//! The pressure is determined but for a constant. The solver takes the one with mean 0, and refuses data that do not fit: sources must
//! add up to what flows out.

use glam::DVec3;
use patchmg::backend::cpu::Cpu;
use patchmg::krylov::unobserved;
use patchmg::mesh::{Grading, Mesh};
use patchmg::solve::{Case, Config};
use patchmg::system::separable::{Condition, Equation, Problem};
use patchmg::system::{ModelProblem, Separable};
use std::f64::consts::PI;
use std::sync::Arc;

/// `p = cos(π x) cos(2 π y)`, whose mean is 0 and whose flux through the sides of the unit square is 0.
fn pressure(point: DVec3) -> f64 {
    (PI * point.x).cos() * (2.0 * PI * point.y).cos()
}

fn pressure_gradient(point: DVec3) -> DVec3 {
    let ([x, y], [dx, dy]) = ([PI * point.x, 2.0 * PI * point.y], [PI, 2.0 * PI]);
    DVec3::new(-dx * x.sin() * y.cos(), -dy * x.cos() * y.sin(), 0.0)
}

/// `(∂_y, -∂_x) sin(π x)² sin(π y)²`: free of divergence, and along the sides.
fn vortex(point: DVec3) -> DVec3 {
    let [x, y] = [PI * point.x, PI * point.y];
    DVec3::new(x.sin().powi(2) * (2.0 * y).sin(), -(2.0 * x).sin() * y.sin().powi(2), 0.0) * PI
}

/// `w = ∇p + v` for the vortex `v`.
fn flow(point: DVec3) -> DVec3 {
    pressure_gradient(point) + vortex(point)
}

/// `-∇·w = -Δp`.
fn source(point: DVec3) -> f64 {
    5.0 * PI * PI * pressure(point)
}

fn main() -> patchmg::Result<()> {
    // Finer towards all walls, where cells are 30 times as narrow as in the middle.
    let mut equation = Equation::with_all_sides(Condition::Neumann);
    equation.grading = [Grading::BothEnds(30.0), Grading::BothEnds(30.0), Grading::Uniform];
    let system = Separable::new(Mesh::unit_cube(2, 5)?, 4, equation)?;
    let problem = Problem::new(&system, source);
    let case = Case { system: system.clone(), problem, config: Config::default() };
    let (report, p) = case.solve(&Arc::new(Cpu::new(None)?), &mut unobserved)?;
    assert!(report.info.converged);

    let (mut error, mut of_flow) = (0.0_f64, 0.0_f64);
    for index in 0..100 {
        let point = DVec3::new(f64::from(index % 10), f64::from(index / 10), 0.0) / 9.0;
        error = error.max((p.at(point)? - pressure(point)).abs());
        of_flow = of_flow.max((flow(point) - p.gradient_at(point)? - vortex(point)).length());
    }
    println!("{} iterations, errors {error:.2e} of the pressure, {of_flow:.2e} of the flow", report.info.iterations);
    assert!(error < 1e-5 && of_flow < 1e-3, "as near as the mesh allows");

    let refused = Problem::new(&system, |point| source(point) + 1.0).load(&system).unwrap_err();
    println!("with one more everywhere: {refused}");
    assert!(refused.to_string().contains("otherwise there is no solution"));
    Ok(())
}
