//! The finite element operator, `y = A x` and `r = b - A x`: in 3D plane by plane ([`planes`], of a [`tile`]), in 2D row by row
//! ([`rows`]), and with sides ([`sided`]). One launch, every entry written once.

pub mod cells;
mod nodes;
#[cfg(any(not(target_arch = "nvptx64"), module = "poisson_cg"))]
mod norms;
pub mod planes;
pub mod rows;
#[cfg(any(not(target_arch = "nvptx64"), module = "separable", module = "separable_graded"))]
pub mod sided;
pub mod tile;

use crate::kernels::Shape;

/// Its shape on a block.
pub const fn shape(dim: usize, degree: usize, scalar_bytes: usize) -> Shape {
    if dim == 3 { tile::shape(degree, scalar_bytes, scalar_bytes) } else { rows::strip(degree).shape() }
}

/// Blocks of a multiprocessor that the registers of a thread leave room for.
pub const fn min_blocks(dim: usize, degree: usize, scalar_bytes: usize) -> u32 {
    if dim == 3 { tile::min_blocks(degree, scalar_bytes) } else { rows::min_blocks(degree, scalar_bytes) }
}

pub use cells::Equal;
#[cfg(any(not(target_arch = "nvptx64"), module = "poisson_cg"))]
pub use norms::{min_blocks as norms_min_blocks, residual_norms_3d, shape as norms_shape};
pub use planes::{apply_3d, apply_rounded_3d};
pub use rows::apply_2d;
#[cfg(any(not(target_arch = "nvptx64"), module = "separable", module = "separable_graded"))]
pub use sided::{Graded, apply_sided};

/// Where a result goes.
#[derive(Clone, Copy)]
pub struct Output<T> {
    /// `b` of a residual; null for a plain product.
    pub b: *const T,
    /// Result vector.
    pub y: *mut T,
}
