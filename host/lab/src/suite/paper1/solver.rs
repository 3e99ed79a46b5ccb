//! The GMRES solver, its components and its levels: figures 10, 11, 12, 16 and 18.

use super::super::drawing::{Axis, Picture};
use super::super::experiment::{Column, Experiment, Point, Task};
use super::super::sizes::Sizes;
use super::{BASIC, BOUNDARY, REGISTER, kernels_in_spaces, spaces};
use patchmg::solve::{Config, Method, Precision};
use patchmg::system::poisson::{PatchKernel, Problem};
use patchmg_device::kernels::DEGREES_3D;

const SECONDS: &[Column] = &[
    Column::new("coarser_s", "levels below L"),
    Column::new("transfer_s", "level L residual and transfer"),
    Column::new("smooth_s", "level L smooth"),
    Column::new("operator_s", "GMRES mat-vec"),
    Column::new("vectors_s", "GMRES vector operations"),
    Column::new("time_s", "solve [s]").lower(),
    Column::new("iterations", "iterations").lower(),
    Column::new("gdof_per_s", "throughput of the solve [GDoF/s]"),
];

const PERCENT: &[Column] = &[
    Column::new("coarser_percent", "levels below L"),
    Column::new("transfer_percent", "level L residual and transfer"),
    Column::new("smooth_percent", "level L smooth"),
    Column::new("operator_percent", "GMRES mat-vec"),
    Column::new("vectors_percent", "GMRES vector operations"),
    Column::new("time_s", "solve [s]").lower(),
    Column::new("iterations", "iterations").lower(),
];

const SHARES: &[&str] =
    &["coarser_percent", "transfer_percent", "smooth_percent", "operator_percent", "vectors_percent"];

/// How components are told apart, for every figure that does.
const HOW: &str = "GMRES in f64, V-cycle in f32, f = 1, to 1e-9. Each component is timed alone and multiplied by how often \
                   the solve does it, the levels below the finest as a V-cycle that starts there; the rest of the solve is \
                   vector operations and changes of precision. On a GPU, sizes are one level below the paper's. Our \
                   restriction computes the residual, so the transfer contains the paper's mat-vec and vector update on \
                   level L.";

pub const FIGURE10: Experiment = Experiment {
    name: "figure10",
    title: "Figure 10: components of the GMRES solver",
    remark: HOW,
    columns: SECONDS,
    points: |sizes| components(sizes, &[("basic", BASIC), ("register (ours)", REGISTER)], spaces()),
    picture: Picture::Stacked {
        columns: &["coarser_s", "transfer_s", "smooth_s", "operator_s", "vectors_s"],
        label: "time of a solve [s]",
    },
};

pub const FIGURE11: Experiment = Experiment {
    name: "figure11",
    title: "Figure 11: shares of the components of the GMRES solver",
    remark: HOW,
    columns: PERCENT,
    points: |sizes| components(sizes, &[("basic", BASIC), ("register (ours)", REGISTER)], spaces()),
    picture: Picture::Stacked { columns: SHARES, label: "share of the solve [%]" },
};

pub const FIGURE16: Experiment = Experiment {
    name: "figure16",
    title: "Figure 16: shares of the components with basic and boundary kernels in 3D",
    remark: HOW,
    columns: PERCENT,
    points: |sizes| {
        let kernels = [("basic", BASIC), ("boundary", BOUNDARY), ("register (ours)", REGISTER)];
        components(sizes, &kernels, DEGREES_3D.map(|degree| (3, degree)))
    },
    picture: Picture::Stacked { columns: SHARES, label: "share of the solve [%]" },
};

fn components(
    sizes: &Sizes,
    kernels: &[(&'static str, PatchKernel)],
    spaces: impl Iterator<Item = (usize, usize)>,
) -> Vec<Point> {
    let refine = |dim, degree| sizes.components(dim, degree);
    kernels_in_spaces(kernels, spaces, &[Precision::Mixed], refine, Task::Components)
}

pub const FIGURE12: Experiment = Experiment {
    name: "figure12",
    title: "Figure 12: time of a V-cycle by level in 3D",
    remark: "V-cycle in f32; the time of a level is that of a V-cycle from it less that of a V-cycle from the next \
             coarser one.",
    columns: &[
        Column::new("finest_percent", "level L"),
        Column::new("second_percent", "level L - 1"),
        Column::new("coarser_percent", "coarser levels"),
        Column::new("cycle_ms", "V-cycle [ms]").lower(),
    ],
    points: |sizes| {
        let point = |degree| {
            let size = [3, degree, sizes.throughput(3, degree)];
            Point::new("V-cycle", size, Task::Levels).precision(Precision::F32)
        };
        DEGREES_3D.map(point).collect()
    },
    picture: Picture::Stacked {
        columns: &["finest_percent", "second_percent", "coarser_percent"],
        label: "share of a V-cycle [%]",
    },
};

pub const FIGURE18: Experiment = Experiment {
    name: "figure18",
    title: "Figure 18: time of a GMRES solve over the problem size in 3D",
    remark: "u = prod sin(pi x_i), to 1e-9; set-up is not counted. The paper says that degrees without a curve are similar to degree 7.",
    columns: super::tables::SOLVE,
    points: |sizes| {
        let degrees = sizes.thin(&[1, 2, 3, 4, 7]);
        let series = degrees
            .into_iter()
            .flat_map(|degree| [Precision::F64, Precision::Mixed].map(|precision| (degree, precision)));
        series
            .flat_map(|(degree, precision)| {
                let config = Config { method: Method::Gmres, ..Config::default() };
                let task = Task::Solve { problem: Problem::Sine, config, kernel: PatchKernel::default() };
                (2..=sizes.throughput(3, degree)).map(move |refine| {
                    Point::new(format!("k = {degree}"), [3, degree, refine], task).precision(precision)
                })
            })
            .collect()
    },
    picture: Picture::Lines { x: Axis::Dofs, y: "s_per_gdof", log_y: true },
};
