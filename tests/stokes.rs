//! The Stokes equations: residual histories and errors against an independent implementation.

#[path = "common/cases.rs"]
mod common;

use common::{config, cpu};
use patchmg::krylov::unobserved;
use patchmg::mesh::Mesh;
use patchmg::solve::{Case, Config, Method, Precision, Report};
use patchmg::system::Stokes;
use patchmg::system::stokes::{FlowErrors, Problem, Vortex};

/// A line of `data/oracles-stokes.jsonl`: flexible GMRES for paper 2's problem, nodes of discontinuous axes at Gauss's points.
#[derive(Debug, serde::Deserialize)]
struct Oracle {
    dim: usize,
    k: usize,
    refine: usize,
    mu: f64,
    sigma: f64,
    history: Vec<f64>,
    l2_u: f64,
    l2_p: f64,
}

fn solve(oracle: &Oracle, config: Config) -> Report<FlowErrors> {
    let mesh = Mesh::unit_cube(oracle.dim, oracle.refine).unwrap();
    let problem = Problem::Vortex(Vortex { mu: oracle.mu, sigma: oracle.sigma });
    let case = Case { system: Stokes::new(mesh, oracle.k).unwrap(), problem, config };
    case.solve(&cpu(), &mut unobserved).unwrap().0
}

#[test]
fn histories_and_errors_are_those_of_an_independent_implementation() {
    let lines = include_str!("data/oracles-stokes.jsonl").lines();
    let oracles: Vec<Oracle> = lines.map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(oracles.len() > 15);
    for oracle in oracles {
        let report = solve(&oracle, Config { restart: 30, ..config(Method::Fgmres, Precision::F64, 1e-8) });
        let found = &report.info.residual_history;
        eprintln!("{} {} {} {found:?} {:?} {:?}", oracle.dim, oracle.k, oracle.refine, oracle.history, report.errors);
        for (found, expected) in found.iter().zip(&oracle.history).filter(|(_, expected)| **expected > 1e-11) {
            assert!((found / expected - 1.0).abs() < 0.01, "{oracle:?}: {report:?}");
        }
        let FlowErrors { velocity, pressure_l2, largest_divergence } = report.errors.unwrap();
        let near = |found: f64, expected: f64| (found / expected - 1.0).abs() < 0.01;
        assert!(near(velocity.unwrap().l2, oracle.l2_u) || oracle.l2_u < 1e-12, "{oracle:?}: {report:?}");
        assert!(near(pressure_l2.unwrap(), oracle.l2_p), "{oracle:?}: {report:?}");
        assert!(largest_divergence < 1e-10, "{oracle:?}: {report:?}");
    }
}
