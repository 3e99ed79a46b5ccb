//! Between a level and the next coarser one: a patch of the tiling is a cell of the coarse level.
//!
//! With the 1D interpolation `P` from the coarse cell to the patch, restriction contracts with `PᵀM`, `PᵀS` and `PᵀW`
//! (see [`RestrictionMatrices`]), so that the residual `b - A x` is never formed. Constants are in the null space of `PᵀS`: it is
//! applied to `x` less the value at the patch's middle node, as the [operator](super::operator) is. With a reaction `PᵀS` of x has `s PᵀM` in
//! it, and what that makes of the constant is added.

use super::batch::{Batch, Patches};
use super::kernels::add_product;
use super::lanes::{Lanes, Vectorized};
use super::lines::{Lines, Sum, Times, contract};
use super::rows::{self, Rows};
use super::scatter::{ClassRows, Output};
use super::sweep::{BatchKernel, Shared};
use super::workspace::workspace;
use patchmg_device::matrices::{ProlongationMatrices, RestrictionMatrices};
use patchmg_device::patch::Grid;
use patchmg_device::scalar::Value;
use pulp::{Simd, WithSimd};

/// One class of `coarse = Pᵀ (b - A x)`.
pub struct Restrict<'a, T, const N: usize, const C: usize, const H: usize> {
    /// In each direction.
    pub matrices: [&'a RestrictionMatrices<T, N, H>; 3],
    /// What a [reaction](super::kernels::Reaction) makes of the constant 1, if there is one.
    pub of_constant: Option<&'a [Vec<T>; 3]>,
    pub patches: &'a Patches,
    pub class: u32,
    pub b: &'a [T],
    pub x: &'a [T],
    pub coarse: Shared<T>,
}

/// [`Restrict`] in 2D.
pub struct Restrict2d<'a, T, const N: usize, const C: usize, const H: usize>(pub Restrict<'a, T, N, C, H>);
/// [`Restrict`] in 3D.
pub struct Restrict3d<'a, T, const N: usize, const C: usize, const H: usize>(pub Restrict<'a, T, N, C, H>);

workspace! {
    /// A plane of nodes; what the contraction along `x` makes of it with `PᵀM`, `PᵀS` and `PᵀW`, `[y][x]`; the result, and
    /// what of it the load adds.
    pub struct RestrictPlanes<V, const N: usize, const C: usize> {
        nodes: [[V; N]; N],
        mass: [[V; C]; N],
        stiffness: [[V; C]; N],
        transfer: [[V; C]; N],
        image: [[V; C]; C],
        load: [[V; C]; C],
    }
}

impl<V: Copy, const N: usize, const C: usize> RestrictPlanes<V, N, C> {
    /// `load - image` into `load`.
    #[inline(always)]
    fn subtract<T>(&mut self)
    where
        V: Value<T>,
    {
        for (load, image) in self.load.as_flattened_mut().iter_mut().zip(self.image.as_flattened()) {
            *load = *load - *image;
        }
    }
}

impl<T: Vectorized, const N: usize, const C: usize, const H: usize> Restrict<'_, T, N, C, H> {
    #[inline(always)]
    fn rows<'a>(&self, batch: &'a Batch) -> ClassRows<'a, T> {
        let (grid, output) = (self.patches.grid.coarser(), Output::Sum { y: self.coarse });
        ClassRows { batch, offsets: &batch.coarse.now, grid, class: self.class, output }
    }

    /// `PᵀM x`, `PᵀS x` and `PᵀW b` along the rows of plane `z` of the patches, with `x` less `shift`.
    ///
    /// # Safety
    /// As for [`BatchKernel::run`].
    #[inline(always)]
    unsafe fn along_x<S: Simd>(
        &self,
        batch: &Batch,
        z: usize,
        shift: &Lanes<S, T>,
        planes: &mut RestrictPlanes<Lanes<S, T>, N, C>,
    ) {
        let RestrictionMatrices { mass, stiffness, transfer } = self.matrices[0];
        let (grid, from, to) = (self.patches.grid, Lines::<N>::rows(N), Lines::<C>::rows(N));
        let place = Rows { first: grid.offset_3d(0, 0, z), apart: grid.row() };
        let nodes = &mut planes.nodes;
        // SAFETY (this block): a patch's nodes are stored, in the guard if need be.
        unsafe {
            rows::load(self.x.as_ptr(), &batch.fine, place, shift, nodes);
            contract(Times(mass), [nodes.as_flattened()], from, planes.mass.as_flattened_mut(), to);
            contract(Times(stiffness), [nodes.as_flattened()], from, planes.stiffness.as_flattened_mut(), to);
            rows::load(self.b.as_ptr(), &batch.fine, place, &Lanes::ZERO, nodes);
            contract(Times(transfer), [nodes.as_flattened()], from, planes.transfer.as_flattened_mut(), to);
        }
    }
}

