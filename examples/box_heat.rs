//! The heat equation `∂u/∂t = div(diag(c) ∇u)` on a box with an insulated side, by implicit Euler steps: one solver, set up once.
//!
//! Run it with `cargo run --release --example box_heat`.
//!
//! With the mass matrix `M` and the stiffness matrix `K` a step from `u` to `v` is `(K + s M) v = s M u`, `s = 1 / τ`. The side where `x` is
//! largest is insulated, `u` is zero on the others; cells become finer towards `x = 0`. Then `u = exp(-λ t) sin(π x / 2) sin(π y)` with
//! `λ = π² (c_x / 4 + c_y)`, and a step of implicit Euler divides that mode by `1 + λ τ`.

use glam::DVec3;
use patchmg::backend::cpu::Cpu;
use patchmg::function::Function;
use patchmg::krylov::unobserved;
use patchmg::mesh::{Grading, Mesh};
use patchmg::output::table::order;
use patchmg::solve::{Config, Method, Solver};
use patchmg::system::Separable;
use patchmg::system::separable::{Condition, Equation};
use std::f64::consts::PI;
use std::sync::Arc;

const DEGREE: usize = 4;
const END: f64 = 0.05;
const DIFFUSION: [f64; 3] = [2.0, 0.5, 1.0];

fn mode(point: DVec3) -> f64 {
    (0.5 * PI * point.x).sin() * (PI * point.y).sin()
}

/// `λ`.
fn rate() -> f64 {
    PI * PI * (0.25 * DIFFUSION[0] + DIFFUSION[1])
}

/// The largest errors at some points at the end, after so many steps: to the exact solution, and to what implicit Euler makes of it.
fn errors(cpu: &Arc<Cpu>, steps: usize) -> patchmg::Result<[f64; 2]> {
    let step = END / steps as f64;
    let mut equation = Equation { diffusion: DIFFUSION, reaction: 1.0 / step, ..Equation::default() };
    equation.sides[0][1] = Condition::Neumann;
    equation.grading[0] = Grading::Geometric(20.0);
    let system = Separable::new(Mesh::unit_cube(2, 4)?, DEGREE, equation)?;
    let mut solver = Solver::new(cpu, &system, &Config { method: Method::Gmres, ..Config::default() })?;

    // The mode at the nodes; there is nothing where `u` is given, since that is zero.
    let space = system.space();
    let mut values = vec![0.0; space.storage()];
    for node in space.unknowns() {
        values[space.offset(node)] = mode(space.point(node));
    }
    let (mut u, mut iterations) = (Function::new(space, values)?, 0);
    for _ in 0..steps {
        let mut load = system.mass_product(&u)?;
        load.iter_mut().for_each(|entry| *entry /= step);
        // The last solution is a good guess.
        let solution = solver.solve_from(&load, Some(&system.vector_of(&u)?), &mut unobserved)?;
        assert!(solution.info.converged);
        iterations += solution.info.iterations;
        u = solution.u;
    }
    let mut errors = [0.0_f64; 2];
    for point in [[0.1, 0.3], [0.5, 0.5], [1.0, 0.7], [0.93, 0.21]].map(|[x, y]| DVec3::new(x, y, 0.0)) {
        let factors = [(-rate() * END).exp(), (1.0 + rate() * step).powi(-(steps as i32))];
        for (error, factor) in errors.iter_mut().zip(factors) {
            *error = error.max((u.at(point)? - factor * mode(point)).abs());
        }
    }
    println!(
        "{steps:3} steps, {iterations:4} iterations in all, errors {:.3e} of time, {:.3e} of space",
        errors[0], errors[1]
    );
    Ok(errors)
}

fn main() -> patchmg::Result<()> {
    let cpu = Arc::new(Cpu::new(None)?);
    let mut last = None;
    for steps in [10, 20, 40] {
        let [of_time, of_space] = errors(&cpu, steps)?;
        assert!(of_space < 1e-6, "the steps are those of implicit Euler");
        if let Some(before) = last {
            let found = order(before, of_time);
            assert!((found - 1.0).abs() < 0.1, "of first order in time, not {found}");
        }
        last = Some(of_time);
    }
    Ok(())
}
