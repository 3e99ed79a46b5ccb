//! The order in which kernels take cells: in groups, those with lines that hang apart from the others.

use super::super::mesh::{Mesh, Node};
use super::super::transposed::{NONE, Transposed};
use crate::backend::Scalar;
use crate::error::{Result, invalid};
use crate::memory;
use patchmg_device::elliptic::{Groups, HangingLines};
use rayon::prelude::*;
use std::ops::Range;

/// Cells of a mesh in groups. Those without lines that hang are first, and of either kind those with nodes that are smoothed lie next
/// to the others.
#[derive(Debug)]
pub(super) struct Order {
    groups: Groups,
    /// The cell of each slot, or [`NONE`] where a group is not full.
    cells: Vec<u32>,
    pub plain: Part,
    pub hanging: Part,
}

/// Groups of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub all: Range<usize>,
    /// Those with cells of nodes that are smoothed.
    pub smoothed: Range<usize>,
}

impl Order {
    pub fn new(mesh: &Mesh) -> Self {
        let (groups, cells, kinds) = (groups(mesh), mesh.cells(), mesh.kinds());
        let is_smoothed = |cell: usize| cells.of(cell).iter().any(|&node| kinds[node as usize] == Node::Smoothed);
        let is_smoothed: Vec<bool> = (0..cells.cells()).into_par_iter().map(is_smoothed).collect();
        let mut classes: [Vec<u32>; 4] = Default::default();
        let mut hanging = cells.hanging().iter().peekable();
        for (cell, is_smoothed) in is_smoothed.into_iter().enumerate() {
            let hangs = hanging.next_if(|lines| lines.cell as usize == cell).is_some();
            let class = match (hangs, is_smoothed) {
                (false, false) => 0,
                (false, true) => 1,
                (true, true) => 2,
                (true, false) => 3,
            };
            classes[class].push(cell as u32);
        }
        let mut cells = Vec::new();
        let [from, smoothed, hanging, smoothed_hanging, end] = [0, 1, 2, 3, 4].map(|class: usize| {
            let first = cells.len() / groups.cells();
            if let Some(class) = classes.get(class) {
                cells.extend_from_slice(class);
                cells.resize(cells.len().next_multiple_of(groups.cells()), NONE);
            }
            first
        });
        let plain = Part { all: from..hanging, smoothed: smoothed..hanging };
        let hanging = Part { all: hanging..end, smoothed: hanging..smoothed_hanging };
        Self { groups, cells, plain, hanging }
    }

    /// Of all cells.
    pub fn groups(&self) -> usize {
        self.hanging.all.end
    }

    /// Slots that have a cell, with their cell.
    fn cells(&self) -> impl Iterator<Item = (usize, usize)> {
        let with_cell = self.cells.iter().enumerate().filter(|(_, cell)| **cell != NONE);
        with_cell.map(|(slot, &cell)| (slot, cell as usize))
    }

    /// The cells of each group, with their slots in it, and the slot of the group's first.
    fn by_groups(&self) -> impl IndexedParallelIterator<Item = (usize, impl Iterator<Item = (usize, usize)>)> {
        let count = self.groups.cells();
        self.cells.par_chunks_exact(count).enumerate().map(move |(group, cells)| {
            let with_cell = cells.iter().enumerate().filter(|(_, cell)| **cell != NONE);
            (count * group, with_cell.map(|(slot, &cell)| (slot, cell as usize)))
        })
    }

    fn is_hanging(&self, slot: usize) -> bool {
        slot >= self.hanging.all.start * self.groups.cells()
    }

    /// The direction of lines by which kernels read the nodes of a cell, and of those by which they write its results.
    fn directions(&self, slot: usize, dim: usize) -> [usize; 2] {
        if self.is_hanging(slot) { [0, dim - 1] } else { [dim - 1, 0] }
    }

    /// Nodes that cells read.
    pub fn nodes(&self, mesh: &Mesh) -> Result<Vec<u32>> {
        let entries = self.groups.entries();
        let mut nodes = memory::zeros(self.groups() * entries)?;
        nodes.par_chunks_exact_mut(entries).zip(self.by_groups()).for_each(|(nodes, (first, cells))| {
            let [read, _] = self.directions(first, mesh.dim());
            for (slot, cell) in cells {
                for (i, &node) in mesh.cells().of(cell).iter().enumerate() {
                    nodes[self.groups.place(slot, read, i)] = node;
                }
            }
        });
        Ok(nodes)
    }

    /// Lines that hang, of the slots of [`Self::hanging`].
    pub fn lines(&self, mesh: &Mesh) -> Vec<u32> {
        let first = self.hanging.all.start * self.groups.cells();
        self.cells[first..].par_iter().map(|&cell| lines(mesh, cell)).collect()
    }

    /// The metric, `words` a point, as kernels take it: those of the tensor, and that of the reaction if there is one.
    pub fn metric<T: Scalar>(&self, mesh: &Mesh, metric: &[T], words: usize, reacts: bool) -> Result<[Vec<T>; 2]> {
        let (points, last, of_tensor) = (mesh.cells().nodes_a_cell(), mesh.dim() - 1, words - 1);
        let entries = self.groups.entries();
        let mut tensor: Vec<T> = memory::zeros(self.groups() * of_tensor * entries)?;
        let mut reaction: Vec<T> = memory::zeros(if reacts { self.groups() * entries } else { 0 })?;
        let points_of = |cell: usize| metric[words * points * cell..][..words * points].chunks_exact(words).enumerate();
        tensor.par_chunks_exact_mut(of_tensor * entries).zip(self.by_groups()).for_each(|(tensor, (_, cells))| {
            for (slot, cell) in cells {
                for (q, from) in points_of(cell) {
                    for (word, &value) in from[..of_tensor].iter().enumerate() {
                        tensor[self.groups.place_of_word(slot, last, q, [word, of_tensor])] = value;
                    }
                }
            }
        });
        reaction.par_chunks_exact_mut(entries).zip(self.by_groups()).for_each(|(reaction, (_, cells))| {
            for (slot, cell) in cells {
                points_of(cell).for_each(|(q, from)| reaction[self.groups.place(slot, last, q)] = from[of_tensor]);
            }
        });
        Ok([tensor, reaction])
    }

    /// Where kernels leave the values that `gather` sums up, in the same order.
    pub fn places(&self, mesh: &Mesh, gather: &Transposed) -> Result<Vec<u32>> {
        let nodes = mesh.cells().nodes_a_cell();
        let mut slots = vec![0; mesh.cells().cells()];
        self.cells().for_each(|(slot, cell)| slots[cell] = slot);
        let place = |&place: &u32| {
            let slot = slots[place as usize / nodes];
            let [_, write] = self.directions(slot, mesh.dim());
            number(self.groups.place(slot, write, place as usize % nodes))
        };
        gather.places().par_iter().map(place).collect()
    }
}

/// How cells of a mesh lie on blocks.
pub(super) fn groups(mesh: &Mesh) -> Groups {
    Groups::new(mesh.dim(), mesh.degree() + 1)
}

/// The lines of a cell that hang, as kernels take them; 0 for [`NONE`].
pub(super) fn lines(mesh: &Mesh, cell: u32) -> u32 {
    if cell == NONE {
        return 0;
    }
    mesh.cells().hanging_of(cell as usize).map_or(0, |lines| HangingLines::new(lines.child, lines.along).0)
}

/// A place in 32 bits.
pub(super) fn number(place: usize) -> Result<u32> {
    u32::try_from(place).map_err(|_| invalid("the number of nodes of all cells in whole groups", place, "below 2^32"))
}
