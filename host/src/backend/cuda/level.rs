//! A space made ready for a GPU, behind an interface that hides what kind of space it is.

use super::continuous::Continuous;
use super::discontinuous::Discontinuous;
use super::gpu::Gpu;
use super::launch::Kernel;
use super::memory::Vector;
use crate::backend::Scalar;
use crate::error::{Error, Result};
use crate::space::Space;
use bytemuck::{Pod, bytes_of};
use cust::sys::CUdeviceptr;
use patchmg_device::kernels::PatchKernel;
use std::marker::PhantomData;
use std::sync::Arc;

/// What is done on a level. Vectors are addresses; they are as long as the level's storage, or as the coarse level's.
///
/// # Safety
/// Of all unsafe functions: the vectors are in the level's scalar, on its GPU, and as long as said.
pub(super) trait Kernels: Send {
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
    /// Kernels of the patch smoother, in their order.
    fn smoother(&self) -> &[Kernel];
}

/// A space made ready for a GPU.
pub struct Level<T: Scalar> {
    gpu: Arc<Gpu>,
    dim: usize,
    /// Cells a direction.
    cells: u32,
    /// Entries of its vectors, and of the next coarser level's.
    storage: [usize; 2],
    kernels: Box<dyn Kernels>,
    scalar: PhantomData<T>,
}

impl<T: Scalar> Level<T> {
    pub(super) fn new(gpu: &Arc<Gpu>, space: &Space, choice: PatchKernel) -> Result<Self> {
        let dim = space.dim();
        let (coarse, kernels): (_, Box<dyn Kernels>) = match space {
            Space::Continuous(space) => {
                (space.grid().coarser().storage(dim), Box::new(Continuous::<T>::new(gpu, space, choice)?))
            }
            Space::Discontinuous(space) => {
                (space.grid().coarser().storage(dim), Box::new(Discontinuous::<T>::new(gpu, space, choice)?))
            }
        };
        let (cells, storage) = (space.mesh().cells_per_direction(), [space.storage(), coarse]);
        Ok(Self { gpu: gpu.clone(), dim, cells, storage, kernels, scalar: PhantomData })
    }

    pub(super) fn apply(&self, gpu: &Arc<Gpu>, x: &Vector<T>, y: &mut Vector<T>) -> Result<()> {
        let (x, y) = (self.own(gpu, "x", x)?, self.own(gpu, "y", y)?);
        // SAFETY: vectors of the level, checked above.
        unsafe { self.kernels.apply(gpu, x, y) }
    }

    pub(super) fn residual(&self, gpu: &Arc<Gpu>, b: &Vector<T>, x: &Vector<T>, r: &mut Vector<T>) -> Result<()> {
        let (b, x, r) = (self.own(gpu, "b", b)?, self.own(gpu, "x", x)?, self.own(gpu, "r", r)?);
        // SAFETY: vectors of the level, checked above.
        unsafe { self.kernels.residual(gpu, b, x, r) }
    }

    pub(super) fn smooth_color(&self, gpu: &Arc<Gpu>, color: usize, b: &Vector<T>, x: &mut Vector<T>) -> Result<()> {
        let (b, x) = (self.own(gpu, "b", b)?, self.own(gpu, "x", x)?);
        let colors = 1 << self.dim;
        if color >= colors {
            let allowed = format!("below {colors}");
            return Err(Error::InvalidArgument { name: "color", value: color.to_string(), allowed });
        }
        // SAFETY: vectors of the level, checked above.
        unsafe { self.kernels.smooth_color(gpu, color as u32, b, x) }
    }

    pub(super) fn point_gauss_seidel(
        &self,
        gpu: &Arc<Gpu>,
        b: &Vector<T>,
        x: &mut Vector<T>,
        reverse: bool,
    ) -> Result<()> {
        let (b, x) = (self.own(gpu, "b", b)?, self.own(gpu, "x", x)?);
        // SAFETY: vectors of the level, checked above.
        unsafe { self.kernels.point_gauss_seidel(gpu, b, x, reverse) }
    }

