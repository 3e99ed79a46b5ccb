//! Levels on a GPU.

mod boxes;
mod continuous;
mod discontinuous;
mod matrices;
#[cfg(test)]
mod parameters;
mod smoother;

use super::{PatchKernel, Poisson};
use crate::backend::Scalar;
use crate::backend::cuda::gpu::Gpu;
use crate::backend::cuda::launch::Kernel;
use crate::backend::cuda::modules;
use crate::backend::cuda::{Cuda, Vector};
use crate::error::{Error, Result};
use crate::level::{Level, Patches, SharedLevel};
use crate::operator::LinearOperator;
use crate::space::Space;
use crate::system::{Runs, System};
use continuous::Continuous;
use cuda_builder::ptx::Constants;
use cust::sys::CUdeviceptr;
use discontinuous::Discontinuous;
use patchmg_device::kernels::{KernelSpec, Module};
use std::marker::PhantomData;
use std::sync::Arc;

impl Runs<Poisson> for Cuda {
    fn check<T: Scalar>(&self, system: &Poisson) -> Result<()> {
        match system.space() {
            Space::Continuous(space) => smoother::check(space, system.kernel()),
            Space::Discontinuous(space) => discontinuous::check::<T>(&self.gpu, space, system.kernel()),
        }
    }

    fn level<T: Scalar>(self: &Arc<Self>, system: &Poisson) -> Result<SharedLevel<Self, T>> {
        Ok(Arc::new(PoissonLevel::new(self, system.space(), system.kernel())?))
    }

    fn level_bytes<T: Scalar>(system: &Poisson) -> u64 {
        super::level_bytes::<T>(system)
    }
}

/// What is done on a level. Vectors are addresses; they are as long as the level's storage, or as the coarse level's.
///
/// # Safety
/// Of all unsafe functions: the vectors are in the level's scalar, on its GPU, and as long as said.
trait LevelKernels: Send + Sync {
    /// `y = A x`.
    unsafe fn apply(&self, gpu: &Gpu, x: CUdeviceptr, y: CUdeviceptr) -> Result<()>;
    /// `r = b - A x`.
    unsafe fn residual(&self, gpu: &Gpu, b: CUdeviceptr, x: CUdeviceptr, r: CUdeviceptr) -> Result<()>;
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
    /// Entries of the next coarser level's vectors.
    coarse_storage: usize,
    colors: Vec<usize>,
    kernels: Box<dyn LevelKernels>,
    scalar: PhantomData<T>,
}

impl<T: Scalar> PoissonLevel<T> {
    fn new(cuda: &Arc<Cuda>, space: &Space, choice: PatchKernel) -> Result<Self> {
        let (dim, gpu) = (space.dim(), &cuda.gpu);
        let (coarse_storage, kernels): (_, Box<dyn LevelKernels>) = match space {
            Space::Continuous(space) => {
                (space.grid().coarser().storage(dim), Box::new(Continuous::<T>::new(gpu, space, choice)?))
            }
            Space::Discontinuous(space) => {
                (space.grid().coarser().storage(dim), Box::new(Discontinuous::<T>::new(gpu, space, choice)?))
            }
        };
        let (cuda, space, colors) = (cuda.clone(), space.clone(), super::colors(space));
        Ok(Self { cuda, space, coarse_storage, colors, kernels, scalar: PhantomData })
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
        let cells = self.space.mesh().cells_per_direction();
        if cells < 4 {
            return Err(Error::InvalidArgument {
                name: "level",
                value: format!("{cells} cells a direction"),
                allowed: String::from("a level with a coarser one, of at least 4 cells a direction"),
            });
        }
        vector.check(&self.cuda.gpu, "coarse", self.coarse_storage)?;
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
        unsafe { self.kernels.apply(&self.cuda.gpu, x, y) }
    }

    fn residual(&self, b: &Vector<T>, x: &Vector<T>, r: &mut Vector<T>) -> Result<()> {
        let (b, x, r) = (self.own("b", b)?, self.own("x", x)?, self.own("r", r)?);
        // SAFETY: vectors of the level, checked above.
        unsafe { self.kernels.residual(&self.cuda.gpu, b, x, r) }
    }
}

impl<T: Scalar> Level<Cuda, T> for PoissonLevel<T> {
    fn restrict_residual(&self, b: &Vector<T>, x: &Vector<T>, coarse: &mut Vector<T>) -> Result<()> {
        let (b, x, coarse) = (self.own("b", b)?, self.own("x", x)?, self.coarse(coarse)?);
        // SAFETY: two vectors of the level and one of the next coarser, checked above.
        unsafe { self.kernels.restrict_residual(&self.cuda.gpu, b, x, coarse) }
    }

    fn prolongate_add(&self, coarse: &Vector<T>, x: &mut Vector<T>) -> Result<()> {
        let (coarse, x) = (self.coarse(coarse)?, self.own("x", x)?);
        // SAFETY: a vector of the level and one of the next coarser, checked above.
        unsafe { self.kernels.prolongate_add(&self.cuda.gpu, coarse, x) }
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
        unsafe { self.kernels.point_gauss_seidel(&self.cuda.gpu, b, x, reverse) }
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
        unsafe { self.kernels.smooth_color(&self.cuda.gpu, color, b, x) }
    }

    fn prolongate_and_smooth_first(&self, coarse: &Vector<T>, b: &Vector<T>, x: &mut Vector<T>) -> Result<()> {
        let (gpu, kernels) = (&*self.cuda.gpu, &*self.kernels);
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
        let resident = |kernel: &Kernel| (kernel.spec().name.clone(), kernel.resident());
        Ok(self.kernels.smoother().iter().map(resident).collect())
    }
}

/// What kernels of a module take of its 1D matrices, whatever the mesh.
pub(crate) fn constants(module: Module) -> Result<Vec<Constants>> {
    match module {
        Module::PoissonCg { dim, degree } => matrices::constants(dim, degree),
        _ => Ok(Vec::new()),
    }
}

fn load_kernel(gpu: &Gpu, module: Module, spec: KernelSpec) -> Result<Kernel> {
    modules::kernel(gpu, module, spec, constants)
}

/// [`Error::Unsupported`] for a degree that there are no kernels of.
pub(super) fn unsupported_degree(degree: usize, available: &str) -> Error {
    Error::Unsupported { backend: "cuda", what: "degree", asked: degree.to_string(), available: available.into() }
}
