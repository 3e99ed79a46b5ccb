//! A step in 3D: a block has a row of neighbouring patches, as they lie in the grid.
//!
//! What belongs to the patches lies in shared memory row by row: `2k - 1` words of the first patch, then those of the
//! next. A tensor has a row for each `(y, z)`, a transformed face one for each line, so that threads along rows, of the
//! grid and of shared memory alike, are neighbours whatever they own: a column along z, along y, or a row.

use super::stage::StageShape;
use crate::kernels::{Shape, patch_nodes};
use Warps::{ByDirection, Packed};

pub use device::{smooth_3d, step_3d};

/// Which lines of faces a warp transforms first.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Warps {
    /// Those of one direction, whose strides are constants.
    ByDirection,
    /// Those of any direction and sign: fewer warps.
    Packed,
}

/// How a block is laid out.
#[derive(Clone, Copy)]
struct Tuning {
    /// Patches of a block, of the numbers that leave few threads of the last warp idle.
    patches: usize,
    /// Neighbouring threads transform the same line of a face in so many neighbouring patches, a divisor of `patches`, then
    /// the next line.
    abreast: usize,
    /// Words between the lines of a transformed face, and between faces, of the numbers below 32 those with the fewest bank
    /// conflicts.
    padding: [usize; 2],
    /// Words between the rows and between the planes of the stage, whole chunks, few of those with few bank conflicts.
    stage: [usize; 2],
    warps: Warps,
    /// Blocks of a multiprocessor that the registers of a thread leave room for.
    resident: u32,
}

const fn tuned(
    patches: usize,
    abreast: usize,
    padding: [usize; 2],
    stage: [usize; 2],
    warps: Warps,
    resident: u32,
) -> Tuning {
    assert!(patches.is_multiple_of(abreast));
    Tuning { patches, abreast, padding, stage, warps, resident }
}

/// By degree, in `f32` and in `f64`; beside it the step in percent of the floor of 3 words a dof and color, on an H200.
const TUNING: [[Tuning; 2]; 8] = [
    [tuned(32, 32, [0, 0], [0, 0], ByDirection, 1), tuned(32, 32, [0, 0], [0, 0], ByDirection, 1)], // not measured
    [tuned(32, 8, [24, 4], [4, 0], ByDirection, 6), tuned(16, 4, [12, 12], [0, 0], ByDirection, 5)], // 86, 91
    [tuned(8, 8, [0, 16], [4, 0], ByDirection, 6), tuned(8, 8, [0, 16], [0, 0], ByDirection, 4)],   // 85, 95
    [tuned(3, 3, [0, 24], [0, 0], ByDirection, 8), tuned(4, 4, [0, 0], [0, 0], ByDirection, 4)],    // 83, 94
    [tuned(4, 4, [8, 0], [0, 0], ByDirection, 4), tuned(2, 2, [0, 0], [0, 0], ByDirection, 4)],     // 77, 83
    [tuned(1, 1, [0, 0], [4, 0], ByDirection, 7), tuned(1, 1, [0, 0], [0, 0], ByDirection, 4)],     // 65, 82
    [tuned(1, 1, [0, 12], [0, 0], Packed, 5), tuned(1, 1, [0, 12], [2, 0], ByDirection, 2)],        // 65, 66
    [tuned(1, 1, [0, 0], [0, 0], Packed, 4), tuned(1, 1, [0, 0], [0, 0], ByDirection, 2)],          // 62, 63
];

const fn tuning(degree: usize, scalar_bytes: usize) -> Tuning {
    // Code for both dimensions names higher degrees of 2D, too.
    TUNING[if degree < TUNING.len() { degree } else { TUNING.len() } - 1][scalar_bytes / 8]
}

/// Where the parts of a block's shared memory begin, behind its stage, in words.
struct Parts {
    /// Words of a row of all patches.
    row: usize,
    faces: usize,
    /// Words from line to line of all patches' transformed faces.
    line: usize,
    /// Words of a transformed face; there are two, sum and difference, a direction.
    face: usize,
    /// Transformed edges, a row each, four (a sign in each of two directions) a direction.
    edges: usize,
    /// Corners at both ends of one direction, four (a sign in each of the other two), a word of every patch each.
    corners: usize,
    words: usize,
}

