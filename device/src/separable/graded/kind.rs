//! The modules of graded boxes, and with what their kernels are traced.

use super::list::ROWS;
use super::{Apply, Residual, Smooth, table_words};
use crate::kernels::Module;
use crate::patch::Directions;
use crate::scalar::Real;
use crate::separable::kind::{CHUNK, spaces, traced_with};
use crate::typed::{Kind, Sample};
use std::boxed::Box;
use std::format;

/// Graded boxes: a module for each dimension and degree.
pub static KIND: Kind = Kind {
    name: "separable_graded",
    is_of_paper: false,
    needs_hopper: false,
    spaces,
    module_name: |dim, degree| format!("separable_graded_{dim}d_q{degree}"),
    rows: ROWS,
    traced,
    samples: [sample::<f32>, sample::<f64>],
};

fn traced(module: Module) -> ([u32; 3], usize) {
    let (dim, degree) = module.space().unwrap_or_default();
    let [single, double] = [size_of::<f32>(), size_of::<f64>()].map(|bytes| table_words(dim, degree, bytes));
    traced_with(module, single.max(double))
}

fn sample<T: Real>(name: &str) -> Sample {
    match name {
        "smooth" => |cells, memory| {
            let x = memory.cast::<T>();
            let (tables, starts, kept, b) = (x.cast_const(), x.cast_const().cast(), core::ptr::null(), x.cast_const());
            Some(Box::new(Smooth { tables, starts, kept, b, x, directions: Directions::closed(cells), color: 0 }))
        },
        "apply" => |cells, memory| {
            let (y, directions) = (memory.cast::<T>(), Directions::closed(cells));
            let (matrices, sizes, x) = (y.cast_const(), y.cast_const(), y.cast_const());
            Some(Box::new(Apply { matrices, sizes, x, y, directions, chunk: CHUNK }))
        },
        "residual" => |cells, memory| {
            let (r, directions) = (memory.cast::<T>(), Directions::closed(cells));
            let (matrices, sizes, b, x) = (r.cast_const(), r.cast_const(), r.cast_const(), r.cast_const());
            Some(Box::new(Residual { matrices, sizes, b, x, r, directions, chunk: CHUNK }))
        },
        _ => |_, _| None,
    }
}
