//! Traffic of shared memory: what no GPU is needed for.

use crate::inspect::SharedMemory;
use patchmg::backend::Scalar;
use patchmg::system::poisson::PatchKernel;
use patchmg_device::kernels::{KernelSpec, Module, Operation, TensorKernel};
use patchmg_device::tensor_core::list::listed;

/// Bytes that shared memory delivers or takes in one pass: 32 banks of 4 bytes.
pub const WAVEFRONT_BYTES: f64 = 128.0;

/// Passes through shared memory of the kernels that do a step, together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Traffic {
    /// For a patch, of a block with all its patches.
    pub patch_wavefronts: f64,
    /// Those of a block that bank conflicts cause.
    pub block_excess: f64,
}

impl Traffic {
    /// None if there are no such kernels; a global residual, the operator's, is left out.
    pub fn of<T: Scalar>(kernel: PatchKernel, dim: usize, degree: usize) -> Option<Self> {
        let (kernels, patches) = match kernel {
            PatchKernel::Register => (vec![(Module::PoissonCg { dim, degree }, Operation::Smooth)], None),
            PatchKernel::Paper1 { kernels, patches } => {
                let module = Module::PatchVariants { dim, degree };
                let steps = kernels.steps(dim, degree)?.iter();
                (steps.map(|&(step, variant)| (module, Operation::Variant(step, variant))).collect(), patches)
            }
            PatchKernel::Products(_) => return None,
        };
        kernels.into_iter().try_fold(Self::default(), |sum, (module, operation)| {
            let spec = module.kernel::<T>(operation);
            let spec = match patches {
                Some(patches) => spec.with_patches(patches.try_into().ok()?)?,
                None => spec,
            };
            let memory = SharedMemory::of(module, &spec);
            Some(Self {
                patch_wavefronts: sum.patch_wavefronts + memory.patch?.wavefronts,
                block_excess: sum.block_excess + memory.block.excess as f64,
            })
        })
    }
}

/// The operator's kernel on such boxes, if there is one.
pub fn box_operator(kernel: TensorKernel, nodes: usize) -> Option<(Module, KernelSpec)> {
    let listed = listed(nodes).into_iter().find(|listed| listed.kernel == kernel)?;
    let module = Module::TensorCore { nodes, hopper: listed.hopper };
    // In the scalar of the list.
    Some((module, module.kernel::<f64>(Operation::BoxApply(kernel))))
}

/// Its passes through shared memory for a box.
pub fn box_wavefronts(kernel: TensorKernel, nodes: usize) -> Option<f64> {
    let (module, spec) = box_operator(kernel, nodes)?;
    Some(SharedMemory::of(module, &spec).block.wavefronts as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use patchmg::system::poisson::{Engine, MatrixMemory, Operands, Paper1, ProductShape, Variant};

    #[test]
    fn permuted_tensors_take_fewer_wavefronts_and_there_are_none_of_kernels_that_there_are_not() {
        let wavefronts = |engine, nodes| {
            let (operands, shape) = (Operands::F64, Some(ProductShape::M8N8K4));
            box_wavefronts(TensorKernel { engine, operands, matrices: MatrixMemory::Shared, shape }, nodes)
        };
        let (permuted, rows) = (wavefronts(Engine::MmaSwizzled, 8).unwrap(), wavefronts(Engine::Mma, 8).unwrap());
        // Each node is read and written in three directions: 8 bytes of 128.
        assert!(3.0 * 2.0 * 512.0 / 16.0 < permuted && permuted < 0.8 * rows, "{permuted} {rows}");
        assert_eq!((wavefronts(Engine::Mma, 6), wavefronts(Engine::Mma, 20)), (None, None));
    }

    #[test]
    fn conflict_free_kernels_have_no_conflicts_and_the_others_do() {
        let traffic = |kernel| Traffic::of::<f64>(kernel, 3, 3).unwrap();
        let fused = |variant| traffic(Paper1::Fused(variant).by_default());
        assert_eq!(fused(Variant::ConflictFree).block_excess, 0.0);
        assert!(fused(Variant::Basic).block_excess > 0.0);
        // Less than an access of 8 bytes a wavefront of 16 would be no traffic at all.
        let least = 2.0 * 7f64.powi(4) / 16.0;
        let conflict_free = fused(Variant::ConflictFree).patch_wavefronts;
        assert!(conflict_free > least);
        assert!(traffic(PatchKernel::Register).patch_wavefronts < conflict_free);
        let crowded = PatchKernel::Paper1 { kernels: Paper1::Fused(Variant::Basic), patches: Some(10_000) };
        assert_eq!(Traffic::of::<f64>(crowded, 3, 3), None);
    }
}
