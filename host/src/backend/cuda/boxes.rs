//! Discontinuous elements by products of small matrices (paper 4): the operator and the solution on patches by a chosen
//! kernel. Arguments of kernels are those of `patchmg_device::entries`, in that order, each by value.

use super::gpu::Gpu;
use super::launch::Kernel;
use super::memory::Vector;
use super::{Cuda, modules};
use crate::backend::Scalar;
use crate::error::{Error, Result};
use crate::space::DiscontinuousSpace;
use bytemuck::{bytes_of, cast_slice};
use cust::sys::CUdeviceptr;
use patchmg_device::kernels::{MatrixMemory, Module, Operation, TensorKernel};
use patchmg_device::patch::{DgGrid, bit, color_count};
use patchmg_device::tensor_core::list::{FULL, Listed, is_patch, listed};
use std::sync::Arc;

/// The kernels of one choice, for boxes of one size, and what they take.
pub struct BoxKernels<T: Scalar> {
    gpu: Arc<Gpu>,
    grid: DgGrid,
    /// Boxes a direction.
    boxes: u32,
    operator: Kernel,
    table: Vector<T>,
    /// `M` and `L` by value, for kernels that take them so.
    constants: Option<Vec<T>>,
    /// On patches, with its table.
    solve: Option<(Kernel, Vector<T>)>,
}

impl Cuda {
    /// Kernels of a choice for a space in 3D, with cells (`k + 1` nodes a direction) or patches (`2(k + 1)`) as boxes.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a choice that there is no kernel for, in this size, scalar, dimension or on this device.
    pub fn box_kernels<T: Scalar>(
        &self,
        space: &DiscontinuousSpace,
        kernel: TensorKernel,
        patchwise: bool,
    ) -> Result<BoxKernels<T>> {
        let (gpu, grid) = (&self.gpu, space.grid());
        let nodes = grid.cell_nodes() * if patchwise { 2 } else { 1 };
        let (asked, available) = (kernel.to_string(), available::<T>(nodes));
        let found = compiled(nodes).find(|listed| listed.kernel == kernel && listed.scalar == T::NAME);
        let Some(listed) = found.filter(|_| space.dim() == 3) else {
            return Err(Error::Unsupported { backend: "cuda", what: "tensor-core kernel", asked, available });
        };
        let module = Module::TensorCore { nodes, hopper: listed.hopper };
        let load = |operation| modules::kernel(gpu, module, module.kernel::<T>(operation));
        let table = converted::<T>(&space.box_table(patchwise));
        let constants = (kernel.matrices == MatrixMemory::Constant).then(|| table[..2 * nodes * nodes].to_vec());
        let solve = if patchwise && is_patch(nodes) && listed.solves(nodes) {
            let table = Vector::uploaded(gpu, &converted::<T>(&space.box_solve_table()))?;
            Some((load(Operation::BoxSolve(kernel))?, table))
        } else {
            None
        };
        Ok(BoxKernels {
            gpu: gpu.clone(),
            grid,
            boxes: (grid.row() / nodes) as u32,
            operator: load(Operation::BoxApply(kernel))?,
            table: Vector::uploaded(gpu, &table)?,
            constants,
            solve,
        })
    }

    /// The choices that [`Self::box_kernels`] takes for boxes of so many nodes a direction.
    pub fn box_choices<T: Scalar>(nodes: usize) -> Vec<TensorKernel> {
        compiled(nodes).filter(|listed| listed.scalar == T::NAME).map(|listed| listed.kernel).collect()
    }
}

/// The kernels of a size that the program has.
fn compiled(nodes: usize) -> impl Iterator<Item = Listed> {
    listed(nodes).into_iter().filter(move |listed| listed.every || FULL.contains(&nodes))
}

fn available<T: Scalar>(nodes: usize) -> String {
    let names: Vec<_> = Cuda::box_choices::<T>(nodes).iter().map(TensorKernel::to_string).collect();
    format!("in 3D, {nodes} nodes, {}: {}", T::NAME, names.join("; "))
}

fn converted<T: Scalar>(values: &[f64]) -> Vec<T> {
    values.iter().map(|&value| T::from_f64(value)).collect()
}

impl<T: Scalar> BoxKernels<T> {
    /// `y = A x`.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] or [`Error::SizeMismatch`] for a vector of another backend or level, and the driver's.
    pub fn apply(&self, x: &Vector<T>, y: &mut Vector<T>) -> Result<()> {
        let (x, y) = (self.address("x", x)?, self.address("y", y)?);
        // SAFETY: vectors of the level, checked.
        unsafe { self.launch_operator([0, x, y]) }
    }

    /// `r = b - A x`.
    ///
    /// # Errors
    /// As for [`Self::apply`].
    pub fn residual(&self, b: &Vector<T>, x: &Vector<T>, r: &mut Vector<T>) -> Result<()> {
        let (b, x, r) = (self.address("b", b)?, self.address("x", x)?, self.address("r", r)?);
        // SAFETY: vectors of the level, checked.
        unsafe { self.launch_operator([b, x, r]) }
    }

    /// `x += A_j⁻¹ r` on the patches of a color.
    ///
    /// # Errors
    /// As for [`Self::apply`], and [`Error::Unsupported`] where the kernels have cells as boxes.
    pub fn solve(&self, color: u32, r: &Vector<T>, x: &mut Vector<T>) -> Result<()> {
        let (r, x) = (self.address("r", r)?, self.address("x", x)?);
        let Some((kernel, table)) = &self.solve else {
            let (asked, available) = (String::from("cells"), String::from("patches"));
            return Err(Error::Unsupported { backend: "cuda", what: "solution on boxes", asked, available });
        };
        let blocks = [0, 1, 2].map(|direction| color_count(self.grid.cells, bit(color, direction)));
        if blocks.contains(&0) {
            return Ok(());
        }
        let table = table.pointer();
        let arguments = [bytes_of(&table), bytes_of(&r), bytes_of(&x), bytes_of(&self.grid.cells), bytes_of(&color)];
        // SAFETY: vectors of the level, checked, and the table of its patches.
        unsafe { kernel.launch(&self.gpu, blocks, &arguments) }
    }

    /// # Safety
    /// `[b, x, y]` are vectors of the level; `b` may be null.
    unsafe fn launch_operator(&self, [b, x, y]: [CUdeviceptr; 3]) -> Result<()> {
        let table = self.table.pointer();
        let mut arguments: Vec<&[u8]> = self.constants.iter().map(|constants| cast_slice(constants)).collect();
        arguments.extend([bytes_of(&table), bytes_of(&b), bytes_of(&x), bytes_of(&y), bytes_of(&self.boxes)]);
        // SAFETY: the caller's promise, and the table of the level.
        unsafe { self.operator.launch(&self.gpu, [self.boxes; 3], &arguments) }
    }

    fn address(&self, what: &'static str, vector: &Vector<T>) -> Result<CUdeviceptr> {
        vector.check(&self.gpu, what, self.grid.storage(3))?;
        Ok(vector.pointer())
    }
}
