//! Parts of a V-cycle beside their floors: the words that must move, over the bandwidth of memory.

use super::super::drawing::Picture;
use super::super::experiment::{Column, Experiment, Point, Task};
use super::super::goal::Goal;
use super::super::sizes::Sizes;
use super::{everywhere, on_cpu, on_gpu};
use patchmg::measure::Part;
use patchmg::solve::Precision;

const MEASURED: Column = Column::new("measured", "median time [ms]").lower();
const MIN: Column = Column::new("min", "least time [ms]");
const MAX: Column = Column::new("max", "most time [ms]");
const FLOOR: Column = Column::new("floor", "floor [ms]");
const RATIO: Column = Column::new("ratio", "floor over median [%]").higher().percent(&["floor"], "measured");
const SHARE: Column = Column::new("share", "share of a V-cycle [%]").lower().derived();
const NS_PER_DOF: Column = Column::new("ns_per_dof", "median for an unknown [ns/DoF]").lower().derived();
const GB_PER_S: Column = Column::new("gb_per_s", "words that must move over median [GB/s]");

const COLUMNS: &[Column] = &[MEASURED, MIN, MAX, FLOOR, RATIO, NS_PER_DOF, GB_PER_S];

const PICTURE: Picture = Picture::Goals { y: "ratio", or: "ns_per_dof" };

pub const SMOOTHER: Experiment = Experiment {
    name: "smoother",
    title: "A step of the patch smoother",
    remark: "All 2^d colors of the default kernel. Floor: 3 words an unknown and color (192 bytes in f64 and 96 in f32 in 3D), on \
             an H200 over 4.3 TB/s; above 100 %, colors share a pass through the cache.",
    columns: COLUMNS,
    points: |sizes| {
        let goal = |dim, degree| {
            let least = match (dim, degree) {
                (3, ..=5) => Some(75.0),
                (3, _) => Some(45.0),
                (_, 3..=8) => Some(40.0),
                _ => None,
            };
            on_gpu(sizes, 130.0, least)
        };
        everywhere(sizes, |[dim, degree, refine], precision| {
            let step = Point::new("smoother", [dim, degree, refine], Task::Floor(Part::Step));
            [step.precision(precision).goal("ratio", goal(dim, degree))]
        })
    },
    picture: PICTURE,
};

pub const OPERATOR: Experiment = Experiment {
    name: "operator",
    title: "Operator and residual",
    remark: "y = A x, floor 2 words an unknown, and r = b - A x, floor 3 words, on an H200 over 4.3 TB/s.",
    columns: COLUMNS,
    points: |sizes| {
        everywhere(sizes, |size, precision| {
            let [_, degree, _] = size;
            let least = (3..=7).contains(&degree).then_some(35.0);
            [("operator", Part::Operator), ("residual", Part::Residual)].map(|(series, part)| {
                Point::new(series, size, Task::Floor(part))
                    .precision(precision)
                    .goal("ratio", on_gpu(sizes, 60.0, least))
                    .goal("ns_per_dof", cpu_operator(sizes, part, size, precision))
            })
        })
    },
    picture: PICTURE,
};

/// On a CPU, a time for an unknown is aimed at.
fn cpu_operator(sizes: &Sizes, part: Part, [dim, degree, _]: [usize; 3], precision: Precision) -> Option<Goal> {
    let stated = (part, dim, degree, precision) == (Part::Operator, 3, 4, Precision::F64);
    stated.then(|| on_cpu(sizes, 1.5, 3.0)).flatten()
}

pub const TRANSFER: Experiment = Experiment {
    name: "transfer",
    title: "Restriction and prolongation",
    remark: "Restriction of the residual and prolongation on the finest level, each timed alone, floor 2 words an unknown and \
             one a coarse one. A V-cycle leaves out of the prolongation what the smoother then overwrites: that one is what \
             a step takes longer with it. It and the restriction on all levels, with their share of the time of a V-cycle.",
    columns: &[MEASURED, MIN, MAX, FLOOR, RATIO, SHARE, NS_PER_DOF, GB_PER_S],
    points: |sizes| {
        everywhere(sizes, |size, precision| {
            let alone = |series, part| Point::new(series, size, Task::Floor(part)).precision(precision);
            let both = Point::new("both, all levels", size, Task::Transfer).precision(precision);
            let both = both.goal("share", on_gpu(sizes, 8.0, Some(15.0)));
            let correction = Point::new("prolongation before a step", size, Task::Correction).precision(precision);
            [alone("restriction", Part::Restrict), alone("prolongation", Part::Prolongate), correction, both]
        })
    },
    picture: Picture::Goals { y: "share", or: "ns_per_dof" },
};

pub const VCYCLE: Experiment = Experiment {
    name: "vcycle",
    title: "V-cycle",
    remark: "One step before and one after the coarse correction. Floor: 3 words an unknown and color for each step, \
             restriction and prolongation, on all levels, on an H200 over 4.3 TB/s.",
    columns: COLUMNS,
    points: |sizes| {
        everywhere(sizes, |size, precision| {
            let cycle = Point::new("V-cycle", size, Task::VCycle).precision(precision);
            [cycle.goal("ratio", on_gpu(sizes, 65.0, Some(45.0)))]
        })
    },
    picture: PICTURE,
};
