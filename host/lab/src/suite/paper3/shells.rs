//! The shell with a coefficient of 1 to 10^6: tables 1, 2 and 5, figure 4.

use super::super::domain::{CHEBYSHEV, Domain};
use super::super::drawing::{Axis, Picture};
use super::super::experiment::{Column, Experiment, ForestTask, Point};
use super::super::sizes::Sizes;
use super::{on, published};
use patchmg::solve::Precision;

/// Dimension, then refinements for degree 1 to 4: the paper's on a GPU, and on a CPU those that are known of deal.II.
fn refinements(sizes: &Sizes) -> [(usize, [usize; 4]); 2] {
    match (sizes.quick, sizes.gpu) {
        (true, _) => [(2, [2; 4]), (3, [1; 4])],
        (_, true) => [(2, [10, 9, 9, 8]), (3, [6, 6, 5, 5])],
        _ => [(2, [6, 5, 6, 4]), (3, [4, 3, 3, 3])],
    }
}

fn spaces(sizes: &Sizes, degrees: &[usize]) -> Vec<[usize; 3]> {
    let of_dim = |(dim, refinements): (usize, [usize; 4])| degrees.iter().map(move |&k| [dim, k, refinements[k - 1]]);
    refinements(sizes).into_iter().flat_map(of_dim).collect()
}

/// Degrees of tables 1 and 2.
const DEGREES: [usize; 2] = [1, 3];

pub const TABLE1: Experiment = Experiment {
    name: "table1",
    title: "Table 1: a product on the shell",
    remark: "y = A x, in the three ways in which cells can sum up their results at nodes. Gather, the default: cells leave them in memory, and a \
             second kernel sums them up in a fixed order. Colors: one launch for cells that have no node in common. Atomics: in any order. \
             Least and most time, and throughput, are by gather; a CPU has no other way. The paper has colors and atomics.",
    columns: &[
        Column::new("cells", "cells"),
        Column::new("gather_ms", "by gather [ms]").lower(),
        Column::new("min_ms", "least time [ms]"),
        Column::new("max_ms", "most time [ms]"),
        Column::new("gdof_per_s", "throughput [GDoF/s]").higher().derived(),
        Column::new("colors_ms", "by colors [ms]"),
        Column::new("atomics_ms", "by atomics [ms]"),
    ],
    points: |sizes| {
        let point = |[dim, degree, refine]: [usize; 3], precision| {
            let paper = published::product(dim, degree, precision == Precision::F32);
            let paper = |column: fn(&published::Product) -> f64| paper.as_ref().map(column);
            on(Domain::Shell, format!("{dim}D Q{degree}"), [dim, degree, refine], ForestTask::Product)
                .precision(precision)
                .paper("cells", paper(|row| row.cells))
                .paper("colors_ms", paper(|row| row.colors_ms))
                .paper("atomics_ms", paper(|row| row.atomics_ms))
        };
        let sizes = spaces(sizes, &DEGREES).into_iter();
        sizes.flat_map(|size| [Precision::F64, Precision::F32].map(|precision| point(size, precision))).collect()
    },
    picture: Picture::Bars { columns: &["gather_ms"] },
};

/// A solve with the paper's smoother.
fn solve(series: String, size: [usize; 3], timed: bool) -> Point {
    on(Domain::Shell, series, size, ForestTask::Solve { smoother: CHEBYSHEV, timed })
}

pub const TABLE2: Experiment = Experiment {
    name: "table2",
    title: "Table 2: double and mixed precision on the shell",
    remark: "Conjugate gradients to 1e-9, a V-cycle with Chebyshev smoothing of degree 5; mixed is a V-cycle in f32 under f64. Our errors \
             are deal.II's on these meshes; the paper's are not. Times on a GPU alone, without set-up.",
    columns: &[
        Column::new("cells", "cells"),
        Column::new("l2_error", "error, L2"),
        Column::new("iterations", "iterations").lower(),
        Column::new("time_s", "time of a solve [s]").lower(),
        Column::new("min_s", "least time [s]"),
        Column::new("max_s", "most time [s]"),
        Column::new("ns_per_dof", "for an unknown [ns/DoF]").lower().derived(),
    ],
    points: |sizes| {
        let point = |size: [usize; 3], precision| {
            let paper = published::precise(size[0], size[1], precision == Precision::Mixed);
            let paper = |column: fn(&published::Precise) -> f64| paper.as_ref().filter(|_| sizes.gpu).map(column);
            solve(format!("{}D Q{}", size[0], size[1]), size, sizes.gpu)
                .precision(precision)
                .paper("l2_error", paper(|row| row.l2_error))
                .paper("iterations", paper(|row| row.iterations))
                .paper("time_s", paper(|row| row.time_s))
        };
        let spaces = spaces(sizes, &DEGREES).into_iter();
        spaces.flat_map(|size| [Precision::F64, Precision::Mixed].map(|precision| point(size, precision))).collect()
    },
    picture: Picture::Bars { columns: &["iterations", "time_s"] },
};

pub const TABLE5: Experiment = Experiment {
    name: "table5",
    title: "Table 5: iterations on the shell",
    remark: "The solves of table 2 in mixed precision, for degree 1 to 4; on a CPU on coarser meshes than the paper's. deal.II's iterations are \
             of the same meshes.",
    columns: &[
        Column::new("cells", "cells"),
        Column::new("iterations", "iterations").lower(),
        Column::new("cpu_iterations", "iterations of the paper on a CPU"),
        Column::new("dealii_iterations", "iterations of deal.II"),
        Column::new("l2_error", "error, L2"),
    ],
    points: |sizes| {
        let point = |[dim, degree, refine]: [usize; 3]| {
            let paper = published::shell_iterations(dim, degree).filter(|_| sizes.gpu);
            solve(format!("{dim}D"), [dim, degree, refine], sizes.gpu)
                .paper("iterations", paper.map(|[gpu, _]| gpu))
                .beside("cpu_iterations", paper.map(|[_, cpu]| cpu))
                .beside("dealii_iterations", published::dealii_shell([dim, degree, refine]))
        };
        spaces(sizes, &sizes.thin(&[1, 2, 3, 4])).into_iter().map(point).collect()
    },
    picture: Picture::Columns { x: Axis::Degree, columns: &["iterations"], log_y: false },
};

pub const FIGURE4: Experiment = Experiment {
    name: "figure4",
    title: "Figure 4: time of a solve on the shell",
    remark: "The solves of table 5, in mixed precision and without set-up. The paper, in words: 2.1 to 2.9 times as fast as \
             its CPU version.",
    columns: &[
        Column::new("ns_per_dof", "time for an unknown [ns/DoF]").lower(),
        Column::new("time_s", "time of a solve [s]").lower().derived(),
        Column::new("min_s", "least time [s]"),
        Column::new("max_s", "most time [s]"),
        Column::new("iterations", "iterations").lower(),
    ],
    points: |sizes| {
        let spaces = spaces(sizes, &sizes.thin(&[1, 2, 3, 4])).into_iter();
        spaces.map(|size| solve(format!("{}D", size[0]), size, true)).collect()
    },
    picture: Picture::Lines { x: Axis::Degree, y: "ns_per_dof", log_y: false },
};
