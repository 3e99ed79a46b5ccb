//! The restricted residual, `coarse = Pᵀ (b - A x)`, without a residual vector: the sum over patches of
//! `(T ⊗ T ⊗ T) b - (c_x Q_A ⊗ Q_M ⊗ Q_M + c_y Q_M ⊗ Q_A ⊗ Q_M + c_z Q_M ⊗ Q_M ⊗ Q_A) x`, factors in the order x, y, z, with
//! `Q_A = Pᵀ A`, `Q_M = Pᵀ M` of cells of size 1 and `T = Pᵀ W`, whose `W` gives each of the patches that share a node of `b`
//! its part; by a [`march`](crate::march).

use crate::march::Strip;

/// Words between the planes of a tensor in 3D, by degree: those with the fewest bank conflicts in `f32` and `f64` together.
const PADDING: [usize; 8] = [0, 28, 26, 24, 10, 20, 10, 16];

/// A block's patches: as many as have a column for nearly every thread of a few warps. In high degrees in 3D, where these
/// are but one or two, blocks march along x.
pub const fn strip(dim: usize, degree: usize) -> Strip {
    let pieces = match (dim, degree) {
        (2, 5..=7) => 191 / (2 * degree),
        (2, 8) => 15,
        (2, _) => 127 / (2 * degree),
        (_, 1) => 20,
        (_, 2) => 12,
        (_, 3) => 8,
        (_, 4 | 6 | 7) => 2,
        (_, 5) => 3,
        _ => 1,
    };
    let padding = if dim == 3 { PADDING[degree - 1] } else { Strip::padding_2d(2 * degree * pieces + 1) };
    Strip { dim, degree, nodes: 2 * degree, pieces, along_x: dim == 3 && degree > 3, has_b: true, padding }
}

/// Whether a thread reads the next column before it needs it: in low degrees in 3D, where registers suffice for it.
const fn reads_early(dim: usize, degree: usize, scalar_bytes: usize) -> bool {
    dim == 3 && degree < if scalar_bytes == 4 { 6 } else { 4 }
}

/// Blocks of a multiprocessor that the registers of a thread leave room for: more where that costs no spills.
pub const fn min_blocks(dim: usize, degree: usize, scalar_bytes: usize) -> u32 {
    const SINGLE_2D: [u32; 10] = [12, 16, 12, 10, 6, 6, 6, 4, 7, 6];
    const DOUBLE_2D: [u32; 10] = [10, 8, 6, 6, 3, 4, 3, 2, 4, 4];
    const SINGLE_3D: [u32; 8] = [8, 5, 4, 6, 2, 3, 2, 3];
    const DOUBLE_3D: [u32; 8] = [8, 4, 2, 5, 2, 2, 1, 1];
    match (dim, scalar_bytes) {
        (2, 4) => SINGLE_2D[degree - 1],
        (2, _) => DOUBLE_2D[degree - 1],
        (_, 4) => SINGLE_3D[degree - 1],
        _ => DOUBLE_3D[degree - 1],
    }
}

pub use device::*;

mod device {
    use super::*;
    use crate::march::{Matrices, Part, Target, march};
    use crate::matrices::{RestrictionMatrices, Scaled};
    use crate::operator::cells::Without;
    use crate::patch::Grid;
    use crate::scalar::Real;
    use cuda_std::shared::Word;

    /// `coarse = Pᵀ (b - A x)`, one class.
    ///
    /// # Safety
    /// Launched as its [`strip`] says, in chunks of so many patches; `b` and `x` are of the grid of `cells`, `coarse` of
    /// that of half as many.
    #[inline(always)]
    pub unsafe fn restrict_residual<
        T: Real + Word,
        const DIM: usize,
        const K: usize,
        const N: usize,
        const C: usize,
        const H: usize,
    >(
        Scaled { matrices, factors }: &Scaled<RestrictionMatrices<T, N, H>, T>,
        b: *const T,
        x: *const T,
        coarse: *mut T,
        cells: [u32; 3],
        class: u32,
        chunk: u32,
    ) {
        let grid = Grid { cells, degree: K as u32 }.coarser();
        let RestrictionMatrices { mass, stiffness, transfer } = matrices;
        let matrices = Matrices { mass, stiffness, factors: *factors, reaction: Without, transfer: Some(transfer) };
        let put = |target: Target, sum: T| {
            let entry = match const { strip(DIM, K) }.along_x {
                true => target.of_grid(coarse, Grid { cells, ..grid }.remade().coarser()),
                false => target.of(coarse),
            };
            // SAFETY: an unknown, which no other block of the class touches.
            unsafe { *entry = if target.is_first { sum } else { *entry + sum } };
        };
        let (strip, early) = (const { strip(DIM, K) }, reads_early(DIM, K, size_of::<T>()));
        let part = Part { pieces: grid.cells, class, chunk };
        // SAFETY: the caller's promise.
        unsafe { march::<T, _, N, C, H>(strip, early, &matrices, b, x, part, put) }
    }
}

#[cfg(any(not(target_arch = "nvptx64"), module = "separable"))]
pub use sided::*;

#[cfg(any(not(target_arch = "nvptx64"), module = "separable"))]
mod sided {
    use super::*;
    use crate::march::{Matrices, SidedPart, march_sided};
    use crate::matrices::{RestrictionMatrices, Scaled, SidedRestrictionMatrices};
    use crate::patch::Direction;
    use crate::scalar::Real;
    use cuda_std::shared::Word;

    /// `coarse = Pᵀ (b - A x)` on boxes with any sides, one class. Along a period there must be an even number of coarse cells.
    ///
    /// # Safety
    /// Launched as [`march_sided`] says for its [`strip`]; `coarse` is of the level with half as many cells in each direction.
    #[inline(always)]
    pub unsafe fn restrict_residual_sided<
        T: Real + Word,
        const DIM: usize,
        const K: usize,
        const N: usize,
        const C: usize,
        const H: usize,
    >(
        SidedRestrictionMatrices { patch, reaction }: &SidedRestrictionMatrices<T, N, H>,
        vectors: [*const T; 2],
        coarse: *mut T,
        part: SidedPart,
    ) {
        let Scaled { matrices: RestrictionMatrices { mass, stiffness, transfer }, factors } = patch;
        let matrices = Matrices { mass, stiffness, factors: *factors, reaction: *reaction, transfer: Some(transfer) };
        let put = |[x, y, z]: [u32; 3], is_first: bool, sum: T| {
            let [of_x, of_y, _] = part.fine.remade().0.map(Direction::coarser);
            let row = of_x.row(K);
            let (plane, in_plane) = if DIM == 3 { (row * of_y.nodes(K), x + row * y) } else { (row, x) };
            let entry = coarse.wrapping_add(in_plane as usize).wrapping_add(plane as usize * z as usize);
            // SAFETY: an unknown, which no other block of the class touches.
            unsafe { *entry = if is_first { sum } else { *entry + sum } };
        };
        let (strip, early) = (const { strip(DIM, K) }, reads_early(DIM, K, size_of::<T>()));
        // SAFETY: the caller's promise.
        unsafe { march_sided::<T, _, N, C, H>(strip, early, &matrices, vectors, part, put) }
    }
}
