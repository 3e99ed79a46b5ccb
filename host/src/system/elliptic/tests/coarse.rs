//! Coarsest meshes that are too large for a factorization.

use super::*;
use crate::solve::Solution;

fn solve(system: &Elliptic, precision: Precision, load: &[f64]) -> Solution<ForestFunction> {
    let config = Config {
        method: Method::Cg,
        precision,
        smoother: SmootherConfig::Chebyshev { degree: 5, range: 12.0 },
        stopping: Stopping { rtol: 1e-9, ..Stopping::default() },
        ..Config::default()
    };
    let cpu = Arc::new(Cpu::new(None).unwrap());
    Solver::new(&cpu, system, &config).unwrap().solve(load).unwrap()
}

/// A mesh of small trees is that of large ones refined: so are the solution, and within one the iterations.
#[test]
fn a_large_coarsest_mesh_costs_no_iterations() {
    let equation = Equation {
        diffusion: Diffusion::scalar(|x| 1.0 + 0.9 * (9.0 * x.x).sin() * (7.0 * x.y).cos()),
        ..Equation::default()
    };
    for (dim, degree, many, few, refinements) in [(2, 2, 36, 9, 3), (3, 2, 10, 5, 2)] {
        let system = |cells: usize, refinements: usize| {
            let coarse = CoarseMesh::of_box(&[cells; 3][..dim], &[1.0; 3][..dim]).unwrap();
            let forest = Forest::new(coarse).refine_uniformly(refinements).unwrap();
            Elliptic::new(&forest, degree, equation.clone()).unwrap()
        };
        let (large, small) = (system(many, 1), system(few, refinements));
        assert!(!large.next_coarser().unwrap().unwrap().has_solver());
        assert_eq!(large.nodes(), small.nodes());
        for precision in [Precision::F64, Precision::Mixed] {
            let [large, small] = [&large, &small].map(|system| {
                let load = EllipticProblem::new(|x| 1.0 + x.x - x.y).load(system).unwrap();
                solve(system, precision, &load)
            });
            assert!(large.info.converged && large.info.iterations <= small.info.iterations + 1, "{:?}", large.info);
            let [large, small] = [large, small].map(|solution| solution.u.norms().unwrap());
            assert!((large.l2 / small.l2 - 1.0).abs() < 1e-8, "{large:?}, not {small:?}");
            assert!((large.h1 / small.h1 - 1.0).abs() < 1e-8, "{large:?}, not {small:?}");
        }
    }
}

#[test]
fn a_level_without_a_factorization_says_so() {
    let coarse = CoarseMesh::of_box(&[66, 66], &[1.0, 1.0]).unwrap();
    let system = Elliptic::new(&Forest::new(coarse), 1, Equation::default()).unwrap();
    let level = Runs::<Elliptic>::level::<f64>(&Arc::new(Cpu::new(None).unwrap()), &system).unwrap();
    assert!(!level.has_solver() && !system.has_solver());
    let error = level.solve(&level.vector().unwrap(), &mut level.vector().unwrap()).unwrap_err().to_string();
    assert_eq!(
        error,
        "level to solve on is without a factorization, but must be the coarsest, of 4096 unknowns at most"
    );
}