const fn parts(degree: usize, scalar_bytes: usize, patches: usize) -> Parts {
    let (m, n) = patch_nodes(degree);
    let row = patches * m;
    let [between_lines, between_faces] = tuning(degree, scalar_bytes).padding;
    let line = row + between_lines;
    let face = n * line + between_faces;
    let faces = m * m * row;
    let edges = faces + 6 * face;
    let corners = edges + 12 * row;
    Parts { row, faces, line, face, edges, corners, words: corners + 8 * patches }
}

const fn stage_shape(degree: usize, scalar_bytes: usize) -> StageShape {
    let Tuning { patches, stage, .. } = tuning(degree, scalar_bytes);
    StageShape::new(degree, scalar_bytes, patches, stage)
}

/// Words of a block that are not a patch's: those of the stage, and padding.
pub(super) const fn common_words(degree: usize, scalar_bytes: usize) -> usize {
    stage_shape(degree, scalar_bytes).plane * patch_nodes(degree).1 + parts(degree, scalar_bytes, 0).words
}

pub(super) const fn shape(degree: usize, scalar_bytes: usize) -> Shape {
    let columns = patch_nodes(degree).0.pow(2);
    let words = parts(degree, scalar_bytes, 1).words - parts(degree, scalar_bytes, 0).words;
    Shape { columns, patches: tuning(degree, scalar_bytes).patches, words, barriers: 5 }
}

pub(super) const fn min_blocks(degree: usize, scalar_bytes: usize) -> u32 {
    tuning(degree, scalar_bytes).resident
}

/// How the lines of all faces are shared out for the first transform. Unless packed, a warp has lines of one direction.
struct Lines {
    /// Lines of a direction; twice as many, a sign each, where the same warps have room for them.
    count: usize,
    /// From a direction's first thread to the next direction's.
    threads: usize,
    /// Signs of a line that a thread does.
    signs: usize,
    /// Directions at once.
    directions: usize,
}

impl Lines {
    const fn of(degree: usize, scalar_bytes: usize, shape: Shape) -> Self {
        let threads = shape.columns * shape.patches;
        let lines = patch_nodes(degree).1 * shape.patches;
        if matches!(tuning(degree, scalar_bytes).warps, Packed) {
            return Self { count: 2 * lines, threads: 2 * lines, signs: 1, directions: 3 };
        }
        let warps = lines.next_multiple_of(32);
        let by_sign = Self { count: 2 * lines, threads: warps, signs: 1, directions: 3 };
        let mut of = Self { count: lines, threads: warps, signs: 2, directions: 3 };
        if by_sign.count <= warps && by_sign.fit(threads) {
            return by_sign;
        }
        while of.directions > 1 && !of.fit(threads) {
            of.directions -= 1;
        }
        of
    }

    const fn fit(&self, threads: usize) -> bool {
        (self.directions - 1) * self.threads + self.count <= threads
    }
}

const fn layout(degree: usize, scalar_bytes: usize) -> (Shape, Parts, Lines) {
    let shape = shape(degree, scalar_bytes);
    (shape, parts(degree, scalar_bytes, shape.patches), Lines::of(degree, scalar_bytes, shape))
}

mod device {
    use super::{layout, stage_shape, tuning};
    use crate::layout::Column;
    use crate::matrices::{Scaled, SmootherMatrices};
    use crate::patch::{Grid, Stored, bit, color_count, color_origin};
    use crate::scalar::Real;
    use crate::smoother::place::{along_rows, quotient_and_remainder};
    use crate::smoother::stage::Stage;
    use crate::smoother::{Sides, Table, is_odd, select, sum_and_difference, table_words, transform};
    use cuda_std::hint::{loads_together, made_here};
    use cuda_std::shared::{Word, wait_for_copies};
    use cuda_std::thread;

    /// The first transform of line `task` of the faces normal to a direction, for one sign or both.
    #[inline(always)]
    fn transform_line<T: Real + Word, const K: usize, const M: usize, const N: usize>(
        matrices: &SmootherMatrices<T, K, M>,
        stage: &Stage<T>,
        normal: usize,
        task: usize,
    ) {
        let (shape, parts, lines) = const { layout(K, size_of::<T>()) };
        let abreast = const { tuning(K, size_of::<T>()).abreast };
        if task >= lines.count {
            return;
        }
        let (first_sign, task) =
            if lines.signs == 2 || task < N * shape.patches { (0, task) } else { (1, task - N * shape.patches) };
        let (group, task) = if abreast < shape.patches { quotient_and_remainder(task, N * abreast) } else { (0, task) };
        let (lane, slot) = quotient_and_remainder(task, abreast);
        let slot = group * abreast + slot;
        let [low, high] = stage.lines::<K, N>(slot, normal, lane);
        let pair = sum_and_difference(&low, &high, stage.middle::<K, N>(slot));
        for sign in first_sign..first_sign + lines.signs {
            let (transformed, ends) = transform(matrices, &select(&pair, sign));
            let start = parts.faces + (2 * normal + sign) * parts.face + lane * parts.line + slot * M;
            stage.behind::<N>(start).write(Column { start: 0, stride: 1 }, &transformed);
            if normal == 0 && (lane == 0 || lane == N - 1) {
                let end = 4 * (lane / (N - 1)) + 2 * sign;
                let start = parts.corners + end * shape.patches + slot;
                stage.behind::<N>(start).write(Column { start: 0, stride: shape.patches }, &ends);
            }
        }
    }

