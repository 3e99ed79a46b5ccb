//! Discontinuous elements: operator cell by cell, smoother and transfers patch by patch.
//!
//! Every cell or patch writes to nodes of its own alone. Kernels serve 2D and 3D: `Z` and `NZ` are the planes that a cell
//! and a patch have in `z`, one of them in 2D.

mod operator;
mod smoother;
mod transfer;

use super::batch::Boxes;
use super::kernels::{Kernels, LatticeKernels};
use super::lanes::Vectorized;
use super::rows::Rows;
use super::sizes::BySize;
use super::sweep::{Shared, Sweep};
use bytemuck::pod_read_unaligned;
use operator::Apply;
use patchmg_device::matrices::{DgCellMatrices, DgTransferMatrices};
use patchmg_device::patch::{DgGrid, Ends};
use patchmg_device::with_degree;
use smoother::{Solve, Vectors};
use std::sync::{Mutex, PoisonError};
use transfer::{Prolongate, Restrict};

/// What kernels of discontinuous elements are made from. Matrices are the bytes of [`patchmg_device::matrices`] for the
/// scalar and the degree, those of a cell size in physical units.
pub struct Discontinuous<T> {
    /// 2 or 3.
    pub dim: usize,
    /// Smoother and transfers need even numbers of cells.
    pub grid: DgGrid,
    /// The entry of `cell` and `vectors` that each direction takes, one for each distinct cell size: on cubes all take
    /// the first one, which then stays in cache. In 2D the last number counts for nothing.
    pub sizes: [usize; 3],
    /// [`DgCellMatrices`].
    pub cell: Vec<Box<[u8]>>,
    /// [`DgTransferMatrices`].
    pub transfer: Box<[u8]>,
    /// `S` of a patch, row by row, for each of [`Ends::ALL`].
    pub vectors: Vec<[Vec<T>; 4]>,
    /// `1 / (λ_i + λ_j [+ λ_l])` of a patch, `i` (of x) fastest, for each combination of the directions' classes of ends,
    /// that of `x` fastest: class 0 touches no end of the domain, class 1 touches one or, in a direction of two cells,
    /// both. Never read, and may be empty: combinations with class 0 in a direction of two cells.
    pub inverse_eigenvalues: Vec<Vec<T>>,
    /// As long as a vector: where `b - A x` goes, before patches or a coarse level take it.
    pub residual: Vec<T>,
}

/// The rows of plane `z`.
fn plane_rows(grid: DgGrid, z: usize) -> Rows {
    Rows { first: grid.offset_3d(0, 0, z), apart: grid.row() }
}

/// Row `y` of all planes.
fn rows_across(grid: DgGrid, y: usize) -> Rows {
    Rows { first: grid.offset_3d(0, y, 0), apart: grid.offset_3d(0, 0, 1) }
}

/// The kernels of a space; `None` for a degree without kernels.
pub fn kernels<T: Vectorized>(space: Discontinuous<T>) -> Option<Box<dyn Kernels<T>>> {
    let degree = space.grid.degree as usize;
    Some(if space.dim == 2 {
        with_degree!(@ degree, K, {
            Box::new(Element::<T, { K + 1 }, { (K + 2) / 2 }, { 2 * K + 2 }, 1, 1>::new(space))
        }, return None, 1 2 3 4 5 6 7 8)
    } else {
        with_degree!(@ degree, K, {
            Box::new(Element::<T, { K + 1 }, { (K + 2) / 2 }, { 2 * K + 2 }, { K + 1 }, { 2 * K + 2 }>::new(space))
        }, return None, 1 2 3 4 5 6 7 8)
    })
}

/// The matrices of discontinuous elements of one dimension and degree: `C = k + 1`, `H = ceil(C / 2)`, `N = 2C`.
struct Element<T, const C: usize, const H: usize, const N: usize, const Z: usize, const NZ: usize> {
    grid: DgGrid,
    cell: BySize<DgCellMatrices<T, C, H>>,
    transfer: DgTransferMatrices<T, N, C, H>,
    /// Of a patch, one for each of [`Ends::ALL`].
    vectors: BySize<[Vectors<T, N>; 4]>,
    /// `1 / (λ_i + λ_j [+ λ_l])` of a patch, for each combination of the directions' [`class`]: eigenvalues at one end are
    /// those at the other.
    inverse_eigenvalues: Vec<Vec<T>>,
    /// `b - A x` of all dofs, before patches or a coarse level take it.
    residual: Mutex<Vec<T>>,
}

/// Ends of a direction with the same eigenvalues. A direction has either patches at one end and between, or one at both.
fn class(ends: Ends) -> usize {
    usize::from(ends != Ends::Neither)
}

