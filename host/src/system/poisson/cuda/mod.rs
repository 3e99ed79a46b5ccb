//! Levels on a GPU.

mod boxes;
mod continuous;
mod discontinuous;
mod matrices;
#[cfg(test)]
mod parameters;
mod smoother;

use super::forms::{ContinuousForms, DiscontinuousForms};
use super::{Lattice, PatchKernel, Poisson, is_solved, only_solved};
use crate::backend::cuda::gpu::Gpu;
use crate::backend::cuda::launch::Kernel;
use crate::backend::cuda::{Cuda, Vector};
use crate::backend::{Backend, Scalar};
use crate::error::{Error, Result};
use crate::level::{Level, Patches, SharedLevel};
use crate::operator::{LinearOperator, apply_converted};
use crate::space::{Family, Space};
use crate::system::Runs;
use continuous::Continuous;
use cuda_builder::ptx::Constants;
use cust::sys::CUdeviceptr;
use discontinuous::Discontinuous;
use patchmg_device::kernels::{KernelSpec, Module};
use std::sync::Arc;

impl Runs<Poisson> for Cuda {
    fn check<T: Scalar>(&self, system: &Poisson) -> Result<()> {
        check_equal_cells(system)?;
        match system.family() {
            Family::Continuous => smoother::check(system.space(), system.kernel()),
            Family::Discontinuous => discontinuous::check::<T>(&self.gpu, system.space(), system.kernel()),
        }
    }

    fn level<T: Scalar>(self: &Arc<Self>, system: &Poisson) -> Result<SharedLevel<Self, T>> {
        Ok(Arc::new(PoissonLevel::new(self, system.space(), system.kernel())?))
    }

    fn level_bytes<T: Scalar>(system: &Poisson) -> u64 {
        super::level_bytes::<Self, T>(system)
    }
}

/// That kernels for equal cells alone have such.
///
/// # Errors
/// [`Error::Unsupported`].
fn check_equal_cells(system: &Poisson) -> Result<()> {
    let space = system.space();
    let [first, others @ ..] = space.mesh().cell_sizes();
    // Lengths over numbers of cells may differ in their last digits.
    let is_equal = |size: &f64| (size / first - 1.0).abs() < 1e-12;
    if system.kernel() == PatchKernel::default() || others[..space.dim() - 1].iter().all(is_equal) {
        return Ok(());
    }
    let available = format!("{}; others for cells with equal edges", PatchKernel::default());
    Err(smoother::unsupported_kernel(system.kernel(), &available))
}

/// What is done on a level. Vectors are addresses; they are as long as the level's storage, or as the coarse level's.
///
/// # Safety
/// Of all unsafe functions: the vectors are in the level's scalar, on its GPU, and as long as said.
trait LevelKernels: Send + Sync {
    /// `y = A x`.
    unsafe fn apply(&self, gpu: &Gpu, x: CUdeviceptr, y: CUdeviceptr) -> Result<()>;
    /// The same for an `x` in `f32`, by a kernel that reads such. False, and nothing is done, where there is none.
    unsafe fn apply_rounded(&self, _gpu: &Gpu, _x: CUdeviceptr, _y: CUdeviceptr) -> Result<bool> {
        Ok(false)
    }
    /// `r = b - A x`.
    unsafe fn residual(&self, gpu: &Gpu, b: CUdeviceptr, x: CUdeviceptr, r: CUdeviceptr) -> Result<()>;
    /// `norms[i] = |b - A x|` over a part of the nodes, by a kernel that does not store `b - A x`. How many parts there are; none, and nothing is
    /// done, where there is no such kernel, or not enough room.
    unsafe fn residual_norms(
        &self,
        _gpu: &Gpu,
        _b: CUdeviceptr,
        _x: CUdeviceptr,
        _norms: CUdeviceptr,
    ) -> Result<Option<usize>> {
        Ok(None)
    }
    /// One color of the patch smoother.
    unsafe fn smooth_color(&self, gpu: &Gpu, color: u32, b: CUdeviceptr, x: CUdeviceptr) -> Result<()>;
    /// A sweep of point Gauss-Seidel: the colors ascending, or descending.
    unsafe fn point_gauss_seidel(&self, gpu: &Gpu, b: CUdeviceptr, x: CUdeviceptr, reverse: bool) -> Result<()>;
    /// `coarse = Pᵀ (b - A x)`.
    unsafe fn restrict_residual(&self, gpu: &Gpu, b: CUdeviceptr, x: CUdeviceptr, coarse: CUdeviceptr) -> Result<()>;
    /// `x += P coarse`.
    unsafe fn prolongate_add(&self, gpu: &Gpu, coarse: CUdeviceptr, x: CUdeviceptr) -> Result<()>;
    /// The same, then the first color of the patch smoother, by kernels that leave out of `P coarse` what the other colors
    /// overwrite. False, and nothing is done, where there are none.
    unsafe fn prolongate_and_smooth_first(
        &self,
        _gpu: &Gpu,
        _coarse: CUdeviceptr,
        _b: CUdeviceptr,
        _x: CUdeviceptr,
    ) -> Result<bool> {
        Ok(false)
    }
    /// LevelKernels of the patch smoother, in their order.
    fn smoother(&self) -> &[Kernel];
}

