//! Every table and figure of paper 3 that holds results: K. Ljungkvist, M. Kronbichler, "Multigrid for matrix-free finite element
//! computations on graphics processors".

mod corners;
mod newton;
mod published;
mod shells;

use super::Suite;
use super::domain::Domain;
use super::experiment::{ForestTask, Point, Task};
use patchmg::solve::Precision;

/// In the order of the paper.
pub const PAPER3: Suite = Suite {
    name: "paper3",
    title: "Paper 3: elliptic equations on forests",
    gpu: Some("NVIDIA Tesla P100"),
    experiments: &[
        shells::TABLE1,
        shells::TABLE2,
        corners::TABLE3,
        corners::TABLE4,
        corners::FIGURE2,
        corners::FIGURE3,
        shells::TABLE5,
        shells::FIGURE4,
        newton::TABLE6,
        newton::TABLE7,
    ],
};

/// A point on a domain, with a V-cycle in `f32` under `f64`.
fn on(domain: Domain, series: impl Into<String>, size: [usize; 3], task: ForestTask) -> Point {
    Point::new(series, size, Task::Forest(domain, task)).precision(Precision::Mixed)
}

#[cfg(test)]
mod tests {
    use super::super::sizes::Sizes;
    use super::*;

    #[test]
    fn every_experiment_is_there_and_its_points_differ() {
        let names: Vec<_> = PAPER3.experiments.iter().map(|experiment| experiment.name).collect();
        assert_eq!(
            names,
            ["table1", "table2", "table3", "table4", "figure2", "figure3", "table5", "figure4", "table6", "table7"]
        );
        for sizes in [true, false].into_iter().flat_map(|gpu| [true, false].map(|quick| Sizes { gpu, quick })) {
            for experiment in PAPER3.experiments {
                let points = (experiment.points)(&sizes);
                assert!(!points.is_empty(), "{}", experiment.name);
                for (place, point) in points.iter().enumerate() {
                    assert!(!points[..place].iter().any(|other| other.key == point.key), "{}", point.key);
                    for (column, _) in point.paper.iter().chain(&point.beside) {
                        assert!(experiment.columns.iter().any(|known| known.name == *column), "{column}");
                    }
                }
            }
        }
    }

    /// Unknowns of an experiment on a GPU, by point.
    fn dofs(name: &str) -> Vec<f64> {
        let experiment = PAPER3.experiments.iter().find(|known| known.name == name).unwrap();
        (experiment.points)(&Sizes { gpu: true, quick: false }).iter().map(|point| point.dofs() as f64).collect()
    }

    #[test]
    fn on_a_gpu_sizes_are_those_of_the_paper() {
        let expected = [10e6, 10e6, 24e6, 10e6, 1.6e6, 13e6, 5.4e6, 13e6];
        for (found, expected) in dofs("table5").into_iter().zip(expected) {
            assert!((found / expected - 1.0).abs() < 0.06, "{found} {expected}");
        }
        for (name, expected) in [("table6", [82e3, 0.33e6, 1.3e6, 5.2e6]), ("table7", [30e3, 0.23e6, 1.8e6, 15e6])] {
            // The paper counts boundary nodes.
            for (found, expected) in dofs(name).into_iter().zip(expected) {
                assert!((0.8..1.05).contains(&(found / expected)), "{found} {expected}");
            }
        }
    }
}
