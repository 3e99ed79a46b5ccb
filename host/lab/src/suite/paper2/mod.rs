//! Every table and figure of paper 2 that holds results and that can be measured: C. Cui, G. Kanschat, "Multigrid methods for the
//! Stokes problem on GPU systems".

mod iterations;
mod kernels;
mod published;
mod solver;

use super::Suite;
use super::experiment::{FlowTask, Point, Task};
use super::sizes::Sizes;
use patchmg::system::stokes::{LocalSolver, StokesKernel};
use std::ops::RangeInclusive;

/// In the order of the paper.
pub const PAPER2: Suite = Suite {
    name: "paper2",
    title: "Paper 2: multigrid for the Stokes equations",
    gpu: Some("NVIDIA A100"),
    experiments: &[
        iterations::TABLE1,
        iterations::STEPS,
        iterations::FIGURE4,
        iterations::FIGURE5,
        solver::FIGURE6,
        kernels::FIGURE8,
        kernels::FIGURE9,
        kernels::FIGURE10,
        solver::FIGURE13,
        solver::TABLE2,
    ],
};

/// The paper's local solver.
const SCHUR_CG: LocalSolver = LocalSolver::SchurCg { steps: LocalSolver::STEPS };
/// Ours, which does what the paper's direct solver does.
const EXACT: LocalSolver = LocalSolver::Exact;
/// The paper's residual of iterations.
const RTOL: f64 = 1e-8;
/// Degrees of the paper's figures in 3D.
const DEGREES: [usize; 4] = [1, 2, 3, 4];

/// A point of the Stokes equations.
fn flow(series: impl Into<String>, size: [usize; 3], task: FlowTask) -> Point {
    Point::new(series, size, Task::Flow(task))
}

/// Levels in 3D with fewer unknowns than the paper's largest problems, or such that a CPU ends in minutes; at least one.
fn levels(sizes: &Sizes, degree: usize) -> RangeInclusive<usize> {
    let most = match (sizes.quick, sizes.gpu) {
        (true, _) => 3_000,
        (_, true) => 135_000_000,
        _ => 500_000,
    };
    let dofs = |refine| flow("", [3, degree, refine], FlowTask::Operator(StokesKernel::default())).dofs();
    2..=(2..).take_while(|&refine| dofs(refine) <= most).last().unwrap_or(2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use patchmg::mesh::Mesh;
    use patchmg::system::{Stokes, System};

    #[test]
    fn every_experiment_that_can_be_measured_is_there_and_its_points_differ() {
        let names: Vec<_> = PAPER2.experiments.iter().map(|experiment| experiment.name).collect();
        assert_eq!(
            names,
            [
                "table1", "steps", "figure4", "figure5", "figure6", "figure8", "figure9", "figure10", "figure13",
                "table2"
            ]
        );
        for sizes in [true, false].into_iter().flat_map(|gpu| [true, false].map(|quick| Sizes { gpu, quick })) {
            for experiment in PAPER2.experiments {
                let points = (experiment.points)(&sizes);
                assert!(!points.is_empty(), "{}", experiment.name);
                for (place, point) in points.iter().enumerate() {
                    assert!(!points[..place].iter().any(|other| other.key == point.key), "{}", point.key);
                    for (column, _) in &point.paper {
                        assert!(experiment.columns.iter().any(|known| known.name == *column), "{column}");
                    }
                }
            }
        }
    }

    #[test]
    fn points_have_the_unknowns_of_their_system() {
        for size in [[2, 3, 2], [3, 1, 2], [3, 4, 2]] {
            let [dim, degree, refine] = size;
            let system = Stokes::new(Mesh::unit_cube(dim, refine).unwrap(), degree).unwrap();
            assert_eq!(flow("", size, FlowTask::Operator(StokesKernel::default())).dofs(), system.layout().dofs());
        }
    }

    /// Figure 10 of the paper has 28 to 131 million unknowns.
    #[test]
    fn on_a_gpu_sizes_are_those_of_the_paper() {
        let sizes = Sizes { gpu: true, quick: false };
        for degree in DEGREES {
            let dofs =
                flow("", [3, degree, *levels(&sizes, degree).end()], FlowTask::Operator(StokesKernel::default()))
                    .dofs();
            assert!((28_000_000..132_000_000).contains(&dofs), "k = {degree}: {dofs}");
        }
    }
}
