//! Elliptic equations on forests, against deal.II.

use glam::DVec3;
use patchmg::backend::cpu::Cpu;
use patchmg::forest::{Adaptation, Cell, CoarseMesh, Forest};
use patchmg::krylov::Stopping;
use patchmg::multigrid::SmootherConfig;
use patchmg::solve::{Config, Method, Precision, Solver};
use patchmg::system::elliptic::{Benchmark, Elliptic, Equation, ForestFunction};
use patchmg::system::{ModelProblem, System};
use std::sync::Arc;

/// A line of `data/oracles-elliptic.jsonl`: what deal.II 9.4.1 has for a problem by conjugate gradients and a V-cycle with local
/// smoothing, Chebyshev iteration of degree 5.
#[derive(Debug, serde::Deserialize)]
struct Oracle {
    case: String,
    degree: usize,
    mapping_degree: usize,
    refinements: usize,
    cycles: i32,
    cells: usize,
    nodes: usize,
    l2_error: Option<f64>,
    l2_norm: f64,
    h1_seminorm: f64,
    max_nodal: f64,
    r0: f64,
    iterations: usize,
}

impl Oracle {
    fn all() -> Vec<Self> {
        include_str!("data/oracles-elliptic.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn benchmark(&self) -> Benchmark {
        match &*self.case {
            case if case.starts_with("lshape") => Benchmark::Corner,
            case if case.starts_with("shell") => Benchmark::Shell,
            "cube" | "cube_ball" => Benchmark::Variable,
            "cube_neumann" | "cube_neumann_ball" => Benchmark::VariableNeumann,
            "cube_neumann1" | "cube_neumann1_ball" => Benchmark::VariableFlux,
            other => panic!("no case {other}"),
        }
    }

    fn forest(&self) -> Forest {
        let mut coarse = match self.case.split_once('_').map_or(&*self.case, |(mesh, _)| mesh) {
            "cube" => CoarseMesh::of_box(&[1; 3], &[1.0; 3]).unwrap(),
            "lshape2d" => CoarseMesh::l_shape(2).unwrap(),
            "lshape3d" => CoarseMesh::l_shape(2).unwrap().extruded(1.0, 1).unwrap(),
            "shell2d" => CoarseMesh::annulus(0.5, 1.0, 10).unwrap(),
            "shell3d" => CoarseMesh::shell(0.5, 1.0).unwrap(),
            other => panic!("no mesh {other}"),
        };
        self.benchmark().number_sides(&mut coarse).unwrap();
        let forest = Forest::new(coarse).refine_uniformly(self.refinements).unwrap();
        (0..self.cycles).fold(forest, |forest, cycle| {
            let corner = |leaf: &Cell, corner: u32| forest.point(leaf, [0, 1, 2].map(|d| f64::from(corner >> d & 1)));
            let is_refined = |leaf: &Cell| match self.case.ends_with("corner") {
                true => (0..1 << forest.dim()).any(|number| corner(leaf, number).truncate().length() < 1e-12),
                false => forest.point(leaf, [0.5; 3]).distance(DVec3::splat(0.3)) < 0.4 / 2.0_f64.powi(cycle),
            };
            let flag = |leaf| if is_refined(leaf) { Adaptation::Refine } else { Adaptation::Keep };
            forest.adapt(&forest.leaves().iter().map(flag).collect::<Vec<_>>()).unwrap()
        })
    }

    fn system(&self) -> Elliptic {
        let forest = self.forest();
        let equation = self.benchmark().equation(forest.dim());
        let mapping_degree = Some(self.mapping_degree);
        Elliptic::new(&forest, self.degree, Equation { mapping_degree, ..equation }).unwrap()
    }
}

fn config(rtol: f64) -> Config {
    Config {
        method: Method::Cg,
        precision: Precision::F64,
        smoother: SmootherConfig::Chebyshev { degree: 5, range: 12.0 },
        stopping: Stopping { rtol, ..Stopping::default() },
        ..Config::default()
    }
}

/// To so many digits of the oracle, which is given with 12.
fn assert_agrees(what: &str, oracle: &Oracle, found: f64, expected: f64, tolerance: f64) {
    assert!((found / expected - 1.0).abs() < tolerance, "{what} {found}, not {expected}: {oracle:?}");
}

#[test]
fn solutions_and_iterations_are_those_of_deal_ii() {
    let cpu = Arc::new(Cpu::new(None).unwrap());
    let oracles = Oracle::all();
    assert!(oracles.len() > 30);
    for oracle in &oracles {
        let system = oracle.system();
        let problem = oracle.benchmark().problem(system.dim());
        assert_eq!((system.cells(), system.nodes()), (oracle.cells, oracle.nodes), "{oracle:?}");
        let load = problem.load(&system).unwrap();
        let r0 = load.iter().map(|value| value * value).sum::<f64>().sqrt();
        assert_agrees("r0", oracle, r0, oracle.r0, 1e-9);
        let mut solver = Solver::new(&cpu, &system, &config(1e-9)).unwrap();
        let solution = solver.solve(&load).unwrap();
        assert_eq!(solution.info.iterations, oracle.iterations, "{oracle:?}");
        let u: ForestFunction = problem.with_boundary_values(solution.u).unwrap();
        let norms = u.norms().unwrap();
        assert_agrees("L2 norm", oracle, norms.l2, oracle.l2_norm, 1e-7);
        assert_agrees("H1 seminorm", oracle, norms.h1, oracle.h1_seminorm, 1e-7);
        assert_agrees("largest value", oracle, norms.largest, oracle.max_nodal, 1e-7);
        if let Some(l2_error) = oracle.l2_error {
            let found = problem.errors(&u).unwrap().unwrap().l2;
            // Of a solution to a residual of 1e-9: the errors of degree 4 have no more digits.
            assert_agrees("L2 error", oracle, found, l2_error, 1e-4);
        }
    }
}
