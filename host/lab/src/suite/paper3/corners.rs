//! The L and its extrusion, refined where the error seems large: tables 3 and 4, figures 2 and 3.

use super::super::domain::{CHEBYSHEV, Domain};
use super::super::drawing::{Axis, Picture};
use super::super::experiment::{Column, Experiment, ForestTask, Point};
use super::super::sizes::Sizes;
use super::on;
use super::published::{self, Cycle, Dealii};
use patchmg::multigrid::SmootherConfig;

const COLUMNS: &[Column] = &[
    Column::new("cells", "cells"),
    Column::new("nodes", "nodes, all"),
    Column::new("iterations", "iterations").lower(),
    Column::new("l2_error", "error, L2"),
    Column::new("time_s", "time of a solve [s]").lower(),
    Column::new("min_s", "least time [s]"),
    Column::new("max_s", "most time [s]"),
    Column::new("ns_per_dof", "for an unknown [ns/DoF]").lower().derived(),
    Column::new("cpu_iterations", "iterations of the paper on a CPU"),
    Column::new("cpu_time_s", "its time on a CPU of 28 cores [s]"),
    Column::new("dealii_cells", "cells of deal.II"),
    Column::new("dealii_iterations", "iterations of deal.II"),
    Column::new("dealii_l2_error", "error of deal.II, L2"),
];

const PICTURE: Picture = Picture::Columns { x: Axis::Dofs, columns: &["l2_error", "iterations"], log_y: true };

/// A row for each cycle from 0 to `last`. The first mesh has all cells refined so often as the paper's, or less if it is quick.
fn cycles(sizes: &Sizes, size: [usize; 3], last: usize, paper: &[Cycle], dealii: &Dealii) -> Vec<Point> {
    let [dim, degree, refine] = size;
    let (refine, last) = if sizes.quick { (1, 2) } else { (refine, last) };
    let point = |cycle: usize| {
        let paper = paper.get(cycle).filter(|_| !sizes.quick);
        let dealii = dealii.get(cycle).filter(|_| !sizes.quick);
        on(Domain::L, "L", [dim, degree, refine], ForestTask::Solve { smoother: CHEBYSHEV, timed: sizes.gpu })
            .cycle(cycle)
            .paper("cells", paper.map(|row| row.cells))
            .paper("nodes", paper.map(|row| row.dofs))
            .paper("iterations", paper.map(|row| row.iterations))
            .paper("l2_error", paper.and_then(|row| row.l2_error))
            .paper("time_s", paper.map(|row| row.time_s))
            .beside("cpu_iterations", paper.map(|row| row.cpu_iterations))
            .beside("cpu_time_s", paper.map(|row| row.cpu_time_s))
            .beside("dealii_cells", dealii.and_then(|(cells, ..)| *cells))
            .beside("dealii_iterations", dealii.map(|(_, iterations, _)| *iterations))
            .beside("dealii_l2_error", dealii.and_then(|(.., error)| *error))
    };
    (0..=last).map(point).collect()
}

pub const TABLE3: Experiment = Experiment {
    name: "table3",
    title: "Table 3: the L in 2D, Q2",
    remark: "All cells are refined L times; each cycle then refines the 30 % of the cells with the largest of Kelly's indicators and coarsens the \
             3 % with the smallest. Conjugate gradients to 1e-9, mixed precision, Chebyshev smoothing of degree 5; with degree 4 iterations are \
             the paper's in the first cycles. Nodes are all, also those on the boundary and those that hang, as the paper counts. Times on a GPU alone, \
             without set-up.",
    columns: COLUMNS,
    points: |sizes| {
        let last = if sizes.gpu { 11 } else { 9 };
        cycles(sizes, [2, 2, 5], last, &published::TABLE3, published::DEALII_TABLE3)
    },
    picture: PICTURE,
};

pub const TABLE4: Experiment = Experiment {
    name: "table4",
    title: "Table 4: the extruded L, Q2",
    remark: "As table 3, on the L times (0, 1).",
    columns: COLUMNS,
    points: |sizes| {
        let last = if sizes.gpu { 7 } else { 5 };
        cycles(sizes, [3, 2, 3], last, &published::TABLE4, published::DEALII_TABLE4)
    },
    picture: PICTURE,
};

/// Dimension, then refinements of all cells and cycles for degree 1 to 4.
fn meshes(sizes: &Sizes) -> [(usize, [[usize; 2]; 4]); 2] {
    match (sizes.quick, sizes.gpu) {
        (true, _) => [(2, [[2, 1]; 4]), (3, [[1, 1]; 4])],
        (_, true) => [(2, [[5, 10], [5, 10], [4, 11], [4, 10]]), (3, [[3, 6], [3, 6], [2, 7], [2, 6]])],
        _ => [(2, [[5, 4], [5, 4], [4, 4], [4, 4]]), (3, [[3, 2], [3, 2], [2, 2], [2, 2]])],
    }
}

fn on_last_meshes(sizes: &Sizes, smoother: SmootherConfig) -> Vec<Point> {
    let task = ForestTask::Solve { smoother, timed: true };
    let of_dim = |(dim, meshes): (usize, [[usize; 2]; 4])| {
        sizes.thin(&[1, 2, 3, 4]).into_iter().map(move |degree| {
            let [refine, cycle] = meshes[degree - 1];
            on(Domain::L, "L", [dim, degree, refine], task).cycle(cycle)
        })
    };
    meshes(sizes).into_iter().flat_map(of_dim).collect()
}

const TIMES: &[Column] = &[
    Column::new("ns_per_dof", "time for an unknown [ns/DoF]").lower(),
    Column::new("time_s", "time of a solve [s]").lower().derived(),
    Column::new("min_s", "least time [s]"),
    Column::new("max_s", "most time [s]"),
    Column::new("iterations", "iterations").lower(),
];

pub const FIGURE2: Experiment = Experiment {
    name: "figure2",
    title: "Figure 2: time of a solve on the L and its extrusion",
    remark: "Solves as in tables 3 and 4, each degree on one mesh of fewer unknowns than in the paper, where they are about 3 million for Q1 \
             and 20 to 30 million for Q2 to Q4; 3D is the extruded L. The paper, in words: the GPU is two to three times as fast as the CPU.",
    columns: TIMES,
    points: |sizes| on_last_meshes(sizes, CHEBYSHEV),
    picture: Picture::Lines { x: Axis::Degree, y: "ns_per_dof", log_y: false },
};

pub const FIGURE3: Experiment = Experiment {
    name: "figure3",
    title: "Figure 3: the same with Jacobi smoothing",
    remark: "The meshes of figure 2. A step of Jacobi's iteration with damping 2/3 before and after the coarse correction; the paper does not say how \
             many steps and which damping.",
    columns: TIMES,
    points: |sizes| on_last_meshes(sizes, SmootherConfig::jacobi()),
    picture: Picture::Lines { x: Axis::Degree, y: "ns_per_dof", log_y: false },
};
