//! Errors as exceptions of Python.

use patchmg::Error;
use pyo3::PyErr;
use pyo3::exceptions::{PyMemoryError, PyOSError, PyRuntimeError, PyValueError};

/// `MemoryError` for memory, `OSError` for files, `RuntimeError` for devices, `ValueError` for the rest: what a caller passed.
pub fn exception(error: Error) -> PyErr {
    let message = error.to_string();
    match error {
        Error::OutOfMemory { .. } => PyMemoryError::new_err(message),
        Error::Io { .. } | Error::Write { .. } => PyOSError::new_err(message),
        Error::NoDevice { .. } | Error::NoModule { .. } | Error::Driver { .. } | Error::Timeout { .. } => {
            PyRuntimeError::new_err(message)
        }
        _ => PyValueError::new_err(message),
    }
}
