//! Elliptic equations on forests (paper 3): the operator of each cell, sums over cells at nodes, transfers between meshes.
//!
//! Cells come in *groups*, a block each. A thread has a line of nodes of a cell, in registers; shared memory turns lines of one
//! direction into those of another. Cells sum up their results at nodes in one of three ways ([`Writes`]).

#[cfg(any(not(target_arch = "nvptx64"), module = "elliptic"))]
mod boxes;
#[cfg(any(not(target_arch = "nvptx64"), module = "elliptic"))]
mod diagonal;
#[cfg(any(not(target_arch = "nvptx64"), module = "elliptic"))]
mod family;
#[cfg(any(not(target_arch = "nvptx64"), module = "elliptic"))]
mod interpolation;
#[cfg(not(target_arch = "nvptx64"))]
mod kind;
#[cfg(any(not(target_arch = "nvptx64"), module = "elliptic"))]
mod lines;
#[cfg(any(not(target_arch = "nvptx64"), module = "elliptic"))]
mod list;
#[cfg(any(not(target_arch = "nvptx64"), module = "elliptic"))]
mod newton;
#[cfg(any(not(target_arch = "nvptx64"), module = "elliptic_nodes"))]
pub mod nodes;
#[cfg(any(not(target_arch = "nvptx64"), module = "elliptic"))]
mod operator;
#[cfg(any(not(target_arch = "nvptx64"), module = "elliptic"))]
mod transfer;
#[cfg(any(not(target_arch = "nvptx64"), module = "elliptic"))]
mod writes;

#[cfg(any(not(target_arch = "nvptx64"), module = "elliptic"))]
pub use diagonal::SquareMatrices;
#[cfg(any(not(target_arch = "nvptx64"), module = "elliptic"))]
pub use interpolation::ParentMatrices;
#[cfg(not(target_arch = "nvptx64"))]
pub use kind::KIND;
#[cfg(any(not(target_arch = "nvptx64"), module = "elliptic"))]
pub use lines::{BoxMatrices, CellMatrices, Halves};
#[cfg(not(target_arch = "nvptx64"))]
pub use list::{
    Apply, ApplyBoxes, ApplyBoxesHanging, ApplyHanging, Diagonal, DiagonalHanging, Evaluate, EvaluateHanging,
    Interpolate, InterpolateHanging, Prolongate, Restrict,
};
#[cfg(any(not(target_arch = "nvptx64"), module = "elliptic"))]
pub use newton::{FluxPoints, PowerLaw};

#[cfg(any(not(target_arch = "nvptx64"), module = "elliptic"))]
pub use operator::Metric;
#[cfg(any(not(target_arch = "nvptx64"), module = "elliptic"))]
pub use writes::{Target, Writes};

/// In a list of nodes, beside the number: the results that are left there are a node's whole sum.
pub const WHOLE: u32 = 1 << 31;

/// In a list of children: no child but the cell itself.
pub const STAYS: u32 = u32::MAX;

/// In a list of nodes: none.
pub const NONE: u32 = u32::MAX;

/// Blocks that a multiprocessor should hold: at most 12 in `f32` and 8 in `f64`, as many as have registers without spills. First those
/// in 2D, then those in 3D, each in `f32` and in `f64`, for 2, 3, ... nodes a direction.
#[cfg(not(target_arch = "nvptx64"))]
struct MinBlocks([[usize; 8]; 2], [[usize; 6]; 2]);

#[cfg(not(target_arch = "nvptx64"))]
impl MinBlocks {
    fn of(&self, groups: Groups, scalar_bytes: usize) -> usize {
        let (scalar, nodes) = (scalar_bytes / 8, groups.nodes - 2);
        if groups.dim == 2 { self.0[scalar][nodes] } else { self.1[scalar][nodes] }
    }

    /// Of the same kernel for cells with lines that hang, which are few: it needs more registers.
    fn of_hanging(&self, groups: Groups, scalar_bytes: usize) -> usize {
        (3 * self.of(groups, scalar_bytes) / 4).max(1)
    }
}

/// How cells with so many nodes a direction lie on blocks and in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Groups {
    dim: usize,
    nodes: usize,
}

impl Groups {
    /// Of cells with `nodes = k + 1` nodes a direction.
    pub const fn new(dim: usize, nodes: usize) -> Self {
        Self { dim, nodes }
    }

    /// Their dimension.
    pub const fn dim(self) -> usize {
        self.dim
    }

    /// Nodes of a cell in a direction.
    pub const fn nodes(self) -> usize {
        self.nodes
    }

    /// Lines of a cell along a direction: its threads.
    pub const fn lines(self) -> usize {
        if self.dim == 3 { self.nodes * self.nodes } else { self.nodes }
    }

    /// Cells of a group: whole families, where these are not too large.
    pub const fn cells(self) -> usize {
        if !self.has_families() {
            return 192 / self.lines();
        }
        let wanted = if self.dim == 3 { 144 } else { 128 };
        let families = wanted / (self.lines() << self.dim);
        if families > 1 { families << self.dim } else { 1 << self.dim }
    }

    /// Whether groups may be families, the children of one cell, which sum up their results before they leave them.
    pub const fn has_families(self) -> bool {
        // Else registers would be few.
        self.lines() << self.dim <= 288
    }

