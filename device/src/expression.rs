//! A function at the points of a tensor grid, `y_ijk = w_i w_j w_k f(x_i, y_j, z_k)`, or its derivative along an axis there.
//!
//! The functions [`value`] and [`derivative`] are `.func`s of the module. When the host loads it, it replaces their bodies by code of
//! the expression that it was given, which calls functions of the module `functions`. A thread owns a point.

use crate::scalar::Real;
#[cfg(not(target_arch = "nvptx64"))]
use crate::{any_size, kernels::Module, typed::Block, typed::Kind};
use bytemuck::{Pod, Zeroable};
use cuda_std::thread;

/// Threads of a block.
pub const THREADS: usize = 256;
/// Blocks in y; as many of them as there must be are in z, because either is at most 65535.
const PLANE_BLOCKS: u32 = 1 << 15;

/// Points along x, y and z, and what of the function is wanted there.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Points along each axis; those of a plane are at most `u32::MAX`.
    pub sizes: [u32; 3],
    /// 0 for values, `d + 1` for derivatives along axis `d`.
    pub kind: u32,
}

// SAFETY: four `u32` without padding.
unsafe impl Zeroable for Grid {}
// SAFETY: as above.
unsafe impl Pod for Grid {}

impl Grid {
    /// Blocks for a thread for each point; none if there is no point.
    pub const fn blocks(self) -> [u32; 3] {
        let [size_x, size_y, planes] = self.sizes;
        let plane = size_x as u64 * size_y as u64;
        let side_by_side = if planes < PLANE_BLOCKS { planes } else { PLANE_BLOCKS };
        [plane.div_ceil(THREADS as u64) as u32, side_by_side, planes.div_ceil(PLANE_BLOCKS)]
    }
}

crate::kernels! {
    by any_size;

    /// `y = w f`, or `y = w f - y`, in all points of a grid, x fastest.
    Evaluate = evaluate(
        /// Coordinates along x, those along y and those along z, one after the other.
        points: *const f64,
        /// Of each coordinate.
        weights: *const f64,
        y: *mut T,
        grid: Grid,
        /// 1 to subtract `y`, 0 to overwrite it.
        subtract: u32,
    ), Block::of(THREADS);
}

/// Its one module.
#[cfg(not(target_arch = "nvptx64"))]
pub const MODULE: Module = KIND.module(0, 0);

#[cfg(not(target_arch = "nvptx64"))]
pub(crate) static KIND: Kind = Kind {
    name: "expression",
    is_of_paper: false,
    needs_hopper: false,
    spaces: std::vec::Vec::new,
    module_name: |_, _| "expression".into(),
    rows: ROWS,
    traced: |_| ([0; 3], 1),
    samples: [|_| |_, _| None; 2],
};

/// See [`Evaluate`].
///
/// # Safety
/// Launched with [`THREADS`] threads a block and [`Grid::blocks`]; points, weights and `y` are as the grid says.
#[inline(always)]
pub unsafe fn evaluate<T: Real>(points: *const f64, weights: *const f64, y: *mut T, grid: Grid, subtract: u32) {
    let [size_x, size_y, size_z] = grid.sizes;
    let plane = size_x as usize * size_y as usize;
    let place = thread::block_idx_x() as usize * THREADS + thread::thread_idx_x() as usize;
    let along_z = thread::block_idx_z() * PLANE_BLOCKS + thread::block_idx_y();
    if place >= plane || along_z >= size_z {
        return;
    }
    // Not 0 here; the compiler leaves out the panic of a division by 0.
    let divisor = if size_x == 0 { 1 } else { size_x };
    let (along_x, along_y) = (place as u32 % divisor, place as u32 / divisor);
    let at_x = along_x as usize;
    let at_y = size_x as usize + along_y as usize;
    let at_z = size_x as usize + size_y as usize + along_z as usize;
    // SAFETY: the caller's promise; the place is in a plane of the grid, and the entry of `y` is the thread's own.
    unsafe {
        let point = [*points.add(at_x), *points.add(at_y), *points.add(at_z)];
        let weight = *weights.add(at_x) * *weights.add(at_y) * *weights.add(at_z);
        // The same for all threads.
        let of_function = if grid.kind == 0 {
            value(point[0], point[1], point[2])
        } else {
            let along = |axis: u32| if grid.kind == axis { 1.0 } else { 0.0 };
            derivative(point[0], point[1], point[2], along(1), along(2), along(3))
        };
        let y = y.add(along_z as usize * plane + place);
        let old = if subtract == 0 { 0.0 } else { (*y).to_f64() };
        *y = T::from_f64(weight * of_function - old);
    }
}

/// `f(x, y, z)`: `x y z`, where it is not replaced. Both bodies use all arguments: the compiler passes none that a body does not use.
#[inline(never)]
#[cfg_attr(target_arch = "nvptx64", unsafe(export_name = "patchmg_value"))]
pub extern "C" fn value(x: f64, y: f64, z: f64) -> f64 {
    replaceable(x * y * z)
}

/// The derivative of `f` along `(dx, dy, dz)`.
#[inline(never)]
#[cfg_attr(target_arch = "nvptx64", unsafe(export_name = "patchmg_derivative"))]
pub extern "C" fn derivative(x: f64, y: f64, z: f64, dx: f64, dy: f64, dz: f64) -> f64 {
    replaceable(dx * y * z + x * dy * z + x * y * dz)
}

/// A result of which the compiler knows nothing that would not hold for another body.
#[inline(always)]
fn replaceable(result: f64) -> f64 {
    #[cfg(target_arch = "nvptx64")]
    {
        let copy;
        // SAFETY: copies a register.
        unsafe {
            core::arch::asm!(
                "mov.b64 {}, {};",
                out(reg64) copy,
                in(reg64) result,
                options(pure, nomem, nostack, preserves_flags)
            )
        };
        copy
    }
    #[cfg(not(target_arch = "nvptx64"))]
    result
}

/// What expressions call, by these names.
#[cfg(target_arch = "nvptx64")]
pub mod functions {
    macro_rules! functions {
        ($($name:ident($($argument:ident),+) = $export:literal;)+) => {
            $(
                #[inline(never)]
                #[unsafe(export_name = $export)]
                pub extern "C" fn $name($($argument: f64),+) -> f64 {
                    libm::$name($($argument),+)
                }
            )+
        };
    }

    functions! {
        sin(x) = "patchmg_sin";
        cos(x) = "patchmg_cos";
        tan(x) = "patchmg_tan";
        exp(x) = "patchmg_exp";
        log(x) = "patchmg_log";
        pow(x, y) = "patchmg_pow";
        atan2(y, x) = "patchmg_atan2";
    }
}
