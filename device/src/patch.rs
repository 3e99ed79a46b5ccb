//! Where patches, cells and colors lie, and where their dofs are stored. One place computes an offset: this one.
//!
//! A level has a number of cells of degree `k` in each direction; where it is smoothed they are even. In a direction its nodes
//! are `0..=cells * k`; the first and the last lie on the boundary, where the solution is zero.
//!
//! Storage keeps nodes `0..cells * k` of each direction, `x` fastest: node 0 is stored and always zero, and the last
//! node needs no storage because its offset is that of node 0 in the next row, plane, or, behind the last plane, in a
//! guard of zeros. So rows are aligned, and a patch at the boundary is read like any other.

mod directions;
mod stored;

use bytemuck::{Pod, Zeroable};
use cuda_std::hint::made_here;
pub use directions::{Direction, Directions, Line, ROW_MULTIPLE, row};
pub use stored::Stored;

/// The nodes of one level, in storage order.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Cells in each direction; in 2D the last number counts for nothing.
    pub cells: [u32; 3],
    /// Degree `k`.
    pub degree: u32,
}

// SAFETY: four `u32` without padding.
unsafe impl Zeroable for Grid {}
// SAFETY: as above.
unsafe impl Pod for Grid {}

impl Grid {
    /// The same number of cells in every direction.
    pub const fn cube(cells: u32, degree: u32) -> Self {
        Self { cells: [cells; 3], degree }
    }

    /// Stored nodes in a direction.
    #[inline(always)]
    pub const fn nodes(self, direction: usize) -> usize {
        self.cells[direction] as usize * self.degree as usize
    }

    /// Stored nodes of a row.
    #[inline(always)]
    pub const fn row(self) -> usize {
        self.nodes(0)
    }

    /// Offset of node `(x, y)` in 2D.
    #[inline(always)]
    pub const fn offset_2d(self, x: usize, y: usize) -> usize {
        x + self.nodes(0) * y
    }

    /// Offset of node `(x, y, z)` in 3D.
    #[inline(always)]
    pub const fn offset_3d(self, x: usize, y: usize, z: usize) -> usize {
        x + self.nodes(0) * (y + self.nodes(1) * z)
    }

    /// Offset of a node of a patch from the patch's first node, in 2D. It fits 32 bits, which saves registers.
    #[inline(always)]
    pub const fn local_2d(self, x: usize, y: usize) -> usize {
        (x as u32 + self.cells[0] * self.degree * y as u32) as usize
    }

    /// Offset of a node of a patch from the patch's first node, in 3D. It fits 32 bits, which saves registers.
    #[inline(always)]
    pub const fn local_3d(self, x: usize, y: usize, z: usize) -> usize {
        let (row, rows) = (self.cells[0] * self.degree, self.cells[1] * self.degree);
        (x as u32 + row * (y as u32 + rows * z as u32)) as usize
    }

    /// Distance of neighbours in z, in 3D. It fits 32 bits, which saves registers.
    #[inline(always)]
    pub const fn plane(self) -> u32 {
        self.cells[0] * self.degree * (self.cells[1] * self.degree)
    }

    /// Entries of a vector: all stored nodes and the guard, in whole chunks of 16 bytes of whatever scalar.
    pub const fn storage(self, dim: usize) -> usize {
        let end = match dim {
            2 => self.offset_2d(self.nodes(0), self.nodes(1)),
            _ => self.offset_3d(self.nodes(0), self.nodes(1), self.nodes(2)),
        };
        (end + 1).next_multiple_of(4)
    }

    /// The next coarser level where all directions are coarsened.
    #[inline(always)]
    pub const fn coarser(self) -> Self {
        let [x, y, z] = self.cells;
        Self { cells: [x / 2, y / 2, z / 2], degree: self.degree }
    }

    /// The same, made anew: distances computed from it are not kept from where they were computed before, in registers that
    /// would spill.
    #[inline(always)]
    pub fn remade(self) -> Self {
        let [x, y, z] = self.cells;
        Self { cells: [made_here(x), made_here(y), z], ..self }
    }

    /// Whether node `index` of a direction is an unknown.
    #[inline(always)]
    pub const fn is_interior(self, direction: usize, index: usize) -> bool {
        index > 0 && index < self.nodes(direction)
    }
}

/// The nodes of one level of discontinuous elements, in storage order: row by row, `x` fastest, all of them unknowns.
///
/// Every cell has `k + 1` nodes a direction of its own, so that a patch is a box of `2(k + 1)` nodes a direction whose rows
/// continue those of the patches beside it.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DgGrid {
    /// Cells in each direction; in 2D the last number counts for nothing.
    pub cells: [u32; 3],
    /// Degree `k`.
    pub degree: u32,
}

