//! A level on a GPU as the derivative of a nonlinear equation.

use super::super::Elliptic;
use super::super::interpolation::Interpolation;
use super::super::level::{CellOperator, is_coarsest, is_linear};
use super::super::mesh::Node;
use super::super::metric::words;
use super::super::nonlinear::HostFlux;
use super::level::CudaLevel;
use super::newton::{
    CellTables, GeometryTables, InterpolationAddresses, InterpolationTables, NewtonAddresses, NewtonArguments,
};
use super::operator::{Sum, Sums, blocks_of};
use super::order::{Order, groups};
use super::tables::InverseTables;
use crate::backend::Scalar;
use crate::backend::cuda::gpu::Gpu;
use crate::backend::cuda::launch::TypedKernel;
use crate::backend::cuda::{Cuda, Vector};
use crate::error::Result;
use crate::level::NonlinearLevel;
use crate::memory;
use crate::sync::lock;
use patchmg_device::elliptic::nodes::{Invert, MODULE};
use patchmg_device::elliptic::{
    Diagonal, DiagonalHanging, Evaluate, EvaluateHanging, Interpolate, InterpolateHanging, PowerLaw,
};
use patchmg_device::kernels::Module;
use std::ops::Range;
use std::ptr;
use std::sync::Mutex;

/// Kernels of nonlinear equations.
struct NewtonKernels<T: Scalar> {
    evaluate: TypedKernel<Evaluate<T>>,
    evaluate_hanging: TypedKernel<EvaluateHanging<T>>,
    diagonal: TypedKernel<Diagonal<T>>,
    diagonal_hanging: TypedKernel<DiagonalHanging<T>>,
    interpolate: TypedKernel<Interpolate<T>>,
    interpolate_hanging: TypedKernel<InterpolateHanging<T>>,
    invert: TypedKernel<Invert<T>>,
}

impl<T: Scalar> NewtonKernels<T> {
    fn new(gpu: &Gpu, module: Module) -> Result<Self> {
        Ok(Self {
            evaluate: TypedKernel::new(gpu, module)?,
            evaluate_hanging: TypedKernel::new(gpu, module)?,
            diagonal: TypedKernel::new(gpu, module)?,
            diagonal_hanging: TypedKernel::new(gpu, module)?,
            interpolate: TypedKernel::new(gpu, module)?,
            interpolate_hanging: TypedKernel::new(gpu, module)?,
            invert: TypedKernel::new(gpu, MODULE)?,
        })
    }

