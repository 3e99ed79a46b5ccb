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
    /// Smoother of corrections of the next finer level, if it is another one.
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

    /// To be called if there is a finer level.
    pub(super) fn set_corrections(&mut self) {
        self.of_corrections = self.smoother.of_corrections();
    }

    /// See [`Smoother::is_fixed`].
    pub(super) fn is_fixed(&self) -> bool {
        self.smoother.is_fixed() && self.of_corrections.iter().all(|smoother| smoother.is_fixed())
    }

    /// See [`Smoother::update`].
    pub(super) fn update_smoothers(&mut self) -> Result<()> {
        self.smoother.update()?;
        self.of_corrections.iter_mut().try_for_each(|smoother| smoother.update())
    }
}

/// The smoother of a cycle. Below the finest level, a cycle from zero computes a correction of the next finer one.
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

#[cfg(test)]
mod tests {
    use super::super::{Multigrid, SmootherConfig};
    use super::*;
    use crate::backend::cpu::Cpu;
    use crate::mesh::{Grading, Mesh};
    use crate::system::Separable;
    use crate::system::separable::{DirectNodes, Equation};
    use std::ptr;

    #[test]
    fn corrections_have_a_smoother_of_their_own_below_the_finest_level() {
        let grading = [Grading::Geometric(1e3), Grading::Geometric(10.0), Grading::Uniform];
        let equation = Equation { grading, ..Equation::default() };
        let system =
            Separable::new(Mesh::unit_cube(2, 4).unwrap(), 2, equation).unwrap().with_direct_nodes(DirectNodes::All(0));
        let cpu = Arc::new(Cpu::new(Some(1)).unwrap());
        let mut multigrid =
            Multigrid::<Cpu, f64>::new(&cpu, &system, &SmootherConfig::Patch, Default::default()).unwrap();
        let [coarser @ .., finest] = &mut multigrid.levels[..] else { panic!("two levels at least") };
        assert!(finest.of_corrections.is_none());
        let mut counted = 0;
        for SmoothedLevel { smoother, of_corrections, .. } in coarser {
            let own = ptr::from_ref(&**smoother).cast::<()>();
            let other = of_corrections.as_deref().map(|smoother| ptr::from_ref(smoother).cast::<()>());
            let chosen = [Start::Given, Start::Zero]
                .map(|start| ptr::from_ref(of_cycle(smoother, of_corrections, start)).cast::<()>());
            assert_eq!(chosen, [own, other.unwrap_or(own)]);
            counted += usize::from(other.is_some());
        }
        assert!(counted > 0);
    }
}
