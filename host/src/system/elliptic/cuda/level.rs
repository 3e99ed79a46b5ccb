//! A level on a GPU.

use super::super::Elliptic;
use super::super::assembled::Factor;
use super::super::cell::CellShape;
use super::super::cell_metric::ConstantMetric;
use super::super::level::{CellOperator, is_coarsest, is_for_products, is_linear, no_factor, only_diagonal};
use super::super::mesh::{Mesh, Node};
use super::super::robin::{self, RobinRows};
use super::super::transfer::Transfer;
use super::linearized::{self, Linearizing};
use super::operator::{Operator, Sum, Sums, blocks_of};
use super::order::groups;
use super::tables::{CellMetric, InverseTables, OperatorTables, TransferAddresses, TransferTables};
use crate::backend::cuda::launch::TypedKernel;
use crate::backend::cuda::{Cuda, Vector};
use crate::backend::{Backend, Scalar};
use crate::error::Result;
use crate::level::{CellPatches, Level, NonlinearLevel, Patches};
use crate::memory;
use crate::operator::LinearOperator;
use crate::sync::lock;
use crate::system::System;
use patchmg_device::elliptic::nodes::{AddRows, AddSame, Gather, MODULE, Solve};
use patchmg_device::elliptic::{Prolongate, Restrict, Writes};
use std::ptr;
use std::sync::{Arc, Mutex};

struct OnCoarser<T: Scalar> {
    prolongate: TypedKernel<Prolongate<T>>,
    restrict: TypedKernel<Restrict<T>>,
    add_same: TypedKernel<AddSame<T>>,
    groups: usize,
    matrices: Vec<T>,
    nodes: Vector<u32>,
    lines: Vector<u32>,
    targets: Vector<u32>,
    same: Vector<u32>,
    /// What each node of the coarser mesh is.
    kinds: Vector<u8>,
    sums: Sums,
}

impl<T: Scalar> OnCoarser<T> {
    fn new(cuda: &Cuda, system: &Elliptic, same: &[u32], tables: TransferTables<T>) -> Result<Self> {
        let (gpu, module) = (&cuda.gpu, super::module(system));
        Ok(Self {
            prolongate: TypedKernel::new(gpu, module)?,
            restrict: TypedKernel::new(gpu, module)?,
            add_same: TypedKernel::new(gpu, MODULE)?,
            groups: tables.groups,
            matrices: tables.matrices,
            nodes: Vector::uploaded(gpu, &tables.nodes)?,
            lines: Vector::uploaded(gpu, &tables.lines)?,
            targets: Vector::uploaded(gpu, &tables.targets)?,
            same: Vector::uploaded(gpu, same)?,
            sums: Sums::new(cuda, &tables.sums, tables.kinds.len())?,
            kinds: Vector::uploaded(gpu, &tables.kinds)?,
        })
    }

    fn blocks(&self) -> [u32; 3] {
        [self.groups as u32, 1, 1]
    }

    fn addresses(&self) -> TransferAddresses<T> {
        TransferAddresses {
            matrices: self.matrices.as_ptr(),
            nodes: self.nodes.as_ptr(),
            lines: self.lines.as_ptr(),
            targets: self.targets.as_ptr(),
        }
    }
}

/// What faces with Robin's condition add.
struct Robin<T: Scalar> {
    add: TypedKernel<AddRows<T>>,
    nodes: Vector<u32>,
    first: Vector<u32>,
    columns: Vector<u32>,
    entries: Vector<T>,
}

impl<T: Scalar> Robin<T> {
    /// None without such faces.
    fn new(cuda: &Cuda, rows: &RobinRows<T>) -> Result<Option<Self>> {
        let gpu = &cuda.gpu;
        if rows.nodes.is_empty() {
            return Ok(None);
        }
        Ok(Some(Self {
            add: TypedKernel::new(gpu, MODULE)?,
            nodes: Vector::uploaded(gpu, &rows.nodes)?,
            first: Vector::uploaded(gpu, &rows.first)?,
            columns: Vector::uploaded(gpu, &rows.columns)?,
            entries: Vector::uploaded(gpu, &rows.entries)?,
        }))
    }
}

/// The inverse on the coarsest mesh.
pub(super) struct Inverse<T: Scalar> {
    solve: TypedKernel<Solve<T>>,
    pub(super) entries: Mutex<Vector<f64>>,
    unknowns: Vector<u32>,
}

