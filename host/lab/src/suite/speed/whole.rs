//! Whole solves: time, start and memory.

use super::super::drawing::{By, Picture};
use super::super::experiment::{Column, Data, Experiment, Kernels, Point, Task};
use super::super::goal::Goal;
use super::super::sizes::Sizes;
use super::{FOR_AN_UNKNOWN, on_cpu, on_gpu};
use patchmg::solve::{Method, Precision};

const METHODS: [(&str, Method); 2] = [("full multigrid", Method::Fmg), ("GMRES", Method::Gmres)];

/// `[degree, refine]`, scalar, and what is aimed at, nanoseconds for an unknown.
type Solve = ([usize; 2], Precision, Option<Goal>);

fn solves(sizes: &Sizes) -> Vec<Solve> {
    let gpu = |target, least| on_gpu(sizes, target, Some(least));
    if sizes.quick {
        return [Precision::Mixed, Precision::F64].map(|precision| ([3, 2], precision, None)).to_vec();
    }
    if !sizes.gpu {
        return vec![
            ([4, 5], Precision::Mixed, on_cpu(sizes, 60.0, 150.0)),
            ([4, 5], Precision::F64, None),
            ([3, 4], Precision::Mixed, None),
            ([7, 3], Precision::Mixed, None),
        ];
    }
    // The right-hand side of a size is integrated once.
    vec![
        ([3, 8], Precision::Mixed, gpu(0.3, 0.8)),
        ([3, 8], Precision::F64, gpu(0.6, 1.5)),
        ([7, 7], Precision::Mixed, gpu(0.3, 0.8)),
        ([7, 7], Precision::F64, gpu(0.6, 1.5)),
        ([4, 6], Precision::Mixed, gpu(0.6, 1.5)),
        ([4, 5], Precision::Mixed, gpu(2.0, 6.0)),
    ]
}

/// Every solve by every method.
fn by_methods(sizes: &Sizes, point: impl Fn(&'static str, Method, Solve) -> Point) -> Vec<Point> {
    solves(sizes).into_iter().flat_map(|solve| METHODS.map(|(series, method)| point(series, method, solve))).collect()
}

pub const SOLVE: Experiment = Experiment {
    name: "solve",
    title: "Solve to 1e-9 in 3D",
    remark: "-Laplace u = f with u = prod sin(pi x_i), without set-up, in nanoseconds for an unknown; mixed is a V-cycle in \
             f32 under f64. Both methods are judged; the targets are stated for the faster one.",
    columns: FOR_AN_UNKNOWN,
    points: |sizes| {
        by_methods(sizes, |series, method, ([degree, refine], precision, goal)| {
            Point::new(format!("{series}, L = {refine}"), [3, degree, refine], Task::Speed(method))
                .precision(precision)
                .goal("measured", goal)
        })
    },
    picture: Picture::Grouped { column: "measured", by: By::Series },
};

pub const START: Experiment = Experiment {
    name: "start",
    title: "First solve from the start of the program",
    remark: "Wall clock of a process from its start to its end: full multigrid in mixed precision, loading of kernels, \
             set-up, right-hand side and errors included. Kernels are kept by the driver from an earlier process, or compiled \
             anew.",
    columns: &[
        Column::new("measured", "median time [s]").lower(),
        Column::new("min", "least time [s]"),
        Column::new("max", "most time [s]"),
        Column::new("setup_s", "of it, set-up [s]"),
        Column::new("solve_s", "of it, solve [s]"),
    ],
    points: |sizes| {
        let point = |series, [degree, refine]: [usize; 2], kernels, data, goal| {
            Point::new(series, [3, degree, refine], Task::Start(kernels, data))
                .precision(Precision::Mixed)
                .goal("measured", goal)
        };
        let kept = |size, data, goal| {
            let series = match data {
                Data::Name => "kernels kept",
                Data::Expressions => "kernels kept, by expressions",
                Data::Inseparable => "kernels kept, by expressions that are no products",
            };
            point(series, size, Kernels::Kept, data, goal)
        };
        if sizes.quick {
            let all = [Data::Name, Data::Expressions, Data::Inseparable];
            return all.map(|data| kept([4, 2], data, None)).to_vec();
        }
        let goal = |target, least| on_gpu(sizes, target, least);
        let mut points = vec![kept([4, 5], Data::Name, goal(0.3, None))];
        if sizes.gpu {
            points.push(kept([4, 6], Data::Name, goal(0.35, Some(1.5))));
            points.push(kept([7, 7], Data::Name, goal(1.2, Some(2.0))));
            points.push(kept([7, 7], Data::Expressions, goal(1.2, Some(2.0))));
            points.push(kept([7, 7], Data::Inseparable, goal(1.2, Some(2.0))));
            points.push(point("kernels compiled", [4, 6], Kernels::Compiled, Data::Name, goal(0.7, Some(1.5))));
        }
        points
    },
    picture: Picture::Grouped { column: "measured", by: By::Series },
};

pub const MEMORY: Experiment = Experiment {
    name: "memory",
    title: "Memory of a solve",
    remark: "Two numbers are compared with the limit, and the larger one counts: the memory that the device loses (free \
             before a solve is set up, not free while it runs) and the vectors and tables that the solver asks for. The \
             limit is six f64 vectors of the finest level and the Krylov basis: 10 vectors for GMRES, and 10 more in f32 in \
             mixed precision, where it is flexible GMRES. A GPU loses more than is asked for: the code of kernels that the \
             driver loads, if no solve before had them, and the rounding of each allocation to 2 MiB. A CPU's memory has \
             other users: there it is what the solver asks for.",
    columns: &[
        Column::new("measured", "memory that the device loses [GB]").lower(),
        Column::new("asked", "vectors and tables that the solver asks for [GB]"),
        Column::new("floor", "six vectors and the Krylov basis [GB]"),
        Column::new("ratio", "the larger of both over that [%]").lower().percent(&["measured", "asked"], "floor"),
    ],
    points: |sizes| {
        by_methods(sizes, |series, method, ([degree, refine], precision, _)| {
            Point::new(format!("{series}, L = {refine}"), [3, degree, refine], Task::Memory(method))
                .precision(precision)
                .goal("ratio", (!sizes.quick).then(|| Goal::new(100.0, Some(100.0))))
        })
    },
    picture: Picture::Grouped { column: "ratio", by: By::Series },
};
