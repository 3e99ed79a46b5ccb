//! Work and traffic of the parts beside what the machine could do.

use super::{Laboratory, Size, Values, values};
use crate::suite::experiment::Units;
use crate::suite::traffic::{Traffic, WAVEFRONT_BYTES};
use crate::suite::work::{flops_per_piece, pieces};
use patchmg::backend::DeviceInfo;
use patchmg::measure::Part;
use patchmg::system::Runs;
use patchmg::system::poisson::{Operands, PatchKernel, Poisson};
use patchmg_cli::error::{Error, Library, Result};

impl<B: Runs<Poisson>> Laboratory<B> {
    /// Shared memory first, which needs no GPU; times where the machine has the kernel.
    pub(super) fn analysis(&mut self, size: Size, kernel: PatchKernel) -> Result<Values> {
        let Size { dim, degree, .. } = size;
        let traffic =
            if size.single { Traffic::of::<f32>(kernel, dim, degree) } else { Traffic::of::<f64>(kernel, dim, degree) };
        let mut row = Values::new();
        if let Some(Traffic { patch_wavefronts, block_excess }) = traffic {
            row.extend(values([("conflicts", block_excess), ("wavefronts", patch_wavefronts)]));
        }
        let info = self.backend.info();
        match self.step(size, kernel) {
            Err(Error::Library(Library::Unsupported { .. })) if info.rates.is_none() => return Ok(row),
            step => row.extend(step?),
        }
        let seconds = self.time(size, kernel, Part::Step)?.median_s;
        let flops = Self::flops(size, Part::Step);
        row.extend(values([("gflops", 1e-9 * flops / seconds)]));
        let Some(rates) = info.rates else { return Ok(row) };
        let peak = rates.flops(size.word() as usize);
        row.extend(values([("peak_percent", 100.0 * flops / seconds / peak)]));
        if let Some(traffic) = traffic {
            let bytes = traffic.patch_wavefronts * WAVEFRONT_BYTES * pieces(Part::Step, dim, size.refine);
            let bandwidth = rates.shared_memory();
            let roof = peak.min(bandwidth * flops / bytes);
            row.extend(values([
                ("l1_percent", 100.0 * bytes / seconds / bandwidth),
                ("intensity", flops / bytes),
                ("roof_percent", 100.0 * flops / seconds / roof),
            ]));
        }
        Ok(row)
    }

    fn flops(size: Size, part: Part) -> f64 {
        flops_per_piece(part, size.dim, size.degree) * pieces(part, size.dim, size.refine)
    }

    pub(super) fn roofline(&mut self, size: Size, part: Part) -> Result<Values> {
        let seconds = self.time(size, PatchKernel::default(), part)?.median_s;
        let system = size.poisson()?;
        let flops = Self::flops(size, part);
        let bytes = part.words_per_dof(&system) * size.word() * size.dofs()? as f64;
        Ok(values([
            ("time_ms", 1e3 * seconds),
            ("intensity", flops / bytes),
            ("gflops", 1e-9 * flops / seconds),
            ("gb_per_s", 1e-9 * bytes / seconds),
        ]))
    }

    pub(super) fn roofs(&mut self, size: Size, units: Units) -> Result<Values> {
        let seconds = self.time(size, PatchKernel::default(), Part::Copy)?.median_s;
        let system = size.poisson()?;
        let bytes = Part::Copy.words_per_dof(&system) * size.word() * size.dofs()? as f64;
        let mut row = values([("time_ms", 1e3 * seconds), ("gb_per_s", 1e-9 * bytes / seconds)]);
        let info = self.backend.info();
        let operands = if size.single { Operands::F16 } else { Operands::F64 };
        let peak = match units {
            Units::CudaCores => info.rates.map(|rates| rates.flops(size.word() as usize)),
            Units::TensorCores => tensor_core_flops(&info, operands),
        };
        row.insert("gflops".into(), peak.map(|peak| 1e-9 * peak));
        row.insert("shared_gb_per_s".into(), info.rates.map(|rates| 1e-9 * rates.shared_memory()));
        Ok(row)
    }
}

/// Operations a second of tensor cores, by those of CUDA cores: as the white papers on A100 and H100 have it, so that there
/// is none for other architectures.
pub(super) fn tensor_core_flops(device: &DeviceInfo, operands: Operands) -> Option<f64> {
    let rates = device.rates.filter(|_| ["sm_80", "sm_90"].contains(&&*device.architecture))?;
    Some(match operands {
        Operands::F64 => 2.0 * rates.flops(size_of::<f64>()),
        Operands::F32 => return None,
        Operands::Tf32 | Operands::Tf32Corrected => 8.0 * rates.flops(size_of::<f32>()),
        Operands::F16 | Operands::F16Corrected | Operands::Bf16 => 16.0 * rates.flops(size_of::<f32>()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use patchmg::backend::{BackendName, GpuRates};

    /// Of an H200: 67, 495 and 989 TFLOP/s at 1.83 GHz (NVIDIA's data sheet, without sparsity).
    #[test]
    fn peaks_of_tensor_cores_are_those_of_the_data_sheet() {
        let rates = GpuRates {
            multiprocessors: 132,
            clock_khz: 1_830_000,
            memory_clock_khz: 3_201_000,
            memory_bus_bits: 6144,
            f32_lanes: 128,
            f64_lanes: 64,
        };
        let device = |architecture: &str| DeviceInfo {
            backend: BackendName::Cuda,
            name: "NVIDIA H200".into(),
            units: 132,
            memory: 0,
            memory_free: 0,
            architecture: architecture.into(),
            driver: None,
            cuda_api: None,
            rates: Some(rates),
        };
        let peak = |operands| 1e-12 * tensor_core_flops(&device("sm_90"), operands).unwrap();
        for (operands, stated) in [(Operands::Tf32, 495.0), (Operands::F16, 989.0)] {
            approx::assert_relative_eq!(peak(operands), stated, max_relative = 2e-3);
        }
        assert_eq!(tensor_core_flops(&device("sm_86"), Operands::F16), None);
    }
}
