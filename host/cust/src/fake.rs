//! A driver for tests: some of the functions, and two devices, of which the first refuses a context.

use crate::driver::DRIVER;
use crate::sys::{CUcontext, CUdevice, CUdevice_attribute, CUfunction, CUresult, CUstream, Functions};
use std::cell::RefCell;
use std::ffi::{c_char, c_int, c_uint, c_void};

const DEVICES: c_int = 2;
const INVALID_DEVICE: CUresult = CUresult(101);

thread_local! {
    static CALLS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Replaces the driver for the whole process; clears the log of this thread's calls.
pub fn install() {
    // SAFETY: the functions below have the signatures of the driver's.
    DRIVER.get_or_init(|| Ok(unsafe { Functions::new(find) })).as_ref().unwrap();
    CALLS.take();
}

/// The logged calls of this thread since the last call of this function or [`install`].
pub fn calls() -> Vec<String> {
    CALLS.take()
}

fn note(call: String) -> CUresult {
    CALLS.with_borrow_mut(|calls| calls.push(call));
    CUresult::CUDA_SUCCESS
}

fn write<T>(to: *mut T, value: T) -> CUresult {
    // SAFETY: tests pass valid pointers for results.
    unsafe { to.write(value) };
    CUresult::CUDA_SUCCESS
}

fn find(name: &str) -> *mut c_void {
    match name {
        "cuInit" => init as *mut c_void,
        "cuDriverGetVersion" => version as *mut c_void,
        "cuGetErrorString" => text as *mut c_void,
        "cuDeviceGetCount" => device_count as *mut c_void,
        "cuDeviceGet" => device as *mut c_void,
        "cuDeviceGetName" => device_name as *mut c_void,
        "cuDeviceTotalMem_v2" => device_memory as *mut c_void,
        "cuDeviceGetAttribute" => device_attribute as *mut c_void,
        "cuDevicePrimaryCtxRetain" => retain as *mut c_void,
        "cuDevicePrimaryCtxRelease_v2" => release as *mut c_void,
        "cuCtxSetCurrent" => set_current as *mut c_void,
        "cuMemGetInfo_v2" => memory as *mut c_void,
        "cuStreamCreateWithPriority" => create_stream as *mut c_void,
        "cuStreamDestroy_v2" => destroy_stream as *mut c_void,
        "cuOccupancyMaxActiveBlocksPerMultiprocessor" => occupancy as *mut c_void,
        _ => std::ptr::null_mut(),
    }
}

extern "C" fn init(flags: c_uint) -> CUresult {
    note(format!("cuInit {flags}"))
}

extern "C" fn version(version: *mut c_int) -> CUresult {
    write(version, 12040)
}

extern "C" fn text(error: CUresult, text: *mut *const c_char) -> CUresult {
    if error == INVALID_DEVICE {
        return write(text, c"invalid device ordinal".as_ptr());
    }
    write(text, std::ptr::null());
    CUresult(1)
}

extern "C" fn device_count(count: *mut c_int) -> CUresult {
    write(count, DEVICES)
}

extern "C" fn device(device: *mut CUdevice, ordinal: c_int) -> CUresult {
    if (0..DEVICES).contains(&ordinal) { write(device, ordinal) } else { INVALID_DEVICE }
}

extern "C" fn device_name(name: *mut c_char, bytes: c_int, device: CUdevice) -> CUresult {
    let text = format!("Device of a test {device}\0");
    assert!(text.len() <= bytes as usize);
    // SAFETY: the caller's buffer has `bytes`, and the text fits, as asserted.
    unsafe { std::ptr::copy_nonoverlapping(text.as_ptr(), name.cast(), text.len()) };
    CUresult::CUDA_SUCCESS
}

extern "C" fn device_memory(bytes: *mut usize, _: CUdevice) -> CUresult {
    write(bytes, 1 << 37)
}

extern "C" fn device_attribute(value: *mut c_int, attribute: CUdevice_attribute, _: CUdevice) -> CUresult {
    write(value, 10 * attribute.0)
}

extern "C" fn retain(context: *mut CUcontext, device: CUdevice) -> CUresult {
    note(format!("cuDevicePrimaryCtxRetain {device}"));
    if device == 0 { CUresult(12345) } else { write(context, std::ptr::without_provenance_mut(0x100)) }
}

extern "C" fn release(device: CUdevice) -> CUresult {
    note(format!("cuDevicePrimaryCtxRelease {device}"))
}

extern "C" fn set_current(_: CUcontext) -> CUresult {
    note("cuCtxSetCurrent".into())
}

extern "C" fn memory(free: *mut usize, total: *mut usize) -> CUresult {
    write(free, 1 << 36);
    write(total, 1 << 37)
}

extern "C" fn create_stream(stream: *mut CUstream, flags: c_uint, priority: c_int) -> CUresult {
    note(format!("cuStreamCreateWithPriority {flags} {priority}"));
    write(stream, std::ptr::without_provenance_mut(0x200))
}

extern "C" fn destroy_stream(stream: CUstream) -> CUresult {
    note(format!("cuStreamDestroy {}", stream.addr()))
}

extern "C" fn occupancy(blocks: *mut c_int, function: CUfunction, threads: c_int, shared_bytes: usize) -> CUresult {
    note(format!("cuOccupancyMaxActiveBlocksPerMultiprocessor {} {threads} {shared_bytes}", function.addr()));
    write(blocks, 3);
    CUresult(54321)
}
