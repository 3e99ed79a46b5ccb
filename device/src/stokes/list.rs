//! The kernels of the Stokes equations, and what they take beside vectors.

use super::Fields;
use super::residual::{LineMatrices, residual};
use super::solve::{PatchMatrices, solve};
use bytemuck::{Pod, Zeroable};

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
    pub(super) fn of(self, class: usize) -> u32 {
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
    by sizes;

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
    ), super::residual::block(DIM, C, size_of::<T>());

    /// `x += Σ_j R_jᵀ A_j⁻¹ R_j r` over the patches of a color.
    Solve = solve::<DIM, C, N, M>[
        /// [`PatchMatrices`].
        matrices: PatchMatrices<T, C>
    ](
        /// [`PatchTable`](super::PatchTable).
        table: *const T,
        /// `S⁺` of each class of patches.
        schur: *const T,
        starts: SchurStarts,
        r: *const T,
        /// Another vector than `r`.
        x: *mut T,
        fields: Fields,
    ), super::solve::block(DIM, C, size_of::<T>());
}
