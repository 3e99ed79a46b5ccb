//! Levels of continuous elements. Arguments of kernels are those of `patchmg_device::entries`, in that order, each by value.

use super::matrices::Matrices;
use super::smoother::{Corrected, PaperKernels, SmootherKernels};
use super::{LevelKernels, constants};
use crate::backend::Scalar;
use crate::backend::cuda::Vector;
use crate::backend::cuda::gpu::Gpu;
use crate::backend::cuda::launch::{Kernel, Marching, stride_blocks};
use crate::error::Result;
use crate::system::poisson::forms::ContinuousForms;
use cust::sys::CUdeviceptr;
use patchmg_device::kernels::{Module, Operation, PatchKernel};
use patchmg_device::operator::{rows, tile::Tile};
use patchmg_device::patch::{Grid, bit, color_count};
use patchmg_device::point;
use patchmg_device::scalar::Real;
use patchmg_device::transfer::restriction;
use std::sync::Arc;

/// Cells or patches that a block marches through at most, in 2D and in 3D.
const LONGEST_CHUNK: [u32; 2] = [64, 32];

/// LevelKernels of one space and scalar, and what they take.
pub(super) struct Continuous<T: Scalar> {
    dim: usize,
    grid: Grid,
    apply: Marching,
    /// `y = A x` for an `x` in `f32`, in 3D and `f64` alone.
    apply_rounded: Option<Marching>,
    residual: Marching,
    /// Norms of the residual, in 3D and `f64` alone.
    residual_norms: Option<Marching>,
    restrict_residual: Marching,
    prolongate_add: Kernel,
    point_gauss_seidel: Kernel,
    matrices: Matrices,
    smoother: SmootherKernels<T>,
    /// Rows of the 1D matrices, for point Gauss-Seidel.
    point_rows: Vector<T>,
}

impl<T: Scalar> Continuous<T> {
    pub fn new(gpu: &Arc<Gpu>, forms: &ContinuousForms, choice: PatchKernel) -> Result<Self> {
        let (dim, degree) = (forms.dim(), forms.degree());
        let module = Module::PoissonCg { dim, degree };
        let (grid, longest) = (forms.grid(), LONGEST_CHUNK[dim - 2]);
        // No solve launches all of them.
        let kernel = |operation| Kernel::new(gpu, module, module.kernel::<T>(operation), constants);
        let operator = |operation| {
            let blocks = move |chunk| operator_blocks(dim, grid, chunk, size_of::<T>());
            Marching::new(kernel(operation), longest.min(grid.cells[dim - 1]), blocks)
        };
        let in_double = |operation| (dim == 3 && T::NAME == f64::NAME).then(|| operator(operation));
        let strip = restriction::strip(dim, degree);
        let along = longest.min(strip.along(grid, strip.direction()));
        let restrict = kernel(Operation::RestrictResidual);
        let restrict_residual = Marching::new(restrict, along, move |chunk| strip.blocks(grid, chunk, 0));
        Ok(Self {
            dim,
            grid,
            matrices: Matrices::new::<T>(forms)?,
            apply: operator(Operation::Apply),
            apply_rounded: in_double(Operation::ApplyRounded),
            residual: operator(Operation::Residual),
            residual_norms: in_double(Operation::ResidualNorms),
            restrict_residual,
            prolongate_add: kernel(Operation::ProlongateAdd),
            point_gauss_seidel: kernel(Operation::PointGaussSeidel),
            smoother: SmootherKernels::new(gpu, forms, choice)?,
            point_rows: Vector::uploaded(gpu, &point_rows(forms))?,
        })
    }

    /// One color by kernels of paper 1.
    ///
    /// # Safety
    /// `b` and `x` are vectors of the level.
    unsafe fn smooth_variant(
        &self,
        gpu: &Gpu,
        variant: &PaperKernels<T>,
        color: u32,
        [b, x]: [CUdeviceptr; 2],
    ) -> Result<()> {
        let pointer = |vector: &Option<Vector<T>>| vector.as_ref().map_or(0, Vector::pointer);
        let (table, inverse, r) = (variant.table.pointer(), pointer(&variant.inverse), pointer(&variant.residual));
        if variant.is_global {
            // SAFETY: three vectors of the level; a global smoother has its residual.
            unsafe { self.residual(gpu, b, x, r)? };
        }
        for kernel in &variant.kernels {
            let (blocks, vectors) = (self.color_blocks(kernel, color), [table, inverse, b, r, x]);
            // SAFETY: tables as long as the kernels of the list take them, vectors of the level; what is null is not used.
            unsafe { kernel.launch_on_vectors(gpu, blocks, None, &vectors, self.grid.cells, &[color])? };
        }
        Ok(())
    }

    /// Blocks for a color of patches.
    fn color_blocks(&self, kernel: &Kernel, color: u32) -> [u32; 3] {
        let cells = self.grid.cells;
        blocks(self.dim, kernel.spec().patches, |direction| color_count(cells[direction], bit(color, direction)))
    }
}

