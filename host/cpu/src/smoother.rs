//! One color of the multiplicative vertex-patch smoother, by fast diagonalization.
//!
//! The local solver is exact, so a patch's new interior is `A_II⁻¹ (b - A_IB x_B)` (paper 1, section 4.1.3): the old
//! one is never read. Take boundary functions that are made M-orthogonal to the interior ones. Then `A` couples an
//! interior eigenfunction `f` of one direction to the first boundary node by `d_f` (`coupling`) and `M` does not couple
//! them at all, so that with the transforms `Fˣ, Fʸ, Fᶻ` of the faces, and `b̂` of `b`, the coefficients in 3D are
//!
//! ```text
//! (b̂_ijl - d_i Fˣ_jl - d_j Fʸ_il - d_l Fᶻ_ij) / (λ_i + λ_j + λ_l) - (m_i Fˣ_jl + m_j Gʸ_il + m_l Gᶻ_ij)
//! ```
//!
//! where the second bracket (`m` being `mass_boundary`) is what the boundary functions so changed hold in the interior.
//! `F` transforms a face by `Sᵀ M` of all nodes in each of its directions; `G` leaves out the boundary lines that an
//! earlier direction's faces have. The faces of a direction enter as their sum for even functions and as their
//! difference for odd ones.
//!
//! A constant is in the kernel of `(A_II A_IB)`: all is done on `x_B` less the old value at the vertex, which is added in
//! the end, so that rounding is relative to what `x` varies on a patch.

use super::batch::{Batch, Patches};
use super::face::{Face, full, inner};
use super::lanes::{Lanes, Vectorized};
use super::operator::column;
use super::sweep::{PatchKernel, Shared};
use super::workspace::workspace;
use patchmg_device::matrices::SmootherMatrices;
use patchmg_device::scalar::Value;
use pulp::Simd;

/// One color.
pub struct Smooth<'a, T, const K: usize, const M: usize> {
    pub matrices: &'a SmootherMatrices<T, K, M>,
    /// `1 / (λ_i + λ_j [+ λ_l])`, `i` fastest.
    pub inverse_eigenvalues: &'a [T],
    pub patches: &'a Patches,
    pub b: &'a [T],
    pub x: Shared<T>,
}

/// [`Smooth`] in 2D.
pub struct Smooth2d<'a, T, const K: usize, const M: usize, const N: usize>(pub Smooth<'a, T, K, M>);
/// [`Smooth`] in 3D.
pub struct Smooth3d<'a, T, const K: usize, const M: usize, const N: usize>(pub Smooth<'a, T, K, M>);

