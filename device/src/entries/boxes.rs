//! Those of boxes on tensor cores.

// Not every module has all engines.
#![allow(unused_imports)]

use super::{Counts, SIZE};
use crate::layout::{Padded, XorSwizzle};
use crate::mma::{Bf16, F16, F16Corrected, M8N8K4, M16N8K4, M16N8K8, M16N8K16, Tf32, Tf32Corrected};
use crate::tensor_core::fma::Fma;
use crate::tensor_core::matrix::{Constants, InConstant, InTexture};
use crate::tensor_core::tile::{HalfTiles, Tiles};
use crate::tensor_core::wmma::WmmaTiles;
use crate::tensor_core::{contractions, operator, solve};
use cuda_std::kernel;

const N: usize = SIZE;

/// The operator box by box: entry point, scalar, source of the matrices and engine.
macro_rules! box_kernels {
    ([] $($group:ident {
        $($name:ident: $t:ident, $source:ident, $engine:ty = $kind:ident $operands:ident $memory:ident $shape:ident;)+
    })+) => {
        $($(box_kernels! { @ $group $name, $t, $source, $engine, $kind })+)+
    };
    (@ ampere $($rest:tt)+) => {
        #[cfg(products = "ampere")]
        box_kernels! { @@ $($rest)+ }
    };
    (@ hopper $($rest:tt)+) => {
        #[cfg(products = "hopper")]
        box_kernels! { @@ $($rest)+ }
    };
    (@@ $name:ident, $t:ident, constant, $engine:ty, $kind:ident) => {
        #[kernel]
        #[unsafe(export_name = concat!(env!("PATCHMG_MODULE"), "_apply_", stringify!($name)))]
        pub unsafe fn $name(
            constants: Constants<$t, SIZE>,
            table: *const $t,
            b: *const $t,
            x: *const $t,
            y: *mut $t,
            boxes: Counts,
        ) {
            let _ = constants;
            let address: u64;
            // SAFETY: the name that the compiler gives the first parameter.
            unsafe {
                core::arch::asm!(
                    concat!("mov.b64 {}, ", env!("PATCHMG_MODULE"), "_apply_", stringify!($name), "_param_0;"),
                    out(reg64) address,
                    options(pure, nomem, nostack, preserves_flags)
                )
            };
            // SAFETY: the launch's promise.
            unsafe { operator::apply::<$engine, _, SIZE>(InConstant::<$t, SIZE>::at(address), table, [b, x], y, boxes.0) }
        }
    };
    (@@ $name:ident, $t:ident, texture, $engine:ty, $kind:ident) => {
        #[kernel]
        #[unsafe(export_name = concat!(env!("PATCHMG_MODULE"), "_apply_", stringify!($name)))]
        pub unsafe fn $name(texture: u64, table: *const $t, b: *const $t, x: *const $t, y: *mut $t, boxes: Counts) {
            // SAFETY: the launch's promise.
            unsafe { operator::apply::<$engine, _, SIZE>(InTexture::<SIZE>::of(texture), table, [b, x], y, boxes.0) }
        }
    };
    (@@ $name:ident, $t:ident, $source:ident, $engine:ty, $kind:ident) => {
        mod $name {
            use super::*;

            #[kernel]
            #[unsafe(export_name = concat!(env!("PATCHMG_MODULE"), "_apply_", stringify!($name)))]
            pub unsafe fn apply(table: *const $t, b: *const $t, x: *const $t, y: *mut $t, boxes: Counts) {
                let source = crate::matrix_source!(operator, $source, $engine, SIZE, table);
                // SAFETY: the launch's promise.
                unsafe { operator::apply::<$engine, _, SIZE>(source, table, [b, x], y, boxes.0) }
            }

            #[cfg(patches)]
            #[kernel]
            #[unsafe(export_name = concat!(env!("PATCHMG_MODULE"), "_solve_", stringify!($name)))]
            pub unsafe fn solve(table: *const $t, r: *const $t, x: *mut $t, cells: Counts, color: u32) {
                let source = crate::matrix_source!(solve, $source, $engine, SIZE, table);
                // SAFETY: the launch's promise.
                unsafe { solve::solve::<$engine, _, SIZE>(source, table, r, x, cells.0, color) }
            }

            box_kernels! { @contract $kind $t, $name, $source, $engine }
        }
    };
    (@contract MmaSwizzled f64, $name:ident, $source:ident, $engine:ty) => {
        #[cfg(full_list)]
        #[kernel]
        #[unsafe(export_name = concat!(env!("PATCHMG_MODULE"), "_contract_", stringify!($name)))]
        pub unsafe fn contract(table: *const f64, x: *const f64, y: *mut f64, boxes: Counts, repeats: u32) {
            let source = crate::matrix_source!(operator, $source, $engine, SIZE, table);
            // SAFETY: the launch's promise.
            unsafe { contractions::contract::<$engine, _, SIZE>(source, table, x, y, boxes.0, repeats) }
        }
    };
    (@contract $($rest:tt)+) => {};
}

crate::tensor_kernels!(every box_kernels);
#[cfg(full_list)]
crate::tensor_kernels!(full box_kernels);
