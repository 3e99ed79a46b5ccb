//! Measured tables: 5, 6 and 7.

use super::super::drawing::{By, Picture};
use super::super::experiment::{Column, Experiment, Launch, Point, Task};
use super::super::sizes::Sizes;
use super::published::{self, KernelAnalysis, Solve};
use super::{BASIC, CONFLICT_FREE, LINEAR, REGISTER};
use patchmg::solve::{Config, Method, Precision};
use patchmg::system::poisson::{PatchKernel, Problem};

pub const TABLE5: Experiment = Experiment {
    name: "table5",
    title: "Table 5: fused kernels, Q3 in 3D, f64",
    remark: "Times of a color. Share of the peak: operations by formula, at the clock that the driver tells, without tensor \
             cores. Wavefronts: counted from the kernels' own accesses to shared memory, 128 bytes each; their share of the \
             bandwidth stands in for the paper's L1 throughput. Branch efficiency needs a profiler: not measured.",
    columns: &[
        Column::new("color_ms", "time of a color [ms]").lower(),
        Column::new("peak_percent", "share of the f64 peak [%]"),
        Column::new("l1_percent", "share of the shared-memory bandwidth [%]"),
        Column::new("conflicts", "wavefronts of a block that bank conflicts add"),
        Column::new("wavefronts", "wavefronts of a patch"),
        Column::new("branch_percent", "branch efficiency [%]"),
        Column::new("gflops", "GFLOP/s"),
        Column::new("gdof_per_s", "throughput of a smoothing step [GDoF/s]"),
    ],
    points: |sizes| {
        let size = [3, 3, sizes.throughput(3, 3)];
        let paper = [("basic", BASIC), ("linear", LINEAR), ("conflict-free", CONFLICT_FREE)];
        let paper = paper.into_iter().zip(published::TABLE5).map(|((name, kernel), published)| {
            let KernelAnalysis { l1_percent, peak_percent, conflicts, branch_percent, color_ms } = published;
            Point::new(name, size, Task::Analysis(kernel))
                .paper("color_ms", Some(color_ms))
                .paper("peak_percent", Some(peak_percent))
                .paper("l1_percent", Some(l1_percent))
                .paper("conflicts", Some(conflicts))
                .paper("branch_percent", Some(branch_percent))
        });
        paper.chain([Point::new("register (ours)", size, Task::Analysis(REGISTER))]).collect()
    },
    picture: Picture::Grouped { column: "color_ms", by: By::Series },
};

pub const TABLE6: Experiment = Experiment {
    name: "table6",
    title: "Table 6: fused and separate kernels, Q2 and Q6 in 3D, f64",
    remark: "Times of a color, conflict-free kernels; separate is residual and solver together. The solver alone is the global step less the operator's residual, \
             the residual alone the separate step less that; loads and stores alone are timed for both together.",
    columns: &[
        Column::new("color_ms", "time of a color [ms]").lower(),
        Column::new("data_only_ms", "loads and stores alone [ms]"),
        Column::new("blocks_per_sm", "blocks of a multiprocessor"),
    ],
    points: |sizes| {
        published::TABLE6
            .into_iter()
            .flat_map(|(degree, paper)| {
                let launches = [("fused", Launch::Fused), ("residual", Launch::Residual), ("solver", Launch::Solver)];
                let size = [3, degree, sizes.throughput(3, degree)];
                let both = Point::new("separate", size, Task::Launch(Launch::Separate));
                let apart = launches.into_iter().zip(paper).map(move |((name, launch), paper)| {
                    Point::new(name, size, Task::Launch(launch))
                        .paper("color_ms", Some(paper.total_ms))
                        .paper("data_only_ms", Some(paper.data_only_ms))
                        .paper("blocks_per_sm", Some(paper.blocks_per_sm))
                });
                apart.chain([both])
            })
            .collect()
    },
    picture: Picture::Grouped { column: "color_ms", by: By::Series },
};

/// Columns of a solve.
pub const SOLVE: &[Column] = &[
    Column::new("l2_error", "L2 error"),
    Column::new("iterations", "iterations").lower(),
    Column::new("fractional_iterations", "iterations, interpolated"),
    Column::new("time_s", "time of a solve [s]").lower(),
    Column::new("min_s", "least time [s]"),
    Column::new("max_s", "most time [s]"),
    Column::new("s_per_gdof", "seconds for 10^9 unknowns"),
];

pub const TABLE7: Experiment = Experiment {
    name: "table7",
    title: "Table 7: double and mixed precision in 3D",
    remark: "u = prod sin(pi x_i), to 1e-9. The paper's table says full multigrid, its text GMRES: both are here, each \
             beside the paper's values.",
    columns: SOLVE,
    points: precisions,
    picture: Picture::Grouped { column: "time_s", by: By::Precision },
};

fn precisions(sizes: &Sizes) -> Vec<Point> {
    let methods = [("full multigrid", Method::Fmg), ("GMRES", Method::Gmres)];
    methods
        .into_iter()
        .flat_map(|method| published::TABLE7.map(|row| (method, row)))
        .flat_map(|((name, method), (degree, rows))| {
            [Precision::F64, Precision::Mixed].into_iter().zip(rows).map(move |(precision, paper)| {
                let Solve { l2_error, iterations, time_s } = paper;
                let config = Config { method, ..Config::default() };
                let task = Task::Solve { problem: Problem::Sine, config, kernel: PatchKernel::default() };
                Point::new(name, [3, degree, sizes.throughput(3, degree)], task)
                    .precision(precision)
                    .paper("l2_error", l2_error)
                    .paper("iterations", iterations)
                    .paper("time_s", Some(time_s))
            })
        })
        .collect()
}
