//! What limits the operator: figures 11 and 12.

use super::super::drawing::Picture;
use super::super::experiment::{Aspect, Column, Experiment, Point, Task, Units};
use super::super::sizes::Sizes;
use super::{
    BASIC_F16, BASIC_F64, CC_F32, CC_F64, TC_F16, TC_F16_EC, TC_F64, TC_TF32_EC, WMMA_F64, boxes, operator, register,
};
use patchmg::solve::Precision;
use patchmg::system::poisson::TensorKernel;

/// The paper's sizes of boxes.
const NODES: [usize; 2] = [8, 16];

const KERNELS: [(&str, TensorKernel); 9] = [
    ("CUDA cores", CC_F64),
    ("wmma", WMMA_F64),
    ("mma", BASIC_F64),
    ("mma-swizzled", TC_F64),
    ("CUDA cores", CC_F32),
    ("mma f16", BASIC_F16),
    ("mma-swizzled f16", TC_F16),
    ("mma-swizzled f16 EC", TC_F16_EC),
    ("mma-swizzled tf32 EC", TC_TF32_EC),
];

pub const FIGURE11: Experiment = Experiment {
    name: "figure11",
    title: "Figure 11: roofline of memory for the operator",
    remark: "N = 8 and 16, from the left. Operations as each kernel does them, two words of memory for an unknown. The roofs are \
             the bandwidth of a copy, measured here, and the peaks of CUDA cores and of tensor cores, in f64 or f16, at the \
             clock that the driver tells. Ours, columns in registers, is counted as sum factorization on cells. The paper, in \
             words: 7.6 TFLOP/s in f64, 70 TFLOP/s by f16 with error correction (EC).",
    columns: &[
        Column::new("intensity", "operations a byte"),
        Column::new("gflops", "GFLOP/s").higher(),
        Column::new("gb_per_s", "bytes that must move over time [GB/s]"),
        Column::new("peak_percent", "share of the peak [%]"),
        Column::new("time_ms", "time [ms]"),
    ],
    points: |sizes| {
        let ours = |precision| NODES.map(|nodes| register(sizes, nodes, Aspect::Speed, precision));
        let ours = [Precision::F64, Precision::F32].map(ours);
        points(sizes, Aspect::Speed).into_iter().chain(ours.into_iter().flatten()).collect()
    },
    picture: Picture::Roofline { bandwidth: "gb_per_s" },
};

pub const FIGURE12: Experiment = Experiment {
    name: "figure12",
    title: "Figure 12: roofline of shared memory for the operator",
    remark: "As figure 11, with the bytes of shared memory (equation 10) from a trace of the kernel, 128 for each wavefront, \
             and its bandwidth from clock and multiprocessors. Columns in registers have no box and are left out.",
    columns: &[
        Column::new("intensity", "operations a byte of shared memory"),
        Column::new("gflops", "GFLOP/s").higher(),
        Column::new("l1_percent", "share of the shared-memory bandwidth [%]"),
        Column::new("peak_percent", "share of the peak [%]"),
        Column::new("wavefronts", "wavefronts of a box"),
        Column::new("shared_gb_per_s", "bandwidth of shared memory [GB/s]"),
    ],
    points: |sizes| points(sizes, Aspect::SharedMemory),
    picture: Picture::Roofline { bandwidth: "shared_gb_per_s" },
};

fn points(sizes: &Sizes, aspect: Aspect) -> Vec<Point> {
    let (degree, _) = boxes(NODES[1]);
    let roof = |series, units, precision| {
        let point = Point::new(series, [3, degree, sizes.discontinuous(degree)], Task::Roofs(units));
        point.discontinuous().precision(precision)
    };
    let roofs = [Precision::F64, Precision::F32].into_iter().flat_map(|precision| {
        let units = [("roof, CUDA cores", Units::CudaCores), ("roof, tensor cores", Units::TensorCores)];
        units.map(|(series, units)| roof(series, units, precision))
    });
    let kernels = NODES
        .into_iter()
        .flat_map(|nodes| KERNELS.map(|(series, kernel)| operator(sizes, series, nodes, aspect, kernel)));
    roofs.chain(kernels).collect()
}
