//! A step in 2D: a patch's columns are threads, and all of the patch is its own.
//!
//! After a coarse correction `c` the first color takes `x + P c`. Its patches are the cells of the next coarser grid, so of `P c`
//! it needs what lies on their edges; [`prolongate_edges`](crate::transfer::prolongate_edges) has added that on edges
//! normal to y. On those normal to x, where it would be a word of every sector, the first color adds it itself and stores it
//! nowhere: the second color overwrites their interior nodes and reads none of them.

use crate::kernels::{Shape, patch_nodes, patches_per_block};

pub use device::{smooth_2d, smooth_first_2d, step_2d};

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

/// Coarse nodes of an edge from which a thread that transforms it prolongates: in low degrees all, in others none, because
/// all threads of the patch do so before, a node each.
pub const fn interpolated_nodes(degree: usize) -> usize {
    if degree < 5 { degree + 1 } else { 0 }
}

/// Of the first color with a correction, whose two edges lie behind the other parts where threads share them.
pub(super) const fn first_shape(degree: usize) -> Shape {
    let shape = shape(degree);
    if interpolated_nodes(degree) > 0 {
        return shape;
    }
    Shape { words: shape.words + 2 * shape.columns, barriers: shape.barriers + 1, ..shape }
}

/// Blocks of a multiprocessor, by degree, that the registers of a thread leave room for without spills.
pub(super) const fn min_blocks(degree: usize, scalar_bytes: usize) -> u32 {
    const SINGLE: [u32; 10] = [1, 16, 12, 9, 9, 8, 8, 6, 3, 5];
    const DOUBLE: [u32; 10] = [1, 1, 1, 1, 1, 1, 3, 1, 1, 1];
    if scalar_bytes == 4 { SINGLE[degree - 1] } else { DOUBLE[degree - 1] }
}

/// The same of the first color with a correction.
pub(super) const fn first_min_blocks(degree: usize, scalar_bytes: usize) -> u32 {
    const SINGLE: [u32; 10] = [1, 12, 10, 8, 8, 8, 7, 6, 6, 5];
    const DOUBLE: [u32; 10] = [1, 10, 8, 6, 5, 4, 3, 2, 2, 2];
    if scalar_bytes == 4 { SINGLE[degree - 1] } else { DOUBLE[degree - 1] }
}

mod device {
    use super::{first_shape, parts, shape};
    use crate::block::Place;
    use crate::layout::{Column, RowMajor, Shared};
    use crate::matrices::{FirstStepMatrices, Scaled, SmootherMatrices, coupling_has_factor};
    use crate::patch::{Grid, bit, color_count, color_origin};
    use crate::scalar::Real;
    use crate::smoother::{Sides, Table, is_odd, select, sum_and_difference, table_words, transform};
    use cuda_std::hint::made_here;
    use cuda_std::shared::Word;
    use cuda_std::thread;

    /// A patch of the first color.
    #[derive(Clone, Copy)]
    struct Patch {
        grid: Grid,
        /// In x and in y.
        index: [usize; 2],
        /// Where its shared memory begins that other colors do not have.
        edges: usize,
    }

