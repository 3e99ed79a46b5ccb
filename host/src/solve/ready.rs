//! What a machine makes ready at set-up that a solve would wait for.

use super::{Config, Method, Precision};
use crate::backend::{Backend, Scalar};
use crate::error::Result;
use crate::level::SharedLevel;

/// Asks once for most of what the solver of a configuration asks of a machine besides V-cycles. A machine that makes operations ready when
/// they are first asked for, as a GPU compiles kernels, does so here. One that [records nothing](Backend::record) does nothing. `b` and `x`,
/// vectors of the operator, stay as they are.
///
/// # Errors
/// Those of the machine.
pub(super) fn make_ready<B: Backend, T: Scalar>(
    config: &Config,
    operator: &SharedLevel<B, T>,
    b: &B::Vector<T>,
    x: &mut B::Vector<T>,
) -> Result<()> {
    let backend = &**operator.backend();
    let mut notes = false;
    backend.record(&mut None, &mut || {
        notes = true;
        Ok(())
    })?;
    if !notes {
        return Ok(());
    }
    let is_mixed = config.precision == Precision::Mixed;
    let has_basis = [Method::Gmres, Method::Fgmres].contains(&config.method);
    let length = if has_basis && is_mixed { operator.storage() } else { 1 };
    let (mut wide, mut rounded) = (backend.zeros::<T>(length)?, backend.zeros::<f32>(length)?);
    let (copied, mut copy) = (backend.zeros::<f32>(1)?, backend.zeros::<f32>(1)?);
    // Noted down, and forgotten.
    backend.record(&mut None, &mut || {
        operator.residual(b, b, x)?;
        if is_mixed {
            backend.convert(1.0, &wide, &mut rounded)?;
        }
        match (has_basis, is_mixed) {
            (true, true) => {
                operator.apply_rounded(&rounded, &mut wide, x)?;
                backend.axpby(1.0, &copied, 0.0, &mut copy)?;
                backend.combine_rounded(&[], &[], 1.0, x)
            }
            (true, false) => {
                operator.apply(b, x)?;
                backend.combine(&[], &[], 1.0, x)?;
                backend.axpby(1.0, b, 1.0, x)
            }
            (false, _) => {
                if is_mixed {
                    backend.convert(1.0, &rounded, &mut wide)?;
                }
                if config.method == Method::Cg {
                    operator.apply(b, x)?;
                }
                backend.axpby(1.0, b, 1.0, x)
            }
        }
    })?;
    // These return numbers to the host, so they cannot be recorded, and are done with one entry.
    let mut one = backend.zeros::<T>(1)?;
    backend.norm(&one)?;
    if has_basis {
        backend.combine_dots(&[], &[], &mut one)?;
    }
    Ok(())
}
