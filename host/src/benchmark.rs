//! Times of a model problem's parts.

use crate::backend::{Backend, PatchKernel, Scalar};
use crate::error::Result;
use crate::measure::{Protocol, Timing, measure};
use crate::multigrid::{Multigrid, PoissonCg};
use crate::operator::Preconditioner;
use crate::solve::{Case, Precision};
use crate::space::Space;
use serde::Serialize;
use std::sync::Arc;

/// How long one part takes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measurement {
    /// What was done, once.
    pub what: &'static str,
    /// In which scalar.
    pub scalar: &'static str,
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

/// Times of the parts of a V-cycle, in its scalar, and of the operator, in the solver's.
///
/// # Errors
/// Those of the backend.
pub fn parts<B: Backend>(backend: &Arc<B>, case: &Case, protocol: Protocol) -> Result<Vec<Measurement>> {
    let space = case.space()?;
    case.config.check(&**backend, &space)?;
    Ok(match case.config.precision {
        Precision::F64 => {
            [operator::<B, f64>(backend, &space, protocol)?, cycle::<B, f64>(backend, &space, case, protocol)?]
        }
        Precision::F32 => {
            [operator::<B, f32>(backend, &space, protocol)?, cycle::<B, f32>(backend, &space, case, protocol)?]
        }
        Precision::Mixed => {
            [operator::<B, f64>(backend, &space, protocol)?, cycle::<B, f32>(backend, &space, case, protocol)?]
        }
    }
    .concat())
}

fn operator<B: Backend, T: Scalar>(backend: &Arc<B>, space: &Space, protocol: Protocol) -> Result<Vec<Measurement>> {
    let level = backend.level::<T>(space, PatchKernel::default())?;
    let [x, b] = [1, 2].map(|seed| random::<B, T>(backend, space, seed));
    let (x, b, mut y) = (x?, b?, backend.zeros(space.storage())?);
    let apply = measure(&**backend, protocol, || backend.apply(&level, &x, &mut y))?;
    let residual = measure(&**backend, protocol, || backend.residual(&level, &b, &x, &mut y))?;
    Ok(vec![
        Measurement::of::<T>("operator", apply, space, 2.0),
        Measurement::of::<T>("residual", residual, space, 3.0),
    ])
}

fn cycle<B: Backend, S: Scalar>(
    backend: &Arc<B>,
    space: &Space,
    case: &Case,
    protocol: Protocol,
) -> Result<Vec<Measurement>> {
    let smoother = case.config.smoother;
    let colors = 1 << space.dim();
    let step_words = 3.0 * colors as f64;
    let transfer_words = 2.0 + 1.0 / colors as f64;
    let mut results = Vec::new();
    let [x, b] = [3, 4].map(|seed| random::<B, S>(backend, space, seed));
    let (mut x, b) = (x?, b?);
    {
        let level = backend.level::<S>(space, smoother.patch_kernel())?;
        let step = measure(&**backend, protocol, || {
            (0..colors).try_for_each(|color| backend.smooth_color(&level, color, &b, &mut x))
        })?;
        results.push(Measurement::of::<S>("smoother step", step, space, step_words));
        if let Some(coarser) = space.coarser().transpose()? {
            let mut coarse = random::<B, S>(backend, &coarser, 5)?;
            let prolongate = measure(&**backend, protocol, || backend.prolongate_add(&level, &coarse, &mut x))?;
            let restrict = measure(&**backend, protocol, || backend.restrict_residual(&level, &b, &x, &mut coarse))?;
            results.push(Measurement::of::<S>("restriction of the residual", restrict, space, transfer_words));
            results.push(Measurement::of::<S>("prolongation", prolongate, space, transfer_words));
        }
    }
    let mut multigrid = Multigrid::<B, S>::new(backend, space, &PoissonCg { smoother }, Default::default())?;
    let v_cycle = measure(&**backend, protocol, || multigrid.apply(&b, &mut x))?;
    // All levels together are a geometric series.
    let words = (2.0 * step_words + 2.0 * transfer_words) / (1.0 - 1.0 / colors as f64);
    results.push(Measurement::of::<S>("V-cycle", v_cycle, space, words));
    Ok(results)
}

impl Measurement {
    fn of<T: Scalar>(what: &'static str, timing: Timing, space: &Space, words_per_dof: f64) -> Self {
        let (dofs, seconds) = (space.dofs() as f64, timing.median_s);
        Self {
            what,
            scalar: T::NAME,
            timing,
            ns_per_dof: 1e9 * seconds / dofs,
            gdof_per_s: 1e-9 * dofs / seconds,
            words_per_dof,
            gb_per_s: 1e-9 * words_per_dof * size_of::<T>() as f64 * dofs / seconds,
        }
    }
}

/// A vector of numbers in -1..1 at the unknowns.
fn random<B: Backend, T: Scalar>(backend: &B, space: &Space, seed: u64) -> Result<B::Vector<T>> {
    let mut host = vec![T::ZERO; space.storage()];
    let mut state = seed;
    for node in space.unknowns() {
        // Knuth's linear congruential generator; the upper bits are good enough.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        host[space.offset(node)] = T::from_f64((state >> 11) as f64 / (1u64 << 52) as f64 - 1.0);
    }
    let mut vector = backend.zeros(host.len())?;
    backend.upload(&host, &mut vector)?;
    Ok(vector)
}