    /// Where the column along z of a thread's place lies in x and in y, from the first node of the block on.
    #[inline(always)]
    fn in_plane<const K: usize>([first, slot, second]: [usize; 3]) -> [usize; 2] {
        [2 * K * slot + first + 1, second + 1]
    }

    /// The first interior node of this column.
    #[inline(always)]
    fn node<const K: usize>(place: [usize; 3]) -> [usize; 3] {
        let [x, y] = in_plane::<K>(place);
        [x, y, 1]
    }

    /// Entries along z from a node on.
    ///
    /// # Safety
    /// They are entries of a vector.
    #[inline(always)]
    unsafe fn load<T: Real, const SIDED: bool, const M: usize>(
        start: *const T,
        [x, y, z]: [usize; 3],
        grid: Stored<SIDED>,
    ) -> [T; M] {
        let mut column = [T::ZERO; M];
        // SAFETY: the caller's promise.
        unsafe {
            let first = start.add(grid.local_3d(x, y, z));
            for z in 0..M {
                column[z] = *first.add(grid.plane() as usize * z);
            }
        }
        column
    }

    /// Stores entries along z from a node on, each with `add`.
    ///
    /// # Safety
    /// They are entries of a vector, which nobody else reads or writes.
    #[inline(always)]
    unsafe fn store<T: Real, const SIDED: bool, const M: usize>(
        start: *mut T,
        [x, y, z]: [usize; 3],
        grid: Stored<SIDED>,
        column: &[T; M],
        add: T,
    ) {
        // SAFETY: the caller's promise.
        unsafe {
            let first = start.add(grid.local_3d(x, y, z));
            for z in 0..M {
                *first.add(grid.plane() as usize * z) = column[z] + add;
            }
        }
    }

    /// The smoother in 3D.
    ///
    /// # Safety
    /// Launched as its [shape](crate::smoother::shape) says; `b` and `x` are vectors of the grid, which begin at whole
    /// [chunks](cuda_std::shared::CHUNK).
    #[inline(always)]
    pub unsafe fn smooth_3d<T: Real + Word, const K: usize, const M: usize, const N: usize>(
        matrices: &Scaled<SmootherMatrices<T, K, M>, T>,
        table: Table<T>,
        b: *const T,
        x: *mut T,
        cells: [u32; 3],
        color: u32,
    ) {
        // SAFETY: the caller's promise.
        unsafe { step_3d::<T, false, K, M, N>(matrices, table, Sides::none(), b, x, cells, color) }
    }

