//! Handles, numbers with names, and descriptions.

use std::ffi::{c_int, c_uint, c_ulonglong};

pub type CUdevice = c_int;
/// An address in the memory of a device.
pub type CUdeviceptr = c_ulonglong;
pub type CUtexObject = c_ulonglong;

macro_rules! handles {
    ($($name:ident = *mut $opaque:ident;)+) => {$(
        #[repr(C)]
        #[derive(Clone, Copy, Debug)]
        pub struct $opaque {
            _unused: [u8; 0],
        }
        pub type $name = *mut $opaque;
    )+};
}

handles! {
    CUcontext = *mut CUctx_st;
    CUmodule = *mut CUmod_st;
    CUfunction = *mut CUfunc_st;
    CUstream = *mut CUstream_st;
    CUevent = *mut CUevent_st;
    CUgraph = *mut CUgraph_st;
    CUgraphExec = *mut CUgraphExec_st;
}

/// Enums of C as integers, because a newer driver may return a value without a name here.
macro_rules! enums {
    ($($(#[$doc:meta])* enum $name:ident { $($value:ident = $number:literal,)* })+) => {$(
        $(#[$doc])*
        #[repr(transparent)]
        #[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
        pub struct $name(pub c_int);

        impl $name {
            $(pub const $value: Self = Self($number);)*
        }
    )+};
}

enums! {
    /// What a call returns.
    enum CUresult {
        CUDA_SUCCESS = 0,
        CUDA_ERROR_OUT_OF_MEMORY = 2,
        CUDA_ERROR_SHARED_OBJECT_INIT_FAILED = 303,
        CUDA_ERROR_NOT_FOUND = 500,
        CUDA_ERROR_NOT_READY = 600,
    }
    /// Constants: [`DeviceAttribute`](crate::device::DeviceAttribute).
    enum CUdevice_attribute {}
    enum CUfunction_attribute {
        CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
    }
    enum CUstreamCaptureMode {
        CU_STREAM_CAPTURE_MODE_RELAXED = 2,
    }
    enum CUjit_option {
        CU_JIT_ERROR_LOG_BUFFER = 5,
        CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6,
        CU_JIT_SPLIT_COMPILE = 34,
    }
    enum CUlaunchAttributeID {
        CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION = 6,
    }
    enum CUresourcetype {
        CU_RESOURCE_TYPE_LINEAR = 2,
    }
    enum CUarray_format {
        CU_AD_FORMAT_FLOAT = 32,
    }
    enum CUaddress_mode {
        CU_TR_ADDRESS_MODE_CLAMP = 1,
    }
    enum CUfilter_mode {
        CU_TR_FILTER_MODE_POINT = 0,
    }
}

/// The memory that a texture reads.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CUDA_RESOURCE_DESC {
    pub resType: CUresourcetype,
    pub res: CUDA_RESOURCE_DESC_st__bindgen_ty_1,
    pub flags: c_uint,
}

/// Which field is valid depends on `resType`. Fields for arrays and pitched memory are absent.
#[repr(C)]
#[derive(Clone, Copy)]
pub union CUDA_RESOURCE_DESC_st__bindgen_ty_1 {
    pub linear: CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_3,
    pub reserved: CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_5,
}

/// Linear memory.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_3 {
    pub devPtr: CUdeviceptr,
    pub format: CUarray_format,
    pub numChannels: c_uint,
    pub sizeInBytes: usize,
}

/// Gives the union its size in C.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_5 {
    pub reserved: [c_int; 32],
}

/// How a texture is read.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CUDA_TEXTURE_DESC {
    pub addressMode: [CUaddress_mode; 3],
    pub filterMode: CUfilter_mode,
    pub flags: c_uint,
    pub maxAnisotropy: c_uint,
    pub mipmapFilterMode: CUfilter_mode,
    pub mipmapLevelBias: f32,
    pub minMipmapLevelClamp: f32,
    pub maxMipmapLevelClamp: f32,
    pub borderColor: [f32; 4],
    pub reserved: [c_int; 12],
}

/// Opaque here: only null is passed.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CUDA_RESOURCE_VIEW_DESC {
    _unused: [u8; 0],
}

/// What a launch is to be like, beside its arguments.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CUlaunchConfig {
    pub gridDimX: c_uint,
    pub gridDimY: c_uint,
    pub gridDimZ: c_uint,
    pub blockDimX: c_uint,
    pub blockDimY: c_uint,
    pub blockDimZ: c_uint,
    pub sharedMemBytes: c_uint,
    pub hStream: CUstream,
    pub attrs: *mut CUlaunchAttribute,
    pub numAttrs: c_uint,
}

/// Which field of the value is valid depends on `id`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CUlaunchAttribute {
    pub id: CUlaunchAttributeID,
    pub pad: [u8; 4],
    pub value: CUlaunchAttributeValue,
}

/// Fields that are not used here are absent.
#[repr(C)]
#[derive(Clone, Copy)]
pub union CUlaunchAttributeValue {
    pub pad: [c_ulonglong; 8],
    pub programmaticStreamSerializationAllowed: c_int,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    /// Expected values: the structs of `cuda.h`, laid out by a C compiler.
    #[test]
    fn descriptions_are_laid_out_as_in_c() {
        assert_eq!(size_of::<CUDA_RESOURCE_DESC>(), 144);
        assert_eq!(offset_of!(CUDA_RESOURCE_DESC, res), 8);
        assert_eq!(offset_of!(CUDA_RESOURCE_DESC, flags), 136);
        assert_eq!(offset_of!(CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_3, sizeInBytes), 16);
        assert_eq!(size_of::<CUDA_TEXTURE_DESC>(), 104);
        assert_eq!(offset_of!(CUDA_TEXTURE_DESC, mipmapLevelBias), 28);
        assert_eq!(offset_of!(CUDA_TEXTURE_DESC, borderColor), 40);
        assert_eq!((size_of::<CUlaunchConfig>(), size_of::<CUlaunchAttribute>()), (56, 72));
        assert_eq!(offset_of!(CUlaunchConfig, hStream), 32);
        assert_eq!(offset_of!(CUlaunchConfig, numAttrs), 48);
        assert_eq!(offset_of!(CUlaunchAttribute, value), 8);
    }
}
