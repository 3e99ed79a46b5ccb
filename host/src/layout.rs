//! How vectors are laid out.

use crate::error::{Result, check_length};
use crate::space::Space;
use std::ops::Range;

/// The blocks of a vector, one after the other: a field of the equation each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    blocks: Vec<Range<usize>>,
    dofs: usize,
}

impl Layout {
    /// Blocks begin at multiples of so many entries.
    pub const ALIGNMENT: usize = 4;

    /// Of vectors with a block for each space, in the storage order of that.
    pub fn of<'a>(spaces: impl IntoIterator<Item = &'a Space>) -> Self {
        Self::of_sizes(spaces.into_iter().map(|space| (space.storage(), space.dofs())))
    }

    /// Of vectors with blocks of so many entries, so many of which are unknowns.
    pub fn of_sizes(sizes: impl IntoIterator<Item = (usize, usize)>) -> Self {
        let (mut blocks, mut dofs, mut end) = (Vec::new(), 0, 0usize);
        for (storage, unknowns) in sizes {
            let begin = end.next_multiple_of(Self::ALIGNMENT);
            end = begin + storage;
            blocks.push(begin..end);
            dofs += unknowns;
        }
        Self { blocks, dofs }
    }

    /// Where each block lies in a vector.
    pub fn blocks(&self) -> &[Range<usize>] {
        &self.blocks
    }

    /// Unknowns of all blocks.
    pub fn dofs(&self) -> usize {
        self.dofs
    }

    /// Length of vectors.
    pub fn storage(&self) -> usize {
        self.blocks.last().map_or(0, |last| last.end)
    }

    /// That a vector of so many entries is laid out so.
    pub(crate) fn check(&self, what: &'static str, found: usize) -> Result<()> {
        check_length(what, self.storage(), found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::Mesh;

    #[test]
    fn blocks_follow_each_other() {
        let mesh = Mesh::unit_cube(2, 1).unwrap();
        let [cubic, linear] = [3, 1].map(|degree| Space::new(mesh, degree).unwrap());
        let odd = Mesh::of_box(&[3, 1], &[3.0, 1.0], 1).unwrap().coarser().unwrap();
        let discontinuous = Space::discontinuous(odd, 2).unwrap();
        assert_eq!([&cubic, &linear, &discontinuous].map(Space::storage), [44, 8, 54]);
        let layout = Layout::of([&cubic, &discontinuous, &linear]);
        assert_eq!(layout.blocks(), [0..44, 44..98, 100..108]);
        assert_eq!((layout.storage(), layout.dofs()), (108, 25 + 54 + 1));
        assert!(layout.check("vector", 108).is_ok() && layout.check("vector", 106).is_err());
        assert_eq!(Layout::of([&cubic]).storage(), cubic.storage());
    }
}
