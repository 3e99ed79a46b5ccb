//! The driver calls of this backend, results as integers.
//!
//! `CUresult` in `cust` is a closed enum of CUDA 11.4: a newer code returned through it is undefined behaviour, and
//! any call may return an error of work that was asked before. So whatever runs after the context is there is declared
//! here once more, over the same symbols ([`super::driver`]), and `cust` is left with what it owns.

use crate::error::{Error, Result};
use cust::error::CudaError;
use cust::sys::{
    CUDA_RESOURCE_DESC, CUDA_TEXTURE_DESC, CUcontext, CUdeviceptr, CUevent, CUfunction, CUmodule, CUstream, CUtexObject,
};
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

/// `CUDA_ERROR_OUT_OF_MEMORY`.
pub const OUT_OF_MEMORY: i32 = 2;
/// `CUDA_ERROR_NOT_FOUND`.
pub const NOT_FOUND: i32 = 500;
/// `CUDA_ERROR_NOT_READY`.
pub const NOT_READY: i32 = 600;
/// `CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES`.
pub const MAX_DYNAMIC_SHARED_BYTES: c_int = 8;
/// `CU_JIT_ERROR_LOG_BUFFER`.
pub const JIT_ERROR_LOG: c_int = 5;
/// `CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES`.
pub const JIT_ERROR_LOG_BYTES: c_int = 6;

// Signatures: CUDA driver API reference; `_v2` are what `cuda.h` maps the plain names to.
unsafe extern "C" {
    pub fn cuInit(flags: c_uint) -> i32;
    fn cuGetErrorName(code: i32, name: *mut *const c_char) -> i32;
    pub fn cuDevicePrimaryCtxRetain(context: *mut CUcontext, device: c_int) -> i32;
    pub fn cuDevicePrimaryCtxRelease_v2(device: c_int) -> i32;
    pub fn cuCtxSetCurrent(context: CUcontext) -> i32;
    pub fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) -> i32;
    pub fn cuMemAlloc_v2(pointer: *mut CUdeviceptr, bytes: usize) -> i32;
    pub fn cuMemFree_v2(pointer: CUdeviceptr) -> i32;
    pub fn cuMemsetD8Async(pointer: CUdeviceptr, value: u8, bytes: usize, stream: CUstream) -> i32;
    pub fn cuMemcpyHtoDAsync_v2(to: CUdeviceptr, from: *const c_void, bytes: usize, stream: CUstream) -> i32;
    pub fn cuMemcpyDtoHAsync_v2(to: *mut c_void, from: CUdeviceptr, bytes: usize, stream: CUstream) -> i32;
    pub fn cuStreamQuery(stream: CUstream) -> i32;
    pub fn cuModuleLoadDataEx(
        module: *mut CUmodule,
        image: *const c_void,
        options: c_uint,
        names: *mut c_int,
        values: *mut *mut c_void,
    ) -> i32;
    pub fn cuModuleUnload(module: CUmodule) -> i32;
    pub fn cuModuleGetFunction(function: *mut CUfunction, module: CUmodule, name: *const c_char) -> i32;
    pub fn cuFuncSetAttribute(function: CUfunction, attribute: c_int, value: c_int) -> i32;
    pub fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
        blocks: *mut c_int,
        function: CUfunction,
        threads: c_int,
        shared_bytes: usize,
    ) -> i32;
    pub fn cuLaunchKernel(
        function: CUfunction,
        grid_x: c_uint,
        grid_y: c_uint,
        grid_z: c_uint,
        block_x: c_uint,
        block_y: c_uint,
        block_z: c_uint,
        shared_bytes: c_uint,
        stream: CUstream,
        arguments: *mut *mut c_void,
        extra: *mut *mut c_void,
    ) -> i32;
    pub fn cuTexObjectCreate(
        object: *mut CUtexObject,
        resource: *const CUDA_RESOURCE_DESC,
        texture: *const CUDA_TEXTURE_DESC,
        view: *const c_void,
    ) -> i32;
    pub fn cuTexObjectDestroy(object: CUtexObject) -> i32;
    pub fn cuEventCreate(event: *mut CUevent, flags: c_uint) -> i32;
    pub fn cuEventRecord(event: CUevent, stream: CUstream) -> i32;
    pub fn cuEventElapsedTime(milliseconds: *mut f32, start: CUevent, end: CUevent) -> i32;
    pub fn cuEventDestroy_v2(event: CUevent) -> i32;
}

/// [`Error::Driver`] where `code` is not zero.
pub fn check(call: &'static str, code: i32) -> Result<()> {
    if code == 0 { Ok(()) } else { Err(Error::Driver { call, code, name: error_name(code) }) }
}

/// What `cust` says of a call, as [`Error::Driver`].
pub fn refused(call: &'static str) -> impl Fn(CudaError) -> Error {
    move |error| Error::Driver { call, code: error as i32, name: error_name(error as i32) }
}

/// The driver's name of a result, for example `CUDA_ERROR_ILLEGAL_ADDRESS`.
pub fn error_name(code: i32) -> String {
    let mut name = std::ptr::null();
    // SAFETY: the driver writes a pointer to a string of its own that lives as long as the program, or null.
    unsafe { cuGetErrorName(code, &mut name) };
    if name.is_null() {
        return String::from("unknown to this driver");
    }
    // SAFETY: not null, see above.
    unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned()
}