    pub(super) fn restrict_residual(
        &self,
        gpu: &Arc<Gpu>,
        b: &Vector<T>,
        x: &Vector<T>,
        coarse: &mut Vector<T>,
    ) -> Result<()> {
        let (b, x, coarse) = (self.own(gpu, "b", b)?, self.own(gpu, "x", x)?, self.coarse(gpu, coarse)?);
        // SAFETY: two vectors of the level and one of the next coarser, checked above.
        unsafe { self.kernels.restrict_residual(gpu, b, x, coarse) }
    }

    pub(super) fn prolongate_add(&self, gpu: &Arc<Gpu>, coarse: &Vector<T>, x: &mut Vector<T>) -> Result<()> {
        let (coarse, x) = (self.coarse(gpu, coarse)?, self.own(gpu, "x", x)?);
        // SAFETY: a vector of the level and one of the next coarser, checked above.
        unsafe { self.kernels.prolongate_add(gpu, coarse, x) }
    }

    pub(super) fn prolongate_and_smooth_first(
        &self,
        gpu: &Arc<Gpu>,
        coarse: &Vector<T>,
        b: &Vector<T>,
        x: &mut Vector<T>,
    ) -> Result<()> {
        let (coarse, b, x) = (self.coarse(gpu, coarse)?, self.own(gpu, "b", b)?, self.own(gpu, "x", x)?);
        // SAFETY: two vectors of the level and one of the next coarser, checked above.
        unsafe {
            if !self.kernels.prolongate_and_smooth_first(gpu, coarse, b, x)? {
                self.kernels.prolongate_add(gpu, coarse, x)?;
                self.kernels.smooth_color(gpu, 0, b, x)?;
            }
        }
        Ok(())
    }

    /// Names of the patch smoother's kernels, with the blocks of each that a multiprocessor holds.
    pub(super) fn resident_blocks(&self, gpu: &Arc<Gpu>) -> Result<Vec<(String, u32)>> {
        self.check(gpu)?;
        let resident = |kernel: &Kernel| (kernel.spec().name.clone(), kernel.resident());
        Ok(self.kernels.smoother().iter().map(resident).collect())
    }

    /// That it was made for `gpu`.
    fn check(&self, gpu: &Arc<Gpu>) -> Result<()> {
        if Arc::ptr_eq(gpu, &self.gpu) {
            return Ok(());
        }
        Err(Error::InvalidArgument {
            name: "level",
            value: String::from("a level of another backend"),
            allowed: String::from("of the backend that is called"),
        })
    }

    /// Address of a vector of the level.
    fn own(&self, gpu: &Arc<Gpu>, what: &'static str, vector: &Vector<T>) -> Result<CUdeviceptr> {
        self.check(gpu)?;
        vector.check(gpu, what, self.storage[0])?;
        Ok(vector.pointer())
    }

    /// Address of a vector of the next coarser level.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for the coarsest level.
    fn coarse(&self, gpu: &Arc<Gpu>, vector: &Vector<T>) -> Result<CUdeviceptr> {
        if self.cells < 4 {
            return Err(Error::InvalidArgument {
                name: "level",
                value: format!("{} cells a direction", self.cells),
                allowed: String::from("a level with a coarser one, of at least 4 cells a direction"),
            });
        }
        vector.check(gpu, "coarse", self.storage[1])?;
        Ok(vector.pointer())
    }
}

/// A struct of [`patchmg_device::matrices`], typed by degree there, as a kernel takes it.
pub(super) fn bytes(matrices: &impl Pod) -> Box<[u8]> {
    bytes_of(matrices).into()
}

/// [`Error::Unsupported`] for a degree that there are no kernels of.
pub(super) fn unsupported_degree(degree: usize, available: &str) -> Error {
    Error::Unsupported { backend: "cuda", what: "degree", asked: degree.to_string(), available: available.into() }
}
