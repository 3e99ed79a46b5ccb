//! What is done on a level by 1D matrices along its axes, one direction after the other: transfer where only some directions are
//! coarsened, and the exact solution on the coarsest mesh.

use super::forms::{ContinuousForm, DiscontinuousForm};
use super::is_solved;
use crate::backend::{AxisMatrix, Backend, Scalar, Tensors};
use crate::error::{Error, Result};
use crate::fe::Eigenpairs;
use crate::operator::{LinearOperator, vector_bytes};
use crate::space::{Axis, Family, Space};
use crate::system::axes::prolongation;
use nalgebra::DMatrix;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Transfer to a mesh with half as many cells in some of the directions, by residual vectors.
pub(super) struct PartialTransfer<B: Backend, T: Scalar> {
    /// For each coarsened direction, fine to coarse.
    steps: Vec<Step<B, T>>,
    /// Of the level.
    residual: Mutex<B::Vector<T>>,
    /// After the first of two steps.
    between: Mutex<B::Vector<T>>,
}

/// One direction.
struct Step<B: Backend, T: Scalar> {
    prolongation: B::AxisMatrix<T>,
    restriction: B::AxisMatrix<T>,
    tensors: Tensors,
}

/// The directions in which the next coarser mesh has fewer cells, if it is not all of them.
fn partial_directions(space: &Space) -> Option<Vec<usize>> {
    let coarsened = space.mesh().coarsened_directions()?;
    let directions: Vec<_> = (0..space.dim()).filter(|&d| coarsened[d]).collect();
    (directions.len() < space.dim()).then_some(directions)
}

/// Entries of the tensor after the first of two steps.
fn entries_between(space: &Space, directions: &[usize]) -> usize {
    if directions.len() < 2 { 0 } else { space.stored_nodes().iter().product::<usize>() / 2 }
}

impl<B: Backend, T: Scalar> PartialTransfer<B, T> {
    /// If there is a coarser level, and not all directions are coarsened.
    pub fn new(backend: &B, space: &Space) -> Result<Option<Self>> {
        let Some(directions) = partial_directions(space) else { return Ok(None) };
        let mut nodes = space.stored_nodes();
        let steps = directions.iter().map(|&d| {
            let matrix = prolongation(&space.axes()[d]);
            let tensors = Tensors::across(&nodes, d);
            nodes[d] /= 2;
            let (prolongation, restriction) =
                (backend.axis_matrix(&matrix)?, backend.axis_matrix(&matrix.transposed())?);
            Ok(Step { prolongation, restriction, tensors })
        });
        Ok(Some(Self {
            steps: steps.collect::<Result<_>>()?,
            residual: Mutex::new(backend.zeros(space.storage())?),
            between: Mutex::new(backend.zeros(entries_between(space, &directions))?),
        }))
    }

    /// Bytes of its vectors and matrices.
    pub fn bytes(space: &Space) -> u64 {
        partial_directions(space).map_or(0, |directions| {
            let matrices = directions.iter().map(|&d| 2 * (5 * space.axes()[d].degree() + 2) * space.stored_nodes()[d]);
            let entries = space.storage() + entries_between(space, &directions) + matrices.sum::<usize>();
            vector_bytes::<T>(1, entries)
        })
    }

    /// `coarse = Pᵀ (b - A x)`.
    pub fn restrict_residual(
        &self,
        level: &impl LinearOperator<B, T>,
        b: &B::Vector<T>,
        x: &B::Vector<T>,
        coarse: &mut B::Vector<T>,
    ) -> Result<()> {
        let (backend, residual, between) = (level.backend(), &mut *lock(&self.residual), &mut *lock(&self.between));
        level.residual(b, x, residual)?;
        let apply = |step: &Step<B, T>, from: &B::Vector<T>, to: &mut B::Vector<T>| {
            backend.apply_along_axis(&step.restriction, step.tensors, from, to, false)
        };
        match &self.steps[..] {
            [only] => apply(only, residual, coarse),
            [first, second, ..] => {
                apply(first, residual, between)?;
                apply(second, between, coarse)
            }
            [] => Ok(()),
        }
    }

    /// `x += P coarse`.
    pub fn prolongate_add(&self, backend: &B, coarse: &B::Vector<T>, x: &mut B::Vector<T>) -> Result<()> {
        let between = &mut *lock(&self.between);
        let apply = |step: &Step<B, T>, from: &B::Vector<T>, to: &mut B::Vector<T>, add| {
            backend.apply_along_axis(&step.prolongation, step.tensors, from, to, add)
        };
        match &self.steps[..] {
            [only] => apply(only, coarse, x, true),
            [first, second, ..] => {
                apply(second, coarse, between, false)?;
                apply(first, between, x, true)
            }
            [] => Ok(()),
        }
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
            Ok([backend.axis_matrix(&dense(&stored))?, backend.axis_matrix(&dense(&stored.transpose()))?])
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
        let matrices: usize = space.axes().iter().map(|axis| 2 * axis.stored_nodes() * (axis.stored_nodes() + 1)).sum();
        vector_bytes::<T>(3, space.storage()) + vector_bytes::<T>(1, matrices)
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

fn lock<V>(mutex: &Mutex<V>) -> MutexGuard<'_, V> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
