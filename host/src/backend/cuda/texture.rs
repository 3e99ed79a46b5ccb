//! Numbers in the memory of a GPU as kernels read them through its texture units.

use super::calls::check;
use super::gpu::Gpu;
use super::memory::Vector;
use crate::error::Result;
use cust::sys::{
    self, CUDA_RESOURCE_DESC, CUDA_RESOURCE_DESC_st__bindgen_ty_1 as Resource,
    CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_3 as Linear,
    CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_5 as Reserved, CUDA_TEXTURE_DESC, CUaddress_mode, CUarray_format,
    CUfilter_mode, CUresourcetype, CUtexObject,
};
use std::sync::Arc;

/// A texture object over numbers in `f32`, read by their index, without filter.
pub(crate) struct Texture {
    gpu: Arc<Gpu>,
    object: CUtexObject,
    /// What it shows.
    _numbers: Vector<f32>,
}

impl Texture {
    pub fn new(gpu: &Arc<Gpu>, numbers: &[f32]) -> Result<Self> {
        let vector = Vector::uploaded(gpu, numbers)?;
        let mut res = Resource { reserved: Reserved { reserved: [0; 32] } };
        res.linear = Linear {
            devPtr: vector.pointer(),
            format: CUarray_format::CU_AD_FORMAT_FLOAT,
            numChannels: 1,
            sizeInBytes: size_of_val(numbers),
        };
        let resource = CUDA_RESOURCE_DESC { resType: CUresourcetype::CU_RESOURCE_TYPE_LINEAR, res, flags: 0 };
        let texture = CUDA_TEXTURE_DESC {
            addressMode: [CUaddress_mode::CU_TR_ADDRESS_MODE_CLAMP; 3],
            filterMode: CUfilter_mode::CU_TR_FILTER_MODE_POINT,
            flags: 0,
            maxAnisotropy: 0,
            mipmapFilterMode: CUfilter_mode::CU_TR_FILTER_MODE_POINT,
            mipmapLevelBias: 0.0,
            minMipmapLevelClamp: 0.0,
            maxMipmapLevelClamp: 0.0,
            borderColor: [0.0; 4],
            reserved: [0; 12],
        };
        gpu.enter()?;
        let mut object = 0;
        // SAFETY: the driver reads two descriptions and writes a handle; the memory is of `vector`, which lives as long.
        let code = unsafe { sys::cuTexObjectCreate(&mut object, &resource, &texture, std::ptr::null()) };
        check("cuTexObjectCreate", code)?;
        Ok(Self { gpu: gpu.clone(), object, _numbers: vector })
    }

    /// What kernels take.
    pub fn handle(&self) -> &CUtexObject {
        &self.object
    }
}

impl Drop for Texture {
    fn drop(&mut self) {
        // Kernels that read it may still run.
        if self.gpu.wait().is_ok() {
            self.gpu.count_free();
            // SAFETY: made by `new`, destroyed once.
            unsafe { sys::cuTexObjectDestroy(self.object) };
        }
    }
}
