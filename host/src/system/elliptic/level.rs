//! A level on the CPU.

use super::Elliptic;
use super::assembled::{Factor, MOST};
use super::batched::{self, BatchedOperator};
use super::cell::{CellShape, Workspace};
use super::cell_metric::set_metric_of;
use super::cell_patches::ForestCellPatches;
use super::linearized::Linearizing;
use super::mesh::{Mesh, Node};
use super::metric::{Geometry, words};
use super::robin::{self, RobinRows};
use super::transfer::Transfer;
use super::transposed::Transposed;
use crate::backend::cpu::parallel::try_map_chunks;
use crate::backend::cpu::{Cpu, Vector};
use crate::backend::{Backend, Scalar};
use crate::error::{Error, Result, check_length};
use crate::forest::HangingLines;
use crate::level::{CellPatches, Level, NonlinearLevel, Patches};
use crate::memory;
use crate::operator::LinearOperator;
use crate::sync::lock;
use crate::system::System;
use patchmg_cpu::Prepared;
use rayon::prelude::*;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

/// `A` on the cells of one mesh: `sum_cells Rᵀ Cᵀ A_cell C R`, `R` reading the nodes of a cell and `C` interpolating those that hang.
#[derive(Debug)]
pub(super) struct CellOperator<T> {
    pub mesh: Arc<Mesh>,
    pub shape: Arc<CellShape<T>>,
    /// [`words`] for each Gauss point of each cell.
    pub metric: Vec<T>,
    /// Whether that of each cell is the same at all points but for their weights.
    pub is_constant: bool,
    /// Whether it has no entries beside the diagonal: GPUs have kernels for that.
    #[cfg_attr(not(feature = "cuda"), expect(dead_code))]
    pub is_diagonal: bool,
    pub robin: Arc<RobinRows<T>>,
    /// From the places of cells to nodes.
    pub gather: Arc<Transposed>,
}

impl<T: Scalar> CellOperator<T> {
    pub fn new(system: &Elliptic) -> Result<Self> {
        Self::on_cells(system, |_| true)
    }

    /// With a metric of zero, which takes no memory, where cells are not wanted.
    pub fn on_cells(system: &Elliptic, is_wanted: impl Fn(usize) -> bool + Sync) -> Result<Self> {
        let Elliptic { equation, mesh, .. } = system;
        let (dim, cells) = (mesh.dim(), mesh.cells());
        let geometry = Geometry::new(mesh, mesh.degree() + 1)?;
        let mut metric: Vec<T> = memory::zeros(words(dim) * cells.all().len())?;
        let of_cell = |(): &mut (), cell: usize, metric: &mut [T]| -> Result<[bool; 2]> {
            if !is_wanted(cell) {
                return Ok([true; 2]);
            }
            set_metric_of(equation, &geometry, dim, cell, metric)
        };
        let words_a_cell = words(dim) * cells.nodes_a_cell();
        let of_cells = try_map_chunks(&mut metric, words_a_cell, || (), of_cell)?;
        let gather = mesh.gather()?;
        let (shape, robin) = (Arc::new(CellShape::new(mesh)?), Arc::new(RobinRows::new(mesh, equation)?));
        let [is_constant, is_diagonal] = [0, 1].map(|which| of_cells.iter().all(|of_cell| of_cell[which]));
        // That of a linearization is not.
        let is_constant = is_constant && equation.flux.is_none();
        Ok(Self { mesh: mesh.clone(), shape, metric, is_constant, is_diagonal, robin, gather })
    }

    /// `y_i = f(i, (A x)_i)`, cell by cell: for set-up. Unlike a level's, `x` may have values at nodes that are given.
    pub fn apply_with(&self, x: &[T], y: &mut [T], f: impl Fn(usize, T) -> T + Sync) -> Result<()> {
        let cells = self.mesh.cells();
        let mut sums: Vec<T> = memory::zeros(cells.all().len())?;
        let workspace = || (Vec::new(), Workspace::default());
        sums.par_chunks_exact_mut(cells.nodes_a_cell()).enumerate().for_each_init(workspace, |own, (cell, sums)| {
            let (u, workspace) = own;
            u.clear();
            u.extend(cells.of(cell).iter().map(|&node| x[node as usize]));
            if u.iter().any(|&value| value != T::ZERO) {
                self.apply_cell(cell, u, workspace);
                sums.copy_from_slice(u);
            }
        });
        self.gather.gather(&sums, y, |node, sum| f(node, sum + self.robin.times(node, x)));
        Ok(())
    }

    /// [`words`] at the Gauss points of a cell.
    pub fn metric_of(&self, cell: usize) -> &[T] {
        let words = words(self.mesh.dim()) * self.mesh.cells().nodes_a_cell();
        &self.metric[words * cell..words * (cell + 1)]
    }

