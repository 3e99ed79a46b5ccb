//! The functions. Each calls through a slot, which loading the driver fills.

use super::types::*;
use crate::driver::DRIVER;
use std::ffi::{c_char, c_int, c_uchar, c_uint, c_ulonglong, c_void};

macro_rules! functions {
    ($(fn $name:ident($($argument:ident: $type:ty),* $(,)?);)+) => {
        /// One slot per function; `None` if the driver lacks the function.
        pub(crate) struct Functions {
            $($name: Option<unsafe extern "C" fn($($type),*) -> CUresult>,)+
        }

        impl Functions {
            /// `find` returns the address of a function of the driver, or null.
            ///
            /// # Safety
            /// A function that `find` returns has the signature below, and stays loaded until the process ends.
            pub(crate) unsafe fn new(find: impl Fn(&str) -> *mut c_void) -> Self {
                // SAFETY: null is `None`; the caller promises the signature.
                Self { $($name: unsafe { std::mem::transmute::<*mut c_void, Option<_>>(find(stringify!($name))) },)+ }
            }
        }

        $(
            #[doc = concat!("`", stringify!($name), "` of the CUDA driver API.")]
            ///
            /// # Safety
            /// See the reference of the CUDA driver API.
            #[allow(clippy::too_many_arguments)]
            pub unsafe extern "C" fn $name($($argument: $type),*) -> CUresult {
                match DRIVER.get() {
                    Some(Ok(Functions { $name: Some(function), .. })) => {
                        // SAFETY: the caller's promise.
                        unsafe { function($($argument),*) }
                    }
                    _ => CUresult::CUDA_ERROR_SHARED_OBJECT_INIT_FAILED,
                }
            }
        )+
    };
}

functions! {
    fn cuInit(flags: c_uint);
    fn cuDriverGetVersion(version: *mut c_int);
    fn cuGetErrorName(error: CUresult, name: *mut *const c_char);
    fn cuGetErrorString(error: CUresult, text: *mut *const c_char);

    fn cuDeviceGetCount(count: *mut c_int);
    fn cuDeviceGet(device: *mut CUdevice, ordinal: c_int);
    fn cuDeviceGetName(name: *mut c_char, bytes: c_int, device: CUdevice);
    fn cuDeviceTotalMem_v2(bytes: *mut usize, device: CUdevice);
    fn cuDeviceGetAttribute(value: *mut c_int, attribute: CUdevice_attribute, device: CUdevice);

    fn cuDevicePrimaryCtxRetain(context: *mut CUcontext, device: CUdevice);
    fn cuDevicePrimaryCtxRelease_v2(device: CUdevice);
    fn cuCtxSetCurrent(context: CUcontext);

    fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize);
    fn cuMemAlloc_v2(pointer: *mut CUdeviceptr, bytes: usize);
    fn cuMemFree_v2(pointer: CUdeviceptr);
    fn cuMemHostAlloc(pointer: *mut *mut c_void, bytes: usize, flags: c_uint);
    fn cuMemFreeHost(pointer: *mut c_void);
    fn cuMemsetD8Async(pointer: CUdeviceptr, value: c_uchar, bytes: usize, stream: CUstream);
    fn cuMemcpyHtoDAsync_v2(to: CUdeviceptr, from: *const c_void, bytes: usize, stream: CUstream);
    fn cuMemcpyDtoHAsync_v2(to: *mut c_void, from: CUdeviceptr, bytes: usize, stream: CUstream);

    fn cuStreamCreateWithPriority(stream: *mut CUstream, flags: c_uint, priority: c_int);
    fn cuStreamQuery(stream: CUstream);
    fn cuStreamDestroy_v2(stream: CUstream);
    fn cuStreamBeginCapture_v2(stream: CUstream, mode: CUstreamCaptureMode);
    fn cuStreamEndCapture(stream: CUstream, graph: *mut CUgraph);

    fn cuGraphInstantiateWithFlags(executable: *mut CUgraphExec, graph: CUgraph, flags: c_ulonglong);
    fn cuGraphLaunch(executable: CUgraphExec, stream: CUstream);
    fn cuGraphDestroy(graph: CUgraph);
    fn cuGraphExecDestroy(executable: CUgraphExec);

    fn cuModuleLoadDataEx(
        module: *mut CUmodule,
        image: *const c_void,
        count: c_uint,
        options: *mut CUjit_option,
        values: *mut *mut c_void,
    );
    fn cuModuleUnload(module: CUmodule);
    fn cuModuleGetFunction(function: *mut CUfunction, module: CUmodule, name: *const c_char);
    fn cuFuncSetAttribute(function: CUfunction, attribute: CUfunction_attribute, value: c_int);
    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
        blocks: *mut c_int,
        function: CUfunction,
        threads: c_int,
        shared_bytes: usize,
    );
    fn cuLaunchKernelEx(
        config: *const CUlaunchConfig,
        function: CUfunction,
        arguments: *mut *mut c_void,
        extra: *mut *mut c_void,
    );

    fn cuTexObjectCreate(
        object: *mut CUtexObject,
        resource: *const CUDA_RESOURCE_DESC,
        texture: *const CUDA_TEXTURE_DESC,
        view: *const CUDA_RESOURCE_VIEW_DESC,
    );
    fn cuTexObjectDestroy(object: CUtexObject);

    fn cuEventCreate(event: *mut CUevent, flags: c_uint);
    fn cuEventRecord(event: CUevent, stream: CUstream);
    fn cuEventElapsedTime(milliseconds: *mut f32, start: CUevent, end: CUevent);
    fn cuEventDestroy_v2(event: CUevent);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake;

    #[test]
    fn calling_a_function_that_the_driver_lacks_is_an_error_code() {
        fake::install();
        // SAFETY: the fake lacks it, so nothing is called.
        let code = unsafe { cuTexObjectDestroy(0) };
        assert_eq!(code, CUresult::CUDA_ERROR_SHARED_OBJECT_INIT_FAILED);
    }

    #[test]
    fn arguments_and_results_pass_unchanged() {
        fake::install();
        let mut count = 0;
        // SAFETY: the fake writes to `count` and follows no other pointer.
        let code = unsafe {
            let function = std::ptr::without_provenance_mut(7);
            cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut count, function, 128, 1 << 33)
        };
        assert_eq!((code, count), (CUresult(54321), 3));
        assert_eq!(fake::calls(), [format!("cuOccupancyMaxActiveBlocksPerMultiprocessor 7 128 {}", 1_u64 << 33)]);
    }
}
