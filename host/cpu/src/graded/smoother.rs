//! One color of the multiplicative vertex-patch smoother: `x += R_jᵀ A_j⁻¹ R_j (b - A x)` by the residual on the nodes of a patch, which is a tile of two
//! cells a direction, and fast diagonalization.
//!
//! Lanes are patches of a row along x, so that eigenpairs of x are registers, and those of the other directions numbers.

use super::tiles::{Form, Planes, Tile, add_row, multiply};
use crate::batch::{Batch, Offsets, PatchRows};
use crate::lanes::{Lanes, Vectorized};
use crate::lines::Lines;
use crate::rows::{self, Put, Rows};
use crate::sweep::{BatchKernel, Shared};
use crate::workspace::workspace;
use patchmg_device::patch::{bit, class_patch};
use patchmg_device::scalar::Value;
use pulp::Simd;

/// Eigenpairs of the 1D matrices of a patch with `M = 2k - 1` interior nodes.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Eigenpairs<X, const M: usize> {
    /// `S`, a function in each column, by rows.
    functions: [[X; M]; M],
    /// `λ`.
    values: [X; M],
}

// SAFETY: all fields are made of `X` alone.
unsafe impl<X: bytemuck::Zeroable, const M: usize> bytemuck::Zeroable for Eigenpairs<X, M> {}
// SAFETY: as above, and `repr(C)` over one type has no padding.
unsafe impl<X: bytemuck::Pod, const M: usize> bytemuck::Pod for Eigenpairs<X, M> {}

/// One color.
pub struct Smooth<'a, T, const M: usize, const C: usize, const H: usize> {
    pub form: &'a Form<T, C, H>,
    /// Of all patches of each direction.
    pub tiles: [&'a [Tile<T>]; 3],
    /// Eigenpairs along x, as the element has them.
    pub along_x: &'a [Vec<T>; 2],
    /// Those along y and z.
    pub across: [&'a [Eigenpairs<T, M>]; 2],
    /// See [`Graded::kept`](super::Graded::kept); none if no patch is left out.
    pub kept: Option<&'a [Vec<bool>; 3]>,
    pub patches: &'a PatchRows,
    pub color: u32,
    pub b: &'a [T],
    pub x: Shared<T>,
}

/// [`Smooth`] in 2D.
pub struct Smooth2d<'a, T, const M: usize, const N: usize, const C: usize, const H: usize>(pub Smooth<'a, T, M, C, H>);
/// [`Smooth`] in 3D.
pub struct Smooth3d<'a, T, const M: usize, const N: usize, const C: usize, const H: usize>(pub Smooth<'a, T, M, C, H>);

/// An entry of a matrix: a number that all lanes have, or one of each.
trait Entry<S: Simd, T: Vectorized>: Copy {
    fn times_add(self, x: Lanes<S, T>, sum: Lanes<S, T>) -> Lanes<S, T>;
}

impl<S: Simd, T: Vectorized> Entry<S, T> for T {
    #[inline(always)]
    fn times_add(self, x: Lanes<S, T>, sum: Lanes<S, T>) -> Lanes<S, T> {
        Lanes::fma(self, x, sum)
    }
}

impl<S: Simd, T: Vectorized> Entry<S, T> for Lanes<S, T> {
    #[inline(always)]
    fn times_add(self, x: Self, sum: Self) -> Self {
        Self::times_add(self, x, sum)
    }
}

/// `A x`.
#[inline(always)]
fn times<S: Simd, T: Vectorized, X: Entry<S, T>, const M: usize>(
    matrix: &[[X; M]; M],
    x: &[Lanes<S, T>; M],
) -> [Lanes<S, T>; M] {
    let mut y = [Lanes::ZERO; M];
    for o in 0..M {
        let mut sum = Lanes::ZERO;
        for i in 0..M {
            sum = matrix[o][i].times_add(x[i], sum);
        }
        y[o] = sum;
    }
    y
}

