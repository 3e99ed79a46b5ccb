//! Batches: as many patches of a set as a register has lanes, none of which writes what another reads or writes.

use super::lanes::MAX_LANES;
use core::ops::Range;
use patchmg_device::patch::{DgGrid, Ends, Grid, bit, class_count, class_patch, color_count, color_origin};

/// A set of patches, or of cells, and where they lie.
pub trait Set: Sync {
    /// How many there are.
    fn len(&self) -> usize;
    /// Nodes of one that belong to no other.
    fn nodes_each(&self) -> usize;
    /// The `width` of them from `first` on; lanes behind the last one repeat it and are not active.
    fn batch(&self, first: usize, width: usize) -> Batch;
}

/// Where `width` of so many in each direction lie, from number `first` on; behind the last one it is repeated.
fn places(first: usize, width: usize, counts: [usize; 3]) -> impl Iterator<Item = [usize; 3]> {
    let (x, rest) = (first % counts[0], first / counts[0]);
    let mut next = [x, rest % counts[1], rest / counts[1]];
    (0..width).map(move |_| {
        let place = next;
        next[0] += 1;
        for direction in 0..2 {
            if next[direction] == counts[direction] {
                next[direction] = 0;
                next[direction + 1] += 1;
            }
        }
        if next[2] == counts[2] {
            next = place;
        }
        place
    })
}

/// Patches that may be worked on at the same time.
#[derive(Clone, Copy, Debug)]
pub enum Selection {
    /// The patches of a color: they share boundary nodes only.
    Color(u32),
    /// The tiling's patches of a class: they share no node.
    Class(u32),
    /// All patches of the tiling: each owns its nodes but the last of every direction.
    Tiling,
}

/// A selection of the patches of a level.
#[derive(Clone, Copy, Debug)]
pub struct Patches {
    /// Where nodes are stored.
    pub grid: Grid,
    /// Which patches.
    pub selection: Selection,
    dim: usize,
    /// First of the cells that they lie in.
    first: [usize; 3],
    counts: [usize; 3],
}

impl Patches {
    pub fn new(grid: Grid, dim: usize, selection: Selection) -> Self {
        Self::within(grid, dim, &grid.cells.map(|cells| 0..cells), selection)
    }

    /// Those of a box of the grid's cells; of the tiling and its classes they are even numbers, from an even one on.
    pub fn within(grid: Grid, dim: usize, cells: &[Range<u32>; 3], selection: Selection) -> Self {
        let counts = core::array::from_fn(|direction| {
            let count = cells[direction].end - cells[direction].start;
            match selection {
                _ if direction >= dim => 1,
                // Unlike those of a level, their number may be odd.
                Selection::Color(color) => ((count - bit(color, direction)) / 2) as usize,
                Selection::Class(class) => class_count(count, bit(class, direction)) as usize,
                Selection::Tiling => color_count(count, 0) as usize,
            }
        });
        Self { grid, selection, dim, first: cells.each_ref().map(|cells| cells.start as usize), counts }
    }

    /// Offset of the middle node of a patch.
    pub fn middle(&self) -> usize {
        let node = self.grid.degree as usize;
        self.grid.offset_3d(node, node, if self.dim == 2 { 0 } else { node })
    }

    /// First node in one direction, and that of the coarse cell that a patch of the tiling is.
    #[inline(always)]
    fn origin(&self, direction: usize, index: usize) -> (usize, usize) {
        let (degree, first) = (self.grid.degree as usize, self.first[direction]);
        let tile = match self.selection {
            Selection::Color(color) => {
                return (first * degree + color_origin(degree, bit(color, direction), index), 0);
            }
            Selection::Class(class) => class_patch(bit(class, direction), index),
            Selection::Tiling => index,
        };
        let tile = first / 2 + tile;
        (color_origin(degree, 0, tile), color_origin(degree, (tile % 2) as u32, tile / 2))
    }
}

impl Set for Patches {
    fn len(&self) -> usize {
        self.counts.iter().product()
    }

    fn nodes_each(&self) -> usize {
        (2 * self.grid.degree as usize).pow(self.dim as u32)
    }

