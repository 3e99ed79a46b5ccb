//! Which cells of a forest are refined: what leaves follow from, and what balance is about.

use super::cell::{Cell, bit, morton_anchor};
use super::entities::Entities;
use crate::error::Result;
use crate::memory;
use rayon::prelude::*;

/// The refined cells of each level, by tree and Morton code, in ascending order.
#[derive(Debug)]
pub(super) struct Refined {
    dim: usize,
    levels: Vec<Vec<(u32, u64)>>,
}

impl Refined {
    /// All ancestors of leaves, except parents of the families that `coarsened` names by the index of their first leaf.
    pub(super) fn above(dim: usize, leaves: &[Cell], coarsened: impl Fn(usize) -> bool) -> Self {
        let mut refined = Self { dim, levels: Vec::new() };
        for (index, leaf) in leaves.iter().enumerate() {
            let mut cell = *leaf;
            // Each refined cell is met once, from its first descendant; so levels are sorted as leaves are.
            while let Some(parent) = cell.parent().filter(|_| cell.child_number() == 0) {
                if cell.level < leaf.level || !coarsened(index) {
                    refined.level(parent.level).push(parent.key(dim));
                }
                cell = parent;
            }
        }
        refined
    }

    /// Refines more cells.
    pub(super) fn refine(&mut self, cells: impl Iterator<Item = Cell>) {
        for cell in cells {
            let key = cell.key(self.dim);
            self.level(cell.level).push(key);
        }
        self.levels.iter_mut().for_each(|cells| cells.par_sort_unstable());
    }

    fn level(&mut self, level: u8) -> &mut Vec<(u32, u64)> {
        let level = usize::from(level);
        if self.levels.len() <= level {
            self.levels.resize_with(level + 1, Vec::new);
        }
        &mut self.levels[level]
    }

    /// The smallest set that contains this one and whose leaves differ by one level at most where they touch.
    ///
    /// All cells of level `m` that touch a refined cell `P` of level `m` must exist, refined or not: otherwise a leaf of a
    /// level below `m` touches the children of `P`. Let `v` be the vertex that `P` has in common with its parent. The cells
    /// around `P` are children of the cells of level `m - 1` around `v`, so those must be refined. They are coarser than `P`:
    /// one pass from fine to coarse is enough.
    pub(super) fn balance(&mut self, entities: &Entities) {
        let dim = self.dim;
        for level in (1..self.levels.len()).rev() {
            let needed = |&(tree, code): &(u32, u64)| {
                let corner = morton_anchor(dim, code).map(|x| x.div_ceil(2));
                let mut needed = Vec::new();
                for_each_cell_around(entities, dim, tree, corner, level as u8 - 1, |cell| needed.push(cell.key(dim)));
                needed
            };
            let needed: Vec<(u32, u64)> = self.levels[level].par_iter().flat_map_iter(needed).collect();
            let coarser = &mut self.levels[level - 1];
            coarser.extend(needed);
            coarser.par_sort_unstable();
            coarser.dedup();
        }
    }

    /// Number of leaves on so many trees.
    fn count(&self, trees: usize) -> usize {
        trees + ((1 << self.dim) - 1) * self.levels.iter().map(Vec::len).sum::<usize>()
    }

    /// The leaves on so many trees, by tree and in Morton order.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub(super) fn leaves(&self, trees: usize) -> Result<Vec<Cell>> {
        memory::check((self.count(trees) * size_of::<Cell>()) as u64)?;
        let mut leaves = Vec::with_capacity(self.count(trees));
        let roots = self.levels.first().map_or(&[][..], Vec::as_slice);
        let is_leaf = |tree: &u32| roots.binary_search(&(*tree, 0)).is_err();
        leaves.extend((0..trees as u32).filter(is_leaf).map(|tree| Cell { tree, level: 0, anchor: [0; 3] }));
        for (level, refined) in self.levels.iter().enumerate() {
            let finer = self.levels.get(level + 1).map_or(&[][..], Vec::as_slice);
            let children = |&(tree, code): &(u32, u64)| {
                let parent = Cell { tree, level: level as u8, anchor: morton_anchor(self.dim, code) };
                let first = finer.partition_point(|&key| key < (tree, code << self.dim));
                let mut finer = finer[first..].iter().peekable();
                (0..1 << self.dim).map(move |number| parent.child(number)).filter(move |child| {
                    let key = child.key(self.dim);
                    finer.next_if(|&&next| next == key).is_none()
                })
            };
            leaves.par_extend(refined.par_iter().flat_map_iter(children));
        }
        leaves.par_sort_unstable_by_key(|leaf| (leaf.tree, leaf.corner_code(self.dim)));
        Ok(leaves)
    }
}

/// Calls `visit` with all cells of a level, on all trees, that have a point of the grid of that level as a vertex.
fn for_each_cell_around(
    entities: &Entities,
    dim: usize,
    tree: u32,
    point: [u32; 3],
    level: u8,
    mut visit: impl FnMut(Cell),
) {
    let n = 1 << level;
    entities.for_each_image(tree, point, n, |tree, x| {
        for side in 0..1_usize << dim {
            // The cell whose corner number `side` is the point.
            let anchor = [0, 1, 2].map(|d| x[d].checked_sub(bit(side, d)).filter(|&x| d >= dim || x < n));
            if let [Some(x), Some(y), Some(z)] = anchor {
                visit(Cell { tree, level, anchor: [x, y, z] });
            }
        }
    });
}
