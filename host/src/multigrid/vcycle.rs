//! The V-cycle (paper 1, algorithm 2.1), and the W-cycle.

use super::coarsest::Coarsest;
use super::level::{SmoothedLevel, hierarchy, levels, of_cycle};
use super::repeated::Repeated;
use super::smoother::{Smoother, SmootherConfig};
use crate::backend::{Backend, Scalar};
use crate::error::{Error, Result};
use crate::level::SharedLevel;
use crate::operator::{Preconditioner, vector_bytes};
use crate::system::{Runs, System};
use std::sync::Arc;

/// Which step smooths after the coarse correction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PostSmoothing {
    /// The same as before it: colors ascend both times (paper 1). The cycle is not symmetric.
    #[default]
    Same,
    /// The adjoint one: colors descend. With as many steps after as before, the cycle is symmetric.
    Adjoint,
}

/// How a cycle visits the levels and smooths; by default a V-cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VCycle {
    /// Steps before the coarse correction.
    pub pre: usize,
    /// Steps after it.
    pub post: usize,
    /// Which steps these are.
    pub post_smoothing: PostSmoothing,
    /// Cycles on the next coarser level for a coarse correction, each from what the last one left: 1 makes a V-cycle, 2 a W-cycle.
    pub coarse_cycles: usize,
}

impl Default for VCycle {
    fn default() -> Self {
        Self { pre: 1, post: 1, post_smoothing: PostSmoothing::Same, coarse_cycles: 1 }
    }
}

impl VCycle {
    /// One step before and its adjoint after: what conjugate gradients need.
    pub fn symmetric() -> Self {
        Self { post_smoothing: PostSmoothing::Adjoint, ..Self::default() }
    }
}

/// A hierarchy of levels with all their vectors. As a preconditioner it is one V-cycle from `x = 0`.
pub struct Multigrid<B: Backend, S: Scalar> {
    pub(super) backend: Arc<B>,
    pub(super) cycle: VCycle,
    pub(super) coarsest: Coarsest<B, S>,
    pub(super) levels: Vec<SmoothedLevel<B, S>>,
}

impl<B: Backend, S: Scalar> Multigrid<B, S> {
    /// All levels below and of `finest`.
    ///
    /// # Errors
    /// Those of [`Self::with_levels`], [`levels`], [`SmootherConfig::check_system`] and [`SmootherConfig::build`].
    pub fn new<E: System>(backend: &Arc<B>, finest: &E, smoother: &SmootherConfig, cycle: VCycle) -> Result<Self>
    where
        B: Runs<E>,
    {
        smoother.check_system(finest)?;
        Self::with_levels(&levels(backend, finest)?, |level| smoother.build(level), cycle)
    }

    /// On levels that are ready, coarse to fine, each above the coarsest with a smoother. The coarsest one is [solved](crate::level::Level::solve),
    /// or iterated on if it has [no solver](crate::level::Level::has_solver).
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for no level or no smoothing step at all; those of `smoother` and of [`Backend::zeros`].
    pub fn with_levels(
        levels: &[SharedLevel<B, S>],
        smoother: impl Fn(&SharedLevel<B, S>) -> Result<Box<dyn Smoother<B, S>>>,
        cycle: VCycle,
    ) -> Result<Self> {
        if cycle.pre + cycle.post == 0 {
            return Err(Error::InvalidArgument {
                name: "smoothing steps",
                value: "0 before and 0 after the coarse correction".into(),
                allowed: "at least one".into(),
            });
        }
        if cycle.coarse_cycles == 0 {
            return Err(Error::InvalidArgument {
                name: "cycles for a coarse correction",
                value: "0".into(),
                allowed: "at least 1: 1 for a V-cycle, 2 for a W-cycle".into(),
            });
        }
        let [coarsest, ..] = levels else {
            let (value, allowed) = (String::from("0"), String::from("at least one"));
            return Err(Error::InvalidArgument { name: "levels", value, allowed });
        };
        let above = |pair: &[_]| SmoothedLevel::new(&pair[1], &pair[0], smoother(&pair[1])?);
        let mut coarsest = Coarsest::new(coarsest)?;
        let mut levels = levels.windows(2).map(above).collect::<Result<Vec<_>>>()?;
        levels.iter_mut().rev().skip(1).for_each(SmoothedLevel::set_corrections);
        // Before the first of its operations is needed, by a recording.
        if let Some((level, coarser)) = levels.split_last_mut().filter(|(_, coarser)| is_fixed(&coarsest, coarser)) {
            let SmoothedLevel { level, coarse_b, coarse_x, .. } = level;
            level.backend().announce(&mut || {
                v_cycle(cycle, &mut coarsest, coarser, Start::Zero, coarse_b, coarse_x)?;
                v_cycle(cycle, &mut coarsest, coarser, Start::Given, coarse_b, coarse_x)
            })?;
        }
        for count in 1..=levels.len() {
            if let Some((level, coarser)) = levels[..count].split_last_mut() {
                let is_fixed = is_fixed(&coarsest, coarser);
                level.coarse_cycles = [(); 2].map(|()| Repeated::later(is_fixed));
                level.record_coarse_cycle(cycle, &mut coarsest, coarser, Start::Given)?;
            }
        }
        if let Some((level, coarser)) = levels.split_last_mut() {
            level.record_coarse_cycle(cycle, &mut coarsest, coarser, Start::Zero)?;
        }
        Ok(Self { backend: coarsest.level().backend().clone(), cycle, coarsest, levels })
    }

