//! The step in 3D. With the faces' transforms `X = (T_y ⊗ T_z) x_X` and so on,
//!
//! ```text
//! x̂ = T_E X + T_E (T_I,x ⊗ T_z) x_Y + T_E (T_I,x ⊗ T_I,y) x_Z
//! ```
//!
//! with `T_E` along the direction that a face is normal to. In planes of a `z`, what the faces normal to x and to z add is one more product.

use super::table::{Lane, STEP, TILE};
use super::{Factor, NO_SUMS, STEPS, Side, Step, Sums, TILES, add, add_along_rows, add_column, add_end, both};
use crate::kernels::patch_nodes;
use crate::layout::Shared;
use crate::mma::{LANES, wait_for_reads};
use crate::patch::bit;
use crate::scalar::{Real, Value};
use crate::separable::graded::left_out::LeftOut;
#[cfg(not(target_arch = "nvptx64"))]
use crate::typed::Block;
use cuda_std::hint::{loads_together, made_here, opaque};
use cuda_std::thread;

/// Warps of a patch.
const fn warps(degree: usize) -> usize {
    match degree {
        ..=4 => 1,
        5 | 6 => 2,
        _ => 4,
    }
}

/// Patches of a block, side by side in x, which share nodes of faces and tables of the other directions in the cache.
pub const fn patches(degree: usize) -> usize {
    if warps(degree) == 1 { 4 } else { 1 }
}

/// Where tensors of functions lie in shared memory: rows and planes begin such that the entries of four of them, four entries each, lie in
/// different banks.
#[derive(Clone, Copy)]
struct Shape {
    functions: usize,
    row: usize,
    plane: usize,
}

impl Shape {
    const fn new(degree: usize) -> Self {
        let (functions, _) = patch_nodes(degree);
        let row = spread(functions);
        Self { functions, row, plane: spread(row * functions) }
    }

    /// Words of what a face becomes.
    const fn face(self) -> usize {
        self.functions * self.row
    }

    /// Where a patch's tensor begins, behind what the faces normal to x become.
    const fn tensor(self, patches: usize, slot: usize) -> usize {
        self.face() * (patches + 1) + slot * (self.functions * self.plane + self.face() * 8)
    }

    /// Where what a patch's other faces become begins, from its tensor on.
    const fn kept(self, kept: Kept, end: usize) -> usize {
        self.functions * self.plane + self.face() * (2 * kept as usize + end)
    }

    #[cfg(not(target_arch = "nvptx64"))]
    const fn words(self, patches: usize) -> usize {
        self.tensor(patches, patches)
    }
}

/// The least number of words, at least so many, that is four more than a multiple of eight.
const fn spread(words: usize) -> usize {
    (words + 3) / 8 * 8 + 4
}

/// Transforms of faces normal to y and z: of all nodes, or without the edges that they share with faces normal to an earlier direction.
#[derive(Clone, Copy)]
enum Kept {
    Y,
    Z,
    WithoutEdgesY,
    WithoutEdgesZ,
}

/// Blocks that a multiprocessor should hold, such that nothing spills.
#[cfg(not(target_arch = "nvptx64"))]
const fn min_blocks(degree: usize, scalar_bytes: usize) -> usize {
    match degree {
        4 if scalar_bytes == 4 => 5,
        5 | 6 => 8,
        _ => 4,
    }
}

/// See [`Smooth`](crate::separable::graded::Smooth).
#[cfg(not(target_arch = "nvptx64"))]
pub fn block(degree: usize, scalar_bytes: usize) -> Block {
    Block {
        threads: LANES * warps(degree) * patches(degree),
        min_blocks: min_blocks(degree, scalar_bytes),
        shared_bytes: Shape::new(degree).words(patches(degree)) * size_of::<f64>(),
        barriers: 2,
    }
}

/// A block's patch, and the lane.
#[derive(Clone, Copy)]
struct Patch<T, const K: usize, const M: usize> {
    sides: [Side<T, K>; 3],
    lane: Lane,
    warp: usize,
    /// Of the block's patches side by side in x, its number.
    slot: usize,
    x: *mut T,
}

impl<T: Real, const K: usize, const M: usize> Patch<T, K, M> {
    const SHAPE: Shape = Shape::new(K);
    const WARPS: usize = warps(K);
    const PATCHES: usize = patches(K);
    const TILES: usize = M.div_ceil(TILE);
    const STEPS: usize = M.div_ceil(STEP);

    /// The patch's part of shared memory: its tensor, and what its faces normal to y and z become.
    #[inline(always)]
    fn tensors(&self) -> Shared<f64> {
        Shared::at(Self::SHAPE.tensor(Self::PATCHES, self.slot))
    }

