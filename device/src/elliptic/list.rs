//! The kernels of cells.

use super::boxes::{apply_boxes, apply_boxes_hanging};
use super::diagonal::{SquareMatrices, diagonal, diagonal_hanging};
use super::interpolation::{ParentMatrices, interpolate, interpolate_hanging};
use super::lines::{BoxMatrices, CellMatrices, Halves};
use super::newton::{FluxPoints, evaluate, evaluate_hanging};
use super::operator::{Metric, apply, apply_hanging};
use super::transfer::{prolongate, restrict};
use super::writes::Target;

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
        /// Nodes, by lines along the last direction; [`NONE`](super::NONE) where a group is not full.
        nodes: *const u32,
        metric: Metric<T>,
        x: *const T,
        /// By lines along the last direction.
        target: Target<T>,
    ), super::operator::block::<DIM, N>(size_of::<T>(), false);

    /// `Cᵀ A_cell C u` of each cell.
    ApplyHanging = apply_hanging::<DIM, N>[
        /// [`CellMatrices`].
        matrices: CellMatrices<T, N>
    ](
        /// Nodes, by lines along x; [`NONE`](super::NONE) where a group is not full.
        nodes: *const u32,
        /// [`HangingLines`](super::HangingLines) of each cell.
        lines: *const u32,
        metric: Metric<T>,
        x: *const T,
        /// By lines along x.
        target: Target<T>,
    ), super::operator::block::<DIM, N>(size_of::<T>(), true);

    /// [`Apply`] for boxes with a constant coefficient.
    ApplyBoxes = apply_boxes::<DIM, N>[
        /// [`BoxMatrices`].
        matrices: BoxMatrices<T, N>
    ](
        /// As for [`Apply`].
        nodes: *const u32,
        /// `g_d` in each direction, and `s`, of each cell.
        metric: *const T,
        x: *const T,
        /// By lines along x.
        target: Target<T>,
    ), super::boxes::block::<DIM, N>(size_of::<T>(), false);

    /// [`ApplyHanging`] for boxes with a constant coefficient.
    ApplyBoxesHanging = apply_boxes_hanging::<DIM, N>[
        /// [`BoxMatrices`].
        matrices: BoxMatrices<T, N>
    ](
        /// As for [`ApplyHanging`].
        nodes: *const u32,
        /// [`HangingLines`](super::HangingLines) of each cell.
        lines: *const u32,
        /// As for [`ApplyBoxes`].
        metric: *const T,
        x: *const T,
        /// By lines along the last direction.
        target: Target<T>,
    ), super::boxes::block::<DIM, N>(size_of::<T>(), true);

    /// Evaluates a flux at `u`: the local results of each cell, and on request the metric of the flux's derivative.
    Evaluate = evaluate::<DIM, N>[
        /// [`CellMatrices`].
        matrices: CellMatrices<T, N>
    ](
        /// Nodes, by lines along the last direction.
        nodes: *const u32,
        points: FluxPoints<T>,
        u: *const T,
        /// Local results, by lines along the last direction.
        sums: *mut T,
    ), super::newton::block::<DIM, N>(size_of::<T>(), false);

    /// [`Evaluate`] for cells with lines that hang.
    EvaluateHanging = evaluate_hanging::<DIM, N>[
        /// [`CellMatrices`].
        matrices: CellMatrices<T, N>
    ](
        /// Nodes, by lines along x.
        nodes: *const u32,
        /// [`HangingLines`](super::HangingLines) of each cell.
        lines: *const u32,
        points: FluxPoints<T>,
        u: *const T,
        /// Local results, by lines along x.
        sums: *mut T,
    ), super::newton::block::<DIM, N>(size_of::<T>(), true);

    /// The diagonal of `A_cell` of each cell.
    Diagonal = diagonal::<DIM, N>[
        /// [`SquareMatrices`].
        matrices: SquareMatrices<T, N>
    ](
        /// That of each point, not of cells.
        metric: Metric<T>,
        /// Local results, by lines along the last direction.
        sums: *mut T,
    ), super::diagonal::block::<DIM, N>(size_of::<T>());

    /// An entry of the diagonal of `Cᵀ A_cell C` of each cell, from the column of `A_cell C` with that number.
    DiagonalHanging = diagonal_hanging::<DIM, N>[
        /// [`CellMatrices`].
        matrices: CellMatrices<T, N>
    ](
        /// [`HangingLines`](super::HangingLines) of each cell.
        lines: *const u32,
        metric: Metric<T>,
        column: u32,
        /// Local results, by lines along x.
        sums: *mut T,
    ), super::diagonal::block_hanging::<DIM, N>(size_of::<T>());

    /// Values of `u` at nodes of the next coarser mesh, from each cell those that it is to give.
    Interpolate = interpolate::<DIM, N>[
        /// [`ParentMatrices`].
        matrices: ParentMatrices<T, N>
    ](
        /// Nodes, by lines along the last direction.
        nodes: *const u32,
        /// Which child of its parent each cell is, or [`STAYS`](super::STAYS) if the coarser mesh has it, too.
        children: *const u32,
        /// By lines along x, in the place of the node of the coarser cell: a node of `coarse`, or [`NONE`](super::NONE).
        targets: *const u32,
        u: *const T,
        coarse: *mut T,
    ), super::interpolation::block::<DIM, N>(size_of::<T>(), false);

    /// [`Interpolate`] for cells with lines that hang.
    InterpolateHanging = interpolate_hanging::<DIM, N>[
        /// [`ParentMatrices`].
        matrices: ParentMatrices<T, N>
    ](
        /// Nodes, by lines along x.
        nodes: *const u32,
        /// [`HangingLines`](super::HangingLines) of each cell.
        lines: *const u32,
        /// As for [`Interpolate`].
        children: *const u32,
        /// As for [`Interpolate`].
        targets: *const u32,
        u: *const T,
        coarse: *mut T,
    ), super::interpolation::block::<DIM, N>(size_of::<T>(), true);

    /// `x += P coarse` at the nodes of children of refined cells, a block a group of these.
    Prolongate = prolongate::<DIM, N>[
        /// [`Halves`].
        matrices: Halves<T, N>
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
        /// [`Halves`].
        matrices: Halves<T, N>
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
