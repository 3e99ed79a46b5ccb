//! The modules of boxes with sides, and with what their kernels are traced.

use super::list::ROWS;
use super::{Apply, ProlongateAdd, Residual, RestrictResidual, Smooth};
use crate::kernels::{DEGREES_2D, DEGREES_3D, Module};
use crate::patch::{Directions, row};
use crate::scalar::Real;
use crate::smoother::table_words;
use crate::typed::{Kind, Sample};
use std::boxed::Box;
use std::format;
use std::vec::Vec;

/// Boxes with sides: a module for each dimension and degree.
pub static KIND: Kind = Kind {
    name: "separable",
    is_of_paper: false,
    needs_hopper: false,
    spaces,
    module_name: |dim, degree| format!("separable_{dim}d_q{degree}"),
    rows: ROWS,
    traced,
    samples: [sample::<f32>, sample::<f64>],
};

/// Dimension and degree of each module.
pub(super) fn spaces() -> Vec<(usize, usize)> {
    DEGREES_2D.map(|degree| (2, degree)).chain(DEGREES_3D.map(|degree| (3, degree))).collect()
}

fn traced(module: Module) -> ([u32; 3], usize) {
    let (dim, degree) = module.space().unwrap_or_default();
    traced_with(module, 2 * table_words(dim, degree))
}

/// Cells, and entries of memory for a vector of theirs or for so many others.
pub(super) fn traced_with(module: Module, others: usize) -> ([u32; 3], usize) {
    let (dim, degree) = module.space().unwrap_or_default();
    let cells = [64, 4, if dim == 3 { 4 } else { 1 }];
    let mut nodes = cells.map(|cells| cells * degree as u32 + 1);
    nodes[0] = row(nodes[0]);
    (cells, (nodes[..dim].iter().product::<u32>() as usize).max(others))
}

/// Layers of a block.
pub(super) const CHUNK: u32 = 2;

fn sample<T: Real>(name: &str) -> Sample {
    match name {
        "smooth" => |cells, memory| {
            let x = memory.cast::<T>();
            let (matrices, table, b) = (x.cast_const(), x.cast_const(), x.cast_const());
            Some(Box::new(Smooth { matrices, table, b, x, directions: Directions::closed(cells), color: 0 }))
        },
        "apply" => |cells, memory| {
            let (y, directions) = (memory.cast::<T>(), Directions::closed(cells));
            let (matrices, x) = (y.cast_const(), y.cast_const());
            Some(Box::new(Apply { matrices, x, y, directions, chunk: CHUNK }))
        },
        "residual" => |cells, memory| {
            let (r, directions) = (memory.cast::<T>(), Directions::closed(cells));
            let (matrices, b, x) = (r.cast_const(), r.cast_const(), r.cast_const());
            Some(Box::new(Residual { matrices, b, x, r, directions, chunk: CHUNK }))
        },
        "restrict_residual" => |cells, memory| {
            let (coarse, directions) = (memory.cast::<T>(), Directions::closed(cells));
            let (matrices, b, x) = (coarse.cast_const(), coarse.cast_const(), coarse.cast_const());
            Some(Box::new(RestrictResidual { matrices, b, x, coarse, directions, class: 0, chunk: CHUNK }))
        },
        "prolongate_add" => |cells, memory| {
            let (x, directions) = (memory.cast::<T>(), Directions::closed(cells));
            let (matrices, coarse) = (x.cast_const(), x.cast_const());
            Some(Box::new(ProlongateAdd { matrices, coarse, x, directions }))
        },
        _ => |_, _| None,
    }
}
