//! Elliptic equations on forests, against deal.II.

use glam::DVec3;
use patchmg::backend::cpu::Cpu;
use patchmg::forest::{Adaptation, Cell, CoarseMesh, Forest, Marking, Numbering};
use patchmg::krylov::Stopping;
use patchmg::multigrid::SmootherConfig;
use patchmg::solve::{Config, Method, Precision, Solver};
use patchmg::system::ModelProblem;
use patchmg::system::elliptic::{Benchmark, Elliptic, Equation, ForestFunction};
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
            "hyperl3d_kelly" => Benchmark::HyperL,
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
            "hyperl3d" => CoarseMesh::l_shape(3).unwrap(),
            "lshape3d" => CoarseMesh::l_shape(2).unwrap().extruded(1.0, 1).unwrap(),
            "shell2d" => CoarseMesh::annulus(0.5, 1.0, 10).unwrap(),
            "shell3d" => CoarseMesh::shell(0.5, 1.0).unwrap(),
            other => panic!("no mesh {other}"),
        };
        self.benchmark().number_sides(&mut coarse).unwrap();
        Forest::new(coarse).refine_uniformly(self.refinements).unwrap()
    }

    /// Refined by the rule of the case, without a solution.
    fn refined(&self) -> Forest {
        (0..self.cycles).fold(self.forest(), |forest, cycle| {
            let corner = |leaf: &Cell, corner: u32| forest.point(leaf, [0, 1, 2].map(|d| f64::from(corner >> d & 1)));
            let is_refined = |leaf: &Cell| match self.case.ends_with("corner") {
                true => (0..1 << forest.dim()).any(|number| corner(leaf, number).truncate().length() < 1e-12),
                false => forest.point(leaf, [0.5; 3]).distance(DVec3::splat(0.3)) < 0.4 / 2.0_f64.powi(cycle),
            };
            let flag = |leaf| if is_refined(leaf) { Adaptation::Refine } else { Adaptation::Keep };
            forest.adapt(&forest.leaves().iter().map(flag).collect::<Vec<_>>()).unwrap()
        })
    }

    fn equation(&self, dim: usize) -> Equation {
        Equation { mapping_degree: Some(self.mapping_degree), ..self.benchmark().equation(dim) }
    }

    /// Solves on a forest: load vector's norm, iterations, and the solution.
    fn solve(&self, cpu: &Arc<Cpu>, forest: &Forest) -> (f64, usize, ForestFunction) {
        let system = Elliptic::new(forest, self.degree, self.equation(forest.dim())).unwrap();
        let problem = self.benchmark().problem(forest.dim());
        let load = problem.load(&system).unwrap();
        let solution = Solver::new(cpu, &system, &config()).unwrap().solve(&load).unwrap();
        let u = problem.with_boundary_values(solution.u).unwrap();
        (load.iter().map(|value| value * value).sum::<f64>().sqrt(), solution.info.iterations, u)
    }
}

fn config() -> Config {
    Config {
        method: Method::Cg,
        precision: Precision::F64,
        smoother: SmootherConfig::Chebyshev { degree: 5, range: 12.0 },
        stopping: Stopping { rtol: 1e-9, ..Stopping::default() },
        ..Config::default()
    }
}

fn assert_agrees(what: &str, oracle: &Oracle, found: f64, expected: f64, tolerance: f64) {
    assert!((found / expected - 1.0).abs() < tolerance, "{what} {found}, not {expected}: {oracle:?}");
}

#[test]
fn solutions_and_iterations_are_those_of_deal_ii() {
    let cpu = Arc::new(Cpu::new(None).unwrap());
    let oracles = Oracle::all().into_iter().filter(|oracle| !oracle.case.ends_with("_kelly"));
    let oracles: Vec<_> = oracles.collect();
    assert!(oracles.len() > 60);
    for oracle in &oracles {
        let forest = oracle.refined();
        let nodes = Numbering::new(&forest, oracle.degree).unwrap().nodes();
        assert_eq!((forest.leaves().len(), nodes), (oracle.cells, oracle.nodes), "{oracle:?}");
        let (r0, iterations, u) = oracle.solve(&cpu, &forest);
        assert_agrees("r0", oracle, r0, oracle.r0, 1e-9);
        assert_eq!(iterations, oracle.iterations, "{oracle:?}");
        let norms = u.norms().unwrap();
        assert_agrees("L2 norm", oracle, norms.l2, oracle.l2_norm, 1e-7);
        assert_agrees("H1 seminorm", oracle, norms.h1, oracle.h1_seminorm, 1e-7);
        assert_agrees("largest value", oracle, norms.largest, oracle.max_nodal, 1e-7);
        if let Some(l2_error) = oracle.l2_error {
            let found = oracle.benchmark().problem(forest.dim()).errors(&u).unwrap().unwrap().l2;
            // Of a solution to a residual of 1e-9: the errors of degree 4 have no more digits.
            assert_agrees("L2 error", oracle, found, l2_error, 1e-4);
        }
    }
}

/// The indicator has ties by symmetry, which rounding decides: numbers of cells differ by some.
#[test]
fn meshes_by_kellys_indicator_are_as_good_as_those_of_deal_ii() {
    let cpu = Arc::new(Cpu::new(None).unwrap());
    let oracles: Vec<_> = Oracle::all().into_iter().filter(|oracle| oracle.case.ends_with("_kelly")).collect();
    assert!(oracles.len() >= 5);
    for oracle in &oracles {
        let [refine, coarsen] = if oracle.case == "hyperl3d_kelly" { [0.15, 0.03] } else { [0.3, 0.03] };
        let marking = Marking::FixedNumber { refine, coarsen };
        let mut forest = oracle.forest();
        let mut solved = oracle.solve(&cpu, &forest);
        for _ in 0..oracle.cycles {
            let indicators = solved.2.kelly_indicators(&oracle.equation(forest.dim())).unwrap();
            forest = forest.adapt(&marking.mark(&indicators).unwrap()).unwrap();
            solved = oracle.solve(&cpu, &forest);
        }
        let (_, iterations, u) = solved;
        assert_agrees("number of cells", oracle, forest.leaves().len() as f64, oracle.cells as f64, 5e-3);
        assert!(iterations.abs_diff(oracle.iterations) <= 1, "{iterations} iterations: {oracle:?}");
        assert_agrees("L2 norm", oracle, u.norms().unwrap().l2, oracle.l2_norm, 1e-5);
        if let Some(l2_error) = oracle.l2_error {
            let found = oracle.benchmark().problem(forest.dim()).errors(&u).unwrap().unwrap().l2;
            assert_agrees("L2 error", oracle, found, l2_error, 5e-3);
        }
    }
}