/// `Aᵀ x`.
#[inline(always)]
fn times_transposed<S: Simd, T: Vectorized, X: Entry<S, T>, const M: usize>(
    matrix: &[[X; M]; M],
    x: &[Lanes<S, T>; M],
) -> [Lanes<S, T>; M] {
    let mut y = [Lanes::ZERO; M];
    for o in 0..M {
        let mut sum = Lanes::ZERO;
        for i in 0..M {
            sum = matrix[i][o].times_add(x[i], sum);
        }
        y[o] = sum;
    }
    y
}

impl<T: Vectorized, const M: usize, const C: usize, const H: usize> Smooth<'_, T, M, C, H> {
    /// Rows of a patch from a node on, beside each other in y.
    #[inline(always)]
    fn rows(&self, [x, y, z]: [usize; 3]) -> Rows {
        let grid = self.patches.grid();
        Rows { first: grid.offset_3d(x, y, z), apart: grid.row() }
    }

    /// The tiles of a batch.
    #[inline(always)]
    fn tiles<S: Simd>(&self, batch: &Batch, direction: usize) -> Tile<Lanes<S, T>> {
        Tile::of_lanes(self.tiles[direction], bit(self.color, direction), &batch.places[direction])
    }

    /// The eigenpairs of a batch's patches along x, with [`Self::shift`] added to the eigenvalues.
    ///
    /// # Safety
    /// The batch must be one of the color, with an active patch.
    #[inline(always)]
    unsafe fn load<S: Simd>(&self, batch: &Batch, shift: Lanes<S, T>, eigenpairs: &mut Eigenpairs<Lanes<S, T>, M>) {
        let table = &self.along_x[bit(self.color, 0) as usize];
        let entries: &mut [Lanes<S, T>] = bytemuck::cast_slice_mut(core::slice::from_mut(eigenpairs));
        let lanes = table.len() / entries.len();
        for (entry, value) in entries.iter_mut().enumerate() {
            // SAFETY: a row of the table has whole registers, and batches with active patches begin at such.
            *value = unsafe { Lanes::load(table.as_ptr().add(entry * lanes + batch.places[0][0])) };
        }
        for value in &mut eigenpairs.values {
            *value = *value + shift;
        }
    }

    /// Whether a lane's patch is kept in a direction.
    #[inline(always)]
    fn is_kept(&self, kept: &[Vec<bool>; 3], batch: &Batch, direction: usize, lane: usize) -> bool {
        kept[direction][class_patch(bit(self.color, direction), batch.places[direction][lane])]
    }

    /// What is added to the eigenvalues of a batch's patches: infinity for one that is left out, so that its correction is zero, and zero for others.
    /// `None` if all are left out.
    #[inline(always)]
    fn shift<S: Simd>(&self, dim: usize, batch: &Batch) -> Option<Lanes<S, T>> {
        let mut shift = Lanes::<S, T>::ZERO;
        let is_kept_across_x =
            |kept: &&[Vec<bool>; 3]| (1..dim).all(|direction| self.is_kept(kept, batch, direction, 0));
        let Some(kept) = self.kept.filter(is_kept_across_x) else { return Some(shift) };
        let lanes: &mut [T] = bytemuck::cast_slice_mut(core::slice::from_mut(&mut shift));
        let mut all = true;
        for (lane, shift) in lanes.iter_mut().enumerate().take(batch.active) {
            let is_kept = self.is_kept(kept, batch, 0, lane);
            *shift = T::from_f64(if is_kept { f64::INFINITY } else { 0.0 });
            all &= is_kept;
        }
        (!all).then_some(shift)
    }

    /// The eigenpairs that all of them have in another direction.
    #[inline(always)]
    fn across(&self, batch: &Batch, direction: usize) -> &Eigenpairs<T, M> {
        &self.across[direction - 1][2 * batch.places[direction][0] + bit(self.color, direction) as usize]
    }

    /// The nodes of plane `z` of the patches of a batch.
    #[inline(always)]
    fn plane<'a>(&self, batch: &'a Batch, z: usize) -> (*const T, &'a Offsets, Rows) {
        (self.x.pointer(), &batch.fine, self.rows([0, 0, z]))
    }
}

