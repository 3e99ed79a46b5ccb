//! The operator of a level on a GPU: local results of cells, and what they are summed up in.

use super::super::Elliptic;
use super::super::mesh::Node;
use super::order::{Part, groups};
use super::tables::{self, Form, OperatorAddresses, OperatorArguments, OperatorTables};
use crate::backend::Scalar;
use crate::backend::cuda::gpu::Gpu;
use crate::backend::cuda::launch::{TypedKernel, stride_blocks};
use crate::backend::cuda::{Cuda, Vector};
use crate::error::Result;
use crate::sync::lock;
use patchmg_device::blas1::THREADS;
use patchmg_device::elliptic::nodes::{MODULE, Start};
use patchmg_device::elliptic::{Apply, ApplyBoxes, ApplyBoxesHanging, ApplyHanging, Groups, Metric, Target, Writes};
use patchmg_device::kernels::Module;
use std::ptr;
use std::sync::Mutex;

/// What sums at nodes are made part of.
#[derive(Clone, Copy)]
pub(super) struct Sum<T> {
    pub b: *const T,
    /// Nodes of `b`; null if they are the same.
    pub same: *const u32,
    /// The first kind of nodes that have one.
    pub least: Node,
    pub sign: f64,
}

/// A thread a node.
pub(super) fn blocks_of(nodes: usize) -> [u32; 3] {
    stride_blocks(nodes, THREADS as u32, u32::MAX).unwrap_or_default()
}

/// Sums at nodes.
pub(super) struct Sums {
    pub row_nodes: Option<Vector<u32>>,
    pub first: Vector<u32>,
    pub places: Vector<u32>,
    /// Rows before it are those of nodes that may be smoothed.
    pub smoothed_rows: usize,
    /// All rows.
    pub rows: usize,
}

impl Sums {
    /// Of which nodes before `smoothed_end` may be smoothed.
    pub fn new(cuda: &Cuda, sums: &tables::Sums, smoothed_end: usize) -> Result<Self> {
        let (gpu, rows) = (&cuda.gpu, sums.first.len() - 1);
        let before = |nodes: &Vec<u32>| nodes.partition_point(|&node| (node as usize) < smoothed_end);
        Ok(Self {
            row_nodes: sums.row_nodes.as_ref().map(|nodes| Vector::uploaded(gpu, nodes)).transpose()?,
            first: Vector::uploaded(gpu, &sums.first)?,
            places: Vector::uploaded(gpu, &sums.places)?,
            smoothed_rows: sums.row_nodes.as_ref().map_or(rows.min(smoothed_end), before),
            rows,
        })
    }
}

/// `A` on the cells of a mesh.
pub(super) struct Operator<T: Scalar> {
    kernels: OperatorKernels<T>,
    start: TypedKernel<Start<T>>,
    groups: Groups,
    form: Form,
    pub writes: Writes,
    plain: Part,
    hanging: Part,
    pub matrices: Vec<T>,
    nodes: Vector<u32>,
    lines: Vector<u32>,
    pub metric: Mutex<Vector<T>>,
    pub reaction: Option<Vector<T>>,
    weights: Vector<T>,
    /// What each node is.
    pub kinds: Vector<u8>,
    pub sums: Sums,
    /// Of what groups with nodes that are smoothed leave, if these are not all.
    pub sums_of_smoothed: Option<Sums>,
}

struct OperatorKernels<T: Scalar> {
    cells: TypedKernel<Apply<T>>,
    cells_hanging: TypedKernel<ApplyHanging<T>>,
    boxes: TypedKernel<ApplyBoxes<T>>,
    boxes_hanging: TypedKernel<ApplyBoxesHanging<T>>,
}

impl<T: Scalar> OperatorKernels<T> {
    fn new(gpu: &Gpu, module: Module) -> Result<Self> {
        Ok(Self {
            cells: TypedKernel::new(gpu, module)?,
            cells_hanging: TypedKernel::new(gpu, module)?,
            boxes: TypedKernel::new(gpu, module)?,
            boxes_hanging: TypedKernel::new(gpu, module)?,
        })
    }

