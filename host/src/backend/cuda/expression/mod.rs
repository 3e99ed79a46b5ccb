//! Functions of a point, compiled for the GPU and evaluated on grids.

mod code;

use super::gpu::Gpu;
use super::launch::TypedKernel;
use super::memory::Vector;
use crate::backend::{Program, Scalar, WeightedGrid};
use crate::error::{Error, Result};
use patchmg_device::expression::{Evaluate, Grid, MODULE};
use std::sync::Arc;

/// [`Backend::evaluate`](crate::backend::Backend::evaluate).
pub(super) fn evaluate<T: Scalar>(
    gpu: &Arc<Gpu>,
    f: &Program,
    grid: &WeightedGrid,
    derivative: Option<usize>,
    y: &mut Vector<T>,
    subtract: bool,
) -> Result<()> {
    grid.check(derivative, y.len())?;
    y.check_at_least(gpu, "y", grid.len())?;
    let size = |size: usize| {
        u32::try_from(size).map_err(|_| Error::InvalidArgument {
            name: "points of a grid in some directions",
            value: size.to_string(),
            allowed: format!("at most {}", u32::MAX),
        })
    };
    let [size_x, size_y, size_z] = grid.sizes();
    size(size_x * size_y)?;
    let kind = derivative.map_or(0, |d| d as u32 + 1);
    let shape = Grid { sizes: [size(size_x)?, size(size_y)?, size(size_z)?], kind };
    let body = if derivative.is_none() { code::value(f) } else { code::derivative(f) };
    let kernel = TypedKernel::<Evaluate<T>>::with_functions(gpu, MODULE, &[body])?;
    let [points, weights] = grid.axes();
    let (points, weights) = (Vector::uploaded(gpu, points)?, Vector::uploaded(gpu, weights)?);
    let arguments = Evaluate {
        points: points.as_ptr(),
        weights: weights.as_ptr(),
        y: y.as_mut_ptr(),
        grid: shape,
        subtract: subtract.into(),
    };
    // SAFETY: points and weights are as the grid says, and `y` is long enough, checked above. That the points are freed waits for the
    // kernel.
    unsafe { kernel.launch(gpu, shape.blocks(), arguments) }
}
