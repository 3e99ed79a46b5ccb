//! The operator in 2D, row by row: the sum over cells of `c_x (A_x M_y + (c_y / c_x) M_x A_y) x`, by a [`march`](crate::march) along y.

use crate::march::Strip;

/// A block's cells: as many as have a column for nearly every one of 128 threads, or in high degrees, where the cell that
/// two blocks share is longer, of 256.
pub const fn strip(degree: usize) -> Strip {
    let pieces = if degree < 5 { 127 / degree } else { 255 / degree };
    let padding = Strip::padding_2d(degree * pieces + 1);
    Strip { dim: 2, degree, nodes: degree, pieces, along_x: false, has_b: false, padding }
}

/// Blocks of a multiprocessor that the registers of a thread leave room for: more where that costs no spills.
pub const fn min_blocks(degree: usize, scalar_bytes: usize) -> u32 {
    const SINGLE: [u32; 10] = [12, 12, 12, 16, 8, 8, 8, 8, 5, 5];
    const DOUBLE: [u32; 10] = [12, 16, 12, 12, 4, 4, 4, 3, 3, 3];
    if scalar_bytes == 4 { SINGLE[degree - 1] } else { DOUBLE[degree - 1] }
}

pub use device::*;

mod device {
    use super::*;
    use crate::march::{Matrices, Part, Target, march};
    use crate::matrices::{CellMatrices, Scaled};
    use crate::operator::Output;
    use crate::operator::cells::Without;
    use crate::scalar::Real;
    use cuda_std::shared::Word;

    /// The operator in 2D, in chunks of so many cells along y.
    ///
    /// # Safety
    /// Launched as its [`strip`] says; the vectors are of the grid.
    #[inline(always)]
    pub unsafe fn apply_2d<T: Real + Word, const RESIDUAL: bool, const K: usize, const C: usize, const H: usize>(
        Scaled { matrices, factors }: &Scaled<CellMatrices<T, C, H>, T>,
        x: *const T,
        output: Output<T>,
        cells: [u32; 3],
        chunk: u32,
    ) {
        let (mass, stiffness) = (&matrices.mass.split, &matrices.stiffness.split);
        let matrices = Matrices { mass, stiffness, factors: *factors, reaction: Without, transfer: None };
        let put = |target: Target, product: T| {
            // SAFETY: an unknown, of this block alone; for a residual there is `b`.
            unsafe {
                let value = match RESIDUAL {
                    true => T::fma(-factors[0], product, *target.of(output.b.cast_mut())),
                    false => factors[0] * product,
                };
                *target.of(output.y) = value;
            }
        };
        let part = Part { pieces: cells, class: 0, chunk };
        let strip = const { strip(K) };
        // SAFETY: the caller's promise; no `b` is read.
        unsafe { march::<T, _, C, C, H>(strip, false, &matrices, core::ptr::null(), x, part, put) }
    }
}
