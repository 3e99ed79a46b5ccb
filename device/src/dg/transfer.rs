//! Between a level and the next coarser one: a patch of the tiling is a coarse cell, and owns its nodes.
//!
//! A block has patches side by side in x. The longest direction of what is read or written is contracted in registers,
//! and rows are read and written whole.

use crate::kernels::{Shape, patches_per_block};

/// Columns of a patch on its level.
const fn columns(dim: usize, degree: usize) -> usize {
    (2 * (degree + 1)).pow(dim as u32 - 1)
}

/// Rows of shared memory: coarse in one direction, fine in the other one.
const fn rows(dim: usize, degree: usize) -> usize {
    if dim == 2 { degree + 1 } else { 2 * (degree + 1) * (degree + 1) }
}

/// Its shape on a block: a thread for each column of a patch on its level.
pub const fn shape(dim: usize, degree: usize) -> Shape {
    let columns = columns(dim, degree);
    let words = rows(dim, degree) * 2 * (degree + 1);
    Shape { columns, patches: patches_per_block(columns), words, barriers: dim - 1 }
}

/// Words of shared memory besides those of the patches: rows are odd, so that lines along x meet every bank once.
pub const fn common_words(dim: usize, degree: usize) -> usize {
    rows(dim, degree)
}

/// Blocks that a multiprocessor should hold.
pub const fn min_blocks(_dim: usize, _degree: usize, _scalar_bytes: usize) -> u32 {
    1
}

pub use device::{prolongate_add, restrict};

mod device {
    use super::shape;
    use crate::dg::{Strides, add_to_column};
    use crate::kernels::Shape;
    use crate::layout::{Column, Shared};
    use crate::matrices::DgTransferMatrices;
    use crate::patch::DgGrid;
    use crate::scalar::Real;
    use cuda_std::shared::Word;
    use cuda_std::thread;

    /// The patches of a block, and the coarse cells that they are.
    struct Patches {
        shape: Shape,
        fine: Strides,
        coarse: Strides,
        /// First nodes.
        fine_start: usize,
        coarse_start: usize,
        /// How many there are.
        count: usize,
    }

    impl Patches {
        #[inline(always)]
        fn new(shape: Shape, grid: DgGrid, is_3d: bool) -> Self {
            let (fine, coarse) = (Strides::of(grid, is_3d), Strides::of(grid.coarser(), is_3d));
            let first = thread::block_idx_x() as usize * shape.patches;
            let (middle, last) = (thread::block_idx_y() as usize, thread::block_idx_z() as usize);
            let left = grid.cells[0] as usize / 2 - first;
            let c = grid.cell_nodes();
            let start = |strides: Strides, nodes: usize| {
                nodes * (first + if is_3d { middle * strides.row } else { 0 } + last * strides.column)
            };
            Self {
                shape,
                fine,
                coarse,
                fine_start: start(fine, 2 * c),
                coarse_start: start(coarse, c),
                count: if left < shape.patches { left } else { shape.patches },
            }
        }

        /// Calls `body` for the thread's share of so many tasks.
        #[inline(always)]
        fn share(&self, tasks: usize, body: impl Fn(usize)) {
            let threads = self.shape.columns * self.shape.patches;
            for round in 0..tasks.div_ceil(threads) {
                // Not as in the operator: here that takes more instructions and registers.
                let task = thread::thread_idx_x() as usize + round * threads;
                if task < tasks {
                    body(task);
                }
            }
        }
    }

    /// `N` nodes from `start` on.
    ///
    /// # Safety
    /// They are of the vector.
    #[inline(always)]
    unsafe fn read<T: Real, const N: usize>(vector: *const T, start: usize, stride: usize) -> [T; N] {
        let mut values = [T::ZERO; N];
        for i in 0..N {
            // SAFETY: the caller's promise.
            values[i] = unsafe { *vector.add(start + i * stride) };
        }
        values
    }

