//! Operator and local solver: figures 8 to 10.

use super::super::drawing::{Axis, Picture};
use super::super::experiment::{Column, Experiment, FlowTask, Point, Task, Units};
use super::super::sizes::Sizes;
use super::{DEGREES, EXACT, SCHUR_CG, flow, levels};
use patchmg::solve::Precision;
use patchmg::system::stokes::{LocalSolver, Paper2, StokesKernel};

/// On the finest level of each degree, in both scalars.
fn on_finest_levels(sizes: &Sizes, series: &str, task: FlowTask) -> Vec<Point> {
    let point = |degree| flow(series, [3, degree, *levels(sizes, degree).end()], task);
    [Precision::F64, Precision::F32]
        .into_iter()
        .flat_map(|precision| sizes.thin(&DEGREES).into_iter().map(move |degree| point(degree).precision(precision)))
        .collect()
}

/// The operator's kernels, in the order of the paper.
fn operators(sizes: &Sizes) -> Vec<Point> {
    let kernels = [
        ("padding", StokesKernel::Paper2(Paper2::Padding)),
        ("basic", StokesKernel::Paper2(Paper2::Basic)),
        ("shared memory", StokesKernel::Paper2(Paper2::Shared)),
        ("conflict-free", StokesKernel::Paper2(Paper2::ConflictFree)),
        (OURS, StokesKernel::Register),
    ];
    kernels
        .into_iter()
        .flat_map(|(series, kernel)| on_finest_levels(sizes, series, FlowTask::Operator(kernel)))
        .collect()
}

/// The series of the default kernels.
const OURS: &str = "register (ours)";

pub const FIGURE8: Experiment = Experiment {
    name: "figure8",
    title: "Figure 8: roofline of shared memory of the operator, 3D",
    remark: "Operations by formula, the same for all kernels and without those on padded zeros; bytes of shared memory from a trace \
             of a block (128 for each wavefront, conflicts included), bandwidth of shared memory from clock and multiprocessors. \
             Our kernel has its operands in registers, and stands beside a copy, which moves as many words of memory: two for an \
             unknown. Degrees 1 to 4. The paper, in words, in f64 on an A100 of 8.7 TFLOP/s: padding 2.88 TFLOP/s, basic 3.62, \
             conflict-free 3.95.",
    columns: &[
        Column::new("intensity", "operations a byte of shared memory"),
        Column::new("gflops", "GFLOP/s").higher(),
        Column::new("roof_percent", "share of the roof [%]"),
        Column::new("peak_percent", "share of the peak [%]"),
        Column::new("l1_percent", "share of the shared-memory bandwidth [%]"),
        Column::new("wavefronts", "wavefronts of a patch"),
        Column::new("conflicts", "wavefronts of a patch by bank conflicts"),
        Column::new("shared_gb_per_s", "bandwidth of shared memory [GB/s]"),
        Column::new("gb_per_s", "bytes that must move over time [GB/s]"),
        Column::new("copy_gb_per_s", "the same of a copy [GB/s]"),
        Column::new("copy_percent", "time of a copy in that of the operator [%]"),
        Column::new("time_ms", "time [ms]"),
    ],
    points: |sizes| {
        let roof = Point::new("roof", [3, 3, sizes.throughput(3, 3)], Task::Roofs(Units::CudaCores));
        let roofs = [Precision::F64, Precision::F32].map(|precision| roof.clone().precision(precision));
        roofs.into_iter().chain(operators(sizes)).collect()
    },
    picture: Picture::Roofline { bandwidth: "shared_gb_per_s" },
};

pub const FIGURE9: Experiment = Experiment {
    name: "figure9",
    title: "Figure 9: throughput of the operator, 3D",
    remark: "The measurements of figure 8 by unknowns. The paper, in words: nearly 2 GDoF/s in the best case, in f64.",
    columns: &[
        Column::new("gdof_per_s", "throughput of the operator [GDoF/s]").higher(),
        Column::new("time_ms", "time [ms]"),
        Column::new("min_ms", "least time [ms]"),
        Column::new("max_ms", "most time [ms]"),
    ],
    points: operators,
    picture: Picture::Lines { x: Axis::Degree, y: "gdof_per_s", log_y: false },
};

pub const FIGURE10: Experiment = Experiment {
    name: "figure10",
    title: "Figure 10: throughput of local solvers, 3D",
    remark: "Local solves of a color are what a step takes beside the residuals of its eight colors, over the eight colors. \
             Exact: fast diagonalization and the stored inverse of the Schur complement, by our kernel. The paper's kernels: direct, \
             the stored inverse of the whole local matrix; Schur complement, 15 steps of conjugate gradients in shared memory; \
             conflict-free, the same without bank conflicts. The paper, in words: without them 1.5 to 6 times as fast, and the \
             direct solver suffers from global memory. Conjugate gradients and inverse: the same methods by one kernel for each axis, as \
             on a CPU. Inverses end at k = 3: a host takes minutes for those of k = 4.",
    columns: &[
        Column::new("local_gdof_per_s", "throughput of the local solves of a color [GDoF/s]").higher(),
        Column::new("local_ms", "local solves of a color [ms]").lower(),
        Column::new("residual_ms", "residual before them [ms]"),
        Column::new("time_ms", "time of a step [ms]").lower(),
        Column::new("gdof_per_s", "throughput of a step [GDoF/s]"),
    ],
    points: |sizes| {
        let paper = |level| StokesKernel::Paper2(level);
        let solvers = [
            ("exact", EXACT, StokesKernel::Register),
            ("direct", LocalSolver::Inverse, paper(Paper2::Basic)),
            ("Schur complement", SCHUR_CG, paper(Paper2::Shared)),
            ("conflict-free", SCHUR_CG, paper(Paper2::ConflictFree)),
            ("conjugate gradients", SCHUR_CG, StokesKernel::Register),
            ("inverse", LocalSolver::Inverse, StokesKernel::Register),
        ];
        solvers
            .into_iter()
            .flat_map(|(series, local, kernel)| {
                let mut points = on_finest_levels(sizes, series, FlowTask::Step(local, kernel));
                // A host takes minutes for the inverses of degree 4.
                points.retain(|point| local != LocalSolver::Inverse || point.key.degree < 4);
                points
            })
            .collect()
    },
    picture: Picture::Lines { x: Axis::Degree, y: "local_gdof_per_s", log_y: true },
};
