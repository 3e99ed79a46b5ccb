//! Matrices that are applied along an axis of tensors.

use super::gpu::Gpu;
use super::launch::TypedKernel;
use super::memory::Vector;
use crate::backend::{self, Scalar, Tensors};
use crate::error::{Error, Result};
use patchmg_device::axis::{Apply, AxisShape, MODULE};
use std::sync::Arc;

/// A [`backend::AxisMatrix`] in the memory of a GPU, with the kernel that applies it.
pub struct AxisMatrix<T: Scalar> {
    kernel: TypedKernel<Apply<T>>,
    entries: Vector<T>,
    first: Vector<u32>,
    count: Vector<u32>,
    rows: usize,
    columns: usize,
    width: usize,
}

impl<T: Scalar> AxisMatrix<T> {
    pub(super) fn new(gpu: &Arc<Gpu>, matrix: &backend::AxisMatrix<f64>) -> Result<Self> {
        let backend::AxisMatrix { rows, columns, width, ref first, ref count, .. } = *matrix;
        Ok(Self {
            kernel: TypedKernel::new(gpu, MODULE)?,
            entries: Vector::uploaded(gpu, &matrix.rounded().entries)?,
            first: Vector::uploaded(gpu, first)?,
            count: Vector::uploaded(gpu, count)?,
            rows,
            columns,
            width,
        })
    }

    /// `y = (I ⊗ Q ⊗ I) x`, or `y += ..` if `add`.
    pub(super) fn apply(
        &self,
        gpu: &Arc<Gpu>,
        Tensors { inner, outer, from, to }: Tensors,
        x: &Vector<T>,
        y: &mut Vector<T>,
        add: bool,
    ) -> Result<()> {
        let Self { kernel, entries, first, count, rows, columns, width } = self;
        entries.check(gpu, "matrix", rows * width)?;
        x.check_at_least(gpu, "x", from + outer * columns * inner)?;
        y.check_at_least(gpu, "y", to + outer * rows * inner)?;
        let size = |size: usize| {
            u32::try_from(size).map_err(|_| Error::InvalidArgument {
                name: "entries of a tensor in some directions",
                value: size.to_string(),
                allowed: format!("at most {}", u32::MAX),
            })
        };
        let shape =
            AxisShape { outer: size(outer)?, rows: size(*rows)?, columns: size(*columns)?, inner: size(inner)? };
        let arguments = Apply {
            entries: entries.as_ptr(),
            first: first.as_ptr(),
            count: count.as_ptr(),
            x: x.as_ptr().wrapping_add(from),
            y: y.as_mut_ptr().wrapping_add(to),
            shape,
            add: add.into(),
        };
        // SAFETY: the matrix is as its shape says, and the vectors are long enough, checked above; they are two.
        unsafe { kernel.launch(gpu, shape.blocks(), arguments) }
    }
}
