//! Launches of the vector operations. Arguments are those of `patchmg_device::entries`, in that order, each by value.

use super::gpu::Gpu;
use super::launch::{Kernel, stride_blocks};
use super::memory::Vector;
use super::pinned::Pinned;
use crate::backend::Scalar;
use crate::error::Result;
use bytemuck::bytes_of;
use cust::sys::CUdeviceptr;
use patchmg_device::blas1::{DOT_BLOCKS, PARTIAL_ROWS, VECTORS};
use patchmg_device::kernels::{Module, Operation};
use patchmg_device::scalar::Real;
use std::sync::Arc;

/// Blocks of a vector operation for each multiprocessor: as many as are resident, twice.
const BLOCKS_PER_MULTIPROCESSOR: u32 = 16;

/// Vector operations in one scalar, compiled when they are launched first.
pub(super) struct Blas1 {
    axpby: Kernel,
    diagonal_axpby: Kernel,
    divide: Kernel,
    convert: Kernel,
    dots: Kernel,
    sum_partials: Kernel,
    combine: Kernel,
    combine_rounded: Kernel,
    combine_dots: Kernel,
    /// Only in `f64`.
    norm_rounded: Option<Kernel>,
}

impl Blas1 {
    pub fn new<T: Scalar>(gpu: &Gpu) -> Self {
        let of_spec = |spec| Kernel::new(gpu, Module::Blas1, spec, |_| Ok(Vec::new()));
        let kernel = |operation| of_spec(Module::Blas1.kernel::<T>(operation));
        Self {
            axpby: kernel(Operation::Axpby),
            diagonal_axpby: kernel(Operation::DiagonalAxpby),
            divide: kernel(Operation::Divide),
            convert: kernel(Operation::Convert),
            dots: kernel(Operation::Dots),
            sum_partials: of_spec(Module::Blas1.kernel::<f64>(Operation::SumPartials)),
            combine: kernel(Operation::Combine),
            combine_rounded: kernel(Operation::CombineRounded),
            combine_dots: kernel(Operation::CombineDots),
            norm_rounded: (T::NAME == f64::NAME).then(|| kernel(Operation::NormRounded)),
        }
    }

    /// `y = alpha x + beta y` for the first `n` entries.
    pub fn axpby<T: Scalar>(
        &self,
        gpu: &Arc<Gpu>,
        n: usize,
        alpha: f64,
        x: &Vector<T>,
        beta: f64,
        y: &mut Vector<T>,
    ) -> Result<()> {
        x.check(gpu, "x", y.len())?;
        y.check_at_least(gpu, "y", n)?;
        let Some(blocks) = elementwise(gpu, &self.axpby, n) else { return Ok(()) };
        let (alpha, beta, n) = (T::from_f64(alpha), T::from_f64(beta), n as u64);
        let (x, y) = (x.pointer(), y.pointer());
        let arguments = [bytes_of(&alpha), bytes_of(&x), bytes_of(&beta), bytes_of(&y), bytes_of(&n)];
        // SAFETY: two vectors of `n` entries or more, checked above.
        unsafe { self.axpby.launch(gpu, blocks, arguments) }
    }

    /// `y = alpha D x + beta y` for the first `n` entries.
    #[allow(clippy::too_many_arguments)] // a kernel's
    pub fn diagonal_axpby<T: Scalar>(
        &self,
        gpu: &Arc<Gpu>,
        n: usize,
        alpha: f64,
        d: &Vector<T>,
        x: &Vector<T>,
        beta: f64,
        y: &mut Vector<T>,
    ) -> Result<()> {
        d.check(gpu, "d", y.len())?;
        x.check(gpu, "x", y.len())?;
        y.check_at_least(gpu, "y", n)?;
        let Some(blocks) = elementwise(gpu, &self.diagonal_axpby, n) else { return Ok(()) };
        let (alpha, beta, n) = (T::from_f64(alpha), T::from_f64(beta), n as u64);
        let (d, x, y) = (d.pointer(), x.pointer(), y.pointer());
        let arguments = [bytes_of(&alpha), bytes_of(&d), bytes_of(&x), bytes_of(&beta), bytes_of(&y), bytes_of(&n)];
        // SAFETY: three vectors of `n` entries or more, checked above.
        unsafe { self.diagonal_axpby.launch(gpu, blocks, arguments) }
    }

