//! Elliptic equations on forests, against deal.II.

use glam::DVec3;
use patchmg::backend::cpu::Cpu;
use patchmg::forest::{Adaptation, Cell, CoarseMesh, Forest};
use patchmg::krylov::Stopping;
use patchmg::multigrid::SmootherConfig;
use patchmg::problem::{ExactSolution, Field};
use patchmg::solve::{Config, Method, Precision, Solver};
use patchmg::system::elliptic::{Diffusion, Elliptic, EllipticProblem, Equation, ForestFunction};
use patchmg::system::{ModelProblem, System};
use std::collections::BTreeSet;
use std::f64::consts::PI;
use std::sync::Arc;

/// A line of `data/oracles-elliptic.jsonl`: what deal.II 9.4.1 has for a problem by conjugate gradients and a V-cycle with local
/// smoothing, Chebyshev iteration of degree 5.
#[derive(Debug, serde::Deserialize)]
struct Oracle {
    case: String,
    degree: usize,
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
    lambda_max: Vec<f64>,
}

/// `r^(2/3) sin(2/3 φ)`, `φ` from the side `y = 0` of the L to its side `x = 0`.
struct Corner;

impl Field for Corner {
    fn value(&self, point: DVec3) -> f64 {
        if point.x >= 0.0 && point.y >= 0.0 {
            return 0.0;
        }
        let angle = PI + point.y.atan2(-point.x);
        point.truncate().length().powf(2.0 / 3.0) * (2.0 / 3.0 * angle).sin()
    }
}

impl ExactSolution for Corner {
    fn gradient(&self, point: DVec3) -> DVec3 {
        let (angle, r) = (PI + point.y.atan2(-point.x), point.truncate().length());
        // By the radius and the angle; the angle grows clockwise in x mirrored, that is counterclockwise from -x.
        let [by_r, by_angle] =
            [(2.0 / 3.0 * angle).sin(), (2.0 / 3.0 * angle).cos()].map(|v| 2.0 / 3.0 * r.powf(-1.0 / 3.0) * v);
        let along = DVec3::new(point.x, point.y, 0.0) / r;
        by_r * along + by_angle * DVec3::new(point.y, -point.x, 0.0) / r
    }
}

impl Oracle {
    fn all() -> Vec<Self> {
        include_str!("data/oracles-elliptic.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn is_cube(&self) -> bool {
        self.case.starts_with("cube")
    }

    fn forest(&self) -> Forest {
        let coarse = match self.case.split_once('_').map_or(&*self.case, |(mesh, _)| mesh) {
            "cube" => {
                let mut cube = CoarseMesh::of_box(&[1; 3], &[1.0; 3]).unwrap();
                cube.set_boundary(&[1, 3, 5, 7], 1).unwrap();
                cube
            }
            "lshape2d" => CoarseMesh::l_shape(2).unwrap(),
            _ => CoarseMesh::l_shape(2).unwrap().extruded(1.0, 1).unwrap(),
        };
        let forest = Forest::new(coarse).refine_uniformly(self.refinements).unwrap();
        (0..self.cycles).fold(forest, |forest, cycle| {
            let corner = |leaf: &Cell, corner: u32| forest.point(leaf, [0, 1, 2].map(|d| f64::from(corner >> d & 1)));
            let is_refined = |leaf: &Cell| match self.is_cube() {
                true => forest.point(leaf, [0.5; 3]).distance(DVec3::splat(0.3)) < 0.4 / 2.0_f64.powi(cycle),
                false => (0..1 << forest.dim()).any(|number| corner(leaf, number).truncate().length() < 1e-12),
            };
            let flag = |leaf| if is_refined(leaf) { Adaptation::Refine } else { Adaptation::Keep };
            forest.adapt(&forest.leaves().iter().map(flag).collect::<Vec<_>>()).unwrap()
        })
    }

    fn equation(&self) -> Equation {
        if !self.is_cube() {
            return Equation::default();
        }
        let wave = |x: f64| (2.0 * PI * x).sin();
        let diffusion = Diffusion::scalar(move |point| 1.0 + 0.5 * wave(point.x) * wave(point.y) * wave(point.z));
        let natural = if self.case.contains("neumann") { BTreeSet::from([1]) } else { BTreeSet::new() };
        Equation { diffusion, natural, ..Equation::default() }
    }

    fn problem(&self) -> EllipticProblem {
        if !self.is_cube() {
            let mut problem = EllipticProblem::new(|_| 0.0);
            problem.values.insert(0, Arc::new(|point| Corner.value(point)));
            problem.exact = Some(Arc::new(Corner));
            return problem;
        }
        let mut problem = EllipticProblem::new(|_| 1.0);
        if self.case.contains("neumann") {
            problem.values.insert(0, Arc::new(|point| point.x * point.y));
        }
        if self.case.contains("neumann1") {
            problem.fluxes.insert(1, Arc::new(|_| 1.0));
        }
        problem
    }

    fn system(&self) -> Elliptic {
        Elliptic::new(&self.forest(), self.degree, self.equation()).unwrap()
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
        let (system, problem) = (oracle.system(), oracle.problem());
        assert_eq!((system.cells(), system.nodes()), (oracle.cells, oracle.nodes), "{oracle:?}");
        let load = problem.load(&system).unwrap();
        let r0 = load.iter().map(|value| value * value).sum::<f64>().sqrt();
        assert_agrees("r0", oracle, r0, oracle.r0, 1e-9);
        let mut solver = Solver::new(&cpu, &system, &config(1e-9)).unwrap();
        let solution = solver.solve(&load).unwrap();
        assert!(
            solution.info.iterations.abs_diff(oracle.iterations) <= 1,
            "{} iterations, {oracle:?}",
            solution.info.iterations
        );
        let u: ForestFunction = problem.with_boundary_values(solution.u).unwrap();
        let norms = u.norms().unwrap();
        assert_agrees("L2 norm", oracle, norms.l2, oracle.l2_norm, 1e-7);
        assert_agrees("H1 seminorm", oracle, norms.h1, oracle.h1_seminorm, 1e-7);
        assert_agrees("largest value", oracle, norms.largest, oracle.max_nodal, 1e-7);
        if let Some(l2_error) = oracle.l2_error {
            let found = problem.errors(&u).unwrap().unwrap().l2;
            assert_agrees("L2 error", oracle, found, l2_error, 1e-5);
        }
    }
}
