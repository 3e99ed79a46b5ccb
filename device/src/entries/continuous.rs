//! Those of continuous elements.

use super::{Counts, SIZE};
use crate::matrices::{CellMatrices, ProlongationMatrices, RestrictionMatrices, Scaled, SmootherMatrices};
use crate::transfer::levels::Closed;
use cuda_std::kernel;

const K: usize = SIZE;
#[cfg(dim = "2")]
const DIM: usize = 2;
#[cfg(dim = "3")]
const DIM: usize = 3;
const M: usize = 2 * K - 1;
const N: usize = 2 * K + 1;
const C: usize = K + 1;
const H: usize = C.div_ceil(2);
#[cfg(dim = "2")]
const E: usize = crate::smoother::interpolated_nodes(K);

/// The kernels of a space, from the functions of its dimension.
macro_rules! poisson {
    ($t:ident, $smooth:ident, $apply:ident) => {
        mod $t {
            use super::*;

            #[kernel]
            #[unsafe(export_name = concat!(env!("PATCHMG_MODULE"), "_smooth_", stringify!($t)))]
            pub unsafe fn smooth(
                matrices: Scaled<SmootherMatrices<$t, K, M>, $t>,
                table: *const $t,
                b: *const $t,
                x: *mut $t,
                cells: Counts,
                color: u32,
            ) {
                // SAFETY: the launch's promise.
                unsafe {
                    let table = crate::smoother::Table::new(table);
                    crate::smoother::$smooth::<$t, K, M, N>(&matrices, table, b, x, cells.0, color)
                }
            }

            #[kernel]
            #[unsafe(export_name = concat!(env!("PATCHMG_MODULE"), "_apply_", stringify!($t)))]
            pub unsafe fn apply(
                matrices: Scaled<CellMatrices<$t, C, H>, $t>,
                x: *const $t,
                y: *mut $t,
                cells: Counts,
                chunk: u32,
            ) {
                let output = crate::operator::Output { b: core::ptr::null(), y };
                // SAFETY: the launch's promise.
                unsafe { crate::operator::$apply::<$t, false, K, C, H>(&matrices, x, output, cells.0, chunk) }
            }

            #[kernel]
            #[unsafe(export_name = concat!(env!("PATCHMG_MODULE"), "_residual_", stringify!($t)))]
            pub unsafe fn residual(
                matrices: Scaled<CellMatrices<$t, C, H>, $t>,
                b: *const $t,
                x: *const $t,
                r: *mut $t,
                cells: Counts,
                chunk: u32,
            ) {
                let output = crate::operator::Output { b, y: r };
                // SAFETY: the launch's promise.
                unsafe { crate::operator::$apply::<$t, true, K, C, H>(&matrices, x, output, cells.0, chunk) }
            }

            #[kernel]
            #[unsafe(export_name = concat!(env!("PATCHMG_MODULE"), "_restrict_residual_", stringify!($t)))]
            pub unsafe fn restrict_residual(
                matrices: Scaled<RestrictionMatrices<$t, N, H>, $t>,
                b: *const $t,
                x: *const $t,
                coarse: *mut $t,
                cells: Counts,
                class: u32,
                chunk: u32,
            ) {
                // SAFETY: the launch's promise.
                unsafe {
                    crate::transfer::restrict_residual::<$t, DIM, K, N, C, H>(
                        &matrices, b, x, coarse, cells.0, class, chunk,
                    )
                }
            }

            #[kernel]
            #[unsafe(export_name = concat!(env!("PATCHMG_MODULE"), "_prolongate_add_", stringify!($t)))]
            pub unsafe fn prolongate_add(
                matrices: ProlongationMatrices<$t, C>,
                coarse: *const $t,
                x: *mut $t,
                cells: Counts,
            ) {
                // SAFETY: the launch's promise.
                unsafe {
                    crate::transfer::prolongate_add::<$t, DIM, K, N, C>(&matrices, coarse, x, Closed::new(cells.0, K))
                }
            }

            #[kernel]
            #[unsafe(export_name = concat!(env!("PATCHMG_MODULE"), "_point_gauss_seidel_", stringify!($t)))]
            pub unsafe fn point_gauss_seidel(table: *const $t, b: *const $t, x: *mut $t, cells: Counts, color: u32) {
                // SAFETY: the launch's promise.
                unsafe { crate::point::gauss_seidel::<$t, DIM, K>(table, b, x, cells.0, color) }
            }
        }
    };
}

/// Those that there are in 2D alone.
#[cfg(dim = "2")]
macro_rules! poisson_2d {
    ($t:ident, $name:ident) => {
        mod $name {
            use super::*;

            #[kernel]
            #[unsafe(export_name = concat!(env!("PATCHMG_MODULE"), "_smooth_first_", stringify!($t)))]
            pub unsafe fn smooth_first(
                matrices: Scaled<crate::matrices::FirstStepMatrices<$t, K, M, E>, $t>,
                table: *const $t,
                coarse: *const $t,
                b: *const $t,
                x: *mut $t,
                cells: Counts,
            ) {
                // SAFETY: the launch's promise.
                unsafe {
                    let table = crate::smoother::Table::new(table);
                    crate::smoother::smooth_first_2d::<$t, K, M, N, E>(&matrices, table, coarse, b, x, cells.0)
                }
            }

            #[kernel]
            #[unsafe(export_name = concat!(env!("PATCHMG_MODULE"), "_prolongate_edges_", stringify!($t)))]
            pub unsafe fn prolongate_edges(
                matrices: ProlongationMatrices<$t, C>,
                coarse: *const $t,
                x: *mut $t,
                cells: Counts,
            ) {
                // SAFETY: the launch's promise.
                unsafe { crate::transfer::prolongate_edges::<$t, K, N, C>(&matrices, coarse, x, cells.0) }
            }
        }
    };
}

/// The one that there is in 3D and `f64` alone.
#[cfg(dim = "3")]
#[kernel]
#[unsafe(export_name = concat!(env!("PATCHMG_MODULE"), "_apply_rounded_f64"))]
pub unsafe fn apply_rounded(
    matrices: Scaled<CellMatrices<f64, C, H>, f64>,
    x: *const f32,
    y: *mut f64,
    cells: Counts,
    chunk: u32,
) {
    // SAFETY: the launch's promise.
    unsafe { crate::operator::apply_rounded_3d::<K, C, H>(&matrices, x, y, cells.0, chunk) }
}

/// As [`apply_rounded`].
#[cfg(dim = "3")]
#[kernel]
#[unsafe(export_name = concat!(env!("PATCHMG_MODULE"), "_residual_norms_f64"))]
pub unsafe fn residual_norms(
    matrices: Scaled<CellMatrices<f64, C, H>, f64>,
    b: *const f64,
    x: *const f64,
    norms: *mut f64,
    cells: Counts,
    chunk: u32,
) {
    // SAFETY: the launch's promise.
    unsafe { crate::operator::residual_norms_3d::<K, C, H>(&matrices, b, x, norms, cells.0, chunk) }
}

#[cfg(dim = "2")]
poisson!(f32, smooth_2d, apply_2d);
#[cfg(dim = "2")]
poisson!(f64, smooth_2d, apply_2d);
#[cfg(dim = "2")]
poisson_2d!(f32, in_2d_f32);
#[cfg(dim = "2")]
poisson_2d!(f64, in_2d_f64);
#[cfg(dim = "3")]
poisson!(f32, smooth_3d, apply_3d);
#[cfg(dim = "3")]
poisson!(f64, smooth_3d, apply_3d);
