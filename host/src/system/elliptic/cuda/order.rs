//! The order in which kernels take cells: in groups, families together, those with lines that hang apart from the others, and colors
//! apart if results are summed up by colors.

use super::super::mesh::{Mesh, Node};
use super::super::metric::words;
use super::super::transposed::{NONE, Rows, Transposed};
use super::colors::colors;
use crate::backend::Scalar;
use crate::error::{Result, invalid};
use crate::memory;
use patchmg_device::elliptic::{Groups, HangingLines, WHOLE, Writes};
use rayon::prelude::*;
use std::iter;
use std::ops::Range;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// Cells of a mesh in groups: families, then other cells without lines that hang, then those with such lines. Of each, cells with nodes
/// that are smoothed lie next to those of the next part.
#[derive(Debug)]
pub(super) struct Order {
    groups: Groups,
    /// The cell of each slot, or [`NONE`] where a group is not full.
    cells: Vec<u32>,
    /// Whether kernels write along other lines than they read.
    turns: bool,
    pub plain: Part,
    pub hanging: Part,
}

/// Groups of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub all: Range<usize>,
    /// Those with cells of nodes that are smoothed.
    pub smoothed: Range<usize>,
    /// Groups before this one are families.
    families_end: usize,
    /// Groups that a launch has to begin with, ascending.
    colors: Vec<usize>,
}

/// Groups of one launch, of which the first are families.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Launch {
    pub groups: Range<usize>,
    pub families: usize,
}

impl Part {
    /// Launches of all groups, or of those with nodes that are smoothed.
    pub fn launches(&self, of_smoothed: bool) -> impl Iterator<Item = Launch> {
        let all = if of_smoothed { &self.smoothed } else { &self.all };
        let begins = self.colors.iter().copied().filter(|begin| (all.start + 1..all.end).contains(begin));
        let begins: Vec<usize> = iter::once(all.start).chain(begins).collect();
        let ends: Vec<usize> = begins[1..].iter().copied().chain([all.end]).collect();
        begins
            .into_iter()
            .zip(ends)
            .map(|(begin, end)| Launch { groups: begin..end, families: self.families_end.clamp(begin, end) - begin })
    }
}

impl Order {
    /// Of kernels that sum up in some way, and that write along other lines than they read if results `turn`.
    pub fn new(mesh: &Mesh, writes: Writes, turns: bool) -> Self {
        let groups = groups(mesh);
        let units = units(mesh, groups);
        let by_color =
            if writes == Writes::Colors { colors(mesh, units.iter().map(|unit| &unit.cells)) } else { Vec::new() };
        // Of each kind those with nodes that are smoothed lie next to another kind.
        let class = |unit: &Unit| match (unit.kind, unit.is_smoothed) {
            (UnitKind::Family, false) => 0,
            (UnitKind::Family, true) => 1,
            (UnitKind::Plain, true) => 2,
            (UnitKind::Plain, false) => 3,
            (UnitKind::Hanging, true) => 4,
            (UnitKind::Hanging, false) => 5,
        };
        let mut classes: [Vec<usize>; 6] = Default::default();
        units.iter().enumerate().for_each(|(number, unit)| classes[class(unit)].push(number));
        let (mut cells, mut begins, mut firsts) = (Vec::new(), Vec::new(), Vec::new());
        for class in &mut classes {
            firsts.push(cells.len() / groups.cells());
            let color = |&number: &usize| by_color.get(number);
            class.sort_by_key(color);
            for of_color in class.chunk_by(|a, b| color(a) == color(b)) {
                begins.push(cells.len() / groups.cells());
                cells.extend(of_color.iter().flat_map(|&number| units[number].cells.clone()));
                cells.resize(cells.len().next_multiple_of(groups.cells()), NONE);
            }
        }
        let end = cells.len() / groups.cells();
        let colors = if writes == Writes::Colors { begins } else { Vec::new() };
        let families_end = firsts[2];
        let plain = Part { all: 0..firsts[4], smoothed: firsts[1]..firsts[3], families_end, colors: colors.clone() };
        let hanging = Part { all: firsts[4]..end, smoothed: firsts[4]..firsts[5], families_end: 0, colors };
        Self { groups, cells, turns, plain, hanging }
    }

