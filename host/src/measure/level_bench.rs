//! The parts of a V-cycle on one level, each to be timed alone.

use crate::backend::{Backend, Scalar};
use crate::error::{Error, Result};
use crate::layout::Layout;
use crate::level::SharedLevel;
use crate::measure::{Protocol, Timing, measure};
use crate::multigrid::{PatchSmoother, Smoother, SmootherConfig};
use crate::operator::{LinearOperator, vector_bytes};
use crate::system::{Runs, System};
use serde::Serialize;
use std::borrow::Cow;
use std::sync::Arc;

/// What is done on a level, once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub enum Part {
    /// `y = x`.
    Copy,
    /// `y = A x`.
    Operator,
    /// `y = b - A x`.
    Residual,
    /// A step of the patch smoother: all colors.
    Step,
    /// Restriction of `b - A x` to the next coarser level.
    Restrict,
    /// Prolongation from the next coarser level, added to `x`.
    Prolongate,
    /// The same and a step of the patch smoother, as after a coarse correction.
    CorrectedStep,
}

impl Part {
    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Copy => "copy",
            Self::Operator => "operator",
            Self::Residual => "residual",
            Self::Step => "smoother step",
            Self::Restrict => "restriction of the residual",
            Self::Prolongate => "prolongation",
            Self::CorrectedStep => "prolongation and smoother step",
        }
    }

    /// Words of memory that must be moved for an unknown: every vector read or written once a launch, the smoother's a
    /// color. Where a residual is [stored](System::stores_residuals), it is written and read besides.
    pub fn words_per_dof(self, system: &impl System) -> f64 {
        let coarser = system.coarser().and_then(Result::ok);
        let coarse = coarser.map_or(1.0, |coarser| coarser.cells() as f64 / system.cells() as f64);
        match (self, system.stores_residuals()) {
            (Self::Copy | Self::Operator, _) => 2.0,
            (Self::Residual, _) => 3.0,
            (Self::Step, _) => SmootherConfig::default().words_per_dof(system),
            (Self::Restrict, true) => 4.0 + coarse,
            (Self::Restrict | Self::Prolongate, _) => 2.0 + coarse,
            (Self::CorrectedStep, _) => {
                [Self::Prolongate, Self::Step].map(|part| part.words_per_dof(system)).iter().sum()
            }
        }
    }
}

/// A level with vectors of numbers that are neither zero nor alike.
pub struct LevelBench<B: Backend, T: Scalar> {
    backend: Arc<B>,
    layout: Layout,
    level: SharedLevel<B, T>,
    x: B::Vector<T>,
    b: B::Vector<T>,
    y: B::Vector<T>,
    /// On the next coarser level, if there is one.
    coarse: Option<B::Vector<T>>,
}

impl<B: Backend, T: Scalar> LevelBench<B, T> {
    /// A system with a coarser one can do all parts, others only those without transfer.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] before anything is allocated; those of [`Runs::level`] and [`Backend::zeros`].
    pub fn new<E: System>(backend: &Arc<B>, system: &E) -> Result<Self>
    where
        B: Runs<E>,
    {
        let layout = system.layout();
        let (needed, info) = (Self::bytes(&layout), backend.info());
        if needed > info.memory_free {
            return Err(Error::OutOfMemory { device: info.name, needed, available: info.memory_free });
        }
        let level = patches_allocated(backend.level(system)?)?;
        let levels = levels_to_draw(backend, system, Some(&level))?;
        let coarse = match system.coarser().transpose()? {
            None => None,
            Some(_) if levels.len() > 1 => Some(random(&levels[1..], 3)?),
            Some(coarser) => Some(random(&levels_to_draw::<E, B, T>(backend, &coarser, None)?, 3)?),
        };
        Ok(Self {
            x: random(&levels, 1)?,
            b: random(&levels, 2)?,
            y: backend.zeros(layout.storage())?,
            backend: backend.clone(),
            layout,
            level,
            coarse,
        })
    }

    /// Bytes of its vectors.
    pub fn bytes(layout: &Layout) -> u64 {
        vector_bytes::<T>(4, layout.storage())
    }

