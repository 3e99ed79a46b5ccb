//! `-div(diag(c) ∇u) + s u = f` on boxes with any sides and graded cells, by continuous elements: steps of the vertex-patch smoother.
//!
//! Vectors have all nodes of each direction, also those at both ends and the last one of a period. In a direction patches differ by
//! the sizes of their two cells and by what holds at an end, so that each has the number of a [table](PatchTable); equal ones have the
//! same.

#[cfg(not(target_arch = "nvptx64"))]
mod kind;
mod list;
mod smooth;

use bytemuck::{Pod, Zeroable};
#[cfg(not(target_arch = "nvptx64"))]
pub use kind::KIND;
#[cfg(not(target_arch = "nvptx64"))]
pub use list::Smooth;
#[cfg(not(target_arch = "nvptx64"))]
pub use smooth::blocks;

/// A direction: its cells and its patches, one around each vertex but those where `u` is given.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Direction {
    pub cells: u32,
    /// The vertex of the first patch, 0 or 1.
    pub first: u32,
    pub patches: u32,
    /// 1 if the last vertex is the first one, else 0.
    pub is_periodic: u32,
}

// SAFETY: four `u32` without padding.
unsafe impl Zeroable for Direction {}
// SAFETY: as above.
unsafe impl Pod for Direction {}

impl Direction {
    /// Patches of a color: every other one.
    #[inline(always)]
    pub const fn of_color(self, bit: u32) -> u32 {
        (self.patches + 1 - bit) / 2
    }
}

/// The directions of a level; in 2D the third counts for nothing.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Directions(pub [Direction; 3]);

// SAFETY: three structs of `u32` without padding.
unsafe impl Zeroable for Directions {}
// SAFETY: as above.
unsafe impl Pod for Directions {}

/// The 1D matrices of a patch in a direction, one part after the other, each row of them in whole [chunks](cuda_std::shared::CHUNK). A patch
/// has `N = 2k + 1` nodes, of which the `M = N - 1 - 1` in between are its unknowns; where cells are missing beyond an end, entries are zero, and
/// eigenvalues 1. With `K S = M S Λ`, `Sᵀ M S = I` on the unknowns, `B` all nodes:
///
/// - `Sᵀ M_IB`, a row for each function;
/// - `S`, a row for each node;
/// - `c λ`, in the last direction `c λ + s`;
/// - `c (Sᵀ K_IB - Λ Sᵀ M_IB)` of the first node, and then of the last one;
/// - the sums of the rows of `Sᵀ M_IB`, in the last direction times `s`: what the reaction makes of a constant.
#[derive(Clone, Copy, Debug)]
pub struct PatchTable {
    /// Of a row of all nodes, and of one of the unknowns.
    pitch: [usize; 2],
    functions: usize,
}

impl PatchTable {
    /// In scalars of so many bytes.
    pub const fn new(degree: usize, scalar_bytes: usize) -> Self {
        let chunk = cuda_std::shared::CHUNK / scalar_bytes;
        let functions = 2 * degree - 1;
        Self { pitch: [(functions + 2).next_multiple_of(chunk), functions.next_multiple_of(chunk)], functions }
    }

    /// Where the row of a function begins in `Sᵀ M_IB`.
    pub const fn transform(self, function: usize) -> usize {
        function * self.pitch[0]
    }

    /// Where the row of an unknown begins in `S`.
    pub const fn vectors(self, node: usize) -> usize {
        self.transform(self.functions) + node * self.pitch[1]
    }

    /// Where eigenvalues begin.
    pub const fn values(self) -> usize {
        self.vectors(self.functions)
    }

    /// Where what couples to the first node begins, 0, or to the last one, 1.
    pub const fn coupling(self, end: usize) -> usize {
        self.values() + (1 + end) * self.pitch[1]
    }

    /// Where the sums begin.
    pub const fn sums(self) -> usize {
        self.coupling(2)
    }

    /// All of it.
    pub const fn words(self) -> usize {
        self.sums() + self.pitch[1]
    }
}