/// The lines across the interior of a plane's rows, in y or, of a tensor, in z.
#[inline(always)]
const fn interior<const M: usize, const N: usize>(first: usize, step: usize) -> Lines<N> {
    Lines { first: first + 1, step, apart: 1, count: M }
}

/// `residual -= product`, of interior nodes.
#[inline(always)]
fn subtract<S: Simd, T: Vectorized, const M: usize, const N: usize>(
    product: &[Lanes<S, T>; N],
    residual: &mut [Lanes<S, T>; M],
) {
    for i in 0..M {
        residual[i] = residual[i] - product[i + 1];
    }
}

workspace! {
    /// Eigenpairs along x; planes; the residual, `[j][i]`.
    pub struct Workspace2d<V, const M: usize, const N: usize> {
        along_x: Eigenpairs<V, M>,
        planes: Planes<V, N>,
        residual: [[V; M]; M],
    }
}

workspace! {
    /// The same; after the contractions along x and y, `[z][y][x]`, at interior nodes of x alone: with `M` in both, and with `S` (of x with `s M`) in one
    /// of them, summed; the residual, `[l][j][i]`.
    pub struct Workspace3d<V, const M: usize, const N: usize> {
        along_x: Eigenpairs<V, M>,
        planes: Planes<V, N>,
        mass_mass: [[[V; N]; N]; N],
        mass_stiffness: [[[V; N]; N]; N],
        residual: [[[V; M]; M]; M],
    }
}

impl<T: Vectorized, const M: usize, const N: usize, const C: usize, const H: usize> BatchKernel<T>
    for Smooth2d<'_, T, M, N, C, H>
{
    type Workspace<S: Simd> = Workspace2d<Lanes<S, T>, M, N>;

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, batch: &Batch, work: &mut Self::Workspace<S>) {
        if batch.active == 0 {
            return;
        }
        let Some(shift) = self.0.shift(2, batch) else { return };
        let Workspace2d { along_x, planes, residual } = work;
        let (form, along_y) = (self.0.form, self.0.across(batch, 1));
        let tiles = [self.0.tiles(batch, 0), self.0.tiles(batch, 1)];
        // SAFETY: the caller's.
        unsafe { self.0.load(batch, shift, along_x) };
        // SAFETY (this block): the caller's; a patch's nodes are stored, and those that it shares with others of a color are not written.
        let [[middle]] = &unsafe {
            rows::load(self.0.b.as_ptr(), &batch.fine, self.0.rows([1, 1, 0]), &Lanes::ZERO, residual);
            let middle = rows::node(self.0.x.pointer(), &batch.fine, self.0.patches.middle());
            form.along_x(&tiles[0], self.0.plane(batch, 0), &middle[0][0], planes);
            middle
        };
        let Planes { nodes, mass, stiffness } = planes;
        let (matrices, lines) = ([form.stiffness(&tiles[1]), form.mass(&tiles[1])], interior::<M, N>(0, N));
        let products = [mass.as_flattened(), stiffness.as_flattened()];
        multiply(matrices, products, lines, nodes.as_flattened_mut(), lines);
        if let Some(vectors) = form.of_constant(&tiles, middle) {
            nodes.iter_mut().enumerate().for_each(|(y, row)| add_row(&vectors, [y, 0], row));
        }
        for j in 0..M {
            subtract(&nodes[j + 1], &mut residual[j]);
            residual[j] = times_transposed(&along_x.functions, &residual[j]);
        }
        for i in 0..M {
            let mut column = times_transposed(&along_y.functions, &core::array::from_fn(|j| residual[j][i]));
            for j in 0..M {
                column[j] = column[j] / (along_x.values[i] + Lanes::splat(along_y.values[j] + form.reaction));
            }
            let column = times(&along_y.functions, &column);
            for j in 0..M {
                residual[j][i] = column[j];
            }
        }
        for j in 0..M {
            residual[j] = times(&along_x.functions, &residual[j]);
        }
        // SAFETY: patches of a color share no interior node.
        unsafe { rows::store(residual, Put::Add, self.0.x, batch, &batch.fine, self.0.rows([1, 1, 0])) };
    }
}

