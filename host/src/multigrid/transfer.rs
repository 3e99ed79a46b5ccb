//! Transfer between a level and the next coarser one.

use super::smoother::Smoother;
use crate::backend::{Backend, Scalar};
use crate::error::Result;
use crate::operator::SpaceOn;
use std::sync::Arc;

/// Prolongation `P` from the next coarser level, and its transpose.
pub trait Transfer<B: Backend, S: Scalar> {
    /// `coarse = Pᵀ (b - A x)`.
    fn restrict_residual(&mut self, b: &B::Vector<S>, x: &B::Vector<S>, coarse: &mut B::Vector<S>) -> Result<()>;

    /// `x += P coarse`.
    fn prolongate_add(&mut self, coarse: &B::Vector<S>, x: &mut B::Vector<S>) -> Result<()>;

    /// `x += P coarse`, then a step of the smoother.
    fn prolongate_and_smooth(
        &mut self,
        coarse: &B::Vector<S>,
        smoother: &mut impl Smoother<B, S>,
        b: &B::Vector<S>,
        x: &mut B::Vector<S>,
    ) -> Result<()> {
        self.prolongate_add(coarse, x)?;
        smoother.step(b, x)
    }
}

/// Spaces are nested: `P` writes a coarse function in the fine basis.
pub struct Embedding<B: Backend, S: Scalar> {
    fine: Arc<SpaceOn<B, S>>,
}

impl<B: Backend, S: Scalar> Embedding<B, S> {
    /// Into a space that is ready, from that of half as many cells a direction.
    pub fn new(fine: &Arc<SpaceOn<B, S>>) -> Self {
        Self { fine: fine.clone() }
    }
}

impl<B: Backend, S: Scalar> Transfer<B, S> for Embedding<B, S> {
    fn restrict_residual(&mut self, b: &B::Vector<S>, x: &B::Vector<S>, coarse: &mut B::Vector<S>) -> Result<()> {
        self.fine.backend.restrict_residual(&self.fine.tables, b, x, coarse)
    }

    fn prolongate_add(&mut self, coarse: &B::Vector<S>, x: &mut B::Vector<S>) -> Result<()> {
        self.fine.backend.prolongate_add(&self.fine.tables, coarse, x)
    }

    fn prolongate_and_smooth(
        &mut self,
        coarse: &B::Vector<S>,
        smoother: &mut impl Smoother<B, S>,
        b: &B::Vector<S>,
        x: &mut B::Vector<S>,
    ) -> Result<()> {
        smoother.step_after_prolongation(&self.fine, coarse, b, x)
    }
}
