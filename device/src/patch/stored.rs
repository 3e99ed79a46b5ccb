//! Offsets for kernels of plain boxes that also run on boxes with sides.

use super::{Grid, row};

/// A level whose nodes are stored as those of a [plain box](Grid) are, or, if it is sided, all of them, in rows of whole chunks.
#[derive(Clone, Copy)]
pub struct Stored<const SIDED: bool>(pub Grid);

impl<const SIDED: bool> Stored<SIDED> {
    /// From row to row, and rows of a plane.
    #[inline(always)]
    fn pitches(self) -> [u32; 2] {
        let Grid { cells: [x, y, _], degree } = self.0;
        if SIDED { [row(x * degree + 1), y * degree + 1] } else { [x * degree, y * degree] }
    }

    /// From row to row.
    #[inline(always)]
    pub fn row(self) -> usize {
        if SIDED { self.pitches()[0] as usize } else { self.0.row() }
    }

    /// From plane to plane. It fits 32 bits, which saves registers.
    #[inline(always)]
    pub fn plane(self) -> u32 {
        let [row, rows] = self.pitches();
        row * rows
    }

    /// Offset of a node.
    #[inline(always)]
    pub fn offset_3d(self, x: usize, y: usize, z: usize) -> usize {
        let [row, rows] = self.pitches();
        if SIDED { x + row as usize * (y + rows as usize * z) } else { self.0.offset_3d(x, y, z) }
    }

    /// Offset of a node of a patch from the patch's first node. It fits 32 bits, which saves registers.
    #[inline(always)]
    pub fn local_3d(self, x: usize, y: usize, z: usize) -> usize {
        let [row, rows] = self.pitches();
        (x as u32 + row * (y as u32 + rows * z as u32)) as usize
    }

    /// As of [`Grid::remade`].
    #[inline(always)]
    pub fn remade(self) -> Self {
        Self(self.0.remade())
    }
}
