//! The patch smoother's kernels of paper 1 against the CPU's smoother, in every dimension, degree and scalar.

use super::compare::{assert_close, assert_identical, tolerance};
use super::spaces::{refine, smooth_colors};
use crate::Suite;
use patchmg::backend::Scalar;
use patchmg::backend::cpu::Cpu;
use patchmg::mesh::Mesh;
use patchmg::space::Space;
use patchmg::system::Runs;
use patchmg::system::poisson::{Paper1, PatchKernel, Poisson};
use patchmg_device::kernels::{DEGREES_2D, DEGREES_3D, Module, Operation};
use std::sync::Arc;

pub fn add<T: Scalar>(suite: &mut Suite) {
    let cases = DEGREES_2D.map(|degree| (2, degree)).chain(DEGREES_3D.map(|degree| (3, degree)));
    for (dim, degree) in cases {
        suite.test(format!("variants::{dim}d::q{degree}::{}", T::NAME), move |gpu| {
            let space = Space::new(Mesh::unit_cube(dim, refine(dim, degree))?, degree)?;
            let cpu = Arc::new(Cpu::new(None)?);
            let expected = smooth_colors(&*cpu, &space, &cpu.level::<T>(&Poisson::from(&space))?)?;
            // One patch a block, where a kernel's own number is another: those of paper 1 take any number that fits.
            let module = Module::PatchVariants { dim, degree };
            let has_several = |kernels: &Paper1| {
                let steps = kernels.steps(dim, degree).unwrap_or_default();
                steps.iter().any(|&(step, variant)| module.kernel::<T>(Operation::Variant(step, variant)).patches > 1)
            };
            let single = Paper1::all(dim, degree).filter(has_several);
            let single = single.map(|kernels| PatchKernel::Paper1 { kernels, patches: Some(1) });
            let own = [PatchKernel::Register].into_iter().chain(Paper1::all(dim, degree).map(Paper1::by_default));
            for choice in own.chain(single) {
                let system = Poisson::from(&space).with_kernel(choice);
                let found = smooth_colors(&**gpu, &space, &gpu.level::<T>(&system)?)?;
                let again = smooth_colors(&**gpu, &space, &gpu.level::<T>(&system)?)?;
                let outcome = assert_close(&found, &expected, tolerance::<T>());
                outcome
                    .and_then(|()| assert_identical(&found, &again))
                    .map_err(|failed| format!("{choice}: {}", failed.message().unwrap_or("no reason")))?;
            }
            Ok(())
        });
    }
}
