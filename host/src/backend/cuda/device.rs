//! The devices that there are.

use super::calls::{error_name, refused};
use super::{driver_version, gpu};
use crate::backend::{BackendName, DeviceInfo, GpuRates};
use crate::error::{Error, Result};
use cust::device::{Device, DeviceAttribute};
use cust::{CudaApiVersion, CudaFlags};

/// Lowest compute capability with the instructions that the kernels are compiled to.
const LOWEST_CAPABILITY: (i32, i32) = (8, 0);

/// Every CUDA device, in the driver's order: its position is the number that [`Cuda::new`](super::Cuda::new) takes.
///
/// `memory_free` is 0 for a device that cannot be opened, because another process has it for itself.
///
/// # Errors
/// [`Error::NoDevice`], with the reason, where there is no driver or it finds no device.
pub fn devices() -> Result<Vec<DeviceInfo>> {
    (0..count()?)
        .map(|number| {
            let properties = Properties::of(number)?;
            let free = gpu::open_context(&properties).and_then(|_context| gpu::free_memory()).unwrap_or(0);
            Ok(properties.info(free))
        })
        .collect()
}

/// Starts the driver; at least 1.
fn count() -> Result<usize> {
    let no_device = |reason| Error::NoDevice { reason };
    cust::load().map_err(|reason| no_device(format!("no NVIDIA driver ({reason})")))?;
    cust::init(CudaFlags::empty())
        .map_err(|error| no_device(format!("the driver does not start: {} ({})", error.0.0, error_name(error))))?;
    match Device::num_devices().map_err(refused("cuDeviceGetCount"))? {
        0 => Err(no_device(String::from("the driver finds none"))),
        count => Ok(count as usize),
    }
}

/// What does not change about a device.
#[derive(Clone, Debug)]
pub(super) struct Properties {
    pub device: Device,
    pub name: String,
    pub multiprocessors: u32,
    memory: u64,
    pub capability: (i32, i32),
    cuda_api: CudaApiVersion,
    rates: Option<GpuRates>,
}

impl Properties {
    /// Of a device that the kernels run on.
    pub fn usable(number: usize) -> Result<Self> {
        let count = count()?;
        if number >= count {
            let there_are = if count == 1 { "there is 1".into() } else { format!("there are {count}") };
            let reason = format!("number {number} was asked for, {there_are}, counted from 0");
            return Err(Error::NoDevice { reason });
        }
        let properties = Self::of(number)?;
        if properties.capability < LOWEST_CAPABILITY {
            let ((major, minor), (needed, _)) = (properties.capability, LOWEST_CAPABILITY);
            let name = properties.name;
            let reason = format!("{name} has compute capability {major}.{minor}, the kernels need {needed}.0 or newer");
            return Err(Error::NoDevice { reason });
        }
        Ok(properties)
    }

    fn of(number: usize) -> Result<Self> {
        let device = Device::get_device(number as u32).map_err(refused("cuDeviceGet"))?;
        let attribute = |which| device.get_attribute(which).map_err(refused("cuDeviceGetAttribute"));
        let capability =
            (attribute(DeviceAttribute::ComputeCapabilityMajor)?, attribute(DeviceAttribute::ComputeCapabilityMinor)?);
        Ok(Self {
            device,
            name: device.name().map_err(refused("cuDeviceGetName"))?,
            multiprocessors: attribute(DeviceAttribute::MultiprocessorCount)? as u32,
            memory: device.total_memory().map_err(refused("cuDeviceTotalMem"))? as u64,
            capability,
            cuda_api: CudaApiVersion::get().map_err(refused("cuDriverGetVersion"))?,
            rates: rates(&device, capability),
        })
    }

    /// Whether the driver has this version of the CUDA API, or a newer one.
    pub fn has_api(&self, major: i32, minor: i32) -> bool {
        (self.cuda_api.major(), self.cuda_api.minor()) >= (major, minor)
    }

    pub fn info(&self, memory_free: u64) -> DeviceInfo {
        DeviceInfo {
            backend: BackendName::Cuda,
            name: self.name.clone(),
            units: self.multiprocessors as usize,
            memory: self.memory,
            memory_free,
            architecture: format!("sm_{}{}", self.capability.0, self.capability.1),
            driver: driver_version::get(),
            cuda_api: Some(format!("{}.{}", self.cuda_api.major(), self.cuda_api.minor())),
            rates: self.rates,
        }
    }
}

/// None if the driver does not tell, or the architecture is none that is known here.
fn rates(device: &Device, capability: (i32, i32)) -> Option<GpuRates> {
    let attribute = |which| device.get_attribute(which).ok().filter(|&value| value > 0).map(|value| value as u64);
    // CUDA C++ programming guide, "Arithmetic Instructions": results a clock and multiprocessor.
    let f32_lanes = match capability {
        (8, 0) => 64,
        (8..=12, _) => 128,
        _ => return None,
    };
    Some(GpuRates {
        multiprocessors: attribute(DeviceAttribute::MultiprocessorCount)?,
        clock_khz: attribute(DeviceAttribute::ClockRate)?,
        memory_clock_khz: attribute(DeviceAttribute::MemoryClockRate)?,
        memory_bus_bits: attribute(DeviceAttribute::GlobalMemoryBusWidth)?,
        f32_lanes,
        f64_lanes: f32_lanes / attribute(DeviceAttribute::SingleToDoublePrecisionPerfRatio)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_found_or_the_reason_is_given() {
        match devices() {
            Ok(devices) => assert!(!devices.is_empty()),
            Err(Error::NoDevice { reason }) => {
                assert!(reason.contains("libcuda.so.1") || reason.starts_with("the driver"), "{reason}")
            }
            Err(error) => panic!("{error}"),
        }
    }
}
