//! Matrices that are applied along an axis of tensors.

use super::gpu::Gpu;
use super::launch::TypedKernel;
use super::memory::Vector;
use crate::backend::{self, Scalar, Tensors};
use crate::error::{Error, Result};
use patchmg_device::axis::{Apply, AxisShape, MODULE};
use patchmg_device::dense::{self, DenseShape, ampere, hopper};
use std::ops::Range;
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
    dense: Option<Dense<T>>,
}

/// Lines of a tensor from which on tensor cores multiply faster.
const FEWEST_LINES: usize = 64;

impl<T: Scalar> AxisMatrix<T> {
    /// With a second form for tensor cores, unless it is small.
    pub(super) fn for_tensor_cores(gpu: &Arc<Gpu>, matrix: &backend::AxisMatrix<f64>) -> Result<Self> {
        let dense = if matrix.is_large() { Some(Dense::new(gpu, matrix)?) } else { None };
        Ok(Self { dense, ..Self::new(gpu, matrix)? })
    }

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
            dense: None,
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
        let Self { kernel, entries, first, count, rows, columns, width, dense } = self;
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
        if let Some(dense) = dense.as_ref().filter(|_| outer * inner >= FEWEST_LINES) {
            let shape = dense.shape(shape);
            if shape.is_taken::<T>([from, to]) {
                let (x, y) = (x.as_ptr().wrapping_add(from), y.as_mut_ptr().wrapping_add(to));
                // SAFETY: the vectors are long enough, checked above; they are two.
                return unsafe { dense.apply(gpu, shape, x, y, add) };
            }
        }
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

/// A dense matrix for tensor cores, with the kernels of the GPU.
struct Dense<T: Scalar> {
    /// [Arranged](dense::arranged): of these rows and columns, others being empty.
    matrix: Vector<f64>,
    rows: Range<usize>,
    columns: Range<usize>,
    kernels: Kernels<T>,
}

/// Along rows and across them.
enum Kernels<T: Scalar> {
    Ampere(TypedKernel<ampere::Along<T>>, TypedKernel<ampere::Across<T>>),
    Hopper(TypedKernel<hopper::Along<T>>, TypedKernel<hopper::Across<T>>),
}

impl<T: Scalar> Dense<T> {
    /// Columns that make whole chunks in any scalar ([`DenseShape::is_taken`]).
    const CHUNK: usize = 4;

    fn new(gpu: &Arc<Gpu>, matrix: &backend::AxisMatrix<f64>) -> Result<Self> {
        let [first, count] = [&matrix.first, &matrix.count].map(|numbers| |row: usize| numbers[row] as usize);
        let full = || (0..matrix.rows).filter(|&row| count(row) > 0);
        let rows = full().next().unwrap_or(0)..full().next_back().map_or(0, |last| last + 1);
        let begin = full().map(first).min().unwrap_or(0) / Self::CHUNK * Self::CHUNK;
        let end = full().map(|row| first(row) + count(row)).max().unwrap_or(0);
        let columns = begin..end.next_multiple_of(Self::CHUNK).min(matrix.columns);
        let entry = |row: usize, column: usize| {
            let (row, column) = (rows.start + row, columns.start + column);
            let place = column.checked_sub(first(row)).filter(|&t| t < count(row));
            place.map_or(0.0, |t| matrix.entries[t * matrix.rows + row])
        };
        let arranged = dense::arranged(rows.len(), columns.len(), entry);
        let kernels = match gpu.is_hopper() {
            true => {
                let module = hopper::MODULE;
                Kernels::Hopper(TypedKernel::new(gpu, module)?, TypedKernel::new(gpu, module)?)
            }
            false => {
                let module = ampere::MODULE;
                Kernels::Ampere(TypedKernel::new(gpu, module)?, TypedKernel::new(gpu, module)?)
            }
        };
        Ok(Self { matrix: Vector::uploaded(gpu, &arranged)?, rows, columns, kernels })
    }

    /// On tensors of a shape.
    fn shape(&self, AxisShape { outer, rows, columns, inner }: AxisShape) -> DenseShape {
        let [first_row, row_count, first_column, column_count] =
            [self.rows.start, self.rows.len(), self.columns.start, self.columns.len()].map(|size| size as u32);
        DenseShape { outer, rows, columns, inner, first_row, row_count, first_column, column_count }
    }

    /// `y = (I ⊗ Q ⊗ I) x`, or `y += ..` if `add`.
    ///
    /// # Safety
    /// `x` and `y` are of different vectors on this GPU, as long as the shape says, which the kernels [take](DenseShape::is_taken).
    unsafe fn apply(&self, gpu: &Arc<Gpu>, shape: DenseShape, x: *const T, y: *mut T, add: bool) -> Result<()> {
        self.matrix.check(gpu, "matrix", dense::matrix_words(self.rows.len(), self.columns.len()))?;
        let (matrix, add) = (self.matrix.as_ptr(), add.into());
        macro_rules! launch {
            ($kernels:ident, $along:ident, $across:ident) => {
                // SAFETY: the matrix is arranged, and on this GPU, checked above; the vectors are as the caller says.
                unsafe {
                    match shape.inner {
                        1 => $along.launch(gpu, shape.blocks(), $kernels::Along { matrix, x, y, shape, add }),
                        _ => $across.launch(gpu, shape.blocks(), $kernels::Across { matrix, x, y, shape, add }),
                    }
                }
            };
        }
        match &self.kernels {
            Kernels::Ampere(along, across) => launch!(ampere, along, across),
            Kernels::Hopper(along, across) => launch!(hopper, along, across),
        }
    }
}