impl<T: Vectorized, const N: usize, const C: usize, const H: usize> BatchKernel<T> for Restrict2d<'_, T, N, C, H> {
    type Workspace<S: Simd> = RestrictPlanes<Lanes<S, T>, N, C>;

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, batch: &Batch, work: &mut Self::Workspace<S>) {
        let RestrictionMatrices { mass, stiffness, transfer } = self.0.matrices[1];
        let (from, to) = (Lines::<N>::columns(C), Lines::<C>::columns(C));
        // SAFETY (this block): the caller's.
        unsafe {
            let [[shift]] = &rows::node(self.0.x.as_ptr(), &batch.fine, self.0.patches.middle());
            self.0.along_x(batch, 0, shift, work);
            let (m, s, t) = (work.mass.as_flattened(), work.stiffness.as_flattened(), work.transfer.as_flattened());
            contract(Sum(stiffness, mass), [m, s], from, work.image.as_flattened_mut(), to);
            contract(Times(transfer), [t], from, work.load.as_flattened_mut(), to);
            work.image.iter_mut().enumerate().for_each(|(y, row)| add_product(self.0.of_constant, shift, [y, 0], row));
            work.subtract();
            self.0.rows(batch).put(&work.load, None);
        }
    }
}

workspace! {
    /// Planes; the tensors after the contractions along `x` and `y`, `[z][y][x]`.
    pub struct RestrictWorkspace3d<V, const N: usize, const C: usize> {
        planes: RestrictPlanes<V, N, C>,
        mass_mass: [[[V; C]; C]; N],
        mass_stiffness: [[[V; C]; C]; N],
        transfer: [[[V; C]; C]; N],
    }
}

impl<T: Vectorized, const N: usize, const C: usize, const H: usize> BatchKernel<T> for Restrict3d<'_, T, N, C, H> {
    type Workspace<S: Simd> = RestrictWorkspace3d<Lanes<S, T>, N, C>;

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, batch: &Batch, work: &mut Self::Workspace<S>) {
        let [_, along_y, along_z] = self.0.matrices;
        let planes = &mut work.planes;
        // SAFETY: the caller's.
        let [[shift]] = &unsafe { rows::node(self.0.x.as_ptr(), &batch.fine, self.0.patches.middle()) };
        for z in 0..N {
            // SAFETY: the caller's.
            unsafe { self.0.along_x(batch, z, shift, planes) };
            let (from, to) = (Lines::<N>::columns(C), Lines::<C>::columns(C));
            let (m, s, t) =
                (planes.mass.as_flattened(), planes.stiffness.as_flattened(), planes.transfer.as_flattened());
            let sum = Sum(&along_y.stiffness, &along_y.mass);
            contract(Times(&along_y.mass), [m], from, work.mass_mass[z].as_flattened_mut(), to);
            contract(sum, [m, s], from, work.mass_stiffness[z].as_flattened_mut(), to);
            contract(Times(&along_y.transfer), [t], from, work.transfer[z].as_flattened_mut(), to);
        }
        let images = [work.mass_mass.as_flattened().as_flattened(), work.mass_stiffness.as_flattened().as_flattened()];
        let loads = work.transfer.as_flattened().as_flattened();
        for y in 0..C {
            let (from, to) = (Lines::<N>::across(y, C, C), Lines::<C>::columns(C));
            let sum = Sum(&along_z.stiffness, &along_z.mass);
            contract(sum, images, from, planes.image.as_flattened_mut(), to);
            contract(Times(&along_z.transfer), [loads], from, planes.load.as_flattened_mut(), to);
            planes
                .image
                .iter_mut()
                .enumerate()
                .for_each(|(z, row)| add_product(self.0.of_constant, shift, [y, z], row));
            planes.subtract();
            // SAFETY: the caller's.
            unsafe { self.0.rows(batch).put(&planes.load, Some(y)) };
        }
    }
}

/// `x += P coarse`; a patch owns its nodes but the last of every direction.
pub struct Prolongate<'a, T, const C: usize> {
    pub matrices: &'a ProlongationMatrices<T, C>,
    pub patches: &'a Patches,
    pub coarse: &'a [T],
    pub x: Shared<T>,
}

/// [`Prolongate`] in 2D.
pub struct Prolongate2d<'a, T, const N: usize, const C: usize>(pub Prolongate<'a, T, C>);
/// [`Prolongate`] in 3D.
pub struct Prolongate3d<'a, T, const N: usize, const C: usize>(pub Prolongate<'a, T, C>);

workspace! {
    /// Nodes of the coarse cell, then with those of the patch along `x`, `[y][x]`; nodes of the patch.
    pub struct ProlongatePlanes<V, const N: usize, const C: usize> {
        coarse: [[V; C]; C],
        rows: [[V; N]; C],
        result: [[V; N]; N],
    }
}

