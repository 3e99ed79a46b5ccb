//! Levels of discontinuous elements. Arguments of kernels are those of `patchmg_device::entries`, in that order, each by
//! value.

use super::gpu::Gpu;
use super::launch::Kernel;
use super::level::{Kernels, bytes, unsupported_degree};
use super::memory::Vector;
use super::modules;
use super::smoother::check_default;
use crate::backend::Scalar;
use crate::error::{Error, Result};
use crate::space::DiscontinuousSpace;
use bytemuck::bytes_of;
use cust::sys::CUdeviceptr;
use patchmg_device::dg::{self, operator::Tile};
use patchmg_device::kernels::{Module, Operation, PatchKernel};
use patchmg_device::patch::{DgGrid, bit, color_count};
use patchmg_device::with_degree;
use std::sync::Arc;

/// Layers of cells that a block of the operator marches through at most, in 2D and in 3D.
const LONGEST_CHUNK: [u32; 2] = [64, 16];

/// Kernels of one space and scalar, and what they take.
pub(super) struct Discontinuous<T: Scalar> {
    dim: usize,
    grid: DgGrid,
    apply: Kernel,
    residual: Kernel,
    solve: Kernel,
    restrict: Kernel,
    prolongate_add: Kernel,
    matrices: Matrices,
    /// Inverse eigenvalues of the patches.
    table: Vector<T>,
    /// `b - A x`, before patches or a coarse level take it: patches that share a face couple, so all those of a color take
    /// the residual of what was before.
    between: Vector<T>,
}

/// The structs of [`patchmg_device::matrices`].
struct Matrices {
    operator: Box<[u8]>,
    solve: Box<[u8]>,
    transfer: Box<[u8]>,
}

impl<T: Scalar> Discontinuous<T> {
    pub fn new(gpu: &Arc<Gpu>, space: &DiscontinuousSpace, choice: PatchKernel) -> Result<Self> {
        check_default(choice)?;
        let (dim, degree) = (space.dim(), space.degree());
        let module = Module::PoissonDg { dim, degree };
        let kernel = |operation| modules::kernel(gpu, module, module.kernel::<T>(operation));
        Ok(Self {
            dim,
            grid: space.grid(),
            matrices: Matrices::new::<T>(space)?,
            apply: kernel(Operation::Apply)?,
            residual: kernel(Operation::Residual)?,
            solve: kernel(Operation::Solve)?,
            restrict: kernel(Operation::Restrict)?,
            prolongate_add: kernel(Operation::ProlongateAdd)?,
            table: Vector::uploaded(gpu, &space.solve_table::<T>())?,
            between: Vector::zeros(gpu, space.grid().storage(dim))?,
        })
    }

    /// The product or the residual.
    ///
    /// # Safety
    /// The kernel takes `vectors` behind the matrices.
    unsafe fn operator(&self, gpu: &Gpu, kernel: &Kernel, vectors: &[CUdeviceptr]) -> Result<()> {
        let tile = Tile::of(self.dim, self.grid.degree as usize);
        let longest = LONGEST_CHUNK[self.dim - 2].min(self.grid.cells);
        let blocks = |chunk| tile.blocks(self.grid, chunk);
        let chunk = kernel.chunk(gpu, longest, blocks);
        // SAFETY: the caller's promise.
        unsafe { self.launch(gpu, kernel, blocks(chunk), &self.matrices.operator, vectors, Some(chunk)) }
    }

    /// A kernel on vectors of the level.
    ///
    /// # Safety
    /// It takes `matrices`, then `vectors`, then cells and a number: a color, or the length of a chunk.
    unsafe fn launch(
        &self,
        gpu: &Gpu,
        kernel: &Kernel,
        blocks: [u32; 3],
        matrices: &[u8],
        vectors: &[CUdeviceptr],
        number: Option<u32>,
    ) -> Result<()> {
        if blocks.contains(&0) {
            return Ok(());
        }
        let mut arguments = vec![matrices];
        arguments.extend(vectors.iter().map(bytes_of));
        arguments.push(bytes_of(&self.grid.cells));
        arguments.extend(number.iter().map(bytes_of));
        // SAFETY: the caller's promise.
        unsafe { kernel.launch(gpu, blocks, &arguments) }
    }

    /// Blocks of a transfer's kernel, for the whole tiling.
    fn tiling(&self, kernel: &Kernel) -> [u32; 3] {
        dg::blocks(self.dim, kernel.spec().patches, |_| self.grid.cells / 2)
    }
}