impl<T: Vectorized, const K: usize, const M: usize> Smooth<'_, T, K, M> {
    /// `Sᵀ b` along the interior of row `(y, z)`.
    ///
    /// # Safety
    /// As for [`PatchKernel::run`].
    #[inline(always)]
    unsafe fn load<S: Simd>(&self, batch: &Batch, y: usize, z: usize) -> [Lanes<S, T>; M] {
        // SAFETY: a patch's nodes are stored.
        let row = unsafe { Lanes::gather(self.b.as_ptr(), &batch.fine, self.patches.grid.offset_3d(1, y, z)) };
        self.matrices.vectors.analyze(&row)
    }

    /// Writes `S row + middle` to the interior of row `(y, z)`.
    ///
    /// # Safety
    /// As for [`PatchKernel::run`].
    #[inline(always)]
    unsafe fn store<S: Simd>(&self, batch: &Batch, row: &[Lanes<S, T>; M], middle: Lanes<S, T>, y: usize, z: usize) {
        let row = self.matrices.vectors.synthesize(row);
        let row: [_; M] = column(|x| row[x] + middle);
        let offset = self.patches.grid.offset_3d(1, y, z);
        #[cfg(target_arch = "x86_64")]
        if Lanes::<S, T>::has_blocks::<M>() && batch.active == Lanes::<S, T>::WIDTH {
            // SAFETY: patches of a color share no interior node, and none has it on its boundary.
            return unsafe { Lanes::scatter_blocks(&row, self.x.pointer().add(offset), &batch.fine.now) };
        }
        let rows = Lanes::transpose(&row);
        for lane in 0..batch.active {
            for x in 0..M {
                // SAFETY: patches of a color share no interior node, and none has it on its boundary.
                unsafe { *self.x.pointer().add(batch.fine.now[lane] + offset + x) = rows[lane][x] };
            }
        }
    }

    /// Nodes of `x`, `N` in a row from `(x, y, z)` on.
    ///
    /// # Safety
    /// As for [`PatchKernel::run`]; the nodes must lie on the patch's boundary, or not be written yet.
    #[inline(always)]
    unsafe fn nodes<S: Simd, const N: usize>(&self, batch: &Batch, x: usize, y: usize, z: usize) -> [Lanes<S, T>; N] {
        // SAFETY: a patch's nodes are stored, and no patch of the color has a boundary node in its interior.
        unsafe { Lanes::gather(self.x.pointer(), &batch.fine, self.patches.grid.offset_3d(x, y, z)) }
    }

    /// Sums (0) and differences (1) of the `N` nodes from `(x, y, z)` on and of the row opposite in `direction`, each less
    /// `middle`.
    ///
    /// # Safety
    /// As for [`Self::nodes`].
    #[inline(always)]
    unsafe fn opposite<S: Simd, const N: usize>(
        &self,
        batch: &Batch,
        node: [usize; 3],
        direction: usize,
        middle: Lanes<S, T>,
    ) -> [[Lanes<S, T>; N]; 2] {
        let [x, y, z] = node;
        let mut other = node;
        other[direction] = 2 * K;
        // SAFETY: the caller's.
        let [first, last]: [[Lanes<S, T>; N]; 2] =
            unsafe { [self.nodes(batch, x, y, z), self.nodes(batch, other[0], other[1], other[2])] };
        [column(|i| (first[i] - middle) + (last[i] - middle)), column(|i| first[i] - last[i])]
    }
}

workspace! {
    /// Coefficients, `[j][i]`.
    pub struct Workspace2d<V, const M: usize> {
        interior: [[V; M]; M],
    }
}

impl<T: Vectorized, const K: usize, const M: usize, const N: usize> PatchKernel<T> for Smooth2d<'_, T, K, M, N> {
    type Workspace<S: Simd> = Workspace2d<Lanes<S, T>, M>;

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, batch: &Batch, work: &mut Self::Workspace<S>) {
        let Smooth { matrices, inverse_eigenvalues, .. } = self.0;
        let SmootherMatrices { vectors, mass_boundary: m, coupling: d, .. } = matrices;

        // SAFETY: the caller's; a patch is written after it was read.
        let [middle] = unsafe { self.0.nodes(batch, K, K, 0) };
        // SAFETY (this block): the caller's.
        let (x_faces, y_faces) = unsafe {
            let mut lines = [[Lanes::<S, T>::ZERO; N]; 2];
            for y in 0..N {
                let [[sum], [difference]] = self.0.opposite::<S, 1>(batch, [0, y, 0], 0, middle);
                (lines[0][y], lines[1][y]) = (sum, difference);
            }
            (lines, self.0.opposite::<S, N>(batch, [0, 0, 0], 1, middle))
        };
        let fx = [full(matrices, &x_faces[0]), full(matrices, &x_faces[1])];
        let gy: [[_; M]; 2] = [inner(matrices, &y_faces[0]), inner(matrices, &y_faces[1])];
        let fy = [full(matrices, &y_faces[0]), full(matrices, &y_faces[1])];

        for y in 0..M {
            // SAFETY: the caller's.
            work.interior[y] = unsafe { self.0.load(batch, y + 1, 0) };
        }
        for i in 0..M {
            let pi = usize::from(i >= K);
            let mut c: [_; M] = vectors.analyze(&column(|j| work.interior[j][i]));
            for j in 0..M {
                let pj = usize::from(j >= K);
                let coupled = Lanes::fma(d[j], fy[pj][i], Lanes::scale(d[i], fx[pi][j]));
                let held = Lanes::fma(m[j], gy[pj][i], Lanes::scale(m[i], fx[pi][j]));
                c[j] = Lanes::scale(inverse_eigenvalues[i + M * j], c[j] - coupled) - held;
            }
            let c: [_; M] = vectors.synthesize(&c);
            for j in 0..M {
                work.interior[j][i] = c[j];
            }
        }
        for y in 0..M {
            // SAFETY: the caller's.
            unsafe { self.0.store(batch, &work.interior[y], middle, y + 1, 0) };
        }
    }
}

