//! Work and traffic of the parts beside what the machine could do.

use super::{Laboratory, Size, Values, values};
use crate::backend::{Backend, PatchKernel};
use crate::benchmark::Part;
use crate::benchmark::suite::traffic::{Traffic, WAVEFRONT_BYTES};
use crate::benchmark::suite::work::{flops_per_piece, pieces};
use crate::error::{Error, Result};

impl<B: Backend> Laboratory<B> {
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
            Err(Error::Unsupported { .. }) if info.rates.is_none() => return Ok(row),
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
        let space = size.space()?;
        let flops = Self::flops(size, part);
        let bytes = part.words_per_dof(&space) * size.word() * space.dofs() as f64;
        Ok(values([
            ("time_ms", 1e3 * seconds),
            ("intensity", flops / bytes),
            ("gflops", 1e-9 * flops / seconds),
            ("gb_per_s", 1e-9 * bytes / seconds),
        ]))
    }

    pub(super) fn roofs(&mut self, size: Size) -> Result<Values> {
        let seconds = self.time(size, PatchKernel::default(), Part::Copy)?.median_s;
        let space = size.space()?;
        let bytes = Part::Copy.words_per_dof(&space) * size.word() * space.dofs() as f64;
        let mut row = values([("time_ms", 1e3 * seconds), ("gb_per_s", 1e-9 * bytes / seconds)]);
        if let Some(rates) = self.backend.info().rates {
            row.extend(values([
                ("gflops", 1e-9 * rates.flops(size.word() as usize)),
                ("shared_gb_per_s", 1e-9 * rates.shared_memory()),
            ]));
        }
        Ok(row)
    }
}
