//! What a machine can do. The method is written once over [`Backend`] and
//! [`Level`](crate::level::Level), and names neither machine.

pub mod cpu;
#[cfg(feature = "cuda")]
pub mod cuda;
mod outer;
mod program;

use crate::error::Result;
pub use outer::OuterProducts;
pub use patchmg_cpu::AxisMatrix;
pub use patchmg_device::scalar::Real;
pub use program::{Function, Operation, Program, Step, WeightedGrid};
use std::fmt;

/// A scalar that vectors on every backend can have: `f32` or `f64`, and no other.
pub trait Scalar: Real + sealed::Sealed {}
impl Scalar for f32 {}
impl Scalar for f64 {}

/// Half of the distance from 1 to the next number.
pub(crate) fn unit_roundoff<T: Scalar>() -> f64 {
    0.5 * if size_of::<T>() == size_of::<f64>() { f64::EPSILON } else { f64::from(f32::EPSILON) }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// Which backend computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BackendName {
    /// Threads and SIMD.
    Cpu,
    /// An NVIDIA GPU.
    Cuda,
}

impl BackendName {
    /// As on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Cuda => "cuda",
        }
    }

    /// Whether its memory is its own, and its kernels are launched.
    pub fn is_gpu(self) -> bool {
        self != Self::Cpu
    }
}

impl fmt::Display for BackendName {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What `patchmg info` and results say of a machine.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct DeviceInfo {
    pub backend: BackendName,
    /// Model name.
    pub name: String,
    /// Threads of a CPU, multiprocessors of a GPU.
    pub units: usize,
    /// Bytes of memory, in all and free.
    pub memory: u64,
    /// Bytes free now.
    pub memory_free: u64,
    /// SIMD level of a CPU, compute capability of a GPU.
    pub architecture: String,
    /// Version of a GPU's driver, for example `580.159.04`; none if nothing tells it.
    pub driver: Option<String>,
    /// Newest version of the CUDA API that a GPU's driver has, for example `13.0`.
    pub cuda_api: Option<String>,
    /// Of a GPU whose driver tells.
    pub rates: Option<GpuRates>,
}

/// Clocks and widths of a GPU: what its peak rates come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct GpuRates {
    pub multiprocessors: u64,
    /// Highest clock of the multiprocessors.
    pub clock_khz: u64,
    pub memory_clock_khz: u64,
    /// Width of the bus to memory.
    pub memory_bus_bits: u64,
    /// Fused multiply-adds in `f32` that a multiprocessor starts a clock.
    pub f32_lanes: u64,
    /// The same in `f64`.
    pub f64_lanes: u64,
}

impl GpuRates {
    /// Floating-point operations a second in a scalar of `bytes` bytes, a fused multiply-add being two; without tensor
    /// cores.
    pub fn flops(&self, bytes: usize) -> f64 {
        let lanes = if bytes == size_of::<f64>() { self.f64_lanes } else { self.f32_lanes };
        2e3 * (self.multiprocessors * lanes * self.clock_khz) as f64
    }

    /// Bytes a second that shared memory delivers: 32 banks of 4 bytes a clock and multiprocessor (paper 1, section 4.3).
    pub fn shared_memory(&self) -> f64 {
        1e3 * (self.multiprocessors * 32 * 4 * self.clock_khz) as f64
    }

    /// Bytes a second to and from memory, two words a clock.
    pub fn memory(&self) -> f64 {
        2e3 * self.memory_clock_khz as f64 * self.memory_bus_bits as f64 / 8.0
    }
}

/// Where tensors lie in two vectors, and the axis along which one is made of the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tensors {
    /// Entries in the directions before the axis, which are the fastest.
    pub inner: usize,
    /// Entries in the directions behind it.
    pub outer: usize,
    /// First entry in `x`.
    pub from: usize,
    /// First entry in `y`.
    pub to: usize,
}

impl Tensors {
    /// That begin where the vectors do, of so many entries a direction, and one of these directions as the axis.
    pub fn across(sizes: &[usize], direction: usize) -> Self {
        let product = |sizes: &[usize]| sizes.iter().product();
        Self { inner: product(&sizes[..direction]), outer: product(&sizes[direction + 1..]), from: 0, to: 0 }
    }
}