    /// # Safety
    /// As for [`TypedKernel::launch`].
    unsafe fn launch(&self, gpu: &Gpu, all: impl IntoIterator<Item = (usize, NewtonArguments<T>)>) -> Result<()> {
        for (blocks, arguments) in all {
            let blocks = [blocks as u32, 1, 1];
            // SAFETY: the caller's promise.
            unsafe {
                match arguments {
                    NewtonArguments::Evaluate(arguments) => self.evaluate.launch(gpu, blocks, arguments)?,
                    NewtonArguments::EvaluateHanging(arguments) => {
                        self.evaluate_hanging.launch(gpu, blocks, arguments)?;
                    }
                    NewtonArguments::Diagonal(arguments) => self.diagonal.launch(gpu, blocks, arguments)?,
                    NewtonArguments::DiagonalHanging(arguments) => {
                        self.diagonal_hanging.launch(gpu, blocks, arguments)?;
                    }
                    NewtonArguments::Interpolate(arguments) => self.interpolate.launch(gpu, blocks, arguments)?,
                    NewtonArguments::InterpolateHanging(arguments) => {
                        self.interpolate_hanging.launch(gpu, blocks, arguments)?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// What a level has beside, if its equation is nonlinear.
pub(super) enum Linearizing<T: Scalar> {
    /// Kernels know the flux.
    Kernels(Box<ByKernels<T>>),
    /// The host evaluates it.
    Host(Box<ByHost<T>>),
}

pub(super) struct ByKernels<T: Scalar> {
    kernels: NewtonKernels<T>,
    law: PowerLaw,
    parts: [Range<usize>; 2],
    squares: Vec<T>,
    nodes: Vector<u32>,
    lines: Vector<u32>,
    sums: Sums,
    geometry: Vector<T>,
    inverse_weights: Vector<T>,
    /// None on the coarsest mesh, where the host factorizes the matrix, and so has the flux.
    interpolation: Option<OnCoarser<T>>,
    flux: Option<HostFlux>,
}

struct OnCoarser<T: Scalar> {
    matrices: Vec<T>,
    children: Vector<u32>,
    targets: Vector<u32>,
    coarse_nodes: usize,
}

pub(super) struct ByHost<T> {
    flux: HostFlux,
    order: Order,
    /// The operator cell by cell, whose metric is that of the last linearization.
    operator: Mutex<CellOperator<T>>,
    /// None on the coarsest mesh.
    interpolation: Option<Interpolation<T>>,
}

impl<T: Scalar> Linearizing<T> {
    /// With the operator of a system, and its 1D matrices, if the equation is nonlinear.
    pub fn new(cuda: &Cuda, system: &Elliptic, operator: CellOperator<T>, matrices: &[T]) -> Result<Option<Self>> {
        let Some(flux) = HostFlux::new(system)? else { return Ok(None) };
        let (gpu, mesh, coarser) = (&cuda.gpu, &system.mesh, system.next_coarser()?);
        let order = Order::new(mesh, system.writes, false);
        let Some(law) = system.equation.power_law() else {
            let interpolation = coarser.map(|coarser| Interpolation::new(&coarser.mesh, mesh)).transpose()?;
            let operator = Mutex::new(operator);
            return Ok(Some(Self::Host(Box::new(ByHost { flux, order, operator, interpolation }))));
        };
        let cells = CellTables::new(mesh, &order, &operator.gather, matrices)?;
        let geometry = GeometryTables::<T>::new(mesh, &order)?;
        let interpolation = coarser.map(|coarser| -> Result<_> {
            let tables = InterpolationTables::new(&coarser.mesh, mesh, &order, operator.shape.halves())?;
            Ok(OnCoarser {
                matrices: tables.matrices,
                children: Vector::uploaded(gpu, &tables.children)?,
                targets: Vector::uploaded(gpu, &tables.targets)?,
                coarse_nodes: coarser.mesh.kinds().len(),
            })
        });
        let interpolation = interpolation.transpose()?;
        Ok(Some(Self::Kernels(Box::new(ByKernels {
            kernels: NewtonKernels::new(gpu, super::module(system))?,
            law,
            squares: cells.squares,
            nodes: Vector::uploaded(gpu, &cells.nodes)?,
            lines: Vector::uploaded(gpu, &cells.lines)?,
            sums: Sums::new(cuda, &cells.sums, mesh.smoothed_end())?,
            parts: cells.parts,
            geometry: Vector::uploaded(gpu, &geometry.tensor)?,
            inverse_weights: Vector::uploaded(gpu, &geometry.inverse_weights)?,
            flux: interpolation.is_none().then_some(flux),
            interpolation,
        }))))
    }
}

/// Bytes of it on the machine.
pub(super) fn bytes<T: Scalar>(system: &Elliptic, order: &Order) -> u64 {
    if system.equation.power_law().is_none() {
        return 0;
    }
    let (mesh, groups) = (&system.mesh, groups(&system.mesh));
    let (entries, nodes) = (order.groups() * groups.entries(), mesh.kinds().len());
    let numbers = (groups.words() + 1) * entries * size_of::<T>();
    let lines = order.hanging.all.len() * groups.cells();
    let tables = (entries + lines + nodes + 1 + mesh.cells().all().len()) * size_of::<u32>();
    let on_coarser = (entries + order.groups() * groups.cells()) * size_of::<u32>();
    (numbers + tables + if system.forest().levels() > 1 { on_coarser } else { 0 }) as u64
}

impl<T: Scalar> CudaLevel<T> {
    fn linearizing(&self) -> Result<&Linearizing<T>> {
        self.linearizing.as_ref().ok_or_else(is_linear)
    }

    /// A vector of the level, on the host.
    fn read(&self, vector: &Vector<T>) -> Result<Vec<T>> {
        let mut values = memory::zeros(vector.len())?;
        vector.read(&mut values)?;
        Ok(values)
    }

    fn newton_addresses(&self, by: &ByKernels<T>, sums: &mut Vector<T>) -> NewtonAddresses<T> {
        NewtonAddresses {
            groups: groups(&self.system.mesh),
            matrices: self.operator.matrices.as_ptr(),
            squares: by.squares.as_ptr(),
            nodes: by.nodes.as_ptr(),
            lines: by.lines.as_ptr(),
            geometry: by.geometry.as_ptr(),
            inverse_weights: by.inverse_weights.as_ptr(),
            metric: lock(&self.operator.metric).as_mut_ptr(),
            reaction: self.operator.reaction.as_ref().map_or(ptr::null(), Vector::as_ptr),
            sums: sums.as_mut_ptr(),
        }
    }

    /// Local results of the flux at `u`; the level's metric becomes that of the derivative if it `linearizes`.
    fn evaluate(&self, by: &ByKernels<T>, u: &Vector<T>, sums: &mut Vector<T>, linearizes: bool) -> Result<()> {
        let arguments = self.newton_addresses(by, sums).evaluate(&by.parts, by.law, u.as_ptr(), linearizes);
        // SAFETY: vectors of the level, checked by the caller, and tables of its groups.
        unsafe { by.kernels.launch(&self.cuda.gpu, arguments) }
    }

    /// The inverse on the coarsest mesh, for values there.
    fn factorize(&self, flux: &HostFlux, u: &[T]) -> Result<()> {
        let Some(inverse) = &self.inverse else { return Ok(()) };
        lock(&inverse.entries).write(&InverseTables::new(&flux.factor(&self.system, u)?).entries)
    }
}

impl<T: Scalar> NonlinearLevel<Cuda, T> for CudaLevel<T> {
    fn nonlinear_residual(&self, b: &Vector<T>, u: &Vector<T>, r: &mut Vector<T>) -> Result<()> {
        for (what, vector) in [("b", b), ("u", u), ("r", &*r)] {
            self.check(what, vector)?;
        }
        match self.linearizing()? {
            Linearizing::Kernels(by) => {
                let sums = &mut lock(&self.between).sums;
                self.evaluate(by, u, sums, false)?;
                let sum = Sum { b: b.as_ptr(), same: ptr::null(), least: Node::Unknown, sign: -1.0 };
                self.gather((&by.sums, &self.operator.kinds, by.sums.rows), sum, sums, r)
            }
            Linearizing::Host(by) => {
                let (b, u) = (self.read(b)?, self.read(u)?);
                let mut sums: Vec<T> = memory::zeros(self.system.mesh.cells().all().len())?;
                let mut residual: Vec<T> = memory::zeros(b.len())?;
                by.flux.residual(&lock(&by.operator), &b, &u, &mut sums, &mut residual)?;
                r.write(&residual)
            }
        }
    }

    fn linearize(&self, u: &Vector<T>) -> Result<()> {
        self.check("u", u)?;
        match self.linearizing()? {
            Linearizing::Kernels(by) => {
                self.evaluate(by, u, &mut lock(&self.between).sums, true)?;
                by.flux.as_ref().map_or(Ok(()), |flux| self.factorize(flux, &self.read(u)?))
            }
            Linearizing::Host(by) => {
                let (u, mesh, mut operator) = (self.read(u)?, &self.system.mesh, lock(&by.operator));
                by.flux.linearize(&u, &mut operator.metric)?;
                let [metric, _] = by.order.metric(mesh, &operator.metric, words(mesh.dim()), false)?;
                lock(&self.operator.metric).write(&metric)?;
                self.factorize(&by.flux, &u)
            }
        }
    }

    fn update_inverse_diagonal(&self, inverse: &mut Vector<T>) -> Result<()> {
        self.check("inverse diagonal", inverse)?;
        match self.linearizing()? {
            Linearizing::Kernels(by) => {
                let (gpu, sums) = (&self.cuda.gpu, &mut lock(&self.between).sums);
                let arguments = self.newton_addresses(by, sums).diagonal(&by.parts);
                // SAFETY: tables of the level's groups.
                unsafe { by.kernels.launch(gpu, arguments)? };
                let sum = Sum { b: ptr::null(), same: ptr::null(), least: Node::Smoothed, sign: 1.0 };
                self.gather((&by.sums, &self.operator.kinds, by.sums.rows), sum, sums, inverse)?;
                let invert = Invert { y: inverse.as_mut_ptr(), nodes: inverse.len() as u32 };
                // SAFETY: a vector of the level, checked above.
                unsafe { by.kernels.invert.launch(gpu, blocks_of(inverse.len()), invert) }
            }
            Linearizing::Host(by) => {
                let values = lock(&by.operator).inverse_diagonal()?;
                inverse.write(&values)
            }
        }
    }

    fn interpolate(&self, u: &Vector<T>, coarse: &mut Vector<T>) -> Result<()> {
        self.check("u", u)?;
        match self.linearizing()? {
            Linearizing::Kernels(by) => {
                let on_coarser = by.interpolation.as_ref().ok_or_else(is_coarsest)?;
                coarse.check(&self.cuda.gpu, "coarse", on_coarser.coarse_nodes)?;
                let tables = InterpolationAddresses {
                    matrices: on_coarser.matrices.as_ptr(),
                    children: on_coarser.children.as_ptr(),
                    targets: on_coarser.targets.as_ptr(),
                };
                let addresses = self.newton_addresses(by, &mut lock(&self.between).sums);
                let arguments = addresses.interpolate(&by.parts, tables, u.as_ptr(), coarse.as_mut_ptr());
                // SAFETY: vectors of the levels, checked above, and tables of the level's groups.
                unsafe { by.kernels.launch(&self.cuda.gpu, arguments) }
            }
            Linearizing::Host(by) => {
                let interpolation = by.interpolation.as_ref().ok_or_else(is_coarsest)?;
                coarse.check(&self.cuda.gpu, "coarse", interpolation.coarse_storage())?;
                let (u, mut values) = (self.read(u)?, memory::zeros(coarse.len())?);
                interpolation.apply(&lock(&by.operator).shape, &u, &mut values, &mut Vec::new());
                coarse.write(&values)
            }
        }
    }
}
