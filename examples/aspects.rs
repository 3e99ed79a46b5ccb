//! Iterations over the aspect of cells, as a table of Markdown: docs/boxes.md has it.
//!
//!     cargo run --release --example aspects

use patchmg::backend::cpu::Cpu;
use patchmg::krylov::unobserved;
use patchmg::mesh::Mesh;
use patchmg::solve::{Case, Config, Method};
use patchmg::space::Family;
use patchmg::system::Poisson;
use patchmg::system::poisson::Problem;
use std::sync::Arc;

const ASPECTS: [f64; 6] = [1.0, 2.0, 5.0, 10.0, 100.0, 1000.0];

/// Which directions are long.
const SHAPES: [(&str, &[bool]); 3] = [
    ("2D", &[true, false]),
    ("3D, one long direction", &[true, false, false]),
    ("3D, two long directions", &[false, true, true]),
];

fn main() -> patchmg::Result<()> {
    let cpu = Arc::new(Cpu::new(None)?);
    let config = Config { method: Method::Gmres, ..Config::default() };
    println!("| elements | box | k | {} |", ASPECTS.map(|aspect| format!("1 : {aspect}")).join(" | "));
    println!("|---|---|---|{}", "---|".repeat(ASPECTS.len()));
    for (family, name) in [(Family::Continuous, "continuous"), (Family::Discontinuous, "discontinuous")] {
        for (shape, is_long) in SHAPES {
            for degree in [1, 2, 3, 6] {
                let refine = match (is_long.len(), degree) {
                    (2, _) => 6,
                    (_, 6) => 3,
                    _ => 4,
                };
                let iterations = ASPECTS.map(|aspect| {
                    let lengths: Vec<_> = is_long.iter().map(|&long| if long { aspect } else { 1.0 }).collect();
                    let mesh = Mesh::of_box(&[1; 3][..lengths.len()], &lengths, refine)?;
                    let case = Case { system: Poisson::new(family, mesh, degree)?, problem: Problem::One, config };
                    let info = case.solve(&cpu, &mut unobserved)?.0.info;
                    Ok::<_, patchmg::Error>(
                        info.fractional_iterations.map_or("-".into(), |count| format!("{count:.1}")),
                    )
                });
                let iterations = iterations.into_iter().collect::<patchmg::Result<Vec<_>>>()?;
                println!("| {name} | {shape} | {degree} | {} |", iterations.join(" | "));
            }
        }
    }
    Ok(())
}
