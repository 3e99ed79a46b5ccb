//! Between a level and the next coarser one: a patch of the tiling is a cell of the coarse level, and owns its nodes.

use super::rows;
use crate::batch::Batch;
use crate::lanes::{Lanes, Vectorized};
use crate::operator::column;
use crate::sweep::{PatchKernel, Shared};
use crate::workspace::workspace;
use patchmg_device::matrices::DgTransferMatrices;
use patchmg_device::patch::DgGrid;
use pulp::Simd;

/// `coarse = Pᵀ r`.
pub struct Restrict<'a, T, const C: usize, const H: usize, const N: usize, const Z: usize, const NZ: usize> {
    pub matrices: &'a DgTransferMatrices<T, N, C, H>,
    pub grid: DgGrid,
    pub residual: &'a [T],
    pub coarse: Shared<T>,
}

workspace! {
    /// A plane after the contraction along `x`, `[y][x]`; the tensor after those along `x` and `y`, `[z][y][x]`; rows of the
    /// result, `[z][x]`.
    pub struct RestrictWorkspace<V, const C: usize, const N: usize, const Z: usize, const NZ: usize> {
        plane: [[V; C]; N],
        planes: [[[V; C]; C]; NZ],
        result: [[V; C]; Z],
    }
}

impl<T: Vectorized, const C: usize, const H: usize, const N: usize, const Z: usize, const NZ: usize> PatchKernel<T>
    for Restrict<'_, T, C, H, N, Z, NZ>
{
    type Workspace<S: Simd> = RestrictWorkspace<Lanes<S, T>, C, N, Z, NZ>;

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, batch: &Batch, work: &mut Self::Workspace<S>) {
        let (restriction, grid) = (&self.matrices.restriction, self.grid);
        let coarse_grid = grid.coarser();
        for z in 0..NZ {
            for y in 0..N {
                // SAFETY: a patch's nodes are stored.
                let row = unsafe { Lanes::gather(self.residual.as_ptr(), &batch.fine, grid.offset_3d(0, y, z)) };
                work.plane[y] = restriction.apply(&row);
            }
            for x in 0..C {
                let c: [_; C] = restriction.apply(&column(|y| work.plane[y][x]));
                for y in 0..C {
                    work.planes[z][y][x] = c[y];
                }
            }
        }
        for y in 0..C {
            for x in 0..C {
                if Z == 1 {
                    work.result[0][x] = work.planes[0][y][x];
                } else {
                    let c: [_; C] = restriction.apply(&column(|z| work.planes[z % NZ][y][x]));
                    for z in 0..Z {
                        work.result[z][x] = c[z];
                    }
                }
            }
            for z in 0..Z {
                let offset = coarse_grid.offset_3d(0, y, z);
                // SAFETY: a coarse cell is one patch, and has nodes of its own.
                unsafe { rows::put(&work.result[z], self.coarse, batch, &batch.coarse, offset) };
            }
        }
    }
}

/// `x += P coarse`.
pub struct Prolongate<'a, T, const C: usize, const H: usize, const N: usize, const Z: usize, const NZ: usize> {
    pub matrices: &'a DgTransferMatrices<T, N, C, H>,
    pub grid: DgGrid,
    pub coarse: &'a [T],
    pub x: Shared<T>,
}

workspace! {
    /// A plane after the contraction along `x`, `[y][x]`; the tensor after those along `x` and `y`, `[z][y][x]`; rows of the
    /// result, `[z][x]`.
    pub struct ProlongateWorkspace<V, const C: usize, const N: usize, const Z: usize, const NZ: usize> {
        plane: [[V; N]; C],
        planes: [[[V; N]; N]; Z],
        result: [[V; N]; NZ],
    }
}

impl<T: Vectorized, const C: usize, const H: usize, const N: usize, const Z: usize, const NZ: usize> PatchKernel<T>
    for Prolongate<'_, T, C, H, N, Z, NZ>
{
    type Workspace<S: Simd> = ProlongateWorkspace<Lanes<S, T>, C, N, Z, NZ>;

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, batch: &Batch, work: &mut Self::Workspace<S>) {
        let (prolongation, grid) = (&self.matrices.prolongation, self.grid);
        let coarse_grid = grid.coarser();
        for z in 0..Z {
            for y in 0..C {
                let offset = coarse_grid.offset_3d(0, y, z);
                // SAFETY: a coarse cell's nodes are stored.
                let row = unsafe { Lanes::gather(self.coarse.as_ptr(), &batch.coarse, offset) };
                work.plane[y] = prolongation.apply(&row);
            }
            for x in 0..N {
                let c: [_; N] = prolongation.apply(&column(|y| work.plane[y][x]));
                for y in 0..N {
                    work.planes[z][y][x] = c[y];
                }
            }
        }
        for y in 0..N {
            for x in 0..N {
                if Z == 1 {
                    work.result[0][x] = work.planes[0][y][x];
                } else {
                    let c: [_; N] = prolongation.apply(&column(|z| work.planes[z % Z][y][x]));
                    for z in 0..NZ {
                        work.result[z][x] = c[z];
                    }
                }
            }
            for z in 0..NZ {
                // SAFETY: patches of the tiling have nodes of their own.
                unsafe { rows::add(&work.result[z], self.x, batch, &batch.fine, grid.offset_3d(0, y, z)) };
            }
        }
    }
}
