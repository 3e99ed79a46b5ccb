//! Sides where the solution is not zero, of boxes of equal cells: patches there, and where their nodes lie in vectors.
//!
//! A patch around a vertex on a Neumann side goes on beyond it as its mirror image: what is computed there is even, so that the
//! solution is that of the half, quarter or eighth within. There the load of a node on the side counts once for each half.
//!
//! In 3D a block whose patches lie [within](Sides::is_within) the level, as most do, takes their nodes as that of a plain box does. Of others
//! the nodes are found one by one, in `f32` in loops that are not unrolled: such blocks are few, but all have the same registers.

use crate::layout::{Column, Shared};
use crate::matrices::Reaction;
use crate::patch::{Direction, Directions, Line, bit};
use crate::scalar::Real;
use crate::smoother::Stage;
use crate::smoother::place::quotient_and_remainder;
use cuda_std::hint::opaque;
use cuda_std::shared::{Word, wait_for_copies};
use cuda_std::thread;

/// The sides of a level, and a reaction. Vectors have all nodes of each direction, also those at both ends and the last one of a period,
/// which counts for nothing.
#[derive(Clone, Copy)]
pub struct Sides<T, const K: usize> {
    pub directions: Directions,
    pub reaction: Reaction<T, K>,
}

impl<T: Real, const K: usize> Sides<T, K> {
    /// For kernels that have none.
    #[inline(always)]
    pub fn none() -> Self {
        let direction = Direction { cells: 0, first: 0, patches: 0, is_periodic: 0 };
        Self { directions: Directions([direction; 3]), reaction: Reaction { sums: [T::ZERO; K], factor: T::ZERO } }
    }

    /// The vertex of a direction's patch of a color.
    #[inline(always)]
    fn vertex(self, color: u32, direction: usize, index: u32) -> u32 {
        self.directions.0[direction].first + 2 * index + bit(color, direction)
    }

    /// The first node of the patch of a color by its index in a direction, or the level's first one if that lies beyond the lower end.
    #[inline(always)]
    pub fn origin(self, color: u32, direction: usize, index: u32) -> usize {
        (K as u32 * (self.vertex(color, direction, index).max(1) - 1)) as usize
    }

    /// Whether no node of so many patches of a color side by side in x, from one on by its index in each direction, is the image of another
    /// one, and no unknown lies on a side.
    #[inline(always)]
    pub fn is_within(self, color: u32, index: [u32; 3], patches: u32) -> bool {
        let is_within = |d: usize, patches: u32| {
            let vertex = self.vertex(color, d, index[d]);
            self.directions.0[d].is_within(vertex, vertex + 2 * (patches - 1))
        };
        is_within(0, patches) && is_within(1, 1) && is_within(2, 1)
    }

    /// Patches of a color in x.
    #[inline(always)]
    pub fn count(self, color: u32) -> u32 {
        self.directions.0[0].of_color(bit(color, 0))
    }

    /// The patch of a color by its index in each direction, or in 3D the patches side by side in x from that one on.
    #[inline(always)]
    pub fn patches(self, color: u32, index: [u32; 3]) -> SidedPatches<K> {
        let mut lines = [self.directions.0[0].line(K, 0); 3];
        for d in 0..3 {
            let vertex = self.vertex(color, d, index[d]);
            lines[d] = self.directions.0[d].line(K, (vertex * K as u32) as i32 - K as i32);
        }
        SidedPatches(lines)
    }
}

/// What a block works on: `x`, `y` and `z` count from its first node. Of offsets those within a plane fit 32 bits, which saves
/// registers.
#[derive(Clone, Copy)]
pub struct SidedPatches<const K: usize>([Line; 3]);

impl<const K: usize> SidedPatches<K> {
    /// Offset of a node in its plane.
    #[inline(always)]
    fn in_plane(self, x: usize, y: usize) -> u32 {
        let [along_x, along_y, _] = self.0;
        along_x.node(x) + along_x.row() * along_y.node(y)
    }

    /// Where a plane begins.
    #[inline(always)]
    fn plane(self, z: usize) -> usize {
        let [along_x, along_y, along_z] = self.0;
        (u64::from(along_x.row() * along_y.nodes()) * u64::from(along_z.node(z))) as usize
    }

    /// `x` at the patch's vertex, in 2D.
    ///
    /// # Safety
    /// Here and below: vectors are those of the level.
    #[inline(always)]
    pub unsafe fn middle_2d<T: Real>(self, x: *const T) -> T {
        // SAFETY: the caller's promise.
        unsafe { *x.add(self.in_plane(K, K) as usize) }
    }

    /// `b` at the unknowns of a column along y.
    ///
    /// # Safety
    /// As of [`Self::middle_2d`].
    #[inline(always)]
    pub unsafe fn load_2d<T: Real, const M: usize>(self, b: *const T, x: usize) -> [T; M] {
        let [along_x, along_y, _] = self.0;
        let weight = along_x.weight::<T>(x);
        let mut column = [T::ZERO; M];
        for y in 0..M {
            // SAFETY: the caller's promise.
            column[y] = weight * unsafe { *b.add(self.in_plane(x, y + 1) as usize) };
        }
        // The vertex alone may lie on a side.
        column[K - 1] = along_y.weight::<T>(K) * column[K - 1];
        column
    }

