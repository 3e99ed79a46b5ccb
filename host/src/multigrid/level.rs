//! A level of the hierarchy, and the choice of what its parts are.

use super::smoother::{PatchSmoother, PatchSolver, Smoother};
use super::transfer::{Embedding, Transfer};
use crate::backend::{Backend, Scalar};
use crate::error::Result;
use crate::operator::{LinearOperator, Poisson, Preconditioner, SpaceOn};
use crate::space::Space;
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

    /// Operator of a level.
    fn operator(on: &Arc<SpaceOn<B, S>>) -> Result<Self::Operator>;
    /// Smoother of a level.
    fn smoother(on: &Arc<SpaceOn<B, S>>) -> Result<Self::Smoother>;
    /// Transfer between a level and the next coarser one.
    fn transfer(fine: &Arc<SpaceOn<B, S>>) -> Result<Self::Transfer>;
    /// Solver of the coarsest level.
    fn coarse_solver(on: &Arc<SpaceOn<B, S>>) -> Result<Self::CoarseSolver>;
}

/// Poisson's equation with the multiplicative vertex-patch smoother: paper 1.
pub enum VertexPatches {}

impl<B: Backend, S: Scalar> Scheme<B, S> for VertexPatches {
    type Operator = Poisson<B, S>;
    type Smoother = PatchSmoother<B, S>;
    type Transfer = Embedding<B, S>;
    type CoarseSolver = PatchSolver<B, S>;

    fn operator(on: &Arc<SpaceOn<B, S>>) -> Result<Poisson<B, S>> {
        Ok(Poisson::from_space(on))
    }

    fn smoother(on: &Arc<SpaceOn<B, S>>) -> Result<PatchSmoother<B, S>> {
        Ok(PatchSmoother::new(on))
    }

    fn transfer(fine: &Arc<SpaceOn<B, S>>) -> Result<Embedding<B, S>> {
        Ok(Embedding::new(fine))
    }

    fn coarse_solver(on: &Arc<SpaceOn<B, S>>) -> Result<PatchSolver<B, S>> {
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
    pub(super) fn new(backend: &Arc<B>, space: &Space, coarse: &Space) -> Result<Self> {
        let on = Arc::new(SpaceOn::new(backend, space)?);
        Ok(Self {
            operator: C::operator(&on)?,
            smoother: C::smoother(&on)?,
            transfer: C::transfer(&on)?,
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