workspace! {
    /// Coefficients, `[l][j][i]`, and the faces.
    pub struct Workspace3d<V, const M: usize, const N: usize> {
        interior: [[[V; M]; M]; M],
        x_faces: [Face<V, M, N>; 2],
        y_faces: [Face<V, M, N>; 2],
        z_faces: [Face<V, M, N>; 2],
    }
}

impl<T: Vectorized, const K: usize, const M: usize, const N: usize> PatchKernel<T> for Smooth3d<'_, T, K, M, N> {
    type Workspace<S: Simd> = Workspace3d<Lanes<S, T>, M, N>;

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, batch: &Batch, work: &mut Self::Workspace<S>) {
        let Smooth { matrices, inverse_eigenvalues, .. } = self.0;
        let SmootherMatrices { vectors, mass_boundary: m, coupling: d, .. } = matrices;
        let Workspace3d { interior, x_faces, y_faces, z_faces } = work;

        // SAFETY: the caller's; a patch is written after it was read.
        let [middle] = unsafe { self.0.nodes(batch, K, K, K) };
        for outer in 0..N {
            // SAFETY (this block): the caller's.
            unsafe {
                for y in 0..N {
                    let [[sum], [difference]] = self.0.opposite::<S, 1>(batch, [0, y, outer], 0, middle);
                    (x_faces[0].nodes[outer][y], x_faces[1].nodes[outer][y]) = (sum, difference);
                }
                [y_faces[0].nodes[outer], y_faces[1].nodes[outer]] = self.0.opposite(batch, [0, 0, outer], 1, middle);
                [z_faces[0].nodes[outer], z_faces[1].nodes[outer]] = self.0.opposite(batch, [0, outer, 0], 2, middle);
            }
        }
        for parity in 0..2 {
            x_faces[parity].transform_all(matrices);
            y_faces[parity].transform_inner_rows(matrices);
            z_faces[parity].transform_inner(matrices);
        }

        for z in 0..M {
            for y in 0..M {
                // SAFETY: the caller's.
                interior[z][y] = unsafe { self.0.load(batch, y + 1, z + 1) };
            }
            for i in 0..M {
                let c: [_; M] = vectors.analyze(&column(|y| interior[z][y][i]));
                for j in 0..M {
                    interior[z][j][i] = c[j];
                }
            }
        }
        for j in 0..M {
            for i in 0..M {
                let (fx, fy) = (&x_faces[usize::from(i >= K)], &y_faces[usize::from(j >= K)]);
                let mut c: [_; M] = vectors.analyze(&column(|z| interior[z][j][i]));
                for l in 0..M {
                    let fz = &z_faces[usize::from(l >= K)];
                    let coupled = Lanes::scale(d[i], fx.full[l][j]);
                    let coupled = Lanes::fma(d[j], fy.full[l][i], coupled);
                    let coupled = Lanes::fma(d[l], fz.full[j][i], coupled);
                    let held = Lanes::scale(m[i], fx.full[l][j]);
                    let held = Lanes::fma(m[j], fy.inner[l][i], held);
                    let held = Lanes::fma(m[l], fz.inner[j][i], held);
                    c[l] = Lanes::scale(inverse_eigenvalues[i + M * (j + M * l)], c[l] - coupled) - held;
                }
                let c: [_; M] = vectors.synthesize(&c);
                for l in 0..M {
                    interior[l][j][i] = c[l];
                }
            }
        }
        for z in 0..M {
            for i in 0..M {
                let c: [_; M] = vectors.synthesize(&column(|j| interior[z][j][i]));
                for y in 0..M {
                    interior[z][y][i] = c[y];
                }
            }
            for y in 0..M {
                // SAFETY: the caller's.
                unsafe { self.0.store(batch, &interior[z][y], middle, y + 1, z + 1) };
            }
        }
    }
}
