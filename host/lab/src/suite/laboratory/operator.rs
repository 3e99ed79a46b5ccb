//! The operator of discontinuous elements by one kernel or another: speed, work, traffic, resources and error.

use super::roofline::tensor_core_flops;
use super::{Laboratory, Size, Values, values};
use crate::inspect::{self, Assembler, Resources};
use crate::suite::experiment::Aspect;
use crate::suite::products::flops_per_dof;
use crate::suite::traffic::{WAVEFRONT_BYTES, box_operator, box_wavefronts};
use patchmg::backend::Scalar;
use patchmg::measure::Part;
use patchmg::system::poisson::{Engine, PatchKernel, Poisson, Products};
use patchmg::system::{Runs, System};
use patchmg_cli::error::{Error, Library, Result};
use std::sync::Arc;

/// A vector of normally distributed numbers, and what the default operator in `f64` makes of it.
pub struct Reference {
    x: Vec<f64>,
    y: Vec<f64>,
}

/// What registers and spills are for where there is no GPU.
const ARCHITECTURE: &str = "sm_90";

impl<B: Runs<Poisson>> Laboratory<B> {
    pub(super) fn operator(&mut self, size: Size, aspect: Aspect, kernel: PatchKernel) -> Result<Values> {
        match aspect {
            Aspect::Speed => self.operator_speed(size, kernel),
            Aspect::Work => {
                let work = values([("flops_per_dof", flops_per_dof(kernel, size.degree))]);
                self.and_speed(size, kernel, work)
            }
            Aspect::Resources => self.operator_resources(size, kernel),
            Aspect::SharedMemory => {
                let speed = self.operator_speed(size, kernel)?;
                self.with_shared_memory(size, kernel, speed)
            }
            Aspect::Accuracy => self.operator_error(size, kernel),
        }
    }

    /// Operations and bytes of memory are those that must be: [`flops_per_dof`], two words an unknown.
    fn operator_speed(&mut self, size: Size, kernel: PatchKernel) -> Result<Values> {
        let seconds = self.time(size, kernel, Part::Operator)?.median_s;
        let (dofs, flops) = (size.dofs()? as f64, flops_per_dof(kernel, size.degree));
        let bytes = Part::Operator.words_per_dof(&size.poisson()?) * size.word();
        let rate = dofs * flops / seconds;
        let mut row = values([
            ("time_ms", 1e3 * seconds),
            ("gdof_per_s", 1e-9 * dofs / seconds),
            ("gb_per_s", 1e-9 * dofs * bytes / seconds),
            ("flops_per_dof", flops),
            ("gflops", 1e-9 * rate),
            ("tflops", 1e-12 * rate),
            ("intensity", flops / bytes),
        ]);
        row.insert("peak_percent".into(), self.peak(size, kernel).map(|peak| 100.0 * rate / peak));
        Ok(row)
    }

    /// Operations a second that the units of a kernel could do.
    fn peak(&self, size: Size, kernel: PatchKernel) -> Option<f64> {
        let info = self.backend.info();
        match kernel {
            PatchKernel::Products(Products { kernel, .. }) if kernel.engine != Engine::Fma => {
                tensor_core_flops(&info, kernel.operands)
            }
            _ => info.rates.map(|rates| rates.flops(size.word() as usize)),
        }
    }

    /// A row with speed, if the machine has the kernel, or one that says what is known without it.
    fn and_speed(&mut self, size: Size, kernel: PatchKernel, mut row: Values) -> Result<Values> {
        match self.operator_speed(size, kernel) {
            Err(Error::Library(Library::Unsupported { backend: "cpu", .. })) => {}
            speed => row.extend(speed?),
        }
        Ok(row)
    }

    /// A row with the traffic of shared memory, from a trace of a box.
    fn with_shared_memory(&mut self, size: Size, kernel: PatchKernel, mut row: Values) -> Result<Values> {
        let PatchKernel::Products(Products { kernel: products, boxes }) = kernel else { return Ok(row) };
        let nodes = boxes.nodes(size.degree);
        let Some(wavefronts) = box_wavefronts(products, nodes) else { return Ok(row) };
        let bytes_per_dof = wavefronts * WAVEFRONT_BYTES / nodes.pow(3) as f64;
        let intensity = flops_per_dof(kernel, size.degree) / bytes_per_dof;
        row.extend(values([("wavefronts", wavefronts), ("intensity", intensity)]));
        if let (Some(Some(rate)), Some(rates)) = (row.get("gdof_per_s").copied(), self.backend.info().rates) {
            row.extend(values([("l1_percent", 1e11 * rate * bytes_per_dof / rates.shared_memory())]));
        }
        Ok(row)
    }

