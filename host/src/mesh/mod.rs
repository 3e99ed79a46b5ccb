//! Uniform meshes of the unit square and cube, and their hierarchies.

use crate::error::{Error, Result};

/// `2^refine` cells a direction on the unit square (`dim = 2`) or cube (`dim = 3`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mesh {
    dim: usize,
    refine: usize,
}

impl Mesh {
    /// The mesh of `2^refine` cells a direction.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] unless `dim` is 2 or 3 and `refine` is 1 to [`Mesh::max_refine`].
    pub fn unit_cube(dim: usize, refine: usize) -> Result<Self> {
        if !(2..=3).contains(&dim) {
            return Err(Error::InvalidArgument { name: "dim", value: dim.to_string(), allowed: "2 or 3".into() });
        }
        let max = Self::max_refine(dim);
        if !(1..=max).contains(&refine) {
            return Err(Error::InvalidArgument {
                name: "refine",
                value: refine.to_string(),
                allowed: format!("1 to {max} in {dim}D"),
            });
        }
        Ok(Self { dim, refine })
    }

    /// The largest `refine`: 24 in 2D, 16 in 3D, far beyond any memory, and such that sizes in bytes fit 63 bits up to
    /// degree 10 in 2D and 8 in 3D.
    pub const fn max_refine(dim: usize) -> usize {
        if dim == 2 { 24 } else { 16 }
    }

    /// 2 or 3.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Refinements of the one cell; also the number of levels, from one patch to this mesh.
    pub fn refine(&self) -> usize {
        self.refine
    }

    /// Cells in one direction, `2^refine`.
    pub fn cells_per_direction(&self) -> u32 {
        1 << self.refine
    }

    /// Cells in all.
    pub fn cells(&self) -> usize {
        1 << (self.refine * self.dim)
    }

    /// Length of a cell's edges, `2^-refine`; exact.
    pub fn cell_size(&self) -> f64 {
        1.0 / f64::from(self.cells_per_direction())
    }

    /// Indices `(x, y, z)` of all cells, `x` fastest; `z` is 0 in 2D.
    pub fn cell_indices(&self) -> impl ExactSizeIterator<Item = [usize; 3]> + Clone + use<> {
        let (refine, mask) = (self.refine, (1 << self.refine) - 1);
        (0..self.cells()).map(move |cell| [cell & mask, (cell >> refine) & mask, cell >> (2 * refine)])
    }

    /// The mesh of twice the cell size, unless this one is level 1, whose cells are one vertex patch.
    pub fn coarser(&self) -> Option<Self> {
        (self.refine > 1).then(|| Self { dim: self.dim, refine: self.refine - 1 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_powers_of_two() {
        let mesh = Mesh::unit_cube(3, 4).unwrap();
        assert_eq!((mesh.dim(), mesh.refine(), mesh.cells_per_direction(), mesh.cells()), (3, 4, 16, 4096));
        assert_eq!(mesh.cell_size(), 0.0625);
        assert_eq!(Mesh::unit_cube(2, 24).unwrap().cells(), 1 << 48);
        assert_eq!(Mesh::unit_cube(3, 16).unwrap().cells(), 1 << 48);
    }

    #[test]
    fn bad_arguments_name_what_is_allowed() {
        let message = |dim, refine| Mesh::unit_cube(dim, refine).unwrap_err().to_string();
        assert_eq!(message(4, 3), "dim is 4, but must be 2 or 3");
        assert_eq!(message(1, 3), "dim is 1, but must be 2 or 3");
        assert_eq!(message(3, 40), "refine is 40, but must be 1 to 16 in 3D");
        assert_eq!(message(2, 0), "refine is 0, but must be 1 to 24 in 2D");
        assert!(Mesh::unit_cube(2, usize::MAX).is_err());
    }

    #[test]
    fn cells_are_counted_x_fastest() {
        let cells: Vec<_> = Mesh::unit_cube(2, 1).unwrap().cell_indices().collect();
        assert_eq!(cells, [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]]);
        for (position, cell) in Mesh::unit_cube(3, 2).unwrap().cell_indices().enumerate() {
            assert_eq!(position, cell[0] + 4 * (cell[1] + 4 * cell[2]));
            assert!(cell.iter().all(|&c| c < 4));
        }
    }

    #[test]
    fn coarsening_ends_in_one_patch() {
        let levels: Vec<_> = std::iter::successors(Mesh::unit_cube(3, 5).ok(), Mesh::coarser).collect();
        assert_eq!(levels.iter().map(Mesh::refine).collect::<Vec<_>>(), [5, 4, 3, 2, 1]);
        assert_eq!(levels[4].cells(), 8);
    }
}
