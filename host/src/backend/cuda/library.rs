//! The kernels of a GPU: compiled, or promised. From CUDA 13.0 on the driver compiles the kernels of a module side by side, but different
//! modules only one after the other. So kernels that will be launched are promised first. When a kernel is next needed, all of them are
//! compiled with it.

use super::calls::{check, error_name};
use super::gpu::Gpu;
use super::modules::{ConstantsOf, given_ptx};
use crate::error::{Error, Result};
use cuda_builder::ptx::{FunctionBody, entries, joined, with_dependent_launches, with_entries, with_functions};
use cust::error::CudaError;
use cust::sys::{self, CUfunction, CUjit_option, CUmodule, CUresult};
use patchmg_device::kernels::Module;
use std::collections::{BTreeMap, HashMap};
use std::ffi::{CString, c_void};
use std::time::Instant;

/// Of the driver's reasons for not compiling a module.
const LOG_BYTES: usize = 4096;

/// Where the PTX of a kernel is.
#[derive(Clone, Copy)]
pub(super) struct Source {
    pub module: Module,
    pub constants: ConstantsOf,
}

/// What a GPU has of kernels.
#[derive(Default)]
pub(super) struct Library {
    /// By name, and by the bodies of functions that they were given.
    functions: HashMap<(String, Vec<FunctionBody>), Function>,
    modules: Vec<LoadedModule>,
    /// To be compiled with the next kernel, by name.
    promised: BTreeMap<String, Source>,
    /// PTX of modules, by their names.
    texts: HashMap<String, String>,
}

/// A kernel of a loaded module.
#[derive(Clone, Copy)]
struct Function(CUfunction);
// SAFETY: a handle of the driver, which takes it from any thread.
unsafe impl Send for Function {}

struct LoadedModule(CUmodule);
// SAFETY: as above.
unsafe impl Send for LoadedModule {}

impl Library {
    /// Notes that a kernel will be launched.
    pub fn promise(&mut self, kernel: &str, source: Source) {
        let key = (kernel.to_owned(), Vec::new());
        if !self.functions.contains_key(&key) {
            self.promised.insert(key.0, source);
        }
    }

    /// A kernel, compiled if it is not yet: with all promised kernels, or by itself if there are bodies of functions that it calls.
    ///
    /// # Errors
    /// Those of [`given_ptx`]; [`Error::Unsupported`] where its module does not have the kernel or a function; those of the driver.
    pub fn function(&mut self, gpu: &Gpu, kernel: &str, source: Source, bodies: &[FunctionBody]) -> Result<CUfunction> {
        gpu.enter()?;
        let key = (kernel.to_owned(), bodies.to_vec());
        if let Some(&Function(found)) = self.functions.get(&key) {
            return Ok(found);
        }
        if bodies.is_empty() {
            self.promised.insert(key.0.clone(), source);
            if self.promised.len() > 1 {
                self.load_promised(gpu);
            }
            self.promised.clear();
            if let Some(&Function(found)) = self.functions.get(&key) {
                return Ok(found);
            }
        }
        let alone = with_entries(self.text(gpu, source)?, |name| name == kernel);
        if entries(&alone).is_empty() {
            return Err(unsupported(source.module, "kernel", kernel));
        }
        let text = with_functions(&alone, bodies).map_err(|missing| unsupported(source.module, "function", missing))?;
        self.load(gpu, &text, bodies, &source.module.name())?;
        self.functions.get(&key).map(|found| found.0).ok_or_else(|| unsupported(source.module, "kernel", kernel))
    }

    /// Compiles the promised kernels together. If that fails, they are compiled one by one when they are needed, and errors show then.
    pub fn load_promised(&mut self, gpu: &Gpu) {
        let promised = std::mem::take(&mut self.promised);
        if let Err(error) = gpu.enter().and_then(|()| self.load_together(gpu, &promised)) {
            tracing::debug!("kernels are compiled one by one: {error}");
        }
    }

