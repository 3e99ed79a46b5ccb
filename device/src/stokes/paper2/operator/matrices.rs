//! 1D matrices of the operator.

use super::WITH_BEFORE;
use crate::stokes::Paper2;

/// The 1D matrices of cells of size 1, by columns: `E = k + 2` nodes along a component, `P` across it, which is `k + 1`, or
/// `k + 2` if it is padded.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct OperatorMatrices<T, const P: usize, const E: usize> {
    /// `S` of the three cells, rows, by columns of the cell before each, of itself, and of the one behind:
    /// `[cell of the column][column][cell of the row][row]`. The faces are those that a block computes.
    pub forms: [[[[T; P]; 3]; P]; 3],
    /// `D`.
    pub masses: [[T; P]; P],
    /// `M`.
    pub continuous_mass: [[T; E]; E],
    /// `L`.
    pub stiffness: [[T; E]; E],
    /// `Gᵀ`.
    pub divergence: [[T; E]; P],
    /// What forms of each direction are multiplied by, for cells of other sizes: `ν / h`.
    pub form_scales: [T; 3],
    /// The same of masses: `h`.
    pub mass_scales: [T; 3],
    /// `s`.
    pub reaction: T,
}

/// `P`.
pub const fn across_nodes(level: Paper2, nodes: usize) -> usize {
    match level {
        Paper2::Padding => nodes + 1,
        _ => nodes,
    }
}

/// Whether 1D matrices are in shared memory.
pub const fn are_shared(level: Paper2) -> bool {
    matches!(level, Paper2::Shared | Paper2::ConflictFree)
}

/// A 1D matrix of all cells, or one for each cell and its neighbours.
#[derive(Clone, Copy)]
pub struct Form {
    pub start: usize,
    /// Distance of the entries of neighbouring columns, and of neighbouring rows.
    pub strides: [usize; 2],
    pub rows: usize,
    pub columns: usize,
    /// Distance of the matrices for the cells before, here and behind; 0 if cells do not couple.
    pub neighbours: usize,
}

/// The matrices in [`OperatorMatrices`].
#[derive(Clone, Copy)]
pub struct Forms {
    pub across: usize,
    pub along: usize,
}

impl Forms {
    pub const fn new(level: Paper2, nodes: usize) -> Self {
        Self { across: across_nodes(level, nodes), along: nodes + 1 }
    }

    const fn square(start: usize, nodes: usize) -> Form {
        Form { start, strides: [nodes, 1], rows: nodes, columns: nodes, neighbours: 0 }
    }

    pub const fn form(self) -> Form {
        let Self { across, .. } = self;
        let width = WITH_BEFORE * across;
        Form { start: 0, strides: [width, 1], rows: across, columns: across, neighbours: across * width }
    }

    pub const fn mass(self) -> Form {
        Self::square(9 * self.across * self.across, self.across)
    }

    pub const fn continuous_mass(self) -> Form {
        Self::square(10 * self.across * self.across, self.along)
    }

    pub const fn stiffness(self) -> Form {
        Self::square(self.continuous_mass().start + self.along * self.along, self.along)
    }

    /// `G`.
    pub const fn divergence(self) -> Form {
        let start = self.stiffness().start + self.along * self.along;
        Form { start, strides: [1, self.along], rows: self.across, columns: self.along, neighbours: 0 }
    }

    /// `Gᵀ`.
    pub const fn gradient(self) -> Form {
        Form { strides: [self.along, 1], rows: self.along, columns: self.across, ..self.divergence() }
    }

    pub const fn words(self) -> usize {
        self.divergence().start + self.across * self.along
    }
}
