//! The Stokes equations by elements `RT_k x Q_k` (paper 2): the residual of all unknowns, and exact solutions on the patches of a
//! color.
//!
//! Of a direction, an axis is *continuous* where a component of the velocity runs along itself, else *discontinuous*. Both have
//! `C = k + 1` stored nodes a cell, so that all fields have their nodes at the same places: the components of the velocity, then
//! the pressure. Node 0 of a continuous axis is zero. Discontinuous axes have diagonal mass matrices.

pub mod residual;
pub mod solve;

use bytemuck::{Pod, Zeroable};
pub use residual::{LineMatrices, residual};
pub use solve::{Derivative, PatchMatrices, PatchTable, solve};

/// Where the fields of a vector lie, and what of a level a kernel is for.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fields {
    /// Cells in each direction; in 2D the last number is 1.
    pub cells: [u32; 3],
    /// Of the patches; counts for nothing elsewhere.
    pub color: u32,
    /// First entry of each component of the velocity, and behind them of the pressure.
    pub first: [u64; 4],
}

// SAFETY: four `u32` and four `u64` without padding.
unsafe impl Zeroable for Fields {}
// SAFETY: as above.
unsafe impl Pod for Fields {}

impl Fields {
    /// From a node to the next one in each direction, in a level of `nodes` nodes a cell.
    #[inline(always)]
    const fn strides(&self, nodes: usize) -> [usize; 3] {
        let [x, y, _] = self.cells;
        let row = x as usize * nodes;
        [1, row, row * y as usize * nodes]
    }

    /// Where a field begins.
    #[inline(always)]
    fn first(&self, field: usize) -> usize {
        (match field {
            0 => self.first[0],
            1 => self.first[1],
            2 => self.first[2],
            _ => self.first[3],
        }) as usize
    }
}

/// Where `S⁺` begins, in words, of patches that touch ends in the directions of a class's bits.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SchurStarts(pub [u32; 8]);

// SAFETY: eight `u32`.
unsafe impl Zeroable for SchurStarts {}
// SAFETY: as above.
unsafe impl Pod for SchurStarts {}

impl SchurStarts {
    /// Of a class.
    #[inline(always)]
    fn of(self, class: usize) -> u32 {
        match class {
            0 => self.0[0],
            1 => self.0[1],
            2 => self.0[2],
            3 => self.0[3],
            4 => self.0[4],
            5 => self.0[5],
            6 => self.0[6],
            _ => self.0[7],
        }
    }
}

/// An entry of three, by an index that is known at run time: arrays in registers have none.
#[inline(always)]
fn pick<V: Copy>(values: [V; 3], index: usize) -> V {
    match index {
        0 => values[0],
        1 => values[1],
        _ => values[2],
    }
}

/// Degrees that there are kernels for.
#[cfg(not(target_arch = "nvptx64"))]
pub fn degrees(dim: usize) -> core::ops::RangeInclusive<usize> {
    if dim == 2 { 1..=8 } else { 1..=5 }
}

/// The module's dimension; nodes in a direction of a cell, of a patch, and of a cell along a component.
#[cfg(target_arch = "nvptx64")]
const DIM: usize = if cfg!(dim = "3") { 3 } else { 2 };
#[cfg(target_arch = "nvptx64")]
const C: usize = crate::entries::SIZE + 1;
#[cfg(target_arch = "nvptx64")]
const N: usize = 2 * C;
#[cfg(target_arch = "nvptx64")]
const E: usize = C + 1;
#[cfg(target_arch = "nvptx64")]
const M: usize = N - 1;

/// The same constants of a [`Module`](crate::kernels::Module).
#[cfg(not(target_arch = "nvptx64"))]
macro_rules! sizes {
    ($module:expr => $value:expr) => {
        sizes!(@ $module, $value, (2 1) (2 2) (2 3) (2 4) (2 5) (2 6) (2 7) (2 8) (3 1) (3 2) (3 3) (3 4) (3 5))
    };
    (@ $module:expr, $value:expr, $(($dim:literal $degree:literal))+) => {
        match $module.space() {
            $(Some(($dim, $degree)) => {
                #[allow(unused)]
                const DIM: usize = $dim;
                #[allow(unused)]
                const C: usize = $degree + 1;
                #[allow(unused)]
                const N: usize = 2 * C;
                #[allow(unused)]
                const E: usize = C + 1;
                #[allow(unused)]
                const M: usize = N - 1;
                $value
            })+
            _ => unreachable!("{:?} is no module of the Stokes equations", $module),
        }
    };
}

crate::kernels! {
    Stokes by sizes;

    /// `y = b - A x`, or `y = A x` where `b` is null.
    Residual = residual::<DIM, C, E>[
        /// [`LineMatrices`].
        matrices: LineMatrices<T, C, E>
    ](
        /// What cells at the lower end of the domain have more than others in [`LineMatrices::cell`], then those at the upper end.
        ends: *const T,
        b: *const T,
        x: *const T,
        /// Another vector than `x`; may be `b`.
        y: *mut T,
        fields: Fields,
    ), residual::block(DIM, C, size_of::<T>());

    /// `x += Σ_j R_jᵀ A_j⁻¹ R_j r` over the patches of a color.
    Solve = solve::<DIM, C, N, M>[
        /// [`PatchMatrices`].
        matrices: PatchMatrices<T, C>
    ](
        /// [`PatchTable`].
        table: *const T,
        /// `S⁺` of each class of patches.
        schur: *const T,
        starts: SchurStarts,
        r: *const T,
        /// Another vector than `r`.
        x: *mut T,
        fields: Fields,
    ), solve::block(DIM, C, size_of::<T>());
}
