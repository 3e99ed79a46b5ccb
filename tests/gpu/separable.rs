//! Boxes with sides, coefficients and graded cells: levels and solves against the CPU backend.

use super::compare::{assert_close, assert_histories_close, assert_identical, tolerance};
use super::stokes::{OPERATIONS, Operation, run};
use crate::{Outcome, Suite};
use patchmg::backend::Scalar;
use patchmg::backend::cpu::Cpu;
use patchmg::backend::cuda::Cuda;
use patchmg::krylov::{Stopping, unobserved};
use patchmg::mesh::{Grading, Mesh};
use patchmg::solve::{Case, Config, Method, Precision};
use patchmg::space::Family;
use patchmg::system::Separable;
use patchmg::system::separable::{Condition, DirectNodes, Equation, Problem};
use patchmg::{Error, Result};
use std::sync::Arc;

const N: Condition = Condition::Neumann;
const D: Condition = Condition::Dirichlet;
const P: Condition = Condition::Periodic;

/// Each kind of side and of cells.
fn equations() -> [Equation; 6] {
    let [uniform, graded] = [Grading::Uniform, Grading::Geometric(20.0)];
    let equation = |sides, grading, reaction| Equation { sides, diffusion: [1.0, 0.5, 2.0], reaction, grading };
    [
        equation([[D, N], [N, D], [D, D]], [graded.clone(), uniform.clone(), uniform.clone()], 0.0),
        equation([[P, P], [D, D], [N, N]], [uniform.clone(), Grading::BothEnds(5.0), uniform.clone()], 3.0),
        equation([[N, N]; 3], [uniform.clone(), graded.clone(), graded], 0.0),
        equation([[P, P]; 3], [uniform.clone(), uniform.clone(), uniform.clone()], 0.0),
        equation([[D, N], [N, D], [P, P]], [uniform.clone(), uniform.clone(), uniform.clone()], 40.0),
        equation([[N, D], [P, P], [D, N]], [uniform.clone(), uniform.clone(), uniform], 0.0),
    ]
}

fn system(family: Family, number: usize, dim: usize, degree: usize, refine: usize) -> Result<Separable> {
    let mesh = Mesh::of_box(&[3, 2, 1][..dim], &[1.5, 1.0, 1.0][..dim], refine)?;
    Ok(Separable::of_family(family, mesh, degree, equations()[number].clone())?.with_direct_nodes(DirectNodes::All(0)))
}

/// Elements, and what they are called in names of tests.
const FAMILIES: [(Family, &str); 2] = [(Family::Continuous, "q"), (Family::Discontinuous, "dgq")];

pub fn add<T: Scalar>(suite: &mut Suite) {
    for (number, (family, elements)) in
        (0..equations().len()).flat_map(|number| FAMILIES.map(|family| (number, family)))
    {
        let most_in_2d = if family == Family::Continuous { 10 } else { 8 };
        let some = [(2, 1), (2, 3), (2, most_in_2d), (3, 1), (3, 2), (3, 5)];
        // Of each degree the smoother has kernels of its own, for equal cells and for graded ones.
        let all = (1..=10).map(|degree| (2, degree)).chain((1..=8).map(|degree| (3, degree)));
        let has_all = family == Family::Continuous && matches!(number, 2 | 4);
        for (dim, degree) in if has_all { all.collect() } else { some.to_vec() } {
            for operation in OPERATIONS {
                let name = format!("separable::{number}::{dim}d::{elements}{degree}::{operation:?}::{}", T::NAME);
                suite.test(name, move |gpu| check::<T>(gpu, &system(family, number, dim, degree, 2)?, operation));
            }
        }
        // Of so many nodes that all directions, or some, have matrices for tensor cores; of so few that none has.
        for (dim, degree, refine) in [(2, 3, 4), (2, 4, 5), (2, 2, 3), (3, 2, 4), (3, 4, 3)] {
            let all = [Operation::Apply, Operation::Residual, Operation::VCycle].map(|operation| ("all", operation));
            for (meshes, operation) in all.into_iter().chain([("coarse", Operation::VCycle)]) {
                let name = format!(
                    "separable::direct::{number}::{dim}d::{elements}{degree}::{refine}::{meshes}::{operation:?}::{}",
                    T::NAME
                );
                let nodes = if meshes == "all" { DirectNodes::All(500) } else { DirectNodes::Coarse(500) };
                let system =
                    move || Ok::<_, Error>(system(family, number, dim, degree, refine)?.with_direct_nodes(nodes));
                suite.test(name, move |gpu| check::<T>(gpu, &system()?, operation));
            }
        }
    }
}

fn check<T: Scalar>(gpu: &Arc<Cuda>, system: &Separable, operation: Operation) -> Outcome {
    let Some(found) = run::<_, _, T>(operation, gpu, system)? else { return Ok(()) };
    let expected = run::<_, _, T>(operation, &Arc::new(Cpu::new(None)?), system)?.unwrap_or_default();
    // Sweeps and cycles enlarge the rounding of a product.
    let factor = if matches!(operation, Operation::Apply | Operation::Residual) { 1.0 } else { 100.0 };
    assert_close(&found, &expected, factor * tolerance::<T>())
}

/// Residual histories of each way to solve, and the same numbers every time.
pub fn add_solves(suite: &mut Suite) {
    for (dim, degree, (family, elements)) in FAMILIES.into_iter().flat_map(|family| [(2, 3, family), (3, 2, family)]) {
        for method in Method::ALL {
            for precision in [Precision::F64, Precision::Mixed] {
                for number in 0..equations().len() {
                    let name = format!("separable::solve::{number}::{dim}d::{elements}{degree}::{method}::{precision}");
                    suite.test(name, move |gpu| solve(gpu, system(family, number, dim, degree, 2)?, method, precision));
                }
            }
        }
    }
}

fn solve(gpu: &Arc<Cuda>, system: Separable, method: Method, precision: Precision) -> Outcome {
    let problem = Problem::new(&system, |p| (std::f64::consts::TAU * p.x / 1.5).cos() * (1.0 + p.y).sin());
    let stopping = Stopping { rtol: 1e-8, ..Stopping::default() };
    let case = Case { system, problem, config: Config { method, precision, stopping, ..Config::default() } };
    let (found, u) = case.clone().solve(gpu, &mut unobserved)?;
    let (expected, v) = case.clone().solve(&Arc::new(Cpu::new(None)?), &mut unobserved)?;
    let (found, expected) = (found.info.residual_history, expected.info.residual_history);
    // Rounding of a V-cycle in `f32` moves small residuals.
    let allowed = if precision == Precision::F64 { 1e-4 } else { 0.1 };
    assert_histories_close(&found, &expected, allowed, 1e-8)?;
    assert_close(u.values(), v.values(), 1e-6)?;
    let (again, _) = case.solve(gpu, &mut unobserved)?;
    assert_identical(&again.info.residual_history, &found)
}
