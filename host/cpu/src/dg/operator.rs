//! `y = A x` and `r = b - A x`, cell by cell: `A = L ⊗ M ⊗ M + M ⊗ L ⊗ M + M ⊗ M ⊗ L` with a block diagonal `M` and a block
//! tridiagonal `L` (paper 4, equation 9), by sum factorization.
//!
//! What the neighbours add is of rank two in a face's direction ([`DgCellMatrices`]): of each only the value and the normal
//! derivative on the face count, two planes instead of a cell.
//!
//! A constant is in the kernel of `L` between cells: all is done on `x` less its value at the cell's first node, so that rounding
//! is relative to what `x` varies on a cell and its neighbours. What a boundary adds knows the value.

use super::rows;
use crate::batch::{Batch, Offsets};
use crate::lanes::{Lanes, Vectorized};
use crate::operator::column;
use crate::sweep::{PatchKernel, Shared};
use crate::workspace::workspace;
use patchmg_device::matrices::DgCellMatrices;
use patchmg_device::patch::DgGrid;
use patchmg_device::scalar::Value;
use pulp::Simd;

/// All cells.
pub struct Apply<'a, T, const C: usize, const H: usize, const Z: usize> {
    pub matrices: &'a DgCellMatrices<T, C, H>,
    pub grid: DgGrid,
    /// Of the residual.
    pub b: Option<&'a [T]>,
    pub x: &'a [T],
    pub y: Shared<T>,
}

/// Nodes of a cell, `[z][y][x]`.
type Cell<V, const C: usize, const Z: usize> = [[[V; C]; C]; Z];
/// What there is on a face: half a normal derivative or what is added to the nodes there, and a value; `[q][p]`, `p` being
/// the lower of the face's two directions.
type Face<V, const C: usize> = [[[V; C]; C]; 2];

workspace! {
    /// The cell, then contracted with `M`; a neighbour, then the cell contracted with `L` in one direction, summed up; what
    /// lies behind the faces, `[direction][side]`; rows of the result, `[z][x]`.
    pub struct Workspace<V, const C: usize, const Z: usize> {
        mass: [[[V; C]; C]; Z],
        stiffness: [[[V; C]; C]; Z],
        faces: [[[[[V; C]; C]; 2]; 2]; 3],
        boundary: [[[V; C]; C]; 2],
        result: [[V; C]; Z],
    }
}

impl<T: Vectorized, const C: usize, const H: usize, const Z: usize> Apply<'_, T, C, H, Z> {
    const DIM: usize = if Z == 1 { 2 } else { 3 };

    /// Planes of a face in its upper direction.
    const fn planes(direction: usize) -> usize {
        if direction == 2 { C } else { Z }
    }

    /// Cells at these offsets, less `shift`.
    ///
    /// # Safety
    /// As for [`PatchKernel::run`].
    #[inline(always)]
    unsafe fn load<S: Simd>(&self, cells: &Offsets, shift: Lanes<S, T>, nodes: &mut Cell<Lanes<S, T>, C, Z>) {
        for z in 0..Z {
            for y in 0..C {
                // SAFETY: a cell's nodes are stored.
                let row: [_; C] = unsafe { Lanes::gather(self.x.as_ptr(), cells, self.grid.offset_3d(0, y, z)) };
                nodes[z][y] = column(|x| row[x] - shift);
            }
        }
    }

    /// Writes rows `(y, z)` of the batch, or what they leave of `b`.
    ///
    /// # Safety
    /// As for [`PatchKernel::run`].
    #[inline(always)]
    unsafe fn store<S: Simd>(&self, batch: &Batch, row: &[Lanes<S, T>; C], y: usize, z: usize) {
        let offset = self.grid.offset_3d(0, y, z);
        // SAFETY: cells have nodes of their own, and `b` is as long as `y`.
        unsafe {
            let Some(b) = self.b else { return rows::put(row, self.y, batch, &batch.fine, offset) };
            let b: [Lanes<S, T>; C] = Lanes::gather(b.as_ptr(), &batch.fine, offset);
            rows::put(&column::<_, C>(|x| b[x] - row[x]), self.y, batch, &batch.fine, offset);
        }
    }

    /// Cells beside those of a batch; at the end of the domain, themselves.
    #[inline(always)]
    fn neighbors(&self, batch: &Batch, direction: usize, side: usize) -> Offsets {
        let mut node = [0; 3];
        node[direction] = C;
        let step = self.grid.offset_3d(node[0], node[1], node[2]);
        let mut cells = batch.fine;
        for lane in 0..cells.now.len() {
            if (batch.at_end(direction, side) >> lane) & 1 == 0 {
                let own = cells.now[lane];
                cells.now[lane] = if side == 0 { own.wrapping_sub(step) } else { own.wrapping_add(step) };
            }
        }
        cells
    }

    /// Half the outward normal derivative of a cell, and its value, on its lower (0) or upper (1) face.
    #[inline(always)]
    fn trace<V: Value<T>>(&self, cell: &Cell<V, C, Z>, direction: usize, side: usize, face: &mut Face<V, C>) {
        for q in 0..Self::planes(direction) {
            for p in 0..C {
                let node = |t: usize| {
                    let along = if side == 0 { t } else { C - 1 - t };
                    match direction {
                        0 => cell[q % Z][p][along],
                        1 => cell[q % Z][along][p],
                        _ => cell[along % Z][q][p],
                    }
                };
                let mut derivative = V::scale(self.matrices.normal[0], node(0));
                for t in 1..C {
                    derivative = V::fma(self.matrices.normal[t], node(t), derivative);
                }
                face[0][q][p] = derivative;
                face[1][q][p] = node(0);
            }
        }
    }

    /// What lies behind a face of the cells `work.mass`, into `work.faces`; overwrites `work.stiffness`.
    ///
    /// # Safety
    /// As for [`PatchKernel::run`].
    #[inline(always)]
    unsafe fn look_behind<S: Simd>(
        &self,
        batch: &Batch,
        [direction, side]: [usize; 2],
        shift: Lanes<S, T>,
        work: &mut Workspace<Lanes<S, T>, C, Z>,
    ) {
        let Workspace { mass: own, stiffness: neighbor, faces, boundary, .. } = work;
        let face = &mut faces[direction][side];
        // SAFETY: the caller's.
        unsafe { self.load(&self.neighbors(batch, direction, side), shift, neighbor) };
        self.trace(neighbor, direction, 1 - side, face);
        let [derivatives, values] = face;
        let penalty = T::ZERO - self.matrices.penalty[0];
        for q in 0..Self::planes(direction) {
            for p in 0..C {
                derivatives[q][p] = Lanes::fma(penalty, values[q][p], derivatives[q][p]);
            }
        }
        let at_boundary = batch.at_end(direction, side);
        if at_boundary != 0 {
            self.trace(own, direction, side, boundary);
            let [derivatives, values] = face;
            let (jump, twice) = (Lanes::scale(self.matrices.penalty[0], shift), shift + shift);
            for q in 0..Self::planes(direction) {
                for p in 0..C {
                    derivatives[q][p].replace(jump - boundary[0][q][p], at_boundary);
                    values[q][p].replace(Lanes::ZERO - twice - boundary[1][q][p], at_boundary);
                }
            }
        }
    }

    /// Adds to a line of nodes what lies behind the two faces that it ends on.
    #[inline(always)]
    fn add_faces<V: Value<T>>(&self, line: &mut [V; C], faces: &[Face<V, C>; 2], q: usize, p: usize) {
        let [lower, upper] = faces;
        line[0] = line[0] + lower[0][q][p];
        line[C - 1] = line[C - 1] + upper[0][q][p];
        for t in 0..C {
            let normal = self.matrices.normal[t];
            line[t] = V::fma(normal, lower[1][q][p], line[t]);
            line[C - 1 - t] = V::fma(normal, upper[1][q][p], line[C - 1 - t]);
        }
    }

    /// `M` along `p` of a face's planes, and along `q` in 3D of a z-face.
    #[inline(always)]
    fn contract_face<V: Value<T>>(&self, face: &mut Face<V, C>, is_z: bool) {
        let mass = &self.matrices.mass;
        for plane in face {
            for q in 0..if is_z { C } else { Z } {
                plane[q] = mass.apply(&plane[q]);
            }
            for p in 0..if is_z { C } else { 0 } {
                let line: [V; C] = mass.apply(&column(|q| plane[q][p]));
                for q in 0..C {
                    plane[q][p] = line[q];
                }
            }
        }
    }
}

