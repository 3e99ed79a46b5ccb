//! Throughput of the operator: figures 5, 6, 7, 9 and 10.

use super::super::drawing::{Axis, Picture};
use super::super::experiment::{Aspect, Column, Experiment, Point};
use super::super::sizes::Sizes;
use super::{CC_F32, CC_F64, TC_BF16, TC_F16, TC_F16_EC, TC_F64, TC_TF32, TC_TF32_EC, boxes, operator, register};
use patchmg::solve::Precision;
use patchmg::system::poisson::{Engine, MatrixMemory, Operands, ProductShape, TensorKernel};
use patchmg_device::patch::DgGrid;
use patchmg_device::tensor_core::NODES;
use patchmg_device::tensor_core::list::listed;

const COLUMNS: &[Column] = &[
    Column::new("gdof_per_s", "throughput of the operator [GDoF/s]").higher(),
    Column::new("tflops", "TFLOP/s"),
    Column::new("peak_percent", "share of the peak [%]"),
    Column::new("flops_per_dof", "operations for an unknown"),
    Column::new("time_ms", "time [ms]"),
];

const BARS: Picture = Picture::Bars { columns: &["gdof_per_s", "tflops"] };

pub const FIGURE5: Experiment = Experiment {
    name: "figure5",
    title: "Figure 5: kernels of the operator in f64, N = 8",
    remark: "The whole operator with all faces on patches of degree 3. Operations are counted from each kernel, padding \
             included; their peak is that of its units, CUDA cores or tensor cores, at the clock that the driver tells. The \
             paper, in words: nearly 10 GDoF/s and 8 TFLOP/s, 45 % of the peak, at best, 2.3 times its CUDA cores; \
             its kernels do more operations for an unknown (table 3).",
    columns: COLUMNS,
    points: |sizes| all(sizes, 8, Precision::F64),
    picture: BARS,
};

pub const FIGURE6: Experiment = Experiment {
    name: "figure6",
    title: "Figure 6: kernels of the operator in f64, N = 16",
    remark: "As figure 5, on patches of degree 7.",
    columns: COLUMNS,
    points: |sizes| all(sizes, 16, Precision::F64),
    picture: BARS,
};

pub const FIGURE7: Experiment = Experiment {
    name: "figure7",
    title: "Figure 7: kernels of the operator in lower precision, N = 16",
    remark: "Vectors in f32, operands of products as named; EC is error correction, whose three products are counted. The paper, \
             in words: 3.5 times its CUDA cores at best.",
    columns: COLUMNS,
    points: |sizes| all(sizes, 16, Precision::F32),
    picture: BARS,
};

/// Every kernel on vectors in a precision, those on CUDA cores first, and our own.
fn all(sizes: &Sizes, nodes: usize, precision: Precision) -> Vec<Point> {
    let kernels =
        listed(nodes).into_iter().map(|listed| listed.kernel).filter(|&kernel| super::precision(kernel) == precision);
    let mut kernels: Vec<_> = kernels.collect();
    let place = |kernel: &TensorKernel| {
        let engine = Engine::ALL.iter().position(|&engine| engine == kernel.engine);
        (engine, MatrixMemory::ALL.iter().position(|&memory| memory == kernel.matrices))
    };
    kernels.sort_by_key(place);
    let points = kernels.into_iter().map(|kernel| operator(sizes, name(kernel), nodes, Aspect::Speed, kernel));
    points.chain([register(sizes, nodes, Aspect::Speed, precision)]).collect()
}

