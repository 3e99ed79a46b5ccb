//! Exact solution on the patches of a color, by fast diagonalization: `x += R_jᵀ A_j⁻¹ R_j r`, where with the eigenvectors
//! `S` of each direction `A_j⁻¹ = (S ⊗ S ⊗ S) (Λ ⊗ I ⊗ I + I ⊗ Λ ⊗ I + I ⊗ I ⊗ Λ)⁻¹ (S ⊗ S ⊗ S)ᵀ`.

use super::plane_rows;
use crate::batch::Batch;
use crate::lanes::{Lanes, Vectorized};
use crate::lines::{Lines, Times, contract_in_place};
use crate::rows::{self, Put};
use crate::sweep::{BatchKernel, Shared};
use crate::workspace::workspace;
use patchmg_device::contract::Dense;
use patchmg_device::patch::DgGrid;
use patchmg_device::scalar::Value;
use pulp::Simd;

/// `S` and `Sᵀ` of a direction.
pub struct Vectors<T, const N: usize> {
    nodes: Dense<T, N>,
    functions: Dense<T, N>,
}

impl<T: Vectorized, const N: usize> Vectors<T, N> {
    /// From `S`, a node a row.
    ///
    /// # Panics
    /// If it is not `N` by `N`.
    pub fn new(nodes: &[T]) -> Self {
        assert_eq!(nodes.len(), N * N);
        let value = |node: usize, function: usize| nodes[node * N + function].to_f64();
        Self { nodes: Dense::new(value), functions: Dense::new(|function, node| value(node, function)) }
    }
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

impl<T: Vectorized, const N: usize, const NZ: usize> Solve<'_, T, N, NZ> {
    /// Divides the coefficients of row `j` of the planes by their eigenvalues.
    #[inline(always)]
    fn divide<S: Simd>(&self, planes: &mut [[[Lanes<S, T>; N]; N]; NZ], j: usize) {
        for l in 0..NZ {
            for i in 0..N {
                let inverse = self.inverse_eigenvalues[i + N * (j + N * l)];
                planes[l][j][i] = Lanes::scale(inverse, planes[l][j][i]);
            }
        }
    }
}

workspace! {
    /// Coefficients, `[l][j][i]`.
    pub struct Workspace<V, const N: usize, const NZ: usize> {
        planes: [[[V; N]; N]; NZ],
    }
}

impl<T: Vectorized, const N: usize, const NZ: usize> BatchKernel<T> for Solve<'_, T, N, NZ> {
    type Workspace<S: Simd> = Workspace<Lanes<S, T>, N, NZ>;

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, batch: &Batch, work: &mut Self::Workspace<S>) {
        let (grid, planes) = (self.grid, &mut work.planes);
        let [along_x, along_y, along_z] = self.vectors;
        let (rows, columns) = (Lines::<N>::rows(N), Lines::<N>::columns(N));
        for z in 0..NZ {
            let place = plane_rows(grid, z);
            // SAFETY: a patch's nodes are stored.
            unsafe { rows::load(self.residual.as_ptr(), &batch.fine, place, &Lanes::ZERO, &mut planes[z]) };
            contract_in_place(Times(&along_x.functions), planes[z].as_flattened_mut(), rows);
            contract_in_place(Times(&along_y.functions), planes[z].as_flattened_mut(), columns);
        }
        for j in 0..N {
            let across = Lines::<N>::across(j, N, N);
            if NZ > 1 {
                contract_in_place(Times(&along_z.functions), planes.as_flattened_mut().as_flattened_mut(), across);
            }
            self.divide(planes, j);
            if NZ > 1 {
                contract_in_place(Times(&along_z.nodes), planes.as_flattened_mut().as_flattened_mut(), across);
            }
        }
        for z in 0..NZ {
            contract_in_place(Times(&along_y.nodes), planes[z].as_flattened_mut(), columns);
            contract_in_place(Times(&along_x.nodes), planes[z].as_flattened_mut(), rows);
            let place = plane_rows(grid, z);
            // SAFETY: patches of a color share no node.
            unsafe { rows::store(&planes[z], Put::Add, self.x, batch, &batch.fine, place) };
        }
    }
}
