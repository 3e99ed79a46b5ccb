//! Numbers of the nodes of continuous elements on the leaves of a forest.

use super::cell::{Cell, max_level};
use super::entities::{Frame, digit, dimension, free_directions};
use super::leaves::Forest;
use crate::error::{Result, invalid};
use crate::fe::Element;
use crate::memory;
use nalgebra::DMatrix;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasherDefault, Hash, Hasher};

/// No number: fewer nodes are allowed.
const NONE: u32 = u32::MAX;

/// Numbers of the Gauss-Lobatto nodes of continuous elements `Q_k` on the leaves of a forest.
///
/// Vertices, edges, faces and interiors of leaves have `1`, `k - 1`, `(k - 1)²` and `(k - 1)³` nodes. Leaves of one level share
/// those of common entities. Leaves of different levels share vertices only: edges and faces of a leaf that touches a coarser one
/// have nodes of their own, which hang if they lie on an edge or a face of the coarser leaf, and so do vertices that are no
/// vertices of the coarser leaf. Nodes are numbered in the order in which leaves first have them.
///
/// Stored are, for each leaf, `3^dim` numbers, whatever the degree: the first node of each entity, and how its own frame lies
/// in the leaf.
#[derive(Clone, Debug)]
pub struct Numbering {
    pub(super) dim: usize,
    pub(super) degree: usize,
    nodes: usize,
    /// Leaves, and behind them refined cells that have edges or faces with hanging nodes.
    cells: CellEntities,
    leaves: usize,
    /// Bits, by node.
    hangs: Vec<u64>,
    pub(super) hanging: Vec<HangingEntity>,
    /// Of the element, from a cell to its halves.
    pub(super) prolongation: DMatrix<f64>,
}

/// A vertex, edge or face of a leaf in the interior of an edge or face of a coarser leaf.
#[derive(Clone, Copy, Debug)]
pub(super) struct HangingEntity {
    /// The leaf, and where in it.
    pub leaf: u32,
    pub position: u8,
    /// Which child of its parent the leaf is.
    pub child: u8,
    /// The parent in the list of cells, and the position in it of what is an edge or a face of the coarser leaf, too.
    pub parent: u32,
    pub parent_position: u8,
}

