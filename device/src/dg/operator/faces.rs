//! Traces of the cells beside a block's tile: read a layer at a time, and contracted along the last direction.

use super::block::Block;
use super::line::{Behind, Line};
use crate::layout::{Column, Shared};
use crate::scalar::Real;
use cuda_std::shared::Word;

impl<T: Real + Word, const C: usize, const H: usize, const MID: usize> Block<'_, T, C, H, MID> {
    /// What lies behind a face, by the nodes of the cell there from the face on.
    ///
    /// # Safety
    /// `face` and the nodes behind it, `step` apart, are of the vector.
    #[inline(always)]
    unsafe fn trace(&self, face: *const T, step: isize) -> Behind<T> {
        let mut nodes = [T::ZERO; C];
        for t in 0..C {
            // SAFETY: the caller's promise.
            nodes[t] = unsafe { *face.offset(t as isize * step) };
        }
        Line(nodes).seen_from(self.matrices(), 0)
    }

    /// What the cells beside the tile add to it in a layer, not yet contracted.
    ///
    /// # Safety
    /// The layer is one of the grid.
    #[inline(always)]
    pub unsafe fn read_faces(&self, layer: u32) {
        let tile = Self::TILE;
        let (strides, along_x, middle) = (self.strides(), self.along_x(), self.along_middle());
        let plane = |z: usize| (layer as usize * C + z) * strides.column;
        let store = |faces: Shared<T>, count: usize, side: usize, index: usize, pair: Behind<T>| {
            for which in 0..2 {
                faces.set((2 * side + which) * count + index, pair[which]);
            }
        };
        let count = tile.planes() * tile.rows();
        Self::share(2 * count, |task| {
            let (side, index) = (task / count, task % count);
            let (row, z) = (index % tile.rows(), index / tile.rows());
            if !along_x.is_end(side) && (!Self::IS_3D || row < middle.cells * C) {
                let (node, step) = along_x.beside(side, tile.row());
                let row = if Self::IS_3D { (middle.first + row) * strides.row } else { 0 };
                // SAFETY: nodes of the cell beside the tile.
                let pair = unsafe { self.trace(self.x.wrapping_add(node + row + plane(z)), step) };
                store(Self::x_faces(layer), count, side, index, pair);
            }
        });
        if Self::IS_3D {
            let count = tile.planes() * tile.row();
            Self::share(2 * count, |task| {
                let (side, index) = (task / count, task % count);
                let (column, z) = (index % tile.row(), index / tile.row());
                if !middle.is_end(side) && column < along_x.cells * C {
                    let (node, step) = middle.beside(side, tile.rows());
                    let face = node.wrapping_mul(strides.row) + along_x.first + column + plane(z);
                    // SAFETY: as above.
                    let pair = unsafe { self.trace(self.x.wrapping_add(face), step * strides.row as isize) };
                    store(Self::middle_faces(), count, side, index, pair);
                }
            });
        }
    }

    /// `M` along the last direction of `width` lines of each kind on faces.
    #[inline(always)]
    pub fn contract_faces(&self, faces: Shared<T>, width: usize) {
        Self::share(4 * width, |task| {
            let column = Column { start: task / width * (C * width) + task % width, stride: width };
            faces.write(column, &self.matrices().mass.apply::<T, C>(&faces.read::<C>(column)));
        });
    }
}