    #[inline(never)]
    fn batch(&self, first: usize, width: usize) -> Batch {
        let mut batch = Batch::new(width.min(self.len() - first));
        let (ends, coarse_grid) = ([0, 1, 2].map(|direction| self.grid.nodes(direction)), self.grid.coarser());
        for (lane, index) in places(first, width, self.counts).enumerate() {
            let (mut fine, mut coarse) = ([0; 3], [0; 3]);
            for direction in 0..self.dim.min(3) {
                batch.places[direction][lane] = index[direction];
                (fine[direction], coarse[direction]) = self.origin(direction, index[direction]);
                let end = fine[direction] + 2 * self.grid.degree as usize;
                batch.first[direction] |= u32::from(fine[direction] == 0) << lane;
                batch.last[direction] |= u32::from(end == ends[direction]) << lane;
            }
            batch.fine.now[lane] = self.grid.offset_3d(fine[0], fine[1], fine[2]);
            batch.coarse.now[lane] = coarse_grid.offset_3d(coarse[0], coarse[1], coarse[2]);
        }
        batch
    }
}

/// The patches of a color of a box of cells, row by row: a batch holds patches of one row alone, so that they have their matrices across x
/// in common.
#[derive(Clone, Copy, Debug)]
pub struct PatchRows {
    patches: Patches,
    /// Lanes of a row, of which the last ones are empty.
    row: usize,
}

impl PatchRows {
    pub fn new(grid: Grid, dim: usize, cells: &[Range<u32>; 3], color: u32) -> Self {
        let patches = Patches::within(grid, dim, cells, Selection::Color(color));
        Self { patches, row: patches.counts[0].next_multiple_of(MAX_LANES) }
    }

    /// Where nodes are stored.
    pub fn grid(&self) -> Grid {
        self.patches.grid
    }

    /// Offset of the middle node of a patch.
    pub fn middle(&self) -> usize {
        self.patches.middle()
    }
}

impl Set for PatchRows {
    fn len(&self) -> usize {
        let [x, y, z] = self.patches.counts;
        if x == 0 { 0 } else { self.row * y * z }
    }

    fn nodes_each(&self) -> usize {
        self.patches.nodes_each()
    }

    #[inline(never)]
    fn batch(&self, first: usize, width: usize) -> Batch {
        let [count, rows, _] = self.patches.counts;
        let (x, y, z) = (first % self.row, first / self.row % rows, first / self.row / rows);
        let mut batch = Batch::new(width.min(count.saturating_sub(x)));
        for lane in 0..width {
            let place = [(x + lane).min(count - 1), y, z];
            for d in 0..3 {
                batch.places[d][lane] = place[d];
            }
            let node = core::array::from_fn::<_, 3, _>(|d| {
                if d < self.patches.dim { self.patches.origin(d, place[d]).0 } else { 0 }
            });
            batch.fine.now[lane] = self.patches.grid.offset_3d(node[0], node[1], node[2]);
        }
        batch
    }
}

/// Cells of discontinuous elements, or patches of two cells a direction, in a box of the mesh.
#[derive(Clone, Copy, Debug)]
pub struct Boxes {
    /// Where nodes are stored.
    pub grid: DgGrid,
    /// 2 or 3.
    pub dim: usize,
    /// Cells of one in a direction: 1 or 2.
    pub cells_each: usize,
    /// First cell, in each direction.
    pub first: [usize; 3],
    /// Cells from one to the next.
    pub step: usize,
    /// How many there are in each direction; one in `z` in 2D.
    pub counts: [usize; 3],
}

/// Patches of a color beside each other in one direction, that touch the same ends.
struct Neighbors {
    ends: Ends,
    /// First cell of the first one.
    first: usize,
    count: usize,
}