/// First nodes and frames of the entities of cells.
#[derive(Clone, Debug)]
struct CellEntities {
    positions: usize,
    /// `3^dim` a cell, by position; [`NONE`] where a refined cell has an entity that no leaf has.
    first_nodes: Vec<u32>,
    /// Frames of a cell, those of its edges one bit each and those of its faces three.
    frames: Vec<u32>,
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
        memory::check((leaves.len() * positions) as u64 * BYTES_AN_ENTITY)?;
        let mut cells = CellEntities {
            positions,
            first_nodes: memory::zeros(positions * leaves.len())?,
            frames: memory::zeros(leaves.len())?,
        };
        let mut known = Known::default();
        let mut nodes = 0_usize;
        for (leaf, cell) in leaves.iter().enumerate() {
            let first_nodes = &mut cells.first_nodes[positions * leaf..positions * (leaf + 1)];
            cells.frames[leaf] = for_each_entity(forest, cell, |position, key| {
                let dimension = dimension(position);
                let count = (degree - 1).pow(dimension as u32);
                let first = nodes as u32;
                first_nodes[position] = match known.of_dimension(dimension, dim) {
                    None => first,
                    Some(known) => match known.entry(key) {
                        Entry::Occupied(entry) => {
                            first_nodes[position] = *entry.get();
                            return;
                        }
                        Entry::Vacant(entry) => *entry.insert(first),
                    },
                };
                nodes += count;
            });
            if nodes >= NONE as usize {
                let value = format_args!("more than {} after {} of {} leaves", NONE, leaf + 1, leaves.len());
                return Err(invalid("the number of nodes", value, "below 2^32 - 1"));
            }
        }
        let hangs = memory::zeros(nodes.div_ceil(64))?;
        let prolongation = element.prolongation();
        let leaf_count = leaves.len();
        let mut numbering =
            Self { dim, degree, nodes, cells, leaves: leaf_count, hangs, hanging: Vec::new(), prolongation };
        numbering.find_hanging(forest, &mut known);
        Ok(numbering)
    }

    /// An entity of a leaf hangs if it lies in the interior of an edge or a face of its parent that a leaf has.
    ///
    /// That leaf has the level of the parent: by balance, no coarser leaf touches the children.
    fn find_hanging(&mut self, forest: &Forest, known: &mut Known) {
        let positions = self.cells.positions;
        // By level, the last parent, and its number in the list of cells if it has an edge or a face of a leaf.
        let mut parents: Vec<Option<(Cell, Option<u32>)>> = vec![None; forest.levels()];
        for (leaf, cell) in forest.leaves().iter().enumerate() {
            let Some(parent) = cell.parent() else { continue };
            let last = &mut parents[usize::from(parent.level)];
            let number = match *last {
                Some((cell, number)) if cell == parent => number,
                _ => {
                    let number = self.cells.push_refined(forest, &parent, known);
                    *last = Some((parent, number));
                    number
                }
            };
            let Some(parent) = number else { continue };
            let child = cell.child_number();
            for position in 0..positions {
                let parent_position = position_in_parent(self.dim, position, child);
                let in_interior = (1..self.dim).contains(&dimension(parent_position));
                let is_of_leaf = self.cells.of(parent as usize)[parent_position] != NONE;
                let count = (self.degree - 1).pow(dimension(position) as u32);
                let first = self.cells.of(leaf)[position] as usize;
                if !in_interior || !is_of_leaf || count == 0 || self.hangs(first) {
                    continue;
                }
                (first..first + count).for_each(|node| self.hangs[node / 64] |= 1 << (node % 64));
                let [position, child, parent_position] = [position, child, parent_position].map(|value| value as u8);
                self.hanging.push(HangingEntity { leaf: leaf as u32, position, child, parent, parent_position });
            }
        }
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

    /// Whether a node below [`Self::nodes`] hangs.
    pub fn hangs(&self, node: usize) -> bool {
        self.hangs[node / 64] >> (node % 64) & 1 == 1
    }

    /// Nodes of a leaf, `(k + 1)^dim`, in lexicographic order in the frame of the leaf, x fastest. The leaf exists.
    pub fn leaf_nodes(&self, leaf: usize) -> impl Iterator<Item = u32> + '_ {
        debug_assert!(leaf < self.leaves);
        let n = self.degree + 1;
        (0..n.pow(self.dim as u32)).map(move |i| self.node(leaf, [i % n, i / n % n, i / n / n]))
    }

    /// Node `index` of a leaf, or of a refined cell where a leaf has it.
    pub(super) fn node(&self, cell: usize, index: [usize; 3]) -> u32 {
        let k = self.degree;
        let class = |d: usize| match index[d] {
            _ if d >= self.dim => 0,
            0 => 0,
            i if i == k => 2,
            _ => 1,
        };
        let position = super::entities::position([class(0), class(1), class(2)]);
        let frame = self.cells.frame(cell, position);
        let (mut offset, mut stride) = ([0; 3], 1);
        for (axis, d) in free_directions(position).enumerate() {
            offset[axis] = if frame >> axis & 1 == 1 { k - 1 - index[d] } else { index[d] - 1 };
        }
        if frame & super::entities::SWAP != 0 {
            offset.swap(0, 1);
        }
        let mut node = self.cells.of(cell)[position];
        for offset in offset {
            node += (offset * stride) as u32;
            stride *= k - 1;
        }
        node
    }
}

/// Of maps and lists while a forest is numbered, measured for the ball in 3D.
const BYTES_AN_ENTITY: u64 = 24;

impl CellEntities {
    fn of(&self, cell: usize) -> &[u32] {
        &self.first_nodes[self.positions * cell..self.positions * (cell + 1)]
    }

    fn frame(&self, cell: usize, position: usize) -> Frame {
        let bits = if dimension(position) == 2 { 0b111 } else { 1 };
        match dimension(position) {
            1 | 2 => (self.frames[cell] >> FRAME_SHIFTS[position] & bits) as Frame,
            _ => 0,
        }
    }