    /// What the first color adds to `x`: `P c`.
    #[derive(Clone, Copy)]
    struct Correction<'a, T, const K: usize, const M: usize, const E: usize> {
        interpolation: &'a [[T; E]; M],
        table: Table<T>,
        coarse: *const T,
    }

    impl<T: Real + Word, const K: usize, const M: usize, const E: usize> Correction<'_, T, K, M, E> {
        /// `c` at a node of the coarse cell that a patch is.
        #[inline(always)]
        fn coarse(self, Patch { grid, index, .. }: Patch, x: usize, y: usize) -> T {
            let grid = grid.coarser();
            let cell = grid.offset_2d(K * index[0], K * index[1]);
            // SAFETY: a node of the coarse grid.
            unsafe { *self.coarse.wrapping_add(cell + grid.local_2d(x, y)) }
        }

        /// A node of both edges normal to x, for all threads of the patch, unless each interpolates for itself.
        #[inline(always)]
        fn prepare(self, patch: Patch, node: usize) {
            if E > 0 {
                return;
            }
            for end in 0..2 {
                let mut sum = T::ZERO;
                for j in 0..K + 1 {
                    sum = T::fma(self.table.get(M * M + 2 * M + M * j + node), self.coarse(patch, K * end, j), sum);
                }
                Shared::<T>::at(patch.edges).set(end * M + node, sum);
            }
            thread::sync_threads();
        }

        /// Adds to lines on the low and on the high edge normal to x, but for their ends.
        #[inline(always)]
        fn add<const N: usize>(self, patch: Patch, lines: &mut [[T; N]; 2]) {
            for end in 0..2 {
                let nodes: [T; E] = core::array::from_fn(|j| self.coarse(patch, K * end, j));
                for i in 0..M {
                    let mut sum = lines[end][i + 1];
                    for j in 0..E {
                        sum = T::fma(self.interpolation[i][j], nodes[j], sum);
                    }
                    if E == 0 {
                        sum = sum + Shared::<T>::at(patch.edges).get(end * M + i);
                    }
                    lines[end][i + 1] = sum;
                }
            }
        }
    }

    /// The smoother in 2D.
    ///
    /// # Safety
    /// Launched as its [shape](crate::smoother::shape) says; `b` and `x` are vectors of the grid.
    #[inline(always)]
    pub unsafe fn smooth_2d<T: Real + Word, const K: usize, const M: usize, const N: usize>(
        Scaled { matrices, factors }: &Scaled<SmootherMatrices<T, K, M>, T>,
        table: Table<T>,
        b: *const T,
        x: *mut T,
        cells: [u32; 3],
        color: u32,
    ) {
        // SAFETY: the caller's promise.
        unsafe {
            smooth::<T, false, K, M, N, 0>((matrices, factors[0], Sides::none()), table, None, b, x, cells, color)
        }
    }

    /// The smoother in 2D with sides.
    ///
    /// # Safety
    /// As of [`smooth_2d`]; vectors are those of their level.
    #[inline(always)]
    pub unsafe fn step_2d<T: Real + Word, const K: usize, const M: usize, const N: usize>(
        Scaled { matrices, factors }: &Scaled<SmootherMatrices<T, K, M>, T>,
        table: Table<T>,
        sides: Sides<T, K>,
        b: *const T,
        x: *mut T,
        color: u32,
    ) {
        // SAFETY: the caller's promise.
        unsafe { smooth::<T, true, K, M, N, 0>((matrices, factors[0], sides), table, None, b, x, [0; 3], color) }
    }

    /// The first color of the smoother in 2D on `x + P c`, `P c` being already added on the edges of patches normal to y.
    ///
    /// # Safety
    /// Launched as its [shape](crate::smoother::first_shape) says, with [`interpolated_nodes`](super::interpolated_nodes);
    /// `b` and `x` are vectors of the grid, `coarse` is one of the next coarser grid.
    #[inline(always)]
    pub unsafe fn smooth_first_2d<T: Real + Word, const K: usize, const M: usize, const N: usize, const E: usize>(
        Scaled { matrices, factors }: &Scaled<FirstStepMatrices<T, K, M, E>, T>,
        table: Table<T>,
        coarse: *const T,
        b: *const T,
        x: *mut T,
        cells: [u32; 3],
    ) {
        let FirstStepMatrices { smoother, interpolation } = matrices;
        let correction = Some(Correction { interpolation, table, coarse });
        let matrices = (smoother, factors[0], Sides::none());
        // SAFETY: the caller's promise.
        unsafe { smooth::<T, false, K, M, N, E>(matrices, table, correction, b, x, cells, 0) }
    }

    /// One color, the first one if there is a correction, with the factor `c_x`:
    /// `ĉ = (b̂_ij - c_x d_i X_j - c_y d_j Y_i) / (c_x λ_i + c_y λ_j) - x̂_B`, `x̂_B = m_i X_j + m_j Y_i - m_i m_j C`.
    ///
    /// # Safety
    /// As of [`smooth_2d`] or [`smooth_first_2d`].
    #[inline(always)]
    unsafe fn smooth<
        T: Real + Word,
        const SIDED: bool,
        const K: usize,
        const M: usize,
        const N: usize,
        const E: usize,
    >(
        (matrices, factor, sides): (&SmootherMatrices<T, K, M>, T, Sides<T, K>),
        table: Table<T>,
        correction: Option<Correction<T, K, M, E>>,
        b: *const T,
        x: *mut T,
        cells: [u32; 3],
        color: u32,
    ) {
        let parts = const { parts(K) };
        let shape = if correction.is_some() { const { first_shape(K) } } else { const { shape(K) } };
        let grid = Grid { cells, degree: K as u32 };
        let count = if SIDED { sides.count(color) } else { color_count(cells[0], bit(color, 0)) };
        let place = Place::new(shape.columns, shape.patches, count);
        let origin = grid.offset_2d(
            color_origin(K, bit(color, 0), place.patch),
            color_origin(K, bit(color, 1), thread::block_idx_y() as usize),
        );
        // Found anew each time: kept, it would take registers.
        let sided = || sides.patches(color, [place.patch as u32, made_here(thread::block_idx_y()), 0]);
        // SAFETY: the patch lies within the grid and its guard.
        let (b, x) = if SIDED { (b, x) } else { unsafe { (b.add(origin), x.add(origin)) } };
        let own = place.column;
        let index = [place.patch, thread::block_idx_y() as usize];
        let patch = Patch { grid, index, edges: place.slot * shape.words + parts.words };
        let tensor = Shared::<T>::at(place.slot * shape.words);
        let faces = Shared::<T>::at(place.slot * shape.words + parts.faces);
        let corners = Shared::<T>::at(place.slot * shape.words + parts.corners);
        let along_x = RowMajor::<M, M>::along_x(own, 0);
        let along_y = RowMajor::<M, M>::along_y(own, 0);
        // SAFETY: as above; of this color only this patch writes it, after barriers.
        let mut middle = if SIDED { unsafe { sided().middle_2d(x) } } else { unsafe { *x.add(grid.local_2d(K, K)) } };
        if let Some(correction) = correction {
            middle = middle + correction.coarse(patch, K / 2, K / 2);
        }
        let mut column = [T::ZERO; M];
        // In high degrees, registers are few until faces are transformed.
        let loads_late = SIDED && matches!(K, 8 | 9);
        if SIDED && !loads_late {
            // SAFETY: the caller's promise.
            column = unsafe { sided().load_2d::<T, M>(b, own + 1) };
        } else if !SIDED {
            for y in 0..M {
                // SAFETY: as above.
                column[y] = unsafe { *b.add(grid.local_2d(own + 1, y + 1)) };
            }
        }
        if let Some(correction) = correction {
            correction.prepare(patch, own);
        }
        // Faces: sum and difference of those normal to x, whose ends are the corners, then of those normal to y.
        for round in 0..4usize.div_ceil(M) {
            let task = own + round * M;
            if task < 4 {
                let (face, sign) = (task / 2, task % 2);
                // In `f64` degree 5 spills unless it is made anew, and degree 8 if it is.
                let row = if K == 5 { grid.remade() } else { grid }.row();
                let (normal, along) = if face == 0 { (1, row) } else { (row, 1) };
                // SAFETY: as above.
                let line = |start: usize| core::array::from_fn(|i| unsafe { *x.add(start + i * along) });
                let mut ends = if SIDED {
                    // SAFETY: the caller's promise.
                    unsafe { sided().edges_2d::<T, N>(x, face) }
                } else {
                    [line(0), line(2 * K * normal)]
                };
                if let Some(correction) = correction
                    && face == 0
                {
                    correction.add(patch, &mut ends);
                }
                let pair = sum_and_difference::<T, N>(&ends[0], &ends[1], middle);
                let line = select(&pair, sign);
                let (transformed, ends) = transform(matrices, &line);
                faces.write(Column { start: task * M, stride: 1 }, &transformed);
                if face == 0 {
                    corners.write(Column { start: 2 * sign, stride: 1 }, &ends);
                }
            }
        }
        if loads_late {
            // SAFETY: the caller's promise.
            column = unsafe { sided().load_2d::<T, M>(b, own + 1) };
        }
        tensor.write(along_y, &matrices.vectors.analyze(&column));
        thread::sync_threads();

        let mut row = matrices.vectors.analyze(&tensor.read::<M>(along_x));
        let (j, j_odd) = (own, is_odd::<K>(own));
        let (m_j, d_j) = table.boundary::<M>(M * M, j, 0);
        let x_faces = [faces.get(j), faces.get(M + j)];
        // All of `x̂_B` that has the factor `m_i`, by the parity of `i`.
        let x_term = |i_odd: usize| T::fma(-m_j, corners.get(2 * i_odd + j_odd), x_faces[i_odd]);
        let x_terms = [x_term(0), x_term(1)];
        // The table has what else couples, and its factor.
        let coupled = if coupling_has_factor::<T>(2, K) { x_faces } else { x_faces.map(|x_face| factor * x_face) };
        let y_faces = faces.read::<M>(Column { start: (2 + j_odd) * M, stride: 1 });
        // What the reaction makes of the constant that is taken from `x`, but for the sums along x.
        let constant =
            if SIDED { middle * (sides.reaction.factor * table.get(table_words(2, K) + j)) } else { T::ZERO };
        for i in 0..M {
            let y_face = y_faces[i];
            let mut residual = T::fma(-matrices.coupling[i], coupled[is_odd::<K>(i)], row[i]);
            if SIDED && i < K {
                residual = T::fma(-constant, sides.reaction.sums[i], residual);
            }
            residual = T::fma(-d_j, y_face, residual);
            let mut coefficient = residual * table.get(j + M * i);
            coefficient = T::fma(-matrices.mass_boundary[i], x_terms[is_odd::<K>(i)], coefficient);
            row[i] = T::fma(-m_j, y_face, coefficient);
        }
        tensor.write(along_x, &matrices.vectors.synthesize(&row));
        thread::sync_threads();

        let column = matrices.vectors.synthesize(&tensor.read::<M>(along_y));
        if place.active {
            if SIDED {
                let values = column.map(|value| value + middle);
                // SAFETY: unknowns of a patch that no other patch of the color shares.
                unsafe { sided().store_2d::<T, M>(x, own + 1, values) };
            } else {
                for y in 0..M {
                    // SAFETY: interior nodes of a patch that no other patch of the color shares.
                    unsafe { *x.add(grid.local_2d(own + 1, y + 1)) = column[y] + middle };
                }
            }
        }
    }
}
