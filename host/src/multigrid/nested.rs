//! The first pass of full multigrid with V-cycles in a smaller scalar.

use super::coarsest::Coarsest;
use super::fmg::NestedIteration;
use super::level::{SmoothedLevel, hierarchy};
use super::precision::{LowPrecision, scaled};
use super::vcycle::{Multigrid, Start, VCycle, v_cycle};
use crate::backend::{Backend, Scalar};
use crate::error::{Error, Result};
use crate::level::SharedLevel;
use crate::operator::{LinearOperator, Preconditioner, vector_bytes};
use crate::system::{Runs, System};
use std::sync::Arc;

/// V-cycles in `S` that correct residuals in `T`, on the coarser levels of the first pass as on the finest: it ends as
/// near to the solution as one in `T`. All V-cycles are those of one hierarchy, from different levels down.
pub struct LowPrecisionNesting<B: Backend, T: Scalar, S: Scalar> {
    multigrid: LowPrecision<B, T, S, Multigrid<B, S>>,
    /// Above the coarsest, coarse to fine, as in `multigrid`.
    levels: Vec<NestedLevel<B, T>>,
}

/// What a level above the coarsest has in `T`. The vectors are those of the next coarser one.
struct NestedLevel<B: Backend, T: Scalar> {
    level: SharedLevel<B, T>,
    coarse: SharedLevel<B, T>,
    coarse_b: B::Vector<T>,
    coarse_x: B::Vector<T>,
    /// The residual, and in its place the correction.
    coarse_r: B::Vector<T>,
}

impl<B: Backend, T: Scalar, S: Scalar> LowPrecisionNesting<B, T, S> {
    /// On levels in `T`, coarse to fine, of the same meshes as those of `multigrid`.
    ///
    /// # Errors
    /// [`Error::SizeMismatch`] for another number of levels; those of [`Backend::zeros`].
    pub fn new(levels: &[SharedLevel<B, T>], multigrid: Multigrid<B, S>) -> Result<Self> {
        let expected = multigrid.levels.len() + 1;
        let Some(finest) = levels.last().filter(|_| levels.len() == expected) else {
            return Err(Error::SizeMismatch { what: "levels", expected, found: levels.len() });
        };
        let nested = |pair: &[SharedLevel<B, T>]| {
            let [coarse, level] = [&pair[0], &pair[1]].map(Arc::clone);
            let (coarse_b, coarse_x, coarse_r) = (coarse.vector()?, coarse.vector()?, coarse.vector()?);
            Ok(NestedLevel { level, coarse, coarse_b, coarse_x, coarse_r })
        };
        Ok(Self {
            levels: levels.windows(2).map(nested).collect::<Result<_>>()?,
            multigrid: LowPrecision::new(finest.backend(), multigrid, finest.storage())?,
        })
    }

    /// Bytes of the levels in `T`, and of the vectors that [`Self::new`] allocates for each, coarse to fine.
    ///
    /// # Errors
    /// Those of [`hierarchy`].
    pub fn bytes_by_level<E: System>(finest: &E) -> Result<Vec<u64>>
    where
        B: Runs<E>,
    {
        let systems = hierarchy(finest)?;
        let level = |(index, system): (usize, &E)| {
            let (storage, is_finest) = (system.layout().storage(), index + 1 == systems.len());
            let rounded = || LowPrecision::<B, T, S, Multigrid<B, S>>::bytes(storage);
            B::level_bytes::<T>(system) + if is_finest { rounded() } else { vector_bytes::<T>(3, storage) }
        };
        Ok(systems.iter().enumerate().map(level).collect())
    }
}

impl<B: Backend, T: Scalar, S: Scalar> Preconditioner<B, T> for LowPrecisionNesting<B, T, S> {
    fn apply(&mut self, r: &B::Vector<T>, z: &mut B::Vector<T>) -> Result<()> {
        self.multigrid.apply(r, z)
    }

    fn apply_to(&mut self, r: &B::Vector<T>, norm: f64, z: &mut B::Vector<T>) -> Result<()> {
        self.multigrid.apply_to(r, norm, z)
    }

    fn update(&mut self, u: &B::Vector<T>) -> Result<()> {
        self.multigrid.update(u)?;
        linearize(&mut self.levels, u)
    }

    fn inner_iterations(&self) -> Option<usize> {
        self.multigrid.inner_iterations()
    }

    fn is_symmetric(&self) -> bool {
        self.multigrid.is_symmetric()
    }
}

impl<B: Backend, T: Scalar, S: Scalar> NestedIteration<B, T> for LowPrecisionNesting<B, T, S> {
    fn initial_guess(&mut self, b: &B::Vector<T>, x: &mut B::Vector<T>) -> Result<()> {
        let Multigrid { backend, cycle, coarsest, levels } = &mut self.multigrid.inner;
        backend.set_zero(x)?;
        guess(*cycle, coarsest, levels, &mut self.levels, b, x)
    }
}

/// The coarser levels in `T` become those of the derivative at `u`, a vector of the last of `nested`.
fn linearize<B: Backend, T: Scalar>(nested: &mut [NestedLevel<B, T>], u: &B::Vector<T>) -> Result<()> {
    let Some((NestedLevel { level, coarse, coarse_x, .. }, nested)) = nested.split_last_mut() else { return Ok(()) };
    level.nonlinear()?.interpolate(u, coarse_x)?;
    coarse.nonlinear()?.linearize(coarse_x)?;
    linearize(nested, coarse_x)
}

/// Adds to `x = 0`, as the first pass in one scalar does; here a V-cycle corrects `b - A x`. In `S`, right-hand side and
/// correction of a level are the vectors that a V-cycle from the next finer one has there.
fn guess<B: Backend, T: Scalar, S: Scalar>(
    cycle: VCycle,
    coarsest: &mut Coarsest<B, S>,
    levels: &mut [SmoothedLevel<B, S>],
    nested: &mut [NestedLevel<B, T>],
    b: &B::Vector<T>,
    x: &mut B::Vector<T>,
) -> Result<()> {
    let (Some((smoothed, levels)), Some((own, nested))) = (levels.split_last_mut(), nested.split_last_mut()) else {
        return Ok(());
    };
    let NestedLevel { level, coarse, coarse_b, coarse_x, coarse_r } = own;
    let backend = &**coarse.backend();
    level.restrict_load(b, x, coarse_b)?;
    backend.set_zero(coarse_x)?;
    if nested.is_empty() {
        // On the coarsest level `x = 0`.
        backend.axpby(1.0, coarse_b, 0.0, coarse_r)?;
    } else {
        guess(cycle, coarsest, levels, nested, coarse_b, coarse_x)?;
        coarse.residual(coarse_b, coarse_x, coarse_r)?;
    }
    let SmoothedLevel { coarse_b: rounded, coarse_x: z, coarse_cycles, .. } = &mut *smoothed;
    let norm = backend.norm(coarse_r)?;
    scaled(backend, coarse_r, norm, rounded, z, |r, z| {
        backend.set_zero(z)?;
        coarse_cycles[Start::Given as usize].run(backend, &mut || v_cycle(cycle, coarsest, levels, Start::Given, r, z))
    })?;
    backend.convert(norm, &smoothed.coarse_x, coarse_r)?;
    backend.axpby(1.0, coarse_r, 1.0, coarse_x)?;
    level.prolongate_add(coarse_x, x)
}
