//! Poisson's equation `-Δu = f` on a uniform mesh of the unit square or cube: continuous elements (paper 1) and discontinuous
//! ones (paper 4).
//!
//! Vectors are in the storage order of [`patchmg_device::patch`].

mod cpu;
#[cfg(feature = "cuda")]
pub(crate) mod cuda;

use crate::backend::{Backend, PatchKernel, Scalar};
use crate::error::{Error, Result};
use crate::memory;
use crate::operator::vector_bytes;
use crate::space::Space;
use bytemuck::{Pod, bytes_of};
use patchmg_device::kernels::{LocalSolver, Structure, patch_nodes};
use patchmg_device::patch::{bit, color_count};

/// Bytes of a level's tables: the eigenvalues of a patch or the inverse of its matrix, and the residual between two kernels
/// of the smoother. 1D matrices are too few to count.
pub fn level_bytes<T: Scalar>(space: &Space, kernel: PatchKernel) -> u64 {
    let dim = space.dim() as u32;
    if let Space::Discontinuous(space) = space {
        // Those of patches at an end of a direction and of others; the residual of a color before its patches.
        let eigenvalues = 2usize.pow(dim) * (2 * space.grid().cell_nodes()).pow(dim);
        return vector_bytes::<T>(1, eigenvalues) + vector_bytes::<T>(1, space.grid().storage(space.dim()));
    }
    let (interior, _) = patch_nodes(space.degree());
    let patch = interior.pow(dim);
    let entries = if kernel.local == LocalSolver::Inverse { patch * patch } else { patch };
    let residuals = usize::from(kernel.structure != Structure::Fused);
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
