//! Which leaf first has a vertex, an edge or a face: pieces of the leaves on all threads, then what pieces have in common.

use super::cell::Cell;
use super::cell_entities::{CellEntities, Key, NONE, for_each_entity};
use super::entities::dimension;
use super::leaves::Forest;
use rayon::prelude::*;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasherDefault, Hasher};

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

/// Where an entity is first met: its place is `positions * leaf + position`, leaves counted from the first of the piece.
struct Visit {
    place: u32,
    missing: u32,
}

/// Entities of a piece that are still to be met by other cells. Those that all cells have met are forgotten, which keeps the
/// maps small.
#[derive(Default)]
struct Visited([HashMap<Key, Visit, BuildHasherDefault<Folded>>; 3]);

impl Visited {
    /// Where an entity that so many cells have is first met: at `place`, if it is new.
    fn visit(&mut self, dimension: usize, key: Key, incidences: u32, place: u32) -> u32 {
        let (Some(map), true) = (self.0.get_mut(dimension), incidences > 1) else { return place };
        match map.entry(key) {
            Entry::Occupied(mut entry) => {
                let first = entry.get().place;
                entry.get_mut().missing -= 1;
                if entry.get().missing == 0 {
                    entry.remove();
                }
                first
            }
            Entry::Vacant(entry) => entry.insert(Visit { place, missing: incidences - 1 }).place,
        }
    }
}

/// An entity that no piece has seen from all its cells, and where a piece first meets it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Open {
    dimension: u8,
    key: Key,
    piece: u32,
    place: u32,
}

/// Entities that belong to several pieces, or that some cell of their level does not share: there nodes hang.
pub(super) struct OpenEntities {
    /// By dimension and key, the first piece first.
    sorted: Vec<Open>,
    /// First node of each in `sorted`.
    first_nodes: Vec<u32>,
}

impl OpenEntities {
    /// To be changed.
    pub(super) fn first_nodes_mut(&mut self) -> &mut [u32] {
        &mut self.first_nodes
    }

    /// [`NONE`] unless it is there.
    pub(super) fn first_node(&self, dimension: usize, key: &Key) -> u32 {
        let wanted = (dimension as u8, key);
        let at = self.sorted.partition_point(|open| (open.dimension, &open.key) < wanted);
        let found = self.sorted.get(at).filter(|open| (open.dimension, &open.key) == wanted);
        found.map_or(NONE, |_| self.first_nodes[at])
    }
}

/// Numbers nodes in the order in which leaves first have them, `length` leaves a piece: sets the first nodes of all entities of `cells`, and frames.
/// Returns the number of nodes, and entities that are open.
pub(super) fn number_nodes(
    forest: &Forest,
    degree: usize,
    length: usize,
    cells: &mut CellEntities,
) -> (usize, OpenEntities) {
    let positions = forest.coarse().entities().positions();
    let nodes_of: Vec<usize> = (0..positions).map(|position| (degree - 1).pow(dimension(position) as u32)).collect();
    let leaves = forest.leaves();

    // Where pieces first meet what they have.
    let of_pieces = cells.par_pieces_mut(length).zip(leaves.par_chunks(length)).enumerate();
    let open: Vec<Vec<Open>> =
        of_pieces.map(|(piece, (cells, leaves))| visit_piece(forest, piece as u32, cells, leaves)).collect();
    let mut sorted = open.concat();
    drop(open);
    sorted.par_sort_unstable();

    // Of each piece, the entities of several pieces: place and number of the first in `sorted`.
    let mut shared: Vec<Vec<(u32, u32)>> = vec![Vec::new(); leaves.len().div_ceil(length)];
    let mut first = 0;
    for (at, open) in sorted.iter().enumerate() {
        let is_same = |other: &Open| (other.dimension, other.key) == (open.dimension, open.key);
        first = if is_same(&sorted[first]) { first } else { at };
        shared[open.piece as usize].push((open.place, first as u32));
    }
    shared.par_iter_mut().for_each(|shared| shared.sort_unstable());

    // Nodes that each piece is the first to have, and among these the first of each entity that other pieces have, too.
    let is_first = |piece: usize, place: u32, first: u32| {
        let open = &sorted[first as usize];
        (open.piece as usize, open.place) == (piece, place)
    };
    let counted = cells.par_pieces_mut(length).zip(&shared).enumerate().map(|(piece, ((first_nodes, _), shared))| {
        let (mut count, mut own) = (0_usize, Vec::new());
        let mut shared = shared.iter().peekable();
        for (place, &met) in first_nodes.iter().enumerate() {
            let place = place as u32;
            if met != place {
                continue;
            }
            if let Some(&(_, first)) = shared.next_if(|entry| entry.0 == place) {
                if !is_first(piece, place, first) {
                    continue;
                }
                own.push((first, count));
            }
            count += nodes_of[place as usize % positions];
        }
        (count, own)
    });
    let counted: Vec<(usize, Vec<(u32, usize)>)> = counted.collect();
    let mut nodes = 0;
    let mut open_nodes = vec![NONE; sorted.len()];
    let mut begins = Vec::with_capacity(counted.len());
    for (count, own) in counted {
        // Too many are refused by the caller, before anyone reads the numbers.
        own.into_iter().for_each(|(first, offset)| open_nodes[first as usize] = (nodes + offset) as u32);
        begins.push(nodes);
        nodes += count;
    }

    let pieces = cells.par_pieces_mut(length).zip(&shared).zip(begins);
    pieces.enumerate().for_each(|(piece, (((first_nodes, _), shared), begin))| {
        let mut next = begin as u32;
        let mut shared = shared.iter().peekable();
        for place in 0..first_nodes.len() {
            let met = first_nodes[place] as usize;
            if met != place {
                first_nodes[place] = first_nodes[met];
                continue;
            }
            let entry = shared.next_if(|entry| entry.0 as usize == place);
            match entry.filter(|&&(place, first)| !is_first(piece, place, first)) {
                Some(&(_, first)) => first_nodes[place] = open_nodes[first as usize],
                None => {
                    first_nodes[place] = next;
                    next = next.wrapping_add(nodes_of[place % positions] as u32);
                }
            }
        }
    });
    (nodes, OpenEntities { sorted, first_nodes: open_nodes })
}

/// Sets where the piece first meets each entity, and frames; returns what is open.
fn visit_piece(forest: &Forest, piece: u32, (places, frames): (&mut [u32], &mut [u32]), leaves: &[Cell]) -> Vec<Open> {
    let positions = forest.coarse().entities().positions();
    let mut visited = Visited::default();
    let cells = places.chunks_exact_mut(positions).zip(frames);
    for (leaf, (cell, (places, frames))) in leaves.iter().zip(cells).enumerate() {
        *frames = for_each_entity(forest, cell, |position, key, incidences| {
            let place = (positions * leaf + position) as u32;
            places[position] = visited.visit(dimension(position), key, incidences, place);
        });
    }
    let of_dimension = visited.0.into_iter().enumerate();
    of_dimension
        .flat_map(|(dimension, map)| {
            let dimension = dimension as u8;
            map.into_iter().map(move |(key, visit)| Open { dimension, key, piece, place: visit.place })
        })
        .collect()
}
