//! Entry points of a module, stamped for both scalars. The names are those of [`crate::kernels::KernelSpec::name`].

#[cfg(module = "blas1")]
use crate::blas1::{Coefficients, Vectors};
#[cfg(module = "patch_variants")]
use crate::kernels::Variant;
#[cfg(module = "poisson_cg")]
use crate::matrices::{CellMatrices, ProlongationMatrices, RestrictionMatrices, SmootherMatrices};
#[cfg(module = "poisson_dg")]
use crate::matrices::{DgCellMatrices, DgSolveMatrices, DgTransferMatrices};
#[cfg(module = "patch_variants")]
use crate::variants::{
    Sizes, Step,
    step::{Data, step},
};
use cuda_std::kernel;

/// The degree of the module, from the builder.
#[cfg(any(module = "poisson_cg", module = "poisson_dg", module = "patch_variants"))]
const K: usize = SIZE;
/// Degree, or nodes of a box.
#[cfg(not(module = "blas1"))]
const SIZE: usize = {
    let text = env!("PATCHMG_SIZE").as_bytes();
    let (mut value, mut i) = (0, 0);
    while i < text.len() {
        value = 10 * value + (text[i] - b'0') as usize;
        i += 1;
    }
    value
};
#[cfg(all(any(module = "poisson_cg", module = "poisson_dg"), dim = "2"))]
const DIM: usize = 2;
#[cfg(all(any(module = "poisson_cg", module = "poisson_dg"), dim = "3"))]
const DIM: usize = 3;
#[cfg(module = "poisson_cg")]
const M: usize = 2 * K - 1;
#[cfg(module = "poisson_cg")]
const N: usize = 2 * K + 1;
#[cfg(any(module = "poisson_cg", module = "poisson_dg"))]
const C: usize = K + 1;
#[cfg(any(module = "poisson_cg", module = "poisson_dg"))]
const H: usize = C.div_ceil(2);

/// The kernels of a space, from the functions of its dimension.
#[cfg(module = "poisson_cg")]
macro_rules! poisson {
    ($t:ident, $smooth:ident, $apply:ident) => {
        mod $t {
            use super::*;

            #[kernel]
            #[unsafe(export_name = concat!(env!("PATCHMG_MODULE"), "_smooth_", stringify!($t)))]
            pub unsafe fn smooth(
                matrices: SmootherMatrices<$t, K, M>,
                table: *const $t,
                b: *const $t,
                x: *mut $t,
                cells: u32,
                color: u32,
            ) {
                // SAFETY: the launch's promise.
                unsafe {
                    let table = crate::smoother::Table::new(table);
                    crate::smoother::$smooth::<$t, K, M, N>(&matrices, table, b, x, cells, color)
                }
            }

            #[kernel]
            #[unsafe(export_name = concat!(env!("PATCHMG_MODULE"), "_apply_", stringify!($t)))]
            pub unsafe fn apply(matrices: CellMatrices<$t, C, H>, x: *const $t, y: *mut $t, cells: u32, chunk: u32) {
                let output = crate::operator::Output { b: core::ptr::null(), y };
                // SAFETY: the launch's promise.
                unsafe { crate::operator::$apply::<$t, false, K, C, H>(&matrices, x, output, cells, chunk) }
            }

            #[kernel]
            #[unsafe(export_name = concat!(env!("PATCHMG_MODULE"), "_residual_", stringify!($t)))]
            pub unsafe fn residual(
                matrices: CellMatrices<$t, C, H>,
                b: *const $t,
                x: *const $t,
                r: *mut $t,
                cells: u32,
                chunk: u32,
            ) {
                let output = crate::operator::Output { b, y: r };
                // SAFETY: the launch's promise.
                unsafe { crate::operator::$apply::<$t, true, K, C, H>(&matrices, x, output, cells, chunk) }
            }

            #[kernel]
            #[unsafe(export_name = concat!(env!("PATCHMG_MODULE"), "_restrict_residual_", stringify!($t)))]
            pub unsafe fn restrict_residual(
                matrices: RestrictionMatrices<$t, N, H>,
                b: *const $t,
                x: *const $t,
                coarse: *mut $t,
                cells: u32,
                class: u32,
                chunk: u32,
            ) {
                // SAFETY: the launch's promise.
                unsafe {
                    crate::transfer::restrict_residual::<$t, DIM, K, N, C, H>(
                        &matrices, b, x, coarse, cells, class, chunk,
                    )
                }
            }

            #[kernel]
            #[unsafe(export_name = concat!(env!("PATCHMG_MODULE"), "_prolongate_add_", stringify!($t)))]
            pub unsafe fn prolongate_add(
                matrices: ProlongationMatrices<$t, C>,
                coarse: *const $t,
                x: *mut $t,
                cells: u32,
            ) {
                // SAFETY: the launch's promise.
                unsafe { crate::transfer::prolongate_add::<$t, DIM, K, N, C>(&matrices, coarse, x, cells) }
            }

            #[kernel]
            #[unsafe(export_name = concat!(env!("PATCHMG_MODULE"), "_point_gauss_seidel_", stringify!($t)))]
            pub unsafe fn point_gauss_seidel(table: *const $t, b: *const $t, x: *mut $t, cells: u32, color: u32) {
                // SAFETY: the launch's promise.
                unsafe { crate::point::gauss_seidel::<$t, DIM, K>(table, b, x, cells, color) }
            }
        }
    };
}

