//! Directions of boxes with sides: their nodes, patches and images beyond sides.

#[cfg(not(target_arch = "nvptx64"))]
use super::bit;
use crate::scalar::Real;
use bytemuck::{Pod, Zeroable};
use cuda_std::hint::made_here;

/// Rows of nodes along x have a multiple of so many entries, which are whole chunks of 16 bytes of whatever scalar. Those behind the last node
/// are zero.
pub const ROW_MULTIPLE: u32 = 4;

/// Entries of a row of so many nodes along x.
#[inline(always)]
pub const fn row(nodes: u32) -> u32 {
    nodes.next_multiple_of(ROW_MULTIPLE)
}

/// A direction: its cells and its patches, one around each vertex but those where `u` is given.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Direction {
    pub cells: u32,
    /// The vertex of the first patch, 0 or 1.
    pub first: u32,
    pub patches: u32,
    /// 1 if the last vertex is the first one, else 0.
    pub is_periodic: u32,
}

// SAFETY: four `u32` without padding.
unsafe impl Zeroable for Direction {}
// SAFETY: as above.
unsafe impl Pod for Direction {}

impl Direction {
    /// The line of nodes from a number on, for elements of a degree.
    #[inline(always)]
    pub const fn line(self, degree: usize, first: i32) -> Line {
        Line { first, last: (self.cells * degree as u32) as i32, is_periodic: self.is_periodic == 1 }
    }

    /// Cells whose first nodes may be unknowns: one more than there are if the upper end is Neumann's.
    #[inline(always)]
    pub const fn output_cells(self) -> u32 {
        self.first + self.patches
    }

    /// All nodes of the direction, for elements of a degree.
    #[inline(always)]
    pub const fn nodes(self, degree: usize) -> u32 {
        self.cells * degree as u32 + 1
    }

    /// Entries of a row of nodes along x.
    #[inline(always)]
    pub const fn row(self, degree: usize) -> u32 {
        row(self.nodes(degree))
    }

    /// The node that a node is, which may lie beyond an end: where the direction goes on if it is periodic, and whose last node is the first one; none
    /// beyond another end.
    #[inline(always)]
    pub const fn wrapped(self, degree: usize, node: u32) -> Option<u32> {
        let last = self.cells * degree as u32;
        if self.is_periodic == 0 {
            return if node <= last { Some(node) } else { None };
        }
        let node = if (node as i32) < 0 {
            node.wrapping_add(last)
        } else if node >= last {
            node - last
        } else {
            node
        };
        if node < last { Some(node) } else { None }
    }

    /// That of half as many cells.
    #[inline(always)]
    pub const fn coarser(self) -> Self {
        let cells = self.cells / 2;
        Self { cells, patches: self.patches - (self.cells - cells), ..self }
    }

    /// Whether a node is an unknown.
    #[inline(always)]
    pub const fn is_unknown(self, degree: usize, node: u32) -> bool {
        let given_above = self.output_cells() == self.cells;
        node >= self.first && node <= self.cells * degree as u32 - given_above as u32
    }

    /// Whether nodes are stored where they lie from this one, which may lie beyond the lower end, to that one.
    #[inline(always)]
    pub const fn has_all(self, degree: usize, first: i32, last: u32) -> bool {
        first >= 0 && last + self.is_periodic < self.nodes(degree)
    }

    /// Whether the nodes of the patches around these vertices and those between are stored where they lie, with no unknown on a side.
    #[inline(always)]
    pub const fn is_within(self, first: u32, last: u32) -> bool {
        first > 0 && last + self.is_periodic < self.cells
    }

    /// Patches of a color: every other one.
    #[inline(always)]
    pub const fn of_color(self, bit: u32) -> u32 {
        (self.patches + 1 - bit) / 2
    }
}

/// Nodes of a direction, side by side; some may lie beyond its ends.
#[derive(Clone, Copy)]
pub struct Line {
    /// The first one; it may lie beyond the lower end.
    first: i32,
    /// Number of the level's last node.
    last: i32,
    is_periodic: bool,
}

impl Line {
    /// The node whose value a node has: its image, if it lies beyond an end.
    #[inline(always)]
    pub fn node(self, index: usize) -> u32 {
        let node = self.first + index as i32;
        // Mirrored at an end, or moved by a period.
        let (sign, below, beyond) = if self.is_periodic { (1, self.last, -self.last) } else { (-1, 0, 2 * self.last) };
        let image = if node < 0 {
            sign * node + below
        } else if node >= self.last {
            sign * node + beyond
        } else {
            node
        };
        image as u32
    }

    /// Whether it lies within.
    #[inline(always)]
    pub fn has(self, index: usize) -> bool {
        let node = self.first + index as i32;
        self.is_periodic || (0 <= node && node <= self.last)
    }

    /// How often the load of a node counts: twice on a Neumann side. Nobody asks for nodes where the solution is given.
    #[inline(always)]
    pub fn weight<T: Real>(self, index: usize) -> T {
        let node = self.first + index as i32;
        T::from_f64(if !self.is_periodic && (node == 0 || node == self.last) { 2.0 } else { 1.0 })
    }

    #[inline(always)]
    pub fn nodes(self) -> u32 {
        self.last as u32 + 1
    }

    /// As of [`Direction::row`].
    #[inline(always)]
    pub fn row(self) -> u32 {
        row(self.nodes())
    }
}

/// The directions of a level; in 2D the third counts for nothing.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Directions(pub [Direction; 3]);

// SAFETY: three structs of `u32` without padding.
unsafe impl Zeroable for Directions {}
// SAFETY: as above.
unsafe impl Pod for Directions {}

impl Directions {
    /// The same, made anew, as of [`Grid::remade`](super::Grid::remade).
    #[inline(always)]
    pub fn remade(self) -> Self {
        Self(self.0.map(|Direction { cells, first, patches, is_periodic }| Direction {
            cells: made_here(cells),
            first: made_here(first),
            patches: made_here(patches),
            is_periodic: made_here(is_periodic),
        }))
    }
}

#[cfg(not(target_arch = "nvptx64"))]
impl Directions {
    /// Of so many cells, with zero on the boundary.
    pub fn closed(cells: [u32; 3]) -> Self {
        Self(cells.map(|cells| Direction { cells, first: 1, patches: cells.max(2) - 1, is_periodic: 0 }))
    }

    /// Blocks for the patches of a color, so many of a block side by side in x; none if there are no patches.
    pub fn blocks(self, dim: usize, color: u32, patches: usize) -> [u32; 3] {
        let count = |d: usize| if d < dim { self.0[d].of_color(bit(color, d)) } else { 1 };
        [count(0).div_ceil(patches as u32), count(1), count(2)]
    }
}