    /// Bytes of the vectors and tables that [`Self::new`] allocates on the machine.
    ///
    /// # Errors
    /// Those of [`hierarchy`].
    pub fn bytes<E: System>(finest: &E, smoother: &SmootherConfig) -> Result<u64>
    where
        B: Runs<E>,
    {
        Ok(Self::bytes_by_level(finest, smoother)?.iter().sum())
    }

    /// The same for each level, coarse to fine.
    ///
    /// # Errors
    /// Those of [`hierarchy`].
    pub fn bytes_by_level<E: System>(finest: &E, smoother: &SmootherConfig) -> Result<Vec<u64>>
    where
        B: Runs<E>,
    {
        let systems = hierarchy(finest)?;
        let smoothing = |system: &E| {
            let patches = if smoother.has_patches() { B::patches_bytes::<S>(system) } else { 0 };
            smoother.bytes::<B, S>(system.layout().storage(), system.is_nonlinear()) + patches
        };
        let level = |(index, system): (usize, &E)| {
            let is_finest = index + 1 == systems.len();
            let vectors = if is_finest { 0 } else { vector_bytes::<S>(2, system.layout().storage()) };
            let solver = if index == 0 { Coarsest::<B, S>::bytes(system) } else { smoothing(system) };
            B::level_bytes::<S>(system) + vectors + solver
        };
        Ok(systems.iter().enumerate().map(level).collect())
    }

    /// The levels above the coarsest, coarse to fine.
    pub fn levels(&self) -> &[SmoothedLevel<B, S>] {
        &self.levels
    }

    /// `x ← V(x, b)` on the finest level.
    pub fn cycle(&mut self, b: &B::Vector<S>, x: &mut B::Vector<S>) -> Result<()> {
        v_cycle(self.cycle, &mut self.coarsest, &mut self.levels, Start::Given, b, x)
    }
}

/// What a cycle begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    /// What is in `x`.
    Given,
    /// Zero, whatever is in `x`.
    Zero,
}

/// `x ← V_l(x, b)`, `l` being the last of `levels`, or the coarsest level if there are none.
pub(super) fn v_cycle<B: Backend, S: Scalar>(
    cycle: VCycle,
    coarsest: &mut Coarsest<B, S>,
    levels: &mut [SmoothedLevel<B, S>],
    start: Start,
    b: &B::Vector<S>,
    x: &mut B::Vector<S>,
) -> Result<()> {
    let Some((level, coarser)) = levels.split_last_mut() else {
        return coarsest.solve(b, x);
    };
    level.pre_smooth(cycle, start, b, x)?;
    match start {
        Start::Given => level.level.restrict_residual(b, x, &mut level.coarse_b)?,
        Start::Zero => level.level.restrict_residual_of_smoothed(b, x, &mut level.coarse_b)?,
    }
    level.coarse_cycle(cycle, coarsest, coarser, Start::Zero)?;
    // The coarsest level is solved: once is enough.
    let coarse_cycles = if coarser.is_empty() { 1 } else { cycle.coarse_cycles };
    for _ in 1..coarse_cycles {
        level.coarse_cycle(cycle, coarsest, coarser, Start::Given)?;
    }
    level.correct_and_smooth(cycle, start, b, x)
}