    /// `coarse = Pᵀ r`. `N = 2C` are the nodes of a patch, `C` those of a coarse cell, `MID` the former in the middle
    /// direction, in 2D 1.
    ///
    /// # Safety
    /// Launched as its [`shape`] says, for all patches of the tiling; `r` is a vector of the grid, `coarse` of the next
    /// coarser one.
    #[inline(always)]
    pub unsafe fn restrict<T: Real + Word, const N: usize, const C: usize, const H: usize, const MID: usize>(
        matrices: &DgTransferMatrices<T, N, C, H>,
        r: *const T,
        coarse: *mut T,
        cells: [u32; 3],
    ) {
        let shape = const { shape(if MID == 1 { 2 } else { 3 }, C - 1) };
        let grid = DgGrid { cells, degree: C as u32 - 1 };
        let patches = Patches::new(shape, grid, MID > 1);
        let (row, pitch) = (shape.patches * N, shape.patches * N + 1);
        let shared = Shared::<T>::at(0);
        let restriction = &matrices.restriction;

        patches.share(row * MID, |task| {
            let (x, y) = (task % row, task / row);
            if x < patches.count * N {
                let start = patches.fine_start + x + y * patches.fine.row;
                // SAFETY: nodes of the patch.
                let column = unsafe { read::<T, N>(r, start, patches.fine.column) };
                let along_last = Column { start: x + pitch * y, stride: pitch * MID };
                shared.write(along_last, &restriction.apply::<T, C>(&column));
            }
        });
        thread::sync_threads();
        // Fine rows of coarse planes.
        let lines = MID * C;
        patches.share(lines * shape.patches, |task| {
            let (slot, line) = (task / lines, task % lines);
            let along_x = Column { start: pitch * line + N * slot, stride: 1 };
            let nodes: [T; C] = restriction.apply(&shared.read::<N>(along_x));
            if MID > 1 {
                shared.write(along_x, &nodes);
            } else if slot < patches.count {
                for x in 0..C {
                    let node = patches.coarse_start + C * slot + x + line * patches.coarse.column;
                    // SAFETY: a node of the coarse cell, which is this patch alone.
                    unsafe { *coarse.add(node) = nodes[x] };
                }
            }
        });
        if MID > 1 {
            thread::sync_threads();
            let row = shape.patches * C;
            patches.share(row * C, |task| {
                let (x, z) = (task % row, task / row);
                let start = x / C * N + x % C + pitch * MID * z;
                let nodes: [T; C] = restriction.apply(&shared.read::<N>(Column { start, stride: pitch }));
                if x < patches.count * C {
                    for y in 0..C {
                        let node = patches.coarse_start + x + y * patches.coarse.row + z * patches.coarse.column;
                        // SAFETY: as above.
                        unsafe { *coarse.add(node) = nodes[y] };
                    }
                }
            });
        }
    }

    /// `x += P coarse`; sizes as for [`restrict`].
    ///
    /// # Safety
    /// Launched as its [`shape`] says, for all patches of the tiling; `x` is a vector of the grid, `coarse` of the next
    /// coarser one.
    #[inline(always)]
    pub unsafe fn prolongate_add<T: Real + Word, const N: usize, const C: usize, const H: usize, const MID: usize>(
        matrices: &DgTransferMatrices<T, N, C, H>,
        coarse: *const T,
        x: *mut T,
        cells: [u32; 3],
    ) {
        let shape = const { shape(if MID == 1 { 2 } else { 3 }, C - 1) };
        let grid = DgGrid { cells, degree: C as u32 - 1 };
        let patches = Patches::new(shape, grid, MID > 1);
        let pitch = shape.patches * N + 1;
        let shared = Shared::<T>::at(0);
        let prolongation = &matrices.prolongation;

        if MID > 1 {
            let row = shape.patches * C;
            patches.share(row * C, |task| {
                let (x, z) = (task % row, task / row);
                if x < patches.count * C {
                    let start = patches.coarse_start + x + z * patches.coarse.column;
                    // SAFETY: nodes of the coarse cell.
                    let column = unsafe { read::<T, C>(coarse, start, patches.coarse.row) };
                    let start = x / C * N + x % C + pitch * MID * z;
                    shared.write(Column { start, stride: pitch }, &prolongation.apply::<T, N>(&column));
                }
            });
            thread::sync_threads();
        }
        let lines = MID * C;
        patches.share(lines * shape.patches, |task| {
            let (slot, line) = (task / lines, task % lines);
            let along_x = Column { start: pitch * line + N * slot, stride: 1 };
            let nodes: [T; C] = if MID > 1 {
                shared.read(along_x)
            } else if slot < patches.count {
                // SAFETY: nodes of the coarse cell.
                unsafe { read(coarse, patches.coarse_start + C * slot + line * patches.coarse.column, 1) }
            } else {
                [T::ZERO; C]
            };
            shared.write(along_x, &prolongation.apply::<T, N>(&nodes));
        });
        thread::sync_threads();
        let row = shape.patches * N;
        patches.share(row * MID, |task| {
            let (in_row, y) = (task % row, task / row);
            if in_row < patches.count * N {
                let column = shared.read::<C>(Column { start: in_row + pitch * y, stride: pitch * MID });
                let start = patches.fine_start + in_row + y * patches.fine.row;
                let nodes: [T; N] = prolongation.apply(&column);
                // SAFETY: nodes of the patch alone.
                unsafe { add_to_column(x.wrapping_add(start), patches.fine.column, &nodes) };
            }
        });
    }
}
