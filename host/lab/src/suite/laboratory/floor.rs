//! Parts of a V-cycle beside the least time that memory allows them.

use super::{Laboratory, Size, Values, values};
use patchmg::backend::{BackendName, DeviceInfo};
use patchmg::measure::Timing;
use patchmg::measure::{Part, cycle_words_per_dof};
use patchmg::system::Runs;
use patchmg::system::poisson::{PatchKernel, Poisson};
use patchmg_cli::error::Result;

/// Bytes a second of an H200 that floors are stated for: what long copies come near to, 7/8 of what its memory's clock and
/// width give.
const H200: f64 = 4.3e12;

/// Bytes a second to and from memory that a floor is over; none on a CPU.
fn bandwidth(device: &DeviceInfo) -> Option<f64> {
    match device.backend {
        BackendName::Cpu => None,
        _ if device.name.contains("H200") => Some(H200),
        _ => device.rates.map(|rates| 0.875 * rates.memory()),
    }
}

impl<B: Runs<Poisson>> Laboratory<B> {
    /// A time, and the floor `bytes / bandwidth` under it.
    fn above_floor(&self, timing: Timing, dofs: usize, bytes: f64) -> Values {
        let Timing { median_s, min_s, max_s, .. } = timing;
        let mut row = values([
            ("measured", 1e3 * median_s),
            ("min", 1e3 * min_s),
            ("max", 1e3 * max_s),
            ("ns_per_dof", 1e9 * median_s / dofs as f64),
            ("gb_per_s", 1e-9 * bytes / median_s),
        ]);
        let floor_s = bandwidth(&self.backend.info()).map(|bandwidth| bytes / bandwidth);
        row.insert("floor".into(), floor_s.map(|floor_s| 1e3 * floor_s));
        row
    }

    /// A part of a level; its words are [`Part::words_per_dof`].
    pub(super) fn floor(&mut self, size: Size, part: Part) -> Result<Values> {
        let timing = self.time(size, PatchKernel::default(), part)?;
        self.part_above_floor(timing, size, part)
    }

    fn part_above_floor(&self, timing: Timing, size: Size, part: Part) -> Result<Values> {
        let (system, dofs) = (size.poisson()?, size.dofs()?);
        Ok(self.above_floor(timing, dofs, part.words_per_dof(&system) * size.word() * dofs as f64))
    }

    /// Prolongation as a V-cycle does it: what a step of the smoother takes longer with it.
    pub(super) fn correction(&mut self, size: Size) -> Result<Values> {
        let timing = self.correction_time(size, PatchKernel::default())?;
        self.part_above_floor(timing, size, Part::Prolongate)
    }

    /// Seconds of [`Self::correction`]; the spread is that of the longer one.
    pub(super) fn correction_time(&mut self, size: Size, kernel: PatchKernel) -> Result<Timing> {
        let step = self.time(size, kernel, Part::Step)?.median_s;
        let Timing { median_s, min_s, max_s, repetitions } = self.time(size, kernel, Part::CorrectedStep)?;
        Ok(Timing { median_s: median_s - step, min_s: min_s - step, max_s: max_s - step, repetitions })
    }

    /// Restriction, timed alone, and prolongation as a V-cycle does it, on all levels.
    pub(super) fn transfer(&mut self, size: Size) -> Result<Values> {
        let (mut sum, mut bytes) = (Timing { median_s: 0.0, min_s: 0.0, max_s: 0.0, repetitions: 0 }, 0.0);
        for refine in (2..=size.refine).rev() {
            let level = Size { refine, ..size };
            let system = level.poisson()?;
            let restriction = self.time(level, PatchKernel::default(), Part::Restrict)?;
            let correction = self.correction_time(level, PatchKernel::default())?;
            for (part, timing) in [(Part::Restrict, restriction), (Part::Prolongate, correction)] {
                sum.median_s += timing.median_s;
                sum.min_s += timing.min_s;
                sum.max_s += timing.max_s;
                bytes += part.words_per_dof(&system) * size.word() * level.dofs()? as f64;
            }
        }
        let cycle = self.cycle(size, PatchKernel::default())?;
        let mut row = self.above_floor(sum, size.dofs()?, bytes);
        row.extend(values([("share", 100.0 * sum.median_s / cycle.median_s)]));
        Ok(row)
    }

    /// A V-cycle; its words are [`cycle_words_per_dof`].
    pub(super) fn v_cycle(&mut self, size: Size) -> Result<Values> {
        let timing = self.cycle(size, PatchKernel::default())?;
        let (system, dofs) = (size.poisson()?, size.dofs()?);
        let words = cycle_words_per_dof(&system, Part::Step.words_per_dof(&system));
        Ok(self.above_floor(timing, dofs, words * size.word() * dofs as f64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use patchmg::backend::GpuRates;

    #[test]
    fn the_floor_of_an_h200_is_near_what_its_rates_give() {
        // Clock and width of its memory as the driver tells them.
        let rates = GpuRates {
            multiprocessors: 132,
            clock_khz: 1_980_000,
            memory_clock_khz: 3_201_000,
            memory_bus_bits: 6144,
            f32_lanes: 128,
            f64_lanes: 64,
        };
        let device = |backend, name: &str| DeviceInfo {
            backend,
            name: name.into(),
            units: 132,
            memory: 0,
            memory_free: 0,
            architecture: String::new(),
            driver: None,
            cuda_api: None,
            rates: Some(rates),
        };
        let (stated, derived) =
            (bandwidth(&device(BackendName::Cuda, "NVIDIA H200")), bandwidth(&device(BackendName::Cuda, "another")));
        assert_eq!(stated, Some(4.3e12));
        approx::assert_relative_eq!(derived.unwrap(), 4.3e12, max_relative = 1e-3);
        assert_eq!(bandwidth(&device(BackendName::Cpu, "H200")), None);
    }
}
