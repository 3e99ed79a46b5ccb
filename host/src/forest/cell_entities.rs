//! Vertices, edges, faces and interiors of the cells of a forest: their first nodes, and how cells find the same ones.

use super::cell::{Cell, max_level};
use super::entities::{Frame, SWAP, digit, dimension, free_directions, position};
use super::leaves::Forest;
use crate::error::Result;
use crate::memory;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasherDefault, Hash, Hasher};

/// No number: fewer nodes are allowed.
pub(super) const NONE: u32 = u32::MAX;

/// First nodes and frames of the entities of cells.
#[derive(Clone, Debug)]
pub(super) struct CellEntities {
    degree: usize,
    positions: usize,
    /// `3^dim` a cell, by position; [`NONE`] where a refined cell has an entity that no leaf has.
    first_nodes: Vec<u32>,
    /// Frames of a cell, those of its edges one bit each and those of its faces three.
    frames: Vec<u32>,
}

impl CellEntities {
    /// Of so many cells with `3^dim` positions each, all still to be set.
    pub(super) fn new(degree: usize, positions: usize, cells: usize) -> Result<Self> {
        memory::check((cells * (positions + 1) * size_of::<u32>()) as u64)?;
        let (first_nodes, frames) = (memory::zeros(positions * cells)?, memory::zeros(cells)?);
        Ok(Self { degree, positions, first_nodes, frames })
    }

    /// Number of cells.
    pub(super) fn len(&self) -> usize {
        self.frames.len()
    }

    /// First nodes of a cell, by position.
    pub(super) fn of(&self, cell: usize) -> &[u32] {
        &self.first_nodes[self.positions * cell..self.positions * (cell + 1)]
    }

    /// To be changed.
    pub(super) fn of_mut(&mut self, cell: usize) -> &mut [u32] {
        &mut self.first_nodes[self.positions * cell..self.positions * (cell + 1)]
    }

    pub(super) fn set_frames(&mut self, cell: usize, frames: u32) {
        self.frames[cell] = frames;
    }

    /// Appends a cell.
    pub(super) fn push(&mut self, first_nodes: &[u32], frames: u32) {
        self.first_nodes.extend_from_slice(first_nodes);
        self.frames.push(frames);
    }

    fn frame(&self, cell: usize, position: usize) -> Frame {
        let bits = self.frames[cell] >> FRAME_SHIFTS[position];
        (match dimension(position) {
            1 => bits & 1,
            2 => bits & 0b111,
            _ => 0,
        }) as Frame
    }

    /// Node of a cell by its index in each direction, in 2D 0 in the third.
    pub(super) fn node(&self, cell: usize, index: [usize; 3]) -> u32 {
        let k = self.degree;
        let position = position(index.map(|i| if i == 0 { 0 } else { 1 + usize::from(i == k) }));
        let frame = self.frame(cell, position);
        let mut offset = [0; 3];
        for (axis, d) in free_directions(position).enumerate() {
            offset[axis] = if frame >> axis & 1 == 1 { k - 1 - index[d] } else { index[d] - 1 };
        }
        if frame & SWAP != 0 {
            offset.swap(0, 1);
        }
        let [x, y, z] = offset;
        self.of(cell)[position] + (x + (k - 1) * (y + (k - 1) * z)) as u32
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

/// Calls `visit` for each entity of a cell with its position, its key, and how many cells of the same level have it; returns
/// frames as [`CellEntities`] has them.
pub(super) fn for_each_entity(forest: &Forest, cell: &Cell, mut visit: impl FnMut(usize, Key, u32)) -> u32 {
    let (dim, entities) = (forest.dim(), forest.coarse().entities());
    let mut frames = 0;
    for (position, shift) in FRAME_SHIFTS.into_iter().enumerate().take(entities.positions()) {
        // Middle of the entity, in halves of the cell's edges.
        let middle = [0, 1, 2].map(|d| if d < dim { 2 * cell.anchor[d] + digit(position, d) as u32 } else { 0 });
        let located = entities.locate(cell.tree, middle, 2 << cell.level);
        let [x, y, z] = located.coordinates.map(|x| x << (max_level(dim) - cell.level));
        let cells_a_tree = 1 << (dimension(located.position) - dimension(position));
        let incidences = entities.trees(located.entity) as u32 * cells_a_tree;
        visit(position, Key([located.entity, x, y, z]), incidences);
        let frame = match dimension(position) {
            1 => {
                let d = free_directions(position).next();
                let axis = free_directions(located.position).position(|free| Some(free) == d);
                axis.map_or(0, |axis| located.frame >> axis & 1)
            }
            2 => located.frame,
            _ => 0,
        };
        frames |= u32::from(frame) << shift;
    }
    frames
}

/// The middle of an entity of a cell: the coarse entity in whose interior it lies and coordinates there, at the resolution
/// of twice the finest level. With the entity's dimension it identifies the entity, because the last set bit of the
/// coordinates tells the level and the directions.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Key([u32; 4]);

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

/// Vertices, edges and faces of leaves that are still to be met by other leaves, or that no cell of their level shares: there
/// nodes hang. Those that all cells have met are forgotten, which keeps the maps small.
#[derive(Default)]
pub(super) struct Visited([HashMap<Key, Visit, BuildHasherDefault<Folded>>; 3]);

struct Visit {
    first_node: u32,
    missing: u32,
}

impl Visited {
    /// First node of an entity that so many cells have: `next` at the first visit.
    pub(super) fn visit(&mut self, dimension: usize, key: Key, incidences: u32, next: u32) -> u32 {
        let (Some(map), true) = (self.0.get_mut(dimension), incidences > 1) else { return next };
        match map.entry(key) {
            Entry::Occupied(mut entry) => {
                let first_node = entry.get().first_node;
                entry.get_mut().missing -= 1;
                if entry.get().missing == 0 {
                    entry.remove();
                }
                first_node
            }
            Entry::Vacant(entry) => entry.insert(Visit { first_node: next, missing: incidences - 1 }).first_node,
        }
    }

    /// [`NONE`] unless it is still there.
    pub(super) fn first_node(&self, dimension: usize, key: &Key) -> u32 {
        self.0.get(dimension).and_then(|map| map.get(key)).map_or(NONE, |visit| visit.first_node)
    }
}
