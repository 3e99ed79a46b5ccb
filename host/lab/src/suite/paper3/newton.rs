//! Minimal surfaces by Newton's method: tables 6 and 7.

use super::super::domain::Domain;
use super::super::drawing::{Axis, Picture};
use super::super::experiment::{Column, Experiment, ForestTask, Point};
use super::super::sizes::Sizes;
use super::on;
use super::published::{self, Newton};

const COLUMNS: &[Column] = &[
    Column::new("cells", "cells"),
    Column::new("nodes", "nodes, all"),
    Column::new("steps", "steps"),
    Column::new("residuals", "residuals"),
    Column::new("linear_iterations", "linear iterations").lower(),
    Column::new("time_s", "time of it all [s]").lower(),
    Column::new("min_s", "least time [s]"),
    Column::new("max_s", "most time [s]"),
    Column::new("cpu_time_s", "the paper's time on a CPU of 28 cores [s]"),
    Column::new("dealii_steps", "steps of deal.II"),
    Column::new("dealii_residuals", "residuals of deal.II"),
    Column::new("dealii_linear_iterations", "linear iterations of deal.II"),
];

const PICTURE: Picture = Picture::Columns { x: Axis::Dofs, columns: &["linear_iterations", "steps"], log_y: false };

/// Q4 on the disk or the ball, refined so often.
fn meshes(sizes: &Sizes, dim: usize, refinements: &[usize], paper: &[(usize, Newton)]) -> Vec<Point> {
    let point = |refine: usize| {
        let paper = paper.iter().find(|(known, _)| *known == refine).map(|(_, row)| row);
        let dealii = published::DEALII_NEWTON.iter().find(|(known, _)| *known == [dim, refine]).map(|(_, row)| *row);
        on(
            Domain::Disk,
            if dim == 2 { "disk" } else { "ball" },
            [dim, 4, refine],
            ForestTask::Newton { timed: sizes.gpu },
        )
        .paper("cells", paper.map(|row| row.cells))
        .paper("nodes", paper.map(|row| row.dofs))
        .paper("steps", paper.map(|row| row.steps))
        .paper("residuals", paper.map(|row| row.residuals))
        .paper("linear_iterations", paper.map(|row| row.linear_iterations))
        .paper("time_s", paper.map(|row| row.time_s.iter().sum()))
        .beside("cpu_time_s", paper.map(|row| row.cpu_time_s.iter().sum()))
        .beside("dealii_steps", dealii.map(|[steps, ..]| steps))
        .beside("dealii_residuals", dealii.map(|[_, residuals, _]| residuals))
        .beside("dealii_linear_iterations", dealii.map(|[.., iterations]| iterations))
    };
    refinements.iter().copied().map(point).collect()
}

pub const TABLE6: Experiment = Experiment {
    name: "table6",
    title: "Table 6: the minimal surface in 2D, Q4",
    remark: "u = sin(2 pi (x + y)) on the boundary: the paper's text says sin(pi (x + y)), its numbers agree with this. Newton's method to a residual of \
             1e-12 from the solution of Laplace's equation; corrections by conjugate gradients to 1e-4 in mixed precision, Chebyshev smoothing of degree \
             5. Residuals are counted as the paper seems to do: one at the start, two in each step and one for each halving. The paper's times are those \
             of residuals and of solutions, added up; ours, on a GPU alone, are of all but the set-up, with the coefficients of each step and Laplace's solution.",
    columns: COLUMNS,
    points: |sizes| {
        let refinements: &[usize] = match (sizes.quick, sizes.gpu) {
            (true, _) => &[2],
            (_, true) => &[5, 6, 7, 8],
            _ => &[3, 4, 5],
        };
        meshes(sizes, 2, refinements, &published::TABLE6)
    },
    picture: PICTURE,
};

pub const TABLE7: Experiment = Experiment {
    name: "table7",
    title: "Table 7: the minimal surface in 3D, Q4",
    remark: "As table 6, on the ball.",
    columns: COLUMNS,
    points: |sizes| {
        let refinements: &[usize] = match (sizes.quick, sizes.gpu) {
            (true, _) => &[1],
            (_, true) => &[2, 3, 4, 5],
            _ => &[1, 2],
        };
        meshes(sizes, 3, refinements, &published::TABLE7)
    },
    picture: PICTURE,
};
