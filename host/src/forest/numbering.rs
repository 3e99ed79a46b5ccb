//! Numbers of the nodes of continuous elements on the leaves of a forest.

use super::cell::Cell;
use super::cell_entities::{CellEntities, NONE, for_each_entity};
use super::entities::{digit, dimension, position as position_of};
use super::first_visits::{OpenEntities, number_nodes};
use super::leaves::Forest;
use crate::error::{Result, invalid};
use crate::fe::Element;
use crate::memory;
use nalgebra::DMatrix;
use rayon::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Numbers of the Gauss-Lobatto nodes of continuous elements `Q_k` on the leaves of a forest.
///
/// Vertices, edges, faces and interiors of leaves have `1`, `k - 1`, `(k - 1)²` and `(k - 1)³` nodes in 3D. Leaves of one
/// level share the nodes of common entities; leaves of different levels share vertices only. Nodes of a fine leaf that lie on an
/// edge or a face of a coarser leaf hang, except at the vertices of the coarser leaf. Nodes are numbered in the order in which
/// leaves first have them, those first that only leaves of the finest level have: vectors begin with what is smoothed locally.
///
/// Stored are, for each leaf, `3^dim` numbers, whatever the degree: the first node of each entity, and how its own frame lies
/// in the leaf.
#[derive(Clone, Debug)]
pub struct Numbering {
    pub(super) dim: usize,
    pub(super) degree: usize,
    nodes: usize,
    /// Bits, in the order in which leaves first have nodes: those that a leaf of a coarser level than the finest has, too. Empty if there
    /// are none.
    of_coarser: Vec<u64>,
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

/// Leaves that a task takes: many, so that few vertices, edges and faces belong to several tasks.
const PIECE: usize = 1 << 13;

impl Numbering {
    /// Of degree `k` from 1 to 8 in 2D and 6 in 3D.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) for other degrees, and if there are `2^32 - 1` nodes or more;
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn new(forest: &Forest, degree: usize) -> Result<Self> {
        Self::in_pieces(forest, degree, PIECE)
    }

    /// With so many leaves a task, which changes nothing.
    pub(super) fn in_pieces(forest: &Forest, degree: usize, length: usize) -> Result<Self> {
        let (dim, most) = (forest.dim(), if forest.dim() == 2 { 8 } else { 6 });
        if !(1..=most).contains(&degree) {
            return Err(invalid("degree", degree, format_args!("1 to {most} in {dim}D")));
        }
        let element = Element::new(degree)?;
        let positions = forest.coarse().entities().positions();
        let leaves = forest.leaves();
        let mut cells = CellEntities::new(degree, positions, leaves.len())?;
        let (nodes, mut open) = number_nodes(forest, degree, length, &mut cells);
        if nodes >= NONE as usize {
            return Err(invalid("the number of nodes", nodes, "below 2^32 - 1"));
        }
        let of_coarser = of_coarser(forest, &cells, nodes)?;
        let mut numbers: Vec<u32> = memory::zeros(if of_coarser.is_empty() { 0 } else { nodes })?;
        numbers_in_order(&of_coarser, nodes).zip(&mut numbers).for_each(|(node, number)| *number = node);
        // Entities without nodes may have the number behind the last one.
        let renumber = |first: &mut u32| *first = numbers.get(*first as usize).copied().unwrap_or(*first);
        cells.first_nodes_mut().par_iter_mut().for_each(renumber);
        open.first_nodes_mut().par_iter_mut().for_each(renumber);
        let mut numbering = Self {
            dim,
            degree,
            nodes,
            of_coarser,
            leaves: cells,
            parents: CellEntities::new(degree, positions, 0)?,
            hangs: memory::zeros(nodes.div_ceil(64))?,
            hanging: Vec::new(),
            children: Vec::new(),
            prolongation: element.prolongation(),
        };
        numbering.find_hanging(forest, &open)?;
        Ok(numbering)
    }

