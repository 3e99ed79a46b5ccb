//! A level of the hierarchy, and the choice of what its parts are.

use super::smoother::{PatchSolver, Smoother, SmootherConfig};
use super::transfer::{Embedding, Transfer};
use crate::backend::{Backend, Scalar};
use crate::error::Result;
use crate::operator::{LinearOperator, Poisson, Preconditioner, SpaceOn};
use crate::space::Space;
use patchmg_device::kernels::PatchKernel;
use std::sync::Arc;

/// Which operator, smoother, transfer and coarse solver the levels have.
pub trait Scheme<B: Backend, S: Scalar> {
    /// `A` of a level.
    type Operator: LinearOperator<B, S>;
    /// Its smoother.
    type Smoother: Smoother<B, S>;
    /// Its transfer to the next coarser level.
    type Transfer: Transfer<B, S>;
    /// What solves on the coarsest level.
    type CoarseSolver: Preconditioner<B, S>;

    /// Kernels of the patch smoother that a level is made ready with.
    fn patch_kernel(&self) -> PatchKernel {
        PatchKernel::default()
    }
    /// Bytes of the vectors that a level's smoother allocates on the machine.
    fn smoother_bytes(&self, _space: &Space) -> u64 {
        0
    }
    /// Operator of a level.
    fn operator(&self, on: &Arc<SpaceOn<B, S>>) -> Result<Self::Operator>;
    /// Smoother of a level.
    fn smoother(&self, on: &Arc<SpaceOn<B, S>>) -> Result<Self::Smoother>;
    /// Transfer between a level and the next coarser one.
    fn transfer(&self, fine: &Arc<SpaceOn<B, S>>) -> Result<Self::Transfer>;
    /// Solver of the coarsest level.
    fn coarse_solver(&self, on: &Arc<SpaceOn<B, S>>) -> Result<Self::CoarseSolver>;
}

/// Poisson's equation in nested spaces, continuous elements (paper 1) or discontinuous ones (paper 4). The coarsest level is
/// one patch, which a patch smoother solves.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PoissonScheme {
    /// Smoother of the levels above the coarsest.
    pub smoother: SmootherConfig,
}

impl<B: Backend, S: Scalar> Scheme<B, S> for PoissonScheme {
    type Operator = Poisson<B, S>;
    type Smoother = Box<dyn Smoother<B, S>>;
    type Transfer = Embedding<B, S>;
    type CoarseSolver = PatchSolver<B, S>;

    fn patch_kernel(&self) -> PatchKernel {
        self.smoother.patch_kernel()
    }

    fn smoother_bytes(&self, space: &Space) -> u64 {
        self.smoother.bytes::<B, S>(space)
    }

    fn operator(&self, on: &Arc<SpaceOn<B, S>>) -> Result<Poisson<B, S>> {
        Ok(Poisson::from_space(on))
    }

    fn smoother(&self, on: &Arc<SpaceOn<B, S>>) -> Result<Box<dyn Smoother<B, S>>> {
        self.smoother.build(on)
    }

    fn transfer(&self, fine: &Arc<SpaceOn<B, S>>) -> Result<Embedding<B, S>> {
        Ok(Embedding::new(fine))
    }

    fn coarse_solver(&self, on: &Arc<SpaceOn<B, S>>) -> Result<PatchSolver<B, S>> {
        Ok(PatchSolver::new(on))
    }
}

/// A level above the coarsest. The vectors are those of the next coarser one.
pub struct Level<B: Backend, S: Scalar, C: Scheme<B, S>> {
    /// `A`.
    pub operator: C::Operator,
    /// Smoother of `A`.
    pub smoother: C::Smoother,
    /// To and from the next coarser level.
    pub transfer: C::Transfer,
    /// Right-hand side of the next coarser level.
    pub(super) coarse_b: B::Vector<S>,
    /// Solution, or correction, on the next coarser level.
    pub(super) coarse_x: B::Vector<S>,
}

impl<B: Backend, S: Scalar, C: Scheme<B, S>> Level<B, S, C> {
    pub(super) fn new(backend: &Arc<B>, space: &Space, coarse: &Space, scheme: &C) -> Result<Self> {
        let on = Arc::new(SpaceOn::new(backend, space, scheme.patch_kernel())?);
        Ok(Self {
            operator: scheme.operator(&on)?,
            smoother: scheme.smoother(&on)?,
            transfer: scheme.transfer(&on)?,
            coarse_b: backend.zeros(coarse.storage())?,
            coarse_x: backend.zeros(coarse.storage())?,
        })
    }
}

/// The spaces of all levels, from two cells a direction to those of `finest`.
///
/// # Errors
/// Those of [`Space::new`].
pub fn hierarchy(finest: &Space) -> Result<Vec<Space>> {
    let mut spaces = vec![finest.clone()];
    while let Some(coarser) = spaces[spaces.len() - 1].coarser() {
        spaces.push(coarser?);
    }
    spaces.reverse();
    Ok(spaces)
}