    /// Threads of a block.
    pub const fn threads(self) -> usize {
        self.lines() * self.cells()
    }

    /// Nodes of the cells of a group.
    pub const fn entries(self) -> usize {
        self.threads() * self.nodes
    }

    /// Words of the metric at a point, without the reaction's: the lower triangle of a symmetric tensor.
    pub const fn words(self) -> usize {
        if self.dim == 3 { 6 } else { 3 }
    }

    /// Where the kernel reads the metric at point `q` of cell `slot`: the word of that number, of [`Self::words`].
    pub const fn place_in_metric(self, slot: usize, q: usize, word: usize) -> usize {
        self.place_of_word(slot, 0, q, [word, self.words()])
    }

    /// Groups of so many cells.
    pub const fn count(self, cells: usize) -> usize {
        cells.div_ceil(self.cells())
    }

    /// The index along a line of node `i` of a cell, x fastest, and the thread in its group that has the line, of cell `slot`, along
    /// a direction.
    const fn line(self, slot: usize, direction: usize, i: usize) -> (usize, usize) {
        let n = self.nodes;
        let index = [i % n, i / n % n, i / n / n];
        let [first, second] = across(direction);
        let line = index[first] + if self.dim == 3 { n * index[second] } else { 0 };
        (index[direction], slot % self.cells() * self.lines() + line)
    }

    /// Where node `i` of cell `slot` is in a list that threads with lines along a direction take side by side.
    pub const fn place(self, slot: usize, direction: usize, i: usize) -> usize {
        self.place_of_word(slot, direction, i, [0, 1])
    }

    /// The same with several words a node: of the first number, of as many as the second.
    pub const fn place_of_word(self, slot: usize, direction: usize, i: usize, [word, words]: [usize; 2]) -> usize {
        let (layer, thread) = self.line(slot, direction, i);
        ((slot / self.cells() * words + word) * self.nodes + layer) * self.threads() + thread
    }
}

/// The directions across one.
const fn across(direction: usize) -> [usize; 2] {
    match direction {
        0 => [1, 2],
        1 => [0, 2],
        _ => [0, 1],
    }
}

/// Which lines of a cell are interpolated from its parent's, in one word: which child it is, then nine bits a direction for the lines
/// that lie at `a` and `b` in the other two, bit `a + 3 b`: 0 at the lower end, 1 in between, 2 at the upper end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HangingLines(pub u32);

impl HangingLines {
    /// Of the child's number and the bits of each direction.
    pub const fn new(child: u8, [x, y, z]: [u16; 3]) -> Self {
        Self(child as u32 | (x as u32) << 3 | (y as u32) << 12 | (z as u32) << 21)
    }

    /// Whether the child is the upper one in a direction.
    #[inline(always)]
    pub const fn is_upper(self, direction: usize) -> bool {
        self.0 >> direction & 1 == 1
    }

    /// Whether the line along a direction at these of `nodes` nodes in the other directions is interpolated; in 2D the second is 0.
    #[inline(always)]
    pub const fn has(self, direction: usize, [a, b]: [usize; 2], nodes: usize) -> bool {
        let bit = end(a, nodes) + 3 * end(b, nodes);
        self.0 >> (3 + 9 * direction as u32 + bit) & 1 == 1
    }
}

#[inline(always)]
const fn end(index: usize, nodes: usize) -> u32 {
    if index == 0 { 0 } else { 1 + (index == nodes - 1) as u32 }
}

/// Degrees that there are kernels for.
#[cfg(not(target_arch = "nvptx64"))]
pub fn degrees(dim: usize) -> core::ops::RangeInclusive<usize> {
    if dim == 2 { 1..=8 } else { 1..=6 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec;

    #[test]
    fn every_word_of_every_node_has_a_place_of_its_own() {
        for dim in [2, 3] {
            for degree in degrees(dim) {
                let groups = Groups::new(dim, degree + 1);
                assert!(groups.cells() >= 2 && groups.threads() > 96, "{groups:?}");
                let (slots, words) = (groups.cells() + 1, groups.words());
                for direction in 0..dim {
                    let mut taken = vec![false; 2 * words * groups.entries()];
                    for slot in 0..slots {
                        for i in 0..(degree + 1).pow(dim as u32) {
                            for word in 0..words {
                                let place = groups.place_of_word(slot, direction, i, [word, words]);
                                assert!(!std::mem::replace(&mut taken[place], true), "{groups:?}, {slot}, {i}, {word}");
                            }
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn a_word_says_which_lines_hang() {
        let lines = HangingLines::new(0b101, [1, 1 << 4, 1 << 8]);
        assert_eq!([0, 1, 2].map(|d| lines.is_upper(d)), [true, false, true]);
        assert!(lines.has(0, [0, 0], 4) && !lines.has(0, [1, 0], 4) && !lines.has(0, [0, 3], 4));
        assert!(lines.has(1, [1, 2], 4) && !lines.has(1, [0, 1], 4) && !lines.has(1, [3, 1], 4));
        assert!(lines.has(2, [3, 3], 4) && !lines.has(2, [2, 3], 4));
    }
}
