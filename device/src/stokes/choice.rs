//! Which kernels there are to choose from.

use crate::choice::named;

/// Optimization level of a kernel of the Stokes equations (paper 2, sections 4.1 and 4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Paper2 {
    /// Square matrices and cubic tensors of a cell, `k + 2` a direction, padded with zeros; 1D matrices in constant memory.
    Padding,
    /// Sizes as they are.
    Basic,
    /// 1D matrices in shared memory.
    Shared,
    /// The same, by an order of contractions and of threads that has hardly any bank conflicts.
    ConflictFree,
}

/// Which kernels a level of the Stokes equations has on a GPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum StokesKernel {
    /// The fastest: lines in registers ([`residual`](super::residual), [`solve`](super::solve)).
    #[default]
    Register,
    /// Those of paper 2, in 3D, of degree 1 to 4: the operator, and the local solvers by a stored inverse and by conjugate
    /// gradients, which have no bank conflicts at level [`Paper2::ConflictFree`]. The exact local solver is that of the default
    /// kernels.
    Paper2(Paper2),
}

named!(Paper2);

impl Paper2 {
    pub const ALL: [Self; 4] = [Self::Padding, Self::Basic, Self::Shared, Self::ConflictFree];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Padding => "padding",
            Self::Basic => "basic",
            Self::Shared => "shared",
            Self::ConflictFree => "conflict-free",
        }
    }
}

impl StokesKernel {
    /// What a GPU has, in the words of the command line.
    pub const AVAILABLE: &'static str = "register; padding, basic, shared and conflict-free in 3D, degree 1 to 4";
}

/// In the words of the command line.
impl core::fmt::Display for StokesKernel {
    fn fmt(&self, f: &mut core::fmt::Formatter) -> core::fmt::Result {
        match self {
            Self::Register => f.pad("register"),
            Self::Paper2(level) => f.pad(level.name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    #[test]
    fn levels_are_found_by_their_names() {
        assert!(Paper2::ALL.into_iter().all(|choice| choice.to_string().parse() == Ok(choice)));
    }
}
