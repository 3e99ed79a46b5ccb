//! Those of paper 1's smoother.

use super::{Counts, SIZE};
use crate::kernels::Variant;
use crate::variants::{
    Sizes, Step,
    step::{Data, step},
};
use cuda_std::kernel;

const K: usize = SIZE;

/// The kernels of paper 1 in one scalar: entry point, step and level.
macro_rules! variants {
    ($dim:literal, $layers:expr, $module:ident, $t:ident, $($entry:ident = $step:ident $variant:ident;)+) => {
        mod $module {
            use super::*;
            $(
                #[kernel]
                #[unsafe(export_name = concat!(env!("PATCHMG_MODULE"), "_", stringify!($entry), "_", stringify!($t)))]
                pub unsafe fn $entry(
                    table: *const $t,
                    inverse: *const $t,
                    b: *const $t,
                    r: *mut $t,
                    x: *mut $t,
                    cells: Counts,
                    color: u32,
                ) {
                    let data = Data { table, inverse, b, r, x };
                    let kernel = const { (Step::$step, Variant::$variant, Sizes::new($dim, K)) };
                    // SAFETY: the launch's promise.
                    unsafe { step::<$t, { $layers }>(kernel, data, cells.0, color) }
                }
            )+
        }
    };
    ($dim:literal, $layers:expr, $t:ident) => {
        variants! { $dim, $layers, $t, $t,
            fused_basic = Fused Basic;
            residual_basic = Residual Basic;
            solve_basic = Solve Basic;
            fused_inverse_basic = FusedInverse Basic;
            fused_linear = Fused Linear;
            residual_linear = Residual Linear;
            fused_conflict_free = Fused ConflictFree;
            residual_conflict_free = Residual ConflictFree;
            solve_conflict_free = Solve ConflictFree;
            fused_data_conflict_free = FusedData ConflictFree;
            residual_data_conflict_free = ResidualData ConflictFree;
            solve_data_conflict_free = SolveData ConflictFree;
            fused_boundary = Fused Boundary;
            residual_boundary = Residual Boundary;
            solve_boundary = Solve Boundary;
        }
    };
}

#[cfg(dim = "2")]
variants!(2, 1, f32);
#[cfg(dim = "2")]
variants!(2, 1, f64);
/// Layers of a thread in 3D: all nodes of a column, or all faces.
#[cfg(dim = "3")]
const LAYERS: usize = if 2 * K + 1 > 6 { 2 * K + 1 } else { 6 };
#[cfg(dim = "3")]
variants!(3, LAYERS, f32);
#[cfg(dim = "3")]
variants!(3, LAYERS, f64);
#[cfg(dof_threads)]
variants!(3, 1, dof_f32, f32, fused_dof_basic = FusedDof Basic;);
#[cfg(dof_threads)]
variants!(3, 1, dof_f64, f64, fused_dof_basic = FusedDof Basic;);
