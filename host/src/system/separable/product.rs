//! Matrices along axes on a machine, one after the other.

use super::line::{Ends, Line, Rows};
use crate::backend::{Backend, Scalar, Tensors};
use crate::error::Result;
use crate::system::axes::matrix_bytes;

/// A matrix along a direction: the sum of banded ones, as one that reaches around a period is.
pub(super) struct LineMatrix<B: Backend, T: Scalar> {
    pieces: Vec<B::AxisMatrix<T>>,
    rows: usize,
}

impl<B: Backend, T: Scalar> LineMatrix<B, T> {
    /// With so many columns, along a line.
    pub fn new(backend: &B, line: &Line, columns: usize, rows: &Rows) -> Result<Self> {
        let pieces = line.pieces(columns, rows).into_iter().map(|piece| backend.axis_matrix(&piece));
        Ok(Self { pieces: pieces.collect::<Result<_>>()?, rows: rows.len() })
    }

    /// Bytes of one with so many rows and entries a row, at most.
    pub fn bytes(line: &Line, rows: usize, width: usize) -> u64 {
        if line.ends == Ends::Periodic { 2 * matrix_bytes::<T>(rows, width) } else { matrix_bytes::<T>(rows, width) }
    }

    /// `y = (I ⊗ Q ⊗ I) x`, or `y += ..` if `add`, along a direction of tensors of these sizes.
    pub fn apply(
        &self,
        backend: &B,
        (sizes, direction): (&[usize], usize),
        x: &B::Vector<T>,
        y: &mut B::Vector<T>,
        add: bool,
    ) -> Result<()> {
        let tensors = Tensors::across(sizes, direction);
        for (index, piece) in self.pieces.iter().enumerate() {
            backend.apply_along_axis(piece, tensors, x, y, add || index > 0)?;
        }
        Ok(())
    }
}

/// A matrix along each of some directions.
pub(super) struct LineProduct<B: Backend, T: Scalar> {
    /// In the order in which they are applied.
    steps: Vec<(usize, LineMatrix<B, T>)>,
    sizes: Vec<usize>,
}

impl<B: Backend, T: Scalar> LineProduct<B, T> {
    /// Of tensors of these sizes.
    pub fn new(sizes: Vec<usize>, steps: Vec<(usize, LineMatrix<B, T>)>) -> Self {
        Self { steps, sizes }
    }

    /// `y = Q x`, or `y += Q x` if `add`. `temporary` is none of the two; its entries are overwritten.
    pub fn apply(
        &self,
        backend: &B,
        [one, other]: [&mut B::Vector<T>; 2],
        x: &B::Vector<T>,
        y: &mut B::Vector<T>,
        add: bool,
    ) -> Result<()> {
        let (mut source, mut target, mut sizes) = (one, other, self.sizes.clone());
        let last = self.steps.len() - 1;
        for (index, (direction, matrix)) in self.steps.iter().enumerate() {
            let place = (&*sizes, *direction);
            match (index == 0, index == last) {
                (true, true) => matrix.apply(backend, place, x, y, add)?,
                (true, false) => matrix.apply(backend, place, x, target, false)?,
                (false, true) => matrix.apply(backend, place, source, y, add)?,
                (false, false) => matrix.apply(backend, place, source, target, false)?,
            }
            sizes[*direction] = matrix.rows;
            (source, target) = (target, source);
        }
        Ok(())
    }
}
