//! Uniform meshes of the unit square and cube, and their hierarchies.

use crate::error::Result;

/// `2^refine` cells a direction on the unit square (`dim = 2`) or cube (`dim = 3`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mesh {
    dim: usize,
    refine: usize,
}

impl Mesh {
    /// `dim` 2 or 3, `refine` at least 1.
    pub fn unit_cube(dim: usize, refine: usize) -> Result<Self> {
        Ok(Self { dim, refine })
    }
}
