//! PTX and the kernels in it. The driver compiles a kernel when it is asked for, without the others of its module.

use super::calls::{check, error_name};
use super::gpu::{Gpu, LoadedModule};
use super::launch::Kernel;
use crate::error::{Error, Result};
use cuda_builder::ptx::{
    Constants, FunctionBody, unpack, with_constants, with_dependent_launches, with_entries, with_functions,
};
use cust::error::CudaError;
use cust::sys::{self, CUfunction, CUfunction_attribute, CUjit_option, CUresult};
use patchmg_device::kernels::{KernelSpec, Module};
use std::ffi::{CString, c_int, c_void};
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};

/// Name and packed PTX of modules, as a package of kernels carries them.
pub type Modules = &'static [(&'static str, &'static [u8])];

/// What the program has beside the library's own kernels.
static ADDED: RwLock<Vec<Modules>> = RwLock::new(Vec::new());

/// A folder whose files `<module>.ptx` win over the PTX in the program: for experiments with kernels.
const FOLDER_VARIABLE: &str = "PATCHMG_PTX_DIR";
/// Dynamic shared memory that a kernel has without asking, bytes.
const SHARED_BYTES: u32 = 48 * 1024;
/// Of the driver's reasons for not compiling a module.
const LOG_BYTES: usize = 4096;

/// Adds kernels to those of the library, which has what solvers run by default: `patchmg_paper_kernels::MODULES` holds the
/// kernels of the papers. Of modules of one name the one that was added last counts.
pub fn add_modules(modules: Modules) {
    ADDED.write().unwrap_or_else(PoisonError::into_inner).push(modules);
}

/// The modules in this program: those added last first, then those of the library.
fn tables() -> Vec<Modules> {
    let added = ADDED.read().unwrap_or_else(PoisonError::into_inner);
    added.iter().rev().copied().chain([patchmg_kernels::MODULES]).collect()
}

/// Names of the modules in this program.
pub fn module_names() -> Vec<&'static str> {
    tables().into_iter().flatten().map(|&(name, _)| name).collect()
}

/// The PTX in this program of a module, for example `poisson_cg_3d_q3`; unpacked at every call.
pub fn ptx(module: &str) -> Option<String> {
    Some(unpack(packed(module)?).expect("a build script packed it"))
}

fn packed(module: &str) -> Option<&'static [u8]> {
    tables().into_iter().flatten().find(|(name, _)| *name == module).map(|&(_, packed)| packed)
}

/// Parameters of a module's kernels that are the same for every mesh.
pub(crate) type ConstantsOf = fn(Module) -> Result<Vec<Constants>>;

/// The PTX of a module that a GPU is given: that of the folder in `PATCHMG_PTX_DIR`, else that in this program, with constants
/// as operands of its instructions.
///
/// # Errors
/// [`Error::NoModule`] for a module that there is not, [`Error::Io`] for a file that cannot be read, and those of the constants.
pub(crate) fn given_ptx(module: Module, constants: ConstantsOf) -> Result<String> {
    Ok(with_known(source(&module.name(), folder())?, &constants(module)?))
}

/// The PTX of a module with constants as operands of its instructions.
pub(crate) fn with_known(text: String, constants: &[Constants]) -> String {
    if constants.is_empty() { text } else { with_constants(&text, constants) }
}

/// That the program has a module.
pub(crate) fn require(module: Module) -> Result<()> {
    let name = module.name();
    let is_there = packed(&name).is_some() || folder().is_some_and(|folder| file(&folder, &name).is_file());
    if is_there { Ok(()) } else { Err(no_module(&name)) }
}

/// One entry point, loaded.
pub(crate) fn kernel(gpu: &Gpu, module: Module, spec: KernelSpec, constants: ConstantsOf) -> Result<Kernel> {
    let kernel = Kernel::new(gpu, module, spec, constants);
    kernel.resident(gpu).map(|_| kernel)
}

/// One entry point, compiled with its constants and with these bodies of functions that it calls, if it was not.
pub(super) fn function(
    gpu: &Gpu,
    module: Module,
    spec: &KernelSpec,
    constants: ConstantsOf,
    bodies: &[FunctionBody],
) -> Result<CUfunction> {
    gpu.enter()?;
    let loaded = gpu.module((&spec.name, bodies), || {
        let text = gpu.text(&module.name(), || loadable(gpu, module, constants))?;
        let alone = with_entries(&text, |name| name == spec.name);
        let text = with_functions(&alone, bodies).map_err(|missing| unsupported(module, "function", missing))?;
        load(&text, module)
    })?;
    let name = CString::new(spec.name.as_str()).expect("kernel names hold no zero byte");
    let mut function = std::ptr::null_mut();
    // SAFETY: the driver writes a handle; the module stays loaded as long as `gpu`.
    match unsafe { sys::cuModuleGetFunction(&mut function, loaded.0, name.as_ptr()) } {
        CUresult::CUDA_ERROR_NOT_FOUND => return Err(unsupported(module, "kernel", &spec.name)),
        code => check("cuModuleGetFunction", code)?,
    }
    if spec.shared_bytes > SHARED_BYTES {
        let bytes = spec.shared_bytes as c_int;
        let attribute = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        // SAFETY: a function of the current context.
        let code = unsafe { sys::cuFuncSetAttribute(function, attribute, bytes) };
        check("cuFuncSetAttribute", code)?;
    }
    Ok(function)
}