/// Those that there are in 2D alone.
#[cfg(all(module = "poisson_cg", dim = "2"))]
macro_rules! poisson_2d {
    ($t:ident, $name:ident) => {
        mod $name {
            use super::*;

            #[kernel]
            #[unsafe(export_name = concat!(env!("PATCHMG_MODULE"), "_smooth_first_", stringify!($t)))]
            pub unsafe fn smooth_first(
                matrices: SmootherMatrices<$t, K, M>,
                table: *const $t,
                coarse: *const $t,
                b: *const $t,
                x: *mut $t,
                cells: u32,
            ) {
                // SAFETY: the launch's promise.
                unsafe {
                    let table = crate::smoother::Table::new(table);
                    crate::smoother::smooth_first_2d::<$t, K, M, N>(&matrices, table, coarse, b, x, cells)
                }
            }

            #[kernel]
            #[unsafe(export_name = concat!(env!("PATCHMG_MODULE"), "_prolongate_edges_", stringify!($t)))]
            pub unsafe fn prolongate_edges(
                matrices: ProlongationMatrices<$t, C>,
                coarse: *const $t,
                x: *mut $t,
                cells: u32,
            ) {
                // SAFETY: the launch's promise.
                unsafe { crate::transfer::prolongate_edges::<$t, K, N, C>(&matrices, coarse, x, cells) }
            }
        }
    };
}

#[cfg(all(module = "poisson_cg", dim = "2"))]
poisson!(f32, smooth_2d, apply_2d);
#[cfg(all(module = "poisson_cg", dim = "2"))]
poisson!(f64, smooth_2d, apply_2d);
#[cfg(all(module = "poisson_cg", dim = "2"))]
poisson_2d!(f32, in_2d_f32);
#[cfg(all(module = "poisson_cg", dim = "2"))]
poisson_2d!(f64, in_2d_f64);
#[cfg(all(module = "poisson_cg", dim = "3"))]
poisson!(f32, smooth_3d, apply_3d);
#[cfg(all(module = "poisson_cg", dim = "3"))]
poisson!(f64, smooth_3d, apply_3d);

/// Nodes of a patch of discontinuous elements, and in the middle direction those of a cell and of a patch.
#[cfg(module = "poisson_dg")]
const N: usize = 2 * C;
#[cfg(module = "poisson_dg")]
const MID: usize = if DIM == 2 { 1 } else { C };
#[cfg(module = "poisson_dg")]
const PATCH_MID: usize = if DIM == 2 { 1 } else { N };
/// Columns of a thread of the operator.
#[cfg(module = "poisson_dg")]
const COLUMNS: usize = crate::dg::operator::columns(DIM, K);