/// What kernels leave to the next ones.
pub(super) struct Between<T: Scalar> {
    /// Local results of cells.
    pub(super) sums: Vector<T>,
    /// Before it is restricted; empty on the coarsest level.
    residual: Vector<T>,
}

/// The equation on one mesh.
pub(super) struct CudaLevel<T: Scalar> {
    pub(super) cuda: Arc<Cuda>,
    pub(super) system: Elliptic,
    gather: TypedKernel<Gather<T>>,
    pub(super) operator: Operator<T>,
    robin: Option<Robin<T>>,
    coarser: Option<OnCoarser<T>>,
    /// On the coarsest mesh, if that is small.
    pub(super) inverse: Option<Inverse<T>>,
    /// `1 / A_ii` at nodes that are smoothed, else 0; none on a level for products alone.
    inverse_diagonal: Option<Vec<T>>,
    /// If the equation is nonlinear.
    pub(super) linearizing: Option<Linearizing<T>>,
    pub(super) between: Mutex<Between<T>>,
}

impl<T: Scalar> CudaLevel<T> {
    /// With what smoothers need, or for products alone.
    pub fn new(cuda: &Arc<Cuda>, system: &Elliptic, smooths: bool) -> Result<Self> {
        if !smooths && let Some(metric) = ConstantMetric::of(system)? {
            return Self::of_constants(cuda, system, &metric);
        }
        let (gpu, mesh) = (&cuda.gpu, &system.mesh);
        let operator = CellOperator::<T>::new(system)?;
        let inverse_diagonal = smooths.then(|| operator.inverse_diagonal()).transpose()?;
        let transfer = system.next_coarser()?.map(|coarser| Transfer::new(&coarser.mesh, mesh)).transpose()?;
        let coarser = transfer.map(|transfer| {
            let tables = TransferTables::new(&transfer, &operator.shape)?;
            OnCoarser::new(cuda, system, transfer.same(), tables)
        });
        let tables = OperatorTables::new(system, CellMetric::Of(&operator), &operator.shape)?;
        let matrices = tables.matrices.clone();
        let level = Self::with(cuda, system, tables, &operator.robin, coarser.transpose()?)?;
        let residual = Vector::zeros(gpu, if level.coarser.is_some() { mesh.kinds().len() } else { 0 })?;
        lock(&level.between).residual = residual;
        let is_solved = level.coarser.is_none() && system.has_solver();
        let inverse = if is_solved { Some(inverse(cuda, system)?) } else { None };
        Ok(Self {
            inverse,
            inverse_diagonal,
            linearizing: Linearizing::new(cuda, system, operator, &matrices)?,
            ..level
        })
    }

    /// For products alone, with a constant metric.
    fn of_constants(cuda: &Arc<Cuda>, system: &Elliptic, metric: &ConstantMetric<T>) -> Result<Self> {
        let (mesh, shape) = (&system.mesh, CellShape::new(&system.mesh)?);
        let tables = OperatorTables::new(system, CellMetric::Constant(metric), &shape)?;
        Self::with(cuda, system, tables, &RobinRows::new(mesh, &system.equation)?, None)
    }

    /// Without what only smoothers need.
    fn with(
        cuda: &Arc<Cuda>,
        system: &Elliptic,
        tables: OperatorTables<T>,
        robin: &RobinRows<T>,
        coarser: Option<OnCoarser<T>>,
    ) -> Result<Self> {
        let gpu = &cuda.gpu;
        let groups = tables.order.groups().max(coarser.as_ref().map_or(0, |coarser| coarser.groups));
        let sums = Vector::zeros(gpu, groups * super::order::groups(&system.mesh).entries())?;
        Ok(Self {
            cuda: cuda.clone(),
            system: system.clone(),
            gather: TypedKernel::new(gpu, MODULE)?,
            operator: Operator::new(cuda, system, tables)?,
            robin: Robin::new(cuda, robin)?,
            inverse: None,
            inverse_diagonal: None,
            coarser,
            linearizing: None,
            between: Mutex::new(Between { sums, residual: Vector::zeros(gpu, 0)? }),
        })
    }

    fn mesh(&self) -> &Mesh {
        &self.system.mesh
    }

    pub(super) fn check(&self, what: &'static str, vector: &Vector<T>) -> Result<()> {
        vector.check(&self.cuda.gpu, what, self.storage())
    }