impl<T: Scalar> Kernels for Discontinuous<T> {
    unsafe fn apply(&self, gpu: &Gpu, x: CUdeviceptr, y: CUdeviceptr) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { self.operator(gpu, &self.apply, &[x, y]) }
    }

    unsafe fn residual(&self, gpu: &Gpu, b: CUdeviceptr, x: CUdeviceptr, r: CUdeviceptr) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { self.operator(gpu, &self.residual, &[b, x, r]) }
    }

    unsafe fn smooth_color(&self, gpu: &Gpu, color: u32, b: CUdeviceptr, x: CUdeviceptr) -> Result<()> {
        let (kernel, r) = (&self.solve, self.between.pointer());
        let count = |direction| color_count(self.grid.cells, bit(color, direction));
        let blocks = dg::blocks(self.dim, kernel.spec().patches, count);
        if blocks.contains(&0) {
            return Ok(());
        }
        // SAFETY: vectors of the level, and its table.
        unsafe {
            self.residual(gpu, b, x, r)?;
            self.launch(gpu, kernel, blocks, &self.matrices.solve, &[self.table.pointer(), r, x], Some(color))
        }
    }

    unsafe fn point_gauss_seidel(&self, _: &Gpu, _: CUdeviceptr, _: CUdeviceptr, _: bool) -> Result<()> {
        Err(Error::Unsupported {
            backend: "cuda",
            what: "space with point Gauss-Seidel",
            asked: "discontinuous".into(),
            available: "continuous".into(),
        })
    }

    unsafe fn restrict_residual(&self, gpu: &Gpu, b: CUdeviceptr, x: CUdeviceptr, coarse: CUdeviceptr) -> Result<()> {
        let (kernel, r) = (&self.restrict, self.between.pointer());
        // SAFETY: the caller's promise; the residual is a vector of the level.
        unsafe {
            self.residual(gpu, b, x, r)?;
            self.launch(gpu, kernel, self.tiling(kernel), &self.matrices.transfer, &[r, coarse], None)
        }
    }

    unsafe fn prolongate_add(&self, gpu: &Gpu, coarse: CUdeviceptr, x: CUdeviceptr) -> Result<()> {
        let kernel = &self.prolongate_add;
        // SAFETY: the caller's promise.
        unsafe { self.launch(gpu, kernel, self.tiling(kernel), &self.matrices.transfer, &[coarse, x], None) }
    }

    fn smoother(&self) -> &[Kernel] {
        std::slice::from_ref(&self.solve)
    }
}

impl Matrices {
    fn new<T: Scalar>(space: &DiscontinuousSpace) -> Result<Self> {
        with_degree!(@ space.degree(), K, {
            Ok(Self {
                operator: bytes(&space.cell_matrices::<T, { K + 1 }, { (K + 1).div_ceil(2) }>()),
                solve: bytes(&space.solve_matrices::<T, { 2 * K + 2 }, { K + 1 }>()),
                transfer: bytes(&space.transfer_matrices::<T, { 2 * K + 2 }, { K + 1 }, { (K + 1).div_ceil(2) }>()),
            })
        }, Err(unsupported_degree(space.degree(), "1 to 8")), 1 2 3 4 5 6 7 8)
    }
}

#[cfg(test)]
mod tests {
    use super::super::parameters::check;
    use super::*;
    use crate::mesh::Mesh;

    fn check_parameters<T: Scalar>(dim: usize, degree: usize) {
        let space = DiscontinuousSpace::new(Mesh::unit_cube(dim, 1).unwrap(), degree).unwrap();
        let Matrices { operator, solve, transfer } = Matrices::new::<T>(&space).unwrap();
        check::<T>(
            Module::PoissonDg { dim, degree },
            &[
                (Operation::Apply, &[operator.len(), 8, 8, 4, 4]),
                (Operation::Residual, &[operator.len(), 8, 8, 8, 4, 4]),
                (Operation::Solve, &[solve.len(), 8, 8, 8, 4, 4]),
                (Operation::Restrict, &[transfer.len(), 8, 8, 4]),
                (Operation::ProlongateAdd, &[transfer.len(), 8, 8, 4]),
            ],
        );
    }

    #[test]
    fn arguments_have_the_sizes_of_the_kernels_parameters_and_fit_the_constant_bank() {
        for degree in DgGrid::DEGREES {
            for dim in [2, 3] {
                check_parameters::<f32>(dim, degree);
                check_parameters::<f64>(dim, degree);
            }
        }
    }
}
