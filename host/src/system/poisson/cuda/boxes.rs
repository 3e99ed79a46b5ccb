//! Discontinuous elements by products of small matrices (paper 4): the operator on boxes of nodes, and solutions on patches.
//! Arguments of kernels are those of `patchmg_device::entries`, in that order, each by value.

use super::promised;
use crate::backend::Scalar;
use crate::backend::cuda::Vector;
use crate::backend::cuda::gpu::Gpu;
use crate::backend::cuda::launch::Kernel;
use crate::backend::cuda::texture::Texture;
use crate::backend::cuda::{Cuda, modules};
use crate::error::{Error, Result};
use crate::measure::{Protocol, measure};
use crate::space::Space;
use crate::system::poisson::PRODUCTS;
use crate::system::poisson::forms::DiscontinuousForms;
use bytemuck::{bytes_of, cast_slice};
use cust::sys::CUdeviceptr;
use patchmg_device::kernels::{Boxes, MatrixMemory, Module, Operation, Products, TensorKernel};
use patchmg_device::patch::DgGrid;
use patchmg_device::tensor_core::list::{Listed, listed};
use std::sync::Arc;

/// The kernels of one choice, and what they take.
pub(super) struct BoxKernels<T: Scalar> {
    grid: DgGrid,
    /// Boxes in each direction.
    boxes: [u32; 3],
    /// The operator, and the solution on patches.
    kernels: [Kernel; 2],
    table: Vector<T>,
    matrices: Matrices<T>,
    solve_table: Vector<T>,
}

/// `M` and `L`, for kernels that do not read them from the table.
enum Matrices<T> {
    InTable,
    ByValue(Vec<T>),
    Texture(Texture),
}

impl<T: Scalar> Matrices<T> {
    /// Where a kernel takes them from; `table` begins with them.
    fn new(gpu: &Arc<Gpu>, kernel: TensorKernel, nodes: usize, table: &[T]) -> Result<Self> {
        let matrices = &table[..2 * nodes * nodes];
        Ok(match kernel.matrices {
            MatrixMemory::Constant => Self::ByValue(matrices.to_vec()),
            MatrixMemory::Texture => Self::Texture(Texture::new(gpu, cast_slice(matrices))?),
            MatrixMemory::Shared | MatrixMemory::ReadOnly => Self::InTable,
        })
    }

    /// The argument of a kernel.
    fn argument(&self) -> Option<&[u8]> {
        match self {
            Self::InTable => None,
            Self::ByValue(matrices) => Some(cast_slice(matrices)),
            Self::Texture(texture) => Some(bytes_of(texture.handle())),
        }
    }
}

/// An entry point.
struct Entry {
    module: Module,
    operation: Operation,
}

impl<T: Scalar> BoxKernels<T> {
    pub fn new(gpu: &Arc<Gpu>, forms: &DiscontinuousForms, products: Products) -> Result<Self> {
        let [operator, solve] = entries::<T>(gpu, forms.space(), products)?;
        let load = |Entry { module, operation }: Entry| promised(gpu, module, module.kernel::<T>(operation));
        let nodes = products.boxes.nodes(forms.degree());
        let table = converted::<T>(&forms.box_table(products.boxes));
        Ok(Self {
            grid: forms.grid(),
            boxes: [0, 1, 2].map(|direction| (forms.grid().nodes(direction) / nodes) as u32),
            kernels: [load(operator)?, load(solve)?],
            matrices: Matrices::new(gpu, products.kernel, nodes, &table)?,
            table: Vector::uploaded(gpu, &table)?,
            solve_table: Vector::uploaded(gpu, &converted::<T>(&forms.box_solve_table()))?,
        })
    }

    /// `y = A x`, or `y = b - A x` if `b` is not null.
    ///
    /// # Safety
    /// `[b, x, y]` are vectors of the level; `b` may be null.
    pub unsafe fn operator(&self, gpu: &Gpu, [b, x, y]: [CUdeviceptr; 3]) -> Result<()> {
        let vectors = [self.table.pointer(), b, x, y];
        let matrices = self.matrices.argument();
        // SAFETY: the caller's promise, and the table of the level.
        unsafe { self.kernels[0].launch_on_vectors(gpu, self.boxes, matrices, &vectors, self.boxes, &[]) }
    }

