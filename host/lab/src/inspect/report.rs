//! What there is to say of a kernel, in the order of its JSON.

use super::{InstructionMix, Resources};
use cuda_std::emulate;
use patchmg_device::kernels::{KernelSpec, Module};
use patchmg_emulation::Kernel;
use serde::Serialize;

/// A kernel of the list. What only the assembler or the PTX tells is none where they are not there.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KernelReport {
    /// Entry point.
    pub name: String,
    /// Of PTX.
    pub module: String,
    /// None for vector operations.
    pub dim: Option<usize>,
    /// None for vector operations.
    pub degree: Option<usize>,
    /// `f32` or `f64`.
    pub scalar: &'static str,
    /// Of a block.
    pub threads: u32,
    /// Of a block; 0 where there are none.
    pub patches: u32,
    /// Of a thread.
    pub registers: Option<u32>,
    /// Dynamic shared memory of a block.
    pub shared_bytes: u32,
    /// Shared memory of a block that the code declares.
    pub static_shared_bytes: Option<u32>,
    /// Local memory of a thread: arrays and spilled registers.
    pub stack_bytes: Option<u32>,
    /// Registers written to local memory.
    pub spill_store_bytes: Option<u32>,
    /// Registers read back.
    pub spill_load_bytes: Option<u32>,
    /// Block-wide barriers.
    pub barriers: u32,
    /// In the text of the PTX, loops once.
    pub instructions: Option<InstructionMix>,
    /// Of a block with all its patches.
    pub shared_memory: SharedMemory,
}

/// Traffic of shared memory, for a block and on average for a patch of it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SharedMemory {
    pub block: Wavefronts<u64>,
    /// None where there are no patches.
    pub patch: Option<Wavefronts<f64>>,
}

/// Passes through shared memory (see [`cuda_std::emulate::Request`]).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Wavefronts<N> {
    /// All.
    pub wavefronts: N,
    /// Those that bank conflicts cause.
    pub excess: N,
}

impl KernelReport {
    pub(super) fn new(
        module: Module,
        spec: &KernelSpec,
        resources: Option<Resources>,
        instructions: Option<InstructionMix>,
        shared_memory: SharedMemory,
    ) -> Self {
        let (dim, degree) = module.space().unzip();
        Self {
            name: spec.name.clone(),
            module: module.name(),
            dim,
            degree,
            scalar: spec.scalar,
            threads: spec.threads,
            patches: spec.patches,
            registers: resources.map(|resources| resources.registers),
            shared_bytes: spec.shared_bytes,
            static_shared_bytes: resources.map(|resources| resources.shared_bytes),
            stack_bytes: resources.map(|resources| resources.stack_bytes),
            spill_store_bytes: resources.map(|resources| resources.spill_store_bytes),
            spill_load_bytes: resources.map(|resources| resources.spill_load_bytes),
            barriers: spec.barriers,
            instructions,
            shared_memory,
        }
    }
}

impl SharedMemory {
    /// From a run of a block on the host.
    pub fn of(module: Module, spec: &KernelSpec) -> Self {
        let kernel = Kernel::new(module, spec.clone()).expect("every kernel of the list can be emulated");
        let wavefronts = kernel.trace().wavefronts();
        let emulate::Wavefronts { total, .. } = wavefronts;
        let block = Wavefronts { wavefronts: total, excess: wavefronts.excess() };
        let share = |count: u64| count as f64 / f64::from(spec.patches);
        let patch = Wavefronts { wavefronts: share(block.wavefronts), excess: share(block.excess) };
        Self { block, patch: (spec.patches > 0).then_some(patch) }
    }
}
