//! The vertex-patch smoother: one color, fused, exact local solver by fast diagonalization.
//!
//! The local solver is exact, so a step leaves `x_I = A_j⁻¹ (b_I - A_IB x_B)` on the interior of patch `j` (paper 1,
//! section 4.1.3) and need not read `x_I`. In one direction let `A S = M S Λ`, `Sᵀ M S = I` on the interior nodes, and
//! make the two boundary functions M-orthogonal to the interior ones: then no mass couples interior and boundary, the
//! stiffness couples by `d = Sᵀ A_IB - Λ m`, `m = Sᵀ M_IB`, and in the basis `S ⊗ S ⊗ S`
//!
//! ```text
//! ĉ = (b̂_ijl - d_i X_jl - d_j Y_il - d_l Z_ij) / (λ_i + λ_j + λ_l) - x̂_B
//! x̂_B = m_i X_jl + m_j Y_il + m_l Z_ij - m_i m_j E^xy_l - m_j m_l E^yz_i - m_i m_l E^zx_j + m_i m_j m_l C
//! b̂ = (S ⊗ S ⊗ S)ᵀ b_I,   x_I = (S ⊗ S ⊗ S) ĉ
//! ```
//!
//! with `X, Y, Z` the faces' values of `x`, transformed by `Sᵀ M` (all nodes) in their own directions, and `E` and `C`
//! likewise edges and corners: `x̂_B`, the transform of `x_B` extended by zero, counts each boundary node once. An
//! interior function is even or odd about the vertex, so opposite faces enter as their sum or as their difference, and
//! edges and corners with a sign for each direction.
//!
//! A constant is in the kernel of `(A_II A_IB)`: all is done on `x_B` less the old value at the vertex, which is added in
//! the end. A smooth `x` varies little on a patch, so that what rounding leaves of it is less by as much; in `f32` on a
//! fine mesh the operator would enlarge it to what the next iteration has to remove.

use crate::kernels::{Shape, columns, patch_nodes, patches_per_block};

/// Shared memory that the patches of a block may take, in `f64` words.
const WORDS_WANTED: usize = 6 * 1024;

/// Where the parts of a patch's shared memory begin, in words.
struct Parts {
    /// Transformed faces, a pair (sum and difference) a direction; the tensor is before them.
    faces: usize,
    /// Transformed edges, four (a sign in each of two directions) a direction.
    edges: usize,
    /// Corners at both ends of y, four (a sign in x and in z).
    corners: usize,
    words: usize,
}

const fn parts(dim: usize, degree: usize) -> Parts {
    let (m, n) = patch_nodes(degree);
    let faces = m.pow(dim as u32);
    let edges = faces + 2 * dim * if dim == 3 { n * m } else { m };
    let corners = edges + if dim == 3 { 12 * m } else { 0 };
    Parts { faces, edges, corners, words: corners + if dim == 3 { 8 } else { 4 } }
}

/// Words of the smoother's table: `(2k - 1)^dim` inverse eigenvalue sums, `m` and `d`.
pub const fn table_words(dim: usize, degree: usize) -> usize {
    let interior = patch_nodes(degree).0;
    interior.pow(dim as u32) + 2 * interior
}

/// Its shape on a block: a thread owns a column of interior nodes.
pub const fn shape(dim: usize, degree: usize) -> Shape {
    let columns = columns(dim, patch_nodes(degree).0);
    let words = parts(dim, degree).words;
    let (by_threads, by_words) = (patches_per_block(columns), WORDS_WANTED / words);
    let patches = if by_words > 0 && by_words < by_threads { by_words } else { by_threads };
    Shape { columns, patches, words, barriers: if dim == 3 { 4 } else { 2 } }
}

pub use device::*;

mod device {
    use super::*;
    use crate::block::Place;
    use crate::layout::{Column, RowMajor, Shared};
    use crate::matrices::SmootherMatrices;
    use crate::patch::{Grid, bit, color_count, color_origin};
    use crate::scalar::Real;
    use cuda_std::shared::Word;
    use cuda_std::thread;

    /// What a thread looks up by its own column, in global memory: `1 / (λ_i + λ_j [+ λ_l])`, then `m`, then `d`.
    ///
    /// A kernel's own arguments cannot be indexed at run time: the compiler would copy them to local memory.
    #[repr(transparent)]
    #[derive(Clone, Copy)]
    pub struct Table<T>(*const T);

    impl<T: Real> Table<T> {
        /// From the device address of [`table_words`] numbers.
        ///
        /// # Safety
        /// They are there as long as the kernel runs.
        #[inline(always)]
        pub unsafe fn new(start: *const T) -> Self {
            Self(start)
        }

        #[inline(always)]
        fn get(self, index: usize) -> T {
            // SAFETY: the promise of `new`; indices stay below `table_words`.
            unsafe { *self.0.add(index) }
        }

        /// `(m, d)` of a function, behind `eigenvalues` inverse sums.
        #[inline(always)]
        fn boundary<const M: usize>(self, eigenvalues: usize, function: usize) -> (T, T) {
            (self.get(eigenvalues + function), self.get(eigenvalues + M + function))
        }
    }

