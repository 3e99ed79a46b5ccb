//! A nonlinear equation of one's own: `-div(|∇u|^(p - 2) ∇u) = 1` on the unit disk, `u = 0` on its boundary, for `p = 3`.
//!
//! Run it with `cargo run --release --example p_laplacian`.
//!
//! The solution is `u = (p - 1) / p * 2^(-1 / (p - 1)) * (1 - r^(p / (p - 1)))`. Where its gradient is zero, at the center, the
//! equation has no ellipticity: the flux has `(ε² + |∇u|²)^(1/2)` for `|∇u|`.

use glam::{DMat3, DVec3};
use patchmg::backend::cpu::Cpu;
use patchmg::forest::{CoarseMesh, Forest};
use patchmg::krylov::{Stopping, unobserved};
use patchmg::multigrid::SmootherConfig;
use patchmg::problem::{ExactSolution, Field};
use patchmg::solve::{Case, Config, Method, Report};
use patchmg::system::Elliptic;
use patchmg::system::elliptic::{EllipticProblem, Equation, Flux};
use std::sync::Arc;

/// `F(g) = (ε² + |g|²)^((p - 2) / 2) g`.
#[derive(Debug)]
struct PLaplacian {
    p: f64,
    epsilon: f64,
}

impl Flux for PLaplacian {
    fn value(&self, _point: DVec3, gradient: DVec3) -> DVec3 {
        (self.epsilon.powi(2) + gradient.length_squared()).powf(0.5 * self.p - 1.0) * gradient
    }

    fn derivative(&self, _point: DVec3, gradient: DVec3) -> DMat3 {
        let square = self.epsilon.powi(2) + gradient.length_squared();
        let outer = DMat3::from_cols(gradient * gradient.x, gradient * gradient.y, gradient * gradient.z);
        square.powf(0.5 * self.p - 1.0) * (DMat3::IDENTITY + outer * ((self.p - 2.0) / square))
    }
}

/// The solution on the disk.
struct OnDisk {
    p: f64,
}

impl OnDisk {
    fn power(&self) -> f64 {
        self.p / (self.p - 1.0)
    }
}

impl Field for OnDisk {
    fn value(&self, point: DVec3) -> f64 {
        0.5_f64.powf(1.0 / (self.p - 1.0)) / self.power() * (1.0 - point.length().powf(self.power()))
    }
}

impl ExactSolution for OnDisk {
    fn gradient(&self, point: DVec3) -> DVec3 {
        -0.5_f64.powf(1.0 / (self.p - 1.0)) * point.length().powf(self.power() - 2.0) * point
    }
}

/// Solves on the disk's five cells, refined so often.
pub fn solve(p: f64, refinements: usize) -> patchmg::Result<Report> {
    let forest = Forest::new(CoarseMesh::disk(1.0)?).refine_uniformly(refinements)?;
    let flux = PLaplacian { p, epsilon: 1e-6 };
    let equation = Equation { flux: Some(Arc::new(flux)), ..Equation::default() };
    let case = Case {
        system: Elliptic::new(&forest, 2, equation)?,
        problem: EllipticProblem::new(|_| 1.0).with_exact(0, OnDisk { p }),
        config: Config {
            method: Method::Cg,
            smoother: SmootherConfig::Chebyshev { degree: 5, range: 12.0 },
            // Of the equation of each step.
            stopping: Stopping { rtol: 1e-4, max_iters: 100 },
            ..Config::default()
        },
    };
    Ok(case.solve(&Arc::new(Cpu::new(None)?), &mut unobserved)?.0)
}

/// Prints errors on finer and finer meshes.
fn main() -> patchmg::Result<()> {
    println!("   dofs  steps  linear iterations     L2 error  order");
    let mut last: Option<f64> = None;
    for refinements in 2..=5 {
        let report = solve(3.0, refinements)?;
        let error = report.errors.map_or(f64::NAN, |errors| errors.l2);
        let iterations: usize = report.newton.iter().map(|step| step.linear_iterations).sum();
        let order = last.map_or(String::new(), |last| format!("{:.2}", (last / error).log2()));
        println!(
            "{:7} {:6} {iterations:18} {error:12.3e} {order:>6}  {}",
            report.dofs,
            report.newton.len(),
            report.info.outcome
        );
        last = Some(error);
    }
    Ok(())
}
