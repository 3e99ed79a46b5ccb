//! The driven cavity at Reynolds number 100 by the Navier-Stokes equations `∂u/∂t + (u·∇) u - ν Δu + ∇p = 0`, `∇·u = 0`: steps of
//! Stokes problems until the flow is steady, compared with the velocities of U. Ghia, K. N. Ghia and C. T. Shin, *Journal of
//! Computational Physics* 48, 1982, pages 387 to 411, tables I and II, and with the extrema of a spectral method.
//!
//! Run it with `cargo run --release --example navier_stokes`.
//!
//! A step is implicit for viscosity and pressure and explicit for the rest (implicit-explicit Euler):
//!
//! ```text
//! u' / dt - ν Δu' + ∇p' = u / dt - (u·∇) u,   ∇·u' = 0
//! ```
//!
//! `(u·∇) u` is integrated cell by cell; where the flow enters a cell, an upwind flux adds what the velocity jumps by. As the velocity is
//! divergence-free in every point and its normal component continuous, this is the divergence form with an upwind flux, too, and
//! tested with `u` it is `½ Σ ∫_F |u·n| |[u]|²`: the convection takes energy from the jumps and adds none.

use glam::DVec3;
use patchmg::backend::cpu::Cpu;
use patchmg::krylov::{Stopping, unobserved};
use patchmg::mesh::Mesh;
use patchmg::solve::{Config, Method, Solver};
use patchmg::system::stokes::{FaceSample, Flow, FlowSample};
use patchmg::system::{Stokes, System};
use std::sync::Arc;

/// What to compute.
#[derive(Clone, Copy, Debug)]
pub struct Cavity {
    /// `k` of the elements `RT_k x Q_k`.
    pub degree: usize,
    /// `2^refine` cells a direction.
    pub refine: usize,
    /// `1 / ν`: side length and velocity of the lid are 1.
    pub reynolds: f64,
    /// Length of a step in time.
    pub dt: f64,
    /// Steady, if a velocity changes by less than this in a unit of time.
    pub steady: f64,
    /// Steps, if the flow does not become steady before.
    pub max_steps: usize,
}

/// The flow after a step.
pub struct Step {
    pub number: usize,
    pub flow: Flow,
    /// Of the solver, in this step.
    pub iterations: usize,
    /// The largest change of a velocity in a unit of time.
    pub change: f64,
}

/// `u` on the vertical centre line over `y` (table I), Reynolds number 100.
pub const GHIA_U: [[f64; 2]; 15] = [
    [0.0547, -0.03717],
    [0.0625, -0.04192],
    [0.0703, -0.04775],
    [0.1016, -0.06434],
    [0.1719, -0.10150],
    [0.2813, -0.15662],
    [0.4531, -0.21090],
    [0.5000, -0.20581],
    [0.6172, -0.13641],
    [0.7344, 0.00332],
    [0.8516, 0.23151],
    [0.9531, 0.68717],
    [0.9609, 0.73722],
    [0.9688, 0.78871],
    [0.9766, 0.84123],
];

/// `v` on the horizontal centre line over `x` (table II), Reynolds number 100.
pub const GHIA_V: [[f64; 2]; 15] = [
    [0.0625, 0.09233],
    [0.0703, 0.10091],
    [0.0781, 0.10890],
    [0.0938, 0.12317],
    [0.1563, 0.16077],
    [0.2266, 0.17507],
    [0.2344, 0.17527],
    [0.5000, 0.05454],
    [0.8047, -0.24533],
    [0.8594, -0.22445],
    [0.9063, -0.16914],
    [0.9453, -0.10313],
    [0.9531, -0.08864],
    [0.9609, -0.07391],
    [0.9688, -0.05906],
];

/// The velocities at the points of both tables: coordinate, Ghia's, ours.
pub fn compare(flow: &Flow) -> patchmg::Result<[Vec<[f64; 3]>; 2]> {
    let u = GHIA_U.map(|[y, ghia]| Ok([y, ghia, flow.velocity_at(DVec3::new(0.5, y, 0.0))?.x]));
    let v = GHIA_V.map(|[x, ghia]| Ok([x, ghia, flow.velocity_at(DVec3::new(x, 0.5, 0.0))?.y]));
    Ok([u.into_iter().collect::<patchmg::Result<_>>()?, v.into_iter().collect::<patchmg::Result<_>>()?])
}

/// The smallest `u` on the vertical centre line, and the largest and the smallest `v` on the horizontal one, with the coordinates:
/// O. Botella and R. Peyret, *Computers & Fluids* 27, 1998, pages 421 to 433, by a spectral method, Reynolds number 100.
pub const BOTELLA_PEYRET: [(&str, [f64; 2]); 3] =
    [("smallest u", [0.4581, -0.2140424]), ("largest v", [0.2370, 0.1795728]), ("smallest v", [0.8104, -0.2538030])];

