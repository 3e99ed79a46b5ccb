//! The vertex-patch smoother: one color, fused, exact local solver by fast diagonalization.
//!
//! The local solver is exact, so a step leaves `x_I = A_j⁻¹ (b_I - A_IB x_B)` on the interior of patch `j` (paper 1,
//! section 4.1.3) and need not read `x_I`. In one direction let `A S = M S Λ`, `Sᵀ M S = I` on the interior nodes, and
//! make the two boundary functions M-orthogonal to the interior ones: then no mass couples interior and boundary, the
//! stiffness couples by `d = Sᵀ A_IB - Λ m`, `m = Sᵀ M_IB`. With these matrices of cells of size 1 and the factors `c` of
//! [`Scaled`](crate::matrices::Scaled), in the basis `S ⊗ S ⊗ S`
//!
//! ```text
//! ĉ = (b̂_ijl - c_x d_i X_jl - c_y d_j Y_il - c_z d_l Z_ij) / (c_x λ_i + c_y λ_j + c_z λ_l) - x̂_B
//! x̂_B = m_i X_jl + m_j Y_il + m_l Z_ij - m_i m_j E^xy_l - m_j m_l E^yz_i - m_i m_l E^zx_j + m_i m_j m_l C
//! b̂ = (S ⊗ S ⊗ S)ᵀ b_I,   x_I = (S ⊗ S ⊗ S) ĉ
//! ```
//!
//! with `X, Y, Z` the faces' values of `x`, transformed by `Sᵀ M` (all nodes) in their own directions, and `E` and `C`
//! likewise edges and corners: `x̂_B`, the transform of `x_B` extended by zero, counts each boundary node once. An
//! interior function is even or odd about the vertex, so opposite faces enter as their sum or as their difference, and
//! edges and corners with a sign for each direction.
//!
//! A constant is in the kernel of `(A_II A_IB)`: all is done on `x_B` less the old value at the vertex, which is added in
//! the end. A smooth `x` varies little on a patch, so that what rounding leaves of it is less by as much; in `f32` on a
//! fine mesh the operator would enlarge it to what the next iteration has to remove.

use crate::kernels::{Shape, patch_nodes};

mod place;
mod sides;
mod stage;
mod step_2d;
mod step_3d;

/// Words of the smoother's table, one part after the other, with `M = 2k - 1`, functions `i` in x, `j` in y, `l` in z, and
/// matrices of cells of size 1:
///
/// ```text
/// 3D: 1 / (c_x λ_i + c_z λ_l + c_y λ_j) at i + M (l + M j);  m;  c_x d;  c_z d
/// 2D: 1 / (c_x λ_i + c_y λ_j)           at j + M i;          m;  c_y d;  P, at M n + a
/// ```
///
/// `P` is the interpolation from a coarse cell, node `n <= k`, to the interior nodes `a` of the patch that it becomes.
pub const fn table_words(dim: usize, degree: usize) -> usize {
    let interior = patch_nodes(degree).0;
    let others = if dim == 2 { 2 * interior + interior * (degree + 1) } else { 3 * interior };
    interior.pow(dim as u32) + others
}

/// Words of shared memory that a block has besides those of its patches.
pub const fn common_words(dim: usize, degree: usize, scalar_bytes: usize) -> usize {
    if dim == 3 { step_3d::common_words(degree, scalar_bytes) } else { 0 }
}

/// Its shape on a block: a thread owns a column of interior nodes.
pub const fn shape(dim: usize, degree: usize, scalar_bytes: usize) -> Shape {
    if dim == 3 { step_3d::shape(degree, scalar_bytes) } else { step_2d::shape(degree) }
}

/// Its shape for the first color in 2D, with a correction.
pub const fn first_shape(degree: usize) -> Shape {
    step_2d::first_shape(degree)
}

