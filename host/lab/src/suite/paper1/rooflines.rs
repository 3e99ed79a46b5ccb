//! What limits the parts: figures 19 and 20.

use super::super::drawing::Picture;
use super::super::experiment::{Column, Experiment, Point, Task, Units};
use super::{CONFLICT_FREE, REGISTER, kernels_in_spaces};
use patchmg::measure::Part;
use patchmg::solve::Precision;
use patchmg_device::kernels::DEGREES_3D;

pub const FIGURE19: Experiment = Experiment {
    name: "figure19",
    title: "Figure 19: roofline of memory in 3D",
    remark: "Operations by formula, bytes that must move: every vector once a launch. The roof is the bandwidth of a copy, \
             measured here, and the peak of f64 arithmetic that the driver tells. Degrees 2 to 8, from the left.",
    columns: &[
        Column::new("intensity", "operations a byte"),
        Column::new("gflops", "GFLOP/s").higher(),
        Column::new("gb_per_s", "bytes that must move over time [GB/s]"),
        Column::new("time_ms", "time [ms]"),
    ],
    points: |sizes| {
        let roof = Point::new("roof", [3, 3, sizes.throughput(3, 3)], Task::Roofs(Units::CudaCores));
        let parts = [Part::Operator, Part::Step, Part::Restrict, Part::Prolongate];
        let points = (2..=*DEGREES_3D.end()).flat_map(|degree| {
            parts.map(|part| Point::new(part.name(), [3, degree, sizes.throughput(3, degree)], Task::Roofline(part)))
        });
        std::iter::once(roof).chain(points).collect()
    },
    picture: Picture::Roofline { bandwidth: "gb_per_s" },
};

pub const FIGURE20: Experiment = Experiment {
    name: "figure20",
    title: "Figure 20: roofline of shared memory in 3D",
    remark: "Equation 4.3: operations by formula, bytes of shared memory from a trace of the kernel (128 for each wavefront), \
             bandwidth of shared memory from clock and multiprocessors. Degrees 1 to 8.",
    columns: &[
        Column::new("intensity", "operations a byte of shared memory"),
        Column::new("gflops", "GFLOP/s").higher(),
        Column::new("roof_percent", "share of the roof [%]"),
        Column::new("peak_percent", "share of the peak [%]"),
        Column::new("l1_percent", "share of the shared-memory bandwidth [%]"),
        Column::new("wavefronts", "wavefronts of a patch"),
        Column::new("shared_gb_per_s", "bandwidth of shared memory [GB/s]"),
    ],
    points: |sizes| {
        let kernels = [("conflict-free", CONFLICT_FREE), ("register (ours)", REGISTER)];
        let precisions = [Precision::F64, Precision::F32];
        let roof = Point::new("roof", [3, 3, sizes.throughput(3, 3)], Task::Roofs(Units::CudaCores));
        let roofs = precisions.map(|precision| roof.clone().precision(precision));
        let refine = |dim, degree| sizes.throughput(dim, degree);
        let spaces = DEGREES_3D.map(|degree| (3, degree));
        let points = kernels_in_spaces(&kernels, spaces, &precisions, refine, Task::SharedRoofline);
        roofs.into_iter().chain(points).collect()
    },
    picture: Picture::Roofline { bandwidth: "shared_gb_per_s" },
};
