//! The Stokes equations: parts, solves and memory.

use super::super::drawing::Picture;
use super::super::experiment::{Column, Experiment, FlowPart, FlowTask, Point, Task};
use super::super::sizes::Sizes;
use super::{FOR_AN_UNKNOWN, on_cpu, on_gpu};
use patchmg::solve::{Method, Precision};

/// Degrees and levels on which goals are stated.
fn sizes_of(sizes: &Sizes) -> Vec<[usize; 3]> {
    match (sizes.quick, sizes.gpu) {
        (true, _) => vec![[3, 2, 2]],
        (_, true) => vec![[3, 2, 7], [3, 4, 6]],
        _ => vec![[3, 2, 4], [3, 4, 3]],
    }
}

fn point(series: &str, size: [usize; 3], part: FlowPart, precision: Precision) -> Point {
    Point::new(series, size, Task::Flow(FlowTask::Speed(part))).precision(precision)
}

pub const STOKES: Experiment = Experiment {
    name: "stokes",
    title: "The Stokes equations in 3D",
    remark: "Raviart-Thomas elements; Q2 stands for RT2. Product with the operator, a step of the patch smoother (eight colors, \
             each with a residual of all unknowns and exact local solves), and solves of paper 2's problem to 1e-6 by flexible \
             GMRES with a V-cycle, without set-up; mixed is a V-cycle in f32 under f64.",
    columns: FOR_AN_UNKNOWN,
    points: |sizes| {
        let mut points = Vec::new();
        for size in sizes_of(sizes) {
            let step = if size[1] == 2 { (0.25, 0.6) } else { (0.35, 0.9) };
            let rows = [
                ("product", FlowPart::Operator, Precision::F64, Some((0.010, 0.025))),
                ("product", FlowPart::Operator, Precision::F32, None),
                ("step", FlowPart::Step, Precision::F64, Some(step)),
                ("step", FlowPart::Step, Precision::F32, None),
                ("solve", FlowPart::Solve, Precision::F64, Some((2.5, 6.0))),
                ("solve", FlowPart::Solve, Precision::Mixed, Some((1.4, 3.5))),
            ];
            points.extend(rows.map(|(series, part, precision, goal)| {
                let goal = goal.and_then(|(target, least)| on_gpu(sizes, target, Some(least)));
                point(series, size, part, precision).goal("measured", goal)
            }));
        }
        if !sizes.quick {
            for (degree, goal) in [(2, on_gpu(sizes, 4.0, Some(10.0))), (4, on_gpu(sizes, 2.5, Some(6.0)))] {
                let goal = if degree == 2 { goal.or(on_cpu(sizes, 400.0, 1200.0)) } else { goal };
                // A CPU takes minutes for the larger one.
                let known = degree == 2 || sizes.gpu;
                let solve = point("solve, 32 cells a direction", [3, degree, 5], FlowPart::Solve, Precision::Mixed);
                points.extend(known.then(|| solve.goal("measured", goal)));
            }
        }
        points
    },
    picture: Picture::Goals { y: "measured", or: "measured" },
};

pub const STOKES_MEMORY: Experiment = Experiment {
    name: "stokes_memory",
    title: "Memory of a solve of the Stokes equations",
    remark: "What the device loses while a solve runs, for an unknown, without the 20 basis vectors of flexible GMRES; and the \
             same of what the solver asks for. A CPU's memory has other users: there it is what the solver asks for.",
    columns: &[
        Column::new("measured", "for an unknown, without the Krylov basis [bytes]").lower(),
        Column::new("asked", "the same of vectors and tables that the solver asks for [bytes]"),
        Column::new("memory_gb", "of it all, the basis included [GB]"),
    ],
    points: |sizes| {
        let solves = [
            ("full multigrid", Method::Fmg, Precision::F64),
            ("full multigrid", Method::Fmg, Precision::Mixed),
            ("flexible GMRES", Method::Fgmres, Precision::Mixed),
        ];
        let point = |size, (series, method, precision)| {
            Point::new(series, size, Task::Flow(FlowTask::Memory(method)))
                .precision(precision)
                .goal("measured", on_gpu(sizes, 60.0, Some(60.0)))
        };
        sizes_of(sizes).into_iter().flat_map(|size| solves.map(|solve| point(size, solve))).collect()
    },
    picture: Picture::Goals { y: "measured", or: "measured" },
};
