//! What a machine can make ready at set-up, so that a solve does not wait for it.

use super::{Config, Method, Precision};
use crate::backend::{Backend, Scalar};
use crate::error::Result;
use crate::level::SharedLevel;

/// [Announces](Backend::announce) most of what the solver of a configuration asks of a machine besides V-cycles: on the last of `levels`
/// and, if there are more, transfers between the last two. `b` and `x` are vectors of the last one; their entries do not change.
///
/// # Errors
/// Those of the machine.
pub(super) fn announce_solves<B: Backend, T: Scalar>(
    config: &Config,
    levels: &[SharedLevel<B, T>],
    b: &B::Vector<T>,
    x: &mut B::Vector<T>,
) -> Result<()> {
    let Some((operator, coarser)) = levels.split_last() else { return Ok(()) };
    let (backend, is_mixed) = (&**operator.backend(), config.precision == Precision::Mixed);
    backend.announce(&mut || {
        backend.norm(b)?;
        if let Some(coarser) = coarser.last() {
            let mut coarse = coarser.vector()?;
            operator.restrict_load(b, x, &mut coarse)?;
            operator.prolongate_add(&coarse, x)?;
        }
        match config.method {
            Method::Gmres | Method::Fgmres if is_mixed => {
                operator.residual_norm(b, b, x)?;
                let (mut rounded, mut work) = (backend.zeros(operator.storage())?, operator.vector()?);
                backend.norm_rounded(b, &mut rounded)?;
                operator.apply_rounded(&rounded, &mut work, x)?;
                // The copy of what a recorded V-cycle leaves in a vector of its own.
                backend.axpby(1.0, &backend.zeros::<f32>(1)?, 0.0, &mut backend.zeros(1)?)?;
                backend.combine::<f32, T>(&[], &[], 1.0, x)?;
                backend.combine::<T, f32>(&[], &[], 1.0, &mut rounded)?;
            }
            Method::Gmres | Method::Fgmres => {
                operator.residual_norm(b, b, x)?;
                operator.apply(b, x)?;
                backend.axpby(1.0, b, 1.0, x)?;
                backend.combine::<T, T>(&[], &[], 1.0, x)?;
                backend.combine_dots(&[], &[], x)?;
            }
            Method::Cg | Method::VCycle | Method::Fmg => {
                operator.residual(b, b, x)?;
                if config.method == Method::Cg {
                    operator.apply(b, x)?;
                    operator.residual_norm(b, b, x)?;
                }
                if is_mixed {
                    let mut rounded = backend.zeros::<f32>(operator.storage())?;
                    backend.convert(1.0, b, &mut rounded)?;
                    backend.convert(1.0, &rounded, x)?;
                }
                backend.axpby(1.0, b, 1.0, x)?;
            }
        }
        Ok(())
    })
}
