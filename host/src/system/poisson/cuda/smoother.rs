//! The patch smoother's kernels of a level: the default one, or those of paper 1.

use super::{constants, promised};
use crate::backend::Scalar;
use crate::backend::cuda::Vector;
use crate::backend::cuda::gpu::Gpu;
use crate::backend::cuda::launch::Kernel;
use crate::backend::cuda::modules;
use crate::error::{Error, Result};
use crate::space::Space;
use crate::system::poisson::forms::ContinuousForms;
use patchmg_device::kernels::{self, Module, Operation, Paper1, PatchKernel};
use patchmg_device::variants::Step;
use std::sync::Arc;

/// What does one color of the patch smoother.
pub(super) enum SmootherKernels<T: Scalar> {
    /// [`patchmg_device::smoother`], its table, and in 2D what comes after a coarse correction.
    Register { kernel: Kernel, table: Vector<T>, corrected: Option<Box<Corrected>> },
    /// [`patchmg_device::variants`].
    Paper1(PaperKernels<T>),
}

/// The first color after a coarse correction, and the part of the prolongation before it.
pub(super) struct Corrected {
    pub edges: Kernel,
    pub first: Kernel,
}

/// Kernels of paper 1, in the order in which they run, and what they read besides the vectors.
pub(super) struct PaperKernels<T: Scalar> {
    pub kernels: Vec<Kernel>,
    /// 1D matrices.
    pub table: Vector<T>,
    /// Inverse of a patch's matrix, of the kernel that takes it.
    pub inverse: Option<Vector<T>>,
    /// Residual between two kernels.
    pub residual: Option<Vector<T>>,
    /// Whether that is the operator's.
    pub is_global: bool,
}

impl<T: Scalar> SmootherKernels<T> {
    pub fn new(gpu: &Arc<Gpu>, forms: &ContinuousForms, choice: PatchKernel) -> Result<Self> {
        let (dim, degree) = (forms.dim(), forms.degree());
        let uploaded = |numbers: Vec<T>| Vector::uploaded(gpu, &numbers);
        let steps = steps(dim, degree, choice)?;
        let PatchKernel::Paper1 { kernels: paper1, patches } = choice else {
            let module = Module::PoissonCg { dim, degree };
            // A level that does not smooth has no use for them.
            let kernel = |operation| Kernel::new(gpu, module, module.kernel::<T>(operation), constants);
            let corrected = || {
                Box::new(Corrected { edges: kernel(Operation::ProlongateEdges), first: kernel(Operation::SmoothFirst) })
            };
            return Ok(Self::Register {
                kernel: kernel(Operation::Smooth),
                table: uploaded(forms.smoother_table())?,
                corrected: (dim == 2).then(corrected),
            });
        };
        let module = Module::PatchVariants { dim, degree };
        let kernel = |&(step, variant): &(Step, _)| {
            let spec = module.kernel::<T>(Operation::Variant(step, variant));
            let asked = patches.map_or(Some(spec.patches), |patches| u32::try_from(patches).ok());
            let most = spec.most_threads / (spec.threads / spec.patches);
            let spec = asked.and_then(|asked| spec.with_patches(asked)).ok_or_else(|| {
                let value = patches.unwrap_or_default().to_string();
                Error::InvalidArgument { name: "patches per block", value, allowed: format!("1 to {most}") }
            })?;
            promised(gpu, module, spec)
        };
        let has_inverse = steps.iter().any(|(step, _)| *step == Step::FusedInverse);
        let is_global = matches!(paper1, Paper1::Global(_));
        let has_residual = is_global || steps.len() > 1;
        Ok(Self::Paper1(PaperKernels {
            kernels: steps.iter().map(kernel).collect::<Result<_>>()?,
            table: uploaded(forms.variant_table())?,
            inverse: has_inverse.then(|| uploaded(forms.patch_inverse())).transpose()?,
            residual: has_residual.then(|| Vector::zeros(gpu, forms.grid().storage(dim))).transpose()?,
            is_global,
        }))
    }

    /// Its kernels.
    pub fn kernels(&self) -> &[Kernel] {
        match self {
            Self::Register { kernel, .. } => std::slice::from_ref(kernel),
            Self::Paper1(paper1) => &paper1.kernels,
        }
    }
}

/// The kernels of paper 1 that a choice is; none for the default one.
///
/// # Errors
/// [`Error::Unsupported`], with what there is.
pub(super) fn steps(dim: usize, degree: usize, choice: PatchKernel) -> Result<&'static [(Step, kernels::Variant)]> {
    let steps = match choice {
        PatchKernel::Register => Some(&[][..]),
        PatchKernel::Paper1 { kernels, .. } => kernels.steps(dim, degree),
        PatchKernel::Products(_) => None,
    };
    steps.ok_or_else(|| unsupported_kernel(choice, PatchKernel::AVAILABLE))
}

/// That the program has the kernels of a choice.
///
/// # Errors
/// Those of [`steps`], and [`Error::NoModule`].
pub(super) fn check(space: &Space, choice: PatchKernel) -> Result<()> {
    if steps(space.dim(), space.degree(), choice)?.is_empty() {
        return Ok(());
    }
    modules::require(Module::PatchVariants { dim: space.dim(), degree: space.degree() })
}

/// [`Error::Unsupported`], with what there is.
pub(super) fn unsupported_kernel(choice: PatchKernel, available: &str) -> Error {
    let (what, asked, available) = ("kernel of the patch smoother", choice.to_string(), available.into());
    Error::Unsupported { backend: "cuda", what, asked, available }
}