/// A space made ready for a GPU.
struct PoissonLevel<T: Scalar> {
    cuda: Arc<Cuda>,
    space: Space,
    colors: Vec<usize>,
    /// None on a coarsest level that is only [solved](is_solved).
    kernels: Option<Box<dyn LevelKernels>>,
    lattice: Lattice<Cuda, T>,
}

impl<T: Scalar> PoissonLevel<T> {
    fn new(cuda: &Arc<Cuda>, space: &Space, choice: PatchKernel) -> Result<Self> {
        let gpu = &cuda.gpu;
        let kernels: Option<Box<dyn LevelKernels>> = match space.axes()[0].family() {
            _ if is_solved(space) => None,
            Family::Continuous => Some(Box::new(Continuous::<T>::new(gpu, &ContinuousForms::new(space)?, choice)?)),
            Family::Discontinuous => {
                Some(Box::new(Discontinuous::<T>::new(gpu, &DiscontinuousForms::new(space)?, choice)?))
            }
        };
        let (colors, lattice) = (super::colors(space), Lattice::new(&**cuda, space)?);
        Ok(Self { cuda: cuda.clone(), space: space.clone(), colors, kernels, lattice })
    }

    fn kernels(&self) -> Result<&dyn LevelKernels> {
        self.kernels.as_deref().ok_or_else(only_solved)
    }

    /// Address of a vector of the level.
    fn own(&self, what: &'static str, vector: &Vector<T>) -> Result<CUdeviceptr> {
        vector.check(&self.cuda.gpu, what, self.space.storage())?;
        Ok(vector.pointer())
    }

    /// Address of a vector of the next coarser level.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for the coarsest level.
    fn coarse(&self, vector: &Vector<T>) -> Result<CUdeviceptr> {
        vector.check(&self.cuda.gpu, "coarse", self.lattice.coarse_storage()?)?;
        Ok(vector.pointer())
    }
}

impl<T: Scalar> LinearOperator<Cuda, T> for PoissonLevel<T> {
    fn backend(&self) -> &Arc<Cuda> {
        &self.cuda
    }

    fn storage(&self) -> usize {
        self.space.storage()
    }

    fn apply(&self, x: &Vector<T>, y: &mut Vector<T>) -> Result<()> {
        let (x, y) = (self.own("x", x)?, self.own("y", y)?);
        // SAFETY: vectors of the level, checked above.
        unsafe { self.kernels()?.apply(&self.cuda.gpu, x, y) }
    }

    fn apply_rounded(&self, x: &Vector<f32>, work: &mut Vector<T>, y: &mut Vector<T>) -> Result<()> {
        x.check(&self.cuda.gpu, "x", self.space.storage())?;
        let y_at = self.own("y", y)?;
        // SAFETY: vectors of the level, checked above.
        if unsafe { self.kernels()?.apply_rounded(&self.cuda.gpu, x.pointer(), y_at)? } {
            return Ok(());
        }
        apply_converted(self, x, work, y)
    }

    fn residual(&self, b: &Vector<T>, x: &Vector<T>, r: &mut Vector<T>) -> Result<()> {
        let (b, x, r) = (self.own("b", b)?, self.own("x", x)?, self.own("r", r)?);
        // SAFETY: vectors of the level, checked above.
        unsafe { self.kernels()?.residual(&self.cuda.gpu, b, x, r) }
    }

    fn residual_norm(&self, b: &Vector<T>, x: &Vector<T>, work: &mut Vector<T>) -> Result<f64> {
        let (b_at, x_at, norms) = (self.own("b", b)?, self.own("x", x)?, self.own("work", work)?);
        // SAFETY: vectors of the level, checked above.
        if let Some(parts) = unsafe { self.kernels()?.residual_norms(&self.cuda.gpu, b_at, x_at, norms)? } {
            // Zero again, as vectors are where there are no unknowns.
            return self.cuda.take_norm(parts, work);
        }
        self.residual(b, x, work)?;
        self.cuda.norm(work)
    }
}

