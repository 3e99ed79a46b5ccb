//! The kernels of cells.

use super::lines::CellMatrices;
use super::operator::{apply, apply_hanging};
use super::transfer::{prolongate, restrict};

/// The module's dimension, and nodes of a cell in a direction.
#[cfg(target_arch = "nvptx64")]
const DIM: usize = if cfg!(dim = "3") { 3 } else { 2 };
#[cfg(target_arch = "nvptx64")]
const N: usize = crate::entries::SIZE + 1;

/// The same constants of a [`Module`](crate::kernels::Module).
#[cfg(not(target_arch = "nvptx64"))]
macro_rules! sizes {
    ($module:expr => $value:expr) => {
        sizes!(@ $module, $value, (2 1) (2 2) (2 3) (2 4) (2 5) (2 6) (2 7) (2 8) (3 1) (3 2) (3 3) (3 4) (3 5) (3 6))
    };
    (@ $module:expr, $value:expr, $(($dim:literal $degree:literal))+) => {
        match $module.space() {
            $(Some(($dim, $degree)) => {
                const DIM: usize = $dim;
                const N: usize = $degree + 1;
                $value
            })+
            _ => unreachable!("{:?} is no module of elliptic equations", $module),
        }
    };
}

crate::kernels! {
    by sizes;

    /// `A_cell u` of each cell, a block a group of them ([`Groups`](super::Groups)).
    Apply = apply::<DIM, N>[
        /// [`CellMatrices`].
        matrices: CellMatrices<T, N>
    ](
        /// Nodes, by lines along the last direction.
        nodes: *const u32,
        /// `G`, word by word, by lines along the last direction.
        metric: *const T,
        /// `s` in the same way; null where it is 0.
        reaction: *const T,
        x: *const T,
        /// Local results, by lines along x.
        sums: *mut T,
    ), super::operator::block::<DIM, N>(size_of::<T>(), false);

    /// `Cᵀ A_cell C u` of each cell.
    ApplyHanging = apply_hanging::<DIM, N>[
        /// [`CellMatrices`].
        matrices: CellMatrices<T, N>
    ](
        /// Nodes, by lines along x.
        nodes: *const u32,
        /// [`HangingLines`](super::HangingLines) of each cell.
        lines: *const u32,
        /// `G`, word by word, by lines along the last direction.
        metric: *const T,
        /// `s` in the same way; null where it is 0.
        reaction: *const T,
        x: *const T,
        /// Local results, by lines along the last direction.
        sums: *mut T,
    ), super::operator::block::<DIM, N>(size_of::<T>(), true);

    /// `x += P coarse` at the nodes of children of refined cells, a block a group of these.
    Prolongate = prolongate::<DIM, N>[
        /// [`CellMatrices`].
        matrices: CellMatrices<T, N>
    ](
        /// Nodes, by lines along x.
        nodes: *const u32,
        /// [`HangingLines`](super::HangingLines) of each refined cell; 0 of one that has none.
        lines: *const u32,
        /// Child by child, by lines along x: nodes of `x` that take their values there, or [`NONE`](super::NONE).
        targets: *const u32,
        coarse: *const T,
        x: *mut T,
    ), super::transfer::block::<DIM, N>(size_of::<T>());

    /// `Pᵀ r` of each refined cell.
    Restrict = restrict::<DIM, N>[
        /// [`CellMatrices`].
        matrices: CellMatrices<T, N>
    ](
        /// As for [`Prolongate`].
        lines: *const u32,
        /// As for [`Prolongate`].
        targets: *const u32,
        r: *const T,
        /// Local results, by lines along x.
        sums: *mut T,
    ), super::transfer::block::<DIM, N>(size_of::<T>());
}