impl<T: Vectorized, const C: usize, const H: usize, const Z: usize> PatchKernel<T> for Apply<'_, T, C, H, Z> {
    type Workspace<S: Simd> = Workspace<Lanes<S, T>, C, Z>;

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, batch: &Batch, work: &mut Self::Workspace<S>) {
        let DgCellMatrices { mass, stiffness, .. } = self.matrices;
        // SAFETY (this block): the caller's.
        unsafe {
            let [shift] = Lanes::gather(self.x.as_ptr(), &batch.fine, 0);
            self.load(&batch.fine, shift, &mut work.mass);
            for direction in 0..Self::DIM {
                for side in 0..2 {
                    self.look_behind(batch, [direction, side], shift, work);
                }
            }
        }
        for side in 0..2 {
            self.contract_face(&mut work.faces[1][side], false);
            if Z > 1 {
                self.contract_face(&mut work.faces[2][side], true);
            }
        }
        for z in 0..Z {
            for y in 0..C {
                let row = work.mass[z][y];
                work.mass[z][y] = mass.apply(&row);
                let mut line = stiffness.apply(&row);
                self.add_faces(&mut line, &work.faces[0], z, y);
                work.stiffness[z][y] = line;
            }
            for x in 0..C {
                let (m, s) = (column(|y| work.mass[z][y][x]), column(|y| work.stiffness[z][y][x]));
                let mm: [_; C] = mass.apply(&m);
                let mut line: [_; C] = stiffness.apply_sum(&m, mass, &s);
                self.add_faces(&mut line, &work.faces[1], z, x);
                for y in 0..C {
                    work.mass[z][y][x] = mm[y];
                    work.stiffness[z][y][x] = line[y];
                }
            }
        }
        for y in 0..C {
            for x in 0..C {
                let (m, s) = (column(|z| work.mass[z % Z][y][x]), column(|z| work.stiffness[z % Z][y][x]));
                if Z == 1 {
                    work.result[0][x] = s[0];
                } else {
                    let mut line: [_; C] = stiffness.apply_sum(&m, mass, &s);
                    self.add_faces(&mut line, &work.faces[2], y, x);
                    for z in 0..Z {
                        work.result[z][x] = line[z];
                    }
                }
            }
            for z in 0..Z {
                // SAFETY: the caller's.
                unsafe { self.store(batch, &work.result[z], y, z) };
            }
        }
    }
}
