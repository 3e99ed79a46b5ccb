//! The operator's error by precision: figure 8.

use super::super::drawing::{Axis, Picture};
use super::super::experiment::{Aspect, Column, Experiment};
use super::{CC_F32, TC_BF16, TC_F16, TC_F16_EC, TC_TF32, TC_TF32_EC, operator, register};
use patchmg::solve::Precision;

pub const FIGURE8: Experiment = Experiment {
    name: "figure8",
    title: "Figure 8: error of the operator by precision, N = 16",
    remark: "Relative, in the Euclidean norm, against our default kernel in f64, of a vector of normally distributed numbers; \
             patches of degree 7, vectors in f32, operands of products as named. EC is error correction. The paper, in words: \
             errors grow with the size, f16 is far worse than f32, and error correction brings back the accuracy of f32.",
    columns: &[Column::new("relative_error", "relative error of the operator").lower()],
    points: |sizes| {
        let kernels = [
            ("CUDA cores f32", CC_F32),
            ("f16 EC", TC_F16_EC),
            ("tf32 EC", TC_TF32_EC),
            ("f16", TC_F16),
            ("tf32", TC_TF32),
            ("bf16", TC_BF16),
        ];
        let of_size = |refine| {
            let products = kernels.map(|(series, kernel)| operator(sizes, series, 16, Aspect::Accuracy, kernel));
            let mut points = vec![register(sizes, 16, Aspect::Accuracy, Precision::F32)];
            points.extend(products);
            points.iter_mut().for_each(|point| point.key.refine = refine);
            points
        };
        // All of a size are compared with one vector.
        sizes.refinements().flat_map(of_size).collect()
    },
    picture: Picture::Lines { x: Axis::Dofs, y: "relative_error", log_y: true },
};
