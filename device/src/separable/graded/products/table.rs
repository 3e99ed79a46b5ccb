//! The table of a patch in a direction as products of small matrices take it.

use crate::kernels::patch_nodes;
use crate::mma::LANES;
#[cfg(not(target_arch = "nvptx64"))]
use crate::scalar::Real;
#[cfg(not(target_arch = "nvptx64"))]
use crate::separable::graded::PatchTable;
#[cfg(not(target_arch = "nvptx64"))]
use std::{vec, vec::Vec};

/// Rows and columns of a tile.
pub const TILE: usize = 8;

/// Rows that a product takes of its right factor.
pub const STEP: usize = 4;

/// A lane of a warp.
#[derive(Clone, Copy)]
pub struct Lane {
    /// Of left factors and of sums it has entries of this row, of right factors of this column.
    pub row: usize,
    /// Of four, in the other direction.
    pub member: usize,
}

impl Lane {
    /// By its number.
    #[inline(always)]
    pub const fn new(lane: usize) -> Self {
        Self { row: lane / 4, member: lane % 4 }
    }

    /// The function or unknown that a lane has of a right factor's columns, such that of sums it has every fourth one.
    #[inline(always)]
    pub const fn column(self) -> usize {
        self.row / 2 + 4 * (self.row % 2)
    }

    /// Of every fourth one, that of a step.
    #[inline(always)]
    pub const fn every_fourth(self, step: usize) -> usize {
        self.member + STEP * step
    }

    /// Of pairs side by side, that of a step.
    #[cfg(not(target_arch = "nvptx64"))]
    const fn of_pairs(self, step: usize) -> usize {
        2 * self.member + step % 2 + TILE * (step / 2)
    }
}

/// A [`PatchTable`] in the order in which lanes take its entries, zeros where a tile has none: of each matrix an entry for each lane, for each
/// step of each tile. What belongs to a function has an entry for each of the tiles' functions.
#[derive(Clone, Copy)]
pub struct ProductTable {
    /// Of a direction.
    pub tiles: usize,
}

impl ProductTable {
    /// For elements of a degree.
    pub const fn new(degree: usize) -> Self {
        Self { tiles: patch_nodes(degree).0.div_ceil(TILE) }
    }

    /// Entries of a matrix.
    pub const fn matrix(self) -> usize {
        LANES * 2 * self.tiles * self.tiles
    }

    /// Where `Sᵀ` begins.
    pub const fn analysis(self) -> usize {
        0
    }

    /// Where `S` begins.
    pub const fn synthesis(self) -> usize {
        self.matrix()
    }

    /// Where `T_I` begins, as left (0) or right (1) factor, and behind it `T_E`.
    pub const fn transform(self, side: usize) -> usize {
        2 * self.matrix() + side * (self.matrix() + LANES * self.tiles)
    }

    /// Where entries of functions begin: eigenvalues, what couples to both ends, negative, and `T_E` of both.
    pub const fn functions(self, part: usize) -> usize {
        self.transform(2) + part * TILE * self.tiles
    }

    /// All of it.
    #[cfg(not(target_arch = "nvptx64"))]
    pub const fn words(self) -> usize {
        self.functions(5)
    }
}

/// A [`ProductTable`] of what a [`PatchTable`] has, for patches in a direction.
#[cfg(not(target_arch = "nvptx64"))]
pub fn arranged<T: Real>(dim: usize, degree: usize, direction: usize, table: &[T]) -> Vec<T> {
    let (from, to) = (PatchTable::new(degree, size_of::<T>()), ProductTable::new(degree));
    let (functions, nodes) = patch_nodes(degree);
    let mut words = vec![T::ZERO; to.words()];
    let mut put = |start: usize, order: Order, place: &dyn Fn(usize, usize) -> usize| {
        for (lane, tile, step) in fragments(to.tiles, 2 * to.tiles) {
            let (row, column) = order.of(Lane::new(lane), tile, step);
            if row < functions && column < functions {
                words[start + LANES * (2 * to.tiles * tile + step) + lane] = table[place(row, column)];
            }
        }
    };
    let (analysis, synthesis) = Order::of_direction(direction);
    put(to.analysis(), analysis, &|function, node| from.vectors(node) + function);
    put(to.synthesis(), synthesis, &|node, function| from.vectors(node) + function);
    // In 2D what a product gives of x is the right factor of the next one.
    let left = if dim == 2 && direction == 0 { Order::ColumnsByFours } else { Order::RowsByFours };
    let sides = [left, Order::ColumnsByPairs];
    for (side, order) in sides.into_iter().enumerate() {
        put(to.transform(side), order, &|function, node| from.transform(function) + node + 1);
    }
    for (side, order) in sides.into_iter().enumerate() {
        for (lane, tile, step) in fragments(to.tiles, 1) {
            let (function, end) = (order.of(Lane::new(lane), tile, step).0, Lane::new(lane).member);
            if function < functions && end < 2 {
                let word = to.transform(side) + to.matrix() + LANES * tile + lane;
                words[word] = table[from.transform(function) + (nodes - 1) * end];
            }
        }
    }
    for function in 0..TILE * to.tiles {
        let known = function.min(functions - 1);
        let ends = [0, 1].map(|end| from.transform(known) + (nodes - 1) * end);
        let parts = [from.values(), from.coupling(0), from.coupling(1)].map(|part| part + known);
        for (part, place) in parts.into_iter().chain(ends).enumerate() {
            let entry = table[place];
            words[to.functions(part) + function] = if part == 1 || part == 2 { -entry } else { entry };
        }
    }
    words
}

/// Lanes, and for each of them each step of each tile.
#[cfg(not(target_arch = "nvptx64"))]
fn fragments(tiles: usize, steps: usize) -> impl Iterator<Item = (usize, usize, usize)> {
    (0..LANES).flat_map(move |lane| (0..tiles).flat_map(move |tile| (0..steps).map(move |step| (lane, tile, step))))
}

/// Of which rows and columns lanes have entries.
#[cfg(not(target_arch = "nvptx64"))]
#[derive(Clone, Copy)]
enum Order {
    /// Left factors.
    RowsByFours,
    /// Right factors of what is read, or of sums by fours.
    ColumnsByFours,
    /// Right factors of sums of what is read.
    ColumnsByPairs,
}

#[cfg(not(target_arch = "nvptx64"))]
impl Order {
    /// Those of `Sᵀ` and `S`.
    fn of_direction(direction: usize) -> (Self, Self) {
        match direction {
            0 => (Self::ColumnsByPairs, Self::RowsByFours),
            1 => (Self::RowsByFours, Self::ColumnsByPairs),
            _ => (Self::ColumnsByFours, Self::ColumnsByFours),
        }
    }

    fn of(self, lane: Lane, tile: usize, step: usize) -> (usize, usize) {
        let row = if matches!(self, Self::RowsByFours) { lane.row } else { lane.column() };
        let column = if matches!(self, Self::ColumnsByPairs) { lane.of_pairs(step) } else { lane.every_fourth(step) };
        (row + TILE * tile, column)
    }
}