    /// Compiles kernels, as many as can be in one module.
    fn load_together(&mut self, gpu: &Gpu, kernels: &BTreeMap<String, Source>) -> Result<()> {
        let modules: BTreeMap<String, Source> =
            kernels.values().map(|&source| (source.module.name(), source)).collect();
        let wanted = |&source: &Source| Ok(with_entries(self.text(gpu, source)?, |name| kernels.contains_key(name)));
        let texts = modules.values().map(wanted).collect::<Result<Vec<_>>>()?;
        let names = modules.into_keys().collect::<Vec<_>>().join(", ");
        joined(&texts).iter().try_for_each(|text| self.load(gpu, text, &[], &names))
    }

    /// PTX of a module as it is given to the GPU.
    fn text(&mut self, gpu: &Gpu, Source { module, constants }: Source) -> Result<&str> {
        use std::collections::hash_map::Entry;
        Ok(match self.texts.entry(module.name()) {
            Entry::Occupied(text) => text.into_mut(),
            Entry::Vacant(place) => {
                let text = given_ptx(module, constants)?;
                place.insert(if gpu.overlaps_launches() { with_dependent_launches(&text) } else { text })
            }
        })
    }

    /// Compiles PTX for the current device, and finds all its kernels; the driver keeps what it compiled for later runs.
    fn load(&mut self, gpu: &Gpu, text: &str, bodies: &[FunctionBody], modules: &str) -> Result<()> {
        let start = Instant::now();
        let module = compiled(text, modules, gpu.compiles_side_by_side())?;
        let (handle, kernels) = (module.0, entries(text));
        tracing::debug!(
            "{} kernels of the modules {modules}: compiled, or found in the driver's cache, in {:.0?}",
            kernels.len(),
            start.elapsed()
        );
        self.modules.push(module);
        for entry in kernels {
            let name = CString::new(entry.name).expect("a name in PTX holds no zero byte");
            let mut function = std::ptr::null_mut();
            // SAFETY: the driver writes a handle; the module stays loaded until `unload`.
            check("cuModuleGetFunction", unsafe { sys::cuModuleGetFunction(&mut function, handle, name.as_ptr()) })?;
            self.functions.insert((entry.name.to_owned(), bodies.to_vec()), Function(function));
        }
        Ok(())
    }

    /// Unloads all kernels.
    ///
    /// # Safety
    /// Their device is current, and none of them is launched any more.
    pub unsafe fn unload(&mut self) {
        self.functions.clear();
        for module in self.modules.drain(..) {
            // SAFETY: loaded by `compiled`, unloaded once; the caller's promise.
            unsafe { sys::cuModuleUnload(module.0) };
        }
    }
}

fn compiled(text: &str, modules: &str, side_by_side: bool) -> Result<LoadedModule> {
    // A zero byte ends the text for the driver anyway.
    let text: Vec<u8> = text.bytes().take_while(|&byte| byte != 0).chain([0]).collect();
    let mut log = vec![0_u8; LOG_BYTES];
    let mut names = [
        CUjit_option::CU_JIT_ERROR_LOG_BUFFER,
        CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
        CUjit_option::CU_JIT_SPLIT_COMPILE,
    ];
    // By as many threads as the host has.
    let threads = std::ptr::null_mut::<c_void>();
    let mut values = [log.as_mut_ptr().cast::<c_void>(), LOG_BYTES as *mut c_void, threads];
    let options = if side_by_side { 3 } else { 2 };
    let mut handle = std::ptr::null_mut();
    // SAFETY: text ends in a zero byte; the options are the log and, by value, its size and a number of threads.
    let code = unsafe {
        sys::cuModuleLoadDataEx(&mut handle, text.as_ptr().cast(), options, names.as_mut_ptr(), values.as_mut_ptr())
    };
    if code == CUresult::CUDA_SUCCESS {
        return Ok(LoadedModule(handle));
    }
    log.truncate(log.iter().position(|&byte| byte == 0).unwrap_or(LOG_BYTES));
    let log = String::from_utf8_lossy(&log);
    let name = format!("{}, module {modules}: {}", error_name(CudaError(code)), log.trim());
    Err(Error::Driver { call: "cuModuleLoadDataEx", code: code.0, name })
}

fn unsupported(module: Module, what: &'static str, asked: &str) -> Error {
    let available = format!("the PTX of {}", module.name());
    Error::Unsupported { backend: "cuda", what, asked: asked.to_owned(), available }
}