    /// What a face normal to x becomes: the upper one is the lower one of the next patch.
    #[inline(always)]
    fn across_x(&self, end: usize) -> Shared<f64> {
        Shared::at(Self::SHAPE.face() * (self.slot + end))
    }

    /// Keeps sums by their rows and columns.
    #[inline(always)]
    fn keep(&self, to: Shared<f64>, start: usize, sums: &Sums) {
        for other in 0..Self::TILES {
            for tile in 0..Self::TILES {
                for i in 0..2 {
                    let (row, column) = (self.lane.row + TILE * tile, self.lane.every_fourth(i + 2 * other));
                    if TILE * other + STEP * i < M {
                        let word = start + column + Self::SHAPE.row * row;
                        to.set_if(row < M && column < M, word, sums[other][tile][i]);
                    }
                }
            }
        }
    }

    /// Offsets of the unknowns along a direction that a lane takes as rows of right factors.
    #[inline(always)]
    fn rows(&self, side: &Side<T, K>) -> [usize; STEPS] {
        let mut offsets = [0; STEPS];
        for step in 0..Self::STEPS {
            offsets[step] = side.offset(1 + self.lane.every_fourth(step));
        }
        offsets
    }

    /// The same of columns.
    #[inline(always)]
    fn columns(&self, side: &Side<T, K>) -> [usize; TILES] {
        let mut offsets = [0; TILES];
        for tile in 0..Self::TILES {
            offsets[tile] = side.offset(1 + self.lane.row + TILE * tile);
        }
        offsets
    }

    /// The directions of a face, normal to a direction: of rows and of columns of right factors.
    #[inline(always)]
    fn along_face(&self, direction: usize) -> [Side<T, K>; 2] {
        let [x, y, z] = self.sides;
        [if direction == 2 { y } else { z }, if direction == 0 { y } else { x }]
    }

    /// Loads a face, normal to a direction, at the lower end or the upper one.
    ///
    /// # Safety
    /// `x` is a vector of the level, and nobody writes it.
    #[inline(always)]
    unsafe fn face(&self, direction: usize, end: usize) -> Face {
        let [rows, columns] = self.along_face(direction);
        // Not by an index, for which the array would lie in memory.
        let [x, y, z] = self.sides;
        let normal = if direction == 0 {
            x
        } else if direction == 1 {
            y
        } else {
            z
        };
        let from = self.x.wrapping_add(normal.offset(2 * K * end)).cast_const();
        // Where there is no node, the matrices are zero, and the lane takes another one. Of columns for ends the first and the third one are taken.
        let (inner_rows, end_row) = (self.rows(&rows), rows.offset(2 * K * self.lane.member));
        let (inner_columns, end_column) = (self.columns(&columns), columns.offset(2 * K * (self.lane.row / 2)));
        // SAFETY: a node of the level that no patch of the color has as an unknown, or a vertex.
        let value = |row: usize, column: usize| unsafe { *from.add(column).add(row) }.to_f64();
        let mut face = Face { inner: [[0.0; STEPS]; TILES + 1], ends: [0.0; TILES + 1] };
        for tile in 0..Self::TILES {
            for step in 0..Self::STEPS {
                face.inner[tile][step] = value(inner_rows[step], inner_columns[tile]);
            }
            face.ends[tile] = value(end_row, inner_columns[tile]);
        }
        for step in 0..Self::STEPS {
            face.inner[TILES][step] = value(inner_rows[step], end_column);
        }
        face.ends[TILES] = value(end_row, end_column);
        face
    }

