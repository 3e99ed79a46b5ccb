//! Which outputs of a contraction a thread computes: all that the levels before `conflict-free` and that one differ in.

use crate::choice::Paper2;
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

/// Lanes that read different words of shared memory at once: a warp of 4-byte words, half a warp of 8-byte words.
pub const fn lanes(scalar_bytes: usize) -> usize {
    128 / scalar_bytes
}

/// Threads from one row of outputs to the next.
///
/// Lanes that read at once must not meet in a bank. Without conflicts they have a row each, whose entries are neighbours.
pub const fn row_threads(level: Paper2, columns: usize, scalar_bytes: usize) -> usize {
    match level {
        Paper2::ConflictFree => lanes(scalar_bytes),
        _ => columns,
    }
}

impl Outputs {
    /// Of a contraction in a direction, in a tensor of these sizes.
    ///
    /// Up to level `shared` rows are outputs in the direction contracted (paper 1, listing 1); at level `conflict-free` a thread
    /// stores at its own row and column, whatever the direction (listing 2).
    #[inline(always)]
    pub fn new<T>(level: Paper2, direction: usize, sizes: [usize; 3]) -> Self {
        let directions = match (level, direction) {
            (Paper2::ConflictFree, _) | (_, 1) => [1, 0, 2],
            (_, 0) => [0, 1, 2],
            _ => [2, 0, 1],
        };
        let [rows, columns] = [sizes[directions[0]], sizes[directions[1]]];
        let (thread, pitch) = (thread::thread_idx_x(), row_threads(level, columns, size_of::<T>()) as u32);
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