    /// `u ← Cᵀ A_cell C u`, without [`Self::robin`].
    fn apply_cell(&self, cell: usize, u: &mut Vec<T>, workspace: &mut Workspace<T>) {
        if let Some(lines) = self.mesh.cells().hanging_of(cell) {
            self.shape.interpolate(lines, u);
        }
        self.apply_interpolated(cell, u, workspace);
    }

    /// `u ← Cᵀ A_cell u`, without [`Self::robin`].
    fn apply_interpolated(&self, cell: usize, u: &mut Vec<T>, workspace: &mut Workspace<T>) {
        self.shape.apply(self.metric_of(cell), u, workspace);
        if let Some(lines) = self.mesh.cells().hanging_of(cell) {
            self.shape.interpolate_transposed(lines, u);
        }
    }

    /// Columns of `Cᵀ A_cell C`, one after the other.
    pub fn for_each_column(&self, cell: usize, mut visit: impl FnMut(usize, &[T])) {
        let (mut u, mut workspace) = (Vec::new(), Workspace::default());
        for column in 0..self.mesh.cells().nodes_a_cell() {
            set_unit(&mut u, self.mesh.cells().nodes_a_cell(), column);
            self.apply_cell(cell, &mut u, &mut workspace);
            visit(column, &u);
        }
    }

    /// The diagonal of `A`.
    fn diagonal(&self) -> Result<Vec<T>> {
        let nodes = self.mesh.cells().nodes_a_cell();
        let mut sums: Vec<T> = memory::zeros(self.mesh.cells().all().len())?;
        // Lines hang in few ways: cells share the columns of `C`.
        let workspace = || (Workspace::default(), HashMap::new(), Vec::new());
        sums.par_chunks_exact_mut(nodes).enumerate().for_each_init(workspace, |own, (cell, sums)| {
            let (workspace, columns, u) = own;
            sums.copy_from_slice(&self.shape.diagonal(self.metric_of(cell), workspace));
            let Some(lines) = self.mesh.cells().hanging_of(cell) else { return };
            let key = (lines.child, lines.along);
            for (column, entries) in columns.entry(key).or_insert_with(|| self.interpolated_columns(lines)) {
                u.clone_from(entries);
                self.apply_interpolated(cell, u, workspace);
                sums[*column] = u[*column];
            }
        });
        let mut diagonal: Vec<T> = memory::zeros(self.mesh.kinds().len())?;
        self.gather.gather(&sums, &mut diagonal, |_, sum| sum);
        for (node, mut row) in self.robin.rows() {
            let entry = row.find(|(column, _)| *column == node);
            diagonal[node] = diagonal[node] + entry.map_or(T::ZERO, |(_, entry)| entry);
        }
        Ok(diagonal)
    }

    /// The columns of `C` that are no unit vectors, with their numbers.
    fn interpolated_columns(&self, lines: &HangingLines) -> Vec<(usize, Vec<T>)> {
        let nodes = self.mesh.cells().nodes_a_cell();
        let column = |column: usize| {
            let mut u = Vec::new();
            set_unit(&mut u, nodes, column);
            self.shape.interpolate(lines, &mut u);
            let is_unit = u[column] == T::from_f64(1.0) && u.iter().filter(|&&entry| entry != T::ZERO).count() == 1;
            (!is_unit).then_some((column, u))
        };
        (0..nodes).filter_map(column).collect()
    }

    /// `1 / A_ii` at nodes that are smoothed, else 0.
    pub fn inverse_diagonal(&self) -> Result<Vec<T>> {
        let (mut inverse, kinds) = (self.diagonal()?, self.mesh.kinds());
        inverse.par_iter_mut().zip(kinds).with_min_len(1 << 12).for_each(|(inverse, &kind)| {
            let is_smoothed = kind == Node::Smoothed;
            *inverse = if is_smoothed { T::from_f64(1.0 / inverse.to_f64()) } else { T::ZERO };
        });
        Ok(inverse)
    }
}

/// Makes a vector of so many entries a unit vector.
fn set_unit<T: Scalar>(u: &mut Vec<T>, len: usize, one: usize) {
    u.clear();
    u.resize(len, T::ZERO);
    u[one] = T::from_f64(1.0);
}

