//! NVIDIA GPUs, through `cust` and the driver alone: no CUDA toolkit to build or to run, and the program starts where
//! there is no driver, too.

mod axis;
mod blas1;
mod calls;
mod device;
mod driver_version;
mod event;
mod expression;
pub(crate) mod gpu;
pub(crate) mod launch;
mod library;
mod memory;
pub(crate) mod modules;
mod outer;
mod pinned;
mod recording;
pub(crate) mod texture;

pub use axis::AxisMatrix;
pub use device::devices;
pub use event::Event;
pub use memory::Vector;
pub use modules::{Modules, add_modules, module_names, ptx};
pub use recording::Recording;

use super::{Backend, DeviceInfo, Program, Scalar, Tensors, WeightedGrid};
use crate::error::{Result, check_length};
use crate::sync::lock;
use blas1::Blas1;
use gpu::Gpu;
use patchmg_device::blas1::{DOT_BLOCKS, PARTIAL_ROWS, VECTORS};
use pinned::Pinned;
use std::any::Any;
use std::sync::{Arc, Mutex, OnceLock};

/// Dot products that are brought to the host together, a multiple of [`VECTORS`].
const SUMS: usize = 32 * VECTORS;

/// One GPU. Everything runs on one stream, so results are the same, bit for bit, in every run.
///
/// Calls return when the work is asked for, not when it is done; what reads a result waits. A wait of ten minutes is
/// taken for a kernel that hangs: it and every later call give [`Error::Timeout`](crate::Error::Timeout).
pub struct Cuda {
    pub(crate) gpu: Arc<Gpu>,
    /// Vector operations in `f32` and in `f64`, when they are first needed.
    blas1: [OnceLock<Blas1>; 2],
    sums: Mutex<Sums>,
}

/// Where dot products are summed up.
struct Sums {
    partials: Vector<f64>,
    sums: Pinned,
}

impl Cuda {
    /// Device `number`, counted from 0 in the order of [`devices`].
    ///
    /// # Errors
    /// [`Error::NoDevice`](crate::Error::NoDevice), with the reason: no driver, no device of that number, or one older than compute capability
    /// 8.0.
    pub fn new(number: usize) -> Result<Self> {
        let gpu = Arc::new(Gpu::open(number)?);
        let sums = Sums { partials: Vector::zeros(&gpu, PARTIAL_ROWS * DOT_BLOCKS)?, sums: Pinned::zeros(&gpu, SUMS)? };
        Ok(Self { gpu, blas1: Default::default(), sums: Mutex::new(sums) })
    }

    fn blas1<T: Scalar>(&self) -> &Blas1 {
        let cell = &self.blas1[usize::from(size_of::<T>() == size_of::<f64>())];
        cell.get_or_init(|| Blas1::new::<T>(&self.gpu))
    }

    /// Norm of the first entries of a vector, so many, which become zero.
    pub(crate) fn take_norm<T: Scalar>(&self, entries: usize, x: &mut Vector<T>) -> Result<f64> {
        let mut square = [0.0];
        let mut guard = lock(&self.sums);
        let Sums { partials, sums } = &mut *guard;
        self.blas1::<T>().dots(&self.gpu, entries, &[x], x, partials, sums, 0)?;
        if !self.gpu.announces_here() {
            x.clear_first(entries)?;
        }
        sums.read(&mut square)?;
        Ok(square[0].sqrt())
    }
}

impl Backend for Cuda {
    type Vector<T: Scalar> = Vector<T>;
    type AxisMatrix<T: Scalar> = AxisMatrix<T>;
    type Recording = Recording;

    fn info(&self) -> DeviceInfo {
        self.gpu.info()
    }

    fn zeros<T: Scalar>(&self, len: usize) -> Result<Vector<T>> {
        Vector::zeros(&self.gpu, len)
    }

    fn len<T: Scalar>(&self, vector: &Vector<T>) -> usize {
        vector.len()
    }

    fn upload<T: Scalar>(&self, host: &[T], vector: &mut Vector<T>) -> Result<()> {
        vector.check(&self.gpu, "vector", host.len())?;
        vector.write(host)
    }

    fn download<T: Scalar>(&self, vector: &Vector<T>, host: &mut [T]) -> Result<()> {
        vector.check(&self.gpu, "vector", host.len())?;
        vector.read(host)
    }

    fn synchronize(&self) -> Result<()> {
        self.gpu.wait()
    }

