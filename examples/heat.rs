//! The heat equation `∂u/∂t = Δu` on the unit square, zero on its boundary, by the scheme of Crank and Nicolson: all steps with one
//! solver.
//!
//! Run it with `cargo run --release --example heat`, or `cargo run --release --example heat -- heat.pvd` for a series of files for ParaView.
//!
//! With the mass matrix `M` and the stiffness matrix `K` a step from `u` to `u + d` is
//!
//! ```text
//! M d / τ + K (u + d / 2) = b,   or   (K + s M) d = 2 (b - K u),   s = 2 / τ
//! ```
//!
//! with the load vector `b` of a source in the middle of the step, which is 0 here: `u = exp(-2 π² t) sin(π x) sin(π y)`.

use glam::DVec3;
use patchmg::backend::{Backend, cpu::Cpu};
use patchmg::forest::{CoarseMesh, Forest};
use patchmg::multigrid::SmootherConfig;
use patchmg::operator::LinearOperator;
use patchmg::output::pvd::Series;
use patchmg::output::table::order;
use patchmg::output::vtu;
use patchmg::solve::{Config, Method, Solver};
use patchmg::system::elliptic::{EllipticProblem, Equation};
use patchmg::system::{Elliptic, ModelProblem, Runs, System};
use std::f64::consts::PI;
use std::path::Path;
use std::sync::Arc;

const DEGREE: usize = 4;
const END: f64 = 0.1;
/// Of the solution: `-Δu = RATE u`.
const RATE: f64 = 2.0 * PI * PI;

fn exact(time: f64, point: DVec3) -> f64 {
    (-RATE * time).exp() * (PI * point.x).sin() * (PI * point.y).sin()
}

/// The error in L2 at the end, after so many steps, each of which goes to a file of `series`.
fn error(cpu: &Arc<Cpu>, forest: &Forest, steps: usize, mut series: Option<Series>) -> patchmg::Result<f64> {
    let config = Config { method: Method::Cg, smoother: SmootherConfig::chebyshev(), ..Config::default() };
    let laplace = Elliptic::new(forest, DEGREE, Equation::default())?;
    // The function of the elements with `K u = b` for the load vector `b` of `-Δu` at the start: the Ritz projection.
    let start = EllipticProblem::new(|point| RATE * exact(0.0, point)).load(&laplace)?;
    let mut u = Solver::new(cpu, &laplace, &config)?.solve(&start)?.u.unknowns()?;

    let equation = Equation { reaction: 2.0 * steps as f64 / END, ..Equation::default() };
    let mut solver = Solver::new(cpu, &Elliptic::new(forest, DEGREE, equation)?, &config)?;
    let k = cpu.level_for_products::<f64>(&laplace)?;
    let (b, mut x, mut residual) = (k.vector()?, k.vector()?, k.vector()?);
    let (mut load, mut iterations) = (vec![0.0; u.len()], 0);
    for step in 1..=steps {
        cpu.upload(&u, &mut x)?;
        k.residual(&b, &x, &mut residual)?;
        cpu.download(&residual, &mut load)?;
        load.iter_mut().for_each(|entry| *entry *= 2.0);
        let solution = solver.solve(&load)?;
        assert!(solution.info.converged);
        iterations += solution.info.iterations;
        u.iter_mut().zip(solution.u.values()).for_each(|(u, d)| *u += d);
        if let Some(series) = &mut series {
            let (time, now) = (END * step as f64 / steps as f64, laplace.solution(u.clone())?);
            series.write(time, |file| now.write_vtu(file, &[], &vtu::Config::default()))?;
        }
    }
    let u = laplace.solution(u)?;
    let error = u.integral(|point, value, _gradient| (value - exact(END, point)).powi(2))?.sqrt();
    println!("{steps:3} steps, {iterations:4} iterations in all, error {error:.3e}");
    Ok(error)
}

fn main() -> patchmg::Result<()> {
    let cpu = Arc::new(Cpu::new(None)?);
    let forest = Forest::new(CoarseMesh::of_box(&[1, 1], &[1.0, 1.0])?).refine_uniformly(3)?;
    let series = std::env::args_os().nth(1).map(|list| Series::new(Path::new(&list)));
    let [coarse, fine] = [error(&cpu, &forest, 10, None)?, error(&cpu, &forest, 20, series)?];
    println!("order {:.2} in time", order(coarse, fine));
    // The scheme has order 2; the error of the elements, about 1e-8, is far below that of the steps.
    assert!((order(coarse, fine) - 2.0).abs() < 0.05);
    Ok(())
}
