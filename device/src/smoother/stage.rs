//! The nodes on the faces of all patches of a block, in shared memory, side by side in x as they are in the grid.

use crate::layout::{Column, Shared};
use crate::patch::Stored;
use crate::scalar::Real;
use crate::smoother::place::quotient_and_remainder;
use cuda_std::shared::{CHUNK, Word};

/// Rows of nodes, `N = 2K + 1` rows a plane and `N` planes.
pub struct Stage<T> {
    /// From the first node on, which lies as far behind a whole [`CHUNK`] as it does in global memory.
    pub nodes: Shared<T>,
    pub shape: StageShape,
}

/// Where rows lie, in words.
#[derive(Clone, Copy)]
pub struct StageShape {
    /// Words that rows may take, whole chunks: where a row begins within the first one is not known before the launch.
    pub width: usize,
    /// From row to row.
    pub row: usize,
    /// From plane to plane.
    pub plane: usize,
}

impl StageShape {
    /// For `patches` patches of degree `degree`, with so many words more a row and a plane.
    pub const fn new(degree: usize, scalar_bytes: usize, patches: usize, padding: [usize; 2]) -> Self {
        let (chunk, n) = (CHUNK / scalar_bytes, 2 * degree + 1);
        let width = (2 * degree * patches + chunk).next_multiple_of(chunk);
        let row = width + padding[0];
        Self { width, row, plane: row * n + padding[1] }
    }
}

/// Words of the chunk of `x` that lie before it.
#[inline(always)]
fn words_before<T>(x: *const T) -> usize {
    x as usize % CHUNK / size_of::<T>()
}

impl<T: Real + Word> Stage<T> {
    /// For patches whose first node is `x`.
    #[inline(always)]
    pub fn new(shape: StageShape, x: *const T) -> Self {
        Self { nodes: Shared::at(words_before(x)), shape }
    }

    /// Starts to copy all nodes of `patches` patches whose first node is `x`, in whole chunks. Only faces and vertices are
    /// wanted: of other rows the chunks that have nodes of the faces normal to x.
    ///
    /// # Safety
    /// These patches lie within the grid, whose vector begins at a chunk, and nobody writes them until the copies have ended.
    /// (Of what lies beside them in a chunk nothing is used.)
    #[inline(always)]
    pub unsafe fn copy<const SIDED: bool, const K: usize, const N: usize>(
        &self,
        threads: usize,
        x: *const T,
        grid: Stored<SIDED>,
        patches: usize,
    ) {
        let whole_rows = 2 * K * size_of::<T>() <= 2 * CHUNK;
        let (StageShape { width, row, plane }, chunk) = (self.shape, CHUNK / size_of::<T>());
        let thread = cuda_std::thread::thread_idx_x() as usize;
        if !SIDED && chunk > 2 && !grid.row().is_multiple_of(chunk) {
            // Rows begin anywhere in a chunk: in `f32`, of an odd degree, with an odd number of patches in a row.
            let mut node = thread;
            while node < width * N * N {
                let (i, j, l) = (node % width, node / width % N, node / (width * N));
                if i <= 2 * K * patches {
                    // SAFETY: the caller's promise.
                    unsafe { self.nodes.copy(i + row * j + plane * l, x.add(grid.local_3d(i, j, l))) };
                }
                node += threads;
            }
            return;
        }
        // Found anew: kept from `new` on, it takes registers, and the kernel of degree 5 in f64 spills.
        let before = words_before(x);
        let (nodes, x) = (Shared::<T>::at(0), x.wrapping_sub(before));
        // A thread has chunks of all planes, or of every second or so of them.
        let chunks = width / chunk;
        let groups = (threads / (chunks * N)).max(1);
        for round in 0..if groups > 1 { 1 } else { (chunks * N).div_ceil(threads) } {
            let (line, first) = quotient_and_remainder(thread + round * threads, chunks);
            let (group, y) = quotient_and_remainder(line, N);
            let first = chunk * first;
            if group >= groups || first > before + 2 * K * patches {
                continue;
            }
            // Among the chunk's nodes is one of a face if this is the first one, or behind the last one of a patch.
            let in_patch = (first + 2 * K - before) as u32 as usize % (2 * K);
            let on_face = y == 0 || y == 2 * K || in_patch == 0 || in_patch + chunk > 2 * K;
            // SAFETY: the caller's promise.
            let start = unsafe { x.add(grid.local_3d(first, y, group)) };
            for i in 0..N.div_ceil(groups) {
                let z = group + i * groups;
                let wanted = whole_rows || on_face || z == 0 || z == 2 * K || z == K && y == K;
                if z < N && wanted {
                    let node = first + row * y + plane * z;
                    // SAFETY: as above; a vector has whole chunks, and rows begin as the first one does.
                    unsafe { nodes.copy_chunk(node, start.add(grid.plane() as usize * groups * i)) };
                }
            }
        }
    }

    /// Shared memory from so many words behind the nodes.
    #[inline(always)]
    pub fn behind<const N: usize>(&self, offset: usize) -> Shared<T> {
        Shared::at(self.shape.plane * N + offset)
    }

    /// Distance of neighbours in a direction.
    #[inline(always)]
    fn stride(&self, direction: usize) -> usize {
        match direction % 3 {
            0 => 1,
            1 => self.shape.row,
            _ => self.shape.plane,
        }
    }

    /// Line `lane` on the pair of faces of patch `slot` that are normal to direction `normal`: it runs in the direction
    /// after, lines lie side by side in the one after that.
    #[inline(always)]
    pub fn lines<const K: usize, const N: usize>(&self, slot: usize, normal: usize, lane: usize) -> [[T; N]; 2] {
        let start = slot * 2 * K + lane * self.stride(normal + 2);
        let stride = self.stride(normal + 1);
        let line = |start: usize| self.nodes.read::<N>(Column { start, stride });
        [line(start), line(start + 2 * K * self.stride(normal))]
    }

    /// The node at the vertex of patch `slot`.
    #[inline(always)]
    pub fn middle<const K: usize, const N: usize>(&self, slot: usize) -> T {
        self.nodes.get(slot * 2 * K + K * (1 + self.shape.row + self.shape.plane))
    }
}