    /// `x += A_j⁻¹ r` on the patches of a color.
    ///
    /// # Safety
    /// Vectors of the level, and as many patches of the color in each direction.
    pub unsafe fn solve(&self, gpu: &Gpu, patches: [u32; 3], color: u32, [r, x]: [CUdeviceptr; 2]) -> Result<()> {
        let vectors = [self.solve_table.pointer(), r, x];
        // SAFETY: the caller's promise, and the table of its patches.
        unsafe { self.kernels[1].launch_on_vectors(gpu, patches, None, &vectors, self.grid.cells, &[color]) }
    }

    /// Those of a color, in their order.
    pub fn smoother(&self) -> &[Kernel] {
        &self.kernels
    }
}

impl Cuda {
    /// `y = A x` by a kernel on `boxes` boxes a direction, of `nodes` nodes a direction each, which need not be those of a
    /// degree. `table` is in the order of [`DiscontinuousForms::box_table`].
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a kernel that there is not; [`Error::SizeMismatch`] unless `table` has
    /// `2 nodes² + 5 nodes + 2` entries, `x` and `y` `(nodes boxes)³`; the driver's.
    pub fn box_operator<T: Scalar>(
        &self,
        kernel: TensorKernel,
        [nodes, boxes]: [usize; 2],
        table: &[T],
        x: &Vector<T>,
        y: &mut Vector<T>,
    ) -> Result<()> {
        let gpu = &self.gpu;
        let Some(module) = find::<T>(gpu, nodes, kernel) else {
            let names: Vec<_> = available::<T>(gpu, nodes).map(|listed| listed.kernel.to_string()).collect();
            let available = format!("{nodes} nodes, {}: {}", T::NAME, names.join("; "));
            return Err(Error::Unsupported { backend: "cuda", what: PRODUCTS, asked: kernel.to_string(), available });
        };
        let (expected, length) = (nodes * (2 * nodes + 5) + 2, (nodes * boxes).pow(3));
        if table.len() != expected {
            return Err(Error::SizeMismatch { what: "table of a box", expected, found: table.len() });
        }
        x.check(gpu, "x", length)?;
        y.check(gpu, "y", length)?;
        let entry = promised(gpu, module, module.kernel::<T>(Operation::BoxApply(kernel)))?;
        let matrices = Matrices::new(gpu, kernel, nodes, table)?;
        let (table, boxes) = (Vector::uploaded(gpu, table)?, boxes as u32);
        let vectors = [table.pointer(), 0, x.pointer(), y.pointer()];
        // SAFETY: a table and vectors of as many entries as the kernel takes; `b` may be null.
        unsafe { entry.launch_on_vectors(gpu, [boxes; 3], matrices.argument(), &vectors, [boxes; 3], &[])? };
        gpu.wait()
    }

