//! The restricted residual, `coarse = Pᵀ (b - A x)`, without a residual vector.
//!
//! It is the sum over patches of `(T ⊗ T ⊗ T) b - (Q_A ⊗ Q_M ⊗ Q_M + Q_M ⊗ Q_A ⊗ Q_M + Q_M ⊗ Q_M ⊗ Q_A) x`, with
//! `Q_A = Pᵀ A`, `Q_M = Pᵀ M` and `T = Pᵀ W`, whose `W` gives each of the patches that share a node of `b` its part; in
//! 2D `(T ⊗ T) b - (Q_A ⊗ Q_M + Q_M ⊗ Q_A) x`. Contractions along the last direction are of columns in registers, those
//! along y and x of lines in shared memory.
//!
//! A block has a [`Strip`] of patches side by side in x and marches with it, while the nodes of its next place are on
//! their way: along the last direction, where a thread keeps what the next patch adds to the results that they share, or,
//! where a strip is but one or two large patches, along x. In these two directions a block owns coarse nodes, and begins a
//! patch early for what that adds. In the others patches share nodes, so launches go class by class: no two
//! patches of a class share a node, the first class to touch a node writes, later ones add. No atomics, and the same sum
//! in every run.

use crate::kernels::{Shape, patch_nodes};
use crate::patch::{Grid, bit, class_count};

/// Words between the planes of a tensor in 3D, by degree: those with the fewest bank conflicts in `f32` and `f64` together.
const PADDING: [usize; 8] = [0, 28, 26, 24, 23, 18, 14, 16];

/// The patches that a block has at a time, side by side in x.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strip {
    patches: usize,
    dim: usize,
    degree: usize,
}

impl Strip {
    /// As many patches as have a column for nearly every thread of a few warps.
    pub const fn of(dim: usize, degree: usize) -> Self {
        let patches = match (dim, degree) {
            (2, _) => 127 / (2 * degree),
            (_, 1) => 20,
            (_, 2) => 12,
            (_, 3) => 8,
            (_, 4 | 5) => 2,
            _ => 1,
        };
        Self { patches, dim, degree }
    }

    /// Whether blocks march along x.
    #[inline(always)]
    const fn along_x(self) -> bool {
        self.dim == 3 && self.degree > 3
    }

    /// Whether a thread reads the next column before it needs it: that takes registers while lines are contracted.
    #[inline(always)]
    const fn reads_early(self, scalar_bytes: usize) -> bool {
        self.dim == 2 || self.degree < if scalar_bytes == 4 { 6 } else { 4 }
    }

    /// Nodes along x.
    #[inline(always)]
    const fn width(self) -> usize {
        2 * self.degree * self.patches + 1
    }

    /// Rows of nodes in a plane; in 2D the last direction is y.
    #[inline(always)]
    const fn rows(self) -> usize {
        if self.dim == 3 { patch_nodes(self.degree).1 } else { 1 }
    }

    /// Columns along the last direction, one for each thread.
    #[inline(always)]
    const fn columns(self) -> usize {
        self.width() * self.rows()
    }

    #[inline(always)]
    const fn threads(self) -> usize {
        self.columns().next_multiple_of(32)
    }

    /// Results along the last direction at a time.
    #[inline(always)]
    const fn planes(self) -> usize {
        if self.along_x() { self.degree + 1 } else { self.degree }
    }

    /// Rows of results in a plane.
    #[inline(always)]
    const fn coarse_rows(self) -> usize {
        if self.dim == 3 { self.degree + 1 } else { 1 }
    }

    /// Results along x at a time, the last one for the next strip if blocks march along x.
    #[inline(always)]
    const fn coarse_width(self) -> usize {
        self.degree * self.patches + self.along_x() as usize
    }

    /// Words from plane to plane of a tensor.
    #[inline(always)]
    const fn pitch(self) -> usize {
        self.columns() + if self.dim == 3 { PADDING[self.degree - 1] } else { 0 }
    }

    /// Words of a tensor after the contraction along the last direction.
    #[inline(always)]
    const fn tensor(self) -> usize {
        self.pitch() * self.planes()
    }

    /// Contractions along x.
    #[inline(always)]
    const fn lines(self) -> usize {
        self.coarse_rows() * self.planes() * self.patches
    }

    /// Words from row to row of their results: an odd number.
    #[inline(always)]
    const fn sum_pitch(self) -> usize {
        (self.patches * (self.degree + 1)) | 1
    }

    /// Words of their results.
    #[inline(always)]
    const fn sums(self) -> usize {
        self.coarse_rows() * self.planes() * self.sum_pitch()
    }

