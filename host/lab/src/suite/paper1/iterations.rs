//! Iterations: tables 1 to 3.

use super::super::drawing::{Axis, Picture};
use super::super::experiment::{Column, Experiment, Point, Rule, Task};
use super::super::sizes::Sizes;
use super::published;
use patchmg::multigrid::SmootherConfig;
use patchmg::solve::Method;
use patchmg_device::kernels::{DEGREES_2D, DEGREES_3D};

const COLUMNS: &[Column] = &[
    Column::new("iterations", "iterations").lower(),
    Column::new("fractional_iterations", "iterations, interpolated"),
    Column::new("first_residual", "first residual: after the first pass of full multigrid, or at the start"),
];

const PICTURE: Picture = Picture::Lines { x: Axis::Degree, y: "iterations", log_y: false };

pub const TABLE1: Experiment = Experiment {
    name: "table1",
    title: "Table 1: iterations of full multigrid in 2D",
    remark: "Algorithm 2.2 with f = 1 to a residual of 1e-9 of the right-hand side. Counted are the V-cycles on the \
             finest level after the first pass, at least one; a dash is a solve that does not converge in 100 or \
             stagnates before.",
    columns: COLUMNS,
    points: |sizes| full_multigrid(sizes, 2),
    picture: PICTURE,
};

pub const TABLE2: Experiment = Experiment {
    name: "table2",
    title: "Table 2: iterations of full multigrid in 3D",
    remark: "As table 1. A level is skipped if it has more unknowns than the limit `--max-dofs`, or needs more memory than the \
             device has; the reason stands below.",
    columns: COLUMNS,
    points: |sizes| full_multigrid(sizes, 3),
    picture: PICTURE,
};

fn full_multigrid(sizes: &Sizes, dim: usize) -> Vec<Point> {
    let degrees = if dim == 2 { DEGREES_2D } else { DEGREES_3D };
    let task = Task::Iterations { method: Method::Fmg, smoother: SmootherConfig::default(), rule: Rule::RightHandSide };
    let levels = sizes.iteration_levels(dim);
    let row = |refine| {
        degrees.clone().map(move |degree| {
            Point::new(format!("L = {refine}"), [dim, degree, refine], task)
                .paper("iterations", published::iterations(dim, degree, refine))
        })
    };
    levels.flat_map(row).collect()
}

pub const TABLE3: Experiment = Experiment {
    name: "table3",
    title: "Table 3: vertex patches and point Gauss-Seidel in 3D",
    remark: "f = 1, residual 1e-9 of the right-hand side, one step before and one after the coarse correction. The paper \
             does not say whether its iteration begins with a first pass through the levels: both are here. Point \
             Gauss-Seidel is lexicographic on a CPU and by colors on a GPU.",
    columns: COLUMNS,
    points: comparison,
    picture: PICTURE,
};

fn comparison(sizes: &Sizes) -> Vec<Point> {
    let smoothers =
        [("point Gauss-Seidel", SmootherConfig::PointGaussSeidel, 0), ("vertex patches", SmootherConfig::default(), 1)];
    let methods = [("full multigrid", Method::Fmg), ("V-cycle from 0", Method::VCycle)];
    smoothers
        .into_iter()
        .flat_map(|smoother| methods.map(|method| (smoother, method)))
        .flat_map(|((smoother_name, smoother, row), (method_name, method))| {
            let task = Task::Iterations { method, smoother, rule: Rule::RightHandSide };
            DEGREES_3D.map(move |degree| {
                let size = [3, degree, sizes.comparison_level(degree)];
                Point::new(format!("{smoother_name}, {method_name}"), size, task)
                    .paper("iterations", published::comparison(degree)[row])
            })
        })
        .collect()
}

pub const DEFINITIONS: Experiment = Experiment {
    name: "definitions",
    title: "Tables 1 and 2 by other definitions of an iteration",
    remark: "The same residual reduction of 1e-9 on level 4: counted from the right-hand side, from the residual after \
             the first pass, from a zero start, or by GMRES and conjugate gradients preconditioned by a V-cycle. Where \
             rounding ends the reduction before, there is no count.",
    columns: COLUMNS,
    points: definitions,
    picture: PICTURE,
};

fn definitions(sizes: &Sizes) -> Vec<Point> {
    let refine = if sizes.quick { 2 } else { 4 };
    let definitions = [
        ("full multigrid", Method::Fmg, Rule::RightHandSide),
        ("full multigrid, from its first residual", Method::Fmg, Rule::FirstPass),
        ("V-cycle from 0", Method::VCycle, Rule::RightHandSide),
        ("GMRES", Method::Gmres, Rule::RightHandSide),
        ("CG", Method::Cg, Rule::RightHandSide),
    ];
    let smoother = SmootherConfig::default();
    definitions
        .into_iter()
        .flat_map(|(name, method, rule)| {
            super::spaces().map(move |(dim, degree)| {
                Point::new(name, [dim, degree, refine], Task::Iterations { method, smoother, rule })
                    .paper("iterations", published::iterations(dim, degree, 4))
            })
        })
        .collect()
}