    /// Keeps what a face becomes.
    ///
    /// # Safety
    /// All lanes of the warp come here together.
    #[inline(always)]
    unsafe fn transform(&self, direction: usize, end: usize, face: Face) {
        let [left, right] = {
            let [rows, columns] = self.along_face(direction);
            [rows.transform(0), columns.transform(1)]
        };
        let Face { inner, ends } = face;
        let (mut first, mut of_ends) = (NO_SUMS, [[0.0; 2]; TILES]);
        // SAFETY: the caller's promise.
        unsafe {
            add_column::<M>(&left.inner, &inner[0], &mut first[0]);
            if M > TILE {
                add_column::<M>(&left.inner, &inner[1], &mut first[1]);
            }
            add_column::<M>(&left.inner, &inner[TILES], &mut of_ends);
            if direction == 2 {
                let mut sums = NO_SUMS;
                add_along_rows::<M>(&first, &right.inner, &mut sums);
                self.keep(self.tensors(), Self::SHAPE.kept(Kept::WithoutEdgesZ, end), &sums);
            }
            add_end::<M>(&left.ends, ends[0], &mut first[0]);
            if M > TILE {
                add_end::<M>(&left.ends, ends[1], &mut first[1]);
            }
            add_end::<M>(&left.ends, ends[TILES], &mut of_ends);
        }
        let mut sums = NO_SUMS;
        // SAFETY: as above.
        unsafe { add_along_rows::<M>(&first, &right.inner, &mut sums) };
        if direction == 1 {
            self.keep(self.tensors(), Self::SHAPE.kept(Kept::WithoutEdgesY, end), &sums);
        }
        for row in 0..Self::TILES {
            for column in 0..Self::TILES {
                // SAFETY: as above.
                unsafe { add(of_ends[row][0], right.ends[column], &mut sums[column][row]) };
            }
        }
        if direction == 0 {
            self.keep(self.across_x(end), 0, &sums);
        } else {
            // The first two are those of all nodes.
            let start = Self::SHAPE.kept(Kept::Y, 0) + Self::SHAPE.face() * (2 * (direction - 1) + end);
            self.keep(self.tensors(), start, &sums);
        }
    }

    /// Both of these for both faces normal to a direction, whose loads are on their way together.
    ///
    /// # Safety
    /// As of both.
    #[inline(always)]
    unsafe fn faces(&self, direction: usize) {
        // SAFETY: the caller's promise.
        unsafe {
            let (low, high) = (self.face(direction, 0), self.face(direction, 1));
            loads_together();
            self.transform(direction, 0, low);
            self.transform(direction, 1, high);
        }
    }

    /// Values of `b` in a plane.
    ///
    /// # Safety
    /// `b` is a vector of the level.
    #[inline(always)]
    unsafe fn loads(&self, b: *const T, plane: usize) -> [[f64; STEPS]; TILES] {
        let [x, y, z] = &self.sides;
        let (rows, columns) = (self.rows(y), self.columns(x));
        let from = b.wrapping_add(z.offset(1 + plane));
        let mut values = [[0.0; STEPS]; TILES];
        for tile in 0..Self::TILES {
            for step in 0..Self::STEPS {
                // SAFETY: an unknown of the patch, or its vertex.
                values[tile][step] = unsafe { *from.add(columns[tile]).add(rows[step]) }.to_f64();
            }
        }
        values
    }

    /// `b` by `Sᵀ` along y and x, plane by plane.
    ///
    /// # Safety
    /// All lanes of the warp come here together; `b` is a vector of the level.
    #[inline(always)]
    unsafe fn analyze(&self, b: *const T) {
        let [x, y, _] = &self.sides;
        let (of_y, of_x) = (y.analysis(), x.analysis());
        let of_plane = |plane: usize, values: &[[f64; STEPS]; TILES]| {
            // SAFETY: the caller's promise.
            let sums = unsafe { both::<M>(&of_y, values, &of_x) };
            self.keep(self.tensors(), Self::SHAPE.plane * plane, &sums);
        };
        if Self::WARPS == 1 {
            // Loads of all planes are on their way together.
            let mut values = [[[0.0; STEPS]; TILES]; M];
            for plane in 0..M {
                // SAFETY: as above.
                values[plane] = unsafe { self.loads(b, plane) };
            }
            // SAFETY: as above.
            unsafe { loads_together() };
            for plane in 0..M {
                of_plane(plane, &values[plane]);
            }
        } else {
            for round in 0..M.div_ceil(Self::WARPS) {
                // The last warps have fewer faces.
                let plane = Self::WARPS * round + (Self::WARPS - 1 - self.warp);
                if plane < M {
                    // SAFETY: as above.
                    of_plane(plane, &unsafe { self.loads(b, plane) });
                }
            }
        }
    }

    /// Where in what a face becomes two functions, or the nearest ones that there are, have their entry.
    #[inline(always)]
    fn in_face(first: usize, second: usize) -> usize {
        first.min(M - 1) + Self::SHAPE.row * second.min(M - 1)
    }

    #[inline(always)]
    fn of_face(&self, kept: Kept, end: usize, first: usize, second: usize) -> f64 {
        self.tensors().get(Self::SHAPE.kept(kept, end) + Self::in_face(first, second))
    }

