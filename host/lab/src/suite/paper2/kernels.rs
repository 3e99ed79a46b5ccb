//! Operator and local solver: figures 8 to 10.

use super::super::drawing::{Axis, Picture};
use super::super::experiment::{Column, Experiment, FlowTask, Point};
use super::super::sizes::Sizes;
use super::{DEGREES, EXACT, SCHUR_CG, flow, levels};
use patchmg::solve::Precision;
use patchmg::system::stokes::LocalSolver;

/// On the finest level of each degree, in both scalars.
fn on_finest_levels(sizes: &Sizes, series: &str, task: FlowTask) -> Vec<Point> {
    let point = |degree| flow(series, [3, degree, *levels(sizes, degree).end()], task);
    [Precision::F64, Precision::F32]
        .into_iter()
        .flat_map(|precision| sizes.thin(&DEGREES).into_iter().map(move |degree| point(degree).precision(precision)))
        .collect()
}

pub const FIGURE8: Experiment = Experiment {
    name: "figure8",
    title: "Figure 8: the operator beside the limit of memory, 3D",
    remark: "Two words of memory for an unknown over the time of the operator, beside a copy, which moves as much. The \
             paper's figure is a roofline of shared memory for four kernels (padding, basic, shared memory, conflict-free), \
             which are not here, so it has no counterpart. The paper, in words: 3.95 TFLOP/s at best, 45 % of the peak.",
    columns: &[
        Column::new("gb_per_s", "bytes that must move over time [GB/s]").higher(),
        Column::new("copy_gb_per_s", "the same of a copy [GB/s]"),
        Column::new("copy_percent", "time of a copy in that of the operator [%]"),
        Column::new("time_ms", "time [ms]"),
    ],
    points: |sizes| on_finest_levels(sizes, "operator", FlowTask::Operator),
    picture: Picture::Lines { x: Axis::Degree, y: "copy_percent", log_y: false },
};

pub const FIGURE9: Experiment = Experiment {
    name: "figure9",
    title: "Figure 9: throughput of the operator, 3D",
    remark: "The same measurement by unknowns. The paper, in words: nearly 2 GDoF/s in the best case, in f64.",
    columns: &[
        Column::new("gdof_per_s", "throughput of the operator [GDoF/s]").higher(),
        Column::new("time_ms", "time [ms]"),
        Column::new("min_ms", "least time [ms]"),
        Column::new("max_ms", "most time [ms]"),
    ],
    points: |sizes| on_finest_levels(sizes, "operator", FlowTask::Operator),
    picture: Picture::Lines { x: Axis::Degree, y: "gdof_per_s", log_y: false },
};

pub const FIGURE10: Experiment = Experiment {
    name: "figure10",
    title: "Figure 10: throughput of local solvers, 3D",
    remark: "Local solves of a color are what a step takes beside the residuals of its eight colors, over the eight colors. \
             Exact: fast diagonalization and the stored inverse of the Schur complement; conjugate gradients: 15 steps \
             instead; inverse: the stored inverse of the whole local matrix, the paper's direct solver. On a GPU only the \
             exact solver has a kernel of its own. The paper has conjugate gradients with and without bank conflicts; in \
             words: without them 1.5 to 6 times as fast, and the direct solver suffers from global memory.",
    columns: &[
        Column::new("local_gdof_per_s", "throughput of the local solves of a color [GDoF/s]").higher(),
        Column::new("local_ms", "local solves of a color [ms]").lower(),
        Column::new("residual_ms", "residual before them [ms]"),
        Column::new("time_ms", "time of a step [ms]").lower(),
        Column::new("gdof_per_s", "throughput of a step [GDoF/s]"),
    ],
    points: |sizes| {
        let solvers = [("exact", EXACT), ("conjugate gradients", SCHUR_CG), ("inverse", LocalSolver::Inverse)];
        solvers.into_iter().flat_map(|(series, local)| on_finest_levels(sizes, series, FlowTask::Step(local))).collect()
    },
    picture: Picture::Lines { x: Axis::Degree, y: "local_gdof_per_s", log_y: true },
};
