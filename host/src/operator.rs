//! What maps a vector to a vector: linear operators, and preconditioners that approximate their inverses.

use crate::backend::{Backend, Scalar};
use crate::error::Result;
use crate::space::Space;
use patchmg_device::kernels::{LocalSolver, PatchKernel, Structure, patch_nodes};
use std::sync::Arc;

/// A linear map `A` on the vectors of one space, on one machine.
pub trait LinearOperator<B: Backend, T: Scalar> {
    /// The machine that its vectors are on.
    fn backend(&self) -> &B;

    /// Entries of its vectors.
    fn storage(&self) -> usize;

    /// `y = A x`.
    fn apply(&self, x: &B::Vector<T>, y: &mut B::Vector<T>) -> Result<()>;

    /// `r = b - A x`.
    fn residual(&self, b: &B::Vector<T>, x: &B::Vector<T>, r: &mut B::Vector<T>) -> Result<()> {
        self.apply(x, r)?;
        self.backend().axpby(1.0, b, -1.0, r)
    }

    /// A vector of zeros that it applies to.
    fn vector(&self) -> Result<B::Vector<T>> {
        self.backend().zeros(self.storage())
    }
}

/// Bytes of `count` vectors of `storage` entries.
pub fn vector_bytes<T: Scalar>(count: usize, storage: usize) -> u64 {
    count as u64 * storage as u64 * size_of::<T>() as u64
}

/// An approximate inverse `M` of a linear operator.
pub trait Preconditioner<B: Backend, T: Scalar> {
    /// `z = M r`, whatever was in `z`.
    fn apply(&mut self, r: &B::Vector<T>, z: &mut B::Vector<T>) -> Result<()>;

    /// Whether `x · M y = y · M x` up to rounding: conjugate gradients need that.
    fn is_symmetric(&self) -> bool;
}

/// `M = I`: a Krylov method without preconditioner.
pub struct Identity<B> {
    backend: Arc<B>,
}

impl<B> Identity<B> {
    /// On a machine.
    pub fn new(backend: &Arc<B>) -> Self {
        Self { backend: backend.clone() }
    }
}

impl<B: Backend, T: Scalar> Preconditioner<B, T> for Identity<B> {
    fn apply(&mut self, r: &B::Vector<T>, z: &mut B::Vector<T>) -> Result<()> {
        self.backend.axpby(1.0, r, 0.0, z)
    }

    fn is_symmetric(&self) -> bool {
        true
    }
}

/// A space made ready on a machine; the operator, smoother and transfer of a level share it.
pub struct SpaceOn<B: Backend, T: Scalar> {
    /// The machine.
    pub backend: Arc<B>,
    /// Storage order of the vectors.
    pub space: Space,
    /// What the machine's kernels take.
    pub tables: B::Level<T>,
}

impl<B: Backend, T: Scalar> SpaceOn<B, T> {
    /// Makes `space` ready on `backend`; `kernel` is what a patch smoother would use.
    ///
    /// # Errors
    /// Those of [`Backend::level`].
    pub fn new(backend: &Arc<B>, space: &Space, kernel: PatchKernel) -> Result<Self> {
        Ok(Self { backend: backend.clone(), space: space.clone(), tables: backend.level(space, kernel)? })
    }

    /// Bytes of the tables on the machine: the eigenvalues of a patch or the inverse of its matrix, and the residual
    /// between two kernels of the smoother. 1D matrices are too few to count.
    pub fn bytes(space: &Space, kernel: PatchKernel) -> u64 {
        let dim = space.dim() as u32;
        if let Space::Discontinuous(space) = space {
            // Those of patches at an end of a direction and of others; the residual of a color before its patches.
            let eigenvalues = 2usize.pow(dim) * (2 * space.grid().cell_nodes()).pow(dim);
            return vector_bytes::<T>(1, eigenvalues) + vector_bytes::<T>(1, space.grid().storage(space.dim()));
        }
        let (interior, _) = patch_nodes(space.degree());
        let patch = interior.pow(dim);
        let entries = if kernel.local == LocalSolver::Inverse { patch * patch } else { patch };
        let residuals = usize::from(kernel.structure != Structure::Fused);
        vector_bytes::<T>(1, entries) + vector_bytes::<T>(residuals, space.storage())
    }
}

/// `A_ij = ∫ ∇φ_i · ∇φ_j` (paper 1, equation 2.3), and what faces add for discontinuous elements (paper 4, equation 2),
/// matrix-free.
pub struct Poisson<B: Backend, T: Scalar> {
    on: Arc<SpaceOn<B, T>>,
}

impl<B: Backend, T: Scalar> Poisson<B, T> {
    /// On a space, in the memory of a machine.
    ///
    /// # Errors
    /// Those of [`Backend::level`].
    pub fn new(backend: &Arc<B>, space: &Space) -> Result<Self> {
        Ok(Self::from_space(&Arc::new(SpaceOn::new(backend, space, PatchKernel::default())?)))
    }

    /// On a space that is ready.
    pub fn from_space(on: &Arc<SpaceOn<B, T>>) -> Self {
        Self { on: on.clone() }
    }
}

impl<B: Backend, T: Scalar> LinearOperator<B, T> for Poisson<B, T> {
    fn backend(&self) -> &B {
        &self.on.backend
    }

    fn storage(&self) -> usize {
        self.on.space.storage()
    }

    fn apply(&self, x: &B::Vector<T>, y: &mut B::Vector<T>) -> Result<()> {
        self.on.backend.apply(&self.on.tables, x, y)
    }

    fn residual(&self, b: &B::Vector<T>, x: &B::Vector<T>, r: &mut B::Vector<T>) -> Result<()> {
        self.on.backend.residual(&self.on.tables, b, x, r)
    }
}
