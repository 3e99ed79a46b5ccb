//! `y = A x` and `r = b - A x`, cell by cell: `A = L ⊗ M ⊗ M + M ⊗ L ⊗ M + M ⊗ M ⊗ L` with a block diagonal `M` and a block
//! tridiagonal `L` of each direction (paper 4, equation 9), by sum factorization.
//!
//! What the neighbours add is of rank two in a face's direction ([`DgCellMatrices`]): of each only the value and the normal
//! derivative on the face count, two planes instead of a cell.
//!
//! A constant is in the kernel of `L` between cells: all is done on `x` less its value at the cell's first node, so that rounding
//! is relative to what `x` varies on a cell and its neighbours. What a boundary adds knows the value.

use super::{plane_rows, rows_across};
use crate::batch::{Batch, Offsets};
use crate::lanes::{Lanes, Vectorized};
use crate::lines::{LineMap, Lines, Sum, Times, contract, contract_in_place};
use crate::rows::{self, Put, Rows};
use crate::sweep::{BatchKernel, Shared};
use crate::workspace::workspace;
use patchmg_device::matrices::DgCellMatrices;
use patchmg_device::patch::DgGrid;
use patchmg_device::scalar::{Real, Value};
use pulp::{Simd, WithSimd};

/// All cells.
pub struct Apply<'a, T, const C: usize, const H: usize, const Z: usize> {
    /// In each direction.
    pub matrices: [&'a DgCellMatrices<T, C, H>; 3],
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
    /// lies behind the faces, `[direction][side]`; a plane of the cell after the contraction along `x` with `M`, then of the
    /// result, and with `L`.
    pub struct Workspace<V, const C: usize, const Z: usize> {
        mass: [[[V; C]; C]; Z],
        stiffness: [[[V; C]; C]; Z],
        faces: [[[[[V; C]; C]; 2]; 2]; 3],
        boundary: [[[V; C]; C]; 2],
        plane: [[V; C]; C],
        stiffness_plane: [[V; C]; C],
    }
}

/// Half the outward normal derivative, and the value, at the end of a line that `side` says.
#[derive(Clone, Copy)]
struct Trace<'a, T, const C: usize> {
    normal: &'a [T; C],
    side: usize,
}

