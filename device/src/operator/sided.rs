//! The operator on boxes with any sides, in 3D plane by plane, in 2D row by row. Beyond a side nodes go on as their images, so that outputs
//! on a Neumann side count their cells and the images of these: half of it is the output.

mod graded;
mod planes;
mod rows;

use crate::matrices::{CellMatrices, Scaled};
use crate::operator::Output;
use crate::operator::cells::Cells;
use crate::operator::planes::planes;
use crate::patch::{Direction, Directions};
use crate::scalar::Real;
pub use graded::Graded;
pub use rows::{cells, shape as shape_2d};

/// The operator, for `chunk` layers of cells along the last direction.
///
/// # Safety
/// Launched as [`shape_2d`] says, or in 3D [`shape`](super::shape), with blocks for as many cells as have
/// [outputs](Direction::output_cells); the vectors are of the level.
#[inline(always)]
pub unsafe fn apply_sided<
    T: Real,
    const RESIDUAL: bool,
    const DIM: usize,
    const K: usize,
    const C: usize,
    const H: usize,
>(
    scaled: &Scaled<CellMatrices<T, C, H>, T>,
    cells: impl Cells<T>,
    directions: Directions,
    x: *const T,
    output: Output<T>,
    chunk: u32,
) {
    // SAFETY: the caller's promise.
    unsafe {
        if DIM == 3 {
            planes::<T, T, _, _, RESIDUAL, K, C, H>(scaled, Sides { directions }, cells, x, output, chunk)
        } else {
            rows::apply::<T, RESIDUAL, K, C, H>(scaled, cells, directions, x, output, chunk)
        }
    }
}

/// The sides of a level; vectors have all nodes of each direction.
#[derive(Clone, Copy)]
struct Sides {
    directions: Directions,
}

impl Sides {
    /// The same values, made again where they are used, so that they hold no registers, as of [`Grid::remade`](crate::patch::Grid::remade).
    #[inline(always)]
    fn remade(self) -> Self {
        Self { directions: self.directions.remade() }
    }

    /// From row to row, and from plane to plane.
    #[inline(always)]
    fn pitches(self, degree: usize) -> [u32; 2] {
        let [of_x, of_y, _] = self.directions.0;
        let row = of_x.row(degree);
        [row, row * of_y.nodes(degree)]
    }

    /// `factor` at both end nodes of a direction that is not periodic, where what images give doubles, 1 at others. At ends where the solution is
    /// given the result is not used.
    #[inline(always)]
    fn weight<T: Real>(self, factor: f64, degree: usize, direction: usize, node: u32) -> T {
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