    /// Registers and spills as the assembler finds them, if it is there; blocks as the driver tells.
    fn operator_resources(&mut self, size: Size, kernel: PatchKernel) -> Result<Values> {
        let row = self.and_speed(size, kernel, Values::new())?;
        let timed = !row.is_empty();
        let mut row = self.with_shared_memory(size, kernel, row)?;
        let PatchKernel::Products(Products { kernel: products, boxes }) = kernel else { return Ok(row) };
        let Some((_, spec)) = box_operator(products, boxes.nodes(size.degree)) else { return Ok(row) };
        let name = spec.name;
        let architecture = self.backend.info().architecture;
        let architecture = if timed { &*architecture } else { ARCHITECTURE };
        if let Some(Resources { registers, spill_store_bytes, spill_load_bytes, .. }) = resources(architecture, &name)?
        {
            row.extend(values([
                ("registers", registers.into()),
                ("spill_store_bytes", spill_store_bytes.into()),
                ("spill_load_bytes", spill_load_bytes.into()),
            ]));
        }
        if timed {
            let resident = self.set_up(size, kernel)?.resident_blocks()?;
            let blocks = resident.into_iter().find(|(known, _)| *known == name).map(|(_, blocks)| blocks.into());
            row.insert("blocks_per_sm".into(), blocks);
        }
        Ok(row)
    }

    /// `|A x - y| / |y|` in the Euclidean norm, `y` being `A x` by the default kernel in `f64` (paper 4, section 5.2).
    fn operator_error(&mut self, size: Size, kernel: PatchKernel) -> Result<Values> {
        // Makes room.
        self.level = None;
        let system = size.system(kernel)?;
        if size.single {
            self.backend.check::<f32>(&system)?;
        } else {
            self.backend.check::<f64>(&system)?;
        }
        let backend = self.backend.clone();
        let Reference { x, y } = self.reference(size, &system)?;
        let error = if size.single {
            difference(&apply::<B, f32>(&backend, &system, x)?, y)
        } else {
            difference(&apply::<B, f64>(&backend, &system, x)?, y)
        };
        Ok(values([("relative_error", error)]))
    }

    /// The same for all kernels of a size.
    fn reference(&mut self, size: Size, system: &Poisson) -> Result<&Reference> {
        if self.reference.as_ref().is_none_or(|(known, ..)| *known != size.double()) {
            self.reference = None;
            let x = normal(system.layout().storage());
            let system = system.by_default_kernels();
            let (y, basis) = self.with_basis(|laboratory| apply::<B, f64>(&laboratory.backend, &system, &x))?;
            self.reference = Some((size.double(), Reference { x, y }, basis));
        }
        let Some((_, reference, basis)) = &self.reference else { unreachable!("it was made") };
        self.basis.extend(basis);
        Ok(reference)
    }
}

/// What the assembler says of a kernel, if there are both.
fn resources(architecture: &str, name: &str) -> Result<Option<Resources>> {
    let Some(assembler) = Assembler::find(architecture)? else { return Ok(None) };
    let ptx = match inspect::kernel_ptx(name) {
        // Built without GPU kernels.
        Err(Error::Library(Library::Unsupported { .. })) => return Ok(None),
        ptx => ptx?,
    };
    Ok(assembler.resources(&ptx)?.into_iter().find(|(entry, _)| entry == name).map(|(_, resources)| resources))
}

/// `A x`, of a vector rounded to `T`.
fn apply<B: Runs<Poisson>, T: Scalar>(backend: &Arc<B>, system: &Poisson, x: &[f64]) -> Result<Vec<T>> {
    let level = backend.level::<T>(system)?;
    let mut values: Vec<T> = x.iter().map(|&value| T::from_f64(value)).collect();
    let (mut vector, mut product) = (backend.zeros(x.len())?, backend.zeros(x.len())?);
    backend.upload(&values, &mut vector)?;
    level.apply(&vector, &mut product)?;
    backend.download(&product, &mut values)?;
    Ok(values)
}

/// `|y - exact| / |exact|` in the Euclidean norm.
fn difference<T: Scalar>(y: &[T], exact: &[f64]) -> f64 {
    let squares = y.iter().zip(exact).map(|(value, exact)| (value.to_f64() - exact).powi(2));
    (squares.sum::<f64>() / exact.iter().map(|exact| exact * exact).sum::<f64>()).sqrt()
}

/// Normally distributed numbers, mean 0 and variance 1, the same in every run (Box and Muller, 1958).
fn normal(len: usize) -> Vec<f64> {
    let mut state = 1_u64;
    let mut uniform = || {
        // Knuth's linear congruential generator; the upper bits are good enough. Above 0 and up to 1.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 11) + 1) as f64 / (1_u64 << 53) as f64
    };
    let mut numbers = Vec::with_capacity(len + 1);
    while numbers.len() < len {
        let (radius, angle) = ((-2.0 * uniform().ln()).sqrt(), std::f64::consts::TAU * uniform());
        numbers.extend([radius * angle.cos(), radius * angle.sin()]);
    }
    numbers.truncate(len);
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_normally_distributed() {
        let numbers = normal(100_001);
        let mean = |power: i32| numbers.iter().map(|x| x.powi(power)).sum::<f64>() / numbers.len() as f64;
        let [mean, variance, skewness, kurtosis] = [1, 2, 3, 4].map(mean);
        assert!(mean.abs() < 0.02 && skewness.abs() < 0.1, "{mean} {skewness}");
        assert!((variance - 1.0).abs() < 0.02 && (kurtosis - 3.0).abs() < 0.15, "{variance} {kurtosis}");
    }
}
