//! Loads the driver's library, once.

use crate::sys::Functions;
use libloading::Library;
use std::error::Error;
use std::ffi::c_void;
use std::fmt;
use std::sync::OnceLock;

pub(crate) static DRIVER: OnceLock<Result<Functions, LoadError>> = OnceLock::new();

/// Why there is no driver, in the dynamic linker's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadError(String);

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for LoadError {}

/// Loads the driver, `libcuda.so.1`, at the first call; later calls return the same result. [`init`](crate::init) calls
/// it, too, but its error has no reason. Not in the published `cust`.
///
/// # Errors
/// The dynamic linker's reason if there is no driver.
pub fn load() -> Result<(), LoadError> {
    DRIVER.get_or_init(open).as_ref().map(|_| ()).map_err(Clone::clone)
}

fn open() -> Result<Functions, LoadError> {
    // SAFETY: loading runs the driver's initialisers, as in every CUDA program.
    let library = unsafe { Library::new("libcuda.so.1") }
        .map_err(|error| LoadError(error.source().map_or_else(|| error.to_string(), ToString::to_string)))?;
    let find = |name: &str| {
        // SAFETY: only the address is taken; the library is never unloaded, see below.
        let address = unsafe { library.get::<*mut c_void>(name).ok().and_then(|symbol| symbol.try_as_raw_ptr()) };
        address.unwrap_or(std::ptr::null_mut())
    };
    // SAFETY: `sys` declares the signatures of the driver's reference; the library is never unloaded.
    let functions = unsafe { Functions::new(find) };
    // Never unloaded: threads of the driver, and the addresses found above, need it until the process ends.
    std::mem::forget(library);
    Ok(functions)
}
