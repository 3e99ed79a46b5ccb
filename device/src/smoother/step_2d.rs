//! A step in 2D: a patch's columns are threads, and all of the patch is its own.

use crate::kernels::{Shape, patch_nodes, patches_per_block};

pub use device::smooth_2d;

/// Shared memory that the patches of a block may take, in `f64` words.
const WORDS_WANTED: usize = 6 * 1024;

/// Where the parts of a patch's shared memory begin, behind its tensor, in words.
struct Parts {
    /// Transformed faces: a pair (sum and difference) a direction.
    faces: usize,
    /// Corners, a sign for each direction.
    corners: usize,
    words: usize,
}

const fn parts(degree: usize) -> Parts {
    let interior = patch_nodes(degree).0;
    let faces = interior * interior;
    let corners = faces + 4 * interior;
    Parts { faces, corners, words: corners + 4 }
}

pub(super) const fn shape(degree: usize) -> Shape {
    let (columns, words) = (patch_nodes(degree).0, parts(degree).words);
    let (by_threads, by_words) = (patches_per_block(columns), WORDS_WANTED / words);
    let patches = if by_words > 0 && by_words < by_threads { by_words } else { by_threads };
    Shape { columns, patches, words, barriers: 2 }
}

mod device {
    use super::{parts, shape};
    use crate::block::Place;
    use crate::layout::{Column, RowMajor, Shared};
    use crate::matrices::SmootherMatrices;
    use crate::patch::{Grid, bit, color_count, color_origin};
    use crate::scalar::Real;
    use crate::smoother::{Table, is_odd, select, sum_and_difference, transform};
    use cuda_std::shared::Word;
    use cuda_std::thread;

    /// The smoother in 2D.
    ///
    /// # Safety
    /// Launched as its [shape](crate::smoother::shape) says; `b` and `x` are vectors of the grid.
    #[inline(always)]
    pub unsafe fn smooth_2d<T: Real + Word, const K: usize, const M: usize, const N: usize>(
        matrices: &SmootherMatrices<T, K, M>,
        table: Table<T>,
        b: *const T,
        x: *mut T,
        cells: u32,
        color: u32,
    ) {
        let (shape, parts) = const { (shape(K), parts(K)) };
        let grid = Grid { cells, degree: K as u32 };
        let place = Place::new(shape.columns, shape.patches, color_count(cells, bit(color, 0)));
        let origin = grid.offset_2d(
            color_origin(K, bit(color, 0), place.patch),
            color_origin(K, bit(color, 1), thread::block_idx_y() as usize),
        );
        // SAFETY: the patch lies within the grid and its guard.
        let (b, x) = unsafe { (b.add(origin), x.add(origin)) };
        let own = place.column;
        let tensor = Shared::<T>::at(place.slot * shape.words);
        let faces = Shared::<T>::at(place.slot * shape.words + parts.faces);
        let corners = Shared::<T>::at(place.slot * shape.words + parts.corners);
        let along_x = RowMajor::<M, M>::along_x(own, 0);
        let along_y = RowMajor::<M, M>::along_y(own, 0);
        // SAFETY: as above; of this color only this patch writes it, after barriers.
        let middle = unsafe { *x.add(grid.local_2d(K, K)) };

        let mut column = [T::ZERO; M];
        for y in 0..M {
            // SAFETY: as above.
            column[y] = unsafe { *b.add(grid.local_2d(own + 1, y + 1)) };
        }
        // Faces: sum and difference of those normal to x, whose ends are the corners, then of those normal to y.
        for round in 0..4usize.div_ceil(M) {
            let task = own + round * M;
            if task < 4 {
                let (face, sign) = (task / 2, task % 2);
                let (normal, along) = if face == 0 { (1, grid.row()) } else { (grid.row(), 1) };
                // SAFETY: as above.
                let line = |start: usize| core::array::from_fn(|i| unsafe { *x.add(start + i * along) });
                let pair = sum_and_difference::<T, N>(&line(0), &line(2 * K * normal), middle);
                let line = select(&pair, sign);
                let (transformed, ends) = transform(matrices, &line);
                faces.write(Column { start: task * M, stride: 1 }, &transformed);
                if face == 0 {
                    corners.write(Column { start: 2 * sign, stride: 1 }, &ends);
                }
            }
        }
        tensor.write(along_y, &matrices.vectors.analyze(&column));
        thread::sync_threads();

        let mut row = matrices.vectors.analyze(&tensor.read::<M>(along_x));
        let (j, j_odd) = (own, is_odd::<K>(own));
        let (m_j, d_j) = table.boundary::<M>(M * M, j);
        let x_faces = [faces.get(j), faces.get(M + j)];
        // All of `x̂_B` that has the factor `m_i`, by the parity of `i`.
        let x_term = |i_odd: usize| T::fma(-m_j, corners.get(2 * i_odd + j_odd), x_faces[i_odd]);
        let x_terms = [x_term(0), x_term(1)];
        let y_faces = faces.read::<M>(Column { start: (2 + j_odd) * M, stride: 1 });
        for i in 0..M {
            let y_face = y_faces[i];
            let mut residual = T::fma(-matrices.coupling[i], x_faces[is_odd::<K>(i)], row[i]);
            residual = T::fma(-d_j, y_face, residual);
            // The table is symmetric in its indices, so lanes read neighbours.
            let mut coefficient = residual * table.get(j + M * i);
            coefficient = T::fma(-matrices.mass_boundary[i], x_terms[is_odd::<K>(i)], coefficient);
            row[i] = T::fma(-m_j, y_face, coefficient);
        }
        tensor.write(along_x, &matrices.vectors.synthesize(&row));
        thread::sync_threads();

        let column = matrices.vectors.synthesize(&tensor.read::<M>(along_y));
        if place.active {
            for y in 0..M {
                // SAFETY: interior nodes of a patch that no other patch of the color shares.
                unsafe { *x.add(grid.local_2d(own + 1, y + 1)) = column[y] + middle };
            }
        }
    }
}
