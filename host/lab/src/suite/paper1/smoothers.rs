//! Kernels of the patch smoother: figures 3, 5, 7, 8, 9, 15 and 17.

use super::super::drawing::{Axis, Picture};
use super::super::experiment::{Column, Experiment, Point, Task};
use super::super::sizes::Sizes;
use super::{BASIC, BOUNDARY, CONFLICT_FREE, LINEAR, REGISTER, kernels_in_spaces, spaces};
use patchmg::solve::Precision;
use patchmg::system::poisson::{Paper1, PatchKernel, Variant};
use patchmg_device::kernels::DEGREES_3D;

const COLUMNS: &[Column] = &[
    Column::new("gdof_per_s", "throughput of a smoothing step [GDoF/s]").higher(),
    Column::new("step_ms", "time of a step [ms]"),
    Column::new("color_ms", "time of a color [ms]"),
];

const BY_DEGREE: Picture = Picture::Lines { x: Axis::Degree, y: "gdof_per_s", log_y: false };

/// A step of every kernel.
fn compare(
    sizes: &Sizes,
    kernels: &[(&'static str, PatchKernel)],
    spaces: impl Iterator<Item = (usize, usize)>,
    precisions: &[Precision],
) -> Vec<Point> {
    kernels_in_spaces(kernels, spaces, precisions, |dim, degree| sizes.throughput(dim, degree), Task::Step)
}

const DOUBLE: &[Precision] = &[Precision::F64];
const BOTH: &[Precision] = &[Precision::F64, Precision::F32];

pub const FIGURE3: Experiment = Experiment {
    name: "figure3",
    title: "Figure 3: stored inverse and fast diagonalization",
    remark: "Basic fused kernel; the inverse of the patch matrix is stored once and read from memory. From degree 5 on in \
             3D the inverse is measured on a coarser level: its work grows with k^6.",
    columns: COLUMNS,
    points: |sizes| {
        let inverse = Paper1::FusedInverse.by_default();
        let mut points =
            compare(sizes, &[("fast diagonalization", BASIC), ("inverse matrix", inverse)], spaces(), DOUBLE);
        for point in &mut points {
            let key = &mut point.key;
            if point.task == Task::Step(inverse) && key.dim == 3 && key.degree >= 5 {
                key.refine = (key.refine - if key.degree >= 7 { 2 } else { 1 }).max(2);
            }
        }
        points
    },
    picture: BY_DEGREE,
};

pub const FIGURE5: Experiment = Experiment {
    name: "figure5",
    title: "Figure 5: a thread a column, or a thread a dof, in 3D",
    remark: "Basic fused kernel. A block has at most 1024 threads: a thread a dof ends at degree 4.",
    columns: COLUMNS,
    points: |sizes| {
        let dof = Paper1::FusedDof.by_default();
        let spaces = DEGREES_3D.filter(|&degree| (2 * degree + 1).pow(3) <= 1024).map(|degree| (3, degree));
        compare(sizes, &[("column (2D structure)", BASIC), ("dof (3D structure)", dof)], spaces, DOUBLE)
    },
    picture: BY_DEGREE,
};

/// Patches of a block that are tried.
const PATCHES: [usize; 6] = [1, 2, 4, 6, 8, 16];

fn conflict_free(patches: usize) -> PatchKernel {
    PatchKernel::Paper1 { kernels: Paper1::Fused(Variant::ConflictFree), patches: Some(patches) }
}

fn with_patches(sizes: &Sizes) -> Vec<Point> {
    (2..=3)
        .flat_map(|dim| (1..=5).map(move |degree| (dim, degree)))
        .flat_map(|(dim, degree)| {
            PATCHES.into_iter().map(move |patches| {
                let task = Task::Step(conflict_free(patches));
                Point::new(format!("k = {degree}"), [dim, degree, sizes.throughput(dim, degree)], task).patches(patches)
            })
        })
        .collect()
}

pub const FIGURE7: Experiment = Experiment {
    name: "figure7",
    title: "Figure 7: patches of a block",
    remark: "Conflict-free fused kernel. Numbers of patches that need more threads or shared memory than a block may have \
             are skipped.",
    columns: COLUMNS,
    points: with_patches,
    picture: Picture::Lines { x: Axis::Patches, y: "gdof_per_s", log_y: false },
};

pub const FIGURE8: Experiment = Experiment {
    name: "figure8",
    title: "Figure 8: one or several patches of a block",
    remark: "Conflict-free fused kernel with one patch, and with the number that it has by default.",
    columns: COLUMNS,
    points: |sizes| {
        let one = conflict_free(1);
        let spaces = spaces().filter(|(_, degree)| *degree <= 5);
        compare(sizes, &[("one patch", one), ("several patches", CONFLICT_FREE)], spaces, DOUBLE)
    },
    picture: BY_DEGREE,
};

pub const FIGURE9: Experiment = Experiment {
    name: "figure9",
    title: "Figure 9: structures of the smoother",
    remark: "Basic kernels: residual of all dofs and local solves (global), two kernels on patches (separate), one (fused). \
             The paper's operator works cell by cell with atomic additions, ours patch by patch without.",
    columns: COLUMNS,
    points: |sizes| {
        let kernels = [
            ("global", Paper1::Global(Variant::Basic).by_default()),
            ("separate", Paper1::Separate(Variant::Basic).by_default()),
            ("fused", BASIC),
        ];
        compare(sizes, &kernels, spaces(), DOUBLE)
    },
    picture: BY_DEGREE,
};

pub const FIGURE15: Experiment = Experiment {
    name: "figure15",
    title: "Figure 15: optimization levels of the fused kernel",
    remark: "The paper's four levels, and our own kernel (register), which keeps columns in registers.",
    columns: COLUMNS,
    points: |sizes| {
        let kernels = [
            ("basic", BASIC),
            ("linear", LINEAR),
            ("conflict-free", CONFLICT_FREE),
            ("boundary", BOUNDARY),
            ("register (ours)", REGISTER),
        ];
        compare(sizes, &kernels, spaces(), BOTH)
    },
    picture: BY_DEGREE,
};

pub const FIGURE17: Experiment = Experiment {
    name: "figure17",
    title: "Figure 17: optimized separate and fused kernels in 3D",
    remark: "Levels conflict-free and boundary.",
    columns: COLUMNS,
    points: |sizes| {
        let kernels = [
            ("separate, conflict-free", Paper1::Separate(Variant::ConflictFree).by_default()),
            ("separate, boundary", Paper1::Separate(Variant::Boundary).by_default()),
            ("fused, conflict-free", CONFLICT_FREE),
            ("fused, boundary", BOUNDARY),
        ];
        compare(sizes, &kernels, DEGREES_3D.map(|degree| (3, degree)), DOUBLE)
    },
    picture: BY_DEGREE,
};
