//! Every table and figure of paper 4 that holds results: C. Cui, "Acceleration of tensor-product operations with tensor
//! cores".

mod accuracy;
mod operator;
mod published;
mod rooflines;
mod solver;
mod tables;

use super::Suite;
use super::experiment::{Aspect, Point, Task};
use super::sizes::Sizes;
use patchmg::solve::Precision;
use patchmg::system::poisson::{
    Boxes, Engine, MatrixMemory, Operands, PatchKernel, ProductShape, Products, TensorKernel,
};
use patchmg_device::tensor_core::list::is_patch;

/// In the order of the paper.
pub const PAPER4: Suite = Suite {
    name: "paper4",
    title: "Paper 4: tensor-product operations with tensor cores",
    gpu: Some("NVIDIA A100"),
    experiments: &[
        tables::TABLE2,
        operator::FIGURE5,
        operator::FIGURE6,
        operator::FIGURE7,
        accuracy::FIGURE8,
        operator::FIGURE9,
        operator::FIGURE10,
        rooflines::FIGURE11,
        rooflines::FIGURE12,
        tables::TABLE3,
        solver::TABLE4,
        solver::FIGURE13,
        solver::FIGURE14,
    ],
};

/// Columns in registers, the default.
const REGISTER: &str = "register (ours)";

const fn kernel(engine: Engine, operands: Operands, shape: Option<ProductShape>) -> TensorKernel {
    TensorKernel { engine, operands, matrices: MatrixMemory::Shared, shape }
}

/// The paper's kernels on CUDA cores (CC) and on tensor cores (TC), permuted against bank conflicts where nothing else is
/// said; EC is error correction.
const CC_F64: TensorKernel = kernel(Engine::Fma, Operands::F64, None);
const CC_F32: TensorKernel = kernel(Engine::Fma, Operands::F32, None);
const WMMA_F64: TensorKernel = kernel(Engine::Wmma, Operands::F64, None);
const BASIC_F64: TensorKernel = kernel(Engine::Mma, Operands::F64, Some(ProductShape::M8N8K4));
const TC_F64: TensorKernel = kernel(Engine::MmaSwizzled, Operands::F64, Some(ProductShape::M8N8K4));
const BASIC_F16: TensorKernel = kernel(Engine::Mma, Operands::F16, None);
const TC_F16: TensorKernel = kernel(Engine::MmaSwizzled, Operands::F16, None);
const TC_F16_EC: TensorKernel = kernel(Engine::MmaSwizzled, Operands::F16Corrected, None);
const TC_TF32: TensorKernel = kernel(Engine::MmaSwizzled, Operands::Tf32, None);
const TC_TF32_EC: TensorKernel = kernel(Engine::MmaSwizzled, Operands::Tf32Corrected, None);
const TC_BF16: TensorKernel = kernel(Engine::MmaSwizzled, Operands::Bf16, None);

/// A degree and the boxes that have so many nodes a direction: patches where there are such, else cells.
fn boxes(nodes: usize) -> (usize, Boxes) {
    if is_patch(nodes) { (nodes / 2 - 1, Boxes::Patch) } else { (nodes - 1, Boxes::Cell) }
}

/// As a choice of a level.
fn choice(kernel: TensorKernel, boxes: Boxes) -> PatchKernel {
    PatchKernel::Products(Products { kernel, boxes })
}

/// Of the vectors that a kernel takes.
fn precision(kernel: TensorKernel) -> Precision {
    if kernel.operands == Operands::F64 { Precision::F64 } else { Precision::F32 }
}

/// An operator in 3D, at the size of the paper.
fn operator(sizes: &Sizes, series: impl Into<String>, nodes: usize, aspect: Aspect, kernel: TensorKernel) -> Point {
    let (degree, boxes) = boxes(nodes);
    let task = Task::Operator(aspect, choice(kernel, boxes));
    Point::new(series, [3, degree, sizes.discontinuous(degree)], task)
        .discontinuous()
        .precision(precision(kernel))
        .nodes(nodes)
}

/// Our own beside it.
fn register(sizes: &Sizes, nodes: usize, aspect: Aspect, precision: Precision) -> Point {
    let (degree, _) = boxes(nodes);
    let task = Task::Operator(aspect, PatchKernel::default());
    let point = Point::new(REGISTER, [3, degree, sizes.discontinuous(degree)], task).discontinuous();
    point.precision(precision).nodes(nodes)
}

#[cfg(test)]
mod tests {
    use super::super::traffic::box_operator;
    use super::*;

    #[test]
    fn every_experiment_of_the_paper_is_there_and_its_points_differ() {
        let names: Vec<_> = PAPER4.experiments.iter().map(|experiment| experiment.name).collect();
        for table in 2..=4 {
            assert!(names.contains(&&*format!("table{table}")), "{table}");
        }
        for figure in 5..=14 {
            assert!(names.contains(&&*format!("figure{figure}")), "{figure}");
        }
        for sizes in [true, false].into_iter().flat_map(|gpu| [true, false].map(|quick| Sizes { gpu, quick })) {
            for experiment in PAPER4.experiments {
                let points = (experiment.points)(&sizes);
                assert!(!points.is_empty(), "{}", experiment.name);
                for (place, point) in points.iter().enumerate() {
                    assert!(!points[..place].iter().any(|other| other.key == point.key), "{}", point.key);
                    for (column, _) in &point.paper {
                        assert!(experiment.columns.iter().any(|known| known.name == *column), "{column}");
                    }
                }
            }
        }
    }

    #[test]
    fn every_kernel_of_a_point_is_compiled_in_its_size() {
        let sizes = Sizes { gpu: true, quick: false };
        for point in PAPER4.experiments.iter().flat_map(|experiment| (experiment.points)(&sizes)) {
            let kernel = match point.task {
                Task::Operator(_, kernel)
                | Task::Errors { kernel, .. }
                | Task::Solve { kernel, .. }
                | Task::History { kernel, .. } => kernel,
                _ => continue,
            };
            let PatchKernel::Products(Products { kernel, boxes }) = kernel else { continue };
            let nodes = boxes.nodes(point.key.degree);
            assert!(box_operator(kernel, nodes).is_some(), "{}", point.key);
            assert!(point.key.nodes.is_none_or(|known| known == nodes), "{}", point.key);
        }
    }
}