impl Boxes {
    /// The patches of a color, those together that touch the same ends in each direction.
    pub fn of_color(grid: DgGrid, dim: usize, color: u32) -> Vec<([Ends; 3], Self)> {
        let neighbors = |direction: usize| {
            if direction >= dim {
                return vec![Neighbors { ends: Ends::Neither, first: 0, count: 1 }];
            }
            let (cells, bit) = (grid.cells[direction], bit(color, direction));
            let mut ranges: Vec<Neighbors> = Vec::new();
            for first in (0..color_count(cells, bit)).map(|index| bit + 2 * index) {
                let ends = Ends::of_patch(cells, first);
                match ranges.last_mut() {
                    Some(last) if last.ends == ends => last.count += 1,
                    _ => ranges.push(Neighbors { ends, first: first as usize, count: 1 }),
                }
            }
            ranges
        };
        let [along_x, along_y, along_z] = [0, 1, 2].map(neighbors);
        let mut groups = Vec::new();
        for z in &along_z {
            for y in &along_y {
                for x in &along_x {
                    let ranges = [x, y, z];
                    let (first, counts) = (ranges.map(|range| range.first), ranges.map(|range| range.count));
                    groups.push((
                        ranges.map(|range| range.ends),
                        Self { grid, dim, cells_each: 2, first, step: 2, counts },
                    ));
                }
            }
        }
        groups
    }
}

impl Set for Boxes {
    fn len(&self) -> usize {
        self.counts.iter().product()
    }

    fn nodes_each(&self) -> usize {
        (self.cells_each * self.grid.cell_nodes()).pow(self.dim as u32)
    }

    #[inline(never)]
    fn batch(&self, first: usize, width: usize) -> Batch {
        let mut batch = Batch::new(width.min(self.len() - first));
        let (nodes, ends, coarse_grid) = (self.grid.cell_nodes(), self.grid.cells, self.grid.coarser());
        for (lane, index) in places(first, width, self.counts).enumerate() {
            let cell: [usize; 3] = core::array::from_fn(|d| self.first[d] + self.step * index[d]);
            for direction in 0..self.dim.min(3) {
                batch.first[direction] |= u32::from(cell[direction] == 0) << lane;
                let end = cell[direction] + self.cells_each;
                batch.last[direction] |= u32::from(end == ends[direction] as usize) << lane;
            }
            let [x, y, z] = cell.map(|cell| cell * nodes);
            batch.fine.now[lane] = self.grid.offset_3d(x, y, z);
            let [x, y, z] = cell.map(|cell| cell / 2 * nodes);
            batch.coarse.now[lane] = coarse_grid.offset_3d(x, y, z);
        }
        batch
    }
}

/// Where the patches of a batch begin, and those of the batch that comes next.
#[derive(Clone, Copy, Debug, Default)]
pub struct Offsets {
    pub now: [usize; MAX_LANES],
    pub next: [usize; MAX_LANES],
}

/// The patches in the lanes of a register.
#[derive(Clone, Copy, Debug)]
pub struct Batch {
    /// Lanes that hold a patch of their own.
    pub active: usize,
    /// Offset of every lane's patch.
    pub fine: Offsets,
    /// Offset of every lane's coarse cell.
    pub coarse: Offsets,
    /// Which patch of the set each lane has, numbered in each direction; 0 for sets of cells.
    pub places: [[usize; MAX_LANES]; 3],
    first: [u32; 3],
    last: [u32; 3],
}

impl Batch {
    #[inline(always)]
    fn new(active: usize) -> Self {
        Self {
            active,
            fine: Offsets::default(),
            coarse: Offsets::default(),
            places: [[0; MAX_LANES]; 3],
            first: [0; 3],
            last: [0; 3],
        }
    }

    /// The lanes, as bits, whose patch or cell lies at the lower (0) or upper (1) end of a direction.
    #[inline(always)]
    pub fn at_end(&self, direction: usize, side: usize) -> u32 {
        if side == 0 { self.first[direction] } else { self.last[direction] }
    }

    /// Names the batch that comes next.
    #[inline(always)]
    pub fn announce(&mut self, next: &Batch) {
        self.fine.next = next.fine.now;
        self.coarse.next = next.coarse.now;
    }

    /// Whether the plane `node` (of `nodes`) of a lane's patch lies on the domain boundary.
    #[inline(always)]
    pub fn on_boundary(&self, lane: usize, direction: usize, node: usize, nodes: usize) -> bool {
        (node == 0 && (self.first[direction] >> lane) & 1 == 1)
            || (node + 1 == nodes && (self.last[direction] >> lane) & 1 == 1)
    }
}
