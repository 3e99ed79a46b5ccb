//! `y = A x` and `r = b - A x`, patch by patch over the tiling: in 2D `A = S ⊗ M + M ⊗ S` on a patch, in 3D
//! `A = S ⊗ M ⊗ M + M ⊗ S ⊗ M + M ⊗ M ⊗ S`, each factor that of its direction, by sum factorization (two and seven 1D
//! products a column).
//!
//! Constants are in the null space of a patch's `A`: it is applied to `x` less the value at the patch's middle node, so that
//! rounding is relative to what `x` varies on a patch, and the result for a constant is exactly zero. With a reaction it is `s M` of the
//! constant, which is added.

use super::batch::{Batch, Patches};
use super::kernels::add_product;
use super::lanes::{Lanes, Vectorized};
use super::lines::{Lines, Sum, Times, contract};
use super::rows::{self, Rows};
use super::scatter::{ClassRows, Output};
use super::sweep::BatchKernel;
use super::workspace::workspace;
use patchmg_device::matrices::OperatorMatrices;
use pulp::Simd;

/// One class of the operator.
pub struct Apply<'a, T, const N: usize, const C: usize> {
    /// In each direction.
    pub matrices: [&'a OperatorMatrices<T, N, C>; 3],
    /// What a [reaction](super::kernels::Reaction) makes of the constant 1, if there is one.
    pub of_constant: Option<&'a [Vec<T>; 3]>,
    pub patches: &'a Patches,
    pub class: u32,
    pub x: &'a [T],
    pub output: Output<'a, T>,
}

/// [`Apply`] in 2D.
pub struct Apply2d<'a, T, const N: usize, const C: usize>(pub Apply<'a, T, N, C>);
/// [`Apply`] in 3D.
pub struct Apply3d<'a, T, const N: usize, const C: usize>(pub Apply<'a, T, N, C>);

workspace! {
    /// A plane of nodes, then of results, and after the contraction along `x` with `M` and with `S`, `[y][x]`.
    pub struct Planes<V, const N: usize> {
        nodes: [[V; N]; N],
        mass: [[V; N]; N],
        stiffness: [[V; N]; N],
    }
}

impl<T: Vectorized, const N: usize, const C: usize> Apply<'_, T, N, C> {
    /// `M` and `S` times the rows of plane `z` of the patches less `shift`.
    ///
    /// # Safety
    /// As for [`BatchKernel::run`].
    #[inline(always)]
    unsafe fn along_x<S: Simd>(
        &self,
        batch: &Batch,
        z: usize,
        shift: &Lanes<S, T>,
        planes: &mut Planes<Lanes<S, T>, N>,
    ) {
        let (grid, rows) = (self.patches.grid, Lines::<N>::rows(N));
        let Planes { nodes, mass, stiffness } = planes;
        let along_x = self.matrices[0];
        let place = Rows { first: grid.offset_3d(0, 0, z), apart: grid.row() };
        // SAFETY: a patch's nodes are stored, in the guard if need be.
        unsafe { rows::load(self.x.as_ptr(), &batch.fine, place, shift, nodes) };
        contract(Times(&along_x.mass), [nodes.as_flattened()], rows, mass.as_flattened_mut(), rows);
        contract(Times(&along_x.stiffness), [nodes.as_flattened()], rows, stiffness.as_flattened_mut(), rows);
    }

    #[inline(always)]
    fn rows<'a>(&'a self, batch: &'a Batch) -> ClassRows<'a, T> {
        let (offsets, grid) = (&batch.fine.now, self.patches.grid);
        ClassRows { batch, offsets, grid, class: self.class, output: self.output }
    }
}

impl<T: Vectorized, const N: usize, const C: usize> BatchKernel<T> for Apply2d<'_, T, N, C> {
    type Workspace<S: Simd> = Planes<Lanes<S, T>, N>;

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, batch: &Batch, work: &mut Self::Workspace<S>) {
        let [_, along_y, _] = self.0.matrices;
        let columns = Lines::<N>::columns(N);
        // SAFETY (this block): the caller's.
        unsafe {
            let [[shift]] = &rows::node(self.0.x.as_ptr(), &batch.fine, self.0.patches.middle());
            self.0.along_x(batch, 0, shift, work);
            let planes = [work.mass.as_flattened(), work.stiffness.as_flattened()];
            contract(Sum(&along_y.stiffness, &along_y.mass), planes, columns, work.nodes.as_flattened_mut(), columns);
            work.nodes.iter_mut().enumerate().for_each(|(y, row)| add_product(self.0.of_constant, shift, [y, 0], row));
            self.0.rows(batch).put(&work.nodes, None);
        }
    }
}

workspace! {
    /// Planes; the tensor after the contractions along `x` and `y`, `[z][y][x]`: with `M` in both, and with `S` in one of
    /// them, summed.
    pub struct Workspace3d<V, const N: usize> {
        planes: Planes<V, N>,
        mass_mass: [[[V; N]; N]; N],
        mass_stiffness: [[[V; N]; N]; N],
    }
}

impl<T: Vectorized, const N: usize, const C: usize> BatchKernel<T> for Apply3d<'_, T, N, C> {
    type Workspace<S: Simd> = Workspace3d<Lanes<S, T>, N>;

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, batch: &Batch, work: &mut Self::Workspace<S>) {
        let [_, along_y, along_z] = self.0.matrices;
        let Workspace3d { planes, mass_mass, mass_stiffness } = work;
        // SAFETY: the caller's.
        let [[shift]] = &unsafe { rows::node(self.0.x.as_ptr(), &batch.fine, self.0.patches.middle()) };
        let columns = Lines::<N>::columns(N);
        for z in 0..N {
            // SAFETY: the caller's.
            unsafe { self.0.along_x(batch, z, shift, planes) };
            let (m, s) = (planes.mass.as_flattened(), planes.stiffness.as_flattened());
            let sum = Sum(&along_y.stiffness, &along_y.mass);
            contract(Times(&along_y.mass), [m], columns, mass_mass[z].as_flattened_mut(), columns);
            contract(sum, [m, s], columns, mass_stiffness[z].as_flattened_mut(), columns);
        }
        let tensors = [mass_mass.as_flattened().as_flattened(), mass_stiffness.as_flattened().as_flattened()];
        for y in 0..N {
            let lines = Lines::<N>::across(y, N, N);
            let sum = Sum(&along_z.stiffness, &along_z.mass);
            contract(sum, tensors, lines, planes.nodes.as_flattened_mut(), columns);
            planes
                .nodes
                .iter_mut()
                .enumerate()
                .for_each(|(z, row)| add_product(self.0.of_constant, shift, [y, z], row));
            // SAFETY: the caller's.
            unsafe { self.0.rows(batch).put(&planes.nodes, Some(y)) };
        }
    }
}
