//! Refines where the error seems large until its estimate is below a tolerance; each solve begins with the last solution.
//!
//! Run it with `cargo run --release --example error_control`.
//!
//! `-Δu = 0` on an L, whose re-entrant corner makes the gradient of `u = r^(2/3) sin(2/3 φ)` infinite.

use patchmg::backend::cpu::Cpu;
use patchmg::forest::{CoarseMesh, Forest, Marking};
use patchmg::krylov::{Stopping, unobserved};
use patchmg::multigrid::SmootherConfig;
use patchmg::solve::{Config, Method, Solver};
use patchmg::system::elliptic::{Benchmark, Elliptic, ForestFunction};
use patchmg::system::{ModelProblem, System};
use std::sync::Arc;

/// Of the estimate of the error in the seminorm of H1.
const TOLERANCE: f64 = 1e-3;
const DEGREE: usize = 2;

fn main() -> patchmg::Result<()> {
    let cpu = Arc::new(Cpu::new(None)?);
    // One's own equation and data are in `neumann_sides.rs`.
    let (equation, problem) = (Benchmark::Corner.equation(2), Benchmark::Corner.problem(2));
    let stopping = Stopping { rtol: 1e-8, ..Stopping::default() };
    let config = Config { method: Method::Cg, smoother: SmootherConfig::chebyshev(), stopping, ..Config::default() };

    let mut forest = Forest::new(CoarseMesh::l_shape(2)?).refine_uniformly(2)?;
    let mut last: Option<ForestFunction> = None;
    let mut rows: Vec<[f64; 2]> = Vec::new();
    println!("unknowns  levels  iterations (from zero)  estimate   H1 error");
    loop {
        let system = Elliptic::new(&forest, DEGREE, equation.clone())?;
        let (load, mut solver) = (problem.load(&system)?, Solver::new(&cpu, &system, &config)?);
        let guess = last.as_ref().map(|last| last.interpolated(&system)?.unknowns()).transpose()?;
        let from_zero = solver.solve(&load)?.info.iterations;
        let solution = solver.solve_from(&load, guess.as_deref(), &mut unobserved)?;
        assert!(solution.info.converged);
        let u = problem.with_boundary_values(solution.u)?;

        let indicators = u.kelly_indicators(&equation)?;
        let estimate = indicators.iter().map(|indicator| indicator * indicator).sum::<f64>().sqrt();
        let error = problem.errors(&u)?.map_or(f64::NAN, |errors| errors.h1);
        let (unknowns, iterations) = (system.layout().dofs(), solution.info.iterations);
        println!("{unknowns:8} {:7} {iterations:11} {from_zero:11} {estimate:10.2e} {error:10.2e}", forest.levels());
        rows.push([unknowns as f64, error]);
        // The interpolated solution is nearer than zero.
        assert!(iterations <= from_zero);
        // Kelly's estimate has no constant that is known, but on squares it stays within this factor of the error.
        assert!(estimate > 0.3 * error && estimate < 3.0 * error);
        if estimate <= TOLERANCE {
            break;
        }
        forest = forest.adapt(&Marking::Dorfler { fraction: 0.7 }.mark(&indicators)?)?;
        last = Some(u);
    }
    let ([coarse_dofs, coarse], [dofs, fine]) = (rows[0], rows[rows.len() - 1]);
    let rate = (coarse / fine).ln() / (dofs / coarse_dofs).ln();
    println!("the error falls as unknowns^-{rate:.2}");
    // Adapted meshes have the rate `k / 2` of smooth solutions; uniform ones have 1/3, because of the corner.
    assert!(rate > 0.8 * 0.5 * DEGREE as f64);
    Ok(())
}
