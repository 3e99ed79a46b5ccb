//! Numbers of the nodes of continuous elements on the leaves of a forest.

use super::cell::Cell;
use super::cell_entities::{CellEntities, NONE, Visited, for_each_entity};
use super::entities::{digit, dimension, position as position_of};
use super::leaves::Forest;
use crate::error::{Result, invalid};
use crate::fe::Element;
use crate::memory;
use nalgebra::DMatrix;

/// Numbers of the Gauss-Lobatto nodes of continuous elements `Q_k` on the leaves of a forest.
///
/// Vertices, edges, faces and interiors of leaves have `1`, `k - 1`, `(k - 1)²` and `(k - 1)³` nodes in 3D. Leaves of one
/// level share the nodes of common entities; leaves of different levels share vertices only. Nodes of a fine leaf that lie on an
/// edge or a face of a coarser leaf hang, except at the vertices of the coarser leaf. Nodes are numbered in the order in which
/// leaves first have them.
///
/// Stored are, for each leaf, `3^dim` numbers, whatever the degree: the first node of each entity, and how its own frame lies
/// in the leaf.
#[derive(Clone, Debug)]
pub struct Numbering {
    pub(super) dim: usize,
    pub(super) degree: usize,
    nodes: usize,
    pub(super) leaves: CellEntities,
    /// Refined cells that have an edge or a face of a leaf: the parents of leaves that have hanging nodes there.
    pub(super) parents: CellEntities,
    /// Bits, by node.
    hangs: Vec<u64>,
    pub(super) hanging: Vec<HangingEntity>,
    /// Leaves whose parents are in [`Self::parents`], ascending.
    pub(super) children: Vec<Child>,
    /// Of the element, from a cell to its halves.
    pub(super) prolongation: DMatrix<f64>,
}

/// A leaf that may have hanging nodes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Child {
    pub leaf: u32,
    /// Its parent, in [`Numbering::parents`].
    pub parent: u32,
    /// Which child of it the leaf is.
    pub number: u8,
}

/// A vertex, edge or face of a leaf in the interior of an edge or face of a coarser leaf.
#[derive(Clone, Copy, Debug)]
pub(super) struct HangingEntity {
    /// The leaf, and where in it.
    pub leaf: u32,
    pub position: u8,
    /// Which child of its parent the leaf is.
    pub child: u8,
    /// The parent, in [`Numbering::parents`].
    pub parent: u32,
    /// Position, in the parent, of the edge or face that it has in common with the coarser leaf.
    pub parent_position: u8,
}

impl Numbering {
    /// Of degree `k` from 1 to 8 in 2D and 6 in 3D.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) for other degrees, and if there are `2^32 - 1` nodes or more;
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn new(forest: &Forest, degree: usize) -> Result<Self> {
        let (dim, most) = (forest.dim(), if forest.dim() == 2 { 8 } else { 6 });
        if !(1..=most).contains(&degree) {
            return Err(invalid("degree", degree, format_args!("1 to {most} in {dim}D")));
        }
        let element = Element::new(degree)?;
        let positions = forest.coarse().entities().positions();
        let leaves = forest.leaves();
        let mut cells = CellEntities::new(degree, positions, leaves.len())?;
        let mut known = Visited::default();
        let mut nodes = 0_usize;
        for (leaf, cell) in leaves.iter().enumerate() {
            let first_nodes = cells.of_mut(leaf);
            let frames = for_each_entity(forest, cell, |position, key, incidences| {
                let dimension = dimension(position);
                let first = nodes as u32;
                first_nodes[position] = known.visit(dimension, key, incidences, first);
                if first_nodes[position] == first {
                    nodes += (degree - 1).pow(dimension as u32);
                }
            });
            cells.set_frames(leaf, frames);
            if nodes >= NONE as usize {
                let value = format_args!("more than {} after {} of {} leaves", NONE, leaf + 1, leaves.len());
                return Err(invalid("the number of nodes", value, "below 2^32 - 1"));
            }
        }
        let mut numbering = Self {
            dim,
            degree,
            nodes,
            leaves: cells,
            parents: CellEntities::new(degree, positions, 0)?,
            hangs: memory::zeros(nodes.div_ceil(64))?,
            hanging: Vec::new(),
            children: Vec::new(),
            prolongation: element.prolongation(),
        };
        numbering.find_hanging(forest, &known);
        Ok(numbering)
    }