    /// Of all cells.
    pub fn groups(&self) -> usize {
        self.hanging.all.end
    }

    /// Slots that have a cell, with their cell.
    pub fn cells(&self) -> impl Iterator<Item = (usize, usize)> {
        let with_cell = self.cells.iter().enumerate().filter(|(_, cell)| **cell != NONE);
        with_cell.map(|(slot, &cell)| (slot, cell as usize))
    }

    /// The cells of each group with their slots.
    fn by_groups(&self) -> impl IndexedParallelIterator<Item = impl Iterator<Item = (usize, usize)>> {
        let count = self.groups.cells();
        self.cells.par_chunks_exact(count).enumerate().map(move |(group, cells)| {
            let with_cell = cells.iter().enumerate().filter(|(_, cell)| **cell != NONE);
            with_cell.map(move |(slot, &cell)| (count * group + slot, cell as usize))
        })
    }

    fn is_hanging(&self, slot: usize) -> bool {
        slot >= self.hanging.all.start * self.groups.cells()
    }

    /// The direction of lines by which kernels read the nodes of a cell, and of those by which they write its results.
    fn directions(&self, slot: usize, dim: usize) -> [usize; 2] {
        let (read, other) = if self.is_hanging(slot) { (0, dim - 1) } else { (dim - 1, 0) };
        [read, if self.turns { other } else { read }]
    }

    fn is_family(&self, slot: usize) -> bool {
        slot < self.plain.families_end * self.groups.cells()
    }

    /// Whether all groups have cells of nodes that are smoothed.
    fn all_are_smoothed(&self) -> bool {
        [&self.plain, &self.hanging].iter().all(|part| part.smoothed == part.all)
    }

    /// Bytes of the sums of groups with nodes that are smoothed, at most: each entry has a row of its own.
    pub fn bytes_of_smoothed(&self) -> usize {
        let entries = (self.plain.smoothed.len() + self.hanging.smoothed.len()) * self.groups.entries();
        if self.all_are_smoothed() { 0 } else { (3 * entries + 1) * size_of::<u32>() }
    }

    /// Nodes that cells read, [`NONE`] where a group is not full, and which of their results are [`WHOLE`]; and the sums of others, of all
    /// groups, and of those with nodes that are smoothed if these are not all.
    pub fn nodes(&self, mesh: &Mesh) -> Result<(Vec<u32>, Transposed, Option<Rows>)> {
        let count = mesh.kinds().len();
        if count >= WHOLE as usize {
            return Err(invalid("the number of nodes", count, "below 2^31"));
        }
        let entries = self.groups.entries();
        let mut nodes: Vec<u32> = memory::zeros(self.groups() * entries)?;
        let mut left: Vec<u32> = memory::zeros(self.groups() * entries)?;
        number(left.len())?;
        let places = Places::new(self.groups, mesh);
        let of_groups = nodes.par_chunks_exact_mut(entries).zip(left.par_chunks_exact_mut(entries));
        of_groups.zip(self.by_groups()).for_each(|((nodes, left), cells)| {
            nodes.fill(NONE);
            left.fill(NONE);
            for (slot, cell) in cells {
                let [read, write] = self.directions(slot, mesh.dim()).map(|direction| places.of(slot, direction));
                let leaves = places.left(slot, self.is_family(slot));
                for (i, &node) in mesh.cells().of(cell).iter().enumerate() {
                    nodes[read[i]] = node;
                    if leaves[i] {
                        left[write[i]] = node;
                    }
                }
            }
        });
        let is_whole = once_in(&left, count)?;
        nodes.par_chunks_exact_mut(entries).zip(self.by_groups()).for_each(|(nodes, cells)| {
            for (slot, cell) in cells {
                let [read, _] = self.directions(slot, mesh.dim()).map(|direction| places.of(slot, direction));
                let leaves = places.left(slot, self.is_family(slot));
                for (i, &node) in mesh.cells().of(cell).iter().enumerate() {
                    if leaves[i] && is_whole(node) {
                        nodes[read[i]] |= WHOLE;
                    }
                }
            }
        });
        left.par_iter_mut().filter(|node| **node != NONE && is_whole(**node)).for_each(|node| *node = NONE);
        let sums = Transposed::new(&left, count)?;
        let mut rows = || -> Result<Rows> {
            left.par_chunks_exact_mut(entries).enumerate().for_each(|(group, left)| {
                if [&self.plain, &self.hanging].iter().all(|part| !part.smoothed.contains(&group)) {
                    left.fill(NONE);
                }
            });
            Ok(Transposed::new(&left, count)?.into_rows())
        };
        let of_smoothed = if self.all_are_smoothed() { None } else { Some(rows()?) };
        Ok((nodes, sums, of_smoothed))
    }