fn unsupported(module: Module, what: &'static str, asked: &str) -> Error {
    let available = format!("the PTX of {}", module.name());
    Error::Unsupported { backend: "cuda", what, asked: asked.to_owned(), available }
}

/// The PTX of a module as it is given to the GPU.
fn loadable(gpu: &Gpu, module: Module, constants: ConstantsOf) -> Result<String> {
    let text = given_ptx(module, constants)?;
    Ok(if gpu.overlaps_launches() { with_dependent_launches(&text) } else { text })
}

/// Compiles PTX of a module for the current device; the driver keeps the result for later runs.
fn load(text: &str, module: Module) -> Result<LoadedModule> {
    // A zero byte ends the text for the driver anyway.
    let text: Vec<u8> = text.bytes().take_while(|&byte| byte != 0).chain([0]).collect();
    let mut log = vec![0_u8; LOG_BYTES];
    let mut names = [CUjit_option::CU_JIT_ERROR_LOG_BUFFER, CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
    let mut values = [log.as_mut_ptr().cast::<c_void>(), LOG_BYTES as *mut c_void];
    let mut handle = std::ptr::null_mut();
    // SAFETY: text ends in a zero byte; two options, the log and, by value, its size.
    let code = unsafe {
        sys::cuModuleLoadDataEx(&mut handle, text.as_ptr().cast(), 2, names.as_mut_ptr(), values.as_mut_ptr())
    };
    if code == CUresult::CUDA_SUCCESS {
        return Ok(LoadedModule(handle));
    }
    log.truncate(log.iter().position(|&byte| byte == 0).unwrap_or(LOG_BYTES));
    let log = String::from_utf8_lossy(&log);
    let name = format!("{}, module {}: {}", error_name(CudaError(code)), module.name(), log.trim());
    Err(Error::Driver { call: "cuModuleLoadDataEx", code: code.0, name })
}

fn folder() -> Option<PathBuf> {
    std::env::var_os(FOLDER_VARIABLE).map(PathBuf::from)
}

/// A module's PTX, from the folder if it has it.
fn source(module: &str, folder: Option<PathBuf>) -> Result<String> {
    if let Some(path) = folder.map(|folder| file(&folder, module)) {
        match std::fs::read_to_string(&path) {
            Ok(text) => return Ok(text),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(source) => return Err(Error::Io { path, source }),
        }
    }
    ptx(module).ok_or_else(|| no_module(module))
}

fn file(folder: &Path, module: &str) -> PathBuf {
    folder.join(format!("{module}.ptx"))
}

fn no_module(module: &str) -> Error {
    Error::NoModule { module: module.to_owned(), available: module_names().join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_in_the_folder_wins() {
        let folder = tempfile::tempdir().unwrap();
        let module = "blas1";
        assert_eq!(source(module, Some(folder.path().into())).ok().as_deref(), ptx(module).as_deref());
        std::fs::write(folder.path().join(format!("{module}.ptx")), "mine").unwrap();
        assert_eq!(source(module, Some(folder.path().into())).unwrap(), "mine");
    }

    #[test]
    fn a_module_that_is_not_there_is_an_error_that_names_it() {
        let error = source("stokes_2d_q1", None).unwrap_err();
        assert!(matches!(&error, Error::NoModule { module, .. } if module == "stokes_2d_q1"), "{error}");
        assert!(error.to_string().contains("poisson_cg_3d_q4"), "{error}");
    }

    #[test]
    fn added_modules_are_found_and_win() {
        const MINE: &[u8] = &[120, 1, 1, 4, 0, 251, 255, 109, 105, 110, 101, 4, 52, 1, 170]; // "mine", stored
        assert!(matches!(source("mine", None), Err(Error::NoModule { .. })));
        add_modules(&[("mine", &[])]);
        add_modules(&[("mine", MINE)]);
        assert_eq!(source("mine", None).unwrap(), "mine");
        assert!(module_names().contains(&"mine") && module_names().contains(&"blas1"));
    }
}