    /// The same vectors under other kernels of the same system.
    ///
    /// # Errors
    /// [`Error::SizeMismatch`] for a system with other vectors; those of [`Runs::level`].
    pub fn set_system<E: System>(&mut self, system: &E) -> Result<()>
    where
        B: Runs<E>,
    {
        self.layout.check("vectors of the system", system.layout().storage())?;
        self.level = patches_allocated(self.backend.level(system)?)?;
        Ok(())
    }

    /// Blocks of a multiprocessor, for each kernel of the patch smoother ([`Patches::resident_blocks`](crate::level::Patches::resident_blocks)).
    ///
    /// # Errors
    /// Those of the backend.
    pub fn resident_blocks(&self) -> Result<Vec<(String, u32)>> {
        self.level.patches()?.resident_blocks()
    }

    /// The right-hand side, and where a solution may go.
    pub fn vectors(&mut self) -> (&B::Vector<T>, &mut B::Vector<T>) {
        (&self.b, &mut self.x)
    }

    /// Does a part once.
    ///
    /// # Errors
    /// Those of the backend; [`Error::InvalidArgument`] for a transfer from one patch, [`Error::Unsupported`] for a step on a level
    /// without patches.
    pub fn run(&mut self, part: Part) -> Result<()> {
        let Self { backend, level, x, b, y, coarse, .. } = self;
        let no_coarser = || Error::InvalidArgument {
            name: "mesh",
            value: "the coarsest".into(),
            allowed: "one with a coarser mesh, for a transfer".into(),
        };
        match part {
            Part::Copy => backend.axpby(1.0, x, 0.0, y),
            Part::Operator => level.apply(x, y),
            Part::Residual => level.residual(b, x, y),
            Part::Step => PatchSmoother::new(level)?.step(b, x),
            Part::Restrict => level.restrict_residual(b, x, coarse.as_mut().ok_or_else(no_coarser)?),
            Part::Prolongate => level.prolongate_add(coarse.as_ref().ok_or_else(no_coarser)?, x),
            Part::CorrectedStep => {
                let coarse = coarse.as_ref().ok_or_else(no_coarser)?;
                PatchSmoother::new(level)?.step_after_prolongation(coarse, b, x)
            }
        }
    }

    /// How long a part takes.
    ///
    /// # Errors
    /// Those of [`Self::run`].
    pub fn time(&mut self, part: Part, protocol: Protocol) -> Result<Timing> {
        let backend = self.backend.clone();
        measure(&*backend, protocol, || self.run(part))
    }
}

/// A level whose patches, if it has any, have allocated what they need.
fn patches_allocated<B: Backend, T: Scalar>(level: SharedLevel<B, T>) -> Result<SharedLevel<B, T>> {
    match level.patches() {
        Ok(_) | Err(Error::Unsupported { .. }) => {}
        Err(error) => return Err(error),
    }
    Ok(level)
}

/// Unknowns up to which the host draws every number.
const DRAWN: usize = 1 << 22;

/// The level of a system, and while these have many unknowns, those of coarser ones. A level of the system that is known need not be made
/// again.
fn levels_to_draw<E: System, B: Runs<E>, T: Scalar>(
    backend: &Arc<B>,
    system: &E,
    known: Option<&SharedLevel<B, T>>,
) -> Result<Vec<SharedLevel<B, T>>> {
    let level = match (system.by_default_kernels(), known) {
        (Cow::Borrowed(_), Some(level)) => level.clone(),
        (default, _) => backend.level(&default)?,
    };
    let mut levels = vec![level];
    if system.layout().dofs() > DRAWN
        && let Some(coarser) = system.coarser().transpose()?
    {
        levels.extend(levels_to_draw(backend, &coarser, None)?);
    }
    Ok(levels)
}

/// A vector of numbers in -1..1 at the unknowns of the first level: those of the last are drawn, and prolongated on the machine.
fn random<B: Backend, T: Scalar>(levels: &[SharedLevel<B, T>], seed: u64) -> Result<B::Vector<T>> {
    if let [level, coarser @ ..] = levels
        && !coarser.is_empty()
    {
        let (coarse, mut vector) = (random(coarser, seed)?, level.vector()?);
        level.prolongate_add(&coarse, &mut vector)?;
        return Ok(vector);
    }
    let mut state = seed;
    levels[0].vector_of(&mut |_| {
        // Knuth's linear congruential generator; the upper bits are good enough.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    })
}