    /// Launches of a restriction.
    pub const fn classes(self) -> u32 {
        1 << (self.dim - 2 + self.along_x() as usize)
    }

    /// Patches from strip to strip where blocks do not march along x: all but the one that they share.
    #[inline(always)]
    const fn distance(self) -> u32 {
        self.patches as u32 - 1
    }

    /// Blocks of a class on a level with a coarser one, in chunks of so many patches in the direction of the march; a 0 if
    /// it has none.
    pub const fn blocks(self, grid: Grid, chunk: u32, class: u32) -> [u32; 3] {
        let last = grid.cells / 2 - 1;
        let y = class_count(grid.cells, bit(class, 0));
        if self.along_x() {
            return [last.div_ceil(chunk), y, class_count(grid.cells, bit(class, 1))];
        }
        let (x, chunks) = (last.div_ceil(self.distance()), last.div_ceil(chunk));
        if self.dim == 3 { [x, y, chunks] } else { [x, chunks, 1] }
    }

    /// The smallest level that has so many patches in a row, and in the others one.
    #[cfg(not(target_arch = "nvptx64"))]
    pub const fn grid(self) -> Grid {
        Grid { cells: (2 * self.patches as u32).next_power_of_two(), degree: self.degree as u32 }
    }
}

/// Blocks of a multiprocessor that the registers of a thread leave room for: more where that costs no spills.
pub const fn min_blocks(dim: usize, degree: usize, scalar_bytes: usize) -> u32 {
    const SINGLE: [u32; 8] = [8, 5, 4, 5, 3, 4, 2, 2];
    const DOUBLE: [u32; 8] = [8, 4, 2, 3, 3, 3, 2, 1];
    match (dim, scalar_bytes) {
        (2, _) => 1,
        (_, 4) => SINGLE[degree - 1],
        _ => DOUBLE[degree - 1],
    }
}

/// Its shape on a block: three tensors, the results of `b` and of `A x`, and twice what two strips share.
pub const fn shape(dim: usize, degree: usize) -> Shape {
    let strip = Strip::of(dim, degree);
    let carry = if strip.along_x() { 2 * strip.coarse_rows() * strip.planes() } else { 0 };
    let words = 3 * strip.tensor() + 2 * strip.sums() + carry;
    Shape { columns: strip.threads(), patches: 1, words, barriers: dim }
}

pub use device::*;

mod device {
    use super::*;
    use crate::layout::{Column, Shared};
    use crate::matrices::RestrictionMatrices;
    use crate::patch::{class_patch, touches_first};
    use crate::scalar::Real;
    use cuda_std::hint::made_here;
    use cuda_std::shared::Word;
    use cuda_std::thread;

    /// Patches `first..end` of a direction, and the one from which on the block owns them: all but the first, which it
    /// shares with the block before, if there is one.
    #[derive(Clone, Copy)]
    struct Range {
        first: u32,
        own: u32,
        end: u32,
    }

    impl Range {
        /// The `index`-th with so many patches from the first one of it to that of the next.
        #[inline(always)]
        fn new(index: u32, distance: u32, patches: u32) -> Self {
            let first = index * distance;
            let end = first + distance + 1;
            Self { first, own: if index > 0 { first + 1 } else { 0 }, end: if end < patches { end } else { patches } }
        }

        /// Whether coarse node `node` is one of its patches', the first included, and an unknown.
        #[inline(always)]
        fn owns(self, degree: u32, node: u32) -> bool {
            node > 0 && node >= degree * self.own && node < degree * self.end
        }
    }

    /// A thread's column of a vector.
    #[derive(Clone, Copy)]
    struct Nodes<T, const N: usize> {
        vector: *const T,
        values: [T; N],
    }

    impl<T: Real, const N: usize> Nodes<T, N> {
        /// Before the column that begins at an offset.
        ///
        /// # Safety
        /// The node there is of the vector.
        #[inline(always)]
        unsafe fn before(vector: *const T, start: u32) -> Self {
            // SAFETY: the caller's promise.
            Self { vector, values: [unsafe { *vector.wrapping_add(start as usize) }; N] }
        }

        /// Reads the column that begins at an offset, with a distance between nodes; what `follows` another begins with
        /// its last node.
        ///
        /// # Safety
        /// The nodes are of the vector.
        #[inline(always)]
        unsafe fn read(&mut self, start: u32, stride: u32, follows: bool) {
            self.values[0] = self.values[N - 1];
            let stride = made_here(stride);
            for i in follows as usize..N {
                // SAFETY: the caller's promise.
                self.values[i] = unsafe { *self.vector.wrapping_add((start + i as u32 * stride) as usize) };
            }
        }
    }