impl<T: Vectorized, const C: usize> Prolongate<'_, T, C> {
    /// Plane `z` of the coarse cells, with the patch's nodes along `x`, to `planes.rows`.
    ///
    /// # Safety
    /// As for [`BatchKernel::run`].
    #[inline(always)]
    unsafe fn along_x<S: Simd, const N: usize>(
        &self,
        batch: &Batch,
        z: usize,
        planes: &mut ProlongatePlanes<Lanes<S, T>, N, C>,
    ) {
        let grid = self.patches.grid.coarser();
        let place = Rows { first: grid.offset_3d(0, 0, z), apart: grid.row() };
        let ProlongatePlanes { coarse, rows, .. } = planes;
        // SAFETY: a cell's nodes are stored, in the guard if need be.
        unsafe { rows::load(self.coarse.as_ptr(), &batch.coarse, place, &Lanes::ZERO, coarse) };
        let (from, to) = (Lines::<C>::rows(C), Lines::<N>::rows(C));
        contract(Times(&self.matrices.transfer), [coarse.as_flattened()], from, rows.as_flattened_mut(), to);
    }

    /// Adds to the nodes of a plane that the patches own and that are unknowns. In 2D, `y` is `None`; in 3D, the plane is that
    /// of `y`, and its rows lie behind each other in `z`.
    ///
    /// # Safety
    /// As for [`BatchKernel::run`].
    #[inline(always)]
    unsafe fn add<S: Simd, const N: usize>(&self, batch: &Batch, plane: &[[Lanes<S, T>; N]; N], y: Option<usize>) {
        Lanes::<S, T>::vectorize::<N, _>(&AddOwned { plane, y, batch, grid: self.patches.grid, x: self.x });
    }
}

struct AddOwned<'a, S: Simd, T: Vectorized, const N: usize> {
    plane: &'a [[Lanes<S, T>; N]; N],
    y: Option<usize>,
    batch: &'a Batch,
    grid: Grid,
    x: Shared<T>,
}

impl<S: Simd, T: Vectorized, const N: usize> WithSimd for &AddOwned<'_, S, T, N> {
    type Output = ();

    #[inline(always)]
    fn with_simd<Same: Simd>(self, _: Same) {
        let AddOwned { plane, batch, grid, x, .. } = *self;
        for index in 0..N - 1 {
            let (y, z) = self.y.map_or((index, None), |y| (y, Some(index)));
            let offset = grid.offset_3d(0, y, z.unwrap_or(0));
            let rows = Lanes::transpose(&plane[index]);
            for lane in 0..batch.active {
                let boundary = |direction, node| batch.on_boundary(lane, direction, node, N);
                if boundary(1, y) || z.is_some_and(|z| boundary(2, z)) {
                    continue;
                }
                for node in usize::from(boundary(0, 0))..N - 1 {
                    // SAFETY: the patch owns the node.
                    unsafe {
                        let value = x.pointer().add(batch.fine.now[lane] + offset + node);
                        *value = *value + rows[lane][node];
                    }
                }
            }
        }
    }
}

impl<T: Vectorized, const N: usize, const C: usize> BatchKernel<T> for Prolongate2d<'_, T, N, C> {
    type Workspace<S: Simd> = ProlongatePlanes<Lanes<S, T>, N, C>;

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, batch: &Batch, work: &mut Self::Workspace<S>) {
        let transfer = &self.0.matrices.transfer;
        // SAFETY (this block): the caller's.
        unsafe {
            self.0.along_x(batch, 0, work);
            let (from, to) = (Lines::<C>::columns(N), Lines::<N>::columns(N));
            contract(Times(transfer), [work.rows.as_flattened()], from, work.result.as_flattened_mut(), to);
            self.0.add(batch, &work.result, None);
        }
    }
}

workspace! {
    /// Planes; the tensor after the contractions along `x` and `y`, `[z][y][x]`.
    pub struct ProlongateWorkspace3d<V, const N: usize, const C: usize> {
        planes: ProlongatePlanes<V, N, C>,
        volume: [[[V; N]; N]; C],
    }
}

impl<T: Vectorized, const N: usize, const C: usize> BatchKernel<T> for Prolongate3d<'_, T, N, C> {
    type Workspace<S: Simd> = ProlongateWorkspace3d<Lanes<S, T>, N, C>;

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, batch: &Batch, work: &mut Self::Workspace<S>) {
        let transfer = &self.0.matrices.transfer;
        let ProlongateWorkspace3d { planes, volume } = work;
        for z in 0..C {
            // SAFETY: the caller's.
            unsafe { self.0.along_x(batch, z, planes) };
            let (from, to) = (Lines::<C>::columns(N), Lines::<N>::columns(N));
            contract(Times(transfer), [planes.rows.as_flattened()], from, volume[z].as_flattened_mut(), to);
        }
        for y in 0..N - 1 {
            let (from, to) = (Lines::<C>::across(y, N, N), Lines::<N>::columns(N));
            let volume = volume.as_flattened().as_flattened();
            contract(Times(transfer), [volume], from, planes.result.as_flattened_mut(), to);
            // SAFETY: the caller's.
            unsafe { self.0.add(batch, &planes.result, Some(y)) };
        }
    }
}
