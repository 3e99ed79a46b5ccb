//! Between a level and the next coarser one: a patch of the tiling is a cell of the coarse level.
//!
//! With the 1D interpolation `P` from the coarse cell to the patch, restriction contracts with `PᵀM`, `PᵀS` and `PᵀW`
//! (see [`RestrictionMatrices`]), so that the residual `b - A x` is never formed. Constants are in the null space of `PᵀS`: it is
//! applied to `x` less the value at the patch's middle node, as the [operator](super::operator) is.

use super::batch::{Batch, Patches};
use super::lanes::{Lanes, Vectorized};
use super::operator::{column, less, middle};
use super::scatter::{ClassRows, Sum};
use super::sweep::{PatchKernel, Shared};
use super::workspace::workspace;
use patchmg_device::matrices::{ProlongationMatrices, RestrictionMatrices};
use patchmg_device::patch::Grid;
use pulp::Simd;

/// One class of `coarse = Pᵀ (b - A x)`.
pub struct Restrict<'a, T, const N: usize, const C: usize, const H: usize> {
    pub matrices: &'a RestrictionMatrices<T, N, H>,
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

/// The level below.
fn coarse_grid(grid: Grid) -> Grid {
    Grid { cells: grid.cells / 2, degree: grid.degree }
}

impl<T: Vectorized, const N: usize, const C: usize, const H: usize> Restrict<'_, T, N, C, H> {
    #[inline(always)]
    fn rows<'a>(&self, batch: &'a Batch) -> ClassRows<'a, Sum<T>> {
        let output = Sum { y: self.coarse };
        ClassRows { batch, offsets: &batch.coarse.now, grid: coarse_grid(self.patches.grid), class: self.class, output }
    }

    /// `PᵀM x`, `PᵀS x` and `PᵀW b` along row `(y, z)` of the patches, with `x` less `shift`.
    ///
    /// # Safety
    /// As for [`PatchKernel::run`].
    #[inline(always)]
    unsafe fn along_x<S: Simd>(&self, batch: &Batch, y: usize, z: usize, shift: Lanes<S, T>) -> [[Lanes<S, T>; C]; 3] {
        let offset = self.patches.grid.offset_3d(0, y, z);
        // SAFETY: a patch's nodes are stored, in the guard if need be.
        let (x, b) =
            unsafe { (less(shift, self.x, batch, offset), Lanes::gather(self.b.as_ptr(), &batch.fine, offset)) };
        let RestrictionMatrices { mass, stiffness, transfer } = self.matrices;
        [mass.apply(&x), stiffness.apply(&x), transfer.apply(&b)]
    }
}

workspace! {
    /// The tensors after the contraction along `x`, `[y][x]`, and the result.
    pub struct RestrictWorkspace2d<V, const N: usize, const C: usize> {
        planes: [[[V; C]; 3]; N],
        result: [[V; C]; C],
    }
}

impl<T: Vectorized, const N: usize, const C: usize, const H: usize> PatchKernel<T> for Restrict2d<'_, T, N, C, H> {
    type Workspace<S: Simd> = RestrictWorkspace2d<Lanes<S, T>, N, C>;

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, batch: &Batch, work: &mut Self::Workspace<S>) {
        let RestrictionMatrices { mass, stiffness, transfer } = self.0.matrices;
        // SAFETY: the caller's.
        let shift = unsafe { middle::<S, T, N>(self.0.x, batch, self.0.patches.grid, 2) };
        for y in 0..N {
            // SAFETY: the caller's.
            work.planes[y] = unsafe { self.0.along_x(batch, y, 0, shift) };
        }
        for x in 0..C {
            let m = column(|y| work.planes[y][0][x]);
            let s = column(|y| work.planes[y][1][x]);
            let t = column(|y| work.planes[y][2][x]);
            let image: [_; C] = stiffness.apply_sum(&m, mass, &s);
            let load: [_; C] = transfer.apply(&t);
            for y in 0..C {
                work.result[y][x] = load[y] - image[y];
            }
        }
        for y in 0..C {
            // SAFETY: the caller's.
            unsafe { self.0.rows(batch).put(&work.result[y], y, None) };
        }
    }
}

workspace! {
    /// A plane after the contraction along `x`, `[y][x]`; the tensors after those along `x` and `y`, `[z][y][x]`; rows of
    /// the result, `[z][x]`.
    pub struct RestrictWorkspace3d<V, const N: usize, const C: usize> {
        planes: [[[V; C]; 3]; N],
        mass_mass: [[[V; C]; C]; N],
        mass_stiffness: [[[V; C]; C]; N],
        transfer: [[[V; C]; C]; N],
        result: [[V; C]; C],
    }
}

