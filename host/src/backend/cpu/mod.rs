//! The CPU: all cores by rayon, kernels of [`patchmg_cpu`].
//!
//! Results do not depend on the number of threads: patches of a sweep write to places of their own, and dot products
//! sum up pieces of a fixed length.

mod dense;
pub mod parallel;
mod vector;

use crate::backend::{Backend, BackendName, DeviceInfo, OuterProducts, Program, Scalar, Tensors, WeightedGrid};
use crate::error::{Error, Result, check_at_least, check_length};
use crate::memory::{self, Memory};
use bytemuck::{cast_slice, cast_slice_mut};
use nalgebra::RealField;
use patchmg_cpu::{AxisMatrix, SimdLevel, Sweep, Vectorized, apply_along_axis};
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::any::Any;
use std::num::NonZero;
pub use vector::Vector;

/// Threads at most for each core that the process may use. More than one are of no use to a solve, whose threads compute all
/// the time; a few leave room for tests and for what the system does not know (a share of a core).
pub const THREADS_PER_CORE: usize = 4;

/// Bytes of a thread's stack.
const STACK: usize = 2 << 20;

/// The CPU, with threads of its own.
#[derive(Debug)]
pub struct Cpu {
    pool: ThreadPool,
    simd: SimdLevel,
}

impl Cpu {
    /// With `threads` threads, or as many as there are cores that the process may use.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if `threads` is zero or more than [`THREADS_PER_CORE`] times the cores, or if the system does
    /// not give so many; [`Error::OutOfMemory`] if there is no room for their stacks; [`Error::Unsupported`] for a CPU without
    /// AVX2, if it is an x86-64.
    pub fn new(threads: Option<usize>) -> Result<Self> {
        let simd = SimdLevel::detect().ok_or_else(|| Error::Unsupported {
            backend: "cpu",
            what: "kernels for",
            asked: String::from("a CPU without AVX2"),
            available: String::from(SimdLevel::AVAILABLE),
        })?;
        let count = thread_count(threads)?;
        let invalid = |allowed| Error::InvalidArgument { name: "threads", value: count.to_string(), allowed };
        memory::check((count * STACK) as u64)?;
        let builder = ThreadPoolBuilder::new().num_threads(count).stack_size(STACK);
        let pool = builder
            .thread_name(|index| format!("patchmg-{index}"))
            .build()
            .map_err(|reason| invalid(format!("a number of threads that the system gives ({reason})")))?;
        Ok(Self { pool, simd })
    }

    /// Runs `work` on the threads of this backend, so that its parallel loops stay on them.
    pub fn install<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        self.pool.install(work)
    }

    /// [`Backend::apply_along_axis`], by products of matrices where all rows are full.
    fn apply_along<T: Vectorized + RealField>(
        &self,
        matrix: &AxisMatrix<T>,
        [inner, outer]: [usize; 2],
        x: &[T],
        y: &mut [T],
        add: bool,
    ) {
        match dense::first_column(matrix, inner * outer) {
            Some(first) => self.install(|| dense::apply(matrix, first, [inner, outer], x, y, add)),
            None => apply_along_axis(self.sweep(), matrix, inner, outer, x, y, add),
        }
    }

    /// The loop over patches, on all threads.
    pub(crate) fn sweep(&self) -> Sweep<'_> {
        Sweep { pool: &self.pool, simd: self.simd }
    }
}

/// Threads that [`Cpu::new`] starts.
///
/// # Errors
/// [`Error::InvalidArgument`] if `threads` is zero or more than [`THREADS_PER_CORE`] times the cores.
pub fn thread_count(threads: Option<usize>) -> Result<usize> {
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    let most = THREADS_PER_CORE * cores;
    match threads {
        None => Ok(cores),
        Some(count) if (1..=most).contains(&count) => Ok(count),
        Some(count) => Err(Error::InvalidArgument {
            name: "threads",
            value: count.to_string(),
            allowed: format!("from 1 to {most} here, {THREADS_PER_CORE} for each core that the process may use"),
        }),
    }
}

