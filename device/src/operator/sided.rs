//! The operator on boxes of equal cells with any sides, in 3D plane by plane, in 2D row by row. Beyond a side nodes go on as their
//! images, so that outputs on a Neumann side count their cells and the images of these: half of it is the output.

mod planes;
mod rows;

use crate::patch::{Direction, Directions};
use crate::scalar::Real;
pub use planes::apply_sided_3d;
pub use rows::{apply_sided_2d, cells, shape as shape_2d};

/// The sides of a level, and a reaction; vectors have all nodes of each direction.
#[derive(Clone, Copy)]
pub struct Sides<T> {
    pub directions: Directions,
    /// `s h² / c` of the last direction in 3D, of x in 2D, with the width `h` of its cells.
    pub reaction: T,
}

impl<T: Real> Sides<T> {
    /// The same values, made again where they are used, so that they hold no registers, as of [`Grid::remade`](crate::patch::Grid::remade).
    #[inline(always)]
    fn remade(self) -> Self {
        Self { directions: self.directions.remade(), ..self }
    }

    /// Nodes of a row, and of a plane.
    #[inline(always)]
    fn pitches(self, degree: usize) -> [u32; 2] {
        let [row, rows, _] = self.directions.0.map(|direction| direction.cells * degree as u32 + 1);
        [row, row * rows]
    }

    /// `factor` at both end nodes of a direction that is not periodic, where what images give doubles, 1 at others. At ends where the solution is
    /// given the result is not used.
    #[inline(always)]
    fn weight(self, factor: f64, degree: usize, direction: usize, node: u32) -> T {
        let Direction { cells, is_periodic, .. } = self.directions.0[direction];
        let doubles = is_periodic == 0 && (node == 0 || node == cells * degree as u32);
        T::from_f64(if doubles { factor } else { 1.0 })
    }

    /// Of a cell whose first node is given, in a direction: whether that node is an unknown, and whether the others are.
    #[inline(always)]
    fn unknowns(self, degree: usize, direction: usize, first: u32) -> [bool; 2] {
        let of = self.directions.0[direction];
        [of.is_unknown(degree, first), first < of.cells * degree as u32]
    }
}
