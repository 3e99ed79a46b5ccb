//! The Stokes equations by elements `RT_k x Q_k` (paper 2): the residual of all unknowns, and exact solutions on the patches of a
//! color.
//!
//! Of a direction, an axis is *continuous* where a component of the velocity runs along itself, else *discontinuous*. Both have
//! `C = k + 1` stored nodes a cell, so that all fields have their nodes at the same places: the components of the velocity, then
//! the pressure. Node 0 of a continuous axis is zero. Discontinuous axes have diagonal mass matrices.

mod choice;
#[cfg(not(target_arch = "nvptx64"))]
mod kind;
#[cfg(any(not(target_arch = "nvptx64"), module = "stokes"))]
mod list;
#[cfg(any(not(target_arch = "nvptx64"), module = "stokes_paper2"))]
pub mod paper2;
#[cfg(any(not(target_arch = "nvptx64"), module = "stokes"))]
pub mod residual;
#[cfg(any(not(target_arch = "nvptx64"), module = "stokes"))]
pub mod solve;

use bytemuck::{Pod, Zeroable};
pub use choice::{Paper2, StokesKernel};
#[cfg(not(target_arch = "nvptx64"))]
pub use kind::KIND;
#[cfg(any(not(target_arch = "nvptx64"), module = "stokes"))]
pub use list::SchurStarts;
#[cfg(not(target_arch = "nvptx64"))]
pub use list::{Residual, Solve};
#[cfg(any(not(target_arch = "nvptx64"), module = "stokes"))]
pub use residual::LineMatrices;
#[cfg(any(not(target_arch = "nvptx64"), module = "stokes"))]
pub use solve::{Derivative, PatchMatrices, PatchTable};

/// Where the fields of a vector lie, and what of a level a kernel is for.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fields {
    /// Cells in each direction; in 2D the last number is 1.
    pub cells: [u32; 3],
    /// Of the patches; counts for nothing elsewhere.
    pub color: u32,
    /// Entries from the first one of a field to that of the next one: the components of the velocity, then the pressure.
    pub distance: u64,
}

// SAFETY: four `u32` and a `u64` without padding.
unsafe impl Zeroable for Fields {}
// SAFETY: as above.
unsafe impl Pod for Fields {}

impl Fields {
    /// From a node to the next one in each direction, in a level of `nodes` nodes a cell.
    #[inline(always)]
    const fn strides(&self, nodes: usize) -> [usize; 3] {
        let [x, y, _] = self.cells;
        let row = x as usize * nodes;
        [1, row, row * y as usize * nodes]
    }

    /// Where a field begins.
    #[inline(always)]
    const fn first(&self, field: usize) -> usize {
        self.distance as usize * field
    }
}

/// An entry of three, by an index that is known at run time: arrays in registers have none.
#[inline(always)]
fn pick<V: Copy>(values: [V; 3], index: usize) -> V {
    match index {
        0 => values[0],
        1 => values[1],
        _ => values[2],
    }
}

/// Degrees that there are kernels for.
#[cfg(not(target_arch = "nvptx64"))]
pub fn degrees(dim: usize) -> core::ops::RangeInclusive<usize> {
    if dim == 2 { 1..=8 } else { 1..=5 }
}
