//! Vectors of unknowns, as numpy has them, and vectors of the library, which store other entries, too.

use patchmg::layout::Layout;
use patchmg::memory;
use patchmg::space::Space;
use patchmg::{Error, Result};

/// The unknowns of each field, one field after the other; those of a field lexicographically, `x` fastest.
#[derive(Clone)]
pub struct Numbering {
    spaces: Vec<Space>,
    layout: Layout,
}

impl Numbering {
    /// Of fields in spaces.
    pub fn new(spaces: Vec<Space>) -> Self {
        let layout = Layout::of(&spaces);
        Self { spaces, layout }
    }

    /// The spaces of the fields.
    pub fn spaces(&self) -> &[Space] {
        &self.spaces
    }

    /// Unknowns.
    pub fn dofs(&self) -> usize {
        self.layout.dofs()
    }

    /// The library's vector of unknowns; other entries are zero.
    pub fn to_storage(&self, dofs: &[f64]) -> Result<Vec<f64>> {
        if dofs.len() != self.dofs() {
            return Err(Error::SizeMismatch { what: "vector", expected: self.dofs(), found: dofs.len() });
        }
        let (mut stored, mut rest) = (self.zeros()?, dofs);
        for (space, block) in self.spaces.iter().zip(self.layout.blocks()) {
            let (of_field, others) = rest.split_at(space.dofs());
            stored[block.clone()].copy_from_slice(&space.from_dofs(of_field)?);
            rest = others;
        }
        Ok(stored)
    }

    /// The unknowns of the library's vector.
    pub fn to_dofs(&self, stored: &[f64]) -> Result<Vec<f64>> {
        let mut dofs = Vec::new();
        for (space, block) in self.spaces.iter().zip(self.layout.blocks()) {
            dofs.extend(space.to_dofs(&stored[block.clone()])?);
        }
        Ok(dofs)
    }

    /// The library's vector with a field's values and zeros elsewhere.
    pub fn of_field(&self, field: usize, values: &[f64]) -> Result<Vec<f64>> {
        let mut stored = self.zeros()?;
        stored[self.layout.blocks()[field].clone()].copy_from_slice(values);
        Ok(stored)
    }

    /// The library's vector of zeros.
    pub fn zeros(&self) -> Result<Vec<f64>> {
        memory::zeros(self.layout.storage())
    }
}