    fn coarser(&self, coarse: &Vector<T>) -> Result<&OnCoarser<T>> {
        let coarser = self.coarser.as_ref().ok_or_else(is_coarsest)?;
        coarse.check(&self.cuda.gpu, "coarse", coarser.kinds.len())?;
        Ok(coarser)
    }

    /// Sums of so many rows.
    pub(super) fn gather(
        &self,
        (of, kinds, rows): (&Sums, &Vector<u8>, usize),
        sum: Sum<T>,
        values: &Vector<T>,
        y: &mut Vector<T>,
    ) -> Result<()> {
        let arguments = Gather {
            row_nodes: of.row_nodes.as_ref().map_or(ptr::null(), Vector::as_ptr),
            first: of.first.as_ptr(),
            places: of.places.as_ptr(),
            values: values.as_ptr(),
            kinds: kinds.as_ptr(),
            b: sum.b,
            same: sum.same,
            y: y.as_mut_ptr(),
            rows: rows as u32,
            least: sum.least as u32,
            sign: T::from_f64(sum.sign),
        };
        // SAFETY: tables and vectors of the level, checked by the caller; `y` is as long as there are nodes, and these have one row at most.
        unsafe { self.gather.launch(&self.cuda.gpu, blocks_of(rows), arguments) }
    }

    /// `y = A x` without `b`, else `b - A x`: where nodes are of the least kind or above.
    fn multiply(&self, b: Option<&Vector<T>>, x: &Vector<T>, y: &mut Vector<T>, least: Node) -> Result<()> {
        self.check("x", x)?;
        self.check("y", y)?;
        b.map_or(Ok(()), |b| self.check("b", b))?;
        let sign = if b.is_some() { -1.0 } else { 1.0 };
        let sum = Sum { b: b.map_or(ptr::null(), Vector::as_ptr), same: ptr::null(), least, sign };
        self.multiply_to(&mut lock(&self.between).sums, x, sum, y)
    }

    fn multiply_to(&self, sums: &mut Vector<T>, x: &Vector<T>, sum: Sum<T>, y: &mut Vector<T>) -> Result<()> {
        let of_smoothed = sum.least == Node::Smoothed;
        if self.operator.writes == Writes::Gather {
            let target = self.operator.target(sums.as_mut_ptr(), sum, y);
            self.operator.apply_cells(&self.cuda, x, target, of_smoothed)?;
            let Operator { sums: of, kinds, .. } = &self.operator;
            self.gather((of, kinds, if of_smoothed { of.smoothed_rows } else { of.rows }), sum, sums, y)?;
        } else {
            self.operator.add_cells(&self.cuda, x, sum, y, of_smoothed)?;
        }
        self.robin.as_ref().map_or(Ok(()), |robin| self.add_robin(robin, x, sum, y))
    }

    /// `r = b - A x` for `x` that is zero where nothing is smoothed.
    fn residual_of_smoothed(
        &self,
        sums: &mut Vector<T>,
        b: &Vector<T>,
        x: &Vector<T>,
        r: &mut Vector<T>,
    ) -> Result<()> {
        let sum = Sum { b: b.as_ptr(), same: ptr::null(), least: Node::Unknown, sign: -1.0 };
        let Operator { sums_of_smoothed, kinds, writes, .. } = &self.operator;
        let Some(of) = sums_of_smoothed else { return self.multiply_to(sums, x, sum, r) };
        if *writes == Writes::Gather {
            self.cuda.axpby(1.0, b, 0.0, r)?;
            let target = self.operator.target(sums.as_mut_ptr(), sum, r);
            self.operator.apply_cells(&self.cuda, x, target, true)?;
            self.gather((of, kinds, of.rows), sum, sums, r)?;
        } else {
            self.operator.add_cells(&self.cuda, x, sum, r, true)?;
        }
        self.robin.as_ref().map_or(Ok(()), |robin| self.add_robin(robin, x, sum, r))
    }

    fn add_robin(&self, robin: &Robin<T>, x: &Vector<T>, sum: Sum<T>, y: &mut Vector<T>) -> Result<()> {
        let arguments = AddRows {
            row_nodes: robin.nodes.as_ptr(),
            first: robin.first.as_ptr(),
            columns: robin.columns.as_ptr(),
            entries: robin.entries.as_ptr(),
            kinds: self.operator.kinds.as_ptr(),
            x: x.as_ptr(),
            y: y.as_mut_ptr(),
            rows: robin.nodes.len() as u32,
            least: sum.least as u32,
            sign: T::from_f64(sum.sign),
        };
        // SAFETY: tables and vectors of the level, checked by the caller; a node has one row.
        unsafe { robin.add.launch(&self.cuda.gpu, blocks_of(robin.nodes.len()), arguments) }
    }