    /// An entity of a leaf hangs if it lies in the interior of an edge or a face of its parent that a leaf has.
    ///
    /// That leaf has the level of the parent: by balance, no coarser leaf touches the children.
    fn find_hanging(&mut self, forest: &Forest, known: &Visited) {
        // By level, the last parent, and its number in the list if it is there.
        let mut parents: Vec<Option<(Cell, Option<u32>)>> = vec![None; forest.levels()];
        for (leaf, cell) in forest.leaves().iter().enumerate() {
            let Some(parent) = cell.parent() else { continue };
            let last = &mut parents[usize::from(parent.level)];
            let number = match *last {
                Some((cell, number)) if cell == parent => number,
                _ => {
                    let number = self.push_parent(forest, &parent, known);
                    *last = Some((parent, number));
                    number
                }
            };
            let Some(parent) = number else { continue };
            let child = cell.child_number();
            self.children.push(Child { leaf: leaf as u32, parent, number: child as u8 });
            // The children at a hanging edge or face are leaves, which have the vertices of the parent there.
            let corner = position_of([0, 1, 2].map(|d| 2 * (child >> d & 1)));
            self.parents.of_mut(parent as usize)[corner] = self.leaves.of(leaf)[corner];
            for (position, &first) in self.leaves.of(leaf).iter().enumerate() {
                let parent_position = position_in_parent(self.dim, position, child);
                let is_edge_or_face = (1..self.dim).contains(&dimension(parent_position));
                let is_of_leaf = self.parents.of(parent as usize)[parent_position] != NONE;
                let nodes = first as usize..first as usize + (self.degree - 1).pow(dimension(position) as u32);
                if !is_edge_or_face || !is_of_leaf || nodes.is_empty() || self.hangs(nodes.start) {
                    continue;
                }
                nodes.for_each(|node| self.hangs[node / 64] |= 1 << (node % 64));
                let [position, child, parent_position] = [position, child, parent_position].map(|value| value as u8);
                self.hanging.push(HangingEntity { leaf: leaf as u32, position, child, parent, parent_position });
            }
        }
    }

    /// Appends a refined cell, still without vertices, if a leaf has one of its edges or faces, and says where.
    fn push_parent(&mut self, forest: &Forest, cell: &Cell, known: &Visited) -> Option<u32> {
        let mut first_nodes = [NONE; 27];
        let frames = for_each_entity(forest, cell, |position, key, _| {
            if (1..self.dim).contains(&dimension(position)) {
                first_nodes[position] = known.first_node(dimension(position), &key);
            }
        });
        if first_nodes.iter().all(|&first| first == NONE) {
            return None;
        }
        self.parents.push(&first_nodes[..forest.coarse().entities().positions()], frames);
        Some(self.parents.len() as u32 - 1)
    }

    /// Polynomial degree `k`.
    pub fn degree(&self) -> usize {
        self.degree
    }

    /// Number of all nodes, hanging and boundary nodes included.
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// Number of hanging nodes.
    pub fn hanging_nodes(&self) -> usize {
        self.hangs.iter().map(|bits| bits.count_ones() as usize).sum()
    }

    /// Whether a node hangs.
    ///
    /// # Panics
    /// Unless the node is below [`Self::nodes`].
    pub fn hangs(&self, node: usize) -> bool {
        self.hangs[node / 64] >> (node % 64) & 1 == 1
    }

    /// Nodes of a leaf, `(k + 1)^dim`, in lexicographic order in the frame of the leaf, x fastest.
    ///
    /// # Panics
    /// Unless there is such a leaf.
    pub fn leaf_nodes(&self, leaf: usize) -> impl Iterator<Item = u32> + '_ {
        let n = self.degree + 1;
        assert!(leaf < self.leaves.len(), "leaf {leaf} of {}", self.leaves.len());
        (0..n.pow(self.dim as u32)).map(move |i| self.leaves.node(leaf, [i % n, i / n % n, i / n / n]))
    }
}

/// Position, in its parent, of what has an entity of a child in its interior.
fn position_in_parent(dim: usize, position: usize, child: usize) -> usize {
    position_of([0, 1, 2].map(|d| match 2 * (child >> d & 1) + digit(position, d) {
        _ if d >= dim => 0,
        0 => 0,
        4 => 2,
        _ => 1,
    }))
}
