//! The levels of a hierarchy, with their smoothers and vectors.

use super::repeated::Repeated;
use super::smoother::Smoother;
use super::vcycle::Start;
use crate::backend::{Backend, Scalar};
use crate::error::Result;
use crate::level::SharedLevel;
use crate::system::{Runs, System};
use std::sync::Arc;

/// A level above the coarsest. The vectors are those of the next coarser one.
pub struct SmoothedLevel<B: Backend, S: Scalar> {
    /// `A`, and the transfer to and from the next coarser level.
    pub level: SharedLevel<B, S>,
    /// Smoother of `A`.
    pub smoother: Box<dyn Smoother<B, S>>,
    /// That of corrections of the next finer level, if it is another one.
    pub(super) of_corrections: Option<Box<dyn Smoother<B, S>>>,
    /// Right-hand side of the next coarser level.
    pub(super) coarse_b: B::Vector<S>,
    /// Solution, or correction, on the next coarser level.
    pub(super) coarse_x: B::Vector<S>,
    /// The V-cycle on these two, for each [`Start`](super::vcycle::Start).
    pub(super) coarse_cycles: [Repeated<B>; 2],
}

impl<B: Backend, S: Scalar> SmoothedLevel<B, S> {
    /// A level above `coarse`.
    pub(super) fn new(
        level: &SharedLevel<B, S>,
        coarse: &SharedLevel<B, S>,
        smoother: Box<dyn Smoother<B, S>>,
    ) -> Result<Self> {
        Ok(Self {
            level: level.clone(),
            smoother,
            of_corrections: None,
            coarse_b: coarse.vector()?,
            coarse_x: coarse.vector()?,
            coarse_cycles: [(); 2].map(|()| Repeated::later(false)),
        })
    }

    /// There is a finer one above it.
    pub(super) fn has_finer(&mut self) {
        self.of_corrections = self.smoother.of_corrections();
    }

    /// See [`Smoother::update`].
    pub(super) fn update_smoothers(&mut self) -> Result<()> {
        self.smoother.update()?;
        self.of_corrections.iter_mut().try_for_each(|smoother| smoother.update())
    }
}

/// The smoother of a cycle. Where there is a finer level, a cycle from zero is its correction.
pub(super) fn of_cycle<'a, D: ?Sized>(
    own: &'a mut Box<D>,
    of_corrections: &'a mut Option<Box<D>>,
    start: Start,
) -> &'a mut D {
    match (of_corrections, start) {
        (Some(smoother), Start::Zero) => smoother,
        _ => own,
    }
}

/// A system on all its meshes, from the coarsest to that of `finest`.
///
/// # Errors
/// Those of [`System::coarser`].
pub fn hierarchy<E: System>(finest: &E) -> Result<Vec<E>> {
    let mut systems = vec![finest.clone()];
    while let Some(coarser) = systems[systems.len() - 1].coarser() {
        systems.push(coarser?);
    }
    systems.reverse();
    Ok(systems)
}

/// The levels of a system on a machine, coarse to fine.
///
/// # Errors
/// Those of [`hierarchy`] and of [`Runs::level`].
pub fn levels<E: System, B: Runs<E>, S: Scalar>(backend: &Arc<B>, finest: &E) -> Result<Vec<SharedLevel<B, S>>> {
    hierarchy(finest)?.iter().map(|system| backend.level(system)).collect()
}
