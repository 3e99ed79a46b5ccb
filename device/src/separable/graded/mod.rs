//! Cells of any sizes: in a direction patches differ by the sizes of their two cells and by what holds at an end, so that each has
//! the number of a [table](PatchTable); equal ones have the same.

#[cfg(not(target_arch = "nvptx64"))]
mod kind;
mod left_out;
mod list;
mod operator;
mod products;
mod smooth;

#[cfg(not(target_arch = "nvptx64"))]
pub use kind::KIND;
#[cfg(not(target_arch = "nvptx64"))]
pub use list::{Apply, Residual, Smooth};
#[cfg(not(target_arch = "nvptx64"))]
pub use smooth::{arranged, blocks, table_words};

/// The 1D matrices of a patch in a direction, one part after the other, each row of them in whole [chunks](cuda_std::shared::CHUNK). A patch
/// has `N = 2k + 1` nodes, of which the `M = N - 2` in between are its unknowns; where cells are missing beyond an end, entries are zero, and
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
