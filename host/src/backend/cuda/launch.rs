//! A kernel's launch, and how many blocks it has.

use super::calls::check;
use super::gpu::Gpu;
use super::library::Source;
use super::memory::Vector;
use super::modules::{ConstantsOf, require};
use crate::error::Result;
use crate::sync::lock;
use bytemuck::{Pod, bytes_of};
use cuda_builder::ptx::FunctionBody;
use cust::sys::{
    self, CUdeviceptr, CUfunction, CUfunction_attribute, CUlaunchAttribute, CUlaunchAttributeID,
    CUlaunchAttributeValue, CUlaunchConfig,
};
use patchmg_device::kernels::{KernelSpec, Module};
use patchmg_device::typed::Arguments;
use std::ffi::{c_int, c_void};
use std::marker::PhantomData;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

/// Parameters that a kernel may have.
const PARAMETERS: usize = 8;

/// Dynamic shared memory that a kernel has without asking, bytes.
const SHARED_BYTES: u32 = 48 * 1024;

/// An entry point of a module, compiled when it is first launched, or earlier with others that are promised.
pub(crate) struct Kernel {
    source: Source,
    spec: KernelSpec,
    loaded: OnceLock<Loaded>,
    /// Set at a launch ([`Gpu::take_launched`]).
    launched: Arc<AtomicBool>,
}

struct Loaded {
    function: CUfunction,
    /// Blocks of it that a multiprocessor holds.
    resident: u32,
}

// SAFETY: a handle of the driver, which takes it from any thread.
unsafe impl Send for Loaded {}
// SAFETY: as above.
unsafe impl Sync for Loaded {}

impl Kernel {
    /// Of a module with constants.
    pub fn new(gpu: &Gpu, module: Module, spec: KernelSpec, constants: ConstantsOf) -> Self {
        let launched = gpu.launch_mark(&spec.name);
        Self { source: Source { module, constants }, spec, loaded: OnceLock::new(), launched }
    }

    /// Of a module with constants, and promised to be launched: it is compiled when a kernel is next needed.
    ///
    /// # Errors
    /// [`Error::NoModule`](crate::Error::NoModule).
    pub fn promised(gpu: &Gpu, module: Module, spec: KernelSpec, constants: ConstantsOf) -> Result<Self> {
        require(module)?;
        let kernel = Self::new(gpu, module, spec, constants);
        kernel.promise(gpu);
        Ok(kernel)
    }

    fn promise(&self, gpu: &Gpu) {
        if self.loaded.get().is_none() {
            lock(&gpu.library).promise(&self.spec.name, self.source);
        }
    }

    /// Promises that it will be launched, if this thread announces work.
    fn is_announced(&self, gpu: &Gpu) -> bool {
        let announces = gpu.announces_here();
        if announces {
            self.promise(gpu);
        }
        announces
    }

    pub fn spec(&self) -> &KernelSpec {
        &self.spec
    }

    /// Blocks of it that a multiprocessor holds.
    pub fn resident(&self, gpu: &Gpu) -> Result<u32> {
        Ok(self.loaded(gpu)?.resident)
    }

    /// The length of chunks; `blocks` gives the grid for a length. While work is announced and it is not known yet, the longest.
    fn chunk(&self, gpu: &Gpu, chunk: &Chunk, blocks: impl Fn(u32) -> [u32; 3]) -> Result<u32> {
        let Chunk { longest, known } = chunk;
        if let Some(&chunk) = known.get() {
            return Ok(chunk);
        }
        if self.is_announced(gpu) {
            return Ok(*longest);
        }
        let resident = self.resident(gpu)?.max(1) * gpu.multiprocessors();
        Ok(*known.get_or_init(|| chunk_of(*longest, resident, blocks)))
    }

    /// Compiled, if it was not, and loaded.
    fn loaded(&self, gpu: &Gpu) -> Result<&Loaded> {
        if let Some(loaded) = self.loaded.get() {
            return Ok(loaded);
        }
        self.load(gpu, &[])
    }

