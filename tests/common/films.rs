//! Minimal surfaces, against deal.II.

use crate::forests::{assert_agrees, config};
use glam::DVec3;
use patchmg::fe::Element;
use patchmg::forest::{Cell, CoarseMesh, Forest, Numbering};
use patchmg::krylov::{Stopping, unobserved};
use patchmg::solve::{Case, Config};
use patchmg::system::Runs;
use patchmg::system::elliptic::{Benchmark, Elliptic, Equation, ForestFunction, MinimalSurface};
use std::sync::Arc;

/// A line of `data/oracles-films.jsonl`: what deal.II 9.4.1 has for a minimal surface over the disk or the ball by Newton's method.
#[derive(Debug, serde::Deserialize)]
pub struct Film {
    pub dim: usize,
    degree: usize,
    pub mapping_degree: usize,
    pub refinements: usize,
    pub boundary_frequency: u32,
    cells: usize,
    nodes: usize,
    area: f64,
    l2_norm: f64,
    domain_volume: f64,
    max_nodal: f64,
    /// At (0.25, 0.125, 0).
    at_a_point: f64,
    residual_history: Vec<f64>,
    step_lengths: Vec<f64>,
    linear_iterations: Vec<usize>,
}

impl Film {
    pub fn all() -> Vec<Self> {
        include_str!("../data/oracles-films.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    pub fn check<B: Runs<Elliptic>>(&self, backend: &Arc<B>) {
        const RTOL: f64 = 1e-4;
        let coarse = if self.dim == 2 { CoarseMesh::disk(1.0) } else { CoarseMesh::ball(1.0) }.unwrap();
        let forest = Forest::new(coarse).refine_uniformly(self.refinements).unwrap();
        let benchmark = Benchmark::MinimalSurface { frequency: self.boundary_frequency };
        let equation = Equation { mapping_degree: Some(self.mapping_degree), ..benchmark.equation(self.dim) };
        let system = Elliptic::new(&forest, self.degree, equation).unwrap();
        assert_eq!((forest.leaves().len(), system.nodes()), (self.cells, self.nodes), "{self:?}");
        let config = Config { stopping: Stopping { rtol: RTOL, ..Stopping::default() }, ..config() };
        let problem = benchmark.problem(self.dim);
        let (report, u) = Case { system, problem, config }.solve(backend, &mut unobserved).unwrap();
        let lengths: Vec<f64> = report.newton.iter().map(|step| step.step_length).collect();
        assert_eq!(lengths, self.step_lengths, "{self:?}");
        // The residual of the last step is rounding.
        let steps = report.newton.iter().zip(&self.linear_iterations).zip(self.residual_history.windows(2));
        for ((step, &iterations), residuals) in steps.take(lengths.len() - 1) {
            assert!(step.linear_iterations.abs_diff(iterations) <= 1, "{step:?}, not {iterations}: {self:?}");
            // A smaller one is what the linear solver leaves.
            if residuals[1] > RTOL * residuals[0] {
                assert_agrees("residual", self, step.residual, residuals[1], 1e-2);
            }
        }
        let area = u.integral(|_, _, gradient| MinimalSurface::area(gradient)).unwrap();
        assert_agrees("area", self, area, self.area, 1e-11);
        assert_agrees("volume", self, u.integral(|_, _, _| 1.0).unwrap(), self.domain_volume, 1e-11);
        let squares = u.integral(|_, value, _| value * value).unwrap();
        assert_agrees("L2 norm", self, squares.sqrt(), self.l2_norm, 1e-9);
        assert_agrees("largest value", self, u.norms().unwrap().largest, self.max_nodal, 1e-9);
        // In 3D the point is in a curved cell.
        if self.dim == 2 {
            assert_agrees("value", self, in_the_middle(&forest, self.degree, &u), self.at_a_point, 1e-8);
        }
    }
}

/// At (0.25, 0.125), in the square that is the first cell.
fn in_the_middle(forest: &Forest, degree: usize, u: &ForestFunction) -> f64 {
    let square = Cell { tree: 0, level: 0, anchor: [0; 3] };
    let place = DVec3::new(0.25, 0.125, 0.0) / (2.0 * forest.point(&square, [1.0; 3]).x) + 0.5;
    let (leaf, [x, y, _]) = forest.locate(&square, place.to_array());
    let [x, y] = [x, y].map(|x| Element::new(degree).unwrap().values(x));
    let numbering = Numbering::new(forest, degree).unwrap();
    let nodes = numbering.leaf_nodes(leaf).enumerate();
    nodes.map(|(i, node)| x[i % (degree + 1)] * y[i / (degree + 1)] * u.values()[node as usize]).sum()
}