    fn restrict(&self, r: &Vector<T>, sums: &mut Vector<T>, coarse: &mut Vector<T>) -> Result<()> {
        let coarser = self.coarser(coarse)?;
        let arguments = coarser.addresses().restrict(r.as_ptr(), sums.as_mut_ptr());
        // SAFETY: tables and vectors of the level, checked here and by the caller.
        unsafe { coarser.restrict.launch(&self.cuda.gpu, coarser.blocks(), arguments)? };
        let sum = Sum { b: r.as_ptr(), same: coarser.same.as_ptr(), least: Node::Unknown, sign: 1.0 };
        let OnCoarser { sums: of, kinds, .. } = coarser;
        self.gather((of, kinds, of.rows), sum, sums, coarse)
    }
}

fn inverse<T: Scalar>(cuda: &Cuda, system: &Elliptic) -> Result<Inverse<T>> {
    let (gpu, mesh) = (&cuda.gpu, &system.mesh);
    let tables = InverseTables::new(&Factor::new(mesh, &CellOperator::new(system)?)?);
    Ok(Inverse {
        solve: TypedKernel::new(gpu, MODULE)?,
        entries: Mutex::new(Vector::uploaded(gpu, &tables.entries)?),
        unknowns: Vector::uploaded(gpu, &tables.unknowns)?,
    })
}

impl<T: Scalar> LinearOperator<Cuda, T> for CudaLevel<T> {
    fn backend(&self) -> &Arc<Cuda> {
        &self.cuda
    }

    fn storage(&self) -> usize {
        self.mesh().kinds().len()
    }

    fn apply(&self, x: &Vector<T>, y: &mut Vector<T>) -> Result<()> {
        self.multiply(None, x, y, Node::Unknown)
    }

    fn residual(&self, b: &Vector<T>, x: &Vector<T>, r: &mut Vector<T>) -> Result<()> {
        self.multiply(Some(b), x, r, Node::Unknown)
    }
}

impl<T: Scalar> Level<Cuda, T> for CudaLevel<T> {
    fn restrict_residual(&self, b: &Vector<T>, x: &Vector<T>, coarse: &mut Vector<T>) -> Result<()> {
        self.check("b", b)?;
        self.check("x", x)?;
        self.coarser(coarse)?;
        let Between { sums, residual } = &mut *lock(&self.between);
        let sum = Sum { b: b.as_ptr(), same: ptr::null(), least: Node::Unknown, sign: -1.0 };
        self.multiply_to(sums, x, sum, residual)?;
        self.restrict(residual, sums, coarse)
    }

    fn restrict_residual_of_smoothed(&self, b: &Vector<T>, x: &Vector<T>, coarse: &mut Vector<T>) -> Result<()> {
        self.check("b", b)?;
        self.check("x", x)?;
        self.coarser(coarse)?;
        let Between { sums, residual } = &mut *lock(&self.between);
        self.residual_of_smoothed(sums, b, x, residual)?;
        self.restrict(residual, sums, coarse)
    }

    fn restrict_load(&self, b: &Vector<T>, _zero: &Vector<T>, coarse: &mut Vector<T>) -> Result<()> {
        self.check("b", b)?;
        self.restrict(b, &mut lock(&self.between).sums, coarse)
    }

    fn prolongate_add(&self, coarse: &Vector<T>, x: &mut Vector<T>) -> Result<()> {
        self.check("x", x)?;
        let (gpu, coarser) = (&self.cuda.gpu, self.coarser(coarse)?);
        let (nodes, same) = (coarse.len() as u32, coarser.same.as_ptr());
        let add_same = AddSame { same, coarse: coarse.as_ptr(), x: x.as_mut_ptr(), nodes };
        let prolongate = coarser.addresses().prolongate(coarse.as_ptr(), x.as_mut_ptr());
        // SAFETY: tables and vectors of the level, checked above; no node takes its value twice.
        unsafe {
            coarser.add_same.launch(gpu, blocks_of(coarse.len()), add_same)?;
            coarser.prolongate.launch(gpu, coarser.blocks(), prolongate)
        }
    }