/// That there are as many coefficients as vectors, all as long as `y`.
fn check_combination<X: Scalar, T: Scalar>(coefficients: &[f64], xs: &[&Vector<X>], y: &Vector<T>) -> Result<()> {
    check_length("coefficients", xs.len(), coefficients.len())?;
    xs.iter().try_for_each(|x| check_length("x", y.len(), x.len()))
}

/// Of the first core.
fn model_name() -> Option<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned()).filter(|name| !name.is_empty())
}

impl Backend for Cpu {
    type Vector<T: Scalar> = Vector<T>;
    type AxisMatrix<T: Scalar> = AxisMatrix<T>;
    type Recording = ();

    fn info(&self) -> DeviceInfo {
        let memory = Memory::now();
        DeviceInfo {
            backend: BackendName::Cpu,
            name: model_name().unwrap_or_else(|| std::env::consts::ARCH.into()),
            units: self.pool.current_num_threads(),
            memory: memory.total,
            memory_free: memory.free,
            architecture: String::from(self.simd.name()),
            driver: None,
            cuda_api: None,
            rates: None,
        }
    }

    fn install<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        self.install(work)
    }

    fn zeros<T: Scalar>(&self, len: usize) -> Result<Vector<T>> {
        Vector::zeros(len)
    }

    fn len<T: Scalar>(&self, vector: &Vector<T>) -> usize {
        vector.len()
    }

    fn upload<T: Scalar>(&self, host: &[T], vector: &mut Vector<T>) -> Result<()> {
        check_length("host vector", vector.len(), host.len())?;
        vector.copy_from_slice(host);
        Ok(())
    }

    fn download<T: Scalar>(&self, vector: &Vector<T>, host: &mut [T]) -> Result<()> {
        check_length("host vector", vector.len(), host.len())?;
        host.copy_from_slice(vector);
        Ok(())
    }

    fn synchronize(&self) -> Result<()> {
        Ok(())
    }

    fn set_zero<T: Scalar>(&self, x: &mut Vector<T>) -> Result<()> {
        self.for_pieces(x, |_, x| x.fill(T::ZERO));
        Ok(())
    }

    fn convert<S: Scalar, T: Scalar>(&self, alpha: f64, x: &Vector<S>, y: &mut Vector<T>) -> Result<()> {
        check_length("x", y.len(), x.len())?;
        self.for_pieces(y, |place, y| {
            for (y, &x) in y.iter_mut().zip(&x[place]) {
                *y = T::from_f64(alpha * x.to_f64());
            }
        });
        Ok(())
    }

    fn axpby_first<T: Scalar>(
        &self,
        entries: usize,
        alpha: f64,
        x: &Vector<T>,
        beta: f64,
        y: &mut Vector<T>,
    ) -> Result<()> {
        check_length("x", y.len(), x.len())?;
        check_at_least("y", entries, y.len())?;
        let (alpha, overwrite, beta) = (T::from_f64(alpha), beta == 0.0, T::from_f64(beta));
        self.for_pieces(&mut y[..entries], |place, y| {
            for (y, &x) in y.iter_mut().zip(&x[place]) {
                *y = if overwrite { alpha * x } else { alpha * x + beta * *y };
            }
        });
        Ok(())
    }

    fn diagonal_axpby_first<T: Scalar>(
        &self,
        entries: usize,
        alpha: f64,
        d: &Vector<T>,
        x: &Vector<T>,
        beta: f64,
        y: &mut Vector<T>,
    ) -> Result<()> {
        check_length("d", y.len(), d.len())?;
        check_length("x", y.len(), x.len())?;
        check_at_least("y", entries, y.len())?;
        let (alpha, overwrite, beta) = (T::from_f64(alpha), beta == 0.0, T::from_f64(beta));
        self.for_pieces(&mut y[..entries], |place, y| {
            for ((y, &d), &x) in y.iter_mut().zip(&d[place.clone()]).zip(&x[place]) {
                *y = if overwrite { alpha * d * x } else { alpha * d * x + beta * *y };
            }
        });
        Ok(())
    }

    fn divide<T: Scalar>(&self, x: &Vector<T>, d: &Vector<T>, y: &mut Vector<T>) -> Result<()> {
        check_length("d", y.len(), d.len())?;
        check_length("x", y.len(), x.len())?;
        self.for_pieces(y, |place, y| {
            for ((y, &d), &x) in y.iter_mut().zip(&d[place.clone()]).zip(&x[place]) {
                *y = if d == T::ZERO { T::ZERO } else { x / d };
            }
        });
        Ok(())
    }

    fn dots<T: Scalar>(&self, xs: &[&Vector<T>], y: &Vector<T>) -> Result<Vec<f64>> {
        for x in xs {
            check_length("x", y.len(), x.len())?;
        }
        Ok(self.sum_pieces(xs.len(), y.len(), |place, sums| {
            for (sum, x) in sums.iter_mut().zip(xs) {
                *sum = vector::dot(&x[place.clone()], &y[place.clone()]);
            }
        }))
    }

    fn combine<X: Scalar, T: Scalar>(
        &self,
        coefficients: &[f64],
        xs: &[&Vector<X>],
        beta: f64,
        y: &mut Vector<T>,
    ) -> Result<()> {
        check_combination(coefficients, xs, y)?;
        self.for_pieces(y, |place, y| vector::combine(coefficients, xs, place, beta, y));
        Ok(())
    }

    fn combine_dots<T: Scalar>(&self, coefficients: &[f64], xs: &[&Vector<T>], y: &mut Vector<T>) -> Result<Vec<f64>> {
        check_combination(coefficients, xs, y)?;
        Ok(self.sum_pieces_of(xs.len() + 1, y, |place, y, sums| {
            vector::combine(coefficients, xs, place.clone(), 1.0, y);
            let others = xs.iter().map(|x| &x[place.clone()]);
            for (sum, x) in sums.iter_mut().zip(others) {
                *sum = vector::dot(x, y);
            }
            sums[xs.len()] = vector::dot(y, y);
        }))
    }

    fn norm_rounded<T: Scalar>(&self, x: &Vector<T>, rounded: &mut Vector<f32>) -> Result<f64> {
        check_length("x", rounded.len(), x.len())?;
        let squares = self.sum_pieces_of(1, rounded, |place, rounded, sums| {
            let x = &x[place];
            rounded.iter_mut().zip(x).for_each(|(rounded, x)| *rounded = x.to_f64() as f32);
            sums[0] = vector::dot(x, x);
        });
        Ok(squares[0].sqrt())
    }

    fn axis_matrix<T: Scalar>(&self, matrix: &AxisMatrix<f64>) -> Result<AxisMatrix<T>> {
        Ok(matrix.rounded())
    }

    fn apply_along_axis<T: Scalar>(
        &self,
        matrix: &AxisMatrix<T>,
        Tensors { inner, outer, from, to }: Tensors,
        x: &Vector<T>,
        y: &mut Vector<T>,
        add: bool,
    ) -> Result<()> {
        check_at_least("x", from + outer * matrix.columns * inner, x.len())?;
        check_at_least("y", to + outer * matrix.rows * inner, y.len())?;
        let (x, y) = (&x[from..], &mut y[to..]);
        // Kernels are compiled for `f32` and `f64`, not for any `T`.
        if let Some(matrix) = (matrix as &dyn Any).downcast_ref::<AxisMatrix<f32>>() {
            self.apply_along(matrix, [inner, outer], cast_slice(x), cast_slice_mut(y), add);
        } else if let Some(matrix) = (matrix as &dyn Any).downcast_ref::<AxisMatrix<f64>>() {
            self.apply_along(matrix, [inner, outer], cast_slice(x), cast_slice_mut(y), add);
        }
        Ok(())
    }

    fn outer_products<T: Scalar>(&self, tensor: &OuterProducts, y: &mut Vector<T>, add: bool) -> Result<()> {
        check_at_least("y", tensor.len(), y.len())?;
        self.install(|| tensor.evaluate(y, add));
        Ok(())
    }

    fn evaluate<T: Scalar>(
        &self,
        f: &Program,
        grid: &WeightedGrid,
        derivative: Option<usize>,
        y: &mut Vector<T>,
        subtract: bool,
    ) -> Result<()> {
        grid.check(derivative, y.len())?;
        self.install(|| grid.evaluate(f, derivative, &mut y[..grid.len()], subtract));
        Ok(())
    }
}

#[cfg(test)]
mod tests;
