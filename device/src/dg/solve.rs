//! Exact solutions on the patches of a color by fast diagonalization, `x += A_j⁻¹ r` (paper 4, equation 11): with the
//! eigenvectors `S` of each direction `A_j⁻¹ = (S ⊗ S ⊗ S) (Λ ⊗ I ⊗ I + I ⊗ Λ ⊗ I + I ⊗ I ⊗ Λ)⁻¹ (S ⊗ S ⊗ S)ᵀ`.
//!
//! A block has patches side by side in x, a thread a column of a patch. The first contraction takes the residual from
//! global memory, the last one adds to `x`; between them columns are turned in shared memory.

use crate::kernels::{Shape, patches_per_block};
use crate::patch::{Ends, bit};

/// Nodes of a patch in one direction.
const fn patch_nodes(degree: usize) -> usize {
    2 * (degree + 1)
}

/// Columns of a patch.
const fn columns(dim: usize, degree: usize) -> usize {
    patch_nodes(degree).pow(dim as u32 - 1)
}

/// Its shape on a block: a thread owns a column.
pub const fn shape(dim: usize, degree: usize) -> Shape {
    let columns = columns(dim, degree);
    let words = columns * patch_nodes(degree);
    Shape { columns, patches: patches_per_block(columns), words, barriers: 2 * (dim - 1) }
}

/// Words of shared memory besides those of the patches: rows are odd, so that lines along x meet every bank once.
pub const fn common_words(dim: usize, degree: usize) -> usize {
    columns(dim, degree)
}

/// Blocks that a multiprocessor should hold: in 3D as many as have registers without spills.
pub const fn min_blocks(dim: usize, degree: usize, scalar_bytes: usize) -> u32 {
    const BLOCKS: [[u32; 8]; 2] = [[16, 16, 14, 12, 8, 5, 4, 2], [16, 16, 10, 8, 6, 4, 3, 2]];
    if dim == 2 { 1 } else { BLOCKS[scalar_bytes / 8][degree - 1] }
}

/// Where the inverse eigenvalue sums of patches with these ends begin, in tables of `words` each.
///
/// Eigenvalues at one end are those at the other.
#[inline(always)]
pub const fn table_start(ends: [Ends; 3], words: usize) -> usize {
    let mut class = 0;
    let mut direction = 0;
    while direction < 3 {
        class += (!matches!(ends[direction], Ends::Neither) as usize) << direction;
        direction += 1;
    }
    class * words
}

/// The ends that the `index`-th patch of a color touches in a direction.
#[inline(always)]
pub const fn ends(cells: u32, color: u32, direction: usize, index: u32) -> Ends {
    Ends::of_patch(cells, bit(color, direction) + 2 * index)
}

pub use device::solve;

mod device {
    use super::{ends, shape, table_start};
    use crate::dg::{Strides, add_to_column};
    use crate::layout::{Column, Shared};
    use crate::matrices::DgSolveMatrices;
    use crate::patch::{DgGrid, Ends, bit, color_count, color_origin};
    use crate::scalar::Real;
    use cuda_std::shared::Word;
    use cuda_std::thread;

    /// `x += A_j⁻¹ r` on the patches of a color. `N = 2C` are the nodes of a patch, `MID` those in the middle direction, `N`
    /// or in 2D 1. `table` holds for every class of ends `1 / (λ_i + λ_j [+ λ_l])`, the middle direction's index fastest, then
    /// the last one's, then that of x.
    ///
    /// # Safety
    /// Launched as its [`shape`] says; `r` and `x` are vectors of the grid.
    #[inline(always)]
    pub unsafe fn solve<T: Real + Word, const N: usize, const C: usize, const MID: usize>(
        matrices: &DgSolveMatrices<T, N, C>,
        table: *const T,
        r: *const T,
        x: *mut T,
        cells: u32,
        color: u32,
    ) {
        let shape = const { shape(if MID == 1 { 2 } else { 3 }, C - 1) };
        let is_3d = MID > 1;
        let (row, patches) = (shape.patches * N, shape.patches);
        let pitch = row + 1;
        let grid = DgGrid { cells, degree: C as u32 - 1 };
        let strides = Strides::of(grid, is_3d);
        let thread = thread::thread_idx_x() as usize;
        let last = if is_3d { 2 } else { 1 };
        let first_patch = thread::block_idx_x() as usize * patches;
        let count = color_count(cells, bit(color, 0)) as usize;
        let is_patch = |slot: usize| first_patch + slot < count;
        let (middle_ends, last_ends) = (
            if is_3d { ends(cells, color, 1, thread::block_idx_y()) } else { Ends::Neither },
            ends(cells, color, last, thread::block_idx_z()),
        );

        let shared = Shared::<T>::at(0);
        // A thread's place along rows.
        let (in_row, second) = (thread % row, thread / row);
        let origin = |direction: usize, index: usize| color_origin(C, bit(color, direction), index);
        let middle_origin = if is_3d { (origin(1, thread::block_idx_y() as usize) + second) * strides.row } else { 0 };
        let start = origin(0, first_patch)
            + in_row
            + middle_origin
            + origin(last, thread::block_idx_z() as usize) * strides.column;
        let has_patch = is_patch(in_row / N);

        let mut column = [T::ZERO; N];
        if has_patch {
            for z in 0..N {
                // SAFETY: a node of the vector.
                column[z] = unsafe { *r.add(start + z * strides.column) };
            }
        }
        let along_last = Column { start: in_row + pitch * second, stride: pitch * MID };
        shared.write(along_last, &matrices.analyze(last_ends, &column));
        thread::sync_threads();

        let along_middle = Column { start: in_row + pitch * MID * second, stride: pitch };
        if is_3d {
            let column = shared.read::<N>(along_middle);
            shared.write(along_middle, &matrices.analyze(middle_ends, &column));
            thread::sync_threads();
        }

        let (slot, line) = (thread / (MID * N), thread % (MID * N));
        let x_ends = ends(cells, color, 0, (first_patch + slot) as u32);
        let along_x = Column { start: pitch * line + N * slot, stride: 1 };
        let mut column = matrices.analyze(x_ends, &shared.read::<N>(along_x));
        let classes = if is_3d { [x_ends, middle_ends, last_ends] } else { [x_ends, last_ends, Ends::Neither] };
        let start_of_class = table_start(classes, MID * N * N);
        for i in 0..N {
            // SAFETY: an entry of the table.
            column[i] = column[i] * unsafe { *table.add(start_of_class + line + MID * N * i) };
        }
        shared.write(along_x, &matrices.synthesize(x_ends, &column));
        thread::sync_threads();

        if is_3d {
            let column = shared.read::<N>(along_middle);
            shared.write(along_middle, &matrices.synthesize(middle_ends, &column));
            thread::sync_threads();
        }
        let column = matrices.synthesize(last_ends, &shared.read::<N>(along_last));
        if has_patch {
            // SAFETY: nodes of a patch, which no other patch of the color shares.
            unsafe { add_to_column(x.wrapping_add(start), strides.column, &column) };
        }
    }
}
