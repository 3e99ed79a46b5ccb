//! The 1D matrices of fast diagonalization.

/// What a direction of patches with given [`Ends`](crate::patch::Ends) needs, one part after the other; matrices are `N x N` by
/// columns, and padded with zeros.
#[derive(Clone, Copy, Debug)]
pub struct SchurTable {
    nodes: usize,
}

impl SchurTable {
    /// Of patches with so many nodes in a direction.
    pub const fn new(nodes: usize) -> Self {
        Self { nodes }
    }

    const fn matrix(self, number: usize) -> usize {
        number * self.nodes * self.nodes
    }

    /// From nodes to eigenfunctions, the transpose of the next one: of the continuous axis if `is_continuous`, else of the
    /// discontinuous one.
    pub const fn analysis(self, is_continuous: bool) -> usize {
        self.matrix(2 * is_continuous as usize)
    }

    /// Eigenfunctions at nodes.
    pub const fn synthesis(self, is_continuous: bool) -> usize {
        self.matrix(2 * is_continuous as usize + 1)
    }

    /// The derivative of continuous eigenfunctions, columns, by discontinuous ones.
    pub const fn divergence(self) -> usize {
        self.matrix(4)
    }

    /// Its transpose.
    pub const fn gradient(self) -> usize {
        self.matrix(5)
    }

    /// `s + ν μ` of the continuous axis, a one at the end, or `ν λ` of the discontinuous one.
    pub const fn values(self, is_continuous: bool) -> usize {
        self.matrix(6) + is_continuous as usize * self.nodes
    }

    /// Coefficients of the normalized constant.
    pub const fn constant(self) -> usize {
        self.matrix(6) + 2 * self.nodes
    }

    pub const fn words(self) -> usize {
        self.matrix(6) + 3 * self.nodes
    }
}
