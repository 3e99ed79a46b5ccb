//! Every table and figure of paper 1 that holds results: Cui, Grosse-Bley, Kanschat, Strzodka, "An implementation of tensor
//! product patch smoothers on GPU".

mod iterations;
mod published;
mod rooflines;
mod smoothers;
mod solver;
mod tables;

use super::Suite;
use super::experiment::{Point, Task};
use patchmg::solve::Precision;
use patchmg::system::poisson::{Paper1, PatchKernel, Variant};
use patchmg_device::kernels::{DEGREES_2D, DEGREES_3D};

/// In the order of the paper.
pub const PAPER1: Suite = Suite {
    name: "paper1",
    title: "Paper 1: tensor product patch smoothers on GPU",
    gpu: Some("NVIDIA A100"),
    experiments: &[
        iterations::TABLE1,
        iterations::TABLE2,
        iterations::TABLE3,
        iterations::DEFINITIONS,
        smoothers::FIGURE3,
        smoothers::FIGURE5,
        smoothers::FIGURE7,
        smoothers::FIGURE8,
        smoothers::FIGURE9,
        solver::FIGURE10,
        solver::FIGURE11,
        solver::FIGURE12,
        tables::TABLE5,
        smoothers::FIGURE15,
        solver::FIGURE16,
        smoothers::FIGURE17,
        tables::TABLE6,
        tables::TABLE7,
        solver::FIGURE18,
        rooflines::FIGURE19,
        rooflines::FIGURE20,
    ],
};

/// Our own.
const REGISTER: PatchKernel = PatchKernel::Register;
const BASIC: PatchKernel = Paper1::Fused(Variant::Basic).by_default();
const LINEAR: PatchKernel = Paper1::Fused(Variant::Linear).by_default();
const CONFLICT_FREE: PatchKernel = Paper1::Fused(Variant::ConflictFree).by_default();
const BOUNDARY: PatchKernel = Paper1::Fused(Variant::Boundary).by_default();

/// `(dim, degree)` of all spaces, 2D first.
fn spaces() -> impl Iterator<Item = (usize, usize)> + Clone {
    DEGREES_2D.map(|degree| (2, degree)).chain(DEGREES_3D.map(|degree| (3, degree)))
}

/// Every kernel in every space, on the level that `refine` says, in every precision.
fn kernels_in_spaces(
    kernels: &[(&'static str, PatchKernel)],
    spaces: impl Iterator<Item = (usize, usize)>,
    precisions: &[Precision],
    refine: impl Fn(usize, usize) -> usize,
    task: fn(PatchKernel) -> Task,
) -> Vec<Point> {
    // A level is set up once for all kernels.
    spaces
        .map(|(dim, degree)| [dim, degree, refine(dim, degree)])
        .flat_map(|size| precisions.iter().map(move |&precision| (size, precision)))
        .flat_map(|(size, precision)| {
            kernels.iter().map(move |&(name, kernel)| Point::new(name, size, task(kernel)).precision(precision))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::sizes::Sizes;
    use super::*;

    #[test]
    fn every_experiment_of_the_paper_is_there_and_its_points_differ() {
        let names: Vec<_> = PAPER1.experiments.iter().map(|experiment| experiment.name).collect();
        for table in [1, 2, 3, 5, 6, 7] {
            assert!(names.contains(&&*format!("table{table}")), "{table}");
        }
        for figure in [3, 5, 7, 8, 9, 10, 11, 12, 15, 16, 17, 18, 19, 20] {
            assert!(names.contains(&&*format!("figure{figure}")), "{figure}");
        }
        for sizes in [true, false].into_iter().flat_map(|gpu| [true, false].map(|quick| Sizes { gpu, quick })) {
            for experiment in PAPER1.experiments {
                let points = (experiment.points)(&sizes);
                assert!(!points.is_empty(), "{}", experiment.name);
                for (place, point) in points.iter().enumerate() {
                    assert!(
                        !points[..place].iter().any(|other| other.key == point.key),
                        "{}: {point:?}",
                        experiment.name
                    );
                    for (column, _) in &point.paper {
                        assert!(experiment.columns.iter().any(|known| known.name == *column), "{column}");
                    }
                }
            }
        }
    }
}
