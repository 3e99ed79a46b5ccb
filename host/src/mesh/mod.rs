//! Uniform meshes of rectangles and boxes, and their hierarchies; sizes of cells that are not equal.

mod grading;

use crate::error::{Result, invalid};
pub use grading::Grading;

/// Equal cells that fill the box from the origin to its side lengths, in 2D a rectangle; their edges may differ from
/// direction to direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mesh {
    dim: usize,
    /// In each direction; in 2D one in the third.
    cells: [usize; 3],
    /// Of the sides; in 2D the third is 1.
    lengths: [f64; 3],
}

/// A direction is coarsened where cells are shorter than this many times the shortest edge.
pub(crate) const COARSENED_BELOW: f64 = 1.5;

impl Mesh {
    /// Side lengths that a box may have, and how many times the shortest edge of a cell the longest one may be.
    const LENGTHS: std::ops::RangeInclusive<f64> = 1e-6..=1e6;
    const LARGEST_ASPECT: f64 = 1e4;

    /// `2^refine` cells a direction on the unit square (`dim = 2`) or cube (`dim = 3`).
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) unless `dim` is 2 or 3 and `refine` is 1 to
    /// [`Mesh::max_refine`].
    pub fn unit_cube(dim: usize, refine: usize) -> Result<Self> {
        if !(2..=3).contains(&dim) {
            return Err(invalid("dim", dim, "2 or 3"));
        }
        Self::of_box(&[1; 3][..dim], &[1.0; 3][..dim], refine)
    }

    /// `cells[d] 2^refine` cells in direction `d` on the box of side lengths `lengths`: a box of base cells refined `refine`
    /// times.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) unless there are two or three directions, as many lengths as
    /// numbers of cells, at least one base cell a direction and one refinement, at most `2^24` cells a direction in 2D and
    /// `2^16` in 3D, lengths from 1e-6 to 1e6, and edges of a cell that differ by a factor of at most 1e4.
    pub fn of_box(cells: &[usize], lengths: &[f64], refine: usize) -> Result<Self> {
        let dim = cells.len();
        if !(2..=3).contains(&dim) {
            return Err(invalid("cells", list(cells), "two or three numbers, one for each direction"));
        }
        if lengths.len() != dim {
            return Err(invalid("size", list(lengths), format_args!("{dim} numbers, as cells")));
        }
        let max = Self::max_refine(dim);
        if !(1..=max).contains(&refine) {
            return Err(invalid("refine", refine, format_args!("1 to {max} in {dim}D")));
        }
        let most = 1 << (max - refine);
        if let Some(count) = cells.iter().find(|count| !(1..=most).contains(*count)) {
            return Err(invalid("cells", count, format_args!("1 to {most} in {dim}D with refine {refine}")));
        }
        if let Some(length) = lengths.iter().find(|length| !Self::LENGTHS.contains(*length)) {
            return Err(invalid("size", length, "1e-6 to 1e6"));
        }
        let mut mesh = Self { dim, cells: [1; 3], lengths: [1.0; 3] };
        for direction in 0..dim {
            mesh.cells[direction] = cells[direction] << refine;
            mesh.lengths[direction] = lengths[direction];
        }
        let sizes = &mesh.cell_sizes()[..dim];
        let aspect = sizes.iter().copied().fold(0.0, f64::max) / sizes.iter().copied().fold(f64::INFINITY, f64::min);
        if aspect > Self::LARGEST_ASPECT {
            let allowed =
                format_args!("such that edges of a cell differ by a factor of at most {:?}", Self::LARGEST_ASPECT);
            return Err(invalid("size", format_args!("{} with cells {}", list(lengths), list(cells)), allowed));
        }
        Ok(mesh)
    }

    /// The largest `refine` of one base cell: 24 in 2D, 16 in 3D, far beyond any memory, and such that sizes in bytes fit 63
    /// bits up to degree 10 in 2D and 8 in 3D.
    pub const fn max_refine(dim: usize) -> usize {
        if dim == 2 { 24 } else { 16 }
    }

    /// The same box with so many cells in each direction.
    pub(crate) fn with_cells(&self, cells: [usize; 3]) -> Self {
        Self { cells, ..*self }
    }

    /// 2 or 3.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Cells in each direction; in 2D one in the third.
    pub fn cells_along(&self) -> [usize; 3] {
        self.cells
    }

    /// Cells in all.
    pub fn cells(&self) -> usize {
        self.cells.iter().product()
    }

    /// Side lengths of the box; in 2D the third is 1.
    pub fn lengths(&self) -> [f64; 3] {
        self.lengths
    }

    /// Lengths of a cell's edges, on the unit cube exact; in 2D the third is 1.
    pub fn cell_sizes(&self) -> [f64; 3] {
        [0, 1, 2].map(|direction| self.lengths[direction] / self.cells[direction] as f64)
    }

    /// Indices `(x, y, z)` of all cells, `x` fastest; `z` is 0 in 2D.
    pub fn cell_indices(&self) -> impl ExactSizeIterator<Item = [usize; 3]> + Clone + use<> {
        let [x, y, _] = self.cells;
        (0..self.cells()).map(move |cell| [cell % x, cell / x % y, cell / x / y])
    }

    /// Directions in which the next coarser mesh has half as many cells: those with at least four cells whose edges are shorter than
    /// 1.5 times the shortest one among them. None on the coarsest mesh, where no direction has more than two cells or one has an
    /// odd number.
    ///
    /// Vertex patches reduce an error that oscillates along short edges, however smooth it is along long ones. So a cell
    /// becomes nearly a cube before all its edges are doubled.
    pub fn coarsened_directions(&self) -> Option<[bool; 3]> {
        let directions = 0..self.dim;
        if directions.clone().any(|d| !self.cells[d].is_multiple_of(2)) {
            return None;
        }
        let sizes = self.cell_sizes();
        let has_cells = |d: &usize| self.cells[*d] >= 4;
        let shortest = directions.clone().filter(has_cells).map(|d| sizes[d]).reduce(f64::min)?;
        Some([0, 1, 2].map(|d| directions.contains(&d) && has_cells(&d) && sizes[d] < COARSENED_BELOW * shortest))
    }

    /// The mesh with half as many cells in the [coarsened directions](Self::coarsened_directions), unless this is the
    /// coarsest one.
    pub fn coarser(&self) -> Option<Self> {
        let coarsened = self.coarsened_directions()?;
        let cells = [0, 1, 2].map(|d| if coarsened[d] { self.cells[d] / 2 } else { self.cells[d] });
        Some(Self { cells, ..*self })
    }

    /// All meshes of the hierarchy, from this one to the coarsest.
    pub fn hierarchy(&self) -> impl Iterator<Item = Self> + use<> {
        std::iter::successors(Some(*self), Self::coarser)
    }

    /// Whether the mesh is one vertex patch, two cells a direction.
    pub fn is_patch(&self) -> bool {
        self.cells[..self.dim].iter().all(|&cells| cells == 2)
    }
}

