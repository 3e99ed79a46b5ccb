//! Between a level and the next coarser one: a patch of the tiling is a cell of the coarse level, and owns its nodes.

use super::{plane_rows, rows_across};
use crate::batch::Batch;
use crate::lanes::{Lanes, Vectorized};
use crate::lines::{Lines, Times, contract};
use crate::rows::{self, Put};
use crate::sweep::{BatchKernel, Shared};
use crate::workspace::workspace;
use patchmg_device::matrices::DgTransferMatrices;
use patchmg_device::patch::DgGrid;
use patchmg_device::scalar::Value;
use pulp::Simd;

/// `coarse = Pᵀ r`.
pub struct Restrict<'a, T, const C: usize, const H: usize, const N: usize, const Z: usize, const NZ: usize> {
    pub matrices: &'a DgTransferMatrices<T, N, C, H>,
    pub grid: DgGrid,
    pub residual: &'a [T],
    pub coarse: Shared<T>,
}

workspace! {
    /// A plane of nodes, and after the contraction along `x`, `[y][x]`; the tensor after those along `x` and `y`,
    /// `[z][y][x]`; rows of the result, `[z][x]`.
    pub struct RestrictWorkspace<V, const C: usize, const N: usize, const NZ: usize> {
        nodes: [[V; N]; N],
        rows: [[V; C]; N],
        planes: [[[V; C]; C]; NZ],
        result: [[V; C]; C],
    }
}

impl<T: Vectorized, const C: usize, const H: usize, const N: usize, const Z: usize, const NZ: usize> BatchKernel<T>
    for Restrict<'_, T, C, H, N, Z, NZ>
{
    type Workspace<S: Simd> = RestrictWorkspace<Lanes<S, T>, C, N, NZ>;

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, batch: &Batch, work: &mut Self::Workspace<S>) {
        let restriction = Times(&self.matrices.restriction);
        let coarse_grid = self.grid.coarser();
        let RestrictWorkspace { nodes, rows, planes, result } = work;
        for z in 0..NZ {
            // SAFETY: a patch's nodes are stored.
            unsafe { rows::load(self.residual.as_ptr(), &batch.fine, plane_rows(self.grid, z), &Lanes::ZERO, nodes) };
            let (from, to) = (Lines::<N>::rows(N), Lines::<C>::rows(N));
            contract(restriction, [nodes.as_flattened()], from, rows.as_flattened_mut(), to);
            let (from, to) = (Lines::<N>::columns(C), Lines::<C>::columns(C));
            contract(restriction, [rows.as_flattened()], from, planes[z].as_flattened_mut(), to);
        }
        let put = Put::Shifted(&Lanes::ZERO);
        // SAFETY (this block): a coarse cell is one patch, and has nodes of its own.
        unsafe {
            if NZ == 1 {
                return rows::store(&planes[0], put, self.coarse, batch, &batch.coarse, plane_rows(coarse_grid, 0));
            }
            for y in 0..C {
                let tensor = planes.as_flattened().as_flattened();
                let (from, to) = (Lines::<N>::across(y, C, C), Lines::<C>::columns(C));
                contract(restriction, [tensor], from, result.as_flattened_mut(), to);
                rows::store(result, put, self.coarse, batch, &batch.coarse, rows_across(coarse_grid, y));
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
    /// A plane of nodes, and after the contraction along `x`, `[y][x]`; the tensor after those along `x` and `y`,
    /// `[z][y][x]`; rows of the result, `[z][x]`.
    pub struct ProlongateWorkspace<V, const C: usize, const N: usize, const Z: usize> {
        nodes: [[V; C]; C],
        rows: [[V; N]; C],
        planes: [[[V; N]; N]; Z],
        result: [[V; N]; N],
    }
}

impl<T: Vectorized, const C: usize, const H: usize, const N: usize, const Z: usize, const NZ: usize> BatchKernel<T>
    for Prolongate<'_, T, C, H, N, Z, NZ>
{
    type Workspace<S: Simd> = ProlongateWorkspace<Lanes<S, T>, C, N, Z>;

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, batch: &Batch, work: &mut Self::Workspace<S>) {
        let prolongation = Times(&self.matrices.prolongation);
        let coarse_grid = self.grid.coarser();
        let ProlongateWorkspace { nodes, rows, planes, result } = work;
        for z in 0..Z {
            // SAFETY: a coarse cell's nodes are stored.
            unsafe { rows::load(self.coarse.as_ptr(), &batch.coarse, plane_rows(coarse_grid, z), &Lanes::ZERO, nodes) };
            let (from, to) = (Lines::<C>::rows(C), Lines::<N>::rows(C));
            contract(prolongation, [nodes.as_flattened()], from, rows.as_flattened_mut(), to);
            let (from, to) = (Lines::<C>::columns(N), Lines::<N>::columns(N));
            contract(prolongation, [rows.as_flattened()], from, planes[z].as_flattened_mut(), to);
        }
        // SAFETY (this block): patches of the tiling have nodes of their own.
        unsafe {
            if Z == 1 {
                return rows::store(&planes[0], Put::Add, self.x, batch, &batch.fine, plane_rows(self.grid, 0));
            }
            for y in 0..N {
                let tensor = planes.as_flattened().as_flattened();
                let (from, to) = (Lines::<C>::across(y, N, N), Lines::<N>::columns(N));
                contract(prolongation, [tensor], from, result.as_flattened_mut(), to);
                rows::store(result, Put::Add, self.x, batch, &batch.fine, rows_across(self.grid, y));
            }
        }
    }
}