    /// # Safety
    /// As for [`TypedKernel::launch`].
    unsafe fn launch(&self, gpu: &Gpu, blocks: usize, arguments: OperatorArguments<T>) -> Result<()> {
        let blocks = [blocks as u32, 1, 1];
        // SAFETY: the caller's promise.
        unsafe {
            match arguments {
                OperatorArguments::Cells(arguments) => self.cells.launch(gpu, blocks, arguments),
                OperatorArguments::CellsHanging(arguments) => self.cells_hanging.launch(gpu, blocks, arguments),
                OperatorArguments::Boxes(arguments) => self.boxes.launch(gpu, blocks, arguments),
                OperatorArguments::BoxesHanging(arguments) => self.boxes_hanging.launch(gpu, blocks, arguments),
            }
        }
    }
}

impl<T: Scalar> Operator<T> {
    pub fn new(cuda: &Cuda, system: &Elliptic, tables: OperatorTables<T>) -> Result<Self> {
        let (gpu, module) = (&cuda.gpu, super::module(system));
        let sums = |sums: &tables::Sums| Sums::new(cuda, sums, system.mesh.smoothed_end());
        let reaction = tables.reaction.map(|reaction| Vector::uploaded(gpu, &reaction)).transpose()?;
        Ok(Self {
            kernels: OperatorKernels::new(gpu, module)?,
            start: TypedKernel::new(gpu, MODULE)?,
            groups: groups(&system.mesh),
            form: tables.form,
            writes: system.writes,
            plain: tables.order.plain,
            hanging: tables.order.hanging,
            matrices: tables.matrices,
            nodes: Vector::uploaded(gpu, &tables.nodes)?,
            lines: Vector::uploaded(gpu, &tables.lines)?,
            metric: Mutex::new(Vector::uploaded(gpu, &tables.metric)?),
            reaction,
            weights: Vector::uploaded(gpu, &tables.weights)?,
            kinds: Vector::uploaded(gpu, &tables.kinds)?,
            sums: sums(&tables.sums)?,
            sums_of_smoothed: tables.sums_of_smoothed.as_ref().map(sums).transpose()?,
        })
    }

    /// Results of all cells, or of those with nodes that are smoothed.
    pub fn apply_cells(&self, cuda: &Cuda, x: &Vector<T>, target: Target<T>, of_smoothed: bool) -> Result<()> {
        let null = ptr::null();
        let addresses = OperatorAddresses {
            groups: self.groups,
            form: self.form,
            matrices: self.matrices.as_ptr(),
            nodes: self.nodes.as_ptr(),
            lines: self.lines.as_ptr(),
            metric: Metric {
                tensor: lock(&self.metric).as_ptr(),
                reaction: self.reaction.as_ref().map_or(null, Vector::as_ptr),
                weights: if self.form == Form::Cells { self.weights.as_ptr() } else { null },
            },
        };
        addresses.apply([&self.plain, &self.hanging], of_smoothed, x.as_ptr(), target, |blocks, arguments| {
            // SAFETY: vectors of the level, checked by the caller, and tables of its groups; those of a launch have no node in common
            // where results are summed up by colors.
            unsafe { self.kernels.launch(&cuda.gpu, blocks, arguments) }
        })
    }

    /// Makes `y` what [`Sum`] begins with, and adds `sign A x` to it, of all cells or of those with nodes that are smoothed.
    pub fn add_cells(
        &self,
        cuda: &Cuda,
        x: &Vector<T>,
        sum: Sum<T>,
        y: &mut Vector<T>,
        of_smoothed: bool,
    ) -> Result<()> {
        let (kinds, least) = (self.kinds.as_ptr(), sum.least as u32);
        let start = Start { kinds, b: sum.b, y: y.as_mut_ptr(), nodes: y.len() as u32, least };
        // SAFETY: vectors of the level, checked by the caller.
        unsafe { self.start.launch(&cuda.gpu, blocks_of(y.len()), start)? };
        self.apply_cells(cuda, x, self.target(ptr::null_mut(), sum, y), of_smoothed)
    }

    /// What cells leave their results in; of how many groups are families, a launch knows.
    pub fn target(&self, sums: *mut T, sum: Sum<T>, y: &mut Vector<T>) -> Target<T> {
        Target {
            sums,
            y: y.as_mut_ptr(),
            b: sum.b,
            kinds: self.kinds.as_ptr(),
            least: sum.least as u32,
            writes: self.writes as u32,
            families: 0,
            sign: T::from_f64(sum.sign),
        }
    }
}