impl<T: Scalar> LevelKernels for Continuous<T> {
    unsafe fn apply(&self, gpu: &Gpu, x: CUdeviceptr, y: CUdeviceptr) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { self.apply.launch(gpu, &self.matrices.operator, &[x, y], self.grid.cells) }
    }

    unsafe fn apply_rounded(&self, gpu: &Gpu, x: CUdeviceptr, y: CUdeviceptr) -> Result<bool> {
        let Some(kernel) = &self.apply_rounded else { return Ok(false) };
        // SAFETY: the caller's promise.
        unsafe { kernel.launch(gpu, &self.matrices.operator, &[x, y], self.grid.cells)? };
        Ok(true)
    }

    unsafe fn residual(&self, gpu: &Gpu, b: CUdeviceptr, x: CUdeviceptr, r: CUdeviceptr) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { self.residual.launch(gpu, &self.matrices.operator, &[b, x, r], self.grid.cells) }
    }

    unsafe fn residual_norms(
        &self,
        gpu: &Gpu,
        b: CUdeviceptr,
        x: CUdeviceptr,
        norms: CUdeviceptr,
    ) -> Result<Option<usize>> {
        let Some(kernel) = &self.residual_norms else { return Ok(None) };
        let parts = kernel.blocks(gpu)?.into_iter().product::<u32>() as usize;
        if parts > self.grid.storage(self.dim) {
            return Ok(None);
        }
        // SAFETY: the caller's promise; there is room for a number a block.
        unsafe { kernel.launch(gpu, &self.matrices.operator, &[b, x, norms], self.grid.cells)? };
        Ok(Some(parts))
    }

    unsafe fn smooth_color(&self, gpu: &Gpu, color: u32, b: CUdeviceptr, x: CUdeviceptr) -> Result<()> {
        match &self.smoother {
            SmootherKernels::Register { kernel, table, .. } => {
                let (blocks, matrices) = (self.color_blocks(kernel, color), Some(&*self.matrices.smoother));
                let vectors = [table.pointer(), b, x];
                // SAFETY: the caller's promise; the table is `table_words` long.
                unsafe { kernel.launch_on_vectors(gpu, blocks, matrices, &vectors, self.grid.cells, &[color]) }
            }
            // SAFETY: the caller's promise.
            SmootherKernels::Paper1(variant) => unsafe { self.smooth_variant(gpu, variant, color, [b, x]) },
        }
    }

    unsafe fn point_gauss_seidel(&self, gpu: &Gpu, b: CUdeviceptr, x: CUdeviceptr, reverse: bool) -> Result<()> {
        let (kernel, rows) = (&self.point_gauss_seidel, self.point_rows.pointer());
        let colors = point::colors(self.dim, self.grid.degree as usize);
        for index in 0..colors {
            let color = if reverse { colors - 1 - index } else { index };
            let class = |direction| point::Class::of(self.grid, color, direction).count;
            let dofs = (0..self.dim as u32).map(class).product();
            let Some(blocks) = stride_blocks(dofs, kernel.spec().threads, u32::MAX) else { continue };
            // SAFETY: the caller's promise; a thread for every dof of the color.
            unsafe { kernel.launch_on_vectors(gpu, blocks, None, &[rows, b, x], self.grid.cells, &[color])? };
        }
        Ok(())
    }

    unsafe fn restrict_residual(&self, gpu: &Gpu, b: CUdeviceptr, x: CUdeviceptr, coarse: CUdeviceptr) -> Result<()> {
        let (march, grid) = (&self.restrict_residual, self.grid);
        let chunk = march.chunk(gpu)?;
        let (strip, matrices) = (restriction::strip(self.dim, grid.degree as usize), Some(&*self.matrices.restriction));
        // The classes in the order in which they write and add.
        for class in 0..strip.classes() {
            let (blocks, vectors) = (strip.blocks(grid, chunk, class), [b, x, coarse]);
            // SAFETY: the caller's promise.
            unsafe { march.kernel.launch_on_vectors(gpu, blocks, matrices, &vectors, grid.cells, &[class, chunk])? };
        }
        Ok(())
    }

    unsafe fn prolongate_add(&self, gpu: &Gpu, coarse: CUdeviceptr, x: CUdeviceptr) -> Result<()> {
        let (kernel, matrices) = (&self.prolongate_add, Some(&*self.matrices.prolongation));
        let blocks = blocks(self.dim, kernel.spec().patches, |direction| self.grid.cells[direction] / 2);
        // SAFETY: the caller's promise.
        unsafe { kernel.launch_on_vectors(gpu, blocks, matrices, &[coarse, x], self.grid.cells, &[]) }
    }

    unsafe fn prolongate_and_smooth_first(
        &self,
        gpu: &Gpu,
        coarse: CUdeviceptr,
        b: CUdeviceptr,
        x: CUdeviceptr,
    ) -> Result<bool> {
        let SmootherKernels::Register { table, corrected: Some(corrected), .. } = &self.smoother else {
            return Ok(false);
        };
        let (Corrected { edges, first }, cells) = (&**corrected, self.grid.cells);
        // Of rows there are those between coarse cells.
        let count = |direction: usize| cells[direction] / 2 - u32::from(direction > 0);
        let (blocks, matrices) = (blocks(self.dim, edges.spec().patches, count), &*self.matrices.prolongation);
        // SAFETY: the caller's promise.
        unsafe { edges.launch_on_vectors(gpu, blocks, Some(matrices), &[coarse, x], cells, &[])? };
        let (blocks, matrices) = (self.color_blocks(first, 0), &*self.matrices.first_step);
        let vectors = [table.pointer(), coarse, b, x];
        // SAFETY: the caller's promise; the table is `table_words` long.
        unsafe { first.launch_on_vectors(gpu, blocks, Some(matrices), &vectors, cells, &[])? };
        Ok(true)
    }

    fn smoother(&self) -> &[Kernel] {
        self.smoother.kernels()
    }
}