/// The equation on one mesh.
pub(super) struct EllipticLevel<T> {
    pub(super) cpu: Arc<Cpu>,
    pub(super) mesh: Arc<Mesh>,
    pub(super) operator: BatchedOperator<T>,
    /// `1 / A_ii` at nodes that are smoothed, else 0; none on a level for products alone.
    pub(super) inverse_diagonal: Option<Mutex<Vec<T>>>,
    /// Before it is restricted; empty on the coarsest level.
    residual: Mutex<Vector<T>>,
    /// Of transfers.
    pub(super) values: Mutex<Vec<T>>,
    transfer: Option<Transfer>,
    /// On the coarsest mesh, if that is small.
    pub(super) factor: Mutex<Option<Factor>>,
    /// If the equation is nonlinear.
    pub(super) linearizing: Option<Linearizing<T>>,
    /// Cell patches are made of it when a smoother asks for them.
    system: Elliptic,
    cell_patches: OnceLock<ForestCellPatches<T>>,
}

/// Bytes of a level.
pub(super) fn bytes<T: Scalar>(system: &Elliptic) -> u64 {
    batched::bytes::<T>(system) + robin::bytes::<T>(system)
}

impl<T: Scalar + Prepared> EllipticLevel<T> {
    /// With what smoothers need, or for products alone.
    pub fn new(cpu: &Arc<Cpu>, system: &Elliptic, smooths: bool) -> Result<Self> {
        cpu.install(|| Self::on_threads(cpu, system, smooths))
    }

    fn on_threads(cpu: &Arc<Cpu>, system: &Elliptic, smooths: bool) -> Result<Self> {
        let mesh = &system.mesh;
        // Newton's method interpolates to coarser meshes.
        let coarser = if smooths || system.equation.flux.is_some() { system.next_coarser()? } else { None };
        let transfer = coarser.map(|coarser| Transfer::new(&coarser.mesh, mesh)).transpose()?;
        let factor = || Factor::new(mesh, &CellOperator::new(system)?);
        let operator = CellOperator::new(system)?;
        let inverse_diagonal = smooths.then(|| operator.inverse_diagonal()).transpose()?;
        let batched = BatchedOperator::new(cpu, &operator, system.equation.reacts())?;
        let linearizing = Linearizing::new(system, operator)?;
        Ok(Self {
            cpu: cpu.clone(),
            operator: batched,
            inverse_diagonal: inverse_diagonal.map(Mutex::new),
            residual: Mutex::new(cpu.zeros(if transfer.is_some() { mesh.kinds().len() } else { 0 })?),
            values: Mutex::default(),
            factor: Mutex::new(if system.forest().levels() == 1 && system.has_solver() {
                Some(factor()?)
            } else {
                None
            }),
            linearizing,
            mesh: mesh.clone(),
            transfer,
            system: system.clone(),
            cell_patches: OnceLock::new(),
        })
    }

    pub(super) fn check(&self, what: &'static str, vector: &Vector<T>) -> Result<()> {
        check_length(what, self.storage(), vector.len())
    }

    fn transfer(&self) -> Result<&Transfer> {
        self.transfer.as_ref().ok_or_else(is_coarsest)
    }
}

impl<T: Scalar + Prepared> LinearOperator<Cpu, T> for EllipticLevel<T> {
    fn backend(&self) -> &Arc<Cpu> {
        &self.cpu
    }

    fn storage(&self) -> usize {
        self.mesh.kinds().len()
    }

    fn apply(&self, x: &Vector<T>, y: &mut Vector<T>) -> Result<()> {
        self.check("x", x)?;
        self.check("y", y)?;
        self.cpu.install(|| self.operator.apply(&self.cpu, x, y));
        Ok(())
    }

    fn residual(&self, b: &Vector<T>, x: &Vector<T>, r: &mut Vector<T>) -> Result<()> {
        self.check("b", b)?;
        self.check("x", x)?;
        self.check("r", r)?;
        self.cpu.install(|| self.operator.residual(&self.cpu, b, x, r));
        Ok(())
    }
}

impl<T: Scalar + Prepared> Level<Cpu, T> for EllipticLevel<T> {
    fn restrict_residual(&self, b: &Vector<T>, x: &Vector<T>, coarse: &mut Vector<T>) -> Result<()> {
        let mut residual = lock(&self.residual);
        self.residual(b, x, &mut residual)?;
        self.restrict_load(&residual, x, coarse)
    }

    fn restrict_residual_of_smoothed(&self, b: &Vector<T>, x: &Vector<T>, coarse: &mut Vector<T>) -> Result<()> {
        self.check("b", b)?;
        self.check("x", x)?;
        self.transfer()?;
        let residual = &mut *lock(&self.residual);
        self.cpu.install(|| self.operator.residual_of_smoothed(&self.cpu, b, x, residual));
        self.restrict_load(residual, x, coarse)
    }