/// The same of a flow, at 10 001 points of each line.
pub fn extrema(flow: &Flow) -> patchmg::Result<[[f64; 2]; 3]> {
    let mut extrema = [[0.0; 2]; 3];
    for point in (0..=10_000).map(|i| f64::from(i) * 1e-4) {
        let u = flow.velocity_at(DVec3::new(0.5, point, 0.0))?.x;
        let v = flow.velocity_at(DVec3::new(point, 0.5, 0.0))?.y;
        for (extremum, is_more, value) in
            [(0, u < extrema[0][1], u), (1, v > extrema[1][1], v), (2, v < extrema[2][1], v)]
        {
            if is_more {
                extrema[extremum] = [point, value];
            }
        }
    }
    Ok(extrema)
}

/// The largest difference in such a table.
pub fn largest_difference(table: &[[f64; 3]]) -> f64 {
    table.iter().map(|[_, ghia, ours]| (ghia - ours).abs()).fold(0.0, f64::max)
}

/// Steps from rest; `observe` sees each.
pub fn run(cavity: &Cavity, mut observe: impl FnMut(&Step) -> patchmg::Result<()>) -> patchmg::Result<Step> {
    let Cavity { degree, refine, reynolds, dt, steady, max_steps } = *cavity;
    let stokes =
        Stokes::new(Mesh::unit_cube(2, refine)?, degree)?.with_viscosity(1.0 / reynolds)?.with_mass(1.0 / dt)?;
    let stopping = Stopping { rtol: 1e-8, ..Stopping::default() };
    let config = Config { method: Method::Fgmres, stopping, ..Config::default() };
    let mut solver = Solver::new(&Arc::new(Cpu::new(None)?), &stokes, &config)?;

    let mut lid = vec![0.0; stokes.layout().storage()];
    stokes.add_boundary_load(&|point| if point.y == 1.0 { DVec3::X } else { DVec3::ZERO }, &mut lid)?;
    let inside = |at: &FlowSample| at.velocity / dt - at.gradient * at.velocity;
    let upwind = |at: &FaceSample| {
        let [first, second] = at.sides.map(|side| side.velocity);
        let flux = first.dot(at.normal);
        [(-flux).max(0.0) * (second - first), flux.max(0.0) * (first - second)]
    };

    let mut x = vec![0.0; lid.len()];
    let mut step = Step { number: 0, flow: stokes.solution(x.clone())?, iterations: 0, change: f64::INFINITY };
    while step.number < max_steps && step.change > steady {
        let mut load = lid.clone();
        stokes.add_cell_integrals(&step.flow, &inside, &mut load)?;
        stokes.add_face_integrals(&step.flow, &upwind, &mut load)?;
        let solution = solver.solve_from(&load, Some(&x), &mut unobserved)?;
        let next = stokes.vector_of(&solution.u)?;
        let velocities = stokes.layout().blocks()[stokes.mesh().dim() - 1].end;
        let change = x.iter().zip(&next).take(velocities).map(|(old, new)| (new - old).abs()).fold(0.0, f64::max) / dt;
        let (number, iterations) = (step.number + 1, solution.info.iterations);
        step = Step { number, flow: solution.u, iterations, change };
        x = next;
        observe(&step)?;
    }
    Ok(step)
}

fn main() -> patchmg::Result<()> {
    let cavity = Cavity { degree: 3, refine: 4, reynolds: 100.0, dt: 0.02, steady: 1e-6, max_steps: 5000 };
    let mut iterations = 0;
    println!("   time   iterations   kinetic energy   largest du/dt   largest |div u|");
    let end = run(&cavity, |step| {
        iterations += step.iterations;
        if step.number.is_power_of_two() {
            print(&cavity, step, iterations)?;
        }
        Ok(())
    })?;
    print(&cavity, &end, iterations)?;
    println!("{} steps, {iterations} iterations of the solver", end.number);
    let tables = compare(&end.flow)?;
    for (table, [line, velocity]) in tables.iter().zip([["x = 0.5, y", "u"], ["y = 0.5, x", "v"]]) {
        println!("\n{line:>12} {:>12} {velocity:>12}", "Ghia et al.");
        for [coordinate, ghia, ours] in table {
            println!("{coordinate:12.4} {ghia:12.5} {ours:12.5}");
        }
        println!("largest difference {:.5}", largest_difference(table));
    }
    println!("\n{:>12} {:>12} {:>12} {:>12} {:>12}", "", "at", "B. and P.", "at", "ours");
    for ((name, [published_at, published]), [at, ours]) in BOTELLA_PEYRET.into_iter().zip(extrema(&end.flow)?) {
        println!("{name:>12} {published_at:12.4} {published:12.6} {at:12.4} {ours:12.6}");
    }
    Ok(())
}

fn print(cavity: &Cavity, step: &Step, iterations: usize) -> patchmg::Result<()> {
    let (time, energy) = (step.number as f64 * cavity.dt, step.flow.kinetic_energy()?);
    let divergence = step.flow.largest_divergence()?;
    println!("{time:7.2} {iterations:12} {energy:16.8} {:15.3e} {divergence:17.1e}", step.change);
    Ok(())
}
