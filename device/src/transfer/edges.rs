//! The part of the prolongation in 2D that comes before a [step](crate::smoother) of the smoother, whose colors overwrite
//! what else it adds: `x += P coarse` on the edges of coarse cells that are normal to y, whole rows of `x`.
//!
//! A block has neighbouring edges of a row. Threads go along `x`, each with a node, and between along edges in shared memory.

use crate::kernels::Shape;

/// Edges of a block: as many as have a node for nearly every thread of some warps.
const fn edges(degree: usize) -> usize {
    256 / (2 * degree)
}

/// Its shape on a block: an edge's threads own its nodes but for the last one. Blocks go along rows of edges, all but those on
/// the boundary.
pub const fn shape(degree: usize) -> Shape {
    let (edges, nodes) = (edges(degree), 2 * degree);
    // Coarse nodes, then nodes; the last coarse one once for all edges.
    let words = (edges * (degree + nodes) + 1).div_ceil(edges);
    Shape { columns: nodes, patches: edges, words, barriers: 2 }
}

pub use device::*;

mod device {
    use super::edges;
    use crate::layout::{Column, Shared};
    use crate::matrices::ProlongationMatrices;
    use crate::patch::Grid;
    use crate::scalar::Real;
    use cuda_std::shared::Word;
    use cuda_std::thread;

    /// `x += P coarse` on edges normal to y.
    ///
    /// # Safety
    /// Launched as its [shape](super::shape) says; `x` is of the grid of `cells`, `coarse` of that of half as many.
    #[inline(always)]
    pub unsafe fn prolongate_edges<T: Real + Word, const K: usize, const N: usize, const C: usize>(
        matrices: &ProlongationMatrices<T, C>,
        coarse: *const T,
        x: *mut T,
        cells: [u32; 3],
    ) {
        let edges = const { edges(K) };
        let fine = Grid { cells, degree: K as u32 };
        let grid = fine.coarser();
        let thread = thread::thread_idx_x() as usize;
        let first = thread::block_idx_x() as usize * edges;
        let row = (thread::block_idx_y() as usize + 1) * K;
        let coarse_nodes = Shared::<T>::at(0);
        let nodes = Shared::<T>::at(edges * K + 1);

        let own = 2 * K * first + thread;
        let is_inside = own < fine.row();
        let entry = x.wrapping_add(fine.offset_2d(own, 2 * row));
        // SAFETY: a node that this thread owns.
        let value = if is_inside { unsafe { *entry } } else { T::ZERO };
        if thread <= edges * K {
            // Nodes behind the domain are the one on its boundary.
            let node = (K * first + thread).min(grid.row());
            // SAFETY: a node of the coarse grid.
            coarse_nodes.set(thread, unsafe { *coarse.wrapping_add(grid.offset_2d(node, row)) });
        }
        thread::sync_threads();
        if thread < edges {
            let column = coarse_nodes.read::<C>(Column { start: K * thread, stride: 1 });
            let products: [T; N] = matrices.transfer.apply(&column);
            for i in 0..2 * K {
                nodes.set(2 * K * thread + i, products[i]);
            }
        }
        thread::sync_threads();
        if is_inside {
            // SAFETY: as above.
            unsafe { *entry = value + nodes.get(thread) };
        }
    }
}
