//! The modules of the kernels of paper 2, and with what these are traced.

use super::{Basic, ConflictFree, DEGREES, Direct, Padding, ROWS, Schur, SchurConflictFree, Shared};
use crate::scalar::Real;
use crate::stokes::Fields;
use crate::typed::{Kind, Sample};
use std::boxed::Box;
use std::format;

/// Of the many dofs of a patch, those for which the direct solver is traced.
const SOME_DOFS: u32 = 64;

/// The kernels of paper 2 in 3D: a module for each degree `k` of `RT_k`.
pub static KIND: Kind = Kind {
    name: "stokes_paper2",
    is_of_paper: true,
    needs_hopper: false,
    spaces: || DEGREES.map(|degree| (3, degree)).collect(),
    module_name: |_, degree| format!("stokes_paper2_rt{degree}"),
    rows: ROWS,
    // Of three patches a direction the one in the middle touches no end; so does the first one of the last color.
    traced: |module| {
        let (_, degree) = module.space().unwrap_or_default();
        ([6; 3], (6 * (degree + 1)).pow(3).max((SOME_DOFS as usize).pow(2)))
    },
    samples: [sample::<f32>, sample::<f64>],
};

fn sample<T: Real>(name: &str) -> Sample {
    macro_rules! schur {
        ($Arguments:ident) => {
            |cells, memory| {
                let (x, fields) = (memory.cast::<T>(), Fields { cells, color: 7, distance: 0 });
                Some(Box::new($Arguments { table: x.cast_const(), steps: 2, r: x.cast_const(), x, fields }))
            }
        };
    }
    macro_rules! operator {
        ($Arguments:ident) => {
            |cells, memory| {
                let y = memory.cast::<T>();
                let (matrices, ends, x) = (y.cast_const(), y.cast_const(), y.cast_const());
                let fields = Fields { cells, color: 7, distance: 0 };
                Some(Box::new($Arguments { matrices, ends, x, y, alpha: T::ZERO, fields }))
            }
        };
    }
    match name {
        "padding" => operator!(Padding),
        "basic" => operator!(Basic),
        "shared" => operator!(Shared),
        "conflict_free" => operator!(ConflictFree),
        "schur" => schur!(Schur),
        "schur_conflict_free" => schur!(SchurConflictFree),
        _ => |cells, memory| {
            let (x, fields) = (memory.cast::<T>(), Fields { cells, color: 7, distance: 0 });
            Some(Box::new(Direct { inverses: x.cast_const(), dofs: SOME_DOFS, r: x.cast_const(), x, fields }))
        },
    }
}