/// The table of [`point`].
fn point_rows<T: Scalar>(forms: &ContinuousForms) -> Vec<T> {
    (0..forms.dim()).flat_map(|direction| forms.along(direction).point_rows::<T>()).collect()
}

/// Grid of blocks for `count(direction)` patches, `patches` of a block side by side in x.
fn blocks(dim: usize, patches: u32, count: impl Fn(usize) -> u32) -> [u32; 3] {
    [count(0).div_ceil(patches), count(1), if dim == 3 { count(2) } else { 1 }]
}

/// Of the operator, in chunks of so many cells.
fn operator_blocks(dim: usize, grid: Grid, chunk: u32, scalar_bytes: usize) -> [u32; 3] {
    let degree = grid.degree as usize;
    if dim == 2 {
        rows::strip(degree).blocks(grid, chunk, 0)
    } else {
        Tile::of(degree, scalar_bytes).blocks(grid, chunk)
    }
}

#[cfg(test)]
mod tests {
    use super::super::parameters::check;
    use super::*;
    use crate::mesh::Mesh;
    use crate::space::Space;
    use patchmg_device::smoother::table_words;

    #[test]
    fn blocks_cover_the_patches_once() {
        assert_eq!(blocks(2, 3, |direction| [7, 5][direction]), [3, 5, 1]);
        assert_eq!(blocks(3, 4, |direction| [8, 2, 3][direction]), [2, 2, 3]);
        assert_eq!(blocks(3, 4, |direction| [8, 0, 3][direction]), [2, 0, 3]);
    }

    fn check_parameters<T: Scalar>(dim: usize, degree: usize) {
        let space = Space::new(Mesh::unit_cube(dim, 1).unwrap(), degree).unwrap();
        let forms = ContinuousForms::new(&space).unwrap();
        let matrices = Matrices::new::<T>(&forms).unwrap();
        assert_eq!(forms.smoother_table::<T>().len(), table_words(dim, degree));
        assert_eq!(point_rows::<T>(&forms).len(), point::table_words(dim, degree));
        let Matrices { smoother, first_step, operator, restriction, prolongation } = &matrices;
        if dim == 2 {
            check::<T>(
                Module::PoissonCg { dim, degree },
                &[
                    (Operation::SmoothFirst, &[first_step.len(), 8, 8, 8, 8, 12]),
                    (Operation::ProlongateEdges, &[prolongation.len(), 8, 8, 12]),
                ],
            );
        }
        if dim == 3 && T::NAME == f64::NAME {
            let rounded = &[operator.len(), 8, 8, 12, 4];
            let norms = &[operator.len(), 8, 8, 8, 12, 4];
            check::<T>(
                Module::PoissonCg { dim, degree },
                &[(Operation::ApplyRounded, rounded), (Operation::ResidualNorms, norms)],
            );
        }
        check::<T>(
            Module::PoissonCg { dim, degree },
            &[
                (Operation::Smooth, &[smoother.len(), 8, 8, 8, 12, 4]),
                (Operation::Apply, &[operator.len(), 8, 8, 12, 4]),
                (Operation::Residual, &[operator.len(), 8, 8, 8, 12, 4]),
                (Operation::RestrictResidual, &[restriction.len(), 8, 8, 8, 12, 4, 4]),
                (Operation::ProlongateAdd, &[prolongation.len(), 8, 8, 12]),
                (Operation::PointGaussSeidel, &[8, 8, 8, 12, 4]),
            ],
        );
    }

    #[test]
    fn arguments_have_the_sizes_of_the_kernels_parameters_and_fit_the_constant_bank() {
        for (dim, degree) in (1..=10).map(|k| (2, k)).chain((1..=8).map(|k| (3, k))) {
            check_parameters::<f32>(dim, degree);
            check_parameters::<f64>(dim, degree);
        }
    }
}