/// As on the command line.
fn list(numbers: &[impl ToString]) -> String {
    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_the_unit_cube_are_powers_of_two() {
        let mesh = Mesh::unit_cube(3, 4).unwrap();
        assert_eq!((mesh.dim(), mesh.cells_along(), mesh.cells()), (3, [16; 3], 4096));
        assert_eq!(mesh.cell_sizes(), [0.0625; 3]);
        assert_eq!(Mesh::unit_cube(2, 24).unwrap().cells(), 1 << 48);
        assert_eq!(Mesh::unit_cube(3, 16).unwrap().cells(), 1 << 48);
    }

    #[test]
    fn a_box_is_its_base_cells_refined() {
        let mesh = Mesh::of_box(&[3, 2, 1], &[1.5, 1.0, 0.25], 2).unwrap();
        assert_eq!((mesh.cells_along(), mesh.lengths()), ([12, 8, 4], [1.5, 1.0, 0.25]));
        assert_eq!(mesh.cell_sizes(), [0.125, 0.125, 0.0625]);
        let mesh = Mesh::of_box(&[3, 2], &[1.5, 1.0], 1).unwrap();
        assert_eq!((mesh.dim(), mesh.cells(), mesh.cells_along()), (2, 24, [6, 4, 1]));
    }

    #[test]
    fn bad_arguments_name_what_is_allowed() {
        let message = |dim, refine| Mesh::unit_cube(dim, refine).unwrap_err().to_string();
        assert_eq!(message(4, 3), "dim is 4, but must be 2 or 3");
        assert_eq!(message(1, 3), "dim is 1, but must be 2 or 3");
        assert_eq!(message(3, 40), "refine is 40, but must be 1 to 16 in 3D");
        assert_eq!(message(2, 0), "refine is 0, but must be 1 to 24 in 2D");
        assert!(Mesh::unit_cube(2, usize::MAX).is_err());

        let message =
            |cells: &[usize], lengths: &[f64], refine| Mesh::of_box(cells, lengths, refine).unwrap_err().to_string();
        assert_eq!(message(&[3], &[1.0], 1), "cells is 3, but must be two or three numbers, one for each direction");
        assert_eq!(message(&[3, 2], &[1.0], 1), "size is 1, but must be 2 numbers, as cells");
        assert_eq!(message(&[3, 0], &[1.0, 1.0], 1), "cells is 0, but must be 1 to 8388608 in 2D with refine 1");
        assert_eq!(message(&[1, 9, 1], &[1.0; 3], 13), "cells is 9, but must be 1 to 8 in 3D with refine 13");
        for length in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e7] {
            assert_eq!(message(&[3, 2], &[1.0, length], 1), format!("size is {length}, but must be 1e-6 to 1e6"));
        }
        assert!(
            message(&[1, 2], &[1e6, 1.0], 1).starts_with("size is 1000000,1 with cells 1,2, but must be such that")
        );
    }

    #[test]
    fn cells_are_counted_x_fastest() {
        let cells: Vec<_> = Mesh::unit_cube(2, 1).unwrap().cell_indices().collect();
        assert_eq!(cells, [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]]);
        for (position, cell) in Mesh::of_box(&[1, 3, 2], &[1.0; 3], 2).unwrap().cell_indices().enumerate() {
            assert_eq!(position, cell[0] + 4 * (cell[1] + 12 * cell[2]));
            assert!(cell.iter().zip([4, 12, 8]).all(|(&cell, cells)| cell < cells));
        }
    }

    fn hierarchy(cells: &[usize], lengths: &[f64], refine: usize) -> Vec<[usize; 3]> {
        Mesh::of_box(cells, lengths, refine).unwrap().hierarchy().map(|mesh| mesh.cells_along()).collect()
    }

    #[test]
    fn coarsening_of_a_cube_ends_in_one_patch() {
        assert_eq!(hierarchy(&[1; 3], &[1.0; 3], 4), [[16; 3], [8; 3], [4; 3], [2; 3]]);
        assert!(Mesh::unit_cube(3, 1).unwrap().is_patch());
        // Base cells count like refinements.
        assert_eq!(hierarchy(&[8, 8], &[2.0, 2.0], 1), hierarchy(&[1, 1], &[1.0, 1.0], 4));
    }

    #[test]
    fn long_edges_wait_until_short_ones_are_as_long() {
        // Edges are 1/8 and 10/8.
        assert_eq!(hierarchy(&[1, 1], &[1.0, 10.0], 3), [[8, 8, 1], [4, 8, 1], [2, 8, 1], [2, 4, 1], [2, 2, 1]]);
        assert_eq!(hierarchy(&[4, 1], &[1.0, 1.0], 2), [[16, 4, 1], [8, 4, 1], [4, 4, 1], [2, 2, 1]]);
        assert_eq!(hierarchy(&[1, 1], &[1.0, 1.4], 2), [[4, 4, 1], [2, 2, 1]]);
    }

    #[test]
    fn an_odd_number_of_cells_is_the_coarsest() {
        assert_eq!(hierarchy(&[3, 2, 1], &[1.5, 1.0, 0.5], 2), [[12, 8, 4], [6, 4, 2], [3, 2, 2]]);
        assert_eq!(hierarchy(&[3, 5], &[3.0, 5.0], 1), [[6, 10, 1], [3, 5, 1]]);
    }
}
