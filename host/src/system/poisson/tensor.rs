//! What is done on a level by 1D matrices along its axes, one direction after the other: transfer where only some directions are
//! coarsened, and the exact solution on the coarsest mesh.

use super::forms::{ContinuousForm, DiscontinuousForm};
use super::is_solved;
use crate::backend::{AxisMatrix, Backend, Scalar, Tensors};
use crate::error::{Error, Result};
use crate::fe::Eigenpairs;
use crate::operator::{LinearOperator, vector_bytes};
use crate::space::{Axis, Family, Space};
use crate::sync::lock;
use crate::system::axes::{AxisTransfer, dense_bytes};
use nalgebra::DMatrix;
use std::sync::Mutex;

/// Transfer to a mesh with half as many cells in some of the directions, by residual vectors.
pub(super) struct PartialTransfer<B: Backend, T: Scalar> {
    transfer: AxisTransfer<B, T>,
    /// Of the level.
    residual: Mutex<B::Vector<T>>,
    temporary: Mutex<[B::Vector<T>; 2]>,
}

/// Whether the next coarser mesh has fewer cells in some directions, not in all.
fn is_partial(space: &Space) -> bool {
    space
        .mesh()
        .coarsened_directions()
        .is_some_and(|coarsened| !coarsened[..space.dim()].iter().all(|&coarsened| coarsened))
}

impl<B: Backend, T: Scalar> PartialTransfer<B, T> {
    /// If there is a coarser level, and not all directions are coarsened.
    pub fn new(backend: &B, space: &Space) -> Result<Option<Self>> {
        let transfer = if is_partial(space) { AxisTransfer::new(backend, space)? } else { None };
        let Some(transfer) = transfer else { return Ok(None) };
        let temporary = || backend.zeros(AxisTransfer::<B, T>::temporary(space));
        Ok(Some(Self {
            transfer,
            residual: Mutex::new(backend.zeros(space.storage())?),
            temporary: Mutex::new([temporary()?, temporary()?]),
        }))
    }

    /// Bytes of its vectors and matrices.
    pub fn bytes(space: &Space) -> u64 {
        if !is_partial(space) {
            return 0;
        }
        let vectors = space.storage() + 2 * AxisTransfer::<B, T>::temporary(space);
        vector_bytes::<T>(1, vectors) + AxisTransfer::<B, T>::bytes(space)
    }

    /// `coarse = Pᵀ (b - A x)`.
    pub fn restrict_residual(
        &self,
        level: &impl LinearOperator<B, T>,
        b: &B::Vector<T>,
        x: &B::Vector<T>,
        coarse: &mut B::Vector<T>,
    ) -> Result<()> {
        let residual = &mut *lock(&self.residual);
        level.residual(b, x, residual)?;
        self.transfer.restrict(level.backend(), &mut lock(&self.temporary), (residual, 0), (coarse, 0))
    }

    /// `x += P coarse`.
    pub fn prolongate_add(&self, backend: &B, coarse: &B::Vector<T>, x: &mut B::Vector<T>) -> Result<()> {
        self.transfer.prolongate_add(backend, &mut lock(&self.temporary), (coarse, 0), (x, 0))
    }
}

/// Stored nodes that a direction of the coarsest mesh may have: its matrices are dense.
const MOST_NODES: usize = 1024;

/// `x = A⁻¹ b` on a mesh that need not be one patch, by fast diagonalization of the whole: `(S ⊗ S ⊗ S) (λ_i + λ_j + λ_l)⁻¹
/// (S ⊗ S ⊗ S)ᵀ b`, with the eigenfunctions of each direction.
pub(super) struct ExactSolver<B: Backend, T: Scalar> {
    /// `S` and `Sᵀ` of each direction.
    functions: Vec<[B::AxisMatrix<T>; 2]>,
    /// Stored nodes.
    nodes: [usize; 3],
    inverse_eigenvalues: B::Vector<T>,
    tensors: Mutex<[B::Vector<T>; 2]>,
}

