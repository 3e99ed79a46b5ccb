//! Contractions of a layer along the lines of the middle direction and of x, in shared memory, in place.

use super::block::Block;
use super::direction::Direction;
use super::line::Line;
use crate::layout::{Column, Shared};
use crate::scalar::Real;
use cuda_std::hint::opaque;
use cuda_std::shared::Word;

/// Lines of a layer in shared memory along one direction.
struct Lines<T> {
    direction: Direction,
    /// Words from node to node.
    stride: usize,
    /// What lies behind the tile's ends: lower derivatives, lower values, upper ones.
    faces: Shared<T>,
    /// Lines of the layer.
    count: usize,
}

impl<T: Real + Word, const C: usize, const H: usize, const MID: usize> Block<'_, T, C, H, MID> {
    /// Along the middle direction `L u + M s`, and `M u`, in place; `M` of the faces in x.
    #[inline(always)]
    pub fn contract_middle(&self, layer: u32) {
        let tile = Self::TILE;
        let (count, faces) = (tile.planes() * tile.row(), Self::middle_faces());
        let lines = Lines { direction: self.along_middle(), stride: tile.pitch(), faces, count };
        Self::share(count, |task| {
            let start = task % tile.row() + task / tile.row() * Self::PLANE;
            self.contract::<true>(&lines, task, start, 0);
        });
        let faces = Self::x_faces(layer);
        Self::share(tile.x_faces() / C, |task| {
            let column = Column { start: task * C, stride: 1 };
            faces.write(column, &self.matrices().mass.apply::<T, C>(&faces.read::<C>(column)));
        });
    }

    /// Along x `L u + M s`, `M` or, in 3D, `s` times the quotient of factors, in place.
    #[inline(always)]
    pub fn contract_x(&self, layer: u32) {
        let tile = Self::TILE;
        let (count, faces) = (tile.planes() * tile.rows(), Self::x_faces(layer));
        let lines = Lines { direction: self.along_x(), stride: 1, faces, count };
        Self::share(count * (tile.cells[0] / tile.run), |task| {
            let (index, run) = (task % count, task / count * tile.run);
            self.contract::<false>(&lines, index, index * tile.pitch(), run);
        });
    }

    /// `L u + M s` of a run of cells from `first` on in line `index`, which begins at word `start`, and along the middle
    /// direction `M u`, in place. Cells outside the domain hold zeros.
    #[inline(always)]
    fn contract<const IS_MIDDLE: bool>(&self, lines: &Lines<T>, index: usize, start: usize, first: usize) {
        let (matrices, u, s) = (self.matrices(), Self::mass(), Self::sum());
        let Lines { direction, stride, faces, count } = *lines;
        let column = |cell: usize| Column { start: start + cell * C * stride, stride };
        let line = |cell: usize| Line(u.read::<C>(column(cell)));
        let behind_end = |side: usize| [0, 1].map(|which| faces.get((2 * side + which) * count + index));
        let mut lower = if first > 0 {
            line(first - 1).seen_from(matrices, 1)
        } else if direction.at_end[0] {
            line(0).at_boundary(matrices, 0)
        } else {
            behind_end(0)
        };
        // Opaque, or the constants of all cells are kept in registers; in degree 6 the loop keeps more of them.
        let is_unrolled = IS_MIDDLE && C == 7 && size_of::<T>() == 8;
        let run = Self::TILE.run;
        for step in 0..if is_unrolled { run } else { opaque(run as u32) as usize } {
            let cell = first + step;
            // Read again as the next cell: it would take too many registers until then.
            let upper = if cell + 1 < direction.cells {
                line(cell + 1).seen_from(matrices, 0)
            } else if direction.at_end[1] {
                line(cell).at_boundary(matrices, 1)
            } else {
                behind_end(1)
            };
            let own = line(cell);
            let mut other = s.read::<C>(column(cell));
            let mass = match (Self::SCALES_MATRICES, IS_MIDDLE) {
                (true, true) => &self.all.mass_middle,
                (true, false) => &self.all.mass_x,
                (false, _) => &matrices.mass,
            };
            // Not in the middle direction, where products with `M` take registers, too.
            if !Self::SCALES_MATRICES && !IS_MIDDLE {
                for node in 0..C {
                    other[node] = self.all.factors[1] * other[node];
                }
            }
            let faces = [lower, upper];
            lower = own.seen_from(matrices, 1);
            // Where registers are few, both products one after the other.
            let is_apart = IS_MIDDLE && C > 7;
            own.contract(matrices, None, Some((mass, &other)), faces, |node, sum, mass| {
                s.set(column(cell).start + node * stride, sum);
                if IS_MIDDLE && !is_apart {
                    u.set(column(cell).start + node * stride, mass);
                }
            });
            if is_apart {
                u.write(column(cell), &matrices.mass.apply::<T, C>(&u.read::<C>(column(cell))));
            }
        }
    }
}