/// All levels become those of the derivative at `u`, a vector of the last of `levels`.
fn linearize<B: Backend, S: Scalar>(
    coarsest: &mut Coarsest<B, S>,
    levels: &mut [SmoothedLevel<B, S>],
    u: &B::Vector<S>,
) -> Result<()> {
    let Some((own, coarser)) = levels.split_last_mut() else {
        return coarsest.linearize(u);
    };
    let SmoothedLevel { level, coarse_x, .. } = own;
    let nonlinear = level.nonlinear()?;
    nonlinear.linearize(u)?;
    nonlinear.interpolate(u, coarse_x)?;
    linearize(coarsest, coarser, coarse_x)?;
    own.update_smoothers()?;
    own.coarse_cycles.iter_mut().for_each(Repeated::forget);
    Ok(())
}

/// Whether a V-cycle asks the machine for the same every time.
fn is_fixed<B: Backend, S: Scalar>(coarsest: &Coarsest<B, S>, levels: &[SmoothedLevel<B, S>]) -> bool {
    coarsest.level().inner_iterations().is_none() && levels.iter().all(SmoothedLevel::is_fixed)
}

impl<B: Backend, S: Scalar> SmoothedLevel<B, S> {
    /// Records what [`Self::coarse_cycle`] does. That of coarser levels is part of it.
    fn record_coarse_cycle(
        &mut self,
        cycle: VCycle,
        coarsest: &mut Coarsest<B, S>,
        coarser: &mut [Self],
        start: Start,
    ) -> Result<()> {
        let Self { level, coarse_b, coarse_x, coarse_cycles, .. } = self;
        let work = &mut || v_cycle(cycle, coarsest, coarser, start, coarse_b, coarse_x);
        coarse_cycles[start as usize].record(level.backend(), work)
    }

    /// The V-cycle for the coarse right-hand side, from what is in the coarse solution or from zero; `coarser` are the levels below.
    pub(super) fn coarse_cycle(
        &mut self,
        cycle: VCycle,
        coarsest: &mut Coarsest<B, S>,
        coarser: &mut [Self],
        start: Start,
    ) -> Result<()> {
        let Self { level, coarse_b, coarse_x, coarse_cycles, .. } = self;
        let work = &mut || v_cycle(cycle, coarsest, coarser, start, coarse_b, coarse_x);
        coarse_cycles[start as usize].run(level.backend(), work)
    }

    pub(super) fn pre_smooth(
        &mut self,
        cycle: VCycle,
        start: Start,
        b: &B::Vector<S>,
        x: &mut B::Vector<S>,
    ) -> Result<()> {
        let Self { smoother, of_corrections, level, .. } = self;
        let smoother = of_cycle(smoother, of_corrections, start);
        match (start, cycle.pre) {
            (Start::Given, steps) => (0..steps).try_for_each(|_| smoother.step(b, x)),
            (Start::Zero, 0) => level.backend().set_zero(x),
            (Start::Zero, steps) => {
                smoother.step_from_zero(b, x)?;
                (1..steps).try_for_each(|_| smoother.step(b, x))
            }
        }
    }

    fn correct_and_smooth(
        &mut self,
        cycle: VCycle,
        start: Start,
        b: &B::Vector<S>,
        x: &mut B::Vector<S>,
    ) -> Result<()> {
        let Self { smoother, of_corrections, level, coarse_x, .. } = self;
        let smoother = of_cycle(smoother, of_corrections, start);
        match (cycle.post_smoothing, cycle.post) {
            (PostSmoothing::Same, 1..) => {
                smoother.step_after_prolongation(coarse_x, b, x)?;
                (1..cycle.post).try_for_each(|_| smoother.step(b, x))
            }
            _ => {
                level.prolongate_add(coarse_x, x)?;
                (0..cycle.post).try_for_each(|_| smoother.step_adjoint(b, x))
            }
        }
    }
}

impl<B: Backend, S: Scalar> Preconditioner<B, S> for Multigrid<B, S> {
    fn apply(&mut self, r: &B::Vector<S>, z: &mut B::Vector<S>) -> Result<()> {
        v_cycle(self.cycle, &mut self.coarsest, &mut self.levels, Start::Zero, r, z)
    }

    fn update(&mut self, u: &B::Vector<S>) -> Result<()> {
        linearize(&mut self.coarsest, &mut self.levels, u)
    }

    fn is_fixed(&self) -> bool {
        is_fixed(&self.coarsest, &self.levels)
    }

    fn inner_iterations(&self) -> Option<usize> {
        self.coarsest.level().inner_iterations()
    }

    fn is_symmetric(&self) -> bool {
        let VCycle { pre, post, post_smoothing, .. } = self.cycle;
        pre == post && post_smoothing == PostSmoothing::Adjoint
    }
}
