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

/// Shared memory that the patches of a block may take in 2D, in `f64` words.
const WORDS_WANTED: usize = 6 * 1024;

/// How a block in 3D is laid out.
struct Tuning {
    /// Patches of a block, of the numbers that leave few threads of the last warp idle.
    patches: usize,
    /// Words between transformed faces, of the numbers below 32 the one with the fewest bank conflicts.
    face_padding: usize,
    /// Blocks of a multiprocessor that the registers of a thread leave room for, in `f32` and in `f64`.
    resident: [u32; 2],
}

const fn tuned(patches: usize, face_padding: usize, resident: [u32; 2]) -> Tuning {
    Tuning { patches, face_padding, resident }
}

/// By degree; beside it the step in `f32` and `f64`, in percent of the floor of 3 words a dof and color, on an H200.
const TUNING_3D: [Tuning; 8] = [
    tuned(32, 0, [1, 1]), // 39, 40
    tuned(13, 0, [1, 7]), // 55, 73
    tuned(5, 0, [5, 1]),  // 65, 78
    tuned(5, 14, [5, 3]), // 66, 80
    tuned(1, 0, [13, 1]), // 57, 65
    tuned(1, 4, [8, 5]),  // 61, 73
    tuned(1, 0, [3, 2]),  // 49, 61
    tuned(1, 24, [2, 1]), // 45, 47
];

/// Where the parts of a block's shared memory begin, in words. All of them are for all patches, one after the other; in 3D
/// the nodes of the patches' faces lie before them.
struct Parts {
    /// Words of a tensor.
    tensor: usize,
    /// Words of a transformed face; there are a pair (sum and difference) a direction.
    face: usize,
    faces: usize,
    /// Transformed edges, four (a sign in each of two directions) a direction.
    edges: usize,
    /// Corners at both ends of one direction, four (a sign in each of the other two).
    corners: usize,
    words: usize,
}

const fn parts(dim: usize, degree: usize, patches: usize) -> Parts {
    let (m, n) = patch_nodes(degree);
    if dim == 2 {
        let tensor = m * m;
        let (faces, edges) = (tensor * patches, (tensor + 4 * m) * patches);
        return Parts { tensor, face: m, faces, edges, corners: edges, words: edges + 4 * patches };
    }
    let tensor = m.pow(3);
    let face = n * m + TUNING_3D[degree - 1].face_padding;
    let faces = tensor * patches;
    let edges = faces + 6 * face * patches;
    let corners = edges + 12 * m * patches;
    Parts { tensor, face, faces, edges, corners, words: corners + 9 * patches }
}

/// Words of the smoother's table: `(2k - 1)^dim` inverse eigenvalue sums, `m` and `d`.
pub const fn table_words(dim: usize, degree: usize) -> usize {
    let interior = patch_nodes(degree).0;
    interior.pow(dim as u32) + 2 * interior
}

/// Words of shared memory that a block has besides those of its patches: in 3D all nodes of `p` patches side by side are
/// `(2k p + 1) (2k + 1)²`, of which `(2k + 1)²` are the common ones.
pub const fn common_words(dim: usize, degree: usize) -> usize {
    if dim == 3 { patch_nodes(degree).1.pow(2) } else { 0 }
}

/// Its shape on a block: a thread owns a column of interior nodes.
pub const fn shape(dim: usize, degree: usize) -> Shape {
    let (m, n) = patch_nodes(degree);
    let (columns, words) = (columns(dim, m), parts(dim, degree, 1).words);
    if dim == 3 {
        return Shape {
            columns,
            patches: TUNING_3D[degree - 1].patches,
            words: words + 2 * degree * n * n,
            barriers: 5,
        };
    }
    let (by_threads, by_words) = (patches_per_block(columns), WORDS_WANTED / words);
    let patches = if by_words > 0 && by_words < by_threads { by_words } else { by_threads };
    Shape { columns, patches, words, barriers: 2 }
}

/// Blocks of a multiprocessor that the registers of a thread leave room for.
pub const fn min_blocks(dim: usize, degree: usize, scalar_bytes: usize) -> u32 {
    if dim == 3 { TUNING_3D[degree - 1].resident[scalar_bytes / 8] } else { 1 }
}

pub use device::*;

mod device {
    use super::*;
    use crate::block::{Place, along_rows};
    use crate::layout::{Column, RowMajor, Shared};
    use crate::matrices::SmootherMatrices;
    use crate::patch::{Grid, bit, color_count, color_origin};
    use crate::scalar::Real;
    use cuda_std::shared::{Word, wait_for_copies};
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
    #[inline(always)]
    fn pair_of_lines<T: Real, const N: usize>(low: &[T; N], high: &[T; N], middle: T, sign: usize) -> [T; N] {
        let factor = if sign == 0 { T::from_f64(1.0) } else { T::from_f64(-1.0) };
        let mut line = [T::ZERO; N];
        for i in 0..N {
            line[i] = T::fma(factor, high[i] - middle, low[i] - middle);
        }
        line
    }