/// A machine: vectors, their algebra, and a clock. It knows no finite elements: a [system](crate::system) makes levels on it.
///
/// Calls on one backend, and on its levels, act in the order in which they are made.
pub trait Backend: Send + Sync + Sized + 'static {
    /// A vector, in the machine's memory.
    type Vector<T: Scalar>: Send + Sync;
    /// A matrix that is applied along an axis of tensors, in the machine's memory.
    type AxisMatrix<T: Scalar>: Send + Sync;
    /// Work that was noted down, to be done again as a whole.
    type Recording: Send;

    /// What machine this is.
    fn info(&self) -> DeviceInfo;

    /// Runs `work` on the host. Its parallel loops use this backend's threads if it has some, or else the caller's.
    fn install<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        work()
    }

    /// A vector of `len` zeros.
    fn zeros<T: Scalar>(&self, len: usize) -> Result<Self::Vector<T>>;
    /// Entries of a vector.
    fn len<T: Scalar>(&self, vector: &Self::Vector<T>) -> usize;
    /// Host to machine; lengths must agree.
    fn upload<T: Scalar>(&self, host: &[T], vector: &mut Self::Vector<T>) -> Result<()>;
    /// Machine to host; lengths must agree. Waits for what was asked before.
    fn download<T: Scalar>(&self, vector: &Self::Vector<T>, host: &mut [T]) -> Result<()>;
    /// Waits until all that was asked is done.
    fn synchronize(&self) -> Result<()>;

    /// Seconds that work takes, by the clock of the machine that does it.
    fn time(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<f64> {
        self.synchronize()?;
        let start = std::time::Instant::now();
        work()?;
        self.synchronize()?;
        Ok(start.elapsed().as_secs_f64())
    }

    /// Tells the machine what it will be asked for: that for which `work` asks, which is called, but without effect on vectors that are there
    /// before. A GPU compiles these kernels together, when a kernel is next needed, in less time than one after the other. `work` may make
    /// vectors; no result that it reads has a meaning. A machine may leave out the call.
    fn announce(&self, _work: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        Ok(())
    }

    /// Makes ready what was announced, if that succeeds; otherwise it happens when it is first needed.
    fn prepare_announced(&self) {}

    /// Notes down what `work` asks for, without doing it; a machine that gains nothing by it does nothing. `work` must ask for
    /// the same every time, and read no result.
    fn record(&self, _recording: &mut Option<Self::Recording>, _work: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        Ok(())
    }

    /// Does `work`, by the recording of it if there is one, which is made or renewed where it helps.
    fn repeat(&self, _recording: &mut Option<Self::Recording>, work: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        work()
    }

    /// `x = 0`.
    fn set_zero<T: Scalar>(&self, x: &mut Self::Vector<T>) -> Result<()>;
    /// `y = alpha x`, rounded to the scalar of `y`.
    fn convert<S: Scalar, T: Scalar>(&self, alpha: f64, x: &Self::Vector<S>, y: &mut Self::Vector<T>) -> Result<()>;
    /// `y = alpha x + beta y`; `beta = 0` overwrites whatever was in `y`.
    fn axpby<T: Scalar>(&self, alpha: f64, x: &Self::Vector<T>, beta: f64, y: &mut Self::Vector<T>) -> Result<()> {
        self.axpby_first(self.len(y), alpha, x, beta, y)
    }
    /// `y = alpha D x + beta y` for the diagonal matrix `D` with the entries `d`; `beta = 0` overwrites whatever was in `y`.
    fn diagonal_axpby<T: Scalar>(
        &self,
        alpha: f64,
        d: &Self::Vector<T>,
        x: &Self::Vector<T>,
        beta: f64,
        y: &mut Self::Vector<T>,
    ) -> Result<()> {
        self.diagonal_axpby_first(self.len(y), alpha, d, x, beta, y)
    }
    /// [`Self::axpby`] for the first entries, so many; others of `y` stay as they are.
    fn axpby_first<T: Scalar>(
        &self,
        entries: usize,
        alpha: f64,
        x: &Self::Vector<T>,
        beta: f64,
        y: &mut Self::Vector<T>,
    ) -> Result<()>;
    /// [`Self::diagonal_axpby`] for the first entries, so many; others of `y` stay as they are.
    fn diagonal_axpby_first<T: Scalar>(
        &self,
        entries: usize,
        alpha: f64,
        d: &Self::Vector<T>,
        x: &Self::Vector<T>,
        beta: f64,
        y: &mut Self::Vector<T>,
    ) -> Result<()>;
    /// `y_i = x_i / d_i`, and 0 where `d_i` is 0.
    fn divide<T: Scalar>(&self, x: &Self::Vector<T>, d: &Self::Vector<T>, y: &mut Self::Vector<T>) -> Result<()>;
    /// `x_j · y` for every `j`, in one pass over `y`; the order of summation does not change between runs.
    fn dots<T: Scalar>(&self, xs: &[&Self::Vector<T>], y: &Self::Vector<T>) -> Result<Vec<f64>>;
    /// `y = beta y + sum_j c_j x_j`, in one pass over `y` if vectors are few; `beta = 0` overwrites whatever was in `y`. If their scalar is the wider
    /// one, a pass sums up in it, and rounds once.
    fn combine<X: Scalar, T: Scalar>(
        &self,
        coefficients: &[f64],
        xs: &[&Self::Vector<X>],
        beta: f64,
        y: &mut Self::Vector<T>,
    ) -> Result<()>;
    /// `y += sum_j c_j x_j`, then `x_j · y` for every `j` and, last, `y · y`: in one pass over all vectors if these are few.
    fn combine_dots<T: Scalar>(
        &self,
        coefficients: &[f64],
        xs: &[&Self::Vector<T>],
        y: &mut Self::Vector<T>,
    ) -> Result<Vec<f64>>;
    /// `rounded = x`, and the Euclidean norm of `x`, in one pass over `x`.
    fn norm_rounded<T: Scalar>(&self, x: &Self::Vector<T>, rounded: &mut Self::Vector<f32>) -> Result<f64> {
        self.convert(1.0, x, rounded)?;
        self.norm(x)
    }
    /// A matrix to the machine.
    fn axis_matrix<T: Scalar>(&self, matrix: &AxisMatrix<f64>) -> Result<Self::AxisMatrix<T>>;
    /// The same of a matrix whose rows are nearly full, for tensors of many lines: where it is [large](AxisMatrix::is_large), a machine may keep a
    /// second form for a faster way. A CPU, which needs none, takes that way for all such matrices.
    fn dense_axis_matrix<T: Scalar>(&self, matrix: &AxisMatrix<f64>) -> Result<Self::AxisMatrix<T>> {
        self.axis_matrix(matrix)
    }
    /// `y = (I ⊗ Q ⊗ I) x`, or `y += ..` if `add`, with the matrix `Q` along an axis of [`Tensors`]. Other entries of `y` stay as
    /// they are.
    fn apply_along_axis<T: Scalar>(
        &self,
        matrix: &Self::AxisMatrix<T>,
        tensors: Tensors,
        x: &Self::Vector<T>,
        y: &mut Self::Vector<T>,
        add: bool,
    ) -> Result<()>;
    /// The tensor `t = sum_r f_r0 ⊗ f_r1 ⊗ f_r2` in the first entries of `y`, or `y += t` if `add`, summed up in `f64`. Other entries
    /// of `y` stay as they are.
    fn outer_products<T: Scalar>(&self, tensor: &OuterProducts, y: &mut Self::Vector<T>, add: bool) -> Result<()>;
    /// `y_i = w_i f(p_i)` for the points of a grid and their weights, or `y_i = w_i f(p_i) - y_i` if `subtract`, computed in `f64`;
    /// with the derivative of `f` along an axis in its place, if one is named. Other entries of `y` stay as they are.
    fn evaluate<T: Scalar>(
        &self,
        f: &Program,
        grid: &WeightedGrid,
        derivative: Option<usize>,
        y: &mut Self::Vector<T>,
        subtract: bool,
    ) -> Result<()>;

    /// `x · y`.
    fn dot<T: Scalar>(&self, x: &Self::Vector<T>, y: &Self::Vector<T>) -> Result<f64> {
        Ok(self.dots(&[x], y)?[0])
    }
    /// Euclidean norm.
    fn norm<T: Scalar>(&self, x: &Self::Vector<T>) -> Result<f64> {
        Ok(self.dot(x, x)?.sqrt())
    }

    /// Names of the GPU kernels that were launched since the last call, each once; empty without a GPU.
    fn take_launched(&self) -> Vec<String> {
        Vec::new()
    }
}
