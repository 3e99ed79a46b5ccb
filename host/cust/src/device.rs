//! The devices that the driver finds.

use crate::error::{CudaResult, ToResult};
use crate::sys::{
    CUdevice, CUdevice_attribute, cuDeviceGet, cuDeviceGetAttribute, cuDeviceGetCount, cuDeviceGetName,
    cuDeviceTotalMem_v2,
};
use std::ffi::c_int;

/// A property of a device, for [`Device::get_attribute`].
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq)]
#[non_exhaustive]
pub enum DeviceAttribute {
    /// Clock of the multiprocessors, kHz.
    ClockRate = 13,
    MultiprocessorCount = 16,
    /// Clock of the memory, kHz.
    MemoryClockRate = 36,
    /// Bits.
    GlobalMemoryBusWidth = 37,
    ComputeCapabilityMajor = 75,
    ComputeCapabilityMinor = 76,
    /// Throughput in `f32` over throughput in `f64`.
    SingleToDoublePrecisionPerfRatio = 87,
}

/// A device's number in the driver.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq)]
pub struct Device {
    device: CUdevice,
}

impl Device {
    /// Number of devices.
    ///
    /// # Errors
    /// The driver's error, as for every method here.
    pub fn num_devices() -> CudaResult<u32> {
        let mut count = 0;
        // SAFETY: the driver writes a number.
        unsafe { cuDeviceGetCount(&mut count) }.to_result()?;
        Ok(count as u32)
    }

    /// The device of a number, counted from 0.
    pub fn get_device(ordinal: u32) -> CudaResult<Self> {
        let mut device = 0;
        // SAFETY: the driver writes a number, and refuses an invalid ordinal.
        unsafe { cuDeviceGet(&mut device, ordinal as c_int) }.to_result()?;
        Ok(Self { device })
    }

    /// Bytes.
    pub fn total_memory(self) -> CudaResult<usize> {
        let mut bytes = 0;
        // SAFETY: the driver writes a number.
        unsafe { cuDeviceTotalMem_v2(&mut bytes, self.device) }.to_result()?;
        Ok(bytes)
    }

    pub fn name(self) -> CudaResult<String> {
        let mut name = [0_u8; 128];
        // SAFETY: the driver writes at most `name.len()` bytes, the zero byte at the end included.
        unsafe { cuDeviceGetName(name.as_mut_ptr().cast(), name.len() as c_int, self.device) }.to_result()?;
        let text = name.split(|&byte| byte == 0).next().unwrap_or_default();
        Ok(String::from_utf8_lossy(text).into_owned())
    }

    pub fn get_attribute(self, attr: DeviceAttribute) -> CudaResult<i32> {
        let mut value = 0;
        // SAFETY: the driver writes a number, and refuses an unknown attribute.
        unsafe { cuDeviceGetAttribute(&mut value, CUdevice_attribute(attr as c_int), self.device) }.to_result()?;
        Ok(value)
    }

    /// The handle.
    pub fn as_raw(&self) -> CUdevice {
        self.device
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::CudaError;
    use crate::fake;
    use crate::sys::CUresult;

    #[test]
    fn a_device_tells_what_the_driver_does() {
        fake::install();
        assert_eq!(Device::num_devices(), Ok(2));
        let device = Device::get_device(1).unwrap();
        assert_eq!(device.as_raw(), 1);
        assert_eq!(device.name().unwrap(), "Device of a test 1");
        assert_eq!(device.total_memory(), Ok(1 << 37));
        // The fake's attributes are ten times their number.
        assert_eq!(device.get_attribute(DeviceAttribute::SingleToDoublePrecisionPerfRatio), Ok(870));
    }

    #[test]
    fn a_device_that_there_is_not_is_an_error() {
        fake::install();
        assert_eq!(Device::get_device(2), Err(CudaError(CUresult(101))));
    }
}
