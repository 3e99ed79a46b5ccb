//! Elliptic equations on forests, against deal.II.

use glam::DVec3;
use patchmg::forest::{Adaptation, Cell, CoarseMesh, Forest, Marking, Numbering};
use patchmg::krylov::{Info, Stopping};
use patchmg::multigrid::SmootherConfig;
use patchmg::solve::{Config, Method, Solver};
use patchmg::system::elliptic::{Benchmark, Elliptic, Equation, ForestFunction};
use patchmg::system::{ModelProblem, Runs};
use std::f64::consts::PI;
use std::fmt::Debug;
use std::sync::Arc;

/// A line of `data/oracles-elliptic.jsonl`: what deal.II 9.4.1 has for a problem by conjugate gradients and a V-cycle with local
/// smoothing and Chebyshev iteration.
#[derive(Clone, Debug, serde::Deserialize)]
pub struct Oracle {
    pub case: String,
    pub degree: usize,
    mapping_degree: usize,
    refinements: usize,
    pub cycles: i32,
    pub smoother_degree: usize,
    pub precision: String,
    pub rtol: f64,
    pub cells: usize,
    nodes: usize,
    l2_error: Option<f64>,
    l2_norm: f64,
    h1_seminorm: f64,
    max_nodal: f64,
    r0: f64,
    iterations: usize,
    history: Vec<f64>,
}

impl Oracle {
    /// Those on meshes that a rule refines, without a solution.
    pub fn of_rules() -> Vec<Self> {
        Self::all().into_iter().filter(|oracle| !oracle.is_by_kelly()).collect()
    }

    /// Those on meshes by Kelly's indicator, each list from one chain of cycles.
    pub fn chains() -> Vec<Vec<Self>> {
        let oracles: Vec<_> = Self::all().into_iter().filter(Self::is_by_kelly).collect();
        oracles.chunk_by(|one, other| one.chain() == other.chain()).map(<[Self]>::to_vec).collect()
    }

