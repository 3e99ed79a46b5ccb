//! Files that Gmsh 4.15.2 wrote: a ring of four cells, and what is between two cylinders.

use super::geometry::volume;
use super::*;
use crate::backend::cpu::Cpu;
use crate::krylov::Stopping;
use crate::multigrid::SmootherConfig;
use crate::problem::{ErrorNorms, ExactSolution, Field};
use crate::solve::{Config, Method, Precision, Solver};
use crate::system::ModelProblem;
use crate::system::elliptic::{Elliptic, EllipticProblem, Equation, ForestFunction};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

fn file(name: &str) -> CoarseMesh {
    CoarseMesh::from_gmsh_file(&Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap()
}

/// Between radii 1/2 and 1; each quarter of a circle is a parabola through its ends and its middle. That of radius `r` cuts off
/// `2/3` of chord times height: `2/3 (√2 r) (1 - 1/√2) r`.
fn area() -> f64 {
    let inside = |r: f64| r * r * (2.0 + 8.0 / 3.0 * (2.0_f64.sqrt() - 1.0));
    inside(1.0) - inside(0.5)
}

fn numbers(mesh: &CoarseMesh) -> BTreeMap<u32, usize> {
    let mut numbers = BTreeMap::new();
    let faces = (0..mesh.cells()).flat_map(|cell| (0..2 * mesh.dim()).map(move |face| (cell, face)));
    let found = faces.filter_map(|(cell, face)| mesh.boundary(cell, face));
    found.for_each(|number| *numbers.entry(number).or_default() += 1);
    numbers
}

#[test]
fn files_have_the_cells_and_the_groups_that_gmsh_says() {
    let cases = [
        ("examples/ring.msh", 2, 8, BTreeMap::from([(3, 4), (7, 4)]), area()),
        // Nothing is in a group; one node is the center, which only a point has.
        ("tests/data/square-ring.msh", 2, 8, BTreeMap::from([(0, 8)]), 1.5),
        ("tests/data/cylinder.msh", 3, 16, BTreeMap::from([(0, 12), (5, 4)]), area()),
        ("tests/data/cylinder-27.msh", 3, 16, BTreeMap::from([(0, 12), (5, 4)]), area()),
    ];
    for (name, dim, vertices, expected, exact) in cases {
        let mesh = file(name);
        assert_eq!((mesh.dim(), mesh.cells(), mesh.vertices().len()), (dim, 4, vertices), "{name}");
        assert_eq!(numbers(&mesh), expected, "{name}");
        let bottom = |cell, face| mesh.boundary(cell, face) == Some(5);
        for (cell, face) in (0..4).flat_map(|cell| (0..2 * dim).map(move |face| (cell, face))) {
            let mut x = [0.5; 3];
            x[face / 2] = (face % 2) as f64;
            assert_eq!(bottom(cell, face), dim == 3 && mesh.point(cell, x).z == 0.0);
        }
        let found = volume(&Forest::new(mesh).refine_uniformly(1).unwrap(), 2);
        assert!((found - exact).abs() < 1e-14, "{name}: {found}, not {exact}");
    }
}

fn solve(system: &Elliptic, problem: &EllipticProblem) -> ForestFunction {
    let stopping = Stopping { rtol: 1e-12, ..Stopping::default() };
    let smoother = SmootherConfig::Chebyshev { degree: 5, range: 12.0 };
    let config = Config { method: Method::Cg, precision: Precision::F64, smoother, stopping, ..Config::default() };
    let backend = Arc::new(Cpu::new(None).unwrap());
    let load = problem.load(system).unwrap();
    let solution = Solver::new(&backend, system, &config).unwrap().solve(&load).unwrap();
    problem.with_boundary_values(solution.u).unwrap()
}

/// With no flux through group 3 and `u = 1` on group 7, `u = 1`: its norm is that of the domain.
#[test]
fn conditions_are_those_of_the_groups() {
    let forest = Forest::new(file("examples/ring.msh")).refine_uniformly(2).unwrap();
    let equation = Equation { natural: BTreeSet::from([3]), ..Equation::default() };
    let system = Elliptic::new(&forest, 2, equation).unwrap();
    let one: Arc<dyn Fn(DVec3) -> f64 + Send + Sync> = Arc::new(|_| 1.0);
    let problem = EllipticProblem { values: BTreeMap::from([(7, one)]), ..EllipticProblem::new(|_| 0.0) };
    let norms = solve(&system, &problem).norms().unwrap();
    assert!((norms.l2 * norms.l2 / area() - 1.0).abs() < 1e-10 && norms.h1 < 1e-9, "{norms:?}");
}

/// `exp(x) sin(y)`, which is harmonic.
#[derive(Clone, Copy)]
struct Harmonic;

impl Field for Harmonic {
    fn value(&self, point: DVec3) -> f64 {
        point.x.exp() * point.y.sin()
    }
}

impl ExactSolution for Harmonic {
    fn gradient(&self, point: DVec3) -> DVec3 {
        point.x.exp() * DVec3::new(point.y.sin(), point.y.cos(), 0.0)
    }
}

fn errors(coarse: &CoarseMesh, degree: usize, refinements: usize) -> ErrorNorms {
    let forest = Forest::new(coarse.clone()).refine_uniformly(refinements).unwrap();
    // Hanging nodes, too.
    let forest = refine_where(&forest, |center| center.x > 0.0);
    let system = Elliptic::new(&forest, degree, Equation::default()).unwrap();
    let problem = numbers(coarse)
        .into_keys()
        .fold(EllipticProblem::new(|_| 0.0), |problem, number| problem.with_exact(number, Harmonic));
    problem.errors(&solve(&system, &problem)).unwrap().unwrap()
}

/// `k + 1` in L2 and `k` in H1, on straight cells and on curved ones, whose boundary is that of the mapping.
#[test]
fn errors_fall_with_the_order_of_the_elements() {
    let cases = [
        ("tests/data/square-ring.msh", 1, 4),
        ("tests/data/square-ring.msh", 2, 4),
        ("examples/ring.msh", 2, 4),
        ("examples/ring.msh", 3, 3),
        ("tests/data/cylinder.msh", 2, 2),
        ("tests/data/cylinder-27.msh", 3, 2),
    ];
    for (name, degree, finest) in cases {
        let mesh = file(name);
        let [coarse, fine] = [finest - 1, finest].map(|refinements| errors(&mesh, degree, refinements));
        let orders = [(coarse.l2 / fine.l2).log2(), (coarse.h1 / fine.h1).log2()];
        let expected = [degree as f64 + 1.0, degree as f64];
        let is_close = orders.iter().zip(expected).all(|(order, expected)| (order - expected).abs() < 0.2);
        assert!(is_close, "{name}, degree {degree}: orders {orders:?}, not {expected:?}");
    }
}