impl<T: Scalar> Level<Cuda, T> for PoissonLevel<T> {
    fn restrict_residual(&self, b: &Vector<T>, x: &Vector<T>, coarse: &mut Vector<T>) -> Result<()> {
        let (b_at, x_at, coarse_at) = (self.own("b", b)?, self.own("x", x)?, self.coarse(coarse)?);
        match &self.lattice.transfer {
            Some(transfer) => transfer.restrict_residual(self, b, x, coarse),
            // SAFETY: two vectors of the level and one of the next coarser, checked above.
            None => unsafe { self.kernels()?.restrict_residual(&self.cuda.gpu, b_at, x_at, coarse_at) },
        }
    }

    fn prolongate_add(&self, coarse: &Vector<T>, x: &mut Vector<T>) -> Result<()> {
        let (coarse_at, x_at) = (self.coarse(coarse)?, self.own("x", x)?);
        match &self.lattice.transfer {
            Some(transfer) => transfer.prolongate_add(&*self.cuda, coarse, x),
            // SAFETY: a vector of the level and one of the next coarser, checked above.
            None => unsafe { self.kernels()?.prolongate_add(&self.cuda.gpu, coarse_at, x_at) },
        }
    }

    fn solve(&self, b: &Vector<T>, x: &mut Vector<T>) -> Result<()> {
        self.own("b", b)?;
        self.own("x", x)?;
        self.lattice.solve(self, b, x)
    }

    fn vector_of(&self, value: &mut dyn FnMut(usize) -> f64) -> Result<Vector<T>> {
        super::vector_of(&*self.cuda, &self.space, value)
    }

    fn inverse_diagonal(&self) -> Result<Vector<T>> {
        super::inverse_diagonal(&*self.cuda, &self.space)
    }

    fn patches(&self) -> Result<&dyn Patches<Cuda, T>> {
        Ok(self)
    }

    fn point_gauss_seidel(&self, b: &Vector<T>, x: &mut Vector<T>, reverse: bool) -> Result<()> {
        let (b, x) = (self.own("b", b)?, self.own("x", x)?);
        // SAFETY: vectors of the level, checked above.
        unsafe { self.kernels()?.point_gauss_seidel(&self.cuda.gpu, b, x, reverse) }
    }
}

impl<T: Scalar> Patches<Cuda, T> for PoissonLevel<T> {
    fn colors(&self) -> &[usize] {
        &self.colors
    }

    fn smooth_color(&self, color: usize, b: &Vector<T>, x: &mut Vector<T>) -> Result<()> {
        let (b, x) = (self.own("b", b)?, self.own("x", x)?);
        let color = super::check_color(&self.space, color)?;
        // SAFETY: vectors of the level, checked above.
        unsafe { self.kernels()?.smooth_color(&self.cuda.gpu, color, b, x) }
    }

    fn prolongate_and_smooth_first(&self, coarse: &Vector<T>, b: &Vector<T>, x: &mut Vector<T>) -> Result<()> {
        if self.lattice.transfer.is_some() {
            self.prolongate_add(coarse, x)?;
            return self.smooth_color(0, b, x);
        }
        let (gpu, kernels) = (&*self.cuda.gpu, self.kernels()?);
        let (coarse, b, x) = (self.coarse(coarse)?, self.own("b", b)?, self.own("x", x)?);
        // SAFETY: two vectors of the level and one of the next coarser, checked above.
        unsafe {
            if !kernels.prolongate_and_smooth_first(gpu, coarse, b, x)? {
                kernels.prolongate_add(gpu, coarse, x)?;
                kernels.smooth_color(gpu, 0, b, x)?;
            }
        }
        Ok(())
    }

    fn resident_blocks(&self) -> Result<Vec<(String, u32)>> {
        let resident = |kernel: &Kernel| Ok((kernel.spec().name.clone(), kernel.resident(&self.cuda.gpu)?));
        self.kernels()?.smoother().iter().map(resident).collect()
    }
}

/// What kernels of a module take of its 1D matrices, whatever the mesh.
pub(crate) fn constants(module: Module) -> Result<Vec<Constants>> {
    match module {
        Module::PoissonCg { dim, degree } => matrices::constants(dim, degree),
        _ => Ok(Vec::new()),
    }
}

fn promised(gpu: &Gpu, module: Module, spec: KernelSpec) -> Result<Kernel> {
    Kernel::promised(gpu, module, spec, constants)
}

/// [`Error::Unsupported`] for a degree that there are no kernels of.
pub(super) fn unsupported_degree(degree: usize, available: &str) -> Error {
    Error::Unsupported { backend: "cuda", what: "degree", asked: degree.to_string(), available: available.into() }
}
