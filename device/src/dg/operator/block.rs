//! A block: where its tile lies in the grid and in shared memory, and how its threads share the work.

use super::Tile;
use super::direction::Direction;
use crate::dg::Strides;
use crate::layout::{Column, Shared};
use crate::matrices::{DgCellMatrices, DgOperatorMatrices};
use crate::patch::DgGrid;
use crate::scalar::Real;
use cuda_std::hint::made_here;
use cuda_std::shared::Word;
use cuda_std::thread;

/// A block, and what it computes with. A thread computes its place in the block anew in every phase, because that takes
/// fewer registers than to keep it.
pub(super) struct Block<'a, T, const C: usize, const H: usize, const MID: usize> {
    pub all: &'a DgOperatorMatrices<T, C, H>,
    pub x: *const T,
    pub cells: [u32; 3],
}

impl<T: Real + Word, const C: usize, const H: usize, const MID: usize> Block<'_, T, C, H, MID> {
    pub const IS_3D: bool = MID > 1;
    /// Whether it is matrices that have factors, in 2D all of them, in 3D quotients. In lower degrees in 3D a coefficient of `M`
    /// serves two products, and another matrix would spill registers: there it is values that are multiplied.
    pub const SCALES_MATRICES: bool = !Self::IS_3D || C > 8;
    pub const TILE: Tile = Tile::of(if MID > 1 { 3 } else { 2 }, C - 1);
    /// Words from plane to plane of a layer.
    pub const PLANE: usize = Self::TILE.pitch() * Self::TILE.rows();

    #[inline(always)]
    pub fn matrices(&self) -> &DgCellMatrices<T, C, H> {
        &self.all.cell
    }

    #[inline(always)]
    pub fn strides(&self) -> Strides {
        Strides::of(self.grid(), Self::IS_3D)
    }

    #[inline(always)]
    fn grid(&self) -> DgGrid {
        let [x, y, z] = self.cells;
        DgGrid { cells: [made_here(x), made_here(y), made_here(z)], degree: C as u32 - 1 }
    }

    #[inline(always)]
    pub fn along_x(&self) -> Direction {
        Direction::new(self.grid(), 0, made_here(thread::block_idx_x()), Self::TILE.cells[0])
    }

    #[inline(always)]
    pub fn along_middle(&self) -> Direction {
        Direction::new(self.grid(), 1, made_here(thread::block_idx_y()), Self::TILE.cells[1])
    }

    /// `M u` of a layer, in the end with `M` in all directions but x.
    #[inline(always)]
    pub fn mass() -> Shared<T> {
        Shared::at(0)
    }

    /// What becomes `A u` of a layer.
    #[inline(always)]
    pub fn sum() -> Shared<T> {
        Shared::at(Self::TILE.layer())
    }

    #[inline(always)]
    pub fn middle_faces() -> Shared<T> {
        Shared::at(2 * Self::TILE.layer())
    }

    /// Two layers take turns: the faces of one are read while those of the next one are written.
    #[inline(always)]
    pub fn x_faces(layer: u32) -> Shared<T> {
        let tile = Self::TILE;
        Shared::at(2 * tile.layer() + tile.middle_faces() + (layer & 1) as usize * tile.x_faces())
    }

    /// Calls `body` for the thread's share of so many tasks.
    #[inline(always)]
    pub fn share(tasks: usize, body: impl Fn(usize)) {
        let thread = made_here(thread::thread_idx_x()) as usize;
        for round in 0..tasks.div_ceil(Self::TILE.threads()) {
            let task = thread + round * Self::TILE.threads();
            // Without a condition if all threads have a task: then constants are loaded once a warp.
            if (round + 1) * Self::TILE.threads() <= tasks || task < tasks {
                body(task);
            }
        }
    }

    /// Where a thread's columns are: calls `body` with the number of each, the column in the layer and the offset of its
    /// first node in layer 0, or none outside the domain.
    #[inline(always)]
    pub fn columns<const COLUMNS: usize>(&self, mut body: impl FnMut(usize, Column, Option<usize>)) {
        let tile = Self::TILE;
        let (strides, along_x, middle) = (self.strides(), self.along_x(), self.along_middle());
        let thread = made_here(thread::thread_idx_x()) as usize;
        let (x, first_row) = (thread % tile.row(), thread / tile.row());
        for number in 0..COLUMNS {
            let row = first_row + number * (tile.rows() / COLUMNS);
            let is_inside = x < along_x.cells * C && (!Self::IS_3D || row < middle.cells * C);
            let offset = along_x.first + x + if Self::IS_3D { (middle.first + row) * strides.row } else { 0 };
            let column = Column { start: x + tile.pitch() * row, stride: Self::PLANE };
            body(number, column, is_inside.then_some(offset));
        }
    }

    /// Nodes of a column in a layer, zeros outside the domain.
    ///
    /// # Safety
    /// The layer is one of the grid, and the vector of it.
    #[inline(always)]
    pub unsafe fn nodes(&self, vector: *const T, offset: Option<usize>, layer: u32) -> [T; C] {
        let mut values = [T::ZERO; C];
        if let Some(offset) = offset {
            let stride = self.strides().column;
            let start = vector.wrapping_add(offset + layer as usize * C * stride);
            for z in 0..C {
                // SAFETY: a node of the vector.
                values[z] = unsafe { *start.add(z * stride) };
            }
        }
        values
    }
}