    /// Compiled with these bodies of functions, if it was not, and loaded.
    fn load(&self, gpu: &Gpu, bodies: &[FunctionBody]) -> Result<&Loaded> {
        let function = lock(&gpu.library).function(gpu, &self.spec.name, self.source, bodies)?;
        if self.spec.shared_bytes > SHARED_BYTES {
            let bytes = self.spec.shared_bytes as c_int;
            let attribute = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            // SAFETY: a function of the current context.
            let code = unsafe { sys::cuFuncSetAttribute(function, attribute, bytes) };
            check("cuFuncSetAttribute", code)?;
        }
        let mut blocks = 0;
        let (threads, shared) = (self.spec.threads as i32, self.spec.shared_bytes as usize);
        // SAFETY: the driver writes a number; the function is one of a loaded module.
        let code = unsafe { sys::cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut blocks, function, threads, shared) };
        check("cuOccupancyMaxActiveBlocksPerMultiprocessor", code)?;
        Ok(self.loaded.get_or_init(|| Loaded { function, resident: blocks as u32 }))
    }

    /// Does nothing if there is no block; while this thread announces work, the kernel is promised alone.
    ///
    /// # Safety
    /// `arguments` are the bytes of the kernel's parameters, at most [`PARAMETERS`], and what they point to is as long
    /// as the kernel makes use of with this grid. `gpu` is that of all launches.
    pub unsafe fn launch<'a>(
        &self,
        gpu: &Gpu,
        blocks: [u32; 3],
        arguments: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<()> {
        let mut pointers = [std::ptr::null_mut(); PARAMETERS];
        for (pointer, argument) in pointers.iter_mut().zip(arguments) {
            *pointer = argument.as_ptr().cast_mut().cast();
        }
        // SAFETY: the caller's promise.
        unsafe { self.launch_at(gpu, blocks, &mut pointers) }
    }

    /// With the addresses of the parameters.
    ///
    /// # Safety
    /// As for [`Self::launch`].
    unsafe fn launch_at(&self, gpu: &Gpu, blocks: [u32; 3], parameters: &mut [*mut c_void]) -> Result<()> {
        if blocks.contains(&0) || self.is_announced(gpu) {
            return Ok(());
        }
        gpu.enter()?;
        let function = self.loaded(gpu)?.function;
        gpu.mark(&self.launched);
        let [x, y, z] = blocks;
        let mut overlaps = CUlaunchAttribute {
            id: CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
            pad: [0; 4],
            value: CUlaunchAttributeValue { programmaticStreamSerializationAllowed: 1 },
        };
        let config = CUlaunchConfig {
            gridDimX: x,
            gridDimY: y,
            gridDimZ: z,
            blockDimX: self.spec.threads,
            blockDimY: 1,
            blockDimZ: 1,
            sharedMemBytes: self.spec.shared_bytes,
            hStream: gpu.stream(),
            attrs: &mut overlaps,
            numAttrs: gpu.overlaps_launches().into(),
        };
        let (parameters, extra) = (parameters.as_mut_ptr(), std::ptr::null_mut());
        // SAFETY: the caller's promise; the driver copies the arguments before it returns. Where launches overlap, kernels wait for
        // the one before (`Library::text`).
        check("cuLaunchKernelEx", unsafe { sys::cuLaunchKernelEx(&config, function, parameters, extra) })
    }

    /// With the arguments that most kernels have, in their order: matrices by value, vectors, cells in each direction, and
    /// numbers.
    ///
    /// # Safety
    /// As for [`Self::launch`].
    pub unsafe fn launch_on_vectors(
        &self,
        gpu: &Gpu,
        blocks: [u32; 3],
        matrices: Option<&[u8]>,
        vectors: &[CUdeviceptr],
        cells: [u32; 3],
        numbers: &[u32],
    ) -> Result<()> {
        let (vectors, numbers) = (vectors.iter().map(bytes_of), numbers.iter().map(bytes_of));
        let arguments = matrices.into_iter().chain(vectors).chain([bytes_of(&cells)]).chain(numbers);
        // SAFETY: the caller's promise.
        unsafe { self.launch(gpu, blocks, arguments) }
    }
}

/// A kernel of `kernels!`, with the struct of its arguments: for example `TypedKernel<axis::Apply<f64>>`.
pub(crate) struct TypedKernel<A> {
    kernel: Kernel,
    arguments: PhantomData<fn(A)>,
}

impl<A: Arguments> TypedKernel<A> {
    /// Of a module: [promised](Kernel::promised).
    pub fn new(gpu: &Gpu, module: Module) -> Result<Self> {
        Self::with_constants(gpu, module, |_| Ok(Vec::new()))
    }

    /// The same of a module with constants, which are the same for all of its kernels.
    pub fn with_constants(gpu: &Gpu, module: Module, constants: ConstantsOf) -> Result<Self> {
        let kernel = Kernel::promised(gpu, module, A::spec(module), constants)?;
        Ok(Self { kernel, arguments: PhantomData })
    }

    /// The same with other bodies of functions of the module.
    pub fn with_functions(gpu: &Gpu, module: Module, bodies: &[FunctionBody]) -> Result<Self> {
        let kernel = Kernel::new(gpu, module, A::spec(module), |_| Ok(Vec::new()));
        kernel.load(gpu, bodies)?;
        Ok(Self { kernel, arguments: PhantomData })
    }

    /// Its name, and how many of its blocks a multiprocessor holds.
    pub fn resident(&self, gpu: &Gpu) -> Result<(String, u32)> {
        Ok((self.kernel.spec().name.clone(), self.kernel.resident(gpu)?))
    }

    /// How long the chunks of a kernel whose blocks march are.
    pub fn chunk(&self, gpu: &Gpu, chunk: &Chunk, blocks: impl Fn(u32) -> [u32; 3]) -> Result<u32> {
        self.kernel.chunk(gpu, chunk, blocks)
    }

