//! How near the method comes to what memory allows, and how fast it solves.

mod flow;
mod forest;
mod parts;
mod whole;

use super::Suite;
use super::experiment::{Column, Point};
use super::goal::Goal;
use super::sizes::Sizes;
use patchmg::solve::Precision;
use patchmg_device::kernels::{DEGREES_2D, DEGREES_3D};

/// Of what is judged by its time for an unknown.
const FOR_AN_UNKNOWN: &[Column] = &[
    Column::new("measured", "median for an unknown [ns/DoF]").lower(),
    Column::new("min", "least for an unknown [ns/DoF]"),
    Column::new("max", "most for an unknown [ns/DoF]"),
    Column::new("time_ms", "median time [ms]"),
    Column::new("iterations", "iterations").lower(),
];

/// From a part to the whole.
pub const SPEED: Suite = Suite {
    name: "speed",
    title: "Speed: parts beside the limit of memory, and whole solves",
    gpu: None,
    experiments: &[
        parts::SMOOTHER,
        parts::OPERATOR,
        parts::TRANSFER,
        parts::VCYCLE,
        whole::SOLVE,
        whole::START,
        whole::MEMORY,
        flow::STOKES,
        flow::STOKES_MEMORY,
        forest::FORESTS,
        forest::FORESTS_ONCE,
    ],
};

/// Every space from degree 2 on, 3D first, in `f64` and `f32`: `points` makes those of `[dim, degree, refine]`.
fn everywhere<const N: usize>(sizes: &Sizes, points: impl Fn([usize; 3], Precision) -> [Point; N]) -> Vec<Point> {
    let spaces = DEGREES_3D.map(|degree| (3, degree)).chain(DEGREES_2D.map(|degree| (2, degree)));
    let spaces = spaces.filter(|(_, degree)| *degree >= 2);
    // A level is set up once for all that is done there.
    spaces
        .map(|(dim, degree)| [dim, degree, sizes.larger_than_caches(dim, degree)])
        .flat_map(|size| [Precision::F64, Precision::F32].map(|precision| (size, precision)))
        .flat_map(|(size, precision)| points(size, precision))
        .collect()
}

/// A goal for a GPU, at the sizes that it is stated for.
fn on_gpu(sizes: &Sizes, target: f64, least: Option<f64>) -> Option<Goal> {
    (sizes.gpu && !sizes.quick).then(|| Goal::new(target, least))
}

/// The same for a CPU.
fn on_cpu(sizes: &Sizes, target: f64, least: f64) -> Option<Goal> {
    (!sizes.gpu && !sizes.quick).then(|| Goal::new(target, Some(least)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::summary;

    #[test]
    fn points_differ_and_their_goals_have_columns_that_say_which_way_is_better() {
        for sizes in [true, false].into_iter().flat_map(|gpu| [true, false].map(|quick| Sizes { gpu, quick })) {
            for experiment in SPEED.experiments {
                let points = (experiment.points)(&sizes);
                assert!(!points.is_empty(), "{}", experiment.name);
                for (place, point) in points.iter().enumerate() {
                    assert!(!points[..place].iter().any(|other| other.key == point.key), "{}", point.key);
                    for (column, goal) in &point.goals {
                        let column = experiment.columns.iter().find(|known| known.name == *column).unwrap();
                        let better = column.better.unwrap();
                        assert!(goal.least.is_none_or(|least| better.reaches(goal.target, least)), "{}", point.key);
                    }
                    assert!(!sizes.quick || point.goals.is_empty(), "small problems say nothing of speed");
                }
                assert!(experiment.columns.iter().any(|column| column.name == summary::MEASURED));
            }
        }
    }

    #[test]
    fn goals_are_those_stated_for_degrees_and_sizes() {
        let goal = |gpu, experiment: &str, series: &str, [dim, degree, refine]: [usize; 3], precision: &str| {
            let experiment = SPEED.experiments.iter().find(|known| known.name == experiment).unwrap();
            let mut points = (experiment.points)(&Sizes { gpu, quick: false }).into_iter();
            let at = |point: &Point| {
                (point.key.dim, point.key.degree, point.key.refine) == (dim, degree, refine)
                    && point.key.series.starts_with(series)
                    && point.key.precision == precision
            };
            let point = points.find(at).unwrap_or_else(|| panic!("{series} {dim} {degree} {refine} {precision}"));
            point.goals.first().map(|(_, goal)| (goal.target, goal.least))
        };
        for (degree, refine, least) in [(2, 8, 75.0), (5, 7, 75.0), (6, 6, 45.0), (8, 6, 45.0)] {
            assert_eq!(goal(true, "smoother", "", [3, degree, refine], "f32"), Some((130.0, Some(least))));
        }
        assert_eq!(goal(true, "smoother", "", [2, 8, 11], "f64"), Some((130.0, Some(40.0))));
        assert_eq!(goal(true, "operator", "operator", [3, 2, 8], "f64"), Some((60.0, None)));
        assert_eq!(goal(true, "operator", "residual", [3, 7, 6], "f64"), Some((60.0, Some(35.0))));
        assert_eq!(goal(true, "solve", "full", [3, 7, 7], "f64"), Some((0.6, Some(1.5))));
        assert_eq!(goal(true, "solve", "GMRES", [3, 3, 8], "mixed"), Some((0.3, Some(0.8))));
        assert_eq!(goal(true, "solve", "full", [3, 4, 5], "mixed"), Some((2.0, Some(6.0))));
        assert_eq!(goal(false, "solve", "full", [3, 4, 5], "mixed"), Some((60.0, Some(150.0))));
        assert_eq!(goal(false, "operator", "operator", [3, 4, 5], "f64"), Some((1.5, Some(3.0))));
        assert_eq!(goal(true, "stokes", "product", [3, 2, 7], "f64"), Some((0.01, Some(0.025))));
        assert_eq!(goal(true, "stokes", "step", [3, 4, 6], "f64"), Some((0.35, Some(0.9))));
        assert_eq!(goal(true, "stokes", "solve", [3, 2, 7], "mixed"), Some((1.4, Some(3.5))));
        assert_eq!(goal(true, "stokes", "solve, 32", [3, 4, 5], "mixed"), Some((2.5, Some(6.0))));
        assert_eq!(goal(false, "stokes", "solve, 32", [3, 2, 5], "mixed"), Some((400.0, Some(1200.0))));
        assert_eq!(goal(true, "forests", "product, shell", [3, 3, 6], "f32"), Some((1.0 / 42.0, Some(1.0 / 26.0))));
        assert_eq!(goal(true, "forests", "solve, shell", [3, 3, 5], "mixed"), Some((8.0, Some(18.0))));
        assert_eq!(goal(true, "forests", "solve, L", [3, 2, 3], "mixed"), Some((4.0, Some(11.0))));
        assert_eq!(goal(false, "forests", "solve, L", [2, 2, 5], "mixed"), Some((500.0, Some(1200.0))));
        assert_eq!(goal(true, "forests_once", "minimal surface", [3, 4, 5], "mixed"), Some((0.8, Some(2.2))));
        assert_eq!(goal(false, "smoother", "", [3, 4, 5], "f64"), None);
    }
}
