//! The first pass of full multigrid with V-cycles in a smaller scalar.

use super::fmg::NestedIteration;
use super::level::{Scheme, hierarchy};
use super::precision::LowPrecision;
use super::transfer::Transfer;
use super::vcycle::{Multigrid, VCycle};
use crate::backend::{Backend, Scalar};
use crate::error::Result;
use crate::krylov::Richardson;
use crate::operator::{LinearOperator, Preconditioner, SpaceOn, vector_bytes};
use crate::space::Space;
use std::sync::Arc;

/// V-cycles in `S` that correct residuals in `T`, on the coarser levels of the first pass as on the finest: it ends as
/// near to the solution as one in `T`.
pub struct LowPrecisionNesting<B: Backend, T: Scalar, S: Scalar, C: Scheme<B, S> + Scheme<B, T>> {
    backend: Arc<B>,
    finest: LowPrecision<B, T, S, Multigrid<B, S, C>>,
    /// To and from the last of `coarser`, if there is one.
    transfer: <C as Scheme<B, T>>::Transfer,
    /// Coarse to fine.
    coarser: Vec<NestedLevel<B, T, S, C>>,
}

/// A level below the finest.
struct NestedLevel<B: Backend, T: Scalar, S: Scalar, C: Scheme<B, S> + Scheme<B, T>> {
    operator: <C as Scheme<B, T>>::Operator,
    transfer: <C as Scheme<B, T>>::Transfer,
    multigrid: LowPrecision<B, T, S, Multigrid<B, S, C>>,
    iteration: Richardson<B, T>,
    b: B::Vector<T>,
    x: B::Vector<T>,
}

impl<B: Backend, T: Scalar, S: Scalar, C: Scheme<B, S> + Scheme<B, T>> LowPrecisionNesting<B, T, S, C> {
    /// All levels below and of `finest`.
    ///
    /// # Errors
    /// Those of [`Multigrid::new`].
    pub fn new(backend: &Arc<B>, finest: &Space, scheme: &C, cycle: VCycle) -> Result<Self> {
        let ready =
            |space: &Space| Ok::<_, crate::Error>(Arc::new(SpaceOn::<B, T>::new(backend, space, Default::default())?));
        let multigrid = |space: &Space| {
            LowPrecision::new(backend, space, Multigrid::<B, S, C>::new(backend, space, scheme, cycle)?)
        };
        let level = |space: &Space| {
            let on = ready(space)?;
            let operator = scheme.operator(&on)?;
            Ok(NestedLevel {
                multigrid: multigrid(space)?,
                iteration: Richardson::new(&operator)?,
                b: operator.vector()?,
                x: operator.vector()?,
                transfer: scheme.transfer(&on)?,
                operator,
            })
        };
        let spaces = hierarchy(finest)?;
        Ok(Self {
            backend: backend.clone(),
            finest: multigrid(finest)?,
            transfer: scheme.transfer(&ready(finest)?)?,
            coarser: spaces[..spaces.len() - 1].iter().map(level).collect::<Result<_>>()?,
        })
    }

    /// Bytes of the vectors and tables that [`Self::new`] allocates on the machine.
    ///
    /// # Errors
    /// Those of [`Space::new`] on the coarser levels.
    pub fn bytes(finest: &Space, scheme: &C) -> Result<u64> {
        let multigrid = |space: &Space| {
            let rounded = LowPrecision::<B, T, S, Multigrid<B, S, C>>::bytes(space);
            Ok::<_, crate::Error>(rounded + Multigrid::<B, S, C>::bytes(space, scheme)?)
        };
        let tables = |space: &Space| SpaceOn::<B, T>::bytes(space, Default::default());
        let mut bytes = multigrid(finest)? + tables(finest);
        let spaces = hierarchy(finest)?;
        for space in &spaces[..spaces.len() - 1] {
            let storage = space.storage();
            bytes +=
                multigrid(space)? + tables(space) + Richardson::<B, T>::bytes(storage) + vector_bytes::<T>(2, storage);
        }
        Ok(bytes)
    }
}

impl<B: Backend, T: Scalar, S: Scalar, C: Scheme<B, S> + Scheme<B, T>> Preconditioner<B, T>
    for LowPrecisionNesting<B, T, S, C>
{
    fn apply(&mut self, r: &B::Vector<T>, z: &mut B::Vector<T>) -> Result<()> {
        self.finest.apply(r, z)
    }

    fn is_symmetric(&self) -> bool {
        self.finest.is_symmetric()
    }
}

impl<B: Backend, T: Scalar, S: Scalar, C: Scheme<B, S> + Scheme<B, T>> NestedIteration<B, T>
    for LowPrecisionNesting<B, T, S, C>
{
    fn initial_guess(&mut self, b: &B::Vector<T>, x: &mut B::Vector<T>) -> Result<()> {
        let Self { backend, transfer, coarser, .. } = self;
        backend.set_zero(x)?;
        let Some(last) = coarser.last_mut() else { return Ok(()) };
        // Right-hand sides downwards: with `x = 0` the residual is `b`.
        transfer.restrict_residual(b, x, &mut last.b)?;
        for place in (1..coarser.len()).rev() {
            let (below, own) = coarser.split_at_mut(place);
            let NestedLevel { transfer, b, x, .. } = &mut own[0];
            backend.set_zero(x)?;
            transfer.restrict_residual(b, x, &mut below[place - 1].b)?;
        }
        // Solutions upwards.
        for place in 0..coarser.len() {
            let (below, own) = coarser.split_at_mut(place);
            let NestedLevel { operator, transfer, multigrid, iteration, b, x } = &mut own[0];
            backend.set_zero(x)?;
            if let Some(below) = below.last() {
                transfer.prolongate_add(&below.x, x)?;
            }
            iteration.step(operator, multigrid, b, x)?;
        }
        let Some(last) = coarser.last() else { return Ok(()) };
        transfer.prolongate_add(&last.x, x)
    }
}
