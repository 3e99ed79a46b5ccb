//! The kernel list: every entry point, with what the host must know to launch it and the builder to check it.
//!
//! Kernels of one system, dimension and degree are compiled as one PTX [`Module`], so that a change rebuilds, and a
//! solve loads, only what it needs.

// The list is for the host: the device knows its own kernels.
#[cfg(not(target_arch = "nvptx64"))]
mod module;
#[cfg(not(target_arch = "nvptx64"))]
mod spec;

pub use crate::choice::{
    Boxes, Engine, MatrixMemory, Operands, Paper1, PatchKernel, ProductShape, Products, TensorKernel, Variant,
};
#[cfg(not(target_arch = "nvptx64"))]
pub use module::Module;
#[cfg(not(target_arch = "nvptx64"))]
pub use spec::{KernelSpec, Operation};

/// Degrees that there are kernels for in 2D.
pub const DEGREES_2D: core::ops::RangeInclusive<usize> = 1..=10;
/// Degrees that there are kernels for in 3D.
pub const DEGREES_3D: core::ops::RangeInclusive<usize> = 1..=8;

/// Patch nodes in one direction: `(interior, all)` = `(2k - 1, 2k + 1)`.
pub const fn patch_nodes(degree: usize) -> (usize, usize) {
    (2 * degree - 1, 2 * degree + 1)
}

/// The fewest threads that a block of a patch kernel should have, where several patches fit.
const THREADS_WANTED: usize = 128;

/// Patches that one block of `columns` threads a patch handles side by side, in x.
pub const fn patches_per_block(columns: usize) -> usize {
    let patches = THREADS_WANTED / columns;
    if patches == 0 { 1 } else { patches }
}

/// Threads that own the columns of a patch with `nodes` nodes a direction.
pub const fn columns(dim: usize, nodes: usize) -> usize {
    if dim == 3 { nodes * nodes } else { nodes }
}

/// How a patch kernel is laid out on a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Threads of a patch.
    pub columns: usize,
    /// Patches of a block.
    pub patches: usize,
    /// Words of shared memory of a patch.
    pub words: usize,
    /// Barriers.
    pub barriers: usize,
}