    /// A line of all nodes of a face, transformed by `Sᵀ M`, and the sum and the difference of its ends. The line itself
    /// may be one of a sum or of a difference of opposite faces.
    #[inline(always)]
    fn transform<T: Real, const K: usize, const M: usize, const N: usize>(
        matrices: &SmootherMatrices<T, K, M>,
        line: &[T; N],
    ) -> ([T; M], [T; 2]) {
        let mut interior = [T::ZERO; M];
        for i in 0..M {
            interior[i] = line[i + 1];
        }
        let mut transformed = matrices.mass.analyze(&interior);
        let ends = [line[0] + line[N - 1], line[0] - line[N - 1]];
        for i in 0..M {
            transformed[i] = T::fma(matrices.mass_boundary[i], ends[is_odd::<K>(i)], transformed[i]);
        }
        (transformed, ends)
    }

    /// 0 for an even function, 1 for an odd one: sum or difference.
    #[inline(always)]
    const fn is_odd<const K: usize>(function: usize) -> usize {
        (function >= K) as usize
    }

    /// A line of nodes on a pair of opposite faces, each less `middle`: `low + high` for sign 0, `low - high` for sign 1.
    ///
    /// # Safety
    /// All of both lines may be read.
    #[inline(always)]
    unsafe fn pair_of_lines<T: Real, const N: usize>(
        low: *const T,
        across: usize,
        along: usize,
        sign: usize,
        middle: T,
    ) -> [T; N] {
        let factor = if sign == 0 { T::from_f64(1.0) } else { T::from_f64(-1.0) };
        let mut line = [T::ZERO; N];
        for i in 0..N {
            // SAFETY: the caller's promise.
            line[i] = unsafe { T::fma(factor, *low.add(across + i * along) - middle, *low.add(i * along) - middle) };
        }
        line
    }

