//! Whole solves: figures 6 and 13, table 2.

use super::super::drawing::{Axis, Picture};
use super::super::experiment::{Column, Experiment, FlowTask, Point, Task};
use super::super::sizes::Sizes;
use super::published::{self, Comparison};
use super::{DEGREES, EXACT, RTOL, SCHUR_CG, flow, levels};
use patchmg::solve::Precision;

/// Each degree on all its levels.
fn solves(sizes: &Sizes, precision: Precision) -> Vec<Point> {
    let of_degree = |degree| levels(sizes, degree).map(move |refine| [3, degree, refine]);
    let task = FlowTask::Solve { local: EXACT, rtol: RTOL };
    sizes
        .thin(&DEGREES)
        .into_iter()
        .flat_map(of_degree)
        .map(|size| flow(format!("k = {}", size[1]), size, task).precision(precision))
        .collect()
}

pub const FIGURE6: Experiment = Experiment {
    name: "figure6",
    title: "Figure 6: error and time in 3D",
    remark: "Flexible GMRES with a V-cycle to a residual of 1e-8, local problems solved exactly. Time is that of a solve, \
             without set-up. The paper, in words: for a given accuracy higher degrees take much less time.",
    columns: &[
        Column::new("l2_error", "error of the velocity, L2"),
        Column::new("l2_error_p", "error of the pressure, L2"),
        Column::new("time_s", "time of a solve [s]").lower(),
        Column::new("min_s", "least time [s]"),
        Column::new("max_s", "most time [s]"),
        Column::new("iterations", "iterations").lower(),
    ],
    points: |sizes| solves(sizes, Precision::F64),
    picture: Picture::Columns { x: Axis::Dofs, columns: &["l2_error", "time_s"], log_y: true },
};

pub const FIGURE13: Experiment = Experiment {
    name: "figure13",
    title: "Figure 13: double and mixed precision in 3D",
    remark: "As figure 6; mixed is a V-cycle in f32 under GMRES in f64. The paper, in words: mixed precision is 1.6 times as \
             fast for higher degrees, more than 20 MDoF/s at best.",
    columns: &[
        Column::new("mdof_per_s", "throughput of a solve [MDoF/s]").higher(),
        Column::new("ns_per_dof", "time for an unknown [ns/DoF]"),
        Column::new("time_s", "time of a solve [s]"),
        Column::new("iterations", "iterations").lower(),
        Column::new("fractional_iterations", "iterations, interpolated"),
    ],
    points: |sizes| {
        [Precision::F64, Precision::Mixed].into_iter().flat_map(|precision| solves(sizes, precision)).collect()
    },
    picture: Picture::Lines { x: Axis::Dofs, y: "mdof_per_s", log_y: true },
};

pub const TABLE2: Experiment = Experiment {
    name: "table2",
    title: "Table 2: Poisson and Stokes equations in 3D",
    remark: "On 32 x 32 x 32 cells, to a residual of 1e-6. Poisson's equation by discontinuous elements, u = prod sin(pi \
             x_i), and GMRES. Its smoother takes residual and local solution in one kernel, and is exact; the paper's values \
             in brackets are of its version that computes the residual of all dofs first. Its fused version, which leaves out \
             parts of the residual, takes 4 and 5 iterations, 1.068 and 1.866 ns/DoF a step, 15.060 and 31.140 ns/DoF a \
             solve. The Stokes equations as in figure 6; the paper has conjugate gradients.",
    columns: &[
        Column::new("patch_dofs", "dofs of a patch with its boundary"),
        Column::new("operator_ns", "operator [ns/DoF]").lower(),
        Column::new("step_ns", "smoothing step [ns/DoF]").lower(),
        Column::new("iterations", "iterations").lower(),
        Column::new("ns_per_dof", "solve [ns/DoF]").lower(),
        Column::new("fractional_iterations", "iterations, interpolated"),
    ],
    points: comparison,
    picture: Picture::Bars { columns: &["operator_ns", "step_ns", "ns_per_dof"] },
};

fn comparison(sizes: &Sizes) -> Vec<Point> {
    let refine = if sizes.quick { 2 } else { 5 };
    let beside = |point: Point, paper: &Comparison| {
        point
            .paper("patch_dofs", Some(paper.patch_dofs))
            .paper("operator_ns", Some(paper.operator_ns))
            .paper("step_ns", Some(paper.step_ns))
            .paper("iterations", Some(paper.iterations))
            .paper("ns_per_dof", Some(paper.solve_ns))
    };
    let poisson = published::POISSON.iter().map(|(degree, paper)| {
        let point = Point::new(format!("Poisson Q{degree}"), [3, *degree, refine], Task::Comparison);
        beside(point.discontinuous(), paper)
    });
    let solvers = [("conjugate gradients", SCHUR_CG), ("exact", EXACT)];
    let stokes = solvers.into_iter().flat_map(|(name, local)| {
        published::STOKES.iter().map(move |(degree, paper)| {
            let series = format!("Stokes RT{degree}, {name}");
            beside(flow(series, [3, *degree, refine], FlowTask::Comparison(local)), paper)
        })
    });
    poisson.chain(stokes).collect()
}
