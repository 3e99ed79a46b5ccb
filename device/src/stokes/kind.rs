//! The modules of the Stokes equations, and with what their kernels are traced.

use super::list::ROWS;
use super::{Fields, PatchTable, Residual, SchurStarts, Solve, degrees};
use crate::kernels::Module;
use crate::scalar::Real;
use crate::typed::{Kind, Sample};
use std::boxed::Box;
use std::format;

/// The Stokes equations, Raviart-Thomas elements `RT_k`: a module for each dimension and degree `k`.
pub static KIND: Kind = Kind {
    name: "stokes",
    is_of_paper: false,
    needs_hopper: false,
    spaces: || [2, 3].into_iter().flat_map(|dim| degrees(dim).map(move |degree| (dim, degree))).collect(),
    module_name: |dim, degree| format!("stokes_{dim}d_rt{degree}"),
    rows: ROWS,
    traced,
    samples: [sample::<f32>, sample::<f64>],
};

/// Patches of the last color touch no end there. A pressure's matrix couples those of one parity.
fn traced(module: Module) -> ([u32; 3], usize) {
    let (dim, degree) = module.space().unwrap_or_default();
    let (nodes, cells) = (degree + 1, [4, 4, if dim == 3 { 4 } else { 1 }]);
    let vector = (dim + 1) * (4 * nodes).pow(dim as u32);
    (cells, vector.max((1 << dim) * nodes.pow(2 * dim as u32)).max(PatchTable::new(nodes).words()))
}

fn sample<T: Real>(name: &str) -> Sample {
    fn fields(cells: [u32; 3]) -> Fields {
        Fields { cells, color: if cells[2] > 1 { 7 } else { 3 }, distance: 0 }
    }
    match name {
        "solve" => |cells, memory| {
            let (x, starts) = (memory.cast::<T>(), SchurStarts([0; 8]));
            let (matrices, table, schur, r) = (x.cast_const(), x.cast_const(), x.cast_const(), x.cast_const());
            Some(Box::new(Solve { matrices, table, schur, starts, r, x, fields: fields(cells) }))
        },
        _ => |cells, memory| {
            let y = memory.cast::<T>();
            let (matrices, ends, b, x) = (y.cast_const(), y.cast_const(), y.cast_const(), y.cast_const());
            Some(Box::new(Residual { matrices, ends, b, x, y, fields: fields(cells) }))
        },
    }
}
