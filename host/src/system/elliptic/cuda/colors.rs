//! Colors of families and of other cells: those of one color have no node in common.

use super::super::mesh::Mesh;
use super::super::transposed::NONE;
use std::ops::Range;

/// The color of each range of cells, the first that none of their nodes has, range by range.
pub(super) fn colors<'a>(mesh: &Mesh, units: impl Iterator<Item = &'a Range<u32>>) -> Vec<u32> {
    let units: Vec<_> = units.collect();
    let nodes = |unit: usize| units[unit].clone().flat_map(|cell| mesh.cells().of(cell as usize));
    let mut colors = vec![NONE; units.len()];
    // 64 colors, then as many more for those that have none yet.
    let mut first = 0;
    while colors.contains(&NONE) {
        let mut taken = vec![0_u64; mesh.kinds().len()];
        for (unit, color) in colors.iter_mut().enumerate().filter(|(_, color)| **color == NONE) {
            let of_nodes = nodes(unit).fold(0, |taken_here, &node| taken_here | taken[node as usize]);
            let free = of_nodes.trailing_ones();
            if free < u64::BITS {
                *color = first + free;
                nodes(unit).for_each(|&node| taken[node as usize] |= 1 << free);
            }
        }
        first += u64::BITS;
    }
    colors
}