    /// Appends a refined cell if a leaf has one of its edges or faces, and says where.
    fn push_refined(&mut self, forest: &Forest, cell: &Cell, known: &mut Known) -> Option<u32> {
        let (dim, begin) = (forest.dim(), self.first_nodes.len());
        self.first_nodes.resize(begin + self.positions, NONE);
        let first_nodes = &mut self.first_nodes[begin..];
        let mut has_one = false;
        let frames = for_each_entity(forest, cell, |position, key| {
            let dimension = dimension(position);
            let first = known.of_dimension(dimension, dim).and_then(|known| known.get(&key));
            first_nodes[position] = first.copied().unwrap_or(NONE);
            has_one |= dimension > 0 && first.is_some();
        });
        if !has_one {
            self.first_nodes.truncate(begin);
            return None;
        }
        self.frames.push(frames);
        Some(self.frames.len() as u32 - 1)
    }
}

/// Where frames of edges and faces are in the bits of a cell's.
const FRAME_SHIFTS: [u8; 27] = {
    let (mut shifts, mut next, mut position) = ([0; 27], 0, 0);
    while position < 27 {
        shifts[position] = next;
        let free = (position % 3 == 1) as u8 + (position / 3 % 3 == 1) as u8 + (position / 9 == 1) as u8;
        next += match free {
            1 => 1,
            2 => 3,
            _ => 0,
        };
        position += 1;
    }
    shifts
};

/// Calls `visit` with the position and the key of each entity of a cell; returns frames as [`CellEntities`] has them.
fn for_each_entity(forest: &Forest, cell: &Cell, mut visit: impl FnMut(usize, Key)) -> u32 {
    let (dim, entities) = (forest.dim(), forest.coarse().entities());
    let mut frames = 0;
    for position in 0..entities.positions() {
        // Middle of the entity, in halves of the cell's edges.
        let middle = [0, 1, 2].map(|d| if d < dim { 2 * cell.anchor[d] + digit(position, d) as u32 } else { 0 });
        let located = entities.locate(cell.tree, middle, 2 << cell.level);
        let [x, y, z] = located.coordinates.map(|x| x << (max_level(dim) - cell.level));
        visit(position, Key([located.entity, x, y, z]));
        let frame = match dimension(position) {
            1 => {
                let d = free_directions(position).next();
                let axis = free_directions(located.position).position(|free| Some(free) == d);
                axis.map_or(0, |axis| located.frame >> axis & 1)
            }
            2 => located.frame,
            _ => 0,
        };
        frames |= u32::from(frame) << FRAME_SHIFTS[position];
    }
    frames
}

/// Position, in its parent, of what has an entity of a child in its interior.
fn position_in_parent(dim: usize, position: usize, child: usize) -> usize {
    super::entities::position([0, 1, 2].map(|d| match 2 * (child >> d & 1) + digit(position, d) {
        _ if d >= dim => 0,
        0 => 0,
        4 => 2,
        _ => 1,
    }))
}

/// The middle of an entity of a cell: the coarse entity in whose interior it lies and coordinates there, at the resolution
/// of twice the finest level. With the entity's dimension it identifies the entity, because the last set bit of the
/// coordinates tells the level and the directions.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Key([u32; 4]);

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let [a, b, c, d] = self.0.map(u64::from);
        // Multiply and fold, as in wyhash.
        let product =
            u128::from((a << 32 | b) ^ 0xa076_1d64_78bd_642f) * u128::from((c << 32 | d) ^ 0xe703_7ed1_a0b4_28db);
        state.write_u64((product >> 64) as u64 ^ product as u64);
    }
}

/// Takes a key's hash as it is.
#[derive(Default)]
struct Folded(u64);

impl Hasher for Folded {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.0 = self.0.rotate_left(8) ^ u64::from(byte));
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

type KnownEntities = HashMap<Key, u32, BuildHasherDefault<Folded>>;

/// First nodes of the vertices, edges and, in 3D, faces of leaves. Interiors of leaves need no key.
#[derive(Default)]
struct Known([KnownEntities; 3]);

impl Known {
    fn of_dimension(&mut self, dimension: usize, dim: usize) -> Option<&mut KnownEntities> {
        if dimension < dim { self.0.get_mut(dimension) } else { None }
    }
}