impl<T: Vectorized, const N: usize, const C: usize, const H: usize> PatchKernel<T> for Restrict3d<'_, T, N, C, H> {
    type Workspace<S: Simd> = RestrictWorkspace3d<Lanes<S, T>, N, C>;

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, batch: &Batch, work: &mut Self::Workspace<S>) {
        let RestrictionMatrices { mass, stiffness, transfer } = self.0.matrices;
        // SAFETY: the caller's.
        let shift = unsafe { middle::<S, T, N>(self.0.x, batch, self.0.patches.grid, 3) };
        for z in 0..N {
            for y in 0..N {
                // SAFETY: the caller's.
                work.planes[y] = unsafe { self.0.along_x(batch, y, z, shift) };
            }
            for x in 0..C {
                let m = column(|y| work.planes[y][0][x]);
                let s = column(|y| work.planes[y][1][x]);
                let t = column(|y| work.planes[y][2][x]);
                let (mm, ms): ([_; C], [_; C]) = (mass.apply(&m), stiffness.apply_sum(&m, mass, &s));
                let tt: [_; C] = transfer.apply(&t);
                for y in 0..C {
                    work.mass_mass[z][y][x] = mm[y];
                    work.mass_stiffness[z][y][x] = ms[y];
                    work.transfer[z][y][x] = tt[y];
                }
            }
        }
        for y in 0..C {
            for x in 0..C {
                let mm = column(|z| work.mass_mass[z][y][x]);
                let ms = column(|z| work.mass_stiffness[z][y][x]);
                let image: [_; C] = stiffness.apply_sum(&mm, mass, &ms);
                let load: [_; C] = transfer.apply(&column(|z| work.transfer[z][y][x]));
                for z in 0..C {
                    work.result[z][x] = load[z] - image[z];
                }
            }
            for z in 0..C {
                // SAFETY: the caller's.
                unsafe { self.0.rows(batch).put(&work.result[z], y, Some(z)) };
            }
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

impl<T: Vectorized, const C: usize> Prolongate<'_, T, C> {
    /// Row `(y, z)` of the coarse cells.
    ///
    /// # Safety
    /// As for [`PatchKernel::run`].
    #[inline(always)]
    unsafe fn gather<S: Simd>(&self, batch: &Batch, y: usize, z: usize) -> [Lanes<S, T>; C] {
        let offset = coarse_grid(self.patches.grid).offset_3d(0, y, z);
        // SAFETY: a cell's nodes are stored, in the guard if need be.
        unsafe { Lanes::gather(self.coarse.as_ptr(), &batch.coarse, offset) }
    }

    /// Adds to the owned nodes of row `(y, z)` that are unknowns. In 2D, `z` is `None`.
    ///
    /// # Safety
    /// As for [`PatchKernel::run`].
    #[inline(always)]
    unsafe fn add<S: Simd, const N: usize>(&self, batch: &Batch, row: &[Lanes<S, T>; N], y: usize, z: Option<usize>) {
        let offset = self.patches.grid.offset_3d(0, y, z.unwrap_or(0));
        let rows = Lanes::transpose(row);
        for lane in 0..batch.active {
            let boundary = |direction, node| batch.on_boundary(lane, direction, node, N);
            if boundary(1, y) || z.is_some_and(|z| boundary(2, z)) {
                continue;
            }
            let first = usize::from(boundary(0, 0));
            for x in first..N - 1 {
                // SAFETY: the patch owns the node.
                unsafe {
                    let node = self.x.pointer().add(batch.fine.now[lane] + offset + x);
                    *node = *node + rows[lane][x];
                }
            }
        }
    }
}

workspace! {
    /// The result, `[y][x]`.
    pub struct ProlongateWorkspace2d<V, const N: usize, const C: usize> {
        planes: [[V; N]; C],
        result: [[V; N]; N],
    }
}

impl<T: Vectorized, const N: usize, const C: usize> PatchKernel<T> for Prolongate2d<'_, T, N, C> {
    type Workspace<S: Simd> = ProlongateWorkspace2d<Lanes<S, T>, N, C>;

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, batch: &Batch, work: &mut Self::Workspace<S>) {
        let transfer = &self.0.matrices.transfer;
        for y in 0..C {
            // SAFETY: the caller's.
            work.planes[y] = transfer.apply(&unsafe { self.0.gather(batch, y, 0) });
        }
        for x in 0..N {
            let fine: [_; N] = transfer.apply(&column(|y| work.planes[y][x]));
            for y in 0..N {
                work.result[y][x] = fine[y];
            }
        }
        for y in 0..N - 1 {
            // SAFETY: the caller's.
            unsafe { self.0.add(batch, &work.result[y], y, None) };
        }
    }
}

workspace! {
    /// A plane after the contraction along `x`; the tensor after those along `x` and `y`, `[z][y][x]`; rows of the
    /// result, `[z][x]`.
    pub struct ProlongateWorkspace3d<V, const N: usize, const C: usize> {
        planes: [[V; N]; C],
        volume: [[[V; N]; N]; C],
        result: [[V; N]; N],
    }
}

impl<T: Vectorized, const N: usize, const C: usize> PatchKernel<T> for Prolongate3d<'_, T, N, C> {
    type Workspace<S: Simd> = ProlongateWorkspace3d<Lanes<S, T>, N, C>;

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, batch: &Batch, work: &mut Self::Workspace<S>) {
        let transfer = &self.0.matrices.transfer;
        for z in 0..C {
            for y in 0..C {
                // SAFETY: the caller's.
                work.planes[y] = transfer.apply(&unsafe { self.0.gather(batch, y, z) });
            }
            for x in 0..N {
                let fine: [_; N] = transfer.apply(&column(|y| work.planes[y][x]));
                for y in 0..N {
                    work.volume[z][y][x] = fine[y];
                }
            }
        }
        for y in 0..N - 1 {
            for x in 0..N {
                let fine: [_; N] = transfer.apply(&column(|z| work.volume[z][y][x]));
                for z in 0..N {
                    work.result[z][x] = fine[z];
                }
            }
            for z in 0..N - 1 {
                // SAFETY: the caller's.
                unsafe { self.0.add(batch, &work.result[z], y, Some(z)) };
            }
        }
    }
}
