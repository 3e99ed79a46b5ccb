//! The first pass of full multigrid with V-cycles in a smaller scalar.

use super::fmg::NestedIteration;
use super::level::{Level, Scheme, hierarchy};
use super::precision::{LowPrecision, scaled};
use super::transfer::Transfer;
use super::vcycle::{Multigrid, VCycle, v_cycle};
use crate::backend::{Backend, Scalar};
use crate::error::Result;
use crate::operator::{LinearOperator, Preconditioner, SpaceOn, vector_bytes};
use crate::space::Space;
use std::sync::Arc;

/// V-cycles in `S` that correct residuals in `T`, on the coarser levels of the first pass as on the finest: it ends as
/// near to the solution as one in `T`. All V-cycles are those of one hierarchy, from different levels down.
pub struct LowPrecisionNesting<B: Backend, T: Scalar, S: Scalar, C: Scheme<B, S> + Scheme<B, T>> {
    multigrid: LowPrecision<B, T, S, Multigrid<B, S, C>>,
    /// Above the coarsest, coarse to fine, as in `multigrid`.
    levels: Vec<NestedLevel<B, T, C>>,
}

/// What a level above the coarsest has in `T`. Operator and vectors are those of the next coarser one.
struct NestedLevel<B: Backend, T: Scalar, C: Scheme<B, T>> {
    /// To and from the next coarser level.
    transfer: C::Transfer,
    coarse_operator: C::Operator,
    coarse_b: B::Vector<T>,
    coarse_x: B::Vector<T>,
    /// The residual, and in its place the correction.
    coarse_r: B::Vector<T>,
}

impl<B: Backend, T: Scalar, S: Scalar, C: Scheme<B, S> + Scheme<B, T>> LowPrecisionNesting<B, T, S, C> {
    /// All levels below and of `finest`.
    ///
    /// # Errors
    /// Those of [`Multigrid::new`].
    pub fn new(backend: &Arc<B>, finest: &Space, scheme: &C, cycle: VCycle) -> Result<Self> {
        let ready = |space: &Space| Ok(Arc::new(SpaceOn::<B, T>::new(backend, space, Default::default())?));
        let spaces = hierarchy(finest)?.iter().map(ready).collect::<Result<Vec<_>>>()?;
        let level = |pair: &[Arc<SpaceOn<B, T>>]| {
            let coarse_operator = scheme.operator(&pair[0])?;
            Ok(NestedLevel {
                transfer: scheme.transfer(&pair[1])?,
                coarse_b: coarse_operator.vector()?,
                coarse_x: coarse_operator.vector()?,
                coarse_r: coarse_operator.vector()?,
                coarse_operator,
            })
        };
        Ok(Self {
            multigrid: LowPrecision::new(backend, finest, Multigrid::new(backend, finest, scheme, cycle)?)?,
            levels: spaces.windows(2).map(level).collect::<Result<_>>()?,
        })
    }

    /// Bytes of the vectors and tables that [`Self::new`] allocates on the machine.
    ///
    /// # Errors
    /// Those of [`Space::new`] on the coarser levels.
    pub fn bytes(finest: &Space, scheme: &C) -> Result<u64> {
        let multigrid = Multigrid::<B, S, C>::bytes(finest, scheme)?;
        let rounded = LowPrecision::<B, T, S, Multigrid<B, S, C>>::bytes(finest);
        let spaces = hierarchy(finest)?;
        let tables: u64 = spaces.iter().map(|space| SpaceOn::<B, T>::bytes(space, Default::default())).sum();
        let vectors: u64 = spaces[..spaces.len() - 1].iter().map(|space| vector_bytes::<T>(3, space.storage())).sum();
        Ok(multigrid + rounded + tables + vectors)
    }
}

impl<B: Backend, T: Scalar, S: Scalar, C: Scheme<B, S> + Scheme<B, T>> Preconditioner<B, T>
    for LowPrecisionNesting<B, T, S, C>
{
    fn apply(&mut self, r: &B::Vector<T>, z: &mut B::Vector<T>) -> Result<()> {
        self.multigrid.apply(r, z)
    }

    fn is_symmetric(&self) -> bool {
        self.multigrid.is_symmetric()
    }
}

impl<B: Backend, T: Scalar, S: Scalar, C: Scheme<B, S> + Scheme<B, T>> NestedIteration<B, T>
    for LowPrecisionNesting<B, T, S, C>
{
    fn initial_guess(&mut self, b: &B::Vector<T>, x: &mut B::Vector<T>) -> Result<()> {
        let Multigrid { backend, cycle, coarse_solver, levels } = &mut self.multigrid.inner;
        backend.set_zero(x)?;
        guess(*cycle, coarse_solver, levels, &mut self.levels, b, x)
    }
}

/// Adds to `x = 0`, as the first pass in one scalar does; here a V-cycle corrects `b - A x`. In `S`, right-hand side and
/// correction of a level are the vectors that a V-cycle from the next finer one has there.
fn guess<B: Backend, T: Scalar, S: Scalar, C: Scheme<B, S> + Scheme<B, T>>(
    cycle: VCycle,
    coarse_solver: &mut <C as Scheme<B, S>>::CoarseSolver,
    levels: &mut [Level<B, S, C>],
    nested: &mut [NestedLevel<B, T, C>],
    b: &B::Vector<T>,
    x: &mut B::Vector<T>,
) -> Result<()> {
    let (Some((level, levels)), Some((own, nested))) = (levels.split_last_mut(), nested.split_last_mut()) else {
        return Ok(());
    };
    let NestedLevel { transfer, coarse_operator, coarse_b, coarse_x, coarse_r } = own;
    let backend = coarse_operator.backend();
    // With `x = 0` the residual is `b`.
    transfer.restrict_residual(b, x, coarse_b)?;
    backend.set_zero(coarse_x)?;
    guess(cycle, coarse_solver, levels, nested, coarse_b, coarse_x)?;
    coarse_operator.residual(coarse_b, coarse_x, coarse_r)?;
    let norm = scaled(backend, coarse_r, &mut level.coarse_b, &mut level.coarse_x, |r, z| {
        backend.set_zero(z)?;
        v_cycle(cycle, coarse_solver, levels, r, z)
    })?;
    backend.convert(norm, &level.coarse_x, coarse_r)?;
    backend.axpby(1.0, coarse_r, 1.0, coarse_x)?;
    transfer.prolongate_add(coarse_x, x)
}
