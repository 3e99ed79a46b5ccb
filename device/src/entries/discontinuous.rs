//! Those of discontinuous elements.

use super::{Counts, SIZE};
use crate::matrices::{DgOperatorMatrices, DgSolveMatrices, DgTransferMatrices};
use cuda_std::kernel;

const K: usize = SIZE;
#[cfg(dim = "2")]
const DIM: usize = 2;
#[cfg(dim = "3")]
const DIM: usize = 3;
const C: usize = K + 1;
const H: usize = C.div_ceil(2);
/// Nodes of a patch of discontinuous elements, and in the middle direction those of a cell and of a patch.
const N: usize = 2 * C;
const MID: usize = if DIM == 2 { 1 } else { C };
const PATCH_MID: usize = if DIM == 2 { 1 } else { N };
/// Columns of a thread of the operator.
const COLUMNS: usize = crate::dg::operator::columns(DIM, K);

/// The kernels of a space of discontinuous elements.
macro_rules! poisson_dg {
    ($t:ident) => {
        mod $t {
            use super::*;
            use crate::dg::{operator, solve, transfer};

            #[kernel]
            #[unsafe(export_name = concat!(env!("PATCHMG_MODULE"), "_apply_", stringify!($t)))]
            pub unsafe fn apply(
                matrices: DgOperatorMatrices<$t, C, H>,
                x: *const $t,
                y: *mut $t,
                cells: Counts,
                chunk: u32,
            ) {
                let b = core::ptr::null();
                // SAFETY: the launch's promise.
                unsafe { operator::apply::<$t, false, C, H, MID, COLUMNS>(&matrices, b, x, y, cells.0, chunk) }
            }

            #[kernel]
            #[unsafe(export_name = concat!(env!("PATCHMG_MODULE"), "_residual_", stringify!($t)))]
            pub unsafe fn residual(
                matrices: DgOperatorMatrices<$t, C, H>,
                b: *const $t,
                x: *const $t,
                r: *mut $t,
                cells: Counts,
                chunk: u32,
            ) {
                // SAFETY: the launch's promise.
                unsafe { operator::apply::<$t, true, C, H, MID, COLUMNS>(&matrices, b, x, r, cells.0, chunk) }
            }

            #[kernel]
            #[unsafe(export_name = concat!(env!("PATCHMG_MODULE"), "_solve_", stringify!($t)))]
            pub unsafe fn solve(
                matrices: DgSolveMatrices<$t, N, C>,
                table: *const $t,
                r: *const $t,
                x: *mut $t,
                cells: Counts,
                color: u32,
            ) {
                // SAFETY: the launch's promise.
                unsafe { solve::solve::<$t, N, C, PATCH_MID, false>(&matrices, table, r, x, cells.0, color) }
            }

            #[kernel]
            #[unsafe(export_name = concat!(env!("PATCHMG_MODULE"), "_solve_thin_", stringify!($t)))]
            pub unsafe fn solve_thin(
                matrices: DgSolveMatrices<$t, N, C>,
                table: *const $t,
                r: *const $t,
                x: *mut $t,
                cells: Counts,
                color: u32,
            ) {
                // SAFETY: the launch's promise.
                unsafe { solve::solve::<$t, N, C, PATCH_MID, true>(&matrices, table, r, x, cells.0, color) }
            }

            #[kernel]
            #[unsafe(export_name = concat!(env!("PATCHMG_MODULE"), "_restrict_", stringify!($t)))]
            pub unsafe fn restrict(
                matrices: DgTransferMatrices<$t, N, C, H>,
                r: *const $t,
                coarse: *mut $t,
                cells: Counts,
            ) {
                // SAFETY: the launch's promise.
                unsafe { transfer::restrict::<$t, N, C, H, PATCH_MID>(&matrices, r, coarse, cells.0) }
            }

            #[kernel]
            #[unsafe(export_name = concat!(env!("PATCHMG_MODULE"), "_prolongate_add_", stringify!($t)))]
            pub unsafe fn prolongate_add(
                matrices: DgTransferMatrices<$t, N, C, H>,
                coarse: *const $t,
                x: *mut $t,
                cells: Counts,
            ) {
                // SAFETY: the launch's promise.
                unsafe { transfer::prolongate_add::<$t, N, C, H, PATCH_MID>(&matrices, coarse, x, cells.0) }
            }
        }
    };
}

poisson_dg!(f32);
poisson_dg!(f64);