    fn all() -> Vec<Self> {
        include_str!("../data/oracles-elliptic.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn is_by_kelly(&self) -> bool {
        self.case.ends_with("_kelly")
    }

    fn chain(&self) -> (&str, usize, usize, &str) {
        (&self.case, self.degree, self.smoother_degree, &self.precision)
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

    /// Solves on a forest: load vector's norm, what the solver did, and the solution.
    fn solve<B: Runs<Elliptic>>(&self, backend: &Arc<B>, forest: &Forest) -> (f64, Info, ForestFunction) {
        let system = Elliptic::new(forest, self.degree, self.equation(forest.dim())).unwrap();
        let problem = self.benchmark().problem(forest.dim());
        let load = problem.load(&system).unwrap();
        let config = Config {
            precision: self.precision.parse().unwrap(),
            smoother: SmootherConfig::Chebyshev { degree: self.smoother_degree, range: 12.0 },
            stopping: Stopping { rtol: self.rtol, ..Stopping::default() },
            ..config()
        };
        let solution = Solver::new(backend, &system, &config).unwrap().solve(&load).unwrap();
        assert!(solution.info.converged, "{:?}: {self:?}", solution.info);
        let u = problem.with_boundary_values(solution.u).unwrap();
        (load.iter().map(|value| value * value).sum::<f64>().sqrt(), solution.info, u)
    }

    fn l2_error(&self, forest: &Forest, u: &ForestFunction) -> f64 {
        self.benchmark().problem(forest.dim()).errors(u).unwrap().unwrap().l2
    }

    /// Solves on the mesh of a rule. Iterations may differ by so many.
    pub fn check<B: Runs<Elliptic>>(&self, backend: &Arc<B>, iterations: usize) {
        let forest = self.refined();
        let nodes = Numbering::new(&forest, self.degree).unwrap().nodes();
        assert_eq!((forest.leaves().len(), nodes), (self.cells, self.nodes), "{self:?}");
        let (r0, info, u) = self.solve(backend, &forest);
        assert_agrees("r0", self, r0, self.r0, 1e-9);
        assert!(info.iterations.abs_diff(self.iterations) <= iterations, "{info:?}: {self:?}");
        // Estimates of eigenvalues begin with vectors that the programs do not share: the further an iteration goes, the more it differs.
        for (&found, &expected) in
            info.residual_history.iter().zip(&self.history).take_while(|(_, expected)| **expected > 1e-6)
        {
            assert_agrees("residual", self, found, expected, 0.1);
        }
        let norms = u.norms().unwrap();
        assert_agrees("L2 norm", self, norms.l2, self.l2_norm, 1e-8);
        assert_agrees("H1 seminorm", self, norms.h1, self.h1_seminorm, 1e-8);
        assert_agrees("largest value", self, norms.largest, self.max_nodal, 1e-8);
        if let Some(l2_error) = self.l2_error {
            let found = self.l2_error(&forest, &u);
            let mut allowed = 1e-4 * l2_error;
            if self.is_at_floor() {
                // What is left of the residual differs by a quarter at most, and what the error has of it.
                const DIFFERENCE: f64 = 0.25;
                let last = self.history[self.history.len() - 1];
                let found = info.residual_history[info.iterations];
                assert_agrees("last residual", self, found, last, DIFFERENCE);
                allowed += DIFFERENCE * self.part_of_solver(backend, &forest, &u);
            }
            assert!((found - l2_error).abs() < allowed, "L2 error {found} ± {allowed}, not {l2_error}: {self:?}");
        }
    }

    /// Whether four digits of the error show what the solver leaves at a residual of 1e-9.
    fn is_at_floor(&self) -> bool {
        self.case == "shell2d" && self.degree >= 3 && self.cells >= 2560 && self.rtol == 1e-9
    }

    /// The L2 norm of the difference to a solution with a residual of 1e-13, from values at nodes.
    fn part_of_solver<B: Runs<Elliptic>>(&self, backend: &Arc<B>, forest: &Forest, u: &ForestFunction) -> f64 {
        let exact = Self { rtol: 1e-13, ..self.clone() }.solve(backend, forest).2;
        let squares: f64 = exact.values().iter().zip(u.values()).map(|(exact, value)| (exact - value).powi(2)).sum();
        let area = 0.75 * PI;
        (area * squares / u.values().len() as f64).sqrt()
    }
}

/// Solves on meshes by Kelly's indicator. That has ties by symmetry, which rounding decides: numbers of cells differ by some.
pub fn check_chain<B: Runs<Elliptic>>(backend: &Arc<B>, chain: &[Oracle]) {
    let first = &chain[0];
    let [refine, coarsen] = if first.case == "hyperl3d_kelly" { [0.15, 0.03] } else { [0.3, 0.03] };
    let marking = Marking::FixedNumber { refine, coarsen };
    let last = chain.iter().map(|oracle| oracle.cycles).max().unwrap();
    let mut forest = first.forest();
    for cycle in 0..=last {
        let (_, info, u) = first.solve(backend, &forest);
        for oracle in chain.iter().filter(|oracle| oracle.cycles == cycle) {
            assert_agrees("number of cells", oracle, forest.leaves().len() as f64, oracle.cells as f64, 5e-3);
            assert!(info.iterations.abs_diff(oracle.iterations) <= 1, "{info:?}: {oracle:?}");
            assert_agrees("L2 norm", oracle, u.norms().unwrap().l2, oracle.l2_norm, 1e-5);
            if let Some(l2_error) = oracle.l2_error {
                assert_agrees("L2 error", oracle, oracle.l2_error(&forest, &u), l2_error, 5e-3);
            }
        }
        if cycle < last {
            let indicators = u.kelly_indicators(&first.equation(forest.dim())).unwrap();
            forest = forest.adapt(&marking.mark(&indicators).unwrap()).unwrap();
        }
    }
}

/// Conjugate gradients and Chebyshev iteration as deal.II has them.
pub fn config() -> Config {
    Config {
        method: Method::Cg,
        smoother: SmootherConfig::Chebyshev { degree: 5, range: 12.0 },
        stopping: Stopping { rtol: 1e-9, ..Stopping::default() },
        ..Config::default()
    }
}

pub fn assert_agrees(what: &str, oracle: &impl Debug, found: f64, expected: f64, tolerance: f64) {
    assert!((found / expected - 1.0).abs() < tolerance, "{what} {found}, not {expected}: {oracle:?}");
}
