//! Where the nodes of a level and of the next coarser one lie in vectors.

#[cfg(any(not(target_arch = "nvptx64"), module = "separable"))]
use crate::patch::Directions;

/// A level whose patches of color 0 are the cells of the next coarser one. Directions are x, y and z, or in 2D x and y.
pub trait Levels<const K: usize>: Copy {
    /// Entries of a row, and rows of a plane.
    fn fine(self) -> [u32; 2];

    /// Those of the coarser level.
    fn coarse(self) -> [u32; 2];

    /// Whether a fine node of a direction, which may lie behind the upper end, is one of the vector, so that `P` may add to it.
    fn has(self, direction: usize, node: u32) -> bool;

    /// Where the value of a coarse node is: the node itself or, at the upper end and behind it, another one.
    fn coarse_node(self, direction: usize, node: u32) -> u32;

    /// Whether it is the node itself in all directions but x.
    fn is_straight(self) -> bool;
}

/// With zero on the boundary.
#[derive(Clone, Copy)]
pub struct Closed {
    /// Nodes of a row and rows of a plane, of both levels.
    fine: [u32; 2],
    coarse: [u32; 2],
}

impl Closed {
    /// Of so many cells of the fine level.
    #[inline(always)]
    pub fn new(cells: [u32; 3], degree: usize) -> Self {
        let (row, rows) = (cells[0] * degree as u32, cells[1] * degree as u32);
        Self { fine: [row, rows], coarse: [row / 2, rows / 2] }
    }
}

impl<const K: usize> Levels<K> for Closed {
    #[inline(always)]
    fn fine(self) -> [u32; 2] {
        self.fine
    }

    #[inline(always)]
    fn coarse(self) -> [u32; 2] {
        self.coarse
    }

    #[inline(always)]
    fn has(self, direction: usize, node: u32) -> bool {
        direction > 0 || node < self.fine[0]
    }

    #[inline(always)]
    fn coarse_node(self, direction: usize, node: u32) -> u32 {
        if direction > 0 { node } else { node.min(self.coarse[0]) }
    }

    #[inline(always)]
    fn is_straight(self) -> bool {
        true
    }
}

/// With any sides; the directions of the fine level, whose cells are halved in each of them. Vectors have all nodes.
#[cfg(any(not(target_arch = "nvptx64"), module = "separable"))]
#[derive(Clone, Copy)]
pub struct Sided(pub Directions);

#[cfg(any(not(target_arch = "nvptx64"), module = "separable"))]
impl<const K: usize> Levels<K> for Sided {
    #[inline(always)]
    fn fine(self) -> [u32; 2] {
        let [x, y, _] = self.0.0;
        [x.row(K), y.nodes(K)]
    }

    #[inline(always)]
    fn coarse(self) -> [u32; 2] {
        let [x, y, _] = self.0.0;
        [x.coarser().row(K), y.coarser().nodes(K)]
    }

    /// The last one only where it is an unknown.
    #[inline(always)]
    fn has(self, direction: usize, node: u32) -> bool {
        let of = self.0.0[direction];
        node < of.output_cells() * K as u32 && node < of.nodes(K)
    }

    #[inline(always)]
    fn coarse_node(self, direction: usize, node: u32) -> u32 {
        let of = self.0.0[direction].coarser();
        let last = of.nodes(K) - 1;
        if node < last {
            node
        } else if of.is_periodic == 1 {
            0
        } else {
            last
        }
    }

    #[inline(always)]
    fn is_straight(self) -> bool {
        false
    }
}
