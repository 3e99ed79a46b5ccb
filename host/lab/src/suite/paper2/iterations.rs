//! Iterations and errors: table 1 with numbers of steps, figures 4 and 5.

use super::super::drawing::{Axis, Picture};
use super::super::experiment::{Column, Experiment, FlowTask, Point};
use super::super::sizes::Sizes;
use super::published::{self, Local};
use super::{DEGREES, EXACT, RTOL, SCHUR_CG, flow, levels};
use patchmg::system::stokes::LocalSolver;

const COLUMNS: &[Column] = &[
    Column::new("nu", "iterations for eight digits").lower(),
    Column::new("iterations", "iterations").lower(),
    Column::new("fractional_iterations", "iterations, interpolated"),
];

pub const TABLE1: Experiment = Experiment {
    name: "table1",
    title: "Table 1: iterations in 2D by local solver",
    remark: "Flexible GMRES with a V-cycle to a residual of 1e-8; the right-hand side is equations 11 and 13 with mu = 0.5 \
             and sigma = 1, which the paper does not tell. Iterations for eight digits are -8 / log10 of the mean reduction; \
             interpolated is where a line through the last two residuals meets 1e-8. Exact is the paper's direct solver, up \
             to rounding: local problems are solved exactly. Conjugate gradients do 15 steps for the Schur complement of each \
             patch, preconditioned by the mass matrix of the pressure, and are exact on the coarsest mesh.",
    columns: COLUMNS,
    points: by_local_solver,
    picture: Picture::Lines { x: Axis::Degree, y: "nu", log_y: false },
};

fn by_local_solver(sizes: &Sizes) -> Vec<Point> {
    let levels = match (sizes.quick, sizes.gpu) {
        (true, _) => 3..=3,
        (_, true) => 3..=9,
        _ => 3..=6,
    };
    let solvers = [("exact", EXACT, Local::Direct), ("conjugate gradients", SCHUR_CG, Local::Schur)];
    let of_solver = |(name, local, paper): (&'static str, _, Local)| {
        levels.clone().flat_map(move |refine| {
            sizes.thin(&[3, 4, 5, 6, 7, 8]).into_iter().map(move |degree| {
                let task = FlowTask::Iterations { local, rtol: RTOL };
                flow(format!("{name}, L = {refine}"), [2, degree, refine], task)
                    .paper("nu", published::iterations(paper, degree, refine))
            })
        })
    };
    solvers.into_iter().flat_map(of_solver).collect()
}

pub const STEPS: Experiment = Experiment {
    name: "steps",
    title: "Steps of conjugate gradients in 2D",
    remark: "Not in the paper, which has about 15 on average: table 1 with other numbers of steps. The divergence is the \
             largest of a solution; local solutions that are not exact leave some, as small as the residual.",
    columns: &[
        Column::new("fractional_iterations", "iterations, interpolated").lower(),
        Column::new("iterations", "iterations").lower(),
        Column::new("divergence", "largest divergence"),
    ],
    points: by_steps,
    picture: Picture::Lines { x: Axis::Degree, y: "fractional_iterations", log_y: false },
};

fn by_steps(sizes: &Sizes) -> Vec<Point> {
    let levels = if sizes.quick { 3..=3 } else { 3..=5 };
    let of = |steps: usize, refine| {
        let (local, steps) =
            (LocalSolver::SchurCg { steps }, if steps == 1 { "1 step".into() } else { format!("{steps} steps") });
        sizes.thin(&[1, 2, 3, 4, 6, 8]).into_iter().map(move |degree| {
            flow(format!("{steps}, L = {refine}"), [2, degree, refine], FlowTask::Iterations { local, rtol: RTOL })
        })
    };
    levels
        .flat_map(|refine| [1, 2, 3, 4, 6, 8, LocalSolver::STEPS].into_iter().flat_map(move |steps| of(steps, refine)))
        .collect()
}

/// In 3D, each degree on all its levels.
fn in_three_dimensions(sizes: &Sizes, series: &str, task: FlowTask) -> Vec<Point> {
    let of_degree = |degree| levels(sizes, degree).map(move |refine| [3, degree, refine]);
    sizes
        .thin(&DEGREES)
        .into_iter()
        .flat_map(of_degree)
        .map(|size| flow(format!("{series}k = {}", size[1]), size, task))
        .collect()
}

pub const FIGURE4: Experiment = Experiment {
    name: "figure4",
    title: "Figure 4: iterations in 3D",
    remark: "As table 1, with equations 12 and 13. The paper, in words, with conjugate gradients: independent of the level; \
             at most three steps from degree 3 on.",
    columns: COLUMNS,
    points: |sizes| {
        let solvers = [("conjugate gradients, ", SCHUR_CG), ("exact, ", EXACT)];
        let of_solver =
            |(series, local)| in_three_dimensions(sizes, series, FlowTask::Iterations { local, rtol: RTOL });
        solvers.into_iter().flat_map(of_solver).collect()
    },
    picture: Picture::Lines { x: Axis::Dofs, y: "nu", log_y: false },
};

pub const FIGURE5: Experiment = Experiment {
    name: "figure5",
    title: "Figure 5: errors in 3D",
    remark: "The same problem to a residual of 1e-12, so that errors are those of the discretization; a dash is a solve that \
             rounding ends before. The paper, in words: optimal orders, k + 1 for velocity and pressure in L2.",
    columns: &[
        Column::new("l2_error", "error of the velocity, L2").lower(),
        Column::new("h1_error", "error of its gradient, L2").lower(),
        Column::new("l2_error_p", "error of the pressure, L2").lower(),
        Column::new("divergence", "largest divergence"),
        Column::new("iterations", "iterations").lower(),
    ],
    points: |sizes| in_three_dimensions(sizes, "", FlowTask::Iterations { local: EXACT, rtol: 1e-12 }),
    picture: Picture::Columns { x: Axis::Dofs, columns: &["l2_error", "l2_error_p"], log_y: true },
};
