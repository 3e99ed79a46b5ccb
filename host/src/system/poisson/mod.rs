//! Poisson's equation `-Δu = f` on a uniform mesh of the unit square or cube: continuous elements (paper 1) and discontinuous
//! ones (paper 4).
//!
//! Vectors are in the storage order of [`patchmg_device::patch`].

mod cpu;
#[cfg(feature = "cuda")]
pub(crate) mod cuda;

use crate::backend::{Backend, Scalar};
use crate::error::{Error, Result};
use crate::memory;
use crate::mesh::Mesh;
use crate::operator::vector_bytes;
use crate::space::Space;
use crate::system::System;
use bytemuck::{Pod, bytes_of};
use patchmg_device::kernels::patch_nodes;
pub use patchmg_device::kernels::{
    Boxes, Engine, MatrixMemory, Operands, Paper1, PatchKernel, ProductShape, Products, TensorKernel, Variant,
};
use patchmg_device::patch::{bit, color_count};

/// What [`Unsupported`](Error::Unsupported) calls [`Products`] that a machine does not have.
pub const PRODUCTS: &str = "products of small matrices";

/// How Poisson's equation is discretized.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Elements {
    /// Continuous elements, zero on the boundary.
    #[default]
    Continuous,
    /// Discontinuous elements, by the symmetric interior penalty method.
    Discontinuous,
}

/// `-Δu = f` on a mesh, by elements of a degree.
#[derive(Clone, Debug)]
pub struct Poisson {
    space: Space,
    kernel: PatchKernel,
}

impl Poisson {
    /// By either kind of elements.
    ///
    /// # Errors
    /// Those of [`Space::new`] and [`Space::discontinuous`].
    pub fn new(elements: Elements, mesh: Mesh, degree: usize) -> Result<Self> {
        let space = match elements {
            Elements::Continuous => Space::new(mesh, degree),
            Elements::Discontinuous => Space::discontinuous(mesh, degree),
        };
        Ok(Self { space: space?, kernel: PatchKernel::default() })
    }

    /// By continuous elements.
    ///
    /// # Errors
    /// Those of [`Space::new`].
    pub fn continuous(mesh: Mesh, degree: usize) -> Result<Self> {
        Self::new(Elements::Continuous, mesh, degree)
    }

    /// By discontinuous elements.
    ///
    /// # Errors
    /// Those of [`Space::discontinuous`].
    pub fn discontinuous(mesh: Mesh, degree: usize) -> Result<Self> {
        Self::new(Elements::Discontinuous, mesh, degree)
    }

    /// By other kernels than the default ones, for comparison.
    pub fn with_kernel(self, kernel: PatchKernel) -> Self {
        Self { kernel, ..self }
    }

    /// The kernels.
    pub fn kernel(&self) -> PatchKernel {
        self.kernel
    }

    /// The kind of elements.
    pub fn elements(&self) -> Elements {
        match self.space {
            Space::Continuous(_) => Elements::Continuous,
            Space::Discontinuous(_) => Elements::Discontinuous,
        }
    }
}

/// By the elements of a space, and the default kernels.
impl From<&Space> for Poisson {
    fn from(space: &Space) -> Self {
        Self { space: space.clone(), kernel: PatchKernel::default() }
    }
}

impl System for Poisson {
    fn space(&self) -> &Space {
        &self.space
    }

    fn coarser(&self) -> Option<Result<Self>> {
        let coarser = self.space.coarser()?;
        Some(coarser.map(|space| Self { space, kernel: self.kernel }))
    }

    fn by_default_kernels(&self) -> Self {
        self.clone().with_kernel(PatchKernel::default())
    }

    /// A coarse level of discontinuous elements has half the penalty, so that its corrections overshoot at jumps: with weak
    /// smoothers V-cycles diverge.
    fn takes_any_smoother(&self) -> bool {
        self.elements() == Elements::Continuous
    }
}

/// Bytes of a level's tables: the eigenvalues of a patch or the inverse of its matrix, and the residual between two kernels
/// of the smoother. 1D matrices are too few to count.
fn level_bytes<T: Scalar>(system: &Poisson) -> u64 {
    let space = &system.space;
    let dim = space.dim() as u32;
    if let Space::Discontinuous(space) = space {
        // Those of patches at an end of a direction and of others; the residual of a color before its patches.
        let eigenvalues = 2usize.pow(dim) * (2 * space.grid().cell_nodes()).pow(dim);
        return vector_bytes::<T>(1, eigenvalues) + vector_bytes::<T>(1, space.grid().storage(space.dim()));
    }
    let (interior, _) = patch_nodes(space.degree());
    let patch = interior.pow(dim);
    let (entries, residuals) = match system.kernel {
        PatchKernel::Paper1 { kernels: Paper1::FusedInverse, .. } => (patch * patch, 0),
        PatchKernel::Paper1 { kernels: Paper1::Global(_) | Paper1::Separate(_) | Paper1::SeparateData, .. } => {
            (patch, 1)
        }
        _ => (patch, 0),
    };
    vector_bytes::<T>(1, entries) + vector_bytes::<T>(residuals, space.storage())
}

/// A struct of [`patchmg_device::matrices`], typed by degree there, as a kernel takes it.
fn bytes(matrices: &impl Pod) -> Box<[u8]> {
    bytes_of(matrices).into()
}

/// Colors that have a patch: the coarsest level has one of color 0 alone.
fn colors(space: &Space) -> Vec<usize> {
    let (dim, cells) = (space.dim(), space.mesh().cells_per_direction());
    let has_patches = |color: &usize| (0..dim).all(|d| color_count(cells, bit(*color as u32, d)) > 0);
    (0..1 << dim).filter(has_patches).collect()
}

/// That a space has a color.
fn check_color(space: &Space, color: usize) -> Result<u32> {
    let colors = 1 << space.dim();
    if color < colors {
        return Ok(color as u32);
    }
    let allowed = format!("below {colors}");
    Err(Error::InvalidArgument { name: "color", value: color.to_string(), allowed })
}

/// `value(i)` at unknown `i` of a space.
fn vector_of<B: Backend, T: Scalar>(
    backend: &B,
    space: &Space,
    value: &mut dyn FnMut(usize) -> f64,
) -> Result<B::Vector<T>> {
    let mut host: Vec<T> = memory::zeros(space.storage())?;
    for (i, node) in space.unknowns().enumerate() {
        host[space.offset(node)] = T::from_f64(value(i));
    }
    uploaded(backend, &host)
}

/// `1 / A_ii` in a space.
fn inverse_diagonal<B: Backend, T: Scalar>(backend: &B, space: &Space) -> Result<B::Vector<T>> {
    uploaded(backend, &space.inverse_diagonal::<T>()?)
}

fn uploaded<B: Backend, T: Scalar>(backend: &B, host: &[T]) -> Result<B::Vector<T>> {
    let mut vector = backend.zeros(host.len())?;
    backend.upload(host, &mut vector)?;
    Ok(vector)
}