/// Blocks of a multiprocessor that the registers of a thread leave room for.
pub const fn min_blocks(dim: usize, degree: usize, scalar_bytes: usize) -> u32 {
    if dim == 3 { step_3d::min_blocks(degree, scalar_bytes) } else { step_2d::min_blocks(degree, scalar_bytes) }
}

/// The same for the first color in 2D with a correction.
pub const fn first_min_blocks(degree: usize, scalar_bytes: usize) -> u32 {
    step_2d::first_min_blocks(degree, scalar_bytes)
}

pub use device::*;
pub use step_2d::interpolated_nodes;

mod device {
    use crate::matrices::SmootherMatrices;
    use crate::scalar::Real;

    pub use super::sides::Sides;
    pub use super::stage::Stage;
    pub use super::step_2d::{smooth_2d, smooth_first_2d, step_2d};
    pub use super::step_3d::{smooth_3d, step_3d};

    /// What a thread looks up by its own column, in global memory, as [`table_words`](crate::smoother::table_words) says.
    ///
    /// A kernel's own arguments cannot be indexed at run time: the compiler would copy them to local memory.
    #[repr(transparent)]
    #[derive(Clone, Copy)]
    pub struct Table<T>(*const T);

    impl<T: Real> Table<T> {
        /// From the device address of [`table_words`](crate::smoother::table_words) numbers.
        ///
        /// # Safety
        /// They are there as long as the kernel runs.
        #[inline(always)]
        pub unsafe fn new(start: *const T) -> Self {
            Self(start)
        }

        #[inline(always)]
        pub(super) fn get(self, index: usize) -> T {
            // SAFETY: the promise of `new`; indices stay below `table_words`.
            unsafe { *self.0.add(index) }
        }

        /// `m` and `c d` of a function, behind `eigenvalues` inverse sums; of the arrays `c d` the `index`-th.
        #[inline(always)]
        pub(super) fn boundary<const M: usize>(self, eigenvalues: usize, function: usize, index: usize) -> (T, T) {
            (self.get(eigenvalues + function), self.get(eigenvalues + (1 + index) * M + function))
        }
    }

    /// A line of all nodes of a face, transformed by `Sᵀ M`, and the sum and the difference of its ends. The line itself
    /// may be one of a sum or of a difference of opposite faces.
    #[inline(always)]
    pub(super) fn transform<T: Real, const K: usize, const M: usize, const N: usize>(
        matrices: &SmootherMatrices<T, K, M>,
        line: &[T; N],
    ) -> ([T; M], [T; 2]) {
        let mut interior = [T::ZERO; M];
        for i in 0..M {
            interior[i] = line[i + 1];
        }
        let mut transformed = matrices.mass.analyze(&interior);
        let ends = [line[0] + line[N - 1], line[0] - line[N - 1]];
        for i in 0..M {
            transformed[i] = T::fma(matrices.mass_boundary[i], ends[is_odd::<K>(i)], transformed[i]);
        }
        (transformed, ends)
    }

    /// 0 for an even function, 1 for an odd one: sum or difference.
    #[inline(always)]
    pub(super) const fn is_odd<const K: usize>(function: usize) -> usize {
        (function >= K) as usize
    }

    /// Of lines on a pair of opposite faces, each less `middle`: `low + high`, `low - high`.
    #[inline(always)]
    pub(super) fn sum_and_difference<T: Real, const N: usize>(low: &[T; N], high: &[T; N], middle: T) -> [[T; N]; 2] {
        let mut lines = [[T::ZERO; N]; 2];
        for i in 0..N {
            let difference = low[i] - high[i];
            lines[0][i] = T::fma(T::from_f64(2.0), low[i] - middle, -difference);
            lines[1][i] = difference;
        }
        lines
    }

    /// One of two lines, without a branch.
    #[inline(always)]
    pub(super) fn select<T: Real, const N: usize>(lines: &[[T; N]; 2], sign: usize) -> [T; N] {
        let mut line = lines[0];
        for i in 0..N {
            if sign == 1 {
                line[i] = lines[1][i];
            }
        }
        line
    }
}
