//! Which outputs of a contraction a thread computes: all that the levels before `conflict-free` and that one differ in.

use crate::stokes::Paper2;
use cuda_std::thread;

/// Outputs of a thread: a row and a column of a tensor, all its layers.
#[derive(Clone, Copy)]
pub struct Outputs {
    /// Directions of rows, columns and layers.
    directions: [usize; 3],
    row: usize,
    column: usize,
    /// Whether the tensor has such a row and column.
    pub is_active: bool,
}

impl Outputs {
    /// Of a contraction in a direction, in a tensor of these sizes.
    ///
    /// Up to level `shared` rows are outputs in the direction contracted (paper 1, listing 1); at level `conflict-free` a
    /// thread stores at its own row and column, whatever the direction (listing 2), with so many threads from one row to the
    /// next.
    #[inline(always)]
    pub fn new(level: Paper2, direction: usize, sizes: [usize; 3], row_threads: usize) -> Self {
        let directions = match (level, direction) {
            (Paper2::ConflictFree, _) | (_, 1) => [1, 0, 2],
            (_, 0) => [0, 1, 2],
            _ => [2, 0, 1],
        };
        let [rows, columns] = [sizes[directions[0]], sizes[directions[1]]];
        let pitch = match level {
            Paper2::ConflictFree => row_threads,
            _ => columns,
        } as u32;
        let thread = thread::thread_idx_x();
        let (row, column) = ((thread / pitch) as usize, (thread % pitch) as usize);
        Self { directions, row, column, is_active: row < rows && column < columns }
    }

    /// The direction of layers.
    #[inline(always)]
    pub const fn layers(&self) -> usize {
        self.directions[2]
    }

    /// Of a layer.
    #[inline(always)]
    pub const fn point(&self, layer: usize) -> [usize; 3] {
        match self.directions {
            [0, ..] => [self.row, self.column, layer],
            [1, ..] => [self.column, self.row, layer],
            _ => [self.column, layer, self.row],
        }
    }
}
