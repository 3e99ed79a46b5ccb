//! Where blocks march, and what they own.

use super::Strip;
use crate::patch::{Grid, bit, class_patch};
use cuda_std::thread;

/// Which part of a level a launch is for.
#[derive(Clone, Copy)]
pub struct Part {
    /// Pieces in each direction; in 2D the last number counts for nothing.
    pub pieces: [u32; 3],
    /// Class of pieces.
    pub class: u32,
    /// Pieces from block to block in the direction of the march.
    pub chunk: u32,
}

/// Where a result goes.
#[derive(Clone, Copy)]
pub struct Target {
    /// Node in each direction; in 2D the last one is y.
    pub(super) node: [u32; 3],
    /// Offset of the first node of the step's strip, which all threads share.
    pub(super) strip: usize,
    /// Offset of the node from there. It fits 32 bits, which saves registers.
    pub(super) place: usize,
    /// Whether other classes have not touched it yet.
    pub is_first: bool,
}

impl Target {
    /// Its place in a vector of the grid of the results.
    #[inline(always)]
    pub fn of<T>(self, vector: *mut T) -> *mut T {
        vector.wrapping_add(self.strip).wrapping_add(self.place)
    }

    /// The same in 3D, from the grid alone: where all else of a strip takes the registers.
    #[inline(always)]
    pub fn of_grid<T>(self, vector: *mut T, grid: Grid) -> *mut T {
        let [x, y, z] = self.node.map(|node| node as usize);
        vector.wrapping_add(grid.offset_3d(x, y, z))
    }
}

/// Pieces `first..end` of a direction, and the one from which on the block owns them: all but the first, which it
/// shares with the block before, if there is one.
#[derive(Clone, Copy)]
pub(super) struct Range {
    pub first: u32,
    pub own: u32,
    pub end: u32,
}

impl Range {
    /// The `index`-th with so many pieces from the first one of it to that of the next.
    #[inline(always)]
    fn new(index: u32, distance: u32, pieces: u32) -> Self {
        let first = index * distance;
        let end = first + distance + 1;
        Self { first, own: if index > 0 { first + 1 } else { 0 }, end: if end < pieces { end } else { pieces } }
    }

    /// Whether node `node` is one of its pieces', the first included, and an unknown.
    #[inline(always)]
    pub fn owns(self, degree: u32, node: u32) -> bool {
        node > 0 && node >= degree * self.own && node < degree * self.end
    }
}

/// Where a block marches.
#[derive(Clone, Copy)]
pub(super) struct March {
    pub strip: Strip,
    pub x: Range,
    pub y: u32,
    /// In the last direction; of a class there is one.
    pub last: Range,
}

impl March {
    #[inline(always)]
    pub fn new(strip: Strip, part: Part) -> Self {
        let block = [thread::block_idx_x(), thread::block_idx_y(), thread::block_idx_z()];
        let in_class = |direction: usize| class_patch(bit(part.class, direction - 1), block[direction] as usize) as u32;
        let last = if strip.along_x {
            Range { first: in_class(2), own: in_class(2), end: in_class(2) + 1 }
        } else {
            Range::new(block[strip.dim - 1], part.chunk, part.pieces[strip.dim - 1])
        };
        let distance = if strip.along_x { part.chunk } else { strip.distance() };
        let y = if strip.dim == 3 { in_class(1) } else { 0 };
        Self { strip, x: Range::new(block[0], distance, part.pieces[0]), y, last }
    }

    #[inline(always)]
    pub fn steps(self) -> u32 {
        if self.strip.along_x {
            self.x.end.wrapping_sub(self.x.first).div_ceil(self.strip.pieces as u32)
        } else {
            self.last.end.wrapping_sub(self.last.first)
        }
    }

    /// First piece of a step's strip.
    #[inline(always)]
    pub fn place(self, step: u32) -> [u32; 3] {
        if self.strip.along_x {
            [self.x.first.wrapping_add(step * self.strip.pieces as u32), self.y, self.last.first]
        } else {
            [self.x.first, self.y, self.last.first.wrapping_add(step)]
        }
    }
}
