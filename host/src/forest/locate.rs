//! Which leaf has a point.

use super::cell::{Cell, max_level, morton_code};
use super::leaves::Forest;

impl Forest {
    /// Of the leaves of this forest, that with the point `x` in `[0, 1]^dim` of a cell, and where the point is in it: the leaf that
    /// contains the cell, or else one in the cell. The cell may be that of another forest on the same coarse mesh.
    pub fn locate(&self, cell: &Cell, x: [f64; 3]) -> (usize, [f64; 3]) {
        let (dim, finest) = (self.dim(), max_level(self.dim()));
        let shift = u32::from(finest - cell.level);
        // The finest cell that has the point and is in the cell.
        let anchor = [0, 1, 2].map(|d| {
            let (first, cells) = (cell.anchor[d] << shift, 1_u32 << shift);
            if d < dim { first + ((x[d] * f64::from(cells)) as u32).min(cells - 1) } else { 0 }
        });
        let key = (cell.tree, morton_code(dim, anchor));
        let first = |leaf: &Cell| {
            let anchor = leaf.anchor.map(|a| a << (finest - leaf.level));
            (leaf.tree, morton_code(dim, anchor))
        };
        let index = self.leaves().partition_point(|leaf| first(leaf) <= key) - 1;
        let leaf = &self.leaves()[index];
        let levels = f64::from(leaf.level) - f64::from(cell.level);
        let inside = [0, 1, 2].map(|d| {
            let inside = (f64::from(cell.anchor[d]) + x[d]) * 2.0_f64.powf(levels) - f64::from(leaf.anchor[d]);
            if d < dim { inside.clamp(0.0, 1.0) } else { x[d] }
        });
        (index, inside)
    }
}
