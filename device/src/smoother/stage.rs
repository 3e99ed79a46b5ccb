//! The nodes on the faces of all patches of a block, in shared memory, side by side in x as they are in the grid.

use crate::layout::{Column, Shared};
use crate::patch::Grid;
use crate::scalar::Real;
use crate::smoother::place::quotient_and_remainder;
use cuda_std::shared::Word;

/// Rows of `width` nodes, `N = 2K + 1` rows a plane and `N` planes.
pub(super) struct Stage<T> {
    pub nodes: Shared<T>,
    pub width: usize,
}

impl<T: Real + Word> Stage<T> {
    /// Starts to copy all nodes of `patches` patches whose first node is `x`. Neighbouring threads have neighbours in
    /// shared memory, so that a warp reads few lines of memory and has no bank conflicts. Only faces and vertices are
    /// wanted, but where a row of a patch has few sectors of memory, single nodes of the faces normal to x would be as
    /// many, one by one.
    ///
    /// # Safety
    /// These patches lie within the grid, and nobody writes them until the copies have ended.
    #[inline(always)]
    pub unsafe fn copy<const K: usize, const N: usize>(&self, threads: usize, x: *const T, grid: Grid, patches: usize) {
        let whole_rows = 2 * K * size_of::<T>() <= 64;
        let thread = cuda_std::thread::thread_idx_x() as usize;
        let rows = if threads < self.width { 1 } else { threads / self.width };
        for round in 0..if rows == 1 { self.width.div_ceil(threads) } else { 1 } {
            let (row, column) =
                if rows == 1 { (0, thread + round * threads) } else { quotient_and_remainder(thread, self.width) };
            if row >= rows || column > 2 * K * patches {
                continue;
            }
            for i in 0..N.div_ceil(rows) {
                let y = row + i * rows;
                let on_face = y == 0 || y == 2 * K || column % (2 * K) == 0;
                for z in 0..N {
                    let at_vertex = z == K && y == K && column % (2 * K) == K;
                    if y < N && (whole_rows || z == 0 || z == 2 * K || on_face || at_vertex) {
                        let node = column + self.width * (y + N * z);
                        // SAFETY: the caller's promise.
                        unsafe { self.nodes.copy(node, x.add(grid.local_3d(column, y, z))) };
                    }
                }
            }
        }
    }

    /// Shared memory from so many words behind the nodes.
    #[inline(always)]
    pub fn behind<const N: usize>(&self, offset: usize) -> Shared<T> {
        Shared::at(self.width * N * N + offset)
    }

    /// Distance of neighbours in a direction.
    #[inline(always)]
    fn stride<const N: usize>(&self, direction: usize) -> usize {
        match direction % 3 {
            0 => 1,
            1 => self.width,
            _ => self.width * N,
        }
    }

    /// Line `lane` on the pair of faces of patch `slot` that are normal to direction `normal`: it runs in the direction
    /// after, lines lie side by side in the one after that.
    #[inline(always)]
    pub fn lines<const K: usize, const N: usize>(&self, slot: usize, normal: usize, lane: usize) -> [[T; N]; 2] {
        let start = slot * 2 * K + lane * self.stride::<N>(normal + 2);
        let stride = self.stride::<N>(normal + 1);
        let line = |start: usize| self.nodes.read::<N>(Column { start, stride });
        [line(start), line(start + 2 * K * self.stride::<N>(normal))]
    }

    /// The node at the vertex of patch `slot`.
    #[inline(always)]
    pub fn middle<const K: usize, const N: usize>(&self, slot: usize) -> T {
        self.nodes.get(slot * 2 * K + K + self.width * (K + N * K))
    }
}
