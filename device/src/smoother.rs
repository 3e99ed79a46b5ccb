//! The vertex-patch smoother: one color, fused, exact local solver by fast diagonalization.
//!
//! The local solver is exact, so a step leaves `x_I = A_j⁻¹ (b_I - A_IB x_B)` on the interior of patch `j` (paper 1,
//! section 4.1.3) and need not read `x_I`. In one direction let `A S = M S Λ`, `Sᵀ M S = I` on the interior nodes, and
//! make the two boundary functions M-orthogonal to the interior ones: then no mass couples interior and boundary, the
//! stiffness couples by `d = Sᵀ A_IB - Λ m`, `m = Sᵀ M_IB`, and in the basis `S ⊗ S ⊗ S`
//!
//! ```text
//! ĉ_ijl = (b̂_ijl - d_i X_jl - d_j Y_il - d_l Z_ij) / (λ_i + λ_j + λ_l) - (m_i X_jl + m_j Y'_il + m_l Z'_ij)
//! b̂ = (S ⊗ S ⊗ S)ᵀ b_I,   x_I = (S ⊗ S ⊗ S) ĉ
//! ```
//!
//! with `X, Y, Z` the faces' values of `x`, transformed by `Sᵀ M` (all nodes) in their own directions. The bracket is
//! the transform of `x_B` extended by zero: it counts each boundary node once, so `Y'` leaves out the lines on x-faces
//! and `Z'` those on x- and y-faces. An interior function is even or odd about the vertex: opposite faces enter as sum
//! or as difference.

use crate::kernels::{Shape, columns, patch_nodes, patches_per_block};

/// Shared memory that the patches of a block may take, in `f64` words.
const WORDS_WANTED: usize = 6 * 1024;

/// Words of the first region: raw faces, then the tensor.
const fn tensor_words(dim: usize, degree: usize) -> usize {
    let (interior, all) = patch_nodes(degree);
    let (tensor, faces) = if dim == 3 { (interior.pow(3), 6 * all * all) } else { (interior.pow(2), 0) };
    if tensor > faces { tensor } else { faces }
}

/// Words of the second region: in 3D, ten half-transformed faces; in 2D, four raw and six transformed ones.
const fn face_words(dim: usize, degree: usize) -> usize {
    let (interior, all) = patch_nodes(degree);
    if dim == 3 { 10 * all * interior } else { 4 * all + 6 * interior }
}

/// Words of the smoother's table: `(2k - 1)^dim` inverse eigenvalue sums, `m` and `d`.
pub const fn table_words(dim: usize, degree: usize) -> usize {
    let interior = patch_nodes(degree).0;
    interior.pow(dim as u32) + 2 * interior
}

