//! A finite element space on a mesh: element, numbering, and the 1D matrices and eigenpairs that a patch column needs.

use crate::error::Result;
use crate::mesh::Mesh;
use patchmg_device::matrices::{OperatorMatrices, ProlongationMatrices, RestrictionMatrices, SmootherMatrices};
use patchmg_device::patch::Grid;
use patchmg_device::scalar::Real;

/// Continuous `Q_k` on a uniform mesh of the unit square or cube, Gauss-Lobatto nodes, zero on the boundary.
#[derive(Clone, Debug)]
pub struct Space {}

impl Space {
    /// Degree 1 to 10 in 2D, 1 to 8 in 3D.
    pub fn new(mesh: Mesh, degree: usize) -> Result<Self> {
        let _ = (mesh, degree);
        todo!()
    }
    pub fn mesh(&self) -> &Mesh {
        todo!()
    }
    pub fn dim(&self) -> usize {
        todo!()
    }
    pub fn degree(&self) -> usize {
        todo!()
    }
    /// Unknowns.
    pub fn dofs(&self) -> usize {
        todo!()
    }
    /// Storage order of its vectors.
    pub fn grid(&self) -> Grid {
        todo!()
    }
    /// Length of its vectors: [`Grid::storage`].
    pub fn storage(&self) -> usize {
        todo!()
    }
    /// `1 / (λ_i + λ_j [+ λ_l])`, index `i` fastest, functions ordered even ones first as in [`SmootherMatrices`].
    pub fn inverse_eigenvalues(&self) -> Vec<f64> {
        todo!()
    }
    /// Panics never; `K`, `M` must be those of the degree, else an error.
    pub fn smoother_matrices<T: Real, const K: usize, const M: usize>(&self) -> SmootherMatrices<T, K, M> {
        todo!()
    }
    pub fn operator_matrices<T: Real, const N: usize, const C: usize>(&self) -> OperatorMatrices<T, N, C> {
        todo!()
    }
    pub fn restriction_matrices<T: Real, const N: usize, const H: usize>(&self) -> RestrictionMatrices<T, N, H> {
        todo!()
    }
    pub fn prolongation_matrices<T: Real, const C: usize>(&self) -> ProlongationMatrices<T, C> {
        todo!()
    }
}