    /// Between two events on the stream.
    fn time(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<f64> {
        self.synchronize()?;
        let start = Event::record(self)?;
        work()?;
        Ok(1e-3 * Event::record(self)?.milliseconds_since(&start)?)
    }

    fn set_zero<T: Scalar>(&self, x: &mut Vector<T>) -> Result<()> {
        x.check(&self.gpu, "x", x.len())?;
        if self.gpu.announces_here() { Ok(()) } else { x.clear() }
    }

    fn convert<S: Scalar, T: Scalar>(&self, alpha: f64, x: &Vector<S>, y: &mut Vector<T>) -> Result<()> {
        if let Some(x) = (x as &dyn Any).downcast_ref::<Vector<T>>() {
            return self.axpby(alpha, x, 0.0, y);
        }
        self.blas1::<T>().convert(&self.gpu, alpha, x, y)
    }

    fn axpby_first<T: Scalar>(
        &self,
        entries: usize,
        alpha: f64,
        x: &Vector<T>,
        beta: f64,
        y: &mut Vector<T>,
    ) -> Result<()> {
        self.blas1::<T>().axpby(&self.gpu, entries, alpha, x, beta, y)
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
        self.blas1::<T>().diagonal_axpby(&self.gpu, entries, alpha, d, x, beta, y)
    }

    fn divide<T: Scalar>(&self, x: &Vector<T>, d: &Vector<T>, y: &mut Vector<T>) -> Result<()> {
        self.blas1::<T>().divide(&self.gpu, x, d, y)
    }

    fn dots<T: Scalar>(&self, xs: &[&Vector<T>], y: &Vector<T>) -> Result<Vec<f64>> {
        let operations = self.blas1::<T>();
        let mut guard = lock(&self.sums);
        let Sums { partials, sums } = &mut *guard;
        let mut result = vec![0.0; xs.len()];
        for (xs, result) in xs.chunks(SUMS).zip(result.chunks_mut(SUMS)) {
            for (index, xs) in xs.chunks(VECTORS).enumerate() {
                operations.dots(&self.gpu, y.len(), xs, y, partials, sums, index * VECTORS)?;
            }
            sums.read(result)?;
        }
        Ok(result)
    }

    fn combine<X: Scalar, T: Scalar>(
        &self,
        coefficients: &[f64],
        xs: &[&Vector<X>],
        beta: f64,
        y: &mut Vector<T>,
    ) -> Result<()> {
        check_length("coefficients", xs.len(), coefficients.len())?;
        let operations = self.blas1::<T>();
        let (coefficients, more_coefficients) = coefficients.split_at(VECTORS.min(xs.len()));
        let (xs, more_xs) = xs.split_at(coefficients.len());
        operations.combine(&self.gpu, coefficients, xs, beta, y)?;
        for (coefficients, xs) in more_coefficients.chunks(VECTORS).zip(more_xs.chunks(VECTORS)) {
            operations.combine(&self.gpu, coefficients, xs, 1.0, y)?;
        }
        Ok(())
    }

    fn combine_dots<T: Scalar>(&self, coefficients: &[f64], xs: &[&Vector<T>], y: &mut Vector<T>) -> Result<Vec<f64>> {
        if xs.len() > VECTORS {
            self.combine(coefficients, xs, 1.0, y)?;
            let mut products = self.dots(xs, y)?;
            products.push(self.dot(y, y)?);
            return Ok(products);
        }
        check_length("coefficients", xs.len(), coefficients.len())?;
        let operations = self.blas1::<T>();
        let mut guard = lock(&self.sums);
        let Sums { partials, sums } = &mut *guard;
        operations.combine_dots(&self.gpu, coefficients, xs, y, partials, sums)?;
        let mut products = vec![0.0; xs.len() + 1];
        sums.read(&mut products)?;
        Ok(products)
    }

    fn norm_rounded<T: Scalar>(&self, x: &Vector<T>, rounded: &mut Vector<f32>) -> Result<f64> {
        let mut square = [0.0];
        let mut guard = lock(&self.sums);
        let Sums { partials, sums } = &mut *guard;
        if self.blas1::<T>().norm_rounded(&self.gpu, x, rounded, partials, sums)? {
            sums.read(&mut square)?;
            return Ok(square[0].sqrt());
        }
        drop(guard);
        self.convert(1.0, x, rounded)?;
        self.norm(x)
    }

    fn axis_matrix<T: Scalar>(&self, matrix: &super::AxisMatrix<f64>) -> Result<AxisMatrix<T>> {
        AxisMatrix::new(&self.gpu, matrix)
    }

    fn dense_axis_matrix<T: Scalar>(&self, matrix: &super::AxisMatrix<f64>) -> Result<AxisMatrix<T>> {
        AxisMatrix::for_tensor_cores(&self.gpu, matrix)
    }

    fn apply_along_axis<T: Scalar>(
        &self,
        matrix: &AxisMatrix<T>,
        tensors: Tensors,
        x: &Vector<T>,
        y: &mut Vector<T>,
        add: bool,
    ) -> Result<()> {
        matrix.apply(&self.gpu, tensors, x, y, add)
    }

    fn outer_products<T: Scalar>(&self, tensor: &super::OuterProducts, y: &mut Vector<T>, add: bool) -> Result<()> {
        outer::outer_products(&self.gpu, tensor, y, add)
    }

    fn evaluate<T: Scalar>(
        &self,
        f: &Program,
        grid: &WeightedGrid,
        derivative: Option<usize>,
        y: &mut Vector<T>,
        subtract: bool,
    ) -> Result<()> {
        expression::evaluate(&self.gpu, f, grid, derivative, y, subtract)
    }

    fn announce(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        // While another thread announces, kernels are compiled one by one.
        let Some(_announcing) = self.gpu.begin_announcing() else { return Ok(()) };
        work()
    }

    fn prepare_announced(&self) {
        lock(&self.gpu.library).load_promised(&self.gpu);
    }

    fn record(&self, recording: &mut Option<Recording>, work: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        *recording = Recording::of(&self.gpu, work)?;
        Ok(())
    }

    fn repeat(&self, recording: &mut Option<Recording>, work: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        if self.gpu.records_here() || self.gpu.announces_here() {
            return work();
        }
        if !recording.as_ref().is_some_and(|recording| recording.is_valid(&self.gpu)) {
            self.record(recording, work)?;
        }
        match recording {
            // SAFETY: valid, or made just now. Memory that other threads free meanwhile is not that of this work, whose vectors
            // the caller holds.
            Some(recording) => unsafe { recording.launch() },
            None => work(),
        }
    }

    fn take_launched(&self) -> Vec<String> {
        self.gpu.take_launched()
    }
}
