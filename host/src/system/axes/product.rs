//! Matrices along several axes of a tensor.

use crate::backend::{Backend, Scalar, Tensors};
use crate::error::Result;
use std::sync::Arc;

/// Matrices along axes of tensors, one after the other; those of other axes are the identity.
pub struct Product<B: Backend, T: Scalar> {
    steps: Vec<Step<B, T>>,
}

struct Step<B: Backend, T: Scalar> {
    matrix: AxisSum<B, T>,
    inner: usize,
    outer: usize,
}

/// A matrix along an axis: the sum of some.
pub struct AxisSum<B: Backend, T: Scalar>(pub Vec<Arc<B::AxisMatrix<T>>>);

impl<B: Backend, T: Scalar> AxisSum<B, T> {
    /// `y = (I ⊗ Q ⊗ I) x`, or `y += ..` if `add`.
    pub fn apply(
        &self,
        backend: &B,
        tensors: Tensors,
        x: &B::Vector<T>,
        y: &mut B::Vector<T>,
        add: bool,
    ) -> Result<()> {
        for (index, matrix) in self.0.iter().enumerate() {
            backend.apply_along_axis(matrix, tensors, x, y, add || index > 0)?;
        }
        Ok(())
    }
}

impl<B: Backend, T: Scalar> Product<B, T> {
    /// Of square matrices on so many nodes a direction.
    pub fn new(nodes: [usize; 3], matrices: Vec<(usize, Arc<B::AxisMatrix<T>>)>) -> Self {
        Self::between(nodes, nodes, matrices)
    }

    /// From tensors of so many nodes a direction to others.
    pub fn between(from: [usize; 3], to: [usize; 3], matrices: Vec<(usize, Arc<B::AxisMatrix<T>>)>) -> Self {
        Self::of_sums(from, to, matrices.into_iter().map(|(d, matrix)| (d, AxisSum(vec![matrix]))).collect())
    }

    /// The same of sums.
    pub fn of_sums(from: [usize; 3], to: [usize; 3], sums: Vec<(usize, AxisSum<B, T>)>) -> Self {
        let mut nodes = from;
        let steps = sums.into_iter().map(|(d, matrix)| {
            let (inner, outer) = (nodes[..d].iter().product(), nodes[d + 1..].iter().product());
            nodes[d] = to[d];
            Step { matrix, inner, outer }
        });
        Self { steps: steps.collect() }
    }

    /// `y = Q x`, or `y += Q x` if `add`, for the tensors that begin at these entries. `temporary` is none of the two.
    pub fn apply(
        &self,
        backend: &B,
        temporary: &mut [B::Vector<T>; 2],
        (x, from): (&B::Vector<T>, usize),
        (y, to): (&mut B::Vector<T>, usize),
        add: bool,
    ) -> Result<()> {
        let [one, other] = temporary;
        let (mut source, mut target) = (one, other);
        let last = self.steps.len() - 1;
        for (index, Step { matrix, inner, outer }) in self.steps.iter().enumerate() {
            let place = |from, to| Tensors { inner: *inner, outer: *outer, from, to };
            match (index == 0, index == last) {
                (true, true) => matrix.apply(backend, place(from, to), x, y, add)?,
                (true, false) => matrix.apply(backend, place(from, 0), x, target, false)?,
                (false, true) => matrix.apply(backend, place(0, to), source, y, add)?,
                (false, false) => matrix.apply(backend, place(0, 0), source, target, false)?,
            }
            (source, target) = (target, source);
        }
        Ok(())
    }
}
