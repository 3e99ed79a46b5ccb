//! Exact solution on the patches of a color, by fast diagonalization: `x += R_jᵀ A_j⁻¹ R_j r`, where with the eigenvectors
//! `S` of each direction `A_j⁻¹ = (S ⊗ S ⊗ S) (Λ ⊗ I ⊗ I + I ⊗ Λ ⊗ I + I ⊗ I ⊗ Λ)⁻¹ (S ⊗ S ⊗ S)ᵀ`.

use super::rows;
use crate::batch::Batch;
use crate::lanes::{Lanes, Vectorized};
use crate::operator::column;
use crate::sweep::{PatchKernel, Shared};
use crate::workspace::workspace;
use patchmg_device::patch::DgGrid;
use patchmg_device::scalar::Value;
use pulp::Simd;

/// `S` and `Sᵀ` of a direction, by rows.
pub struct Vectors<T, const N: usize> {
    nodes: [[T; N]; N],
    functions: [[T; N]; N],
}

impl<T: Vectorized, const N: usize> Vectors<T, N> {
    /// From `S`, a node a row.
    pub fn new(nodes: [[T; N]; N]) -> Self {
        let functions = core::array::from_fn(|function| core::array::from_fn(|node| nodes[node][function]));
        Self { nodes, functions }
    }
}

/// `C x` for a dense matrix.
#[inline(always)]
fn times<T: Vectorized, V: Value<T>, const N: usize>(matrix: &[[T; N]; N], x: &[V; N]) -> [V; N] {
    let mut y = [V::ZERO; N];
    for i in 0..N {
        let mut sum = V::scale(matrix[i][0], x[0]);
        for j in 1..N {
            sum = V::fma(matrix[i][j], x[j], sum);
        }
        y[i] = sum;
    }
    y
}

/// The patches of a color that touch the same ends of the domain.
pub struct Solve<'a, T, const N: usize, const NZ: usize> {
    /// In each direction.
    pub vectors: [&'a Vectors<T, N>; 3],
    /// `1 / (λ_i + λ_j [+ λ_l])`, `i` fastest.
    pub inverse_eigenvalues: &'a [T],
    pub grid: DgGrid,
    pub residual: &'a [T],
    pub x: Shared<T>,
}

workspace! {
    /// Coefficients, `[l][j][i]`.
    pub struct Workspace<V, const N: usize, const NZ: usize> {
        planes: [[[V; N]; N]; NZ],
    }
}

impl<T: Vectorized, const N: usize, const NZ: usize> PatchKernel<T> for Solve<'_, T, N, NZ> {
    type Workspace<S: Simd> = Workspace<Lanes<S, T>, N, NZ>;

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, batch: &Batch, work: &mut Self::Workspace<S>) {
        let (Self { inverse_eigenvalues, grid, .. }, planes) = (self, &mut work.planes);
        let [along_x, along_y, along_z] = self.vectors;
        for z in 0..NZ {
            for y in 0..N {
                // SAFETY: a patch's nodes are stored.
                let row = unsafe { Lanes::gather(self.residual.as_ptr(), &batch.fine, grid.offset_3d(0, y, z)) };
                planes[z][y] = times(&along_x.functions, &row);
            }
            for i in 0..N {
                let mut c: [_; N] = times(&along_y.functions, &column(|y| planes[z][y][i]));
                if NZ == 1 {
                    for j in 0..N {
                        c[j] = Lanes::scale(inverse_eigenvalues[i + N * j], c[j]);
                    }
                    c = times(&along_y.nodes, &c);
                }
                for j in 0..N {
                    planes[z][j][i] = c[j];
                }
            }
        }
        if NZ > 1 {
            for j in 0..N {
                for i in 0..N {
                    let mut c: [_; N] = times(&along_z.functions, &column(|z| planes[z % NZ][j][i]));
                    for l in 0..N {
                        c[l] = Lanes::scale(inverse_eigenvalues[i + N * (j + N * l)], c[l]);
                    }
                    let c: [_; N] = times(&along_z.nodes, &c);
                    for l in 0..NZ {
                        planes[l][j][i] = c[l];
                    }
                }
            }
        }
        for z in 0..NZ {
            if NZ > 1 {
                for i in 0..N {
                    let c: [_; N] = times(&along_y.nodes, &column(|j| planes[z][j][i]));
                    for y in 0..N {
                        planes[z][y][i] = c[y];
                    }
                }
            }
            for y in 0..N {
                let row: [_; N] = times(&along_x.nodes, &planes[z][y]);
                // SAFETY: patches of a color share no node.
                unsafe { rows::add(&row, self.x, batch, &batch.fine, grid.offset_3d(0, y, z)) };
            }
        }
    }
}