    /// Seconds that the operator's contractions alone take on all patches of a space in `f64`, median over a protocol: those
    /// of `2 repeats` repetitions less those of `repeats`, over `repeats`, so that memory and launches do not count.
    /// [`patchmg_device::tensor_core::contractions`] counts their operations.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for kernels whose contractions are not there alone; [`Error::InvalidArgument`] for no
    /// repetition; the driver's.
    pub fn contraction_time(
        &self,
        space: &Space,
        kernel: TensorKernel,
        repeats: u32,
        protocol: Protocol,
    ) -> Result<f64> {
        let (gpu, nodes) = (&self.gpu, Boxes::Patch.nodes(space.degree()));
        let listed = available::<f64>(gpu, nodes).filter(|listed| space.dim() == 3 && listed.contracts(nodes));
        let listed: Vec<_> = listed.collect();
        let Some(found) = listed.iter().find(|listed| listed.kernel == kernel) else {
            let names: Vec<_> = listed.iter().map(|listed| listed.kernel.to_string()).collect();
            let (asked, available) = (kernel.to_string(), format!("in 3D, {nodes} nodes: {}", names.join("; ")));
            return Err(Error::Unsupported { backend: "cuda", what: "contractions", asked, available });
        };
        if repeats == 0 {
            let allowed = String::from("at least 1");
            return Err(Error::InvalidArgument { name: "repeats", value: String::from("0"), allowed });
        }
        let module = Module::TensorCore { nodes, hopper: found.hopper };
        let entry = promised(gpu, module, module.kernel::<f64>(Operation::BoxContract(kernel)))?;
        let (mut table, storage) = (DiscontinuousForms::new(space)?.box_table(Boxes::Patch), space.storage());
        // So small that powers of the contractions stay finite; not zero, which would take less power.
        for matrix in table[..2 * nodes * nodes].chunks_mut(nodes * nodes) {
            let norm = matrix.iter().map(|entry| entry * entry).sum::<f64>().sqrt();
            matrix.iter_mut().for_each(|entry| *entry /= 1.5 * norm);
        }
        let numbers: Vec<f64> = (0..storage).map(|index| (index % 7) as f64 - 2.5).collect();
        let (table, x) = (Vector::uploaded(gpu, &table)?, Vector::uploaded(gpu, &numbers)?);
        let y = Vector::<f64>::zeros(gpu, storage)?;
        let boxes = space.stored_nodes().map(|stored| (stored / nodes) as u32);
        let vectors = [table.pointer(), x.pointer(), y.pointer()];
        let seconds = |repeats: u32| {
            let timing = measure(self, protocol, || {
                // SAFETY: the table and vectors of the space.
                unsafe { entry.launch_on_vectors(gpu, boxes, None, &vectors, boxes, &[repeats]) }
            })?;
            Ok::<_, Error>(timing.median_s)
        };
        Ok((seconds(2 * repeats)? - seconds(repeats)?) / f64::from(repeats))
    }
}

/// Whether there are kernels of a choice.
///
/// # Errors
/// [`Error::Unsupported`], with those that there are for a space, a scalar and a device.
pub(super) fn check<T: Scalar>(gpu: &Gpu, space: &Space, products: Products) -> Result<()> {
    entries::<T>(gpu, space, products)?.iter().try_for_each(|entry| modules::require(entry.module))
}

/// The operator's entry point, and that which solves on patches: there matrices differ by the ends that a patch touches, so that
/// those of constants and textures are in shared memory instead.
fn entries<T: Scalar>(gpu: &Gpu, space: &Space, products: Products) -> Result<[Entry; 2]> {
    let (operator, patch) = (products.boxes.nodes(space.degree()), Boxes::Patch.nodes(space.degree()));
    let kernel = products.kernel;
    let matrices = match kernel.matrices {
        MatrixMemory::Constant | MatrixMemory::Texture => MatrixMemory::Shared,
        matrices => matrices,
    };
    let solve = TensorKernel { matrices, ..kernel };
    let found = [find::<T>(gpu, operator, kernel), find::<T>(gpu, patch, solve)];
    let ([Some(operator_module), Some(solve_module)], 3) = (found, space.dim()) else {
        let names: Vec<_> = available::<T>(gpu, operator).map(|listed| listed.kernel.to_string()).collect();
        let available = format!("in 3D, {operator} nodes, {}: {}", T::NAME, names.join("; "));
        return Err(Error::Unsupported { backend: "cuda", what: PRODUCTS, asked: products.to_string(), available });
    };
    Ok([
        Entry { module: operator_module, operation: Operation::BoxApply(kernel) },
        Entry { module: solve_module, operation: Operation::BoxSolve(solve) },
    ])
}

/// The module that has a kernel.
fn find<T: Scalar>(gpu: &Gpu, nodes: usize, kernel: TensorKernel) -> Option<Module> {
    let listed = available::<T>(gpu, nodes).find(|listed| listed.kernel == kernel)?;
    Some(Module::TensorCore { nodes, hopper: listed.hopper })
}

/// The kernels of a size and a scalar that the program has and the device can run.
fn available<T: Scalar>(gpu: &Gpu, nodes: usize) -> impl Iterator<Item = Listed> {
    let is_hopper = gpu.is_hopper();
    listed(nodes).into_iter().filter(move |listed| listed.scalar == T::NAME && (is_hopper || !listed.hopper))
}

fn converted<T: Scalar>(values: &[f64]) -> Vec<T> {
    values.iter().map(|&value| T::from_f64(value)).collect()
}
