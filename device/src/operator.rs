//! The finite element operator, `y = A x` and `r = b - A x`: in 3D plane by plane ([`planes`]), in 2D patch by patch over
//! the tiling of color 0.
//!
//! In 2D a patch contributes `(A ⊗ M + M ⊗ A) x` on all of its nodes, with the 1D matrices of its own two cells. Patches
//! share the nodes on their faces, so launches go class by class: no two patches of a class share a node, the first class
//! to touch a node writes, later ones add. No atomics, and the same sum in every run.

pub mod planes;

use crate::kernels::{Shape, columns, patch_nodes, patches_per_block};

/// Its shape on a block: in 2D a thread owns a column of all nodes of a patch.
pub const fn shape(dim: usize, degree: usize) -> Shape {
    if dim == 3 {
        return planes::shape(degree);
    }
    let nodes = patch_nodes(degree).1;
    let columns = columns(dim, nodes);
    Shape { columns, patches: patches_per_block(columns), words: 2 * nodes * nodes, barriers: dim }
}

/// Blocks of a multiprocessor that the registers of a thread leave room for.
pub const fn min_blocks(dim: usize, degree: usize, scalar_bytes: usize) -> u32 {
    if dim == 3 { planes::min_blocks(degree, scalar_bytes) } else { 1 }
}

pub use device::*;
pub use planes::apply_3d;

mod device {
    use super::*;
    use crate::block::Place;
    use crate::layout::{RowMajor, Shared};
    use crate::matrices::OperatorMatrices;
    use crate::patch::{Grid, bit, class_count, class_patch, touches_first};
    use crate::scalar::Real;
    use cuda_std::shared::Word;
    use cuda_std::thread;

    /// Where a result goes.
    #[derive(Clone, Copy)]
    pub struct Output<T> {
        /// `b` of a residual; null for a plain product.
        pub b: *const T,
        /// Result vector.
        pub y: *mut T,
    }

    impl<T: Real> Output<T> {
        /// Adds a patch's product at a node that other patches may share.
        ///
        /// # Safety
        /// `offset` lies within the vectors, and no other thread of the launch writes it.
        #[inline(always)]
        unsafe fn add<const RESIDUAL: bool>(self, offset: usize, product: T, first: bool) {
            // SAFETY: the caller's promise.
            unsafe {
                let target = self.y.add(offset);
                *target = match (RESIDUAL, first) {
                    (true, true) => *self.b.add(offset) - product,
                    (true, false) => *target - product,
                    (false, true) => product,
                    (false, false) => *target + product,
                };
            }
        }
    }

    /// The operator in 2D.
    ///
    /// # Safety
    /// Launched as its [`shape`] says; the vectors are of the grid.
    #[inline(always)]
    pub unsafe fn apply_2d<T: Real + Word, const RESIDUAL: bool, const K: usize, const N: usize, const C: usize>(
        matrices: &OperatorMatrices<T, N, C>,
        x: *const T,
        output: Output<T>,
        cells: u32,
        class: u32,
    ) {
        let shape = const { shape(2, K) };
        let grid = Grid { cells, degree: K as u32 };
        let place = Place::new(shape.columns, shape.patches, class_count(cells, bit(class, 0)));
        let node = [
            2 * K * class_patch(bit(class, 0), place.patch),
            2 * K * class_patch(bit(class, 1), thread::block_idx_y() as usize),
        ];
        let origin = grid.offset_2d(node[0], node[1]);
        let own = place.column;
        let mass_part = Shared::<T>::at(place.slot * shape.words);
        let stiffness_part = Shared::<T>::at(place.slot * shape.words + N * N);
        let (along_x, along_y) = (RowMajor::<N, N>::along_x(own, 0), RowMajor::<N, N>::along_y(own, 0));

        let mut column = [T::ZERO; N];
        for y in 0..N {
            // SAFETY: the patch lies within the grid and its guard.
            column[y] = unsafe { *x.add(origin + grid.local_2d(own, y)) };
        }
        mass_part.write::<N>(along_y, &matrices.mass.apply(&column));
        stiffness_part.write::<N>(along_y, &matrices.stiffness.apply(&column));
        thread::sync_threads();

        let (u, w) = (mass_part.read::<N>(along_x), stiffness_part.read::<N>(along_x));
        mass_part.write::<N>(along_x, &matrices.stiffness.apply_sum(&u, &matrices.mass, &w));
        thread::sync_threads();

        let column = mass_part.read::<N>(along_y);
        let is_end = |local: usize| local == 0 || local == 2 * K;
        if place.active && grid.is_interior(node[0] + own) {
            for y in 0..N {
                if grid.is_interior(node[1] + y) {
                    let touches = touches_first(bit(class, 0), is_end(own)) && touches_first(bit(class, 1), is_end(y));
                    // SAFETY: a node of this patch, which no other patch of the class shares.
                    unsafe { output.add::<RESIDUAL>(origin + grid.local_2d(own, y), column[y], touches) };
                }
            }
        }
    }
}
