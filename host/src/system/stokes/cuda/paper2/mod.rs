//! Levels on a GPU, by the kernels of paper 2.

mod patches;
#[cfg(test)]
mod tests;

use super::super::level::Parts;
use super::super::{Stokes, StokesKernel, unsupported_kernel};
use super::fields;
use crate::backend::cuda::launch::TypedKernel;
use crate::backend::cuda::{Cuda, Vector, modules};
use crate::backend::{Backend, Scalar};
use crate::error::Result;
use crate::operator::vector_bytes;
use crate::system::System;
use patches::Patches;
use patchmg_device::kernels::Module;
use patchmg_device::stokes::Fields;
use patchmg_device::stokes::Paper2;
use patchmg_device::stokes::paper2::{self, Basic, ConflictFree, Padding, Shared, operator};
use std::sync::Arc;

/// That there are such kernels, and the program has them.
///
/// # Errors
/// [`Unsupported`](crate::Error::Unsupported), [`NoModule`](crate::Error::NoModule).
pub(super) fn check(system: &Stokes) -> Result<()> {
    if system.mesh().dim() != 3 || !paper2::DEGREES.contains(&system.degree()) {
        return Err(unsupported_kernel("cuda", system.kernel(), StokesKernel::AVAILABLE.into()));
    }
    modules::require(module(system))
}

fn module(system: &Stokes) -> Module {
    paper2::KIND.module(3, system.degree())
}

/// Nodes of a cell across a component, with those of the padding.
fn across_nodes(system: &Stokes, level: Paper2) -> usize {
    system.degree() + if level == Paper2::Padding { 2 } else { 1 }
}

/// What the operator's kernels take.
struct OperatorTables<T> {
    /// As they lie in memory.
    matrices: Vec<T>,
    ends: Vec<T>,
}

impl<T: Scalar> OperatorTables<T> {
    fn new(system: &Stokes, level: Paper2) -> Result<Self> {
        let (forms, across) = (system.line_forms(0)?, across_nodes(system, level));
        let h = system.mesh().cell_sizes();
        let mut matrices = forms.operator_matrices(across);
        matrices.extend((0..3).map(|d| system.viscosity / h[d]));
        matrices.extend_from_slice(&h[..3]);
        matrices.push(system.mass);
        let rounded = |table: Vec<f64>| table.into_iter().map(T::from_f64).collect();
        Ok(Self { matrices: rounded(matrices), ends: rounded(forms.operator_ends(across)) })
    }
}

/// The operator at a level, and the solutions on patches.
pub(super) struct Kernels<T: Scalar> {
    cuda: Arc<Cuda>,
    kernel: Kernel<T>,
    ends: Vector<T>,
    fields: Fields,
    storage: usize,
    patches: Patches<T>,
}

/// With the operator's matrices, in the memory of the host where they are passed by value.
enum Kernel<T: Scalar> {
    Padding(TypedKernel<Padding<T>>, Vec<T>),
    Basic(TypedKernel<Basic<T>>, Vec<T>),
    Shared(TypedKernel<Shared<T>>, Vector<T>),
    ConflictFree(TypedKernel<ConflictFree<T>>, Vector<T>),
}

impl<T: Scalar> Kernels<T> {
    pub fn new(cuda: &Arc<Cuda>, system: &Stokes, level: Paper2) -> Result<Self> {
        let (gpu, module) = (&cuda.gpu, module(system));
        let OperatorTables { matrices, ends } = OperatorTables::new(system, level)?;
        let kernel = match level {
            Paper2::Padding => Kernel::Padding(TypedKernel::new(gpu, module)?, matrices),
            Paper2::Basic => Kernel::Basic(TypedKernel::new(gpu, module)?, matrices),
            Paper2::Shared => Kernel::Shared(TypedKernel::new(gpu, module)?, Vector::uploaded(gpu, &matrices)?),
            Paper2::ConflictFree => {
                Kernel::ConflictFree(TypedKernel::new(gpu, module)?, Vector::uploaded(gpu, &matrices)?)
            }
        };
        Ok(Self {
            cuda: cuda.clone(),
            kernel,
            ends: Vector::uploaded(gpu, &ends)?,
            fields: fields(system),
            storage: system.layout().storage(),
            patches: Patches::new(cuda, system, level)?,
        })
    }

    /// `y += α A x`, a class of patches after the other.
    fn multiply(&self, alpha: f64, x: &Vector<T>, y: &mut Vector<T>) -> Result<()> {
        let gpu = &self.cuda.gpu;
        x.check(gpu, "x", self.storage)?;
        y.check(gpu, "y", self.storage)?;
        let (ends, x, y, alpha) = (self.ends.as_ptr(), x.as_ptr(), y.as_mut_ptr(), T::from_f64(alpha));
        for class in 0..8 {
            let fields = Fields { color: class, ..self.fields };
            let blocks = operator::blocks(fields.cells, class);
            macro_rules! launch {
                ($Arguments:ident, $kernel:ident, $matrices:ident) => {{
                    let arguments = $Arguments { matrices: $matrices.as_ptr(), ends, x, y, alpha, fields };
                    // SAFETY: vectors of the level, checked above, `y` another one than `x`, and tables of its forms.
                    unsafe { $kernel.launch(gpu, blocks, arguments) }
                }};
            }
            match &self.kernel {
                Kernel::Padding(kernel, matrices) => launch!(Padding, kernel, matrices),
                Kernel::Basic(kernel, matrices) => launch!(Basic, kernel, matrices),
                Kernel::Shared(kernel, matrices) => launch!(Shared, kernel, matrices),
                Kernel::ConflictFree(kernel, matrices) => launch!(ConflictFree, kernel, matrices),
            }?;
        }
        Ok(())
    }
}

impl<T: Scalar> Parts<Cuda, T> for Kernels<T> {
    fn apply(&self, x: &Vector<T>, y: &mut Vector<T>) -> Result<()> {
        self.cuda.set_zero(y)?;
        self.multiply(1.0, x, y)
    }

    fn residual(&self, b: &Vector<T>, x: &Vector<T>, r: &mut Vector<T>) -> Result<()> {
        self.cuda.axpby(1.0, b, 0.0, r)?;
        self.multiply(-1.0, x, r)
    }

    fn add_solutions(&self, color: usize, r: &Vector<T>, x: &mut Vector<T>) -> Result<()> {
        let gpu = &self.cuda.gpu;
        r.check(gpu, "r", self.storage)?;
        x.check(gpu, "x", self.storage)?;
        // SAFETY: vectors of the level, checked above, `x` another one than `r`.
        unsafe { self.patches.add_solutions(&self.cuda, Fields { color: color as u32, ..self.fields }, r, x) }
    }
}

/// Bytes of the tables.
pub(super) fn bytes<T: Scalar>(system: &Stokes, level: Paper2) -> u64 {
    let (across, along) = (across_nodes(system, level), system.degree() + 2);
    let matrices = match level {
        Paper2::Padding | Paper2::Basic => 0,
        Paper2::Shared | Paper2::ConflictFree => 10 * across * across + 2 * along * along + across * along + 7,
    };
    vector_bytes::<T>(1, matrices) + vector_bytes::<T>(2, across * across) + patches::bytes::<T>(system)
}
