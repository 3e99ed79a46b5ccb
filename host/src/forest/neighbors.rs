//! Which leaf lies across a face.

use super::cell::Cell;
use super::leaves::Forest;
use crate::error::Result;
use crate::memory;
use rayon::prelude::*;

/// Finds leaves.
pub(super) struct LeafIndex<'a> {
    forest: &'a Forest,
    /// Of each leaf, the Morton code of its lower corner at the finest level.
    codes: Vec<u64>,
    /// The first leaf of each tree, and the number of leaves.
    first: Vec<usize>,
}

impl<'a> LeafIndex<'a> {
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn new(forest: &'a Forest) -> Result<Self> {
        let leaves = forest.leaves();
        let mut codes = memory::zeros(leaves.len())?;
        codes.par_iter_mut().zip(leaves).for_each(|(code, leaf)| *code = leaf.corner_code(forest.dim()));
        let first = |tree: usize| leaves.partition_point(|leaf| (leaf.tree as usize) < tree);
        Ok(Self { forest, codes, first: (0..=forest.coarse().cells()).map(first).collect() })
    }

    /// The leaf that is this cell, if there is one.
    pub fn find(&self, cell: &Cell) -> Option<usize> {
        let [begin, end] = [0, 1].map(|next| self.first[cell.tree as usize + next]);
        let at = self.codes[begin..end].binary_search(&cell.corner_code(self.forest.dim())).ok()?;
        (self.forest.leaves()[begin + at].level == cell.level).then_some(begin + at)
    }
}

impl Forest {
    /// The cell of the same level across a face, and its face there; none at the boundary.
    pub(super) fn across_face(&self, cell: &Cell, face: usize) -> Option<(Cell, usize)> {
        let (dim, normal, n) = (self.dim(), face / 2, 1 << cell.level);
        let mut anchor = cell.anchor;
        let next = anchor[normal].checked_add_signed(if face.is_multiple_of(2) { -1 } else { 1 });
        if let Some(next) = next.filter(|&next| next < n) {
            anchor[normal] = next;
            return Some((Cell { anchor, ..*cell }, face ^ 1));
        }
        // The middle of the face, in halves of the cell's edges.
        let mut middle = [0, 1, 2].map(|d| if d < dim { 2 * anchor[d] + 1 } else { 0 });
        middle[normal] = if face.is_multiple_of(2) { 0 } else { 2 * n };
        let mut found = None;
        self.coarse().entities().for_each_image(cell.tree, middle, 2 * n, |tree, x| {
            let across = (0..dim).find(|&d| x[d].is_multiple_of(2));
            if let (Some(d), true) = (across, (tree, x) != (cell.tree, middle)) {
                let anchor = x.map(|x| x.saturating_sub(1) / 2);
                found = Some((Cell { tree, level: cell.level, anchor }, 2 * d + usize::from(x[d] > 0)));
            }
        });
        found
    }
}