/// Without what is the same for all in `f64` or goes without saying.
fn name(kernel: TensorKernel) -> String {
    let TensorKernel { engine, operands, matrices, shape } = kernel;
    let operands = match operands {
        Operands::F64 => None,
        Operands::F16Corrected => Some("f16 EC"),
        Operands::Tf32Corrected => Some("tf32 EC"),
        other => Some(other.name()),
    };
    let matrices = (matrices != MatrixMemory::Shared).then(|| matrices.name());
    let parts = [Some(engine.name()), operands, shape.map(ProductShape::name), matrices];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

pub const FIGURE9: Experiment = Experiment {
    name: "figure9",
    title: "Figure 9: data types, N = 16",
    remark: "Patches of degree 7; on tensor cores tensors are permuted against bank conflicts. EC is error correction.",
    columns: COLUMNS,
    points: |sizes| {
        let kernels = [
            (CUDA_CORES, "f64", CC_F64),
            (TENSOR_CORES, "f64", TC_F64),
            (CUDA_CORES, "f32", CC_F32),
            (TENSOR_CORES, "tf32", TC_TF32),
            (TENSOR_CORES, "tf32 EC", TC_TF32_EC),
            (TENSOR_CORES, "f16", TC_F16),
            (TENSOR_CORES, "f16 EC", TC_F16_EC),
            (TENSOR_CORES, "bf16", TC_BF16),
        ];
        let point = |(series, operands, kernel)| {
            let mut point = operator(sizes, series, 16, Aspect::Speed, kernel);
            point.key.precision = String::from(operands);
            point
        };
        let ours = [Precision::F64, Precision::F32].map(|precision| register(sizes, 16, Aspect::Speed, precision));
        kernels.map(point).into_iter().chain(ours).collect()
    },
    picture: Picture::Bars { columns: &["gdof_per_s"] },
};

const CUDA_CORES: &str = "CUDA cores";
const TENSOR_CORES: &str = "tensor cores";

pub const FIGURE10: Experiment = Experiment {
    name: "figure10",
    title: "Figure 10: matrices of any size",
    remark: "Boxes of N nodes a direction: patches of degree N/2 - 1 where N is even and at least 4, else cells of degree N - 1. \
             Elements end at degree 8, so that 11, 13, 15 and 17 are left out. Matrices come through the \
             read-only path on tensor cores, from shared memory on CUDA cores. Sizes differ, about 1e8 unknowns on a GPU; ours is that of the degree.",
    columns: COLUMNS,
    points: |sizes| {
        let read_only = |kernel| TensorKernel { matrices: MatrixMemory::ReadOnly, ..kernel };
        let hopper = TensorKernel { shape: Some(ProductShape::M16N8K4), ..TC_F64 };
        let kernels = [
            (CUDA_CORES, CC_F64),
            ("tensor cores m8n8k4", read_only(TC_F64)),
            ("tensor cores m16n8k4", read_only(hopper)),
            (CUDA_CORES, CC_F32),
            ("tensor cores f16 EC", read_only(TC_F16_EC)),
        ];
        let sizes_of_boxes = NODES.filter(|&nodes| DgGrid::DEGREES.contains(&boxes(nodes).0));
        let points = |nodes| {
            let products = kernels.map(|(series, kernel)| operator(sizes, series, nodes, Aspect::Speed, kernel));
            let ours =
                [Precision::F64, Precision::F32].map(|precision| register(sizes, nodes, Aspect::Speed, precision));
            // A level is set up once for all kernels in a precision.
            let mut points: Vec<_> = products.into_iter().chain(ours).collect();
            points.sort_by_key(|point| point.key.precision != Precision::F64.name());
            points
        };
        sizes_of_boxes.flat_map(points).collect()
    },
    picture: Picture::Lines { x: Axis::Nodes, y: "gdof_per_s", log_y: false },
};

#[cfg(test)]
mod tests {
    use super::super::REGISTER;
    use super::*;
    use patchmg_cli::chart::COLORS;

    #[test]
    fn every_kernel_has_a_color_of_its_own() {
        for figure in [FIGURE5, FIGURE6, FIGURE7] {
            let points = (figure.points)(&Sizes { gpu: true, quick: false });
            assert!(points.len() <= COLORS.len(), "{}: {} kernels", figure.name, points.len());
        }
    }

    #[test]
    fn sizes_of_boxes_are_those_of_elements_that_there_are() {
        let points = (FIGURE10.points)(&Sizes { gpu: true, quick: false });
        let mut nodes: Vec<_> = points.iter().filter_map(|point| point.key.nodes).collect();
        nodes.dedup();
        assert_eq!(nodes, [2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 18]);
        let ours = points.iter().filter(|point| point.key.series == REGISTER);
        assert_eq!(ours.count(), 2 * nodes.len());
    }
}