    /// Lines that hang, of the slots of [`Self::hanging`].
    pub fn lines(&self, mesh: &Mesh) -> Vec<u32> {
        let first = self.hanging.all.start * self.groups.cells();
        self.cells[first..].par_iter().map(|&cell| lines(mesh, cell)).collect()
    }

    /// The metric, `words` a point, as kernels take it: those of the tensor, and that of the reaction if there is one.
    pub fn metric<T: Scalar>(&self, mesh: &Mesh, metric: &[T], words: usize, reacts: bool) -> Result<[Vec<T>; 2]> {
        let (points, of_tensor) = (mesh.cells().nodes_a_cell(), words - 1);
        let entries = self.groups.entries();
        let mut tensor: Vec<T> = memory::zeros(self.groups() * of_tensor * entries)?;
        let mut reaction: Vec<T> = memory::zeros(if reacts { self.groups() * entries } else { 0 })?;
        let points_of = |cell: usize| metric[words * points * cell..][..words * points].chunks_exact(words).enumerate();
        let of_groups = tensor.par_chunks_exact_mut(of_tensor * entries).zip(self.by_groups()).enumerate();
        of_groups.for_each(|(group, (tensor, cells))| {
            for (slot, cell) in cells {
                for (q, from) in points_of(cell) {
                    for (word, &value) in from[..of_tensor].iter().enumerate() {
                        tensor[self.groups.place_in_metric(slot, q, word) - group * of_tensor * entries] = value;
                    }
                }
            }
        });
        reaction.par_chunks_exact_mut(entries).zip(self.by_groups()).enumerate().for_each(
            |(group, (reaction, cells))| {
                for (slot, cell) in cells {
                    for (q, from) in points_of(cell) {
                        reaction[self.groups.place(slot, 0, q) - group * entries] = from[of_tensor];
                    }
                }
            },
        );
        Ok([tensor, reaction])
    }

    /// The same where it is constant, over the weight of the first point: that of the tensor as `kept` words of a cell. `metric` may have
    /// that of the first points alone.
    pub fn metric_of_cells<T: Scalar>(&self, mesh: &Mesh, metric: &[T], kept: &[usize], weight: f64) -> [Vec<T>; 2] {
        let (cells, words) = (self.cells.len(), words(mesh.dim()));
        let of_cell = metric.len() / mesh.cells().cells();
        let (mut tensor, mut reaction) = (vec![T::ZERO; kept.len() * cells], vec![T::ZERO; cells]);
        let value = |cell: u32, word: usize| T::from_f64(metric[of_cell * cell as usize + word].to_f64() / weight);
        let of_slots = tensor.par_chunks_exact_mut(kept.len()).zip(&mut reaction).zip(&self.cells);
        of_slots.filter(|(_, cell)| **cell != NONE).for_each(|((tensor, reaction), &cell)| {
            tensor.iter_mut().zip(kept).for_each(|(entry, &word)| *entry = value(cell, word));
            *reaction = value(cell, words - 1);
        });
        [tensor, reaction]
    }
}

