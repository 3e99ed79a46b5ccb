//! The modules of elliptic equations, and with what their kernels are traced.

use super::list::ROWS;
use super::{
    Apply, ApplyBoxes, ApplyBoxesHanging, ApplyHanging, Diagonal, DiagonalHanging, Evaluate, EvaluateHanging,
    FluxPoints, Interpolate, InterpolateHanging, Metric, PowerLaw, Prolongate, Restrict, Target, Writes, degrees,
};
use crate::scalar::Real;
use crate::typed::{Kind, Sample};
use std::boxed::Box;
use std::format;

/// Cells of elliptic equations on forests: a module for each dimension and degree.
pub static KIND: Kind = Kind {
    name: "elliptic",
    is_of_paper: false,
    needs_hopper: false,
    spaces: || [2, 3].into_iter().flat_map(|dim| degrees(dim).map(move |degree| (dim, degree))).collect(),
    module_name: |dim, degree| format!("elliptic_{dim}d_q{degree}"),
    rows: ROWS,
    traced: |_| ([0; 3], TABLE_WORDS + VECTOR_WORDS),
    samples: [sample::<f32>, sample::<f64>],
};

/// Words of a trace for tables, all nodes being 0, and behind them for numbers.
const TABLE_WORDS: usize = 1 << 13;
const VECTOR_WORDS: usize = 1 << 14;

fn sample<T: Real>(name: &str) -> Sample {
    fn parts<T>(memory: *mut u8) -> (*const u32, *mut T) {
        (memory.cast::<u32>().cast_const(), memory.wrapping_add(8 * TABLE_WORDS).cast())
    }
    macro_rules! kernel {
        ($Arguments:ident, |$nodes:ident, $numbers:ident| $fields:tt) => {
            |_, memory| {
                let ($nodes, $numbers) = parts::<T>(memory);
                Some(Box::new(kernel!(@ $Arguments $fields)))
            }
        };
        (@ $Arguments:ident { $($field:ident: $value:expr),+ }) => {
            // Matrices, like zeros, are numbers.
            $Arguments { $($field: $value),+ }
        };
    }
    fn target<T: Real>(y: *mut T, kinds: *const u32) -> Target<T> {
        let (writes, sign) = (Writes::Gather as u32, T::from_f64(1.0));
        Target { sums: y, y, b: y, kinds: kinds.cast(), least: 0, writes, families: 1, sign }
    }
    fn at_points<T>(tensor: *const T) -> Metric<T> {
        Metric { tensor, reaction: tensor, weights: core::ptr::null() }
    }
    fn flux<T>(v: *mut T) -> FluxPoints<T> {
        let law = PowerLaw { offset: 1.0, quarters: -2 };
        FluxPoints { geometry: at_points(v), inverse_weights: v, derivative: v, law }
    }
    match name {
        "apply" => kernel!(Apply, |n, v| { matrices: v, nodes: n, metric: at_points(v), x: v, target: target(v, n) }),
        "apply_hanging" => kernel!(ApplyHanging, |n, v| {
            matrices: v, nodes: n, lines: n, metric: at_points(v), x: v, target: target(v, n)
        }),
        "apply_boxes" => kernel!(ApplyBoxes, |n, v| { matrices: v, nodes: n, metric: v, x: v, target: target(v, n) }),
        "apply_boxes_hanging" => kernel!(ApplyBoxesHanging, |n, v| {
            matrices: v, nodes: n, lines: n, metric: v, x: v, target: target(v, n)
        }),
        "evaluate" => kernel!(Evaluate, |n, v| { matrices: v, nodes: n, points: flux(v), u: v, sums: v }),
        "evaluate_hanging" => kernel!(EvaluateHanging, |n, v| {
            matrices: v, nodes: n, lines: n, points: flux(v), u: v, sums: v
        }),
        "diagonal" => kernel!(Diagonal, |_n, v| { matrices: v, metric: at_points(v), sums: v }),
        "diagonal_hanging" => kernel!(DiagonalHanging, |n, v| {
            matrices: v, lines: n, metric: at_points(v), column: 0, sums: v
        }),
        "interpolate" => kernel!(Interpolate, |n, v| {
            matrices: v, nodes: n, children: n, targets: n, u: v, coarse: v
        }),
        "interpolate_hanging" => kernel!(InterpolateHanging, |n, v| {
            matrices: v, nodes: n, lines: n, children: n, targets: n, u: v, coarse: v
        }),
        "prolongate" => kernel!(Prolongate, |n, v| { matrices: v, nodes: n, lines: n, targets: n, coarse: v, x: v }),
        _ => kernel!(Restrict, |n, v| { matrices: v, lines: n, targets: n, r: v, sums: v }),
    }
}
