//! The GPU kernels of paper 2 for the Stokes equations in 3D (sections 4.1 and 4.2), to compare with.
//!
//! All tensors of a patch are in shared memory, and every operand of every multiply-add is read from there, or from constant
//! memory; [`super::residual`] and [`super::solve`] do otherwise. Kernels differ by their level,
//! [`Paper2`](crate::stokes::Paper2), which is constant in an entry point.

#[cfg(not(target_arch = "nvptx64"))]
mod kind;
pub mod local;
pub mod operator;
mod order;
mod tensor;

use super::Fields;
#[cfg(not(target_arch = "nvptx64"))]
pub use kind::KIND;
use local::direct::direct;
use local::schur::{schur, schur_conflict_free};
use operator::{OperatorMatrices, basic, conflict_free, padding, shared};

/// Degrees that there are kernels for.
#[cfg(not(target_arch = "nvptx64"))]
pub const DEGREES: core::ops::RangeInclusive<usize> = 1..=4;

/// Nodes of a cell across a component and along it; the longest side of a tensor; nodes of a patch in a direction.
#[cfg(target_arch = "nvptx64")]
const C: usize = crate::entries::SIZE + 1;
#[cfg(target_arch = "nvptx64")]
const E: usize = C + 1;
#[cfg(target_arch = "nvptx64")]
const L: usize = 3 * E;
#[cfg(target_arch = "nvptx64")]
const N: usize = 2 * C;

/// The same constants of a [`Module`](crate::kernels::Module).
#[cfg(not(target_arch = "nvptx64"))]
macro_rules! sizes {
    ($module:expr => $value:expr) => {
        sizes!(@ $module, $value, 1 2 3 4)
    };
    (@ $module:expr, $value:expr, $($degree:literal)+) => {
        match $module.space() {
            $(Some((3, $degree)) => {
                #[allow(unused)]
                const C: usize = $degree + 1;
                #[allow(unused)]
                const E: usize = C + 1;
                #[allow(unused)]
                const L: usize = 3 * E;
                #[allow(unused)]
                const N: usize = 2 * C;
                $value
            })+
            _ => unreachable!("{:?} has no kernels of paper 2", $module),
        }
    };
}

crate::kernels! {
    by sizes;

    /// `y += α A x` on a class of patches; the classes together are `y += α A x`.
    Padding = padding::<C, E, L>[
        /// [`OperatorMatrices`] with `P = k + 2`.
        matrices: OperatorMatrices<T, E, E>
    ](
        /// Of a cell, by columns: what the first cell of a patch at the lower end of the domain has more in `S` than others,
        /// then what the last cell of one at the upper end has.
        ends: *const T,
        x: *const T,
        /// Another vector than `x`.
        y: *mut T,
        alpha: T,
        /// The class in the place of the color.
        fields: Fields,
    ), operator::block(crate::stokes::Paper2::Padding, C, size_of::<T>());

    /// As [`Padding`], with `P = k + 1`.
    Basic = basic::<C, E, L>[matrices: OperatorMatrices<T, C, E>](
        ends: *const T,
        x: *const T,
        y: *mut T,
        alpha: T,
        fields: Fields,
    ), operator::block(crate::stokes::Paper2::Basic, C, size_of::<T>());

    /// As [`Basic`].
    Shared = shared::<C, E, L>(
        /// [`OperatorMatrices`] in global memory.
        matrices: *const T,
        ends: *const T,
        x: *const T,
        y: *mut T,
        alpha: T,
        fields: Fields,
    ), operator::block(crate::stokes::Paper2::Shared, C, size_of::<T>());

    /// As [`Shared`].
    ConflictFree = conflict_free::<C, E, L>(
        matrices: *const T,
        ends: *const T,
        x: *const T,
        y: *mut T,
        alpha: T,
        fields: Fields,
    ), operator::block(crate::stokes::Paper2::ConflictFree, C, size_of::<T>());

    /// `x += Σ_j R_jᵀ A_j⁻¹ R_j r` over the patches of a color.
    Direct = direct::<N>(
        /// By columns, of each kind of patch: at an end of the first direction or at none is the fastest.
        inverses: *const T,
        /// Of a patch.
        dofs: u32,
        r: *const T,
        /// Another vector than `r`.
        x: *mut T,
        fields: Fields,
    ), local::direct::block(N, size_of::<T>());

    /// The same by conjugate gradients for the Schur complement.
    Schur = schur::<N>(
        /// [`SchurTable`](local::SchurTable) of each direction, for each of [`Ends`](crate::patch::Ends).
        table: *const T,
        /// Of conjugate gradients.
        steps: u32,
        r: *const T,
        x: *mut T,
        fields: Fields,
    ), local::schur::block(N, size_of::<T>());

    /// As [`Schur`].
    SchurConflictFree = schur_conflict_free::<N>(
        table: *const T,
        steps: u32,
        r: *const T,
        x: *mut T,
        fields: Fields,
    ), local::schur::block(N, size_of::<T>());
}