    /// The nodes of all patches of a block, side by side in x: rows of `width` nodes, `N` rows a plane and `N` planes.
    struct Stage<T> {
        nodes: Shared<T>,
        width: usize,
    }

    impl<T: Real + Word> Stage<T> {
        /// Starts to copy the nodes on the faces, and at the vertices, of `patches` patches whose first node is `x`: a row
        /// by neighbouring threads, so that a warp reads few lines of memory.
        ///
        /// # Safety
        /// These patches lie within the grid, and nobody writes them until the copies have ended.
        #[inline(always)]
        unsafe fn copy<const K: usize, const N: usize>(&self, threads: usize, x: *const T, grid: Grid, patches: usize) {
            let thread = thread::thread_idx_x() as usize;
            let (rows, rounds) =
                if threads < self.width { (1, self.width.div_ceil(threads)) } else { (threads / self.width, 1) };
            for round in 0..rounds {
                let first = thread + round * threads;
                let (column, row) = (first % self.width, first / self.width);
                if row >= rows || column > 2 * K * patches {
                    continue;
                }
                for i in 0..N.div_ceil(rows) {
                    let y = row + i * rows;
                    let on_face = y == 0 || y == 2 * K || column % (2 * K) == 0;
                    let on_middle = y == K && column % (2 * K) == K;
                    for z in 0..N {
                        if y < N && (z == 0 || z == 2 * K || on_face || z == K && on_middle) {
                            // SAFETY: the caller's promise.
                            unsafe {
                                let source = x.add(grid.local_3d(column, y, z));
                                self.nodes.copy(column + self.width * (y + N * z), source);
                            }
                        }
                    }
                }
            }
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

        /// Line `lane` on the pair of faces of patch `slot` that are normal to direction `face`: it runs in the direction
        /// after, lines lie side by side in the one after that.
        #[inline(always)]
        fn lines<const K: usize, const N: usize>(&self, slot: usize, face: usize, lane: usize) -> [[T; N]; 2] {
            let start = slot * 2 * K + lane * self.stride::<N>(face + 2);
            let stride = self.stride::<N>(face + 1);
            let line = |start: usize| self.nodes.read::<N>(Column { start, stride });
            [line(start), line(start + 2 * K * self.stride::<N>(face))]
        }

        /// The node at the vertex of patch `slot`.
        #[inline(always)]
        fn middle<const K: usize, const N: usize>(&self, slot: usize) -> T {
            self.nodes.get(slot * 2 * K + K + self.width * (K + N * K))
        }
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
        let (shape, parts) = const { (shape(3, K), parts(3, K, shape(3, K).patches)) };
        let threads = shape.columns * shape.patches;
        let grid = Grid { cells, degree: K as u32 };
        let count = color_count(cells, bit(color, 0)) as usize;
        // Threads along a row of all patches: for global memory, and the columns along z and y.
        let thread = thread::thread_idx_x() as usize;
        let [first, slot, second] = along_rows(M, shape.patches);
        let block = thread::block_idx_x() as usize * shape.patches;
        let patches = (count - block).min(shape.patches);
        let origin = grid.offset_3d(
            color_origin(K, bit(color, 0), block),
            color_origin(K, bit(color, 1), thread::block_idx_y() as usize),
            color_origin(K, bit(color, 2), thread::block_idx_z() as usize),
        );
        // SAFETY: the patches lie within the grid and its guard.
        let (b, x) = unsafe { (b.add(origin), x.add(origin)) };
        let node = |z: usize| grid.local_3d(2 * K * slot + first + 1, second + 1, z + 1);
        let stage = Stage { nodes: Shared::<T>::at(0), width: 2 * K * shape.patches + 1 };
        let stage_words = stage.width * N * N;
        let part = |offset: usize| Shared::<T>::at(stage_words + offset);
        let tensor = |slot: usize| part(slot * parts.tensor);
        // Of a patch; `pair` is twice the direction that the faces are normal to, and the sign.
        let face = |pair: usize, slot: usize| part(parts.faces + (pair * shape.patches + slot) * parts.face);
        let edge = |edge: usize, slot: usize| part(parts.edges + (edge * shape.patches + slot) * M);
        // An odd distance keeps the patches in different banks.
        let corners = |slot: usize| part(parts.corners + slot * 9);
        // SAFETY: as above; of this color only a patch itself writes its interior, and its vertex after barriers.
        unsafe { stage.copy::<K, N>(threads, x, grid, patches) };

        let mut column = [T::ZERO; M];
        if slot < patches {
            for z in 0..M {
                // SAFETY: as above.
                column[z] = unsafe { *b.add(node(z)) };
            }
        }
        let along_z = RowMajor::<M, M>::along_z(first, second);
        tensor(slot).write(along_z, &matrices.vectors.analyze(&column));
        wait_for_copies();
        thread::sync_threads();

        // Faces, first transform: those of all patches that are normal to x, then those to y, then to z. A thread does
        // both signs of a line where there are more lines than threads.
        let signs = if 6 * N <= M * M { 1 } else { 2 };
        let tasks = 6 * N / signs * shape.patches;
        for round in 0..tasks.div_ceil(threads) {
            let task = thread + round * threads;
            if task < tasks {
                let (group, slot, lane) = (task / (N * shape.patches), task / N % shape.patches, task % N);
                let (normal, first_sign) = if signs == 1 { (group / 2, group % 2) } else { (group, 0) };
                let [low, high] = stage.lines::<K, N>(slot, normal, lane);
                let middle = stage.middle::<K, N>(slot);
                for sign in first_sign..first_sign + signs {
                    let line = pair_of_lines(&low, &high, middle, sign);
                    let (transformed, ends) = transform(matrices, &line);
                    let row = Column { start: lane * M, stride: 1 };
                    face(2 * normal + sign, slot).write(row, &transformed);
                    if normal == 0 && (lane == 0 || lane == N - 1) {
                        let start = 4 * (lane / (N - 1)) + 2 * sign;
                        corners(slot).write(Column { start, stride: 1 }, &ends);
                    }
                }
            }
        }
        thread::sync_threads();

        // Faces, second transform, in place; the lines' ends are the edges.
        for round in 0..(6 * M * shape.patches).div_ceil(threads) {
            let task = thread + round * threads;
            if task < 6 * M * shape.patches {
                let (pair, slot, index) = (task % 6, task / 6 % shape.patches, task / (6 * shape.patches));
                let line = Column { start: index, stride: M };
                let (transformed, ends) = transform(matrices, &face(pair, slot).read::<N>(line));
                face(pair, slot).write(line, &transformed);
                for sign in 0..2 {
                    edge(2 * pair + sign, slot).set(index, ends[sign]);
                }
            }
        }
        // Rows: threads of a patch side by side have no bank conflicts.
        let (row_slot, row) = (thread / (M * M), thread % (M * M));
        let row_tensor = tensor(row_slot);
        let along_x = RowMajor::<M, M>::along_x(row % M, row / M);
        row_tensor.write(along_x, &matrices.vectors.analyze(&row_tensor.read::<M>(along_x)));
        thread::sync_threads();

        // Columns along y: of the two orders of threads the one with fewer bank conflicts.
        let (y_slot, i, l) = if K < 4 { (row_slot, row % M, row / M) } else { (slot, first, second) };
        let along_y = RowMajor::<M, M>::along_y(i, l);
        let mut column = matrices.vectors.analyze(&tensor(y_slot).read::<M>(along_y));
        let (i_odd, l_odd) = (is_odd::<K>(i), is_odd::<K>(l));
        let ((m_i, d_i), (m_l, d_l)) = (table.boundary::<M>(M * M * M, i), table.boundary::<M>(M * M * M, l));
        let x_face = |j: usize| face(i_odd, y_slot).get(l * M + j);
        let y_face = |j_odd: usize| face(2 + j_odd, y_slot).get(i * M + l);
        let z_face = |j: usize| face(4 + l_odd, y_slot).get(j * M + i);
        let zx_edge = |j: usize| edge(2 * i_odd + l_odd, y_slot).get(j);
        let xy_edge = |j_odd: usize| edge(4 + 2 * j_odd + i_odd, y_slot).get(l);
        let yz_edge = |j_odd: usize| edge(8 + 2 * l_odd + j_odd, y_slot).get(i);
        let l_sign = T::from_f64(if l_odd == 0 { 1.0 } else { -1.0 });
        let corner = |j_odd: usize| {
            let at_end = |end: usize| corners(y_slot).get(4 * end + 2 * i_odd + j_odd);
            T::fma(l_sign, at_end(1), at_end(0))
        };
        let m_il = m_i * m_l;
        let y_faces = [y_face(0), y_face(1)];
        // All of `x̂_B` that has the factor `m_j`, by the parity of `j`.
        let y_term = |j_odd: usize| {
            let edges = T::fma(m_i, xy_edge(j_odd), m_l * yz_edge(j_odd));
            T::fma(m_il, corner(j_odd), y_faces[j_odd] - edges)
        };
        let y_terms = [y_term(0), y_term(1)];
        for j in 0..M {
            // The table is symmetric in its indices, so lanes read neighbours.
            let inverse = table.get(i + M * (l + M * j));
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
        tensor(y_slot).write(along_y, &matrices.vectors.synthesize(&column));
        thread::sync_threads();

        row_tensor.write(along_x, &matrices.vectors.synthesize(&row_tensor.read::<M>(along_x)));
        thread::sync_threads();

        let column = matrices.vectors.synthesize(&tensor(slot).read::<M>(along_z));
        let middle = stage.middle::<K, N>(slot);
        if slot < patches {
            for z in 0..M {
                // SAFETY: interior nodes of a patch that no other patch of the color shares.
                unsafe { *x.add(node(z)) = column[z] + middle };
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
        let (shape, parts) = const { (shape(2, K), parts(2, K, 1)) };
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
                let line = pair_of_lines::<T, N>(&line(0), &line(2 * K * normal), middle, sign);
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
