//! A right-hand side and boundary values of one's own, as closures: `-Δu = f` on the box `(0, 2) x (0, 1)` with `u = g` on its boundary.
//!
//! Run it with `cargo run --release --example given_data`.
//!
//! Here `u = exp(x) sin(2 y)` is known, so that the program can compare: `f = 3 u` and `g = u`.

use glam::DVec3;
use patchmg::backend::cpu::Cpu;
use patchmg::forest::{CoarseMesh, Forest};
use patchmg::krylov::unobserved;
use patchmg::multigrid::SmootherConfig;
use patchmg::output::table::order;
use patchmg::solve::{Case, Config, Method};
use patchmg::system::Elliptic;
use patchmg::system::elliptic::{EllipticProblem, Equation};
use std::sync::Arc;

/// Polynomials of this degree on each cell.
const DEGREE: usize = 3;

fn exact(point: DVec3) -> f64 {
    point.x.exp() * (2.0 * point.y).sin()
}

/// The error in L2 on a mesh of square cells, `2^refine` in the short direction.
fn error(cpu: &Arc<Cpu>, refine: usize) -> patchmg::Result<f64> {
    let forest = Forest::new(CoarseMesh::of_box(&[2, 1], &[2.0, 1.0])?).refine_uniformly(refine)?;
    let mut problem = EllipticProblem::new(|point| 3.0 * exact(point));
    // All sides have the number 0, unless they are given others.
    problem.values.insert(0, Arc::new(exact));
    let case = Case {
        system: Elliptic::new(&forest, DEGREE, Equation::default())?,
        problem,
        config: Config { method: Method::Cg, smoother: SmootherConfig::chebyshev(), ..Config::default() },
    };
    let (report, u) = case.solve(cpu, &mut unobserved)?;
    assert!(report.info.converged);
    let error = u.integral(|point, value, _gradient| (value - exact(point)).powi(2))?.sqrt();
    println!("{:6} unknowns, {} iterations, error {error:.3e}", report.dofs, report.info.iterations);
    Ok(error)
}

fn main() -> patchmg::Result<()> {
    let cpu = Arc::new(Cpu::new(None)?);
    let order = order(error(&cpu, 3)?, error(&cpu, 4)?);
    println!("order {order:.2}");
    // For a smooth solution the error in L2 falls as `h^(k + 1)`.
    assert!((order - (DEGREE + 1) as f64).abs() < 0.1);
    Ok(())
}
