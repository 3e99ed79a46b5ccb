//! The contraction with all operands in shared memory (paper 1, listings 1 and 2).

use super::order::Outputs;
use crate::kernels::Variant;
use crate::layout::Shared;
use crate::scalar::Real;
use cuda_std::hint::opaque;
use cuda_std::shared::Word;

/// A 1D matrix in shared memory, row-major.
#[derive(Clone, Copy)]
pub struct Matrix<T> {
    entries: Shared<T>,
    start: usize,
    width: usize,
    transposed: bool,
}

impl<T: Real + Word> Matrix<T> {
    /// `width` by `width`, from word `start` on.
    #[inline(always)]
    pub fn new(entries: Shared<T>, start: usize, width: usize) -> Self {
        Self { entries, start, width, transposed: false }
    }

    #[inline(always)]
    pub fn transposed(self) -> Self {
        Self { transposed: !self.transposed, ..self }
    }

    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn get(self, row: usize, column: usize) -> T {
        let (row, column) = if self.transposed { (column, row) } else { (row, column) };
        self.entries.get(self.start + self.width * row + column)
    }
}

/// A tensor in shared memory: `x + row y + plane z` from word `start` on.
#[derive(Clone, Copy)]
pub struct Tensor<T> {
    entries: Shared<T>,
    start: usize,
    row: usize,
    plane: usize,
}

impl<T: Real + Word> Tensor<T> {
    /// Contiguous, `width` entries in x and in y.
    #[inline(always)]
    pub fn new(entries: Shared<T>, start: usize, width: usize) -> Self {
        Self { entries, start, row: width, plane: width * width }
    }

    /// The interior of a tensor of all nodes, in `dim` dimensions.
    #[inline(always)]
    pub fn interior(self, dim: usize) -> Self {
        let plane = if dim == 3 { self.plane } else { 0 };
        Self { start: self.start + 1 + self.row + plane, ..self }
    }

    /// Without the first entry of each row.
    #[inline(always)]
    pub fn without_first(self) -> Self {
        Self { start: self.start + 1, ..self }
    }

    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn get(self, [x, y, z]: [usize; 3]) -> T {
        self.entries.get(self.start + x + self.row * y + self.plane * z)
    }

    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn set(self, [x, y, z]: [usize; 3], value: T) {
        self.entries.set(self.start + x + self.row * y + self.plane * z, value);
    }
}

/// `sums[l] += sum_k C[p_d][k] input[p with p_d = k]`, `p` being the point of layer `l` and `d` the direction.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn contract<T: Real + Word, const L: usize>(
    variant: Variant,
    direction: usize,
    matrix: Matrix<T>,
    input: Tensor<T>,
    outputs: Outputs,
    sums: &mut [T; L],
) {
    let from = |layer: usize, k: usize| {
        let mut point = outputs.point(variant, direction, layer);
        point[direction] = k;
        point
    };
    let row = |layer: usize| outputs.point(variant, direction, layer)[direction];
    // A dozen contractions, unrolled both ways, would not fit the instruction cache.
    let width = if outputs.count == 1 { matrix.width } else { opaque(matrix.width as u32) as usize };
    for k in 0..width {
        if row(0) == row(1) {
            let coefficient = matrix.get(row(0), k);
            for layer in 0..outputs.count {
                sums[layer] = T::fma(coefficient, input.get(from(layer, k)), sums[layer]);
            }
        } else {
            let value = input.get(from(0, k));
            for layer in 0..outputs.count {
                sums[layer] = T::fma(matrix.get(row(layer), k), value, sums[layer]);
            }
        }
    }
}

/// Stores a thread's sums at its points.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn store<T: Real + Word, const L: usize>(
    variant: Variant,
    direction: usize,
    output: Tensor<T>,
    outputs: Outputs,
    sums: &[T; L],
) {
    for layer in 0..outputs.count {
        output.set(outputs.point(variant, direction, layer), sums[layer]);
    }
}