    /// Does nothing if there is no block; while this thread announces work, the kernel is promised alone.
    ///
    /// # Safety
    /// Addresses are those of memory of `gpu`, on which the kernel was loaded, and the kernel may be called with these
    /// arguments and so many blocks.
    pub unsafe fn launch(&self, gpu: &Gpu, blocks: [u32; 3], arguments: A) -> Result<()> {
        // SAFETY: the caller's promise; the parameters are those of the kernel, in their order.
        unsafe { self.kernel.launch_at(gpu, blocks, arguments.parameters().as_mut()) }
    }
}

impl<T: Pod> Vector<T> {
    /// [`Self::pointer`], for the arguments of a [`TypedKernel`]; not to be read on the host.
    pub(crate) fn as_ptr(&self) -> *const T {
        std::ptr::without_provenance(self.pointer() as usize)
    }

    /// As [`Self::as_ptr`], for what a kernel writes.
    pub(crate) fn as_mut_ptr(&mut self) -> *mut T {
        std::ptr::without_provenance_mut(self.pointer() as usize)
    }
}

/// How many cells or patches a block marches through: as many as let the last block end first, if a block takes a step for each of them, and one more
/// because it begins one early. Chosen when the kernel is compiled, because it depends on how many blocks a multiprocessor holds.
pub(crate) struct Chunk {
    longest: u32,
    known: OnceLock<u32>,
}

impl Chunk {
    /// At most so many, and at least one.
    pub fn at_most(longest: u32) -> Self {
        Self { longest: longest.max(1), known: OnceLock::new() }
    }
}

/// A kernel whose blocks march, each through a [`Chunk`].
pub(crate) struct Marching {
    pub kernel: Kernel,
    chunk: Chunk,
    /// The grid for chunks of a length.
    blocks: Box<dyn Fn(u32) -> [u32; 3] + Send + Sync>,
}

impl Marching {
    /// With chunks of at most so many.
    pub fn new(kernel: Kernel, longest: u32, blocks: impl Fn(u32) -> [u32; 3] + Send + Sync + 'static) -> Self {
        Self { kernel, chunk: Chunk::at_most(longest), blocks: Box::new(blocks) }
    }

    /// How long chunks are.
    pub fn chunk(&self, gpu: &Gpu) -> Result<u32> {
        self.kernel.chunk(gpu, &self.chunk, &self.blocks)
    }

    /// Blocks of a launch.
    pub fn blocks(&self, gpu: &Gpu) -> Result<[u32; 3]> {
        Ok((self.blocks)(self.chunk(gpu)?))
    }

    /// On vectors, with the chunk behind the cells.
    ///
    /// # Safety
    /// As for [`Kernel::launch`].
    pub unsafe fn launch(&self, gpu: &Gpu, matrices: &[u8], vectors: &[CUdeviceptr], cells: [u32; 3]) -> Result<()> {
        let chunk = self.chunk(gpu)?;
        // SAFETY: the caller's promise.
        unsafe { self.kernel.launch_on_vectors(gpu, (self.blocks)(chunk), Some(matrices), vectors, cells, &[chunk]) }
    }
}

/// The chunk on a device that holds `resident` blocks.
fn chunk_of(longest: u32, resident: u32, blocks: impl Fn(u32) -> [u32; 3]) -> u32 {
    let steps = |&chunk: &u32| {
        let rounds = blocks(chunk).into_iter().map(u64::from).product::<u64>().div_ceil(resident.into());
        rounds * u64::from(chunk + 1)
    };
    (1..=longest.max(1)).rev().min_by_key(steps).unwrap_or(1)
}

/// Blocks for `n` entries, a thread each, at most so many; none if there is no entry.
pub(crate) fn stride_blocks(n: usize, threads: u32, most: u32) -> Option<[u32; 3]> {
    (n > 0).then(|| [n.div_ceil(threads as usize).min(most as usize) as u32, 1, 1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_those_that_are_done_first() {
        let tiles = |tiles: u32, cells: u32| move |chunk: u32| [tiles, 1, cells.div_ceil(chunk)];
        // One round of 512 blocks with 33 steps, rather than two of 1024 with 17.
        assert_eq!(chunk_of(32, 528, tiles(256, 64)), 32);
        // 16 rounds of 17 steps, rather than 32 of 9.
        assert_eq!(chunk_of(16, 128, tiles(256, 128)), 16);
        // One round of 768 blocks.
        assert_eq!(chunk_of(16, 792, tiles(256, 31)), 11);
        assert_eq!(chunk_of(8, 528, tiles(4, 8)), 1);
    }

    #[test]
    fn enough_blocks_for_every_entry_and_no_more_than_are_useful() {
        assert_eq!(stride_blocks(0, 256, 100), None);
        assert_eq!(stride_blocks(1, 256, 100), Some([1, 1, 1]));
        assert_eq!(stride_blocks(256, 256, 100), Some([1, 1, 1]));
        assert_eq!(stride_blocks(257, 256, 100), Some([2, 1, 1]));
        assert_eq!(stride_blocks(1 << 40, 256, 100), Some([100, 1, 1]));
    }
}