    /// `x` on the low and on the high edge normal to x (0) or to y (1).
    ///
    /// # Safety
    /// As of [`Self::middle_2d`].
    #[inline(always)]
    pub unsafe fn edges_2d<T: Real, const N: usize>(self, x: *const T, direction: usize) -> [[T; N]; 2] {
        let [along_x, along_y, _] = self.0;
        let (across, along) = if direction == 0 { (along_x, along_y) } else { (along_y, along_x) };
        let (across_stride, stride) = if direction == 0 { (1, along_x.row()) } else { (along_x.row(), 1) };
        let line = |end: usize| x.wrapping_add((across_stride * across.node(end)) as usize);
        let (low, high) = (line(0), line(2 * K));
        let mut lines = [[T::ZERO; N]; 2];
        for i in 0..N {
            let node = (stride * along.node(i)) as usize;
            // SAFETY: the caller's promise.
            [lines[0][i], lines[1][i]] = unsafe { [*low.add(node), *high.add(node)] };
        }
        lines
    }

    /// Stores the unknowns of a column along y.
    ///
    /// # Safety
    /// As of [`Self::middle_2d`]; nobody else reads or writes them.
    #[inline(always)]
    pub unsafe fn store_2d<T: Real, const M: usize>(self, x: *mut T, column: usize, values: [T; M]) {
        let [along_x, along_y, _] = self.0;
        for y in 0..M {
            if along_x.has(column) && along_y.has(y + 1) {
                // SAFETY: the caller's promise.
                unsafe { *x.add(self.in_plane(column, y + 1) as usize) = values[y] };
            }
        }
    }

    /// The end of a loop that is not unrolled in `f32`, where most registers are free.
    #[inline(always)]
    fn rolled<T: Real>(count: usize) -> usize {
        if K > 2 && size_of::<T>() == 4 { opaque(count as u32) as usize } else { count }
    }

    /// Starts to copy `b` at the unknowns of the column along z at `(x, y)` to a column of shared memory.
    ///
    /// # Safety
    /// As of [`Self::middle_2d`]; nobody reads or writes this column until [`Self::loads_3d`].
    #[inline(always)]
    pub unsafe fn copy_loads_3d<T: Real + Word, const M: usize>(
        self,
        b: *const T,
        [x, y]: [usize; 2],
        (shared, place): (Shared<T>, Column),
    ) {
        let b = b.wrapping_add(self.in_plane(x, y) as usize);
        for z in 0..Self::rolled::<T>(M) {
            // SAFETY: the caller's promise.
            unsafe { shared.copy(place.at(z), b.add(self.plane(z + 1))) };
        }
    }

    /// What this thread has [copied](Self::copy_loads_3d), as often as it counts.
    #[inline(always)]
    pub fn loads_3d<T: Real + Word, const M: usize>(
        self,
        [x, y]: [usize; 2],
        (shared, place): (Shared<T>, Column),
    ) -> [T; M] {
        wait_for_copies();
        let [along_x, along_y, along_z] = self.0;
        let weight = along_x.weight::<T>(x) * along_y.weight(y);
        let mut column = shared.read::<M>(place).map(|value| weight * value);
        // The vertex alone may lie on a side.
        column[K - 1] = along_z.weight::<T>(K) * column[K - 1];
        column
    }

    /// Stores the unknowns of the column along z at `(x, y)`, each with `add`, by way of a column of shared memory.
    ///
    /// # Safety
    /// As of [`Self::middle_2d`]; nobody else reads or writes these unknowns and this column.
    #[inline(always)]
    pub unsafe fn store_3d<T: Real + Word, const M: usize>(
        self,
        target: *mut T,
        [x, y]: [usize; 2],
        (shared, place): (Shared<T>, Column),
        values: &[T; M],
        add: T,
    ) {
        let [along_x, along_y, along_z] = self.0;
        if along_x.has(x) && along_y.has(y) {
            shared.write(place, values);
            let target = target.wrapping_add(self.in_plane(x, y) as usize);
            for z in 0..Self::rolled::<T>(M) {
                if along_z.has(z + 1) {
                    // SAFETY: the caller's promise.
                    unsafe { *target.add(self.plane(z + 1)) = shared.get(place.at(z)) + add };
                }
            }
        }
    }

    /// Starts to copy what a step wants of the nodes of `patches` patches, of `most` at most: faces and vertices.
    ///
    /// # Safety
    /// As of [`Self::middle_2d`]; nobody writes them until the copies have ended.
    #[inline(always)]
    pub unsafe fn copy<T: Real + Word, const N: usize>(
        self,
        stage: &Stage<T>,
        (threads, most): (usize, usize),
        x: *const T,
        patches: usize,
    ) {
        // Neighbouring threads have neighbouring nodes of a row, and groups of threads rows of all planes.
        let (width, thread) = (2 * K * most + 1, thread::thread_idx_x());
        let (lanes, groups) = if width < threads { (width, threads / width) } else { (threads, 1) };
        let (group, lane) = quotient_and_remainder(thread as usize, lanes);
        for start in (0..width).step_by(lanes) {
            let node = start + lane;
            if node > 2 * K * patches || group >= groups {
                continue;
            }
            let on_face = (node as u32).is_multiple_of(2 * K as u32);
            for first in (0..N).step_by(groups) {
                let row = first + group;
                if row >= N {
                    continue;
                }
                let (x, word) = (x.wrapping_add(self.in_plane(node, row) as usize), node + stage.shape.row * row);
                for plane in 0..Self::rolled::<T>(N) {
                    let is_face = row == 0 || row == 2 * K || plane == 0 || plane == 2 * K;
                    if on_face || is_face || row == K && plane == K {
                        // SAFETY: the caller's promise.
                        unsafe { stage.nodes.copy(word + stage.shape.plane * plane, x.add(self.plane(plane))) };
                    }
                }
            }
        }
    }
}