    /// The smoother in 3D, with any sides.
    ///
    /// # Safety
    /// As of [`smooth_3d`]; with sides, vectors are those of their level.
    #[inline(always)]
    pub unsafe fn step_3d<T: Real + Word, const SIDED: bool, const K: usize, const M: usize, const N: usize>(
        Scaled { matrices, factors }: &Scaled<SmootherMatrices<T, K, M>, T>,
        table: Table<T>,
        sides: Sides<T, K>,
        b: *const T,
        x: *mut T,
        cells: [u32; 3],
        color: u32,
    ) {
        let (shape, parts, lines) = const { layout(K, size_of::<T>()) };
        let row = parts.row;
        let threads = shape.columns * shape.patches;
        let cells = if SIDED { sides.directions.0.map(|direction| direction.cells) } else { cells };
        let grid = Stored::<SIDED>(Grid { cells, degree: K as u32 });
        let thread = thread::thread_idx_x() as usize;
        // The first node of the block's patches, and their number.
        let start = |grid: Stored<SIDED>, block: u32| {
            let first = block * shape.patches as u32;
            let count = if SIDED { sides.count(color) } else { color_count(grid.0.cells[0], bit(color, 0)) };
            let patches = (count - first).min(shape.patches as u32) as usize;
            let origin = |d: usize, index: u32| {
                if SIDED { sides.origin(color, d, index) } else { color_origin(K, bit(color, d), index as usize) }
            };
            let [x, y, z] = [origin(0, first), origin(1, thread::block_idx_y()), origin(2, thread::block_idx_z())];
            (grid.offset_3d(x, y, z), patches)
        };
        let (origin, patches) = start(grid, thread::block_idx_x());
        let index = |block: u32| [block * shape.patches as u32, thread::block_idx_y(), thread::block_idx_z()];
        let is_within = !SIDED || sides.is_within(color, index(thread::block_idx_x()), patches as u32);
        // Where images are copied one by one the stage may begin anywhere in a chunk.
        let stage_from =
            |origin: usize| Stage::new(const { stage_shape(K, size_of::<T>()) }, x.wrapping_add(origin).cast_const());
        let stage = stage_from(origin);
        let tensor = stage.behind::<N>(0);
        let along_z = |start: usize| Column { start, stride: M * row };
        // `pair` is twice the direction that the faces are normal to, and the sign.
        let face = |pair: usize| stage.behind::<N>(parts.faces + pair * parts.face);
        // By sign, as the threads that store them are, and in `f64`, where degree 5 else waits for the table, by pair.
        let by_sign = size_of::<T>() == 4;
        let edge = |pair: usize, sign: usize| {
            let index = if by_sign { 6 * sign + pair } else { 2 * pair + sign };
            stage.behind::<N>(parts.edges + index * row)
        };
        let corners = stage.behind::<N>(parts.corners);
        // Loads are under way while places of copies are computed.
        let place = along_rows(M, shape.patches);
        let mut column = [T::ZERO; M];
        if place[1] < patches {
            // SAFETY: the patches lie within the grid and its guard; with images, the caller's promise.
            unsafe {
                if is_within {
                    column = load(b.add(origin), node::<K>(place), grid);
                } else {
                    let of_block = sides.patches(color, index(thread::block_idx_x()));
                    of_block.copy_loads_3d::<T, M>(b, in_plane::<K>(place), (tensor, along_z(thread)));
                }
            }
        }
        // Distances made anew save registers, but in degree 5 they take some from what is read early below.
        let copied = if K == 5 { grid } else { grid.remade() };
        // Where registers are few, what a thread's place gives is not kept from phase to phase.
        let keeps = size_of::<T>() == 4 && K < 6 && !SIDED;
        let own = || if keeps { thread } else { made_here(thread::thread_idx_x()) as usize };
        // SAFETY: as above; of this color only a patch itself writes its interior, and its vertex after barriers.
        unsafe {
            if is_within {
                stage.copy::<SIDED, K, N>(threads, x.add(origin), copied, patches);
            } else {
                let of_block = sides.patches(color, index(made_here(thread::block_idx_x())));
                of_block.copy::<T, N>(&stage, (threads, shape.patches), x, patches);
                let place = along_rows(M, shape.patches);
                if place[1] < patches {
                    column = of_block.loads_3d(in_plane::<K>(place), (tensor, along_z(own())));
                }
            }
        };
        let along_x = || Column { start: M * own(), stride: 1 };
        tensor.write(along_z(own()), &matrices.vectors.analyze(&column));
        wait_for_copies();
        thread::sync_threads();

        // Faces, first transform.
        let first_transform = |normal, task| transform_line::<T, K, M, N>(matrices, &stage, normal, task);
        if lines.directions == 1 {
            for normal in 0..3 {
                for round in 0..lines.count.div_ceil(threads) {
                    first_transform(normal, thread + round * threads);
                }
            }
        } else {
            for round in 0..3usize.div_ceil(lines.directions) {
                let (group, task) = quotient_and_remainder(thread, lines.threads);
                let normal = group + round * lines.directions;
                if group < lines.directions {
                    match normal {
                        // Much code for few threads: once.
                        0..3 if K > 6 => first_transform(normal, task),
                        0 => first_transform(0, task),
                        1 => first_transform(1, task),
                        2 => first_transform(2, task),
                        _ => {}
                    }
                }
            }
        }
        thread::sync_threads();

        let row_x = along_x();
        tensor.write(row_x, &matrices.vectors.analyze(&tensor.read::<M>(row_x)));
        // Faces, second transform, in place; the lines' ends are the edges.
        for round in 0..(6 * row).div_ceil(threads) {
            let task = thread + round * threads;
            if task < 6 * row {
                let (pair, in_row) = quotient_and_remainder(task, row);
                let line = Column { start: in_row, stride: parts.line };
                let (transformed, ends) = transform(matrices, &face(pair).read::<N>(line));
                face(pair).write(line, &transformed);
                for sign in 0..2 {
                    edge(pair, sign).set(in_row, ends[sign]);
                }
            }
        }
        let [i, slot, l] = if keeps { place } else { along_rows(M, shape.patches) };
        // Lanes read neighbours.
        let inverse = |j: usize| table.get(i + M * (l + M * j));
        // In high degrees and in `f32` there are registers to read it before the barrier; degree 5 in `f64` reads half of it right
        // behind, or the assembler would read each entry where it is used, which takes 6 % longer.
        let (early, behind) = match (K, size_of::<T>()) {
            (8, 8) if SIDED => (M - 6, 0),
            (7.., _) | (4.., 4) => (M, 0),
            (5, _) => (0, 5),
            _ => (0, 0),
        };
        let mut inverses = [T::ZERO; M];
        for j in 0..early {
            inverses[j] = inverse(j);
        }
        thread::sync_threads();

        let in_row = i + M * slot;
        let along_y = Column { start: in_row + M * row * l, stride: row };
        let (i_odd, l_odd) = (is_odd::<K>(i), is_odd::<K>(l));
        let ((m_i, d_i), (m_l, d_l)) = (table.boundary::<M>(M * M * M, i, 0), table.boundary::<M>(M * M * M, l, 1));
        for j in 0..behind {
            inverses[j] = inverse(j);
        }
        if behind > 0 {
            // SAFETY: all lanes are here.
            unsafe { loads_together() };
        }
        let x_face = |j: usize| face(i_odd).get(l * parts.line + slot * M + j);
        let y_face = |j_odd: usize| face(2 + j_odd).get(i * parts.line + slot * M + l);
        let z_face = |j: usize| face(4 + l_odd).get(j * parts.line + in_row);
        let zx_edge = |j: usize| edge(i_odd, l_odd).get(slot * M + j);
        let xy_edge = |j_odd: usize| edge(2 + j_odd, i_odd).get(slot * M + l);
        let yz_edge = |j_odd: usize| edge(4 + l_odd, j_odd).get(in_row);
        let l_sign = T::from_f64(if l_odd == 0 { 1.0 } else { -1.0 });
        let corner = |j_odd: usize| {
            let at_end = |end: usize| corners.get((4 * end + 2 * i_odd + j_odd) * shape.patches + slot);
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
        // The table has what else couples, and its factors.
        let coupled = y_faces.map(|y_face| factors[1] * y_face);
        // What the reaction makes of the constant that is taken from `x`, but for the sums along y.
        let constant = if SIDED {
            let sums = table.get(table_words(3, K) + i) * table.get(table_words(3, K) + l);
            stage.middle::<K, N>(slot) * (sides.reaction.factor * sums)
        } else {
            T::ZERO
        };
        let mut column = matrices.vectors.analyze(&tensor.read::<M>(along_y));
        for j in 0..M {
            let inverse = if j < early + behind { inverses[j] } else { inverse(j) };
            let (x_face, z_face) = (x_face(j), z_face(j));
            let mut residual = T::fma(-matrices.coupling[j], coupled[is_odd::<K>(j)], column[j]);
            if SIDED && j < K {
                residual = T::fma(-constant, sides.reaction.sums[j], residual);
            }
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

        let row_x = along_x();
        tensor.write(row_x, &matrices.vectors.synthesize(&tensor.read::<M>(row_x)));
        thread::sync_threads();

        let column = matrices.vectors.synthesize(&tensor.read::<M>(along_z(own())));
        // Kept from the loads on, places in the grid would spill from degree 5 on.
        let grid = grid.remade();
        let (origin, patches) = if K < 5 { (origin, patches) } else { start(grid, made_here(thread::block_idx_x())) };
        let place = if keeps { place } else { along_rows(M, shape.patches) };
        let stage = if K < 7 { stage_from(origin) } else { stage };
        let middle = stage.middle::<K, N>(place[1]);
        if place[1] < patches {
            // SAFETY: unknowns of a patch that no other patch of the color shares.
            unsafe {
                if is_within {
                    store(x.add(origin), node::<K>(place), grid, &column, middle);
                } else {
                    let of_block = sides.patches(color, index(made_here(thread::block_idx_x())));
                    of_block.store_3d(x, in_plane::<K>(place), (tensor, along_z(own())), &column, middle);
                }
            }
        }
    }
}