    /// `y = D⁻¹ x`, 0 where `d` is 0.
    pub fn divide<T: Scalar>(&self, gpu: &Arc<Gpu>, x: &Vector<T>, d: &Vector<T>, y: &mut Vector<T>) -> Result<()> {
        x.check(gpu, "x", y.len())?;
        d.check(gpu, "d", y.len())?;
        y.check(gpu, "y", y.len())?;
        let Some(blocks) = elementwise(gpu, &self.divide, y.len()) else { return Ok(()) };
        let (x, d, y, n) = (x.pointer(), d.pointer(), y.pointer(), y.len() as u64);
        let arguments = [bytes_of(&x), bytes_of(&d), bytes_of(&y), bytes_of(&n)];
        // SAFETY: three vectors of `n` entries, checked above.
        unsafe { self.divide.launch(gpu, blocks, arguments) }
    }

    /// `y = alpha x`, `S` and `T` not the same; of the operations of `T`.
    pub fn convert<S: Scalar, T: Scalar>(
        &self,
        gpu: &Arc<Gpu>,
        alpha: f64,
        x: &Vector<S>,
        y: &mut Vector<T>,
    ) -> Result<()> {
        assert_ne!(S::NAME, T::NAME);
        x.check(gpu, "x", y.len())?;
        y.check(gpu, "y", y.len())?;
        let Some(blocks) = elementwise(gpu, &self.convert, y.len()) else { return Ok(()) };
        let (x, n, y) = (x.pointer(), y.len() as u64, y.pointer());
        // SAFETY: two vectors of `n` entries, checked above, `x` in the other scalar.
        unsafe { self.convert.launch(gpu, blocks, [bytes_of(&alpha), bytes_of(&x), bytes_of(&y), bytes_of(&n)]) }
    }

    /// `sums[first + j] = x_j · y`, over the first `n` entries, for at most [`VECTORS`] vectors, by `partials`, [`DOT_BLOCKS`] for each.
    #[allow(clippy::too_many_arguments)] // a kernel's
    pub fn dots<T: Scalar>(
        &self,
        gpu: &Arc<Gpu>,
        n: usize,
        xs: &[&Vector<T>],
        y: &Vector<T>,
        partials: &mut Vector<f64>,
        sums: &mut Pinned,
        first: usize,
    ) -> Result<()> {
        let (pointers, count) = pointers(gpu, xs, y)?;
        partials.check(gpu, "partial sums", PARTIAL_ROWS * DOT_BLOCKS)?;
        y.check_at_least(gpu, "y", n)?;
        let (n, y, pointer) = (n as u64, y.pointer(), partials.pointer());
        let arguments = [bytes_of(&pointers), bytes_of(&count), bytes_of(&y), bytes_of(&n), bytes_of(&pointer)];
        // SAFETY: `count` vectors and `y` of `n` entries or more, `partials` of `VECTORS` rows and more, checked above.
        unsafe { self.dots.launch(gpu, [DOT_BLOCKS as u32, 1, 1], arguments)? };
        self.sum_rows(gpu, count, partials, sums, first)
    }

    /// `sums[first + row]` becomes the sum of a row of `partials`, for the first `count` of at most [`PARTIAL_ROWS`] rows.
    fn sum_rows(
        &self,
        gpu: &Arc<Gpu>,
        count: u32,
        partials: &Vector<f64>,
        sums: &mut Pinned,
        first: usize,
    ) -> Result<()> {
        assert!(count as usize <= PARTIAL_ROWS && first + count as usize <= sums.len());
        let (partials, out) = (partials.pointer(), sums.pointer() + (first * size_of::<f64>()) as u64);
        // SAFETY: the callers checked that `partials` has `PARTIAL_ROWS` rows, and `out` has room for `count` sums.
        unsafe { self.sum_partials.launch(gpu, [count, 1, 1], [bytes_of(&partials), bytes_of(&out)]) }
    }

    /// `y = beta y + sum_j c_j x_j` for at most [`VECTORS`] vectors, in the same scalar or in the other one, and as many coefficients; of the
    /// operations of `T`.
    pub fn combine<X: Scalar, T: Scalar>(
        &self,
        gpu: &Arc<Gpu>,
        coefficients: &[f64],
        xs: &[&Vector<X>],
        beta: f64,
        y: &mut Vector<T>,
    ) -> Result<()> {
        let (pointers, count) = pointers(gpu, xs, y)?;
        let kernel = if X::NAME == T::NAME { &self.combine } else { &self.combine_rounded };
        let Some(blocks) = elementwise(gpu, kernel, y.len()) else { return Ok(()) };
        let (factors, n, y) = (padded(coefficients), y.len() as u64, y.pointer());
        let arguments =
            [bytes_of(&factors), bytes_of(&pointers), bytes_of(&count), bytes_of(&beta), bytes_of(&y), bytes_of(&n)];
        // SAFETY: `count` vectors and `y` of `n` entries in the kernel's scalars, checked above.
        unsafe { kernel.launch(gpu, blocks, arguments) }
    }

