//! Conditions on the sides of a box: `-div(κ ∇u) = f` with Dirichlet's where `x = 0`, Neumann's where `x = 2`, and Robin's on the others.
//!
//! Run it with `cargo run --release --example neumann_sides`.
//!
//! `κ = 1 + y`, and `u = exp(x) sin(2 y)` is known.

use glam::DVec3;
use patchmg::backend::cpu::Cpu;
use patchmg::forest::{CoarseMesh, Forest};
use patchmg::krylov::unobserved;
use patchmg::multigrid::SmootherConfig;
use patchmg::output::table::order;
use patchmg::problem::{ErrorNorms, ExactSolution, Field};
use patchmg::solve::{Case, Config, Method};
use patchmg::system::Elliptic;
use patchmg::system::elliptic::{Coefficient, Diffusion, EllipticProblem, Equation};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

const DEGREE: usize = 2;

/// Numbers of boundaries: any will do.
const LEFT: u32 = 1;
const RIGHT: u32 = 2;
const BELOW: u32 = 3;
const ABOVE: u32 = 4;

/// `α` of Robin's condition `κ ∂u/∂n + α u = g`.
const ALPHA: f64 = 5.0;

fn kappa(point: DVec3) -> f64 {
    1.0 + point.y
}

#[derive(Clone, Copy)]
struct Exact;

impl Field for Exact {
    fn value(&self, point: DVec3) -> f64 {
        point.x.exp() * (2.0 * point.y).sin()
    }
}

impl ExactSolution for Exact {
    fn gradient(&self, point: DVec3) -> DVec3 {
        point.x.exp() * DVec3::new((2.0 * point.y).sin(), 2.0 * (2.0 * point.y).cos(), 0.0)
    }
}

fn solve(cpu: &Arc<Cpu>, refine: usize) -> patchmg::Result<ErrorNorms> {
    let mut coarse = CoarseMesh::of_box(&[2, 1], &[2.0, 1.0])?;
    coarse.set_boundary_where(LEFT, |point| point.x == 0.0)?;
    coarse.set_boundary_where(RIGHT, |point| point.x == 2.0)?;
    coarse.set_boundary_where(BELOW, |point| point.y == 0.0)?;
    coarse.set_boundary_where(ABOVE, |point| point.y == 1.0)?;
    let alpha = Coefficient::new(|_| ALPHA);
    let equation = Equation {
        diffusion: Diffusion::scalar(kappa),
        natural: BTreeSet::from([RIGHT, BELOW, ABOVE]),
        robin: BTreeMap::from([(BELOW, alpha.clone()), (ABOVE, alpha)]),
        ..Equation::default()
    };
    let f = |point| 3.0 * kappa(point) * Exact.value(point) - Exact.gradient(point).y;
    let mut problem = EllipticProblem::new(f).with_exact(LEFT, Exact);
    problem.fluxes.insert(RIGHT, Arc::new(|point| kappa(point) * Exact.gradient(point).x));
    for (side, normal) in [(BELOW, -DVec3::Y), (ABOVE, DVec3::Y)] {
        let flux = move |point| kappa(point) * Exact.gradient(point).dot(normal) + ALPHA * Exact.value(point);
        problem.fluxes.insert(side, Arc::new(flux));
    }
    let forest = Forest::new(coarse).refine_uniformly(refine)?;
    let config = Config { method: Method::Cg, smoother: SmootherConfig::chebyshev(), ..Config::default() };
    let case = Case { system: Elliptic::new(&forest, DEGREE, equation)?, problem, config };
    let (report, _u) = case.solve(cpu, &mut unobserved)?;
    assert!(report.info.converged);
    let errors = report.errors.expect("the solution is known");
    let (dofs, iterations) = (report.dofs, report.info.iterations);
    println!("{dofs:6} unknowns, {iterations} iterations, error {:.3e} in L2, {:.3e} in H1", errors.l2, errors.h1);
    Ok(errors)
}

fn main() -> patchmg::Result<()> {
    let cpu = Arc::new(Cpu::new(None)?);
    let [coarse, fine] = [solve(&cpu, 4)?, solve(&cpu, 5)?];
    let [l2, h1] = [order(coarse.l2, fine.l2), order(coarse.h1, fine.h1)];
    println!("order {l2:.2} in L2, {h1:.2} in H1");
    // `k + 1` and `k` for a smooth solution; an error in a condition on a side would leave orders near 0.
    assert!((l2 - (DEGREE + 1) as f64).abs() < 0.1 && (h1 - DEGREE as f64).abs() < 0.1);
    Ok(())
}
