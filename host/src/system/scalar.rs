//! Levels of a CPU in `f32` and `f64`.

use crate::backend::Scalar;
use crate::backend::cpu::Cpu;
use crate::error::Result;
use crate::level::SharedLevel;
use std::any::{Any, TypeId};

/// The level in the scalar that `T` is: kernels are compiled for `f32` and `f64`, not for any `T`.
pub(super) fn in_scalar<T: Scalar>(
    single: impl FnOnce() -> Result<SharedLevel<Cpu, f32>>,
    double: impl FnOnce() -> Result<SharedLevel<Cpu, f64>>,
) -> Result<SharedLevel<Cpu, T>> {
    let is_single = TypeId::of::<T>() == TypeId::of::<f32>();
    let level: Box<dyn Any> = if is_single { Box::new(single()?) } else { Box::new(double()?) };
    Ok(*level.downcast().expect("a scalar is f32 or f64"))
}
