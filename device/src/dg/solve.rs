//! Exact solutions on the patches of a color by fast diagonalization, `x += A_j⁻¹ r` (paper 4, equation 11): with the
//! eigenvectors `S` of each direction
//!
//! ```text
//! A_j⁻¹ = (S ⊗ S ⊗ S) (c_x Λ ⊗ I ⊗ I + c_y I ⊗ Λ ⊗ I + c_z I ⊗ I ⊗ Λ)⁻¹ (S ⊗ S ⊗ S)ᵀ,    L S = M S Λ, Sᵀ M S = I
//! ```
//!
//! with the 1D matrices `M` and `L` of one cell size and the factors `c` of [`Scaled`](crate::matrices::Scaled), which only the
//! table of inverse eigenvalues knows.
//!
//! `L` depends on the [`Ends`] that the patch touches. In a direction of two cells the one patch touches both. If all directions
//! have two cells, [`DgSolveMatrices::symmetric`](crate::matrices::DgSolveMatrices::symmetric) is the `S` of that patch, else of
//! patches that touch no end. A level is *thin* if some directions have two cells and others more: it needs both, and its kernel
//! of its own, `THIN`, takes the `S` of both ends from the table. As parameters they would take more than 4 KB in degree 7 and 8.
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

/// Words of the table, with `N = 2(k + 1)` nodes of a patch and `C = k + 1`, one part after the other:
///
/// ```text
/// for each class of ends, its bit of x fastest: 1 / (c_x λ_i + c_y λ_j + c_z λ_l) at j + N (l + N i)
///                                        in 2D: 1 / (c_x λ_i + c_y λ_j)           at j + N i
/// on a thin level, S of both ends, at node n < C: even function f at n + C f, odd function f at C² + n + C f
/// ```
///
/// A class has a bit for each direction: 0 for patches that touch no end, 1 for those that touch the lower end, the upper one,
/// which has the same eigenvalues, or both; a direction of two cells has 1 alone. The last part is
/// [`Parity`](crate::contract::Parity) as it lies in memory.
pub const fn table_words(dim: usize, degree: usize, is_thin: bool) -> usize {
    let vectors = 2 * (degree + 1) * (degree + 1);
    (patch_nodes(degree).pow(dim as u32) << dim) + if is_thin { vectors } else { 0 }
}

/// Whether some directions of a level have two cells and others more.
pub fn is_thin(dim: usize, cells: [u32; 3]) -> bool {
    let thin = cells[..dim].iter().filter(|&&cells| cells == 2).count();
    0 < thin && thin < dim
}

/// Where the inverse eigenvalue sums of patches with these ends begin in the table, of `words` a class.
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
    use super::{ends, shape, table_start, table_words};
    use crate::contract::Parity;
    use crate::dg::{Strides, add_to_column};
    use crate::layout::{Column, Shared};
    use crate::matrices::DgSolveMatrices;
    use crate::patch::{DgGrid, Ends, bit, color_count, color_origin};
    use crate::scalar::Real;
    use cuda_std::shared::Word;
    use cuda_std::thread;

    /// The eigenvectors of a patch in one direction.
    struct Vectors<'a, T, const N: usize, const C: usize> {
        matrices: &'a DgSolveMatrices<T, N, C>,
        ends: Ends,
        /// In a direction of two cells of a thin level.
        both: Option<&'a Parity<T, C>>,
    }

    impl<T: Real, const N: usize, const C: usize> Vectors<'_, T, N, C> {
        /// `Sᵀ x`.
        #[inline(always)]
        fn analyze(&self, x: &[T; N]) -> [T; N] {
            match self.both {
                Some(both) => both.analyze(x),
                None => self.matrices.analyze(self.ends, x),
            }
        }

        /// `S z`.
        #[inline(always)]
        fn synthesize(&self, z: &[T; N]) -> [T; N] {
            match self.both {
                Some(both) => both.synthesize(z),
                None => self.matrices.synthesize(self.ends, z),
            }
        }
    }

    /// `x += A_j⁻¹ r` on the patches of a color. `N = 2C` are the nodes of a patch, `MID` those in the middle direction, `N`
    /// or in 2D 1. `THIN` is the kernel of levels that [are thin](super::is_thin).
    ///
    /// # Safety
    /// Launched as its [`shape`] says; `r` and `x` are vectors of the grid, `table` has [`table_words`].
    #[inline(always)]
    pub unsafe fn solve<T: Real + Word, const N: usize, const C: usize, const MID: usize, const THIN: bool>(
        matrices: &DgSolveMatrices<T, N, C>,
        table: *const T,
        r: *const T,
        x: *mut T,
        cells: [u32; 3],
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
        let count = color_count(cells[0], bit(color, 0)) as usize;
        let is_patch = |slot: usize| first_patch + slot < count;
        let (middle_ends, last_ends) = (
            if is_3d { ends(cells[1], color, 1, thread::block_idx_y()) } else { Ends::Neither },
            ends(cells[last], color, last, thread::block_idx_z()),
        );
        let vectors = |direction: usize, ends: Ends| {
            let classes = const { table_words(if MID == 1 { 2 } else { 3 }, C - 1, false) };
            // SAFETY: the last part of the table.
            let both = || unsafe { &*table.add(classes).cast() };
            Vectors { matrices, ends, both: (THIN && cells[direction] == 2).then(both) }
        };
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
        shared.write(along_last, &vectors(last, last_ends).analyze(&column));
        thread::sync_threads();

        let along_middle = Column { start: in_row + pitch * MID * second, stride: pitch };
        if is_3d {
            let column = shared.read::<N>(along_middle);
            shared.write(along_middle, &vectors(1, middle_ends).analyze(&column));
            thread::sync_threads();
        }

        let (slot, line) = (thread / (MID * N), thread % (MID * N));
        let x_ends = ends(cells[0], color, 0, (first_patch + slot) as u32);
        let along_x = Column { start: pitch * line + N * slot, stride: 1 };
        let mut column = vectors(0, x_ends).analyze(&shared.read::<N>(along_x));
        let classes = if is_3d { [x_ends, middle_ends, last_ends] } else { [x_ends, last_ends, Ends::Neither] };
        let start_of_class = table_start(classes, MID * N * N);
        for i in 0..N {
            // SAFETY: an entry of the table.
            column[i] = column[i] * unsafe { *table.add(start_of_class + line + MID * N * i) };
        }
        shared.write(along_x, &vectors(0, x_ends).synthesize(&column));
        thread::sync_threads();

        if is_3d {
            let column = shared.read::<N>(along_middle);
            shared.write(along_middle, &vectors(1, middle_ends).synthesize(&column));
            thread::sync_threads();
        }
        let column = vectors(last, last_ends).synthesize(&shared.read::<N>(along_last));
        if has_patch {
            // SAFETY: nodes of a patch, which no other patch of the color shares.
            unsafe { add_to_column(x.wrapping_add(start), strides.column, &column) };
        }
    }
}
