//! Solves by flexible GMRES: table 4, figures 13 and 14.

use super::super::drawing::{Axis, By, Picture};
use super::super::experiment::{Column, Experiment, Point, Task};
use super::super::sizes::Sizes;
use super::published::{self, Solve};
use super::{CC_F32, CC_F64, TC_F16, TC_F16_EC, TC_F64, choice, precision};
use patchmg::krylov::Stopping;
use patchmg::solve::{Config, Method, Precision};
use patchmg::system::poisson::{Boxes, PatchKernel, Problem, TensorKernel};

/// Basis vectors: more than the paper's solves have iterations, so that none restarts.
const BASIS: usize = 30;

/// The paper's solver; the V-cycle takes the kernels, the operator of GMRES is the default one.
fn fgmres() -> Config {
    let stopping = Stopping { rtol: 1e-8, ..Stopping::default() };
    Config { method: Method::Fgmres, stopping, restart: BASIS, ..Config::default() }
}

/// The paper's kernels in the V-cycle, in its order: the first three for degree 3, too.
const KERNELS: [(&str, TensorKernel); 5] =
    [("CC f64", CC_F64), ("CC f32", CC_F32), ("TC f64", TC_F64), ("TC f16", TC_F16), ("TC f16 EC", TC_F16_EC)];
const OURS: [(&str, Precision); 2] = [("ours f64", Precision::F64), ("ours f32", Precision::Mixed)];

/// Of the solve: in lower precision it is the V-cycle alone.
fn mixed(kernel: TensorKernel) -> Precision {
    if precision(kernel) == Precision::F64 { Precision::F64 } else { Precision::Mixed }
}

/// Flexible GMRES by the paper's kernels, as many as there are for the degree, and by our own.
fn solves(size: [usize; 3], paper: usize, task: impl Fn(Config, PatchKernel) -> Task) -> Vec<Point> {
    let products = KERNELS[..paper].iter().map(|&(series, kernel)| {
        let point = Point::new(series, size, task(fgmres(), choice(kernel, Boxes::Patch)));
        point.precision(mixed(kernel))
    });
    let ours = OURS.map(|(series, precision)| {
        Point::new(series, size, task(fgmres(), PatchKernel::default())).precision(precision)
    });
    products.chain(ours).map(Point::discontinuous).collect()
}

pub const TABLE4: Experiment = Experiment {
    name: "table4",
    title: "Table 4: flexible GMRES in different precisions",
    remark: "u = prod sin(pi x_i), residual 1e-8, a V-cycle a step. CC: V-cycle on CUDA cores, TC: on tensor cores, EC: error \
             correction, ours: columns in registers; in lower precision the V-cycle alone. The operator of GMRES is our \
             default one in f64, the paper's is on the same cores as its V-cycle. For degree 7 our errors contain algebraic \
             error. The paper's errors are in brackets where their size is transcribed; others of its table: 1.62e-9 (f64) and \
             4.86e-8 (f32) for degree 3, 3.43e-12 (f64, CC), 2.18e-12 (f32), 4.32e-11 (f16), 1.04e-11 and 3.32e-11 (f16 EC) for \
             degree 7.",
    columns: &[
        Column::new("time_s", "time of a solve [s]").lower(),
        Column::new("iterations", "iterations").lower(),
        Column::new("l2_error", "L2 error"),
        Column::new("s_per_gdof", "time for an unknown [ns/DoF]").lower().derived(),
        Column::new("min_s", "least time [s]"),
        Column::new("max_s", "most time [s]"),
    ],
    points: |sizes| {
        let sized = [3, 7].into_iter().flat_map(|degree| sizes.solves(degree).map(move |refine| [degree, refine]));
        sized.flat_map(|[degree, refine]| precisions(degree, refine)).collect()
    },
    picture: Picture::Grouped { column: "time_s", by: By::SeriesOfSize },
};

fn precisions(degree: usize, refine: usize) -> Vec<Point> {
    let published = published::TABLE4.iter().find(|(size, _)| *size == [degree, refine]);
    let kernels = if degree == 3 { 3 } else { KERNELS.len() };
    let mut points =
        solves([3, degree, refine], kernels, |config, kernel| Task::Solve { problem: Problem::Sine, config, kernel });
    for (point, paper) in points.iter_mut().zip(published.iter().flat_map(|(_, rows)| *rows)) {
        let Solve { time_s, iterations, l2_error } = *paper;
        point.paper.extend([("time_s", time_s), ("iterations", iterations)]);
        point.paper.extend(l2_error.map(|error| ("l2_error", error)));
    }
    points
}

macro_rules! residuals {
    ($($iteration:literal)+) => {
        &[
            Column::new("iterations", "iterations").lower(),
            $(Column::new(concat!("residual_", $iteration), concat!("r", $iteration)),)+
        ]
    };
}

pub const FIGURE13: Experiment = Experiment {
    name: "figure13",
    title: "Figure 13: residuals of flexible GMRES by precision, Q7",
    remark: "As table 4, by the precision of the V-cycle; rN is the residual after N iterations, relative to the right-hand side. The paper, in words: f64, f32 \
             and f16 with error correction (EC) coincide, plain f16 needs many times as many iterations.",
    columns: residuals!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30),
    points: |sizes| {
        solves([3, 7, *sizes.solves(7).start()], KERNELS.len(), |config, kernel| Task::History { config, kernel })
    },
    picture: Picture::Iterations { prefix: "residual_", label: "residual" },
};

pub const FIGURE14: Experiment = Experiment {
    name: "figure14",
    title: "Figure 14: errors of GMRES and of flexible GMRES in mixed precision, Q7",
    remark: "u = prod sin(pi x_i), residual 1e-8, GMRES in f64, V-cycle in lower precision. GMRES takes the V-cycle for one linear \
             map, applies it to the sum of its basis vectors and ends where its own residuals say so, after as many \
             iterations as the flexible variant; the residual here is that of the solution. (The program's `gmres` is \
             flexible in mixed precision.) The paper, in words: errors of GMRES grow with refinement, that of the flexible \
             variant stays at 1e-10.",
    columns: &[
        Column::new("l2_error", "L2 error").lower(),
        Column::new("h1_error", "error of the gradient in L2").lower(),
        Column::new("residual", "residual of the solution, relative"),
        Column::new("iterations", "iterations").lower(),
    ],
    points: under_refinement,
    picture: Picture::Columns { x: Axis::Dofs, columns: &["l2_error", "h1_error"], log_y: true },
};

fn under_refinement(sizes: &Sizes) -> Vec<Point> {
    let kernels = [("f32", PatchKernel::default()), ("f16 EC", choice(TC_F16_EC, Boxes::Patch))];
    let methods = [("GMRES", false), ("FGMRES", true)];
    let of_size = |refine| {
        kernels.into_iter().flat_map(move |(operands, kernel)| {
            methods.map(|(method, flexible)| {
                let task = Task::Errors { flexible, kernel };
                Point::new(format!("{method}, V-cycle in {operands}"), [3, 7, refine], task)
                    .discontinuous()
                    .precision(Precision::Mixed)
            })
        })
    };
    sizes.refinements().flat_map(of_size).collect()
}
