//! Times of a model problem's parts.

use super::level_bench::{LevelBench, Part};
use super::levels::{LevelTimes, levels};
use crate::backend::{Backend, Scalar};
use crate::error::Result;
use crate::measure::{Protocol, Timing, measure};
use crate::multigrid::{Multigrid, SmootherConfig, hierarchy};
use crate::operator::Preconditioner;
use crate::solve::{Config, Precision};
use crate::system::{Runs, System};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// How long one part takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// What was done, once.
    pub what: String,
    /// In which scalar.
    pub scalar: String,
    #[serde(flatten)]
    pub timing: Timing,
    /// Median over the unknowns of the finest level.
    pub ns_per_dof: f64,
    /// Unknowns a second, in units of 10^9.
    pub gdof_per_s: f64,
    /// Words of memory that must be moved for an unknown: every vector read or written once a launch, the smoother's a
    /// color.
    pub words_per_dof: f64,
    /// These words over the median, in 10^9 bytes a second.
    pub gb_per_s: f64,
}

/// How long a model problem's parts take.
#[derive(Clone, Debug, PartialEq)]
pub struct Parts {
    /// On the finest level, and the V-cycle.
    pub measurements: Vec<Measurement>,
    /// On each level, coarse to fine, in the scalar of the V-cycle.
    pub levels: Vec<LevelTimes>,
}

/// Times of the parts of a V-cycle, in its scalar, and of the operator, in the solver's.
///
/// # Errors
/// Those of the backend.
pub fn parts<E: System, B: Runs<E>>(
    backend: &Arc<B>,
    system: &E,
    config: &Config,
    protocol: Protocol,
) -> Result<Parts> {
    config.check(&**backend, system)?;
    let smoother = config.smoother;
    let (operator, (cycle, levels)) = match config.precision {
        Precision::F64 => (
            operator::<E, B, f64>(backend, system, protocol)?,
            cycle::<E, B, f64>(backend, system, smoother, protocol)?,
        ),
        Precision::F32 => (
            operator::<E, B, f32>(backend, system, protocol)?,
            cycle::<E, B, f32>(backend, system, smoother, protocol)?,
        ),
        Precision::Mixed => (
            operator::<E, B, f64>(backend, system, protocol)?,
            cycle::<E, B, f32>(backend, system, smoother, protocol)?,
        ),
    };
    Ok(Parts { measurements: [operator, cycle].concat(), levels })
}

fn operator<E: System, B: Runs<E>, T: Scalar>(
    backend: &Arc<B>,
    system: &E,
    protocol: Protocol,
) -> Result<Vec<Measurement>> {
    let mut bench = LevelBench::<B, T>::new(backend, &system.by_default_kernels())?;
    let parts = [Part::Operator, Part::Residual];
    parts.into_iter().map(|part| Measurement::of_part(&mut bench, system, part, protocol)).collect()
}

fn cycle<E: System, B: Runs<E>, S: Scalar>(
    backend: &Arc<B>,
    system: &E,
    smoother: SmootherConfig,
    protocol: Protocol,
) -> Result<(Vec<Measurement>, Vec<LevelTimes>)> {
    let mut bench = LevelBench::<B, S>::new(backend, system)?;
    let (step, step_words) = (step(backend, system, smoother, &mut bench, protocol)?, smoother.words_per_dof(system));
    let mut results = vec![Measurement::of::<S>(Part::Step.name(), step, system, step_words)];
    let has_patches = smoother == SmootherConfig::Patch;
    let transfers = [Part::Restrict, Part::Prolongate].into_iter().chain(has_patches.then_some(Part::CorrectedStep));
    for part in transfers.filter(|_| system.coarser().is_some()) {
        results.push(Measurement::of_part(&mut bench, system, part, protocol)?);
    }
    let mut multigrid = Multigrid::<B, S>::new(backend, system, &smoother, Default::default())?;
    let (b, x) = bench.vectors();
    let v_cycle = measure(&**backend, protocol, || multigrid.apply(b, x))?;
    results.push(Measurement::of::<S>("V-cycle", v_cycle, system, cycle_words_per_dof(system, step_words)));
    let dofs: Vec<usize> = hierarchy(system)?.iter().map(|system| system.layout().dofs()).collect();
    let levels = levels(&mut multigrid, &dofs, b, x, protocol)?;
    Ok((results, levels))
}

/// Words of memory that a V-cycle must move for an unknown of its finest level: two steps of a smoother that moves
/// `step_words`, restriction of the residual and prolongation, on all levels.
pub fn cycle_words_per_dof(system: &impl System, step_words: f64) -> f64 {
    let levels = std::iter::successors(Some(system.clone()), |finer| finer.coarser()?.ok());
    let levels = levels.map(|level| level.cells()).sum::<usize>() as f64 / system.cells() as f64;
    let transfer = Part::Restrict.words_per_dof(system) + Part::Prolongate.words_per_dof(system);
    (2.0 * step_words + transfer) * levels
}

/// A step of the smoother on a level.
fn step<E: System, B: Runs<E>, S: Scalar>(
    backend: &Arc<B>,
    system: &E,
    smoother: SmootherConfig,
    bench: &mut LevelBench<B, S>,
    protocol: Protocol,
) -> Result<Timing> {
    let mut smoother = smoother.build(&backend.level(system)?)?;
    let (b, x) = bench.vectors();
    measure(&**backend, protocol, || smoother.step(b, x))
}

impl Measurement {
    fn of_part<B: Backend, T: Scalar>(
        bench: &mut LevelBench<B, T>,
        system: &impl System,
        part: Part,
        protocol: Protocol,
    ) -> Result<Self> {
        let timing = bench.time(part, protocol)?;
        Ok(Self::of::<T>(part.name(), timing, system, part.words_per_dof(system)))
    }

    fn of<T: Scalar>(what: &str, timing: Timing, system: &impl System, words_per_dof: f64) -> Self {
        let (dofs, seconds) = (system.layout().dofs() as f64, timing.median_s);
        Self {
            what: what.into(),
            scalar: T::NAME.into(),
            timing,
            ns_per_dof: 1e9 * seconds / dofs,
            gdof_per_s: 1e-9 * dofs / seconds,
            words_per_dof,
            gb_per_s: 1e-9 * words_per_dof * size_of::<T>() as f64 * dofs / seconds,
        }
    }
}
