//! Sums of outer products of vectors along axes.

use super::gpu::Gpu;
use super::launch::TypedKernel;
use super::memory::Vector;
use crate::backend::{self, Scalar};
use crate::error::{Error, Result};
use patchmg_device::axis::{self, MODULE, OuterShape};
use std::sync::Arc;

/// [`Backend::outer_products`](backend::Backend::outer_products).
pub(super) fn outer_products<T: Scalar>(
    gpu: &Arc<Gpu>,
    tensor: &backend::OuterProducts,
    y: &mut Vector<T>,
    add: bool,
) -> Result<()> {
    y.check_at_least(gpu, "y", tensor.len())?;
    let size = |size: usize| {
        u32::try_from(size).map_err(|_| Error::InvalidArgument {
            name: "entries of a tensor in some directions",
            value: size.to_string(),
            allowed: format!("at most {}", u32::MAX),
        })
    };
    let [size_x, size_y, size_z] = tensor.sizes();
    size(size_x * size_y)?;
    let sizes = [size(size_x)?, size(size_y)?, size(size_z)?];
    let kernel = TypedKernel::<axis::OuterProducts<T>>::new(gpu, MODULE)?;
    let factors = Vector::uploaded(gpu, tensor.factors())?;
    let shape = OuterShape { sizes, terms: size(tensor.terms().count())? };
    let arguments = axis::OuterProducts { factors: factors.as_ptr(), y: y.as_mut_ptr(), shape, add: add.into() };
    // SAFETY: factors and tensor are as the shape says, and `y` is long enough, checked above. That the factors are freed waits for
    // the kernel.
    unsafe { kernel.launch(gpu, shape.blocks(), arguments) }
}
