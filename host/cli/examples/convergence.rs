//! Errors of `-Δu = f` on the unit cube, `u = sin(πx) sin(πy) sin(πz)`, for degrees 1 to 8 on finer and finer meshes: a
//! table with the orders of convergence, `k + 1` in L2 and `k` in H1, and a chart.
//!
//!     cargo run --release --example convergence -- examples/convergence.svg

use patchmg::backend::cpu::Cpu;
use patchmg::krylov::{Stopping, unobserved};
use patchmg::mesh::Mesh;
use patchmg::output::table::{Table, count, order};
use patchmg::problem::ErrorNorms;
use patchmg::solve::{Case, Config, Report};
use patchmg::system::Poisson;
use patchmg::system::poisson::Problem;
use patchmg_cli::chart::{Chart, Scale, Series};
use patchmg_cli::error::Result;
use std::path::PathBuf;
use std::sync::Arc;

/// Unknowns of the largest problem: less than a second each on two cores.
const MOST_DOFS: usize = 1_000_000;

fn main() -> Result<()> {
    let backend = Arc::new(Cpu::new(None)?);
    let config = Config { stopping: Stopping { rtol: 1e-12, max_iters: 20 }, ..Config::default() };
    let mut series = Vec::new();
    for degree in 1..=8 {
        let mut table = Table::new(["degree", "cells", "dofs", "L2 error", "order", "H1 error", "order"]);
        let mut points = Vec::new();
        let mut coarser: Option<ErrorNorms> = None;
        for refine in 1.. {
            let system = Poisson::continuous(Mesh::unit_cube(3, refine)?, degree)?;
            if system.space().dofs() > MOST_DOFS {
                break;
            }
            let case = Case { system, problem: Problem::Sine, config };
            let (Report { cells, dofs, errors, .. }, _) = case.solve(&backend, &mut unobserved)?;
            // The solution of this problem is known.
            let Some(ErrorNorms { l2, h1 }) = errors else { continue };
            let orders = coarser.map(|coarser| (order(coarser.l2, l2), order(coarser.h1, h1)));
            let (l2_order, h1_order) =
                orders.map_or_else(Default::default, |(a, b)| (format!("{a:.2}"), format!("{b:.2}")));
            let sizes = [degree.to_string(), count(cells), count(dofs)];
            table.row(sizes.into_iter().chain([format!("{l2:.4e}"), l2_order, format!("{h1:.4e}"), h1_order]));
            points.push((dofs as f64, l2));
            coarser = Some(ErrorNorms { l2, h1 });
        }
        println!("{table}");
        series.push(Series { label: format!("Q{degree}"), points });
    }
    let path = std::env::args_os().nth(1).map_or_else(|| PathBuf::from("convergence.svg"), PathBuf::from);
    let chart = Chart {
        title: String::from("Poisson's equation on the unit cube: error over unknowns"),
        x_label: String::from("unknowns"),
        y_label: String::from("L2 error"),
        x_scale: Scale::Log,
        series,
        line: None,
    };
    chart.write(&path)?;
    println!("chart: {}", path.display());
    Ok(())
}
