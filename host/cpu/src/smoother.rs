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
//! difference for odd ones. Each index means the matrices of its own direction: `λ_i`, `d_i` and `m_i` are those of x,
//! with `j` those of y, with `l` those of z.
//!
//! A constant is in the kernel of `(A_II A_IB)`: all is done on `x_B` less the old value at the vertex, which is added in
//! the end, so that rounding is relative to what `x` varies on a patch. With a reaction `s u` it is `s M` of the constant, which is
//! subtracted from `b`; the eigenvalues become `λ_i + λ_j + λ_l + s`. Nothing else changes, as boundary functions remain M-orthogonal.

use super::batch::{Batch, Patches};
use super::face::{Face, analyze_all, analyze_interior, opposite};
use super::kernels::add_product;
use super::lanes::{Lanes, Vectorized};
use super::lines::{Analyze, Lines, Synthesize, contract_in_place};
use super::rows::{self, Put, Rows};
use super::sweep::{BatchKernel, Shared};
use super::workspace::workspace;
use patchmg_device::matrices::SmootherMatrices;
use patchmg_device::scalar::Value;
use pulp::Simd;

/// One color.
pub struct Smooth<'a, T, const K: usize, const M: usize> {
    /// In each direction.
    pub matrices: [&'a SmootherMatrices<T, K, M>; 3],
    /// `1 / (λ_i + λ_j [+ λ_l] + s)`, `i` fastest.
    pub inverse_eigenvalues: &'a [T],
    /// What a [reaction](super::kernels::Reaction) makes of the constant 1, if there is one.
    pub of_constant: Option<&'a [Vec<T>; 3]>,
    pub patches: &'a Patches,
    pub b: &'a [T],
    pub x: Shared<T>,
}

/// [`Smooth`] in 2D.
pub struct Smooth2d<'a, T, const K: usize, const M: usize, const N: usize>(pub Smooth<'a, T, K, M>);
/// [`Smooth`] in 3D.
pub struct Smooth3d<'a, T, const K: usize, const M: usize, const N: usize>(pub Smooth<'a, T, K, M>);

impl<T: Vectorized, const K: usize, const M: usize> Smooth<'_, T, K, M> {
    /// Rows of a patch from a node on, beside each other in `y` or in `z`.
    #[inline(always)]
    fn rows(&self, [x, y, z]: [usize; 3], direction: usize) -> Rows {
        let grid = self.patches.grid;
        let apart = if direction == 1 { grid.row() } else { grid.offset_3d(0, 0, 1) };
        Rows { first: grid.offset_3d(x, y, z), apart }
    }

    /// `Sᵀ b` along the interior of the rows of plane `z`.
    ///
    /// # Safety
    /// As for [`BatchKernel::run`].
    #[inline(always)]
    unsafe fn load<S: Simd>(&self, batch: &Batch, z: usize, plane: &mut [[Lanes<S, T>; M]; M]) {
        // SAFETY: a patch's nodes are stored.
        unsafe {
            let (rows, map) = (self.rows([1, 1, z], 1), Analyze(&self.matrices[0].vectors));
            rows::load_mapped(self.b.as_ptr(), &batch.fine, rows, &Lanes::ZERO, &map, plane);
        }
    }

    /// Writes `S row + middle` for the rows of a plane to the interior of plane `z`.
    ///
    /// # Safety
    /// As for [`BatchKernel::run`].
    #[inline(always)]
    unsafe fn store<S: Simd>(&self, batch: &Batch, plane: &[[Lanes<S, T>; M]; M], middle: &Lanes<S, T>, z: usize) {
        let (rows, map) = (self.rows([1, 1, z], 1), Synthesize(&self.matrices[0].vectors));
        // SAFETY: patches of a color share no interior node, and none has it on its boundary.
        unsafe { rows::store_mapped(plane, &map, Put::Shifted(middle), self.x, batch, &batch.fine, rows) };
    }

    /// Nodes of `x` in rows.
    ///
    /// # Safety
    /// As for [`BatchKernel::run`]; the nodes must lie on the patch's boundary, or not be written yet.
    #[inline(always)]
    unsafe fn nodes<S: Simd, const N: usize>(&self, batch: &Batch, rows: Rows, nodes: &mut [[Lanes<S, T>; N]]) {
        // SAFETY: a patch's nodes are stored, and no patch of the color has a boundary node in its interior.
        unsafe { rows::load(self.x.pointer(), &batch.fine, rows, &Lanes::ZERO, nodes) };
    }
}