impl<T: Vectorized, const M: usize, const N: usize, const C: usize, const H: usize> BatchKernel<T>
    for Smooth3d<'_, T, M, N, C, H>
{
    type Workspace<S: Simd> = Workspace3d<Lanes<S, T>, M, N>;

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, batch: &Batch, work: &mut Self::Workspace<S>) {
        if batch.active == 0 {
            return;
        }
        let Some(shift) = self.0.shift(3, batch) else { return };
        let Workspace3d { along_x, planes, mass_mass, mass_stiffness, residual } = work;
        let (form, along_y, along_z) = (self.0.form, self.0.across(batch, 1), self.0.across(batch, 2));
        let tiles = [self.0.tiles(batch, 0), self.0.tiles(batch, 1), self.0.tiles(batch, 2)];
        // SAFETY: the caller's.
        unsafe { self.0.load(batch, shift, along_x) };
        // SAFETY: the caller's; a patch's nodes are stored.
        let [[middle]] = &unsafe { rows::node(self.0.x.pointer(), &batch.fine, self.0.patches.middle()) };
        for z in 0..N {
            // SAFETY: as above; nodes that a patch shares with others of a color are not written.
            unsafe { form.along_x(&tiles[0], self.0.plane(batch, z), middle, planes) };
            let (m, s) = (planes.mass.as_flattened(), planes.stiffness.as_flattened());
            let (lines, sum) = (interior::<M, N>(0, N), mass_stiffness[z].as_flattened_mut());
            multiply([form.mass(&tiles[1])], [m], lines, mass_mass[z].as_flattened_mut(), lines);
            multiply([form.stiffness(&tiles[1]), form.mass(&tiles[1])], [m, s], lines, sum, lines);
        }
        for l in 0..M {
            // SAFETY: as above.
            unsafe {
                let rows = self.0.rows([1, 1, l + 1]);
                rows::load(self.0.b.as_ptr(), &batch.fine, rows, &Lanes::ZERO, &mut residual[l]);
            }
        }
        let vectors = form.of_constant(&tiles, middle);
        for j in 0..M {
            let tensors = [mass_mass.as_flattened().as_flattened(), mass_stiffness.as_flattened().as_flattened()];
            let (matrices, nodes) = ([form.stiffness(&tiles[2]), form.mass(&tiles[2])], &mut planes.nodes);
            let (from, to) = (interior::<M, N>((j + 1) * N, N * N), interior::<M, N>(0, N));
            multiply(matrices, tensors, from, nodes.as_flattened_mut(), to);
            if let Some(vectors) = &vectors {
                nodes.iter_mut().enumerate().for_each(|(z, row)| add_row(vectors, [j + 1, z], row));
            }
            for l in 0..M {
                subtract(&nodes[l + 1], &mut residual[l][j]);
            }
        }
        for plane in residual.iter_mut() {
            for j in 0..M {
                plane[j] = times_transposed(&along_x.functions, &plane[j]);
            }
            for i in 0..M {
                let column = times_transposed(&along_y.functions, &core::array::from_fn(|j| plane[j][i]));
                for j in 0..M {
                    plane[j][i] = column[j];
                }
            }
        }
        for j in 0..M {
            for i in 0..M {
                let mut column = times_transposed(&along_z.functions, &core::array::from_fn(|l| residual[l][j][i]));
                let value = along_x.values[i] + Lanes::splat(along_y.values[j] + form.reaction);
                for l in 0..M {
                    column[l] = column[l] / (value + Lanes::splat(along_z.values[l]));
                }
                let column = times(&along_z.functions, &column);
                for l in 0..M {
                    residual[l][j][i] = column[l];
                }
            }
        }
        for (l, plane) in residual.iter_mut().enumerate() {
            for i in 0..M {
                let column = times(&along_y.functions, &core::array::from_fn(|j| plane[j][i]));
                for j in 0..M {
                    plane[j][i] = column[j];
                }
            }
            for j in 0..M {
                plane[j] = times(&along_x.functions, &plane[j]);
            }
            // SAFETY: patches of a color share no interior node.
            unsafe { rows::store(plane, Put::Add, self.0.x, batch, &batch.fine, self.0.rows([1, 1, l + 1])) };
        }
    }
}