    fn restrict_load(&self, b: &Vector<T>, _zero: &Vector<T>, coarse: &mut Vector<T>) -> Result<()> {
        let transfer = self.transfer()?;
        self.check("b", b)?;
        check_length("coarse", transfer.coarse_storage(), coarse.len())?;
        let values = &mut *lock(&self.values);
        self.cpu.install(|| transfer.restrict(self.operator.shape(), b, coarse, values));
        Ok(())
    }

    fn prolongate_add(&self, coarse: &Vector<T>, x: &mut Vector<T>) -> Result<()> {
        let transfer = self.transfer()?;
        check_length("coarse", transfer.coarse_storage(), coarse.len())?;
        self.check("x", x)?;
        let values = &mut *lock(&self.values);
        self.cpu.install(|| transfer.prolongate_add(self.operator.shape(), coarse, x, values));
        Ok(())
    }

    fn solve(&self, b: &Vector<T>, x: &mut Vector<T>) -> Result<()> {
        self.check("b", b)?;
        self.check("x", x)?;
        let factor = lock(&self.factor);
        let factor = factor.as_ref().ok_or_else(no_factor)?;
        factor.solve(b, x);
        Ok(())
    }

    fn has_solver(&self) -> bool {
        lock(&self.factor).is_some()
    }

    fn vector_of(&self, value: &mut dyn FnMut(usize) -> f64) -> Result<Vector<T>> {
        let mut vector: Vector<T> = self.cpu.zeros(self.storage())?;
        self.mesh.set_unknowns(&mut vector, value);
        Ok(vector)
    }

    fn smoothed_entries(&self) -> usize {
        self.mesh.smoothed_end()
    }

    fn smoothed_residual(&self, b: &Vector<T>, x: &Vector<T>, r: &mut Vector<T>) -> Result<()> {
        self.check("b", b)?;
        self.check("x", x)?;
        self.check("r", r)?;
        self.cpu.install(|| self.operator.smoothed_residual(&self.cpu, b, x, r));
        Ok(())
    }

    /// Zero where nothing is smoothed: smoothers that begin with this work elsewhere only.
    fn inverse_diagonal(&self) -> Result<Vector<T>> {
        let known = self.inverse_diagonal.as_ref().ok_or_else(is_for_products)?;
        let mut inverse: Vector<T> = self.cpu.zeros(self.storage())?;
        inverse.copy_from_slice(&lock(known));
        Ok(inverse)
    }

    fn nonlinear(&self) -> Result<&dyn NonlinearLevel<Cpu, T>> {
        self.linearizing.as_ref().map(|_| self as _).ok_or_else(is_linear)
    }

    fn patches(&self) -> Result<&dyn Patches<Cpu, T>> {
        Err(only_diagonal("vertex patches"))
    }

    fn cell_patches(&self) -> Result<&dyn CellPatches<Cpu, T>> {
        if let Some(patches) = self.cell_patches.get() {
            return Ok(patches);
        }
        if self.linearizing.is_some() {
            return Err(only_diagonal("chebyshev-patch for a nonlinear equation"));
        }
        let inverse = lock(self.inverse_diagonal.as_ref().ok_or_else(is_for_products)?);
        let inverse: &[T] = &inverse;
        let made = self.cpu.install(|| ForestCellPatches::new(&self.cpu, &self.system, inverse))?;
        Ok(self.cell_patches.get_or_init(|| made))
    }

    fn point_gauss_seidel(&self, _b: &Vector<T>, _x: &mut Vector<T>, _reverse: bool) -> Result<()> {
        Err(only_diagonal("point Gauss-Seidel"))
    }
}

/// There are no transfers.
pub(super) fn is_coarsest() -> Error {
    let (value, allowed) = ("the coarsest".into(), "one with a coarser level".into());
    Error::InvalidArgument { name: "level", value, allowed }
}

/// There is no factorization.
pub(super) fn no_factor() -> Error {
    let (value, allowed) = ("without a factorization".into(), format!("the coarsest, of {MOST} unknowns at most"));
    Error::InvalidArgument { name: "level to solve on", value, allowed }
}

/// It keeps no diagonal.
pub(super) fn is_for_products() -> Error {
    let (value, allowed) = ("one for products alone".into(), "one that smoothers work on".into());
    Error::InvalidArgument { name: "level", value, allowed }
}

/// The equation has no flux.
pub(super) fn is_linear() -> Error {
    let (asked, available) = ("nonlinear".into(), "linear: it has no flux".into());
    Error::Unsupported { backend: "elliptic", what: "equation", asked, available }
}

pub(super) fn only_diagonal(asked: &str) -> Error {
    let available = String::from("chebyshev, chebyshev4, jacobi, on a CPU chebyshev-patch");
    Error::Unsupported { backend: "elliptic", what: "smoother", asked: asked.into(), available }
}