/// The kernels of a space of discontinuous elements.
#[cfg(module = "poisson_dg")]
macro_rules! poisson_dg {
    ($t:ident) => {
        mod $t {
            use super::*;
            use crate::dg::{operator, solve, transfer};

            #[kernel]
            #[unsafe(export_name = concat!(env!("PATCHMG_MODULE"), "_apply_", stringify!($t)))]
            pub unsafe fn apply(matrices: DgCellMatrices<$t, C, H>, x: *const $t, y: *mut $t, cells: u32, chunk: u32) {
                let b = core::ptr::null();
                // SAFETY: the launch's promise.
                unsafe { operator::apply::<$t, false, C, H, MID, COLUMNS>(&matrices, b, x, y, cells, chunk) }
            }

            #[kernel]
            #[unsafe(export_name = concat!(env!("PATCHMG_MODULE"), "_residual_", stringify!($t)))]
            pub unsafe fn residual(
                matrices: DgCellMatrices<$t, C, H>,
                b: *const $t,
                x: *const $t,
                r: *mut $t,
                cells: u32,
                chunk: u32,
            ) {
                // SAFETY: the launch's promise.
                unsafe { operator::apply::<$t, true, C, H, MID, COLUMNS>(&matrices, b, x, r, cells, chunk) }
            }

            #[kernel]
            #[unsafe(export_name = concat!(env!("PATCHMG_MODULE"), "_solve_", stringify!($t)))]
            pub unsafe fn solve(
                matrices: DgSolveMatrices<$t, N, C>,
                table: *const $t,
                r: *const $t,
                x: *mut $t,
                cells: u32,
                color: u32,
            ) {
                // SAFETY: the launch's promise.
                unsafe { solve::solve::<$t, N, C, PATCH_MID>(&matrices, table, r, x, cells, color) }
            }

            #[kernel]
            #[unsafe(export_name = concat!(env!("PATCHMG_MODULE"), "_restrict_", stringify!($t)))]
            pub unsafe fn restrict(
                matrices: DgTransferMatrices<$t, N, C, H>,
                r: *const $t,
                coarse: *mut $t,
                cells: u32,
            ) {
                // SAFETY: the launch's promise.
                unsafe { transfer::restrict::<$t, N, C, H, PATCH_MID>(&matrices, r, coarse, cells) }
            }

            #[kernel]
            #[unsafe(export_name = concat!(env!("PATCHMG_MODULE"), "_prolongate_add_", stringify!($t)))]
            pub unsafe fn prolongate_add(
                matrices: DgTransferMatrices<$t, N, C, H>,
                coarse: *const $t,
                x: *mut $t,
                cells: u32,
            ) {
                // SAFETY: the launch's promise.
                unsafe { transfer::prolongate_add::<$t, N, C, H, PATCH_MID>(&matrices, coarse, x, cells) }
            }
        }
    };
}

#[cfg(module = "poisson_dg")]
poisson_dg!(f32);
#[cfg(module = "poisson_dg")]
poisson_dg!(f64);

/// The kernels of paper 1 in one scalar: entry point, step and level.
#[cfg(module = "patch_variants")]
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
                    cells: u32,
                    color: u32,
                ) {
                    let data = Data { table, inverse, b, r, x };
                    let kernel = const { (Step::$step, Variant::$variant, Sizes::new($dim, K)) };
                    // SAFETY: the launch's promise.
                    unsafe { step::<$t, { $layers }>(kernel, data, cells, color) }
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

#[cfg(all(module = "patch_variants", dim = "2"))]
variants!(2, 1, f32);
#[cfg(all(module = "patch_variants", dim = "2"))]
variants!(2, 1, f64);
/// Layers of a thread in 3D: all nodes of a column, or all faces.
#[cfg(all(module = "patch_variants", dim = "3"))]
const LAYERS: usize = if 2 * K + 1 > 6 { 2 * K + 1 } else { 6 };
#[cfg(all(module = "patch_variants", dim = "3"))]
variants!(3, LAYERS, f32);
#[cfg(all(module = "patch_variants", dim = "3"))]
variants!(3, LAYERS, f64);
#[cfg(all(module = "patch_variants", dof_threads))]
variants!(3, 1, dof_f32, f32, fused_dof_basic = FusedDof Basic;);
#[cfg(all(module = "patch_variants", dof_threads))]
variants!(3, 1, dof_f64, f64, fused_dof_basic = FusedDof Basic;);

/// Vector operations; `$other` is the other scalar.
#[cfg(module = "blas1")]
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
            #[unsafe(export_name = concat!(env!("PATCHMG_MODULE"), "_add_combination_", stringify!($t)))]
            pub unsafe fn add_combination(coefficients: Coefficients, xs: Vectors<$t>, count: u32, y: *mut $t, n: u64) {
                // SAFETY: the launch's promise.
                unsafe { crate::blas1::add_combination(coefficients, xs, count, y, n) }
            }
        }
    };
}