/// Its shape on a block: a thread owns a column of interior nodes.
pub const fn shape(dim: usize, degree: usize) -> Shape {
    let columns = columns(dim, patch_nodes(degree).0);
    let words = tensor_words(dim, degree) + face_words(dim, degree);
    let (by_threads, by_words) = (patches_per_block(columns), WORDS_WANTED / words);
    let patches = if by_words > 0 && by_words < by_threads { by_words } else { by_threads };
    Shape { columns, patches, words, barriers: if dim == 3 { 6 } else { 3 } }
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

    /// Transforms a line of all nodes of a face by `Sᵀ M`: `(interior nodes only, all nodes)`. The line is of the sum or
    /// of the difference of opposite faces, which does not matter here: its own ends do.
    #[inline(always)]
    fn transform<T: Real, const K: usize, const M: usize, const N: usize>(
        matrices: &SmootherMatrices<T, K, M>,
        line: &[T; N],
    ) -> ([T; M], [T; M]) {
        let mut interior = [T::ZERO; M];
        for i in 0..M {
            interior[i] = line[i + 1];
        }
        let interior = matrices.mass.analyze(&interior);
        let (sum, difference) = (line[0] + line[N - 1], line[0] - line[N - 1]);
        let mut all = interior;
        for i in 0..M {
            let ends = if SmootherMatrices::<T, K, M>::is_even(i) { sum } else { difference };
            all[i] = T::fma(matrices.mass_boundary[i], ends, all[i]);
        }
        (interior, all)
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
        let shape = const { shape(3, K) };
        let grid = Grid { cells, degree: K as u32 };
        let place = Place::new(shape, color_count(cells, bit(color, 0)));
        let origin = grid.offset_3d(
            color_origin(K, bit(color, 0), place.patch),
            color_origin(K, bit(color, 1), thread::block_idx_y() as usize),
            color_origin(K, bit(color, 2), thread::block_idx_z() as usize),
        );
        // SAFETY: the patch lies within the grid and its guard.
        let (b, x) = unsafe { (b.add(origin), x.add(origin)) };
        let (first, second) = (place.column % M, place.column / M);
        let tensor = Shared::<T>::at(place.slot * shape.words);
        let faces = Shared::<T>::at(place.slot * shape.words + tensor_words(3, K));

        let mut column = [T::ZERO; M];
        for z in 0..M {
            // SAFETY: as above.
            column[z] = unsafe { *b.add(grid.offset_3d(first + 1, second + 1, z + 1)) };
        }
        // Opposite faces as sum and difference: X (y, z), Y (x, z), Z (x, y).
        let raw = |face: usize, sign: usize| (2 * face + sign) * N * N;
        for round in 0..(N * N).div_ceil(M * M) {
            let index = place.column + round * M * M;
            if index < N * N {
                let (u, v) = (index % N, index / N);
                let places = [
                    (grid.offset_3d(0, u, v), grid.offset_3d(2 * K, u, v)),
                    (grid.offset_3d(u, 0, v), grid.offset_3d(u, 2 * K, v)),
                    (grid.offset_3d(u, v, 0), grid.offset_3d(u, v, 2 * K)),
                ];
                for face in 0..3 {
                    // SAFETY: as above.
                    let (low, high) = unsafe { (*x.add(places[face].0), *x.add(places[face].1)) };
                    tensor.set(raw(face, 0) + index, low + high);
                    tensor.set(raw(face, 1) + index, low - high);
                }
            }
        }
        let column = matrices.vectors.analyze(&column);
        thread::sync_threads();

        // First direction of each face. Pairs of faces in region two: X, Y, Y', Z, Z'.
        let pair = |which: usize, sign: usize| (2 * which + sign) * N * M;
        for round in 0..(6 * N).div_ceil(M * M) {
            let task = place.column + round * M * M;
            if task < 6 * N {
                let (face, line) = (task / (2 * N), task % (2 * N));
                let (sign, v) = (line / N, line % N);
                let values: [T; N] = tensor.read(Column { start: raw(face, sign) + v * N, stride: 1 });
                let (interior, all) = transform(matrices, &values);
                let target = if face == 2 { 3 } else { face };
                faces.write(Column { start: pair(target, sign) + v * M, stride: 1 }, &all);
                if face > 0 {
                    faces.write(Column { start: pair(target + 1, sign) + v * M, stride: 1 }, &interior);
                }
            }
        }
        thread::sync_threads();

        // Second direction of each face, in place.
        for round in 0..(10 * M).div_ceil(M * M) {
            let task = place.column + round * M * M;
            if task < 10 * M {
                let line = Column { start: task / M * (N * M) + task % M, stride: M };
                let values: [T; N] = faces.read(line);
                let (interior, all) = transform(matrices, &values);
                faces.write(line, if task >= 8 * M { &interior } else { &all });
            }
        }
        tensor.write(RowMajor::<M, M>::along_z(first, second), &column);
        thread::sync_threads();

        let along_y = RowMajor::<M, M>::along_y(first, second);
        let column = matrices.vectors.analyze(&tensor.read::<M>(along_y));
        tensor.write(along_y, &column);
        thread::sync_threads();

        let along_x = RowMajor::<M, M>::along_x(first, second);
        let mut row = matrices.vectors.analyze(&tensor.read::<M>(along_x));
        let (j, l) = (first, second);
        let (j_odd, l_odd) = ((j >= K) as usize, (l >= K) as usize);
        let x_faces = [faces.get(pair(0, 0) + l * M + j), faces.get(pair(0, 1) + l * M + j)];
        let ((m_j, d_j), (m_l, d_l)) = (table.boundary::<M>(M * M * M, j), table.boundary::<M>(M * M * M, l));
        for i in 0..M {
            let x_face = x_faces[!SmootherMatrices::<T, K, M>::is_even(i) as usize];
            let (y_place, z_place) = (l * M + i, j * M + i);
            let mut residual = T::fma(-matrices.coupling[i], x_face, row[i]);
            residual = T::fma(-d_j, faces.get(pair(1, j_odd) + y_place), residual);
            residual = T::fma(-d_l, faces.get(pair(3, l_odd) + z_place), residual);
            let mut boundary = matrices.mass_boundary[i] * x_face;
            boundary = T::fma(m_j, faces.get(pair(2, j_odd) + y_place), boundary);
            boundary = T::fma(m_l, faces.get(pair(4, l_odd) + z_place), boundary);
            // The table is symmetric in its indices, so lanes read neighbours.
            row[i] = residual * table.get(place.column + M * M * i) - boundary;
        }
        tensor.write(along_x, &matrices.vectors.synthesize(&row));
        thread::sync_threads();

        let column = matrices.vectors.synthesize(&tensor.read::<M>(along_y));
        tensor.write(along_y, &column);
        thread::sync_threads();

        let column = matrices.vectors.synthesize(&tensor.read::<M>(RowMajor::<M, M>::along_z(first, second)));
        if place.active {
            for z in 0..M {
                // SAFETY: interior nodes of a patch that no other patch of the color shares.
                unsafe { *x.add(grid.offset_3d(first + 1, second + 1, z + 1)) = column[z] };
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
        let shape = const { shape(2, K) };
        let grid = Grid { cells, degree: K as u32 };
        let place = Place::new(shape, color_count(cells, bit(color, 0)));
        let origin = grid.offset_2d(
            color_origin(K, bit(color, 0), place.patch),
            color_origin(K, bit(color, 1), thread::block_idx_y() as usize),
        );
        // SAFETY: the patch lies within the grid and its guard.
        let (b, x) = unsafe { (b.add(origin), x.add(origin)) };
        let own = place.column;
        let tensor = Shared::<T>::at(place.slot * shape.words);
        let raw = Shared::<T>::at(place.slot * shape.words + tensor_words(2, K));
        let faces = Shared::<T>::at(place.slot * shape.words + tensor_words(2, K) + 4 * N);

        let mut column = [T::ZERO; M];
        for y in 0..M {
            // SAFETY: as above.
            column[y] = unsafe { *b.add(grid.offset_2d(own + 1, y + 1)) };
        }
        for round in 0..N.div_ceil(M) {
            let u = own + round * M;
            if u < N {
                let places = [
                    (grid.offset_2d(0, u), grid.offset_2d(2 * K, u)),
                    (grid.offset_2d(u, 0), grid.offset_2d(u, 2 * K)),
                ];
                for face in 0..2 {
                    // SAFETY: as above.
                    let (low, high) = unsafe { (*x.add(places[face].0), *x.add(places[face].1)) };
                    raw.set(2 * face * N + u, low + high);
                    raw.set((2 * face + 1) * N + u, low - high);
                }
            }
        }
        tensor.write(RowMajor::<M, M>::along_y(own, 0), &matrices.vectors.analyze(&column));
        thread::sync_threads();

        // Pairs of faces: X (y), Y (x), Y' (x).
        for round in 0..4usize.div_ceil(M) {
            let task = own + round * M;
            if task < 4 {
                let values: [T; N] = raw.read(Column { start: task * N, stride: 1 });
                let (interior, all) = transform(matrices, &values);
                faces.write(Column { start: task * M, stride: 1 }, &all);
                if task >= 2 {
                    faces.write(Column { start: (task + 2) * M, stride: 1 }, &interior);
                }
            }
        }
        thread::sync_threads();

        let along_x = RowMajor::<M, M>::along_x(own, 0);
        let mut row = matrices.vectors.analyze(&tensor.read::<M>(along_x));
        let j = own;
        let j_odd = (j >= K) as usize;
        let x_faces = [faces.get(j), faces.get(M + j)];
        let (m_j, d_j) = table.boundary::<M>(M * M, j);
        for i in 0..M {
            let x_face = x_faces[!SmootherMatrices::<T, K, M>::is_even(i) as usize];
            let mut residual = T::fma(-matrices.coupling[i], x_face, row[i]);
            residual = T::fma(-d_j, faces.get((2 + j_odd) * M + i), residual);
            let boundary = T::fma(m_j, faces.get((4 + j_odd) * M + i), matrices.mass_boundary[i] * x_face);
            // The table is symmetric in its indices, so lanes read neighbours.
            row[i] = residual * table.get(j + M * i) - boundary;
        }
        tensor.write(along_x, &matrices.vectors.synthesize(&row));
        thread::sync_threads();

        let column = matrices.vectors.synthesize(&tensor.read::<M>(RowMajor::<M, M>::along_y(own, 0)));
        if place.active {
            for y in 0..M {
                // SAFETY: interior nodes of a patch that no other patch of the color shares.
                unsafe { *x.add(grid.offset_2d(own + 1, y + 1)) = column[y] };
            }
        }
    }
}