workspace! {
    /// Coefficients, `[j][i]`; sums and differences of opposite lines; their transforms by the interior, and by all nodes.
    pub struct Workspace2d<V, const M: usize, const N: usize> {
        interior: [[V; M]; M],
        x_faces: [[[V; 1]; N]; 2],
        y_faces: [[[V; N]; 1]; 2],
        fx: [[V; M]; 2],
        gy: [[V; M]; 2],
        fy: [[V; M]; 2],
    }
}

impl<T: Vectorized, const K: usize, const M: usize, const N: usize> BatchKernel<T> for Smooth2d<'_, T, K, M, N> {
    type Workspace<S: Simd> = Workspace2d<Lanes<S, T>, M, N>;

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, batch: &Batch, work: &mut Self::Workspace<S>) {
        let Smooth { matrices, inverse_eigenvalues, .. } = self.0;
        let [along_x, along_y, _] = matrices;
        let Workspace2d { interior, x_faces, y_faces, fx, gy, fy } = work;

        for side in 0..2 {
            let end = 2 * K * side;
            // SAFETY (this block): the caller's; a patch is written after it was read.
            unsafe {
                self.0.nodes(batch, self.0.rows([end, 0, 0], 1), &mut x_faces[side]);
                self.0.nodes(batch, self.0.rows([0, end, 0], 1), &mut y_faces[side]);
            }
        }
        // SAFETY: as above.
        let [[middle]] = &unsafe { rows::node(self.0.x.pointer(), &batch.fine, self.0.patches.middle()) };
        let [[left, right], [lower, upper]] = [
            x_faces.each_mut().map(|face| face.as_flattened_mut()),
            y_faces.each_mut().map(|face| face.as_flattened_mut()),
        ];
        opposite(left, right, middle);
        opposite(lower, upper, middle);
        let (x_lines, y_lines) = (x_faces.as_flattened().as_flattened(), y_faces.as_flattened().as_flattened());
        let (from, to) = (Lines::<N>::rows(2), Lines::<M>::rows(2));
        analyze_all(along_y, x_lines, from, fx.as_flattened_mut(), to);
        analyze_interior(along_x, y_lines, from, gy.as_flattened_mut(), to);
        analyze_all(along_x, y_lines, from, fy.as_flattened_mut(), to);

        // SAFETY: the caller's.
        unsafe { self.0.load(batch, 0, interior) };
        let columns = Lines::<M>::columns(M);
        contract_in_place(Analyze(&along_y.vectors), interior.as_flattened_mut(), columns);
        for j in 0..M {
            let (fy, gy) = (&fy[usize::from(j >= K)], &gy[usize::from(j >= K)]);
            add_product(self.0.of_constant, &(Lanes::ZERO - *middle), [j, 0], &mut interior[j]);
            for i in 0..M {
                let fx = fx[usize::from(i >= K)][j];
                let coupled = Lanes::fma(along_y.coupling[j], fy[i], Lanes::scale(along_x.coupling[i], fx));
                let held = Lanes::fma(along_y.mass_boundary[j], gy[i], Lanes::scale(along_x.mass_boundary[i], fx));
                interior[j][i] = Lanes::scale(inverse_eigenvalues[i + M * j], interior[j][i] - coupled) - held;
            }
        }
        contract_in_place(Synthesize(&along_y.vectors), interior.as_flattened_mut(), columns);
        // SAFETY: the caller's.
        unsafe { self.0.store(batch, interior, middle, 0) };
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

impl<T: Vectorized, const K: usize, const M: usize, const N: usize> BatchKernel<T> for Smooth3d<'_, T, K, M, N> {
    type Workspace<S: Simd> = Workspace3d<Lanes<S, T>, M, N>;

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, batch: &Batch, work: &mut Self::Workspace<S>) {
        let Smooth { matrices, inverse_eigenvalues, .. } = self.0;
        let [along_x, along_y, along_z] = matrices;
        let Workspace3d { interior, x_faces, y_faces, z_faces } = work;

        // SAFETY (this block): the caller's; a patch is written after it was read.
        let [[middle]] = &unsafe {
            for side in 0..2 {
                let end = 2 * K * side;
                for z in 0..N {
                    let line = x_faces[side].nodes[z].as_chunks_mut::<1>().0;
                    self.0.nodes(batch, self.0.rows([end, 0, z], 1), line);
                }
                self.0.nodes(batch, self.0.rows([0, end, 0], 2), &mut y_faces[side].nodes);
                self.0.nodes(batch, self.0.rows([0, 0, end], 1), &mut z_faces[side].nodes);
            }
            rows::node(self.0.x.pointer(), &batch.fine, self.0.patches.middle())
        };
        for [first, last] in [&mut *x_faces, &mut *y_faces, &mut *z_faces] {
            opposite(first.nodes.as_flattened_mut(), last.nodes.as_flattened_mut(), middle);
        }
        for parity in 0..2 {
            x_faces[parity].transform_all([along_y, along_z]);
            y_faces[parity].transform_inner_rows([along_x, along_z]);
            z_faces[parity].transform_inner([along_x, along_y]);
        }

        let columns = Lines::<M>::columns(M);
        for z in 0..M {
            // SAFETY: the caller's.
            unsafe { self.0.load(batch, z + 1, &mut interior[z]) };
            contract_in_place(Analyze(&along_y.vectors), interior[z].as_flattened_mut(), columns);
        }
        for j in 0..M {
            let across = Lines::<M>::across(j, M, M);
            let tensor = interior.as_flattened_mut().as_flattened_mut();
            contract_in_place(Analyze(&along_z.vectors), tensor, across);
            let fy = &y_faces[usize::from(j >= K)];
            for l in 0..M {
                let fz = &z_faces[usize::from(l >= K)];
                add_product(self.0.of_constant, &(Lanes::ZERO - *middle), [j, l], &mut interior[l][j]);
                for i in 0..M {
                    let fx = x_faces[usize::from(i >= K)].full[l][j];
                    let coupled = Lanes::scale(along_x.coupling[i], fx);
                    let coupled = Lanes::fma(along_y.coupling[j], fy.full[l][i], coupled);
                    let coupled = Lanes::fma(along_z.coupling[l], fz.full[j][i], coupled);
                    let held = Lanes::scale(along_x.mass_boundary[i], fx);
                    let held = Lanes::fma(along_y.mass_boundary[j], fy.inner[l][i], held);
                    let held = Lanes::fma(along_z.mass_boundary[l], fz.inner[j][i], held);
                    let inverse = inverse_eigenvalues[i + M * (j + M * l)];
                    interior[l][j][i] = Lanes::scale(inverse, interior[l][j][i] - coupled) - held;
                }
            }
            let tensor = interior.as_flattened_mut().as_flattened_mut();
            contract_in_place(Synthesize(&along_z.vectors), tensor, across);
        }
        for z in 0..M {
            contract_in_place(Synthesize(&along_y.vectors), interior[z].as_flattened_mut(), columns);
            // SAFETY: the caller's.
            unsafe { self.0.store(batch, &interior[z], middle, z + 1) };
        }
    }
}
