//! Vertices, edges, faces and interiors of the cells of a forest: their first nodes, and how cells find the same ones.

use super::cell::{Cell, max_level};
use super::entities::{DIGITS, Frame, SWAP, digit, dimension, free_directions, position};
use super::leaves::Forest;
use crate::error::Result;
use crate::memory;
use rayon::prelude::*;
use std::hash::{Hash, Hasher};

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
    /// Position and number in its entity of each node of a cell without frames, x fastest.
    plain: Vec<(u8, u16)>,
}

impl CellEntities {
    /// Of so many cells with `3^dim` positions each, all still to be set.
    pub(super) fn new(degree: usize, positions: usize, cells: usize) -> Result<Self> {
        memory::check((cells * (positions + 1) * size_of::<u32>()) as u64)?;
        let (first_nodes, frames) = (memory::zeros(positions * cells)?, memory::zeros(cells)?);
        let n = degree + 1;
        let count = if positions == 9 { n * n } else { n * n * n };
        let plain = (0..count).map(|i| {
            let (position, [x, y, z]) = place_in_entity(degree, [i % n, i / n % n, i / n / n], |_| 0);
            (position as u8, (x + (degree - 1) * (y + (degree - 1) * z)) as u16)
        });
        Ok(Self { degree, positions, first_nodes, frames, plain: plain.collect() })
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

    /// Those of one cell after the other, to be changed.
    pub(super) fn first_nodes_mut(&mut self) -> &mut [u32] {
        &mut self.first_nodes
    }

    /// First nodes and frames of so many cells after the other, to be changed on all threads.
    pub(super) fn par_pieces_mut(
        &mut self,
        cells: usize,
    ) -> impl IndexedParallelIterator<Item = (&mut [u32], &mut [u32])> {
        self.first_nodes.par_chunks_mut(self.positions * cells).zip(self.frames.par_chunks_mut(cells))
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
        let (position, [x, y, z]) = place_in_entity(k, index, |position| self.frame(cell, position));
        self.of(cell)[position] + (x + (k - 1) * (y + (k - 1) * z)) as u32
    }

    /// All nodes of a cell, in lexicographic order, x fastest.
    pub(super) fn nodes(&self, cell: usize) -> impl Iterator<Item = u32> {
        let (first_nodes, is_plain, n) = (self.of(cell), self.frames[cell] == 0, self.degree + 1);
        self.plain.iter().enumerate().map(move |(i, &(position, number))| match is_plain {
            true => first_nodes[usize::from(position)] + u32::from(number),
            false => self.node(cell, [i % n, i / n % n, i / n / n]),
        })
    }
}

/// Position of the entity that has a node in its interior, and the node's index there in the frame of the entity.
fn place_in_entity(degree: usize, index: [usize; 3], frame: impl Fn(usize) -> Frame) -> (usize, [usize; 3]) {
    let position = position(index.map(|i| if i == 0 { 0 } else { 1 + usize::from(i == degree) }));
    let frame = frame(position);
    let mut offset = [0; 3];
    for (axis, d) in free_directions(position).enumerate() {
        offset[axis] = if frame >> axis & 1 == 1 { degree - 1 - index[d] } else { index[d] - 1 };
    }
    if frame & SWAP != 0 {
        offset.swap(0, 1);
    }
    (position, offset)
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
    let (positions, shift) = (entities.positions(), max_level(dim) - cell.level);
    let end = (1 << cell.level) - 1;
    if cell.anchor[..dim].iter().all(|&x| x > 0 && x < end) {
        // No entity lies on the boundary of the tree.
        let whole = entities.number(cell.tree as usize, positions / 2);
        for (position, digits) in DIGITS.iter().enumerate().take(positions) {
            let along = |d: usize| if d < dim { (2 * cell.anchor[d] + u32::from(digits[d])) << shift } else { 0 };
            visit(position, Key([whole, along(0), along(1), along(2)]), 1 << (dim - dimension(position)));
        }
        return 0;
    }
    let mut frames = 0;
    for (position, frame_shift) in FRAME_SHIFTS.into_iter().enumerate().take(positions) {
        // Middle of the entity, in halves of the cell's edges.
        let middle = [0, 1, 2].map(|d| if d < dim { 2 * cell.anchor[d] + digit(position, d) as u32 } else { 0 });
        let located = entities.locate(cell.tree, middle, 2 << cell.level);
        let [x, y, z] = located.coordinates.map(|x| x << shift);
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
        frames |= u32::from(frame) << frame_shift;
    }
    frames
}

/// The middle of an entity of a cell: the coarse entity in whose interior it lies and coordinates there, at the resolution
/// of twice the finest level. With the entity's dimension it identifies the entity, because the last set bit of the
/// coordinates tells the level and the directions.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
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