    /// By `Sᵀ` along z, to the solution, and by `S` along z, for a tile of functions of x.
    ///
    /// # Safety
    /// All lanes of the warp come here together.
    #[inline(always)]
    unsafe fn solve(&self, tile: usize) {
        let ([x, y, z], lane) = (&self.sides, self.lane);
        let (of_z, to_z) = (z.analysis(), z.synthesis());
        let i = lane.row + TILE * tile;
        let over_x = x.value(i);
        let over_z = |step: usize| {
            let member = if Self::TILES == 1 { lane.member } else { made_here(lane.member as u32) as usize };
            z.value(member + STEP * step)
        };
        // What the faces normal to x and z add is one product: the first two members of four have both ends of z, the others those of x.
        let (is_of_z, end) = (lane.member < 2, lane.member % 2);
        let of_x = x.ends(i, end);
        let mut ends_of_z = [[0.0; 2]; TILES];
        for column in 0..Self::TILES {
            ends_of_z[column] = z.ends(lane.column() + TILE * column, end);
        }
        // Of two tiles there is no room for what the faces normal to y add.
        let of_y = |step: usize, end: usize| {
            [Kept::Y, Kept::WithoutEdgesY].map(|kept| self.of_face(kept, end, i, lane.every_fourth(step)))
        };
        let mut faces_of_y = [[[0.0; 2]; 2]; STEPS];
        if Self::TILES == 1 {
            for step in 0..Self::STEPS {
                faces_of_y[step] = [of_y(step, 0), of_y(step, 1)];
            }
        }
        for round in 0..opaque(M.div_ceil(Self::WARPS) as u32) as usize {
            let j = Self::WARPS * round + self.warp;
            if j >= M {
                continue;
            }
            let place = |l: usize| i.min(M - 1) + Self::SHAPE.row * j + Self::SHAPE.plane * l.min(M - 1);
            let mut values = [0.0; STEPS];
            for step in 0..Self::STEPS {
                values[step] = self.tensors().get(place(lane.every_fourth(step)));
            }
            // No branch is made of it, which the tests of machine code check.
            let pick = |of_z: f64, of_x: f64| if is_of_z { of_z } else { of_x };
            let faces_of_z = [Kept::Z, Kept::WithoutEdgesZ].map(|kept| self.of_face(kept, end, i, j));
            let mut faces_of_x = [0.0; TILES];
            for column in 0..Self::TILES {
                faces_of_x[column] = self.across_x(end).get(Self::in_face(j, lane.column() + TILE * column));
            }
            let (mut sums, mut transforms) = ([[0.0; 2]; TILES], [[0.0; 2]; TILES]);
            // SAFETY: the caller's promise.
            unsafe {
                of_row::<M>(&values, &of_z, &mut sums);
                for column in 0..Self::TILES {
                    let right = |part: usize| pick(ends_of_z[column][part], faces_of_x[column]);
                    add(pick(faces_of_z[0], of_x[0]), right(0), &mut sums[column]);
                    add(pick(faces_of_z[1], of_x[1]), right(1), &mut transforms[column]);
                }
                wait_for_reads();
            }
            let over_y = if Self::TILES == 1 { j } else { made_here(j as u32) as usize };
            let (value, ends_of_y) = (over_x + y.value(over_y), [0, 1].map(|end| y.ends(over_y, end)));
            for step in 0..Self::STEPS {
                let mut residual = sums[step / 2][step % 2];
                let mut transform = transforms[step / 2][step % 2];
                for end in 0..2 {
                    let [of_all, without_edges] =
                        if Self::TILES == 1 { faces_of_y[step][end] } else { of_y(step, end) };
                    residual = f64::fma(ends_of_y[end][0], of_all, residual);
                    transform = f64::fma(ends_of_y[end][1], without_edges, transform);
                }
                values[step] = f64::fma(residual, (value + over_z(step)).reciprocal(), -transform);
            }
            let mut back = [[0.0; 2]; TILES];
            // SAFETY: as above.
            unsafe { of_row::<M>(&values, &to_z, &mut back) };
            for step in 0..Self::STEPS {
                let l = lane.every_fourth(step);
                self.tensors().set_if(i < M && l < M, place(l), back[step / 2][step % 2]);
            }
        }
    }