// SAFETY: four `u32` without padding.
unsafe impl Zeroable for DgGrid {}
// SAFETY: as above.
unsafe impl Pod for DgGrid {}

impl DgGrid {
    /// Degrees that there are, in 2D and 3D.
    pub const DEGREES: core::ops::RangeInclusive<usize> = 1..=8;

    /// The same number of cells in every direction.
    pub const fn cube(cells: u32, degree: u32) -> Self {
        Self { cells: [cells; 3], degree }
    }

    /// Nodes of a cell in one direction.
    #[inline(always)]
    pub const fn cell_nodes(self) -> usize {
        self.degree as usize + 1
    }

    /// Nodes in a direction.
    #[inline(always)]
    pub const fn nodes(self, direction: usize) -> usize {
        self.cells[direction] as usize * self.cell_nodes()
    }

    /// Nodes of a row.
    #[inline(always)]
    pub const fn row(self) -> usize {
        self.nodes(0)
    }

    /// Offset of node `(x, y)` in 2D.
    #[inline(always)]
    pub const fn offset_2d(self, x: usize, y: usize) -> usize {
        x + self.nodes(0) * y
    }

    /// Offset of node `(x, y, z)` in 3D; in 2D `z` must be 0.
    #[inline(always)]
    pub const fn offset_3d(self, x: usize, y: usize, z: usize) -> usize {
        x + self.nodes(0) * (y + self.nodes(1) * z)
    }

    /// Entries of a vector, and unknowns.
    pub const fn storage(self, dim: usize) -> usize {
        let plane = self.nodes(0) * self.nodes(1);
        if dim == 2 { plane } else { plane * self.nodes(2) }
    }

    /// The next coarser level where all directions are coarsened.
    #[inline(always)]
    pub const fn coarser(self) -> Self {
        let [x, y, z] = self.cells;
        Self { cells: [x / 2, y / 2, z / 2], degree: self.degree }
    }
}

/// Which ends of a direction a patch touches. There faces are the boundary's, so that 1D matrices of such patches differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ends {
    /// Neither.
    Neither,
    /// The lower one.
    Lower,
    /// The upper one.
    Upper,
    /// Both: the one patch of a direction of two cells.
    Both,
}

impl Ends {
    /// All of them; a value is at the place of its number.
    pub const ALL: [Self; 4] = [Self::Neither, Self::Lower, Self::Upper, Self::Both];

    /// Of the patch whose first cell is `cell`, of `cells` in the direction.
    #[inline(always)]
    pub const fn of_patch(cells: u32, cell: u32) -> Self {
        match (cell == 0, cell + 2 == cells) {
            (false, false) => Self::Neither,
            (true, false) => Self::Lower,
            (false, true) => Self::Upper,
            (true, true) => Self::Both,
        }
    }
}

/// Direction `d`'s bit of a color or class: colors count in binary, `x` fastest.
#[inline(always)]
pub const fn bit(color: u32, direction: usize) -> u32 {
    (color >> direction) & 1
}

/// Patches of a color in one direction, of an even number of cells: vertices `1 + bit, 3 + bit, ...` below `cells`.
#[inline(always)]
pub const fn color_count(cells: u32, bit: u32) -> u32 {
    cells / 2 - bit
}

/// First node of the `index`-th patch of a color in one direction.
#[inline(always)]
pub const fn color_origin(degree: usize, bit: u32, index: usize) -> usize {
    (2 * index + bit as usize) * degree
}

/// The patches of color 0 tile the domain; a *class* holds those of equal parity in every direction, so that no two of
/// a class share a node. Number of a class's patches in one direction.
#[inline(always)]
pub const fn class_count(cells: u32, bit: u32) -> u32 {
    (cells / 2 + 1 - bit) / 2
}

/// Index, among the tiling's patches of one direction, of the `index`-th patch of a class.
#[inline(always)]
pub const fn class_patch(bit: u32, index: usize) -> usize {
    2 * index + bit as usize
}

/// Whether a patch of a class is the first, in the order of classes, to touch a node, seen in one direction: at a node
/// on the patch's first or last plane the neighbour of the other parity shares it, and even classes come first. A node
/// is touched first by this patch if that holds in every direction.
#[inline(always)]
pub const fn touches_first(bit: u32, is_end: bool) -> bool {
    bit == 0 || !is_end
}