    /// `y += sum_j c_j x_j` for at most [`VECTORS`] vectors, then `sums[j] = x_j · y` and, behind these, `y · y`.
    #[allow(clippy::too_many_arguments)] // a kernel's
    pub fn combine_dots<T: Scalar>(
        &self,
        gpu: &Arc<Gpu>,
        coefficients: &[f64],
        xs: &[&Vector<T>],
        y: &mut Vector<T>,
        partials: &mut Vector<f64>,
        sums: &mut Pinned,
    ) -> Result<()> {
        let (pointers, count) = pointers(gpu, xs, y)?;
        partials.check(gpu, "partial sums", PARTIAL_ROWS * DOT_BLOCKS)?;
        let (factors, n, y_at, pointer) = (padded(coefficients), y.len() as u64, y.pointer(), partials.pointer());
        let arguments = [
            bytes_of(&factors),
            bytes_of(&pointers),
            bytes_of(&count),
            bytes_of(&y_at),
            bytes_of(&n),
            bytes_of(&pointer),
        ];
        // SAFETY: `count` vectors and `y` of `n` entries, `partials` of `PARTIAL_ROWS` rows, checked above.
        unsafe { self.combine_dots.launch(gpu, [DOT_BLOCKS as u32, 1, 1], arguments)? };
        self.sum_rows(gpu, count + 1, partials, sums, 0)
    }

    /// `rounded = x`, and `sums[0] = x · x`. False, and nothing is done, where there is no kernel for it.
    pub fn norm_rounded<T: Scalar>(
        &self,
        gpu: &Arc<Gpu>,
        x: &Vector<T>,
        rounded: &mut Vector<f32>,
        partials: &mut Vector<f64>,
        sums: &mut Pinned,
    ) -> Result<bool> {
        let Some(kernel) = &self.norm_rounded else { return Ok(false) };
        x.check(gpu, "x", rounded.len())?;
        rounded.check(gpu, "rounded", rounded.len())?;
        partials.check(gpu, "partial sums", PARTIAL_ROWS * DOT_BLOCKS)?;
        let (n, x, rounded, pointer) = (x.len() as u64, x.pointer(), rounded.pointer(), partials.pointer());
        let arguments = [bytes_of(&x), bytes_of(&rounded), bytes_of(&n), bytes_of(&pointer)];
        // SAFETY: two vectors of `n` entries, `partials` of `PARTIAL_ROWS` rows, checked above.
        unsafe { kernel.launch(gpu, [DOT_BLOCKS as u32, 1, 1], arguments)? };
        self.sum_rows(gpu, 1, partials, sums, 0)?;
        Ok(true)
    }
}

/// At most [`VECTORS`] coefficients, and zeros.
fn padded(coefficients: &[f64]) -> [f64; VECTORS] {
    let mut factors = [0.0; VECTORS];
    factors[..coefficients.len()].copy_from_slice(coefficients);
    factors
}

/// Addresses of at most [`VECTORS`] vectors as long as `y`, and their number.
fn pointers<X: Scalar, T: Scalar>(
    gpu: &Arc<Gpu>,
    xs: &[&Vector<X>],
    y: &Vector<T>,
) -> Result<([CUdeviceptr; VECTORS], u32)> {
    assert!(xs.len() <= VECTORS);
    y.check(gpu, "y", y.len())?;
    let mut pointers = [0; VECTORS];
    for (pointer, x) in pointers.iter_mut().zip(xs) {
        x.check(gpu, "x", y.len())?;
        *pointer = x.pointer();
    }
    Ok((pointers, xs.len() as u32))
}

/// Blocks for an operation on `n` entries, which goes on in strides of the grid; none if there is no entry.
fn elementwise(gpu: &Gpu, kernel: &Kernel, n: usize) -> Option<[u32; 3]> {
    stride_blocks(n, kernel.spec().threads, gpu.multiprocessors() * BLOCKS_PER_MULTIPROCESSOR)
}