    /// By `S` along x and y, plane by plane, to `x`.
    ///
    /// # Safety
    /// All lanes of the warp come here together; `x` is a vector of the level, and no other block has this patch's unknowns.
    #[inline(always)]
    unsafe fn synthesize(&self) {
        let ([x, y, z], lane) = (&self.sides, self.lane);
        let (to_x, to_y) = (x.synthesis(), y.synthesis());
        let (mut rows, mut columns) = ([None; TILES], [None; STEPS]);
        for tile in 0..Self::TILES {
            rows[tile] = x.unknown(lane.row + TILE * tile);
        }
        for step in 0..Self::STEPS {
            columns[step] = y.unknown(lane.every_fourth(step));
        }
        for round in 0..opaque(M.div_ceil(Self::WARPS) as u32) as usize {
            let plane = Self::WARPS * round + self.warp;
            if plane >= M {
                continue;
            }
            let mut values = [[0.0; STEPS]; TILES];
            for tile in 0..Self::TILES {
                for step in 0..Self::STEPS {
                    let (i, j) = (lane.every_fourth(step).min(M - 1), (lane.row + TILE * tile).min(M - 1));
                    values[tile][step] = self.tensors().get(i + Self::SHAPE.row * j + Self::SHAPE.plane * plane);
                }
            }
            // SAFETY: the caller's promise.
            let sums = unsafe { both::<M>(&to_x, &values, &to_y) };
            let Some(plane) = z.unknown(plane) else { continue };
            for tile in 0..Self::TILES {
                for step in 0..Self::STEPS {
                    if let (Some(row), Some(column)) = (rows[tile], columns[step]) {
                        let value = T::from_f64(sums[step / 2][tile][step % 2]);
                        // SAFETY: the caller's promise.
                        unsafe { *self.x.add(row + column + plane) = value };
                    }
                }
            }
        }
    }
}

/// Nodes of a face that a lane has: of each column of tiles, the last one with ends, those between and one of the ends.
#[derive(Clone, Copy)]
struct Face {
    inner: [[f64; STEPS]; TILES + 1],
    ends: [f64; TILES + 1],
}

/// Adds the product of a row of tiles with a right factor; `values` are what a lane has of the row.
///
/// # Safety
/// As of [`add_column`].
#[inline(always)]
unsafe fn of_row<const M: usize>(values: &[f64; STEPS], right: &Factor, sums: &mut [[f64; 2]; TILES]) {
    let (tiles, steps) = const { (M.div_ceil(TILE), M.div_ceil(STEP)) };
    for step in 0..steps {
        for column in 0..tiles {
            // SAFETY: the caller's promise.
            unsafe { add(values[step], right[column][step], &mut sums[column]) };
        }
    }
}

/// See [`Smooth`](crate::separable::graded::Smooth).
///
/// # Safety
/// Launched as [`block`] says and with as many blocks as [`super::blocks`], with tables of the level's patches, and vectors of its nodes.
#[inline(always)]
pub unsafe fn smooth<T: Real, const K: usize, const M: usize>(step: Step<T>) {
    let (Step { b, x, left_out, .. }, LeftOut { directions, color, .. }) = (step, step.left_out);
    let (warps, patches) = const { (warps(K), patches(K)) };
    let thread = thread::thread_idx_x() as usize;
    let (warp, lane) = (thread / LANES, thread % LANES);
    let (slot, warp) = if patches == 1 { (0, warp) } else { (warp, 0) };
    let number = thread::block_idx_x() * patches as u32 + slot as u32;
    let last = directions.0[0].of_color(bit(color, 0)) - 1;
    let row = directions.0[0].row(K) as usize;
    let distances = [1, row, row * directions.0[1].nodes(K) as usize];
    let index = [if patches == 1 { number } else { number.min(last) }, thread::block_idx_y(), thread::block_idx_z()];
    let first = thread::block_idx_x() * patches as u32;
    // SAFETY: the block has a first patch.
    if unsafe { left_out.all(3, [first, index[1], index[2]], (patches as u32).min(last + 1 - first)) } {
        return;
    }
    // SAFETY: there are such patches.
    let sides = [0, 1, 2].map(|d| unsafe { step.side(d, index[d], distances[d], lane) });
    let patch = Patch::<T, K, M> { sides, lane: Lane::new(lane), warp, slot, x };
    // Behind the last patch there is none.
    let is_there = patches == 1 || number <= last;
    // SAFETY: warps take the same ways; the vectors are those of the level.
    unsafe {
        if patches == 1 {
            for task in (warp..6).step_by(warps) {
                let (direction, end) = (task / 2, task % 2);
                let face = patch.face(direction, end);
                // Once for all directions.
                patch.transform(made_here(direction as u32) as usize, end, face);
            }
            patch.analyze(b);
        } else if is_there {
            patch.transform(0, 0, patch.face(0, 0));
            if slot == patches - 1 || number == last {
                patch.transform(0, 1, patch.face(0, 1));
            }
            patch.faces(1);
            patch.faces(2);
            patch.analyze(b);
        }
        thread::sync_threads();
        if is_there {
            patch.solve(0);
            if M > TILE {
                patch.solve(1);
            }
        }
        thread::sync_threads();
        if is_there && (patches == 1 || !left_out.all(3, index, 1)) {
            patch.synthesize();
        }
    }
}