    /// An entity of a leaf hangs if it lies in the interior of an edge or a face of its parent that a leaf has.
    ///
    /// That leaf has the level of the parent: by balance, no coarser leaf touches the children.
    fn find_hanging(&mut self, forest: &Forest, open: &OpenEntities) -> Result<()> {
        let families = Families::new(forest)?;
        let first_leaves = families.first_leaves.par_iter();
        let of_parents: Vec<Option<([u32; 27], u32)>> =
            first_leaves.map(|&leaf| parent_entities(forest, &forest.leaves()[leaf as usize], open)).collect();
        let positions = self.leaves.of(0).len();
        let add = |parent: &Option<([u32; 27], u32)>| {
            let (first_nodes, frames) = parent.as_ref()?;
            self.parents.push(&first_nodes[..positions], *frames);
            Some(self.parents.len() as u32 - 1)
        };
        let parents: Vec<Option<u32>> = of_parents.iter().map(add).collect();
        let in_parents = [0, 1, 2, 3, 4, 5, 6, 7].map(|child| positions_in_parent(self.dim, child));
        for (leaf, &family) in families.of_leaves.iter().enumerate() {
            let Some(&Some(parent)) = parents.get(family as usize) else { continue };
            let child = forest.leaves()[leaf].child_number();
            self.children.push(Child { leaf: leaf as u32, parent, number: child as u8 });
            // The children at a hanging edge or face are leaves, which have the vertices of the parent there.
            let corner = position_of([0, 1, 2].map(|d| 2 * (child >> d & 1)));
            self.parents.of_mut(parent as usize)[corner] = self.leaves.of(leaf)[corner];
            for (position, &parent_position) in in_parents[child].iter().enumerate().take(positions) {
                let is_edge_or_face = (1..self.dim).contains(&dimension(parent_position));
                if !is_edge_or_face || self.parents.of(parent as usize)[parent_position] == NONE {
                    continue;
                }
                let first = self.leaves.of(leaf)[position] as usize;
                let nodes = first..first + (self.degree - 1).pow(dimension(position) as u32);
                if nodes.is_empty() || self.hangs(nodes.start) {
                    continue;
                }
                nodes.for_each(|node| self.hangs[node / 64] |= 1 << (node % 64));
                let [position, child, parent_position] = [position, child, parent_position].map(|value| value as u8);
                self.hanging.push(HangingEntity { leaf: leaf as u32, position, child, parent, parent_position });
            }
        }
        Ok(())
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

    /// All nodes, in the order in which leaves first have them.
    pub(crate) fn in_order_of_leaves(&self) -> impl Iterator<Item = u32> {
        numbers_in_order(&self.of_coarser, self.nodes)
    }

    /// Nodes of a leaf, `(k + 1)^dim`, in lexicographic order in the frame of the leaf, x fastest.
    ///
    /// # Panics
    /// Unless there is such a leaf.
    pub fn leaf_nodes(&self, leaf: usize) -> impl Iterator<Item = u32> + '_ {
        assert!(leaf < self.leaves.len(), "leaf {leaf} of {}", self.leaves.len());
        self.leaves.nodes(leaf)
    }
}

/// Bits, by node in the order of leaves: those of leaves that are coarser than the finest; empty if there are none.
///
/// An entity's nodes belong to the same leaves, so that they stay next to each other.
fn of_coarser(forest: &Forest, cells: &CellEntities, nodes: usize) -> Result<Vec<u64>> {
    let finest = forest.levels() as u8 - 1;
    let coarser = forest.leaves().par_iter().enumerate().filter(|(_, leaf)| leaf.level < finest);
    if coarser.clone().count() == 0 {
        return Ok(Vec::new());
    }
    memory::check(nodes as u64 / 8)?;
    let bits: Vec<AtomicU64> = (0..nodes.div_ceil(64)).into_par_iter().map(|_| 0.into()).collect();
    coarser.for_each(|(leaf, _)| {
        for node in cells.nodes(leaf).map(|node| node as usize) {
            bits[node / 64].fetch_or(1 << (node % 64), Relaxed);
        }
    });
    Ok(bits.into_par_iter().map(AtomicU64::into_inner).collect())
}

/// Numbers of nodes in the order of leaves: others before those that coarser leaves have.
fn numbers_in_order(of_coarser: &[u64], nodes: usize) -> impl Iterator<Item = u32> {
    let of_coarser_count: usize = of_coarser.iter().map(|bits| bits.count_ones() as usize).sum();
    let mut next = [0, (nodes - of_coarser_count) as u32];
    (0..nodes).map(move |node| {
        let is_of_coarser = of_coarser.get(node / 64).is_some_and(|bits| bits >> (node % 64) & 1 == 1);
        let next = &mut next[usize::from(is_of_coarser)];
        *next += 1;
        *next - 1
    })
}

/// Children of the same cell that are leaves.
struct Families {
    /// Of each family.
    first_leaves: Vec<u32>,
    /// The family of each leaf; [`NONE`] of a root.
    of_leaves: Vec<u32>,
}

impl Families {
    fn new(forest: &Forest) -> Result<Self> {
        // By level, the last parent and its family.
        let mut last: Vec<Option<(Cell, u32)>> = vec![None; forest.levels()];
        let mut first_leaves = Vec::new();
        let mut of_leaves = memory::zeros(forest.leaves().len())?;
        for (leaf, (cell, family)) in forest.leaves().iter().zip(&mut of_leaves).enumerate() {
            let Some(parent) = cell.parent() else {
                *family = NONE;
                continue;
            };
            let last = &mut last[usize::from(parent.level)];
            *family = match *last {
                Some((cell, family)) if cell == parent => family,
                _ => {
                    first_leaves.push(leaf as u32);
                    first_leaves.len() as u32 - 1
                }
            };
            *last = Some((parent, *family));
        }
        Ok(Self { first_leaves, of_leaves })
    }
}

/// First nodes of a leaf's parent, still without vertices, and frames; none unless a leaf has one of its edges or faces.
fn parent_entities(forest: &Forest, leaf: &Cell, open: &OpenEntities) -> Option<([u32; 27], u32)> {
    let mut first_nodes = [NONE; 27];
    let frames = for_each_entity(forest, &leaf.parent()?, |position, key, _| {
        if (1..forest.dim()).contains(&dimension(position)) {
            first_nodes[position] = open.first_node(dimension(position), &key);
        }
    });
    first_nodes.iter().any(|&first| first != NONE).then_some((first_nodes, frames))
}

/// For each position in a child, that in its parent of what has the entity in its interior.
fn positions_in_parent(dim: usize, child: usize) -> [usize; 27] {
    let mut positions = [0; 27];
    for (position, in_parent) in positions.iter_mut().enumerate() {
        *in_parent = position_of([0, 1, 2].map(|d| match 2 * (child >> d & 1) + digit(position, d) {
            _ if d >= dim => 0,
            0 => 0,
            4 => 2,
            _ => 1,
        }));
    }
    positions
}
