//! The same problem in `f64`, in `f32`, and mixed: the V-cycle in `f32`, the solver around it in `f64`.
//!
//! Run it with `cargo run --release --example mixed_precision`.

use patchmg::backend::cpu::Cpu;
use patchmg::krylov::unobserved;
use patchmg::mesh::Mesh;
use patchmg::solve::{Case, Config, Method, Precision, Report};
use patchmg::system::Poisson;
use patchmg::system::poisson::Problem;
use std::sync::Arc;

fn solve(cpu: &Arc<Cpu>, precision: Precision) -> patchmg::Result<Report> {
    let case = Case {
        system: Poisson::continuous(Mesh::unit_cube(3, 4)?, 4)?,
        // `-Δu = f` for a product of sines.
        problem: Problem::Sine,
        config: Config { method: Method::Gmres, precision, ..Config::default() },
    };
    let (report, _u) = case.solve(cpu, &mut unobserved)?;
    Ok(report)
}

/// The error in L2.
fn error(report: &Report) -> f64 {
    report.errors.map_or(f64::NAN, |errors| errors.l2)
}

fn main() -> patchmg::Result<()> {
    let cpu = Arc::new(Cpu::new(None)?);
    println!("precision  iterations  L2 error   seconds  end");
    let [double, single, mixed] = [Precision::F64, Precision::F32, Precision::Mixed].map(|precision| {
        let report = solve(&cpu, precision)?;
        println!(
            "{:9} {:11} {:9.2e} {:9.3}  {}",
            precision.name(),
            report.info.iterations,
            error(&report),
            report.timing.median_s,
            report.info.outcome
        );
        Ok::<_, patchmg::Error>(report)
    });
    let (double, single, mixed) = (double?, single?, mixed?);

    // A V-cycle in `f32` reduces an error about as well: rounding is far below what a V-cycle leaves.
    assert!(double.info.converged && mixed.info.converged);
    assert!(mixed.info.iterations <= double.info.iterations + 1);
    // Residuals in `f64` correct what the V-cycle rounds; both have the error of the discretization.
    assert!((error(&mixed) / error(&double) - 1.0).abs() < 1e-3);
    // Without them, residuals stop falling before 1e-9, and the error is that of rounding: `u` is at most 1, and `f32` has 7 digits.
    assert!(!single.info.converged);
    assert!(error(&single) > 2.0 * error(&double) && error(&single) < 1e-6);
    Ok(())
}
