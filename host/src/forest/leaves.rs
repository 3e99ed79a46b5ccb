//! Forests: leaves, and how they are refined and coarsened.

use super::cell::{Cell, max_level, morton_anchor};
use super::coarse::CoarseMesh;
use super::refined::Refined;
use crate::error::{Result, check_length, invalid};
use crate::memory;
use glam::DVec3;
use std::sync::Arc;

/// What is to become of a leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adaptation {
    /// Replaced by its children.
    Refine,
    /// Stays, unless balance refines it.
    Keep,
    /// Replaced by its parent, if its siblings are leaves that all ask for it, and balance allows it.
    Coarsen,
}

/// A quadtree or octree on each cell of a coarse mesh. Leaves that touch, also at a single vertex, also in different trees,
/// differ by one level at most.
#[derive(Clone, Debug)]
pub struct Forest {
    coarse: Arc<CoarseMesh>,
    leaves: Vec<Cell>,
}

impl Forest {
    /// Every tree a single leaf.
    pub fn new(coarse: CoarseMesh) -> Self {
        let leaves = (0..coarse.cells() as u32).map(|tree| Cell { tree, level: 0, anchor: [0; 3] }).collect();
        Self { coarse: Arc::new(coarse), leaves }
    }

    /// The mesh whose cells are the trees.
    pub fn coarse(&self) -> &CoarseMesh {
        &self.coarse
    }

    /// 2 or 3.
    pub fn dim(&self) -> usize {
        self.coarse.dim()
    }

    /// The cells of the mesh, by tree and in Morton order.
    pub fn leaves(&self) -> &[Cell] {
        &self.leaves
    }

    /// Levels that have leaves are below this number.
    pub fn levels(&self) -> usize {
        self.leaves.iter().map(|leaf| usize::from(leaf.level) + 1).max().unwrap_or(0)
    }

    /// Cells of a level of multigrid: leaves of that level and ancestors of finer ones, by tree and in Morton order.
    pub fn cells_of_level(&self, level: u8) -> impl Iterator<Item = Cell> {
        self.leaves.iter().filter_map(move |leaf| {
            let shift = u32::from(leaf.level.checked_sub(level)?);
            let is_first = leaf.anchor.iter().all(|x| x.trailing_zeros() >= shift);
            is_first.then(|| Cell { tree: leaf.tree, level, anchor: leaf.anchor.map(|x| x >> shift) })
        })
    }

    /// Image of a point `x` in `[0, 1]^dim` of a cell, by the map of its tree as [`CoarseMesh::point`] has it.
    pub fn point(&self, cell: &Cell, x: [f64; 3]) -> DVec3 {
        self.coarse.point(cell.tree as usize, cell.in_tree(x))
    }

    /// All leaves replaced by their descendants, so many levels finer.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if leaves would have a level above [`max_level`], or if there
    /// would be `2^32` of them; [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn refine_uniformly(&self, times: usize) -> Result<Self> {
        let dim = self.dim();
        self.check_level(self.levels() - 1 + times)?;
        let children = 1_u64 << (dim * times);
        let count = (self.leaves.len() as u64).checked_mul(children).filter(|&count| count < 1 << 32);
        let Some(count) = count else {
            let value = format!("{} times {children}", self.leaves.len());
            return Err(invalid("the number of cells", value, "below 2^32"));
        };
        memory::check(count * size_of::<Cell>() as u64)?;
        let mut leaves = Vec::with_capacity(count as usize);
        for leaf in &self.leaves {
            leaves.extend((0..children).map(|code| {
                let offset = morton_anchor(dim, code);
                let anchor = [0, 1, 2].map(|d| (leaf.anchor[d] << times) + offset[d]);
                Cell { tree: leaf.tree, level: leaf.level + times as u8, anchor }
            }));
        }
        Ok(Self { coarse: self.coarse.clone(), leaves })
    }

    /// The forest after refinement and coarsening by flags, one for each leaf, and after balance: the smallest balanced
    /// forest that is as fine as the flags ask.
    ///
    /// # Errors
    /// [`Error::SizeMismatch`](crate::Error::SizeMismatch) unless there is a flag for each leaf;
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if leaves would have a level above [`max_level`];
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn adapt(&self, flags: &[Adaptation]) -> Result<Self> {
        check_length("flags", self.leaves.len(), flags.len())?;
        let refine = || {
            let leaves = self.leaves.iter().zip(flags);
            leaves.filter(|(_, flag)| **flag == Adaptation::Refine).map(|(leaf, _)| *leaf)
        };
        if let Some(level) = refine().map(|leaf| usize::from(leaf.level) + 1).max() {
            self.check_level(level)?;
        }
        let mut refined = Refined::above(self.dim(), &self.leaves, |first| self.is_coarsened(first, flags));
        refined.refine(refine());
        refined.balance(self.coarse.entities());
        Ok(Self { coarse: self.coarse.clone(), leaves: refined.leaves(self.coarse.cells())? })
    }

    /// The forest whose finest leaves are replaced by their parents; none if all leaves are roots.
    pub fn coarser(&self) -> Option<Self> {
        let finest = (self.levels() as u8).checked_sub(1).filter(|&level| level > 0)?;
        let parent_or_self = |leaf: &Cell| match leaf.level == finest {
            true if leaf.child_number() == 0 => leaf.parent(),
            true => None,
            false => Some(*leaf),
        };
        Some(Self { coarse: self.coarse.clone(), leaves: self.leaves.iter().filter_map(parent_or_self).collect() })
    }

    /// Number of the boundary at a face of a cell, if the cell has that face at the boundary. Faces are numbered by direction,
    /// the lower one first.
    ///
    /// # Panics
    /// Unless there is such a tree and such a face.
    pub fn boundary(&self, cell: &Cell, face: usize) -> Option<u32> {
        let end = (face as u32 % 2) * ((1 << cell.level) - 1);
        let touches = cell.anchor[face / 2] == end;
        touches.then(|| self.coarse.boundary(cell.tree as usize, face)).flatten()
    }

    /// Whether a first child is followed by all its siblings, and all have the flag.
    fn is_coarsened(&self, first: usize, flags: &[Adaptation]) -> bool {
        let end = first + (1 << self.dim());
        let (Some(family), Some(flags)) = (self.leaves.get(first..end), flags.get(first..end)) else { return false };
        // Between a first and a last child that are leaves, so many leaves can only be the siblings.
        let [first, .., last] = family else { return false };
        first.parent() == last.parent() && flags.iter().all(|flag| *flag == Adaptation::Coarsen)
    }

    fn check_level(&self, level: usize) -> Result<()> {
        let (dim, most) = (self.dim(), max_level(self.dim()));
        if level <= most.into() {
            Ok(())
        } else {
            Err(invalid("level", level, format_args!("at most {most} in {dim}D")))
        }
    }
}