impl<T: Vectorized, const C: usize, const H: usize, const N: usize, const Z: usize, const NZ: usize>
    Element<T, C, H, N, Z, NZ>
{
    const DIM: usize = if Z == 1 { 2 } else { 3 };

    fn new(space: Discontinuous<T>) -> Self {
        let Discontinuous { grid, sizes, cell, transfer, vectors, inverse_eigenvalues, residual, .. } = space;
        let vectors = vectors.iter().map(|of_ends| of_ends.each_ref().map(|matrix| Vectors::new(matrix))).collect();
        Self {
            grid,
            cell: BySize::read(&cell, sizes, Self::DIM),
            transfer: pod_read_unaligned(&transfer),
            vectors: BySize::new(vectors, sizes, Self::DIM),
            inverse_eigenvalues,
            residual: Mutex::new(residual),
        }
    }

    /// `cells_each` cells a direction, that tile the domain.
    fn tiling(&self, cells_each: usize) -> Boxes {
        let [x, y, z] = self.grid.cells.map(|cells| cells as usize / cells_each);
        let counts = [x, y, if Self::DIM == 2 { 1 } else { z }];
        Boxes { grid: self.grid, dim: Self::DIM, cells_each, first: [0; 3], step: cells_each, counts }
    }

    /// `y = A x`, or `b - A x`.
    fn operator(&self, sweep: Sweep, b: Option<&[T]>, x: &[T], y: &mut [T]) {
        let matrices = self.cell.by_direction();
        let apply = Apply::<T, C, H, Z> { matrices, grid: self.grid, b, x, y: Shared::new(y) };
        // SAFETY: the vectors are the level's, and the cells all there are.
        unsafe { sweep.run(&self.tiling(1), &apply) };
    }
}

impl<T: Vectorized, const C: usize, const H: usize, const N: usize, const Z: usize, const NZ: usize> LatticeKernels<T>
    for Element<T, C, H, N, Z, NZ>
{
    fn apply(&self, sweep: Sweep, x: &[T], y: &mut [T]) {
        self.operator(sweep, None, x, y);
    }

    fn smooth_color(&self, sweep: Sweep, color: u32, b: &[T], x: &mut [T]) {
        let groups = Boxes::of_color(self.grid, Self::DIM, color);
        if groups.is_empty() {
            return;
        }
        let residual = &mut *self.residual.lock().unwrap_or_else(PoisonError::into_inner);
        // Patches that share a face couple: all take the residual of what was before the color.
        self.operator(sweep, Some(b), x, residual);
        for (ends, patches) in groups {
            let [x_class, y_class, z_class] = ends.map(class);
            let solve = Solve::<T, N, NZ> {
                vectors: core::array::from_fn(|direction| &self.vectors.of(direction)[ends[direction] as usize]),
                inverse_eigenvalues: &self.inverse_eigenvalues[x_class + 2 * y_class + 4 * z_class],
                grid: self.grid,
                residual,
                x: Shared::new(x),
            };
            // SAFETY: the vectors are the level's, and the patches some of a color.
            unsafe { sweep.run(&patches, &solve) };
        }
    }
}

impl<T: Vectorized, const C: usize, const H: usize, const N: usize, const Z: usize, const NZ: usize> Kernels<T>
    for Element<T, C, H, N, Z, NZ>
{
    fn residual(&self, sweep: Sweep, b: &[T], x: &[T], r: &mut [T]) {
        self.operator(sweep, Some(b), x, r);
    }

    fn restrict_residual(&self, sweep: Sweep, b: &[T], x: &[T], coarse: &mut [T]) {
        let residual = &mut *self.residual.lock().unwrap_or_else(PoisonError::into_inner);
        self.operator(sweep, Some(b), x, residual);
        let coarse = Shared::new(coarse);
        let restrict = Restrict::<T, C, H, N, Z, NZ> { matrices: &self.transfer, grid: self.grid, residual, coarse };
        // SAFETY: the vectors are the level's and the coarse level's, and the patches are the tiling.
        unsafe { sweep.run(&self.tiling(2), &restrict) };
    }

    fn prolongate_add(&self, sweep: Sweep, coarse: &[T], x: &mut [T]) {
        let x = Shared::new(x);
        let prolongate = Prolongate::<T, C, H, N, Z, NZ> { matrices: &self.transfer, grid: self.grid, coarse, x };
        // SAFETY: the vectors are the level's and the coarse level's, and the patches are the tiling.
        unsafe { sweep.run(&self.tiling(2), &prolongate) };
    }
}