    /// `coarse = Pᵀ (b - A x)`, one class.
    ///
    /// # Safety
    /// Launched as its [`shape`] and [`Strip::blocks`] say; `b` and `x` are of the grid of `cells`, `coarse` of that of
    /// half as many.
    #[inline(always)]
    pub unsafe fn restrict_residual<
        T: Real + Word,
        const DIM: usize,
        const K: usize,
        const N: usize,
        const C: usize,
        const H: usize,
    >(
        matrices: &RestrictionMatrices<T, N, H>,
        b: *const T,
        x: *const T,
        coarse: *mut T,
        cells: u32,
        class: u32,
        chunk: u32,
    ) {
        let strip = const { Strip::of(DIM, K) };
        let (width, planes) = (strip.width() as u32, strip.planes() as u32);
        let (threads, count, k) = (strip.threads() as u32, strip.patches as u32, K as u32);
        let thread = thread::thread_idx_x();
        let patches = cells / 2;
        let block = [thread::block_idx_x(), thread::block_idx_y(), thread::block_idx_z()];
        let in_class = |direction: u32, index: u32| class_patch(bit(class, direction as usize), index as usize) as u32;

        // Patches in x and in the last direction; of a class in the latter there is one.
        let across = Range::new(block[0], if strip.along_x() { chunk } else { strip.distance() }, patches);
        let up = if strip.along_x() {
            let patch = in_class(1, block[2]);
            Range { first: patch, own: patch, end: patch + 1 }
        } else {
            Range::new(block[DIM - 1], chunk, patches)
        };
        let patch_y = if DIM == 3 { in_class(0, block[1]) } else { 0 };
        let steps = if strip.along_x() { (across.end - across.first).div_ceil(count) } else { up.end - up.first };
        let place = |step: u32| {
            if strip.along_x() { (across.first + step * count, up.first) } else { (across.first, up.first + step) }
        };

        // Rows of the vectors, and nodes from plane to plane.
        let row = cells * k;
        let stride = if DIM == 3 { row * row } else { row };
        let start = |step: u32| {
            let (patch_x, patch_last) = place(step);
            // Columns behind the domain are those on its boundary.
            let node = (2 * k * patch_x + thread % width).min(row);
            node + row * (2 * k * patch_y + thread / width) + stride * (2 * k * patch_last)
        };
        let has_column = thread < strip.columns() as u32;
        let early = strip.reads_early(size_of::<T>());
        // SAFETY, of all reads: columns of patches within the grid and its guard.
        let (mut b_nodes, mut x_nodes) = if has_column {
            unsafe { (Nodes::<T, N>::before(b, start(0)), Nodes::<T, N>::before(x, start(0))) }
        } else {
            (Nodes { vector: b, values: [T::ZERO; N] }, Nodes { vector: x, values: [T::ZERO; N] })
        };
        let read = |nodes: &mut Nodes<T, N>, step: u32| unsafe { nodes.read(start(step), stride, !strip.along_x()) };
        if early && has_column {
            read(&mut x_nodes, 0);
            read(&mut b_nodes, 0);
        }
        let tensor = |index: usize| Shared::<T>::at(index * strip.tensor());
        let sums = |index: usize| Shared::<T>::at(3 * strip.tensor() + index * strip.sums());
        let shared_by_strips = |step: u32| {
            let words = strip.coarse_rows() * strip.planes();
            Shared::<T>::at(3 * strip.tensor() + 2 * strip.sums() + (step as usize & 1) * words)
        };
        // What the patch before adds to the first plane of results.
        let mut before = [T::ZERO; 3];
        let mut put = |index: usize, products: &[T; C]| {
            for z in 0..strip.planes() {
                let value = if z == 0 { products[0] + before[index] } else { products[z] };
                tensor(index).set(thread as usize + z * strip.pitch(), value);
            }
            if !strip.along_x() {
                before[index] = products[K];
            }
        };

        for step in 0..steps {
            if has_column {
                if !early {
                    read(&mut x_nodes, step);
                }
                put(0, &matrices.mass.apply(&x_nodes.values));
                put(1, &matrices.stiffness.apply(&x_nodes.values));
                if early && step + 1 < steps {
                    read(&mut x_nodes, step + 1);
                }
                if !early {
                    read(&mut b_nodes, step);
                }
                put(2, &matrices.transfer.apply(&b_nodes.values));
                if early && step + 1 < steps {
                    read(&mut b_nodes, step + 1);
                }
            }
            thread::sync_threads();

            if DIM == 3 {
                // Lines of `x` first, then as many of `b`: the threads that have no line of the one take the other.
                let lines = width * planes;
                for round in 0..(2 * lines).div_ceil(threads) {
                    let task = thread + round * threads;
                    let line = if task < lines { task } else { task - lines };
                    let start = line % width + strip.pitch() as u32 * (line / width);
                    let along_y = Column { start: start as usize, stride: strip.width() };
                    if task < lines {
                        let (u, w) = (tensor(0).read::<N>(along_y), tensor(1).read::<N>(along_y));
                        tensor(0).write::<C>(along_y, &matrices.mass.apply(&u));
                        tensor(1).write::<C>(along_y, &matrices.stiffness.apply_sum(&u, &matrices.mass, &w));
                    } else if task < 2 * lines {
                        tensor(2).write::<C>(along_y, &matrices.transfer.apply(&tensor(2).read::<N>(along_y)));
                    }
                }
                thread::sync_threads();
            }

            // Rows of `x` and of `b` by different threads again.
            let (coarse_rows, lines) = (strip.coarse_rows() as u32, strip.lines() as u32);
            for round in 0..(2 * lines).div_ceil(threads) {
                let task = thread + round * threads;
                let line = if task < lines { task } else { task - lines };
                // Neighbouring threads have lines that begin in as many banks as may be.
                let (patch, y, z) = if DIM == 3 {
                    (line % count, line / count % coarse_rows, line / (count * coarse_rows))
                } else {
                    (line / planes, 0, line % planes)
                };
                let start = 2 * k * patch + width * y + strip.pitch() as u32 * z;
                let along_x = Column { start: start as usize, stride: 1 };
                let start = (K + 1) as u32 * patch + strip.sum_pitch() as u32 * (y + coarse_rows * z);
                let result = Column { start: start as usize, stride: 1 };
                if task < lines {
                    let (u, w) = (tensor(0).read::<N>(along_x), tensor(1).read::<N>(along_x));
                    sums(0).write::<C>(result, &matrices.stiffness.apply_sum(&u, &matrices.mass, &w));
                } else if task < 2 * lines {
                    sums(1).write::<C>(result, &matrices.transfer.apply(&tensor(2).read::<N>(along_x)));
                }
            }
            thread::sync_threads();

            // Coarse nodes of the strip, those between two patches from both.
            let (patch_x, patch_last) = place(step);
            let coarse_width = strip.coarse_width() as u32;
            let nodes = coarse_width * coarse_rows * planes;
            let (coarse_row, coarse_plane) = (row / 2, stride / if DIM == 3 { 4 } else { 2 });
            for round in 0..nodes.div_ceil(threads) {
                let task = thread + round * threads;
                let (i, line) = (task % coarse_width, task / coarse_width);
                let (y, z) = (line % coarse_rows, line / coarse_rows);
                let value = |patch: u32, local: u32| {
                    let at = (local + (k + 1) * patch + strip.sum_pitch() as u32 * line) as usize;
                    sums(1).get(at) - sums(0).get(at)
                };
                if task < nodes {
                    let (patch, local) = (i / k, i % k);
                    let mut sum = if patch < count { value(patch, local) } else { T::ZERO };
                    if local == 0 && patch > 0 {
                        sum = sum + value(patch - 1, k);
                    }
                    if strip.along_x() && i == k * count {
                        shared_by_strips(step).set(line as usize, sum);
                    }
                    let node = [k * patch_x + i, k * patch_y + y, k * patch_last + z];
                    let is_unknown = |node: u32| node > 0 && node < coarse_row;
                    let is_owned = across.owns(k, node[0])
                        && i < k * count
                        && (DIM == 2 || is_unknown(node[1]))
                        && if strip.along_x() { is_unknown(node[2]) } else { up.owns(k, node[2]) };
                    if is_owned {
                        if strip.along_x() && i == 0 {
                            sum = sum + shared_by_strips(step + 1).get(line as usize);
                        }
                        let is_first = (DIM == 2 || touches_first(bit(class, 0), y == 0 || y == k))
                            && (!strip.along_x() || touches_first(bit(class, 1), z == 0 || z == k));
                        // SAFETY: a node of these coarse cells, which no other block of the class shares.
                        unsafe {
                            let offset = node[0] + coarse_row * node[1] + coarse_plane * node[2];
                            let target = coarse.wrapping_add(offset as usize);
                            *target = if is_first { sum } else { *target + sum };
                        }
                    }
                }
            }
        }
    }
}