impl<T: Real, const C: usize> LineMap<T, 1, C, 2> for Trace<'_, T, C> {
    #[inline(always)]
    fn map<V: Value<T>>(&self, [x]: &[[V; C]; 1]) -> [V; 2] {
        let node = |t: usize| if self.side == 0 { x[t] } else { x[C - 1 - t] };
        let mut derivative = V::scale(self.normal[0], node(0));
        for t in 1..C {
            derivative = V::fma(self.normal[t], node(t), derivative);
        }
        [derivative, node(0)]
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
    /// As for [`BatchKernel::run`].
    #[inline(always)]
    unsafe fn load<S: Simd>(&self, cells: &Offsets, shift: &Lanes<S, T>, nodes: &mut Cell<Lanes<S, T>, C, Z>) {
        for z in 0..Z {
            let place = plane_rows(self.grid, z);
            // SAFETY: a cell's nodes are stored.
            unsafe { rows::load(self.x.as_ptr(), cells, place, shift, &mut nodes[z]) };
        }
    }

    /// Writes rows of the batch, or what they leave of `b`.
    ///
    /// # Safety
    /// As for [`BatchKernel::run`].
    #[inline(always)]
    unsafe fn store<S: Simd>(&self, batch: &Batch, plane: &[[Lanes<S, T>; C]; C], place: Rows) {
        let zero = Lanes::ZERO;
        let put = self.b.map_or(Put::Shifted(&zero), Put::Residual);
        // SAFETY: cells have nodes of their own, and `b` is as long as `y`.
        unsafe { rows::store(plane, put, self.y, batch, &batch.fine, place) };
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
    fn trace<S: Simd>(
        &self,
        cell: &Cell<Lanes<S, T>, C, Z>,
        direction: usize,
        side: usize,
        face: &mut Face<Lanes<S, T>, C>,
    ) {
        let trace = Trace { normal: &self.matrices[direction].normal, side };
        for q in 0..Self::planes(direction) {
            let from: Lines<C> = match direction {
                0 => Lines { first: q * C * C, step: 1, apart: C, count: C },
                1 => Lines { first: q * C * C, step: C, apart: 1, count: C },
                _ => Lines::across(q, C, C),
            };
            let to = Lines::<2> { first: q * C, step: C * C, apart: 1, count: C };
            let cell = cell.as_flattened().as_flattened();
            contract(trace, [cell], from, face.as_flattened_mut().as_flattened_mut(), to);
        }
    }

    /// Adds to the lines of a tensor in a direction what lies behind the two faces that they end on, in their row `q`.
    #[inline(always)]
    fn add_faces<S: Simd>(
        &self,
        tensor: &mut [Lanes<S, T>],
        lines: Lines<C>,
        direction: usize,
        faces: &[[Face<Lanes<S, T>, C>; 2]; 3],
        q: usize,
    ) {
        assert!(lines.end() <= tensor.len() && lines.count == C && q < C);
        let (normal, faces) = (&self.matrices[direction].normal, &faces[direction]);
        Lanes::<S, T>::vectorize::<C, _>(&mut AddFaces { normal, tensor, lines, faces, q });
    }

    /// `M` along `p` (x) of the planes of a y- or z-face, and along `q` (y) of a z-face.
    #[inline(always)]
    fn contract_face<S: Simd>(&self, face: &mut Face<Lanes<S, T>, C>, is_z: bool) {
        let [along_x, along_y, _] = self.matrices.map(|matrices| Times(&matrices.mass));
        for plane in face {
            contract_in_place(along_x, plane.as_flattened_mut(), Lines::<C>::rows(if is_z { C } else { Z }));
            if is_z {
                contract_in_place(along_y, plane.as_flattened_mut(), Lines::<C>::columns(C));
            }
        }
    }
}

struct AddFaces<'a, S: Simd, T: Vectorized, const C: usize> {
    normal: &'a [T; C],
    tensor: &'a mut [Lanes<S, T>],
    lines: Lines<C>,
    faces: &'a [Face<Lanes<S, T>, C>; 2],
    q: usize,
}

impl<S: Simd, T: Vectorized, const C: usize> WithSimd for &mut AddFaces<'_, S, T, C> {
    type Output = ();

    #[inline(always)]
    fn with_simd<Same: Simd>(self, _: Same) {
        let AddFaces { normal, lines, faces: [lower, upper], q, .. } = *self;
        let tensor = &mut *self.tensor;
        for p in 0..C {
            let place = |t: usize| lines.first + p * lines.apart + t * lines.step;
            let mut line = [Lanes::ZERO; C];
            for t in 0..C {
                line[t] = tensor[place(t)];
            }
            line[0] = line[0] + lower[0][q][p];
            line[C - 1] = line[C - 1] + upper[0][q][p];
            for t in 0..C {
                line[t] = Lanes::fma(normal[t], lower[1][q][p], line[t]);
                line[C - 1 - t] = Lanes::fma(normal[t], upper[1][q][p], line[C - 1 - t]);
            }
            for t in 0..C {
                tensor[place(t)] = line[t];
            }
        }
    }
}

/// Finds what lies behind a face of the cells `work.mass`, for `work.faces`; overwrites `work.stiffness`.
struct LookBehind<'a, 'b, S: Simd, T: Vectorized, const C: usize, const H: usize, const Z: usize> {
    apply: &'a Apply<'b, T, C, H, Z>,
    batch: &'a Batch,
    direction: usize,
    side: usize,
    shift: &'a Lanes<S, T>,
    work: &'a mut Workspace<Lanes<S, T>, C, Z>,
}

