//! Batches: as many patches of a set as a register has lanes, none of which writes what another reads or writes.

use super::lanes::MAX_LANES;
use patchmg_device::patch::{Grid, bit, class_count, class_patch, color_count, color_origin};

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
    counts: [usize; 3],
}

impl Patches {
    pub fn new(grid: Grid, dim: usize, selection: Selection) -> Self {
        let counts = core::array::from_fn(|direction| match selection {
            _ if direction >= dim => 1,
            Selection::Color(color) => color_count(grid.cells, bit(color, direction)) as usize,
            Selection::Class(class) => class_count(grid.cells, bit(class, direction)) as usize,
            Selection::Tiling => color_count(grid.cells, 0) as usize,
        });
        Self { grid, selection, dim, counts }
    }

    /// How many patches there are.
    pub fn len(&self) -> usize {
        self.counts.iter().product()
    }

    /// Nodes of a patch that no other patch of the tiling owns.
    pub fn nodes_each(&self) -> usize {
        (2 * self.grid.degree as usize).pow(self.dim as u32)
    }

    /// The `width` patches from `first` on; lanes behind the last patch repeat it and are not active.
    #[inline(always)]
    pub fn batch(&self, first: usize, width: usize) -> Batch {
        let mut batch = Batch {
            active: width.min(self.len() - first),
            fine: Offsets::default(),
            coarse: Offsets::default(),
            first: [0; 3],
            last: [0; 3],
        };
        let coarse_grid = Grid { cells: self.grid.cells / 2, degree: self.grid.degree };
        for lane in 0..width {
            let index = first + lane.min(batch.active - 1);
            let (x, rest) = (index % self.counts[0], index / self.counts[0]);
            let index = [x, rest % self.counts[1], rest / self.counts[1]];
            let (mut fine, mut coarse) = ([0; 3], [0; 3]);
            for direction in 0..self.dim {
                (fine[direction], coarse[direction]) = self.origin(direction, index[direction]);
                let end = fine[direction] + 2 * self.grid.degree as usize;
                batch.first[direction] |= u32::from(fine[direction] == 0) << lane;
                batch.last[direction] |= u32::from(end == self.grid.row()) << lane;
            }
            batch.fine.now[lane] = self.grid.offset_3d(fine[0], fine[1], fine[2]);
            batch.coarse.now[lane] = coarse_grid.offset_3d(coarse[0], coarse[1], coarse[2]);
        }
        batch
    }

    /// First node in one direction, and that of the coarse cell that a patch of the tiling is.
    #[inline(always)]
    fn origin(&self, direction: usize, index: usize) -> (usize, usize) {
        let degree = self.grid.degree as usize;
        let tile = match self.selection {
            Selection::Color(color) => return (color_origin(degree, bit(color, direction), index), 0),
            Selection::Class(class) => class_patch(bit(class, direction), index),
            Selection::Tiling => index,
        };
        (color_origin(degree, 0, tile), color_origin(degree, (tile % 2) as u32, tile / 2))
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
    first: [u32; 3],
    last: [u32; 3],
}

impl Batch {
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
