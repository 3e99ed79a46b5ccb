//! Traffic of shared memory: what no GPU is needed for.

use crate::inspect::SharedMemory;
use patchmg::backend::Scalar;
use patchmg::system::poisson::PatchKernel;
use patchmg::system::stokes::{Paper2, StokesKernel};
use patchmg_device::kernels::{KernelSpec, Module, Operation, TensorKernel};
use patchmg_device::stokes::paper2;
use patchmg_device::tensor_core::list::listed;
use patchmg_device::typed::Arguments as _;

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

impl Traffic {
    /// Of the operator of the Stokes equations in 3D, for an interior patch of two cells a direction, which is a block; none by
    /// kernels with other blocks, and in degrees that have no such kernels.
    pub fn of_stokes_operator<T: Scalar>(kernel: StokesKernel, degree: usize) -> Option<Self> {
        let StokesKernel::Paper2(level) = kernel else { return None };
        let module = paper2::DEGREES.contains(&degree).then_some(paper2::KIND.module(3, degree))?;
        let spec = match level {
            Paper2::Padding => paper2::Padding::<T>::spec(module),
            Paper2::Basic => paper2::Basic::<T>::spec(module),
            Paper2::Shared => paper2::Shared::<T>::spec(module),
            Paper2::ConflictFree => paper2::ConflictFree::<T>::spec(module),
        };
        let block = SharedMemory::of(module, &spec).block;
        Some(Self { patch_wavefronts: block.wavefronts as f64, block_excess: block.excess as f64 })
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

    /// Paper 2, figure 8: padding has the least intensity, and only `conflict-free` has no conflicts.
    #[test]
    fn the_stokes_operator_has_conflicts_but_at_the_last_level() {
        let degree = 2;
        let traffic = |level| Traffic::of_stokes_operator::<f64>(StokesKernel::Paper2(level), degree).unwrap();
        let [padding, basic, shared, conflict_free] = Paper2::ALL.map(traffic);
        assert_eq!(conflict_free.block_excess, 0.0);
        assert!([padding, basic, shared].iter().all(|traffic| traffic.block_excess > 0.0));
        let without_conflicts = |traffic: Traffic| traffic.patch_wavefronts - traffic.block_excess;
        assert!(without_conflicts(padding) > without_conflicts(basic));
        assert!(conflict_free.patch_wavefronts < shared.patch_wavefronts);
        assert_eq!(Traffic::of_stokes_operator::<f64>(StokesKernel::default(), degree), None);
        assert_eq!(Traffic::of_stokes_operator::<f64>(StokesKernel::Paper2(Paper2::Basic), 5), None);
    }
}