impl<B: Backend, T: Scalar> ExactSolver<B, T> {
    /// If the space is on the coarsest mesh, and that is not one patch.
    ///
    /// # Errors
    /// Those of [`check`], of the eigenvalue problems and of the machine.
    pub fn new(backend: &B, space: &Space) -> Result<Option<Self>> {
        if !is_solved(space) {
            return Ok(None);
        }
        let pairs = space.axes().iter().map(|axis| match axis.family() {
            Family::Continuous => ContinuousForm::new(axis.element(), axis.cell_size())?.line_eigenpairs(axis.cells()),
            Family::Discontinuous => {
                DiscontinuousForm::new(axis.element(), axis.cell_size())?.line_eigenpairs(axis.cells())
            }
        });
        let pairs = pairs.collect::<Result<Vec<_>>>()?;
        let matrices = pairs.iter().zip(space.axes()).map(|(pairs, axis)| {
            let stored = stored(pairs, axis);
            Ok([backend.dense_axis_matrix(&dense(&stored))?, backend.dense_axis_matrix(&dense(&stored.transpose()))?])
        });
        // Function `f` has the place of unknown `f`.
        let value = |d: usize, node: usize| pairs[d].values[node - space.axes()[d].unknown_nodes().start];
        let mut inverse = vec![T::ZERO; space.storage()];
        for node in space.unknowns() {
            let sum: f64 = (0..space.dim()).map(|d| value(d, node[d])).sum();
            inverse[space.offset(node)] = T::from_f64(1.0 / sum);
        }
        let mut inverse_eigenvalues = backend.zeros(space.storage())?;
        backend.upload(&inverse, &mut inverse_eigenvalues)?;
        Ok(Some(Self {
            functions: matrices.collect::<Result<_>>()?,
            nodes: space.stored_nodes(),
            inverse_eigenvalues,
            tensors: Mutex::new([backend.zeros(space.storage())?, backend.zeros(space.storage())?]),
        }))
    }

    /// Bytes of its vectors and matrices.
    pub fn bytes(space: &Space) -> u64 {
        if !is_solved(space) {
            return 0;
        }
        let nodes = || space.axes().iter().map(Axis::stored_nodes);
        let matrices: usize = nodes().map(|nodes| 2 * nodes * (nodes + 1)).sum();
        let large = nodes().filter(|&nodes| nodes >= AxisMatrix::<T>::LARGE);
        let dense: u64 = large.map(|nodes| 2 * dense_bytes(nodes, nodes)).sum();
        vector_bytes::<T>(3, space.storage()) + vector_bytes::<T>(1, matrices) + dense
    }

    /// `x = A⁻¹ b`.
    pub fn solve(&self, backend: &B, b: &B::Vector<T>, x: &mut B::Vector<T>) -> Result<()> {
        let [one, other] = &mut *lock(&self.tensors);
        let (mut from, mut to) = (one, other);
        self.apply(backend, 0, 1, b, from)?;
        for direction in 1..self.functions.len() {
            self.apply(backend, direction, 1, from, to)?;
            (from, to) = (to, from);
        }
        backend.diagonal_axpby(1.0, &self.inverse_eigenvalues, from, 0.0, to)?;
        (from, to) = (to, from);
        for direction in 1..self.functions.len() {
            self.apply(backend, direction, 0, from, to)?;
            (from, to) = (to, from);
        }
        self.apply(backend, 0, 0, from, x)
    }

    /// `S` (0) or `Sᵀ` (1) in a direction.
    fn apply(
        &self,
        backend: &B,
        direction: usize,
        transposed: usize,
        x: &B::Vector<T>,
        y: &mut B::Vector<T>,
    ) -> Result<()> {
        let tensors = Tensors::across(&self.nodes, direction);
        backend.apply_along_axis(&self.functions[direction][transposed], tensors, x, y, false)
    }
}

/// `S` among all stored nodes: zero at those that are no unknowns.
fn stored(pairs: &Eigenpairs, axis: &Axis) -> DMatrix<f64> {
    let (nodes, first) = (axis.stored_nodes(), axis.unknown_nodes().start);
    DMatrix::from_fn(
        nodes,
        nodes,
        |i, j| {
            if i < first || j < first { 0.0 } else { pairs.vectors[(i - first, j - first)] }
        },
    )
}

fn dense(matrix: &DMatrix<f64>) -> AxisMatrix<f64> {
    AxisMatrix::dense(matrix.nrows(), matrix.ncols(), |i, j| matrix[(i, j)])
}

/// That the matrices of the coarsest mesh are not too large.
///
/// # Errors
/// [`Error::InvalidArgument`], with the cells of that mesh.
pub(super) fn check(space: &Space) -> Result<()> {
    let largest = space.axes().iter().map(Axis::stored_nodes).max().unwrap_or(0);
    if !is_solved(space) || largest <= MOST_NODES {
        return Ok(());
    }
    let [x, y, z] = space.mesh().cells_along();
    let cells = if space.dim() == 2 { format!("{x} x {y}") } else { format!("{x} x {y} x {z}") };
    Err(Error::InvalidArgument {
        name: "cells",
        value: format!("{cells} on the coarsest mesh"),
        allowed: format!(
            "at most {} a direction there with degree {}; even numbers of cells are halved until then",
            MOST_NODES / space.axes()[0].stride(),
            space.degree()
        ),
    })
}
