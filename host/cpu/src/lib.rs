//! The kernels of a CPU: SIMD lanes that hold neighbouring patches, sum factorization as on the GPU.
//!
//! Lattices have kernels of patches; cells that lie anywhere have an [operator](IndexedKernels).
//! Kernels of every dimension, degree, scalar and SIMD level are compiled here, once, behind [`Kernels`]. Nothing here
//! knows a space: matrices come as bytes of [`patchmg_device::matrices`], as on a GPU.

// Index loops over fixed sizes unroll; iterators over arrays, and copies by `memcpy`, do not always.
#![allow(clippy::needless_range_loop, clippy::manual_memcpy)]

mod axis;
mod axis_matrix;
mod batch;
#[cfg(target_arch = "x86_64")]
mod blocks;
mod dg;
mod face;
mod graded;
mod indexed;
mod kernels;
mod lanes;
mod lines;
mod operator;
mod parts;
mod point;
mod rows;
mod scatter;
mod separable;
mod sizes;
mod smoother;
mod stokes;
mod sweep;
mod transfer;
mod workspace;

pub use axis::{AxisMatrix, apply_along_axis};
pub use dg::Discontinuous;
pub use graded::{Factors, Graded, words as graded_words};
pub use indexed::{IndexedCells, IndexedKernels, IndexedMatrices, indexed_width};
pub use kernels::{Continuous, Kernels, LatticeKernels, Prepared, Reaction};
pub use lanes::{MAX_LANES, SimdLevel, Vectorized};
pub use parts::{Finish, Parts, Sums};
pub use point::GaussSeidel;
pub use separable::SeparableCells;
pub use stokes::{Coupled, PatchAxis, PatchFunctions, RaviartThomas, StokesAxis, StokesKernels};
pub use sweep::Sweep;