#[cfg(module = "blas1")]
blas1!(f32, f64);
#[cfg(module = "blas1")]
blas1!(f64, f32);

#[cfg(module = "blas1")]
#[kernel]
#[unsafe(export_name = concat!(env!("PATCHMG_MODULE"), "_sum_partials_f64"))]
pub unsafe fn sum_partials(partials: *const f64, out: *mut f64) {
    // SAFETY: the launch's promise.
    unsafe { crate::blas1::sum_partials(partials, out) }
}

/// The operator box by box: entry point, scalar, source of the matrices and engine.
#[cfg(module = "tensor_core")]
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
            count: u32,
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
            unsafe { operator::apply::<$engine, _, SIZE>(InConstant::<$t, SIZE>::at(address), table, [b, x], y, count) }
        }
    };
    (@@ $name:ident, $t:ident, texture, $engine:ty, $kind:ident) => {
        #[kernel]
        #[unsafe(export_name = concat!(env!("PATCHMG_MODULE"), "_apply_", stringify!($name)))]
        pub unsafe fn $name(texture: u64, table: *const $t, b: *const $t, x: *const $t, y: *mut $t, count: u32) {
            // SAFETY: the launch's promise.
            unsafe { operator::apply::<$engine, _, SIZE>(InTexture::<SIZE>::of(texture), table, [b, x], y, count) }
        }
    };
    (@@ $name:ident, $t:ident, $source:ident, $engine:ty, $kind:ident) => {
        mod $name {
            use super::*;

            #[kernel]
            #[unsafe(export_name = concat!(env!("PATCHMG_MODULE"), "_apply_", stringify!($name)))]
            pub unsafe fn apply(table: *const $t, b: *const $t, x: *const $t, y: *mut $t, count: u32) {
                let source = crate::matrix_source!(operator, $source, $engine, SIZE, table);
                // SAFETY: the launch's promise.
                unsafe { operator::apply::<$engine, _, SIZE>(source, table, [b, x], y, count) }
            }

            #[cfg(patches)]
            #[kernel]
            #[unsafe(export_name = concat!(env!("PATCHMG_MODULE"), "_solve_", stringify!($name)))]
            pub unsafe fn solve(table: *const $t, r: *const $t, x: *mut $t, cells: u32, color: u32) {
                let source = crate::matrix_source!(solve, $source, $engine, SIZE, table);
                // SAFETY: the launch's promise.
                unsafe { solve::solve::<$engine, _, SIZE>(source, table, r, x, cells, color) }
            }

            box_kernels! { @contract $kind $t, $name, $source, $engine }
        }
    };
    (@contract MmaSwizzled f64, $name:ident, $source:ident, $engine:ty) => {
        #[cfg(full_list)]
        #[kernel]
        #[unsafe(export_name = concat!(env!("PATCHMG_MODULE"), "_contract_", stringify!($name)))]
        pub unsafe fn contract(table: *const f64, x: *const f64, y: *mut f64, count: u32, repeats: u32) {
            let source = crate::matrix_source!(operator, $source, $engine, SIZE, table);
            // SAFETY: the launch's promise.
            unsafe { contractions::contract::<$engine, _, SIZE>(source, table, x, y, count, repeats) }
        }
    };
    (@contract $($rest:tt)+) => {};
}
#[cfg(module = "tensor_core")]
#[allow(unused_imports)] // not every module has all engines
mod boxes {
    use super::*;
    use crate::layout::{Padded, XorSwizzle};
    use crate::mma::{Bf16, F16, F16Corrected, M8N8K4, M16N8K4, M16N8K8, M16N8K16, Tf32, Tf32Corrected};
    use crate::tensor_core::fma::Fma;
    use crate::tensor_core::matrix::{Constants, InConstant, InTexture};
    use crate::tensor_core::tile::{HalfTiles, Tiles};
    use crate::tensor_core::wmma::WmmaTiles;
    use crate::tensor_core::{contractions, operator, solve};

    const N: usize = SIZE;
    crate::tensor_kernels!(every box_kernels);
    #[cfg(full_list)]
    crate::tensor_kernels!(full box_kernels);
}
