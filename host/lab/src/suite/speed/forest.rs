//! Elliptic equations on forests: products, solves, Newton's method and set-up.

use super::super::domain::Domain;
use super::super::drawing::{By, Picture};
use super::super::experiment::{Column, Experiment, ForestPart, ForestTask, Point, Task};
use super::super::goal::Goal;
use super::{FOR_AN_UNKNOWN, on_cpu, on_gpu};
use patchmg::solve::Precision;

/// On a mesh of `[dim, degree, refine]`.
fn point(series: impl Into<String>, domain: Domain, size: [usize; 3], part: ForestPart, scalar: Precision) -> Point {
    Point::new(series, size, Task::Forest(domain, ForestTask::Speed(part))).precision(scalar)
}

fn product(size: [usize; 3], scalar: Precision) -> Point {
    point(format!("product, shell, L = {}", size[2]), Domain::Shell, size, ForestPart::Product, scalar)
}

fn product_on_boxes(size: [usize; 3]) -> Point {
    point("product, boxes", Domain::Box, size, ForestPart::Product, Precision::F64)
}

fn shell(size: [usize; 3]) -> Point {
    point(format!("solve, shell, L = {}", size[2]), Domain::Shell, size, ForestPart::Solve, Precision::Mixed)
}

/// After so many cycles of refinement where the error seems large.
fn corner(size: [usize; 3], cycle: usize) -> Point {
    point("solve, L", Domain::L, size, ForestPart::Solve, Precision::Mixed).cycle(cycle)
}

/// Billions of unknowns a second.
fn rates(target: f64, least: f64) -> (f64, f64) {
    (1.0 / target, 1.0 / least)
}

pub const FORESTS: Experiment = Experiment {
    name: "forests",
    title: "Elliptic equations on forests",
    remark: "Products with the operator: on the shell with its coefficient, and on boxes with the coefficient 1. Solves to 1e-9 by conjugate gradients \
             with a V-cycle in f32 under f64, Chebyshev smoothing of degree 5, without set-up: on the shell, and on the L (extruded in 3D) after \
             cycles of refinement where the error seems large.",
    columns: FOR_AN_UNKNOWN,
    points: |sizes| {
        let (double, single) = (Precision::F64, Precision::F32);
        if sizes.quick {
            return vec![
                product([3, 3, 1], double),
                product_on_boxes([3, 4, 1]),
                corner([2, 2, 1], 1),
                shell([3, 3, 1]),
            ];
        }
        let judged = |point: Point, goal: Option<Goal>| point.goal("measured", goal);
        if !sizes.gpu {
            return vec![
                judged(product([3, 4, 4], double), on_cpu(sizes, 3.5, 6.0)),
                judged(product([3, 4, 4], single), None),
                judged(product_on_boxes([3, 4, 5]), None),
                judged(corner([2, 2, 5], 6), on_cpu(sizes, 500.0, 1200.0)),
                judged(corner([3, 2, 3], 3), None),
                judged(shell([3, 3, 4]), on_cpu(sizes, 2000.0, 5000.0)),
            ];
        }
        let gpu = |(target, least)| on_gpu(sizes, target, Some(least));
        let of_shell = |refine: usize| {
            [
                judged(product([3, 3, refine], double), gpu(rates(22.0, 13.0))),
                judged(product([3, 3, refine], single), gpu(rates(42.0, 26.0))),
                judged(shell([3, 3, refine]), gpu(if refine == 5 { (8.0, 18.0) } else { (7.0, 14.0) })),
            ]
        };
        let others = [
            judged(product_on_boxes([3, 4, 6]), gpu(rates(60.0, 25.0))),
            judged(corner([2, 2, 5], 11), gpu((3.5, 9.0))),
            judged(corner([3, 2, 3], 7), gpu((4.0, 11.0))),
        ];
        [5, 6].into_iter().flat_map(of_shell).chain(others).collect()
    },
    picture: Picture::Goals { y: "measured", or: "measured" },
};

pub const FORESTS_ONCE: Experiment = Experiment {
    name: "forests_once",
    title: "Newton's method and set-up on forests",
    remark: "All of Newton's method for the minimal surface of tables 6 and 7 of paper 3, Laplace's solution and the coefficients of each step \
             included, after the set-up of the levels. Set-up: from the leaves of the extruded L, after cycles of refinement where the error seems large, to the end of the first product \
             in f64; coarser meshes are made when a V-cycle first needs them.",
    columns: &[
        Column::new("measured", "median time [s]").lower(),
        Column::new("min", "least time [s]"),
        Column::new("max", "most time [s]"),
        Column::new("steps", "steps"),
        Column::new("setup_s", "set-up before them [s]"),
    ],
    points: |sizes| {
        let newton = |size, goal: Option<(f64, f64)>| {
            point("minimal surface", Domain::Disk, size, ForestPart::Newton, Precision::Mixed)
                .goal("measured", goal.and_then(|(target, least)| on_gpu(sizes, target, Some(least))))
        };
        let set_up = |size, cycle, goal: Option<(f64, f64)>| {
            point("set-up, L", Domain::L, size, ForestPart::SetUp, Precision::F64)
                .cycle(cycle)
                .goal("measured", goal.and_then(|(target, least)| on_gpu(sizes, target, Some(least))))
        };
        match (sizes.quick, sizes.gpu) {
            (true, _) => vec![newton([2, 4, 1], None), set_up([3, 2, 1], 1, None)],
            (_, true) => vec![
                set_up([3, 2, 3], 7, Some((3.0, 8.0))),
                newton([2, 4, 8], Some((0.5, 1.4))),
                newton([3, 4, 5], Some((0.8, 2.2))),
            ],
            _ => vec![set_up([3, 2, 3], 4, None), newton([2, 4, 5], None), newton([3, 4, 2], None)],
        }
    },
    picture: Picture::Grouped { column: "measured", by: By::Series },
};