    fn solve(&self, b: &Vector<T>, x: &mut Vector<T>) -> Result<()> {
        let inverse = self.inverse.as_ref().ok_or_else(no_factor)?;
        self.check("b", b)?;
        self.check("x", x)?;
        x.clear()?;
        let (entries, unknowns) = (lock(&inverse.entries).as_ptr(), inverse.unknowns.as_ptr());
        let count = inverse.unknowns.len() as u32;
        let arguments = Solve { inverse: entries, unknowns, b: b.as_ptr(), x: x.as_mut_ptr(), count };
        // SAFETY: vectors of the level, checked above, with a block for each unknown.
        unsafe { inverse.solve.launch(&self.cuda.gpu, [count, 1, 1], arguments) }
    }

    fn has_solver(&self) -> bool {
        self.inverse.is_some()
    }

    fn vector_of(&self, value: &mut dyn FnMut(usize) -> f64) -> Result<Vector<T>> {
        let mut entries: Vec<T> = memory::zeros(self.storage())?;
        self.mesh().set_unknowns(&mut entries, value);
        Vector::uploaded(&self.cuda.gpu, &entries)
    }

    fn smoothed_entries(&self) -> usize {
        self.mesh().smoothed_end()
    }

    fn smoothed_residual(&self, b: &Vector<T>, x: &Vector<T>, r: &mut Vector<T>) -> Result<()> {
        self.multiply(Some(b), x, r, Node::Smoothed)
    }

    /// Zero where nothing is smoothed: smoothers that begin with this work elsewhere only.
    fn inverse_diagonal(&self) -> Result<Vector<T>> {
        let inverse = self.inverse_diagonal.as_ref().ok_or_else(is_for_products)?;
        Vector::uploaded(&self.cuda.gpu, inverse)
    }

    fn nonlinear(&self) -> Result<&dyn NonlinearLevel<Cuda, T>> {
        self.linearizing.as_ref().map(|_| self as _).ok_or_else(is_linear)
    }

    fn patches(&self) -> Result<&dyn Patches<Cuda, T>> {
        Err(only_diagonal("vertex patches"))
    }

    fn cell_patches(&self) -> Result<&dyn CellPatches<Cuda, T>> {
        Err(only_diagonal("chebyshev-patch"))
    }

    fn point_gauss_seidel(&self, _b: &Vector<T>, _x: &mut Vector<T>, _reverse: bool) -> Result<()> {
        Err(only_diagonal("point Gauss-Seidel"))
    }
}

/// Bytes of a level, at most: where cells have a constant metric or nodes have whole sums there are fewer.
pub(super) fn bytes<T: Scalar>(system: &Elliptic) -> u64 {
    let mesh = &system.mesh;
    let (groups, order) = (groups(mesh), super::order::Order::new(mesh, system.writes, false));
    let (entries, nodes, places) = (order.groups() * groups.entries(), mesh.kinds().len(), mesh.cells().all().len());
    let reaction = usize::from(system.equation.reacts());
    let lines = order.hanging.all.len() * groups.cells();
    let numbers = (groups.words() + reaction + 1) * entries * size_of::<T>();
    let tables = (entries + lines + 2 * nodes + 1 + places) * size_of::<u32>() + nodes;
    let unknowns = if system.has_solver() { mesh.unknowns() } else { 0 };
    let inverse = unknowns * (unknowns * size_of::<f64>() + size_of::<u32>());
    // Where a coarser mesh cannot be made, making its level is an error.
    let coarser = system.next_coarser().unwrap_or_default();
    let other = coarser.map_or(inverse as u64, |coarser| transfer_bytes::<T>(system, coarser));
    (numbers + tables + order.bytes_of_smoothed()) as u64
        + robin::bytes::<T>(system)
        + other
        + linearized::bytes::<T>(system, &order)
}

/// Bytes of its transfer, and of the residual.
fn transfer_bytes<T: Scalar>(system: &Elliptic, coarser: &Elliptic) -> u64 {
    let (mesh, coarse) = (&system.mesh, &coarser.mesh);
    let children = (1 << mesh.dim()) - 1;
    let families = (mesh.cells().cells() - coarse.cells().cells()) / children;
    let (groups, nodes) = (groups(mesh), coarse.kinds().len());
    let entries = groups.count(families) * groups.entries();
    let places = families * coarse.cells().nodes_a_cell();
    let words = (children + 2) * entries + groups.count(families) * groups.cells() + 2 * nodes + 1 + places;
    (words * size_of::<u32>() + nodes + mesh.kinds().len() * size_of::<T>()) as u64
}
