//! Those of vector operations.

use crate::blas1::{Coefficients, Vectors};
use cuda_std::kernel;

/// Vector operations; `$other` is the other scalar.
macro_rules! blas1 {
    ($t:ident, $other:ident) => {
        mod $t {
            use super::*;

            #[kernel]
            #[unsafe(export_name = concat!(env!("PATCHMG_MODULE"), "_axpby_", stringify!($t)))]
            pub unsafe fn axpby(alpha: $t, x: *const $t, beta: $t, y: *mut $t, n: u64) {
                // SAFETY: the launch's promise.
                unsafe { crate::blas1::axpby(alpha, x, beta, y, n) }
            }

            #[kernel]
            #[unsafe(export_name = concat!(env!("PATCHMG_MODULE"), "_diagonal_axpby_", stringify!($t)))]
            pub unsafe fn diagonal_axpby(alpha: $t, d: *const $t, x: *const $t, beta: $t, y: *mut $t, n: u64) {
                // SAFETY: the launch's promise.
                unsafe { crate::blas1::diagonal_axpby(alpha, d, x, beta, y, n) }
            }

            #[kernel]
            #[unsafe(export_name = concat!(env!("PATCHMG_MODULE"), "_divide_", stringify!($t)))]
            pub unsafe fn divide(x: *const $t, d: *const $t, y: *mut $t, n: u64) {
                // SAFETY: the launch's promise.
                unsafe { crate::blas1::divide(x, d, y, n) }
            }

            #[kernel]
            #[unsafe(export_name = concat!(env!("PATCHMG_MODULE"), "_convert_", stringify!($t)))]
            pub unsafe fn convert(alpha: f64, x: *const $other, y: *mut $t, n: u64) {
                // SAFETY: the launch's promise.
                unsafe { crate::blas1::convert(alpha, x, y, n) }
            }

            #[kernel]
            #[unsafe(export_name = concat!(env!("PATCHMG_MODULE"), "_dots_", stringify!($t)))]
            pub unsafe fn dots(xs: Vectors<$t>, count: u32, y: *const $t, n: u64, partials: *mut f64) {
                // SAFETY: the launch's promise.
                unsafe { crate::blas1::dots(xs, count, y, n, partials) }
            }

            #[kernel]
            #[unsafe(export_name = concat!(env!("PATCHMG_MODULE"), "_combine_", stringify!($t)))]
            pub unsafe fn combine(c: Coefficients, xs: Vectors<$t>, count: u32, beta: f64, y: *mut $t, n: u64) {
                // SAFETY: the launch's promise.
                unsafe { crate::blas1::combine(c, xs, count, beta, y, n) }
            }

            #[kernel]
            #[unsafe(export_name = concat!(env!("PATCHMG_MODULE"), "_combine_dots_", stringify!($t)))]
            pub unsafe fn combine_dots(
                c: Coefficients,
                xs: Vectors<$t>,
                count: u32,
                y: *mut $t,
                n: u64,
                partials: *mut f64,
            ) {
                // SAFETY: the launch's promise.
                unsafe { crate::blas1::combine_dots(c, xs, count, y, n, partials) }
            }

            #[kernel]
            #[unsafe(export_name = concat!(env!("PATCHMG_MODULE"), "_combine_rounded_", stringify!($t)))]
            pub unsafe fn combine_rounded(
                c: Coefficients,
                xs: Vectors<$other>,
                count: u32,
                beta: f64,
                y: *mut $t,
                n: u64,
            ) {
                // SAFETY: the launch's promise.
                unsafe { crate::blas1::combine(c, xs, count, beta, y, n) }
            }
        }
    };
}

#[kernel]
#[unsafe(export_name = concat!(env!("PATCHMG_MODULE"), "_norm_rounded_f64"))]
pub unsafe fn norm_rounded(x: *const f64, rounded: *mut f32, n: u64, partials: *mut f64) {
    // SAFETY: the launch's promise.
    unsafe { crate::blas1::norm_rounded(x, rounded, n, partials) }
}

blas1!(f32, f64);
blas1!(f64, f32);

#[kernel]
#[unsafe(export_name = concat!(env!("PATCHMG_MODULE"), "_sum_partials_f64"))]
pub unsafe fn sum_partials(partials: *const f64, out: *mut f64) {
    // SAFETY: the launch's promise.
    unsafe { crate::blas1::sum_partials(partials, out) }
}
