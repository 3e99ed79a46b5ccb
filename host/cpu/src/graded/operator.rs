//! `y = A x`, tile by tile of two cells a direction: the [operator](crate::operator) with 1D matrices of a cell of size 1, and factors of each cell.
//!
//! Lanes are any tiles of a class, and factors are registers. As there, `A` is applied to `x` less the value at the tile's middle node.

use super::tiles::{Form, Planes, Tile, add_row, multiply};
use crate::batch::{Batch, Offsets, Patches};
use crate::lanes::{Lanes, Vectorized};
use crate::lines::Lines;
use crate::rows::{self, Rows};
use crate::scatter::{ClassRows, Output};
use crate::sweep::BatchKernel;
use crate::workspace::workspace;
use patchmg_device::patch::bit;
use pulp::Simd;

/// One class of the operator.
pub struct Apply<'a, T, const C: usize, const H: usize> {
    pub form: &'a Form<T, C, H>,
    /// Of each direction.
    pub tiles: [&'a [Tile<T>]; 3],
    pub patches: &'a Patches,
    pub class: u32,
    pub x: &'a [T],
    pub output: Output<'a, T>,
}

/// [`Apply`] in 2D.
pub struct Apply2d<'a, T, const C: usize, const H: usize, const N: usize>(pub Apply<'a, T, C, H>);
/// [`Apply`] in 3D.
pub struct Apply3d<'a, T, const C: usize, const H: usize, const N: usize>(pub Apply<'a, T, C, H>);

impl<T: Vectorized, const C: usize, const H: usize> Apply<'_, T, C, H> {
    /// Those of a batch.
    #[inline(always)]
    fn tiles<S: Simd>(&self, batch: &Batch, direction: usize) -> Tile<Lanes<S, T>> {
        Tile::of_lanes(self.tiles[direction], bit(self.class, direction), &batch.places[direction])
    }

    /// The nodes of plane `z` of the tiles of a batch.
    #[inline(always)]
    fn plane<'a>(&self, batch: &'a Batch, z: usize) -> (*const T, &'a Offsets, Rows) {
        let grid = self.patches.grid;
        (self.x.as_ptr(), &batch.fine, Rows { first: grid.offset_3d(0, 0, z), apart: grid.row() })
    }

    #[inline(always)]
    fn rows<'a>(&'a self, batch: &'a Batch) -> ClassRows<'a, T> {
        let (offsets, grid) = (&batch.fine.now, self.patches.grid);
        ClassRows { batch, offsets, grid, class: self.class, output: self.output }
    }
}

impl<T: Vectorized, const C: usize, const H: usize, const N: usize> BatchKernel<T> for Apply2d<'_, T, C, H, N> {
    type Workspace<S: Simd> = Planes<Lanes<S, T>, N>;

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, batch: &Batch, work: &mut Self::Workspace<S>) {
        let tiles = [self.0.tiles(batch, 0), self.0.tiles(batch, 1)];
        // SAFETY (this block): the caller's; a tile's nodes are stored, in the guard if need be.
        unsafe {
            let [[shift]] = &rows::node(self.0.x.as_ptr(), &batch.fine, self.0.patches.middle());
            self.0.form.along_x(&tiles[0], self.0.plane(batch, 0), shift, work);
            let Planes { nodes, mass, stiffness } = work;
            let matrices = [self.0.form.stiffness(&tiles[1]), self.0.form.mass(&tiles[1])];
            let x = [mass.as_flattened(), stiffness.as_flattened()];
            let lines = Lines::<N>::columns(N);
            multiply(matrices, x, lines, nodes.as_flattened_mut(), lines);
            if let Some(vectors) = self.0.form.of_constant(&tiles, shift) {
                nodes.iter_mut().enumerate().for_each(|(y, row)| add_row(&vectors, [y, 0], row));
            }
            self.0.rows(batch).put(nodes, None);
        }
    }
}

workspace! {
    /// Planes; the tensor after the contractions along `x` and `y`, `[z][y][x]`: with `M` in both, and with `S` (of x with `s M`) in
    /// one of them, summed.
    pub struct Workspace3d<V, const N: usize> {
        planes: Planes<V, N>,
        mass_mass: [[[V; N]; N]; N],
        mass_stiffness: [[[V; N]; N]; N],
    }
}

impl<T: Vectorized, const C: usize, const H: usize, const N: usize> BatchKernel<T> for Apply3d<'_, T, C, H, N> {
    type Workspace<S: Simd> = Workspace3d<Lanes<S, T>, N>;

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, batch: &Batch, work: &mut Self::Workspace<S>) {
        let tiles = [self.0.tiles(batch, 0), self.0.tiles(batch, 1), self.0.tiles(batch, 2)];
        let Workspace3d { planes, mass_mass, mass_stiffness } = work;
        // SAFETY: the caller's.
        let [[shift]] = &unsafe { rows::node(self.0.x.as_ptr(), &batch.fine, self.0.patches.middle()) };
        let (along_y, along_z) = (&tiles[1], &tiles[2]);
        for z in 0..N {
            // SAFETY: the caller's; a tile's nodes are stored, in the guard if need be.
            unsafe { self.0.form.along_x(&tiles[0], self.0.plane(batch, z), shift, planes) };
            let (m, s, lines) = (planes.mass.as_flattened(), planes.stiffness.as_flattened(), Lines::<N>::columns(N));
            multiply([self.0.form.mass(along_y)], [m], lines, mass_mass[z].as_flattened_mut(), lines);
            let matrices = [self.0.form.stiffness(along_y), self.0.form.mass(along_y)];
            multiply(matrices, [m, s], lines, mass_stiffness[z].as_flattened_mut(), lines);
        }
        let vectors = self.0.form.of_constant(&tiles, shift);
        for y in 0..N {
            let tensors = [mass_mass.as_flattened().as_flattened(), mass_stiffness.as_flattened().as_flattened()];
            let matrices = [self.0.form.stiffness(along_z), self.0.form.mass(along_z)];
            let (from, to) = (Lines::<N>::across(y, N, N), Lines::<N>::columns(N));
            multiply(matrices, tensors, from, planes.nodes.as_flattened_mut(), to);
            if let Some(vectors) = &vectors {
                planes.nodes.iter_mut().enumerate().for_each(|(z, row)| add_row(vectors, [y, z], row));
            }
            // SAFETY: the caller's.
            unsafe { self.0.rows(batch).put(&planes.nodes, Some(y)) };
        }
    }
}