    /// The smoother in 3D.
    ///
    /// # Safety
    /// Launched as its [`shape`] says; `b` and `x` are vectors of the grid.
    #[inline(always)]
    pub unsafe fn smooth_3d<T: Real + Word, const K: usize, const M: usize, const N: usize>(
        matrices: &SmootherMatrices<T, K, M>,
        table: Table<T>,
        b: *const T,
        x: *mut T,
        cells: u32,
        color: u32,
    ) {
        let (shape, parts) = const { (shape(3, K), parts(3, K)) };
        let grid = Grid { cells, degree: K as u32 };
        let place = Place::new(shape.columns, shape.patches, color_count(cells, bit(color, 0)));
        let origin = grid.offset_3d(
            color_origin(K, bit(color, 0), place.patch),
            color_origin(K, bit(color, 1), thread::block_idx_y() as usize),
            color_origin(K, bit(color, 2), thread::block_idx_z() as usize),
        );
        // SAFETY: the patch lies within the grid and its guard.
        let (b, x) = unsafe { (b.add(origin), x.add(origin)) };
        let (first, second) = (place.column % M, place.column / M);
        let tensor = Shared::<T>::at(place.slot * shape.words);
        let faces = Shared::<T>::at(place.slot * shape.words + parts.faces);
        let edges = Shared::<T>::at(place.slot * shape.words + parts.edges);
        let corners = Shared::<T>::at(place.slot * shape.words + parts.corners);
        let along_x = RowMajor::<M, M>::along_x(first, second);
        let along_y = RowMajor::<M, M>::along_y(first, second);
        let along_z = RowMajor::<M, M>::along_z(first, second);
        // SAFETY: as above; of this color only this patch writes it, after barriers.
        let middle = unsafe { *x.add(grid.local_3d(K, K, K)) };

        let mut column = [T::ZERO; M];
        for z in 0..M {
            // SAFETY: as above.
            column[z] = unsafe { *b.add(grid.local_3d(first + 1, second + 1, z + 1)) };
        }

        // Where registers are short the column leaves them now, else its loads go on behind those of the faces.
        let column_first = K > 6;
        if column_first {
            tensor.write(along_z, &matrices.vectors.analyze(&column));
        }

        // Faces, first transform. Face 0 is normal to x, its lines run along z and lie side by side in y; the others
        // follow by rotation. A thread does both signs of a line where there are more lines than threads.
        let rotated = |direction: usize| match direction % 3 {
            0 => 1,
            1 => grid.local_2d(0, 1),
            _ => grid.local_3d(0, 0, 1),
        };
        let signs = if 6 * N <= M * M { 1 } else { 2 };
        let tasks = 6 * N / signs;
        for round in 0..tasks.div_ceil(M * M) {
            let task = place.column + round * M * M;
            if task < tasks {
                let (pair, lane) = (task / N, task % N);
                let (face, first_sign) = if signs == 1 { (pair / 2, pair % 2) } else { (pair, 0) };
                let (across, along) = (2 * K * rotated(face), rotated(face + 2));
                for sign in first_sign..first_sign + signs {
                    // SAFETY: as above.
                    let line =
                        unsafe { pair_of_lines::<T, N>(x.add(lane * rotated(face + 1)), across, along, sign, middle) };
                    let (transformed, ends) = transform(matrices, &line);
                    let start = ((2 * face + sign) * N + lane) * M;
                    faces.write(Column { start, stride: 1 }, &transformed);
                    if face == 0 && (lane == 0 || lane == N - 1) {
                        let start = 4 * (lane / (N - 1)) + 2 * sign;
                        corners.write(Column { start, stride: 1 }, &ends);
                    }
                }
            }
        }
        if !column_first {
            tensor.write(along_z, &matrices.vectors.analyze(&column));
        }
        thread::sync_threads();

        // Faces, second transform, in place; the lines' ends are the edges.
        for round in 0..(6 * M).div_ceil(M * M) {
            let task = place.column + round * M * M;
            if task < 6 * M {
                let (pair, index) = (task / M, task % M);
                let line = Column { start: pair * N * M + index, stride: M };
                let (transformed, ends) = transform(matrices, &faces.read::<N>(line));
                faces.write(line, &transformed);
                edges.write(Column { start: 2 * pair * M + index, stride: M }, &ends);
            }
        }
        tensor.write(along_x, &matrices.vectors.analyze(&tensor.read::<M>(along_x)));
        thread::sync_threads();

        let mut column = matrices.vectors.analyze(&tensor.read::<M>(along_y));
        let (i, l) = (first, second);
        let (i_odd, l_odd) = (is_odd::<K>(i), is_odd::<K>(l));
        let ((m_i, d_i), (m_l, d_l)) = (table.boundary::<M>(M * M * M, i), table.boundary::<M>(M * M * M, l));
        let x_face = |j: usize| faces.get(i_odd * N * M + j * M + l);
        let y_face = |j_odd: usize| faces.get((2 + j_odd) * N * M + l * M + i);
        let z_face = |j: usize| faces.get((4 + l_odd) * N * M + i * M + j);
        let xy_edge = |j_odd: usize| edges.get((2 * i_odd + j_odd) * M + l);
        let yz_edge = |j_odd: usize| edges.get((4 + 2 * j_odd + l_odd) * M + i);
        let zx_edge = |j: usize| edges.get((8 + 2 * l_odd + i_odd) * M + j);
        let corner = [corners.get(2 * i_odd + l_odd), corners.get(4 + 2 * i_odd + l_odd)];
        let m_il = m_i * m_l;
        let y_faces = [y_face(0), y_face(1)];
        // All of `x̂_B` that has the factor `m_j`, by the parity of `j`.
        let y_terms = [corner[0] + corner[1], corner[0] - corner[1]];
        let y_term = |j_odd: usize| {
            let edges = T::fma(m_i, xy_edge(j_odd), m_l * yz_edge(j_odd));
            T::fma(m_il, y_terms[j_odd], y_faces[j_odd] - edges)
        };
        let y_terms = [y_term(0), y_term(1)];
        for j in 0..M {
            // The table is symmetric in its indices, so lanes read neighbours.
            let inverse = table.get(place.column + M * M * j);
            let (x_face, z_face) = (x_face(j), z_face(j));
            let mut residual = T::fma(-matrices.coupling[j], y_faces[is_odd::<K>(j)], column[j]);
            residual = T::fma(-d_i, x_face, residual);
            residual = T::fma(-d_l, z_face, residual);
            let mut coefficient = residual * inverse;
            coefficient = T::fma(-matrices.mass_boundary[j], y_terms[is_odd::<K>(j)], coefficient);
            coefficient = T::fma(-m_i, x_face, coefficient);
            coefficient = T::fma(-m_l, z_face, coefficient);
            column[j] = T::fma(m_il, zx_edge(j), coefficient);
        }
        tensor.write(along_y, &matrices.vectors.synthesize(&column));
        thread::sync_threads();

        tensor.write(along_x, &matrices.vectors.synthesize(&tensor.read::<M>(along_x)));
        thread::sync_threads();

        let column = matrices.vectors.synthesize(&tensor.read::<M>(along_z));
        if place.active {
            for z in 0..M {
                // SAFETY: interior nodes of a patch that no other patch of the color shares.
                unsafe { *x.add(grid.local_3d(first + 1, second + 1, z + 1)) = column[z] + middle };
            }
        }
    }

    /// The smoother in 2D.
    ///
    /// # Safety
    /// Launched as its [`shape`] says; `b` and `x` are vectors of the grid.
    #[inline(always)]
    pub unsafe fn smooth_2d<T: Real + Word, const K: usize, const M: usize, const N: usize>(
        matrices: &SmootherMatrices<T, K, M>,
        table: Table<T>,
        b: *const T,
        x: *mut T,
        cells: u32,
        color: u32,
    ) {
        let (shape, parts) = const { (shape(2, K), parts(2, K)) };
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
                let line = unsafe { pair_of_lines::<T, N>(x, 2 * K * normal, along, sign, middle) };
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