/// Where groups have the nodes of cells, computed once: a list for each slot of a group, or for each child of a family.
struct Places {
    groups: Groups,
    /// By directions of lines.
    by_direction: [Vec<Vec<usize>>; 3],
    /// Whether a cell of a family leaves the result of a node: of those that have it in common, the upper one does.
    left_in_family: Vec<Vec<bool>>,
    left_elsewhere: Vec<bool>,
}

impl Places {
    fn new(groups: Groups, mesh: &Mesh) -> Self {
        let (n, dim, nodes) = (groups.nodes(), mesh.dim(), mesh.cells().nodes_a_cell());
        let place = |direction: usize, slot: usize| (0..nodes).map(|i| groups.place(slot, direction, i)).collect();
        let by_direction =
            [0, 1, 2].map(|d| (0..if d < dim { groups.cells() } else { 0 }).map(|slot| place(d, slot)).collect());
        let is_of_upper = |child: usize, i: usize, d: usize| i / n.pow(d as u32) % n == n - 1 && child >> d & 1 == 0;
        let left = |child: usize| (0..nodes).map(|i| !(0..dim).any(|d| is_of_upper(child, i, d))).collect();
        let left_in_family = (0..1 << dim).map(left).collect();
        Self { groups, by_direction, left_in_family, left_elsewhere: vec![true; nodes] }
    }

    /// The place in its group of each node of a cell.
    fn of(&self, slot: usize, direction: usize) -> &[usize] {
        &self.by_direction[direction][slot % self.groups.cells()]
    }

    /// Of which nodes the cell leaves results.
    fn left(&self, slot: usize, is_family: bool) -> &[bool] {
        if is_family { &self.left_in_family[slot % self.left_in_family.len()] } else { &self.left_elsewhere }
    }
}

/// Whether a node is in a list once.
fn once_in(list: &[u32], nodes: usize) -> Result<impl Fn(u32) -> bool + Sync + use<>> {
    memory::check(nodes as u64)?;
    let times: Vec<AtomicU8> = (0..nodes).into_par_iter().map(|_| 0.into()).collect();
    list.par_iter().filter(|node| **node != NONE).for_each(|&node| {
        // More than twice is not counted, so that nothing overflows.
        if times[node as usize].load(Relaxed) < 2 {
            times[node as usize].fetch_add(1, Relaxed);
        }
    });
    Ok(move |node: u32| times[node as usize].load(Relaxed) == 1)
}

/// What a group has whole: a family, the children of one cell, or a single cell.
struct Unit {
    cells: Range<u32>,
    kind: UnitKind,
    /// Whether nodes of it are smoothed.
    is_smoothed: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum UnitKind {
    Family,
    /// Without lines that hang, and in no family.
    Plain,
    Hanging,
}

fn units(mesh: &Mesh, groups: Groups) -> Vec<Unit> {
    let (cells, kinds, leaves) = (mesh.cells(), mesh.kinds(), mesh.forest().leaves());
    let mut hangs = vec![false; cells.cells()];
    cells.hanging().iter().for_each(|lines| hangs[lines.cell as usize] = true);
    let is_smoothed = |cell: usize| cells.of(cell).iter().any(|&node| kinds[node as usize] == Node::Smoothed);
    let is_smoothed: Vec<bool> = (0..cells.cells()).into_par_iter().map(is_smoothed).collect();
    let children = 1 << mesh.dim();
    let is_family = |first: usize| {
        let Some(family) = leaves.get(first..first + children).filter(|_| groups.has_families()) else { return false };
        let parent = family[0].parent();
        parent.is_some()
            && family.iter().all(|leaf| leaf.parent() == parent)
            && !hangs[first..first + children].contains(&true)
    };
    let (mut units, mut first) = (Vec::new(), 0);
    while first < cells.cells() {
        let kind = match (is_family(first), hangs[first]) {
            (true, _) => UnitKind::Family,
            (false, false) => UnitKind::Plain,
            (false, true) => UnitKind::Hanging,
        };
        let end = first + if kind == UnitKind::Family { children } else { 1 };
        let is_smoothed = is_smoothed[first..end].contains(&true);
        units.push(Unit { cells: first as u32..end as u32, kind, is_smoothed });
        first = end;
    }
    units
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
