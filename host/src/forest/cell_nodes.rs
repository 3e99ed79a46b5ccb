//! What a cell reads: values at its nodes, and for those that hang the values that they follow from.

use super::entities::{digit, dimension};
use super::numbering::{Child, Numbering};
use crate::error::{Result, invalid};
use crate::memory;
use rayon::prelude::*;

/// Nodes of the leaves of a forest, with hanging ones replaced by nodes of the coarser leaf that they hang on.
///
/// A leaf with an edge or a face that is part of one of a coarser leaf has, in the places of that edge or face, the nodes of
/// its parent, which are those of the coarser leaf. Along the [lines](HangingLines) there, interpolation from the parent to the
/// child gives the leaf's own values: `u_leaf = C u_nodes`. No node that is listed hangs.
#[derive(Clone, Debug)]
pub struct CellNodes {
    nodes: Vec<u32>,
    nodes_a_cell: usize,
    hanging: Vec<HangingLines>,
}

/// Lines of nodes of a leaf along which values are interpolated: for each direction, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HangingLines {
    /// The leaf.
    pub cell: u32,
    /// Which child of its parent it is.
    pub child: u8,
    /// For each direction, bit `a + 3 b` for the lines that lie at `a` and `b` in the other two directions, in ascending
    /// order: 0 at the lower end, 1 in between, 2 at the upper end. In 2D `b = 0`.
    pub along: [u16; 3],
}

impl HangingLines {
    /// Whether the line along `direction` through the nodes with these indices in the other directions is interpolated, if a
    /// cell has nodes `0..=k` in each.
    pub fn has(&self, direction: usize, others: [usize; 2], k: usize) -> bool {
        let [a, b] = others.map(|i| if i == 0 { 0 } else { 1 + usize::from(i == k) });
        self.along[direction] >> (a + 3 * b) & 1 == 1
    }
}

/// Leaves that a task takes.
const LEAVES_A_TASK: usize = 1 << 10;

impl CellNodes {
    /// Nodes of a leaf, `(k + 1)^dim`, in lexicographic order, x fastest.
    ///
    /// # Panics
    /// Unless there is such a leaf.
    pub fn of(&self, cell: usize) -> &[u32] {
        &self.nodes[self.nodes_a_cell * cell..self.nodes_a_cell * (cell + 1)]
    }

    /// Those of all leaves.
    pub fn all(&self) -> &[u32] {
        &self.nodes
    }

    /// Nodes that a cell has.
    pub fn nodes_a_cell(&self) -> usize {
        self.nodes_a_cell
    }

    /// Number of leaves.
    pub fn cells(&self) -> usize {
        self.nodes.len() / self.nodes_a_cell
    }

    /// The leaves with lines to be interpolated, in ascending order.
    pub fn hanging(&self) -> &[HangingLines] {
        &self.hanging
    }

    /// The lines of a leaf, if it has any.
    pub fn hanging_of(&self, cell: usize) -> Option<&HangingLines> {
        let index = self.hanging.binary_search_by_key(&(cell as u32), |lines| lines.cell).ok()?;
        self.hanging.get(index)
    }
}

impl Numbering {
    /// The nodes that each leaf reads.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if these are `2^32` or more;
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn cell_nodes(&self) -> Result<CellNodes> {
        let nodes_a_cell = (self.degree + 1).pow(self.dim as u32);
        let count = nodes_a_cell * self.leaves.len();
        if count >= 1 << 32 {
            return Err(invalid("the number of nodes of all cells", count, "below 2^32"));
        }
        let mut nodes = memory::zeros(count)?;
        let pieces = nodes.par_chunks_mut(nodes_a_cell * LEAVES_A_TASK).enumerate();
        let hanging: Vec<Vec<HangingLines>> = pieces
            .map(|(piece, nodes)| {
                let first = piece * LEAVES_A_TASK;
                let from = self.children.partition_point(|child| (child.leaf as usize) < first);
                let (mut children, mut hanging) = (self.children[from..].iter().peekable(), Vec::new());
                for (leaf, own) in nodes.chunks_exact_mut(nodes_a_cell).enumerate() {
                    own.iter_mut().zip(self.leaf_nodes(first + leaf)).for_each(|(own, node)| *own = node);
                    if let Some(child) = children.next_if(|child| child.leaf as usize == first + leaf) {
                        hanging.extend(self.take_from_parent(child, own));
                    }
                }
                hanging
            })
            .collect();
        Ok(CellNodes { nodes, nodes_a_cell, hanging: hanging.concat() })
    }

    /// Puts the nodes of the coarser leaves in their places, and says which lines are interpolated.
    fn take_from_parent(&self, child: &Child, nodes: &mut [u32]) -> Option<HangingLines> {
        let &Child { leaf, parent, number } = child;
        let n = self.degree + 1;
        let mut along = [0; 3];
        for position in self.common_with_coarser(child) {
            for (i, node) in nodes.iter_mut().enumerate() {
                let index = [i % n, i / n % n, i / n / n];
                if (0..self.dim).all(|d| is_at(digit(position, d), index[d], self.degree)) {
                    *node = self.parents.node(parent as usize, index);
                }
            }
            for (d, lines) in along.iter_mut().enumerate().filter(|(d, _)| digit(position, *d) == 1) {
                *lines |= lines_at(position, d);
            }
        }
        (along != [0; 3]).then_some(HangingLines { cell: leaf, child: number, along })
    }

    /// Positions of the edges and faces of a leaf that are part of one of a coarser leaf: the same in leaf and parent.
    fn common_with_coarser(&self, child: &Child) -> impl Iterator<Item = usize> {
        let Child { parent, number, .. } = *child;
        let first_nodes = self.parents.of(parent as usize).iter().enumerate();
        let dim = self.dim;
        let is_at_leaf = move |position: usize| {
            (0..dim).all(|d| digit(position, d) == 1 || digit(position, d) == 2 * usize::from(number >> d & 1))
        };
        let known =
            first_nodes.filter(|(_, first)| **first != super::cell_entities::NONE).map(|(position, _)| position);
        known.filter(move |&position| (1..dim).contains(&dimension(position)) && is_at_leaf(position))
    }
}

/// Whether an index of `0..=k` belongs to a digit of a position, its ends included.
fn is_at(digit: usize, index: usize, k: usize) -> bool {
    digit == 1 || index == if digit == 0 { 0 } else { k }
}

/// Bits of the lines along a direction that lie in an edge or a face, its ends included.
fn lines_at(position: usize, direction: usize) -> u16 {
    let mut others = (0..3).filter(|&d| d != direction).map(|d| match digit(position, d) {
        1 => 0..3,
        end => end..end + 1,
    });
    let [a, b] = [others.next(), others.next()].map(|range| range.unwrap_or(0..1));
    b.flat_map(|b| a.clone().map(move |a| 1 << (a + 3 * b))).sum()
}