impl<S: Simd, T: Vectorized, const C: usize, const H: usize, const Z: usize> WithSimd
    for &mut LookBehind<'_, '_, S, T, C, H, Z>
{
    type Output = ();

    #[inline(always)]
    fn with_simd<Same: Simd>(self, _: Same) {
        let LookBehind { apply, batch, direction, side, shift, .. } = *self;
        let Workspace { mass: own, stiffness: neighbor, faces, boundary, .. } = &mut *self.work;
        let face = &mut faces[direction][side];
        // SAFETY: the caller's of the kernel.
        unsafe { apply.load(&apply.neighbors(batch, direction, side), shift, neighbor) };
        apply.trace(neighbor, direction, 1 - side, face);
        let [derivatives, values] = face;
        let [penalty] = apply.matrices[direction].penalty;
        let planes = Apply::<T, C, H, Z>::planes(direction);
        for q in 0..planes {
            for p in 0..C {
                derivatives[q][p] = Lanes::fma(T::ZERO - penalty, values[q][p], derivatives[q][p]);
            }
        }
        let at_boundary = batch.at_end(direction, side);
        if at_boundary != 0 {
            apply.trace(own, direction, side, boundary);
            let (jump, twice) = (Lanes::scale(penalty, *shift), *shift + *shift);
            for q in 0..planes {
                for p in 0..C {
                    derivatives[q][p].replace(jump - boundary[0][q][p], at_boundary);
                    values[q][p].replace(Lanes::ZERO - twice - boundary[1][q][p], at_boundary);
                }
            }
        }
    }
}

impl<T: Vectorized, const C: usize, const H: usize, const Z: usize> BatchKernel<T> for Apply<'_, T, C, H, Z> {
    type Workspace<S: Simd> = Workspace<Lanes<S, T>, C, Z>;

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, batch: &Batch, work: &mut Self::Workspace<S>) {
        let [along_x, along_y, along_z] = self.matrices;
        // SAFETY (this block): the caller's.
        unsafe {
            let [[shift]] = &rows::node(self.x.as_ptr(), &batch.fine, 0);
            self.load(&batch.fine, shift, &mut work.mass);
            for direction in 0..Self::DIM {
                for side in 0..2 {
                    let look = &mut LookBehind { apply: self, batch, direction, side, shift, work };
                    Lanes::<S, T>::vectorize_apart(look);
                }
            }
        }
        for side in 0..2 {
            self.contract_face(&mut work.faces[1][side], false);
            if Z > 1 {
                self.contract_face(&mut work.faces[2][side], true);
            }
        }
        let Workspace { mass: tensor, stiffness: stiffness_tensor, faces, plane, stiffness_plane, .. } = work;
        let (rows, columns) = (Lines::<C>::rows(C), Lines::<C>::columns(C));
        for z in 0..Z {
            let (cell, stiffness) = (tensor[z].as_flattened(), stiffness_plane.as_flattened_mut());
            contract(Times(&along_x.mass), [cell], rows, plane.as_flattened_mut(), rows);
            contract(Times(&along_x.stiffness), [cell], rows, stiffness, rows);
            self.add_faces(stiffness, rows, 0, faces, z);
            let (m, s) = (plane.as_flattened(), stiffness_plane.as_flattened());
            let (sum, stiffness) = (Sum(&along_y.stiffness, &along_y.mass), stiffness_tensor[z].as_flattened_mut());
            contract(Times(&along_y.mass), [m], columns, tensor[z].as_flattened_mut(), columns);
            contract(sum, [m, s], columns, stiffness, columns);
            self.add_faces(stiffness, columns, 1, faces, z);
        }
        if Z == 1 {
            let place = plane_rows(self.grid, 0);
            // SAFETY: the caller's.
            return unsafe { self.store(batch, &stiffness_tensor[0], place) };
        }
        let tensors = [tensor.as_flattened().as_flattened(), stiffness_tensor.as_flattened().as_flattened()];
        for y in 0..C {
            let (sum, across) = (Sum(&along_z.stiffness, &along_z.mass), Lines::<C>::across(y, C, C));
            contract(sum, tensors, across, plane.as_flattened_mut(), columns);
            self.add_faces(plane.as_flattened_mut(), columns, 2, faces, y);
            let place = rows_across(self.grid, y);
            // SAFETY: the caller's.
            unsafe { self.store(batch, plane, place) };
        }
    }
}
