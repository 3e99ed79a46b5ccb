//! Discontinuous elements by products of small matrices, every choice, against the CPU backend.

use super::compare::{assert_close, assert_identical, downloaded, random, uploaded};
use crate::Suite;
use patchmg::backend::cpu::Cpu;
use patchmg::backend::cuda::Cuda;
use patchmg::backend::{Backend, PatchKernel, Scalar};
use patchmg::mesh::Mesh;
use patchmg::space::Space;
use patchmg_device::kernels::{MatrixMemory, Operands, TensorKernel};
use patchmg_device::patch::DgGrid;

pub fn add<T: Scalar>(suite: &mut Suite) {
    for degree in DgGrid::DEGREES {
        for patchwise in [false, true] {
            let nodes = (degree + 1) * if patchwise { 2 } else { 1 };
            for kernel in Cuda::box_choices::<T>(nodes) {
                let name = format!("boxes::n{nodes}::{kernel}::{}", T::NAME).replace(", ", " ").replace(' ', "-");
                suite.test(name, move |gpu| check::<T>(gpu, degree, patchwise, kernel));
            }
        }
    }
}

/// Relative to the largest entry; half the digits of the operands' product are lost to the jump terms at most.
fn tolerance(kernel: TensorKernel) -> f64 {
    match kernel.operands {
        Operands::F64 => 1e-12,
        Operands::F32 | Operands::Tf32Corrected | Operands::F16Corrected => 2e-5,
        Operands::Tf32 | Operands::F16 => 2e-2,
        Operands::Bf16 => 2e-1,
    }
}

fn check<T: Scalar>(gpu: &Cuda, degree: usize, patchwise: bool, kernel: TensorKernel) -> crate::Outcome {
    let space = Space::discontinuous(Mesh::unit_cube(3, 2)?, degree)?;
    let Space::Discontinuous(discontinuous) = &space else { unreachable!("made so") };
    let cpu = Cpu::new(None)?;
    let (reference, boxes) =
        (cpu.level::<f64>(&space, PatchKernel::default())?, gpu.box_kernels::<T>(discontinuous, kernel, patchwise)?);
    let (b, x) = (random::<T>(1, space.storage()), random::<T>(2, space.storage()));
    let length = space.storage();
    let exact = |values: &[T]| -> Vec<f64> { values.iter().map(|value| value.to_f64()).collect() };
    let (cpu_b, cpu_x) = (uploaded(&cpu, &exact(&b))?, uploaded(&cpu, &exact(&x))?);
    let (gpu_b, gpu_x) = (uploaded(gpu, &b)?, uploaded(gpu, &x)?);
    let mut expected = cpu.zeros::<f64>(space.storage())?;
    let mut found = gpu.zeros::<T>(space.storage())?;

    cpu.apply(&reference, &cpu_x, &mut expected)?;
    boxes.apply(&gpu_x, &mut found)?;
    let first = downloaded(gpu, &found, length)?;
    assert_close(&exact(&first), &downloaded(&cpu, &expected, length)?, tolerance(kernel))?;
    boxes.apply(&gpu_x, &mut found)?;
    assert_identical(&downloaded(gpu, &found, length)?, &first)?;

    cpu.residual(&reference, &cpu_b, &cpu_x, &mut expected)?;
    boxes.residual(&gpu_b, &gpu_x, &mut found)?;
    assert_close(&exact(&downloaded(gpu, &found, length)?), &downloaded(&cpu, &expected, length)?, tolerance(kernel))?;

    if patchwise && kernel.matrices != MatrixMemory::Constant {
        let residual: Vec<T> = downloaded(&cpu, &expected, length)?.into_iter().map(T::from_f64).collect();
        let residual = uploaded(gpu, &residual)?;
        for color in [0, 3, 7] {
            let (mut smoothed, mut corrected) = (uploaded(&cpu, &exact(&x))?, uploaded(gpu, &x)?);
            cpu.smooth_color(&reference, color, &cpu_b, &mut smoothed)?;
            boxes.solve(color as u32, &residual, &mut corrected)?;
            let corrected = exact(&downloaded(gpu, &corrected, length)?);
            assert_close(&corrected, &downloaded(&cpu, &smoothed, length)?, tolerance(kernel))?;
        }
    }
    Ok(())
}
