//! Levels of discontinuous elements by products of small matrices, every choice, against the CPU backend.

use super::compare::{assert_close, assert_identical, downloaded, random, uploaded};
use crate::Suite;
use crate::naive::{self, Naive};
use patchmg::backend::cpu::Cpu;
use patchmg::backend::cuda::{Cuda, Vector};
use patchmg::backend::{Backend, Scalar};
use patchmg::krylov::{Stopping, unobserved};
use patchmg::measure::Protocol;
use patchmg::mesh::Mesh;
use patchmg::solve::{Case, Config, Method, Precision};
use patchmg::space::Space;
use patchmg::system::Runs;
use patchmg::system::poisson::{Boxes, Engine, Operands, PatchKernel, Poisson, Problem, Products, TensorKernel};
use patchmg_device::patch::DgGrid;
use patchmg_device::tensor_core::NODES;
use patchmg_device::tensor_core::list::{Listed, listed};
use std::sync::Arc;

pub fn add<T: Scalar>(suite: &mut Suite) {
    for degree in DgGrid::DEGREES {
        for boxes in Boxes::ALL {
            let nodes = boxes.nodes(degree);
            let of_scalar = listed(nodes).into_iter().filter(|listed| listed.scalar == T::NAME);
            for Listed { kernel, .. } in of_scalar {
                let products = Products { kernel, boxes };
                let name = format!("products::q{degree}::{products}::{}", T::NAME).replace(", ", " ").replace(' ', "-");
                suite.test(name, move |gpu| check::<T>(gpu, degree, products));
            }
        }
    }
    // Sizes that no degree has.
    let of_a_degree = |boxes: Boxes| DgGrid::DEGREES.map(move |degree| boxes.nodes(degree));
    let of_degrees: Vec<usize> = Boxes::ALL.into_iter().flat_map(of_a_degree).collect();
    for nodes in NODES.filter(|nodes| !of_degrees.contains(nodes)) {
        for Listed { kernel, .. } in listed(nodes).into_iter().filter(|listed| listed.scalar == T::NAME) {
            let name = format!("products::n{nodes}::{kernel}::{}", T::NAME).replace(", ", " ").replace(' ', "-");
            suite.test(name, move |gpu| check_size::<T>(gpu, nodes, kernel));
        }
    }
}

/// On three boxes a direction, so that each kind of face is there, random matrices against dense ones on the host.
fn check_size<T: Scalar>(gpu: &Cuda, nodes: usize, kernel: TensorKernel) -> crate::Outcome {
    let reference = Naive::new(nodes, [3; 3]);
    let length = reference.size().iter().product();
    let x = random::<T>(2, length);
    let (on_gpu, mut y) = (uploaded(gpu, &x)?, gpu.zeros::<T>(length)?);
    gpu.box_operator(kernel, [nodes, 3], &reference.table(), &on_gpu, &mut y)?;
    let found: Vec<f64> = downloaded::<Cuda, T>(gpu, &y, length)?.into_iter().map(T::to_f64).collect();
    let exact: Vec<f64> = x.into_iter().map(T::to_f64).collect();
    assert_close(&found, &reference.apply(&exact), naive::tolerance(kernel))
}

/// Flexible GMRES with a V-cycle of the best products takes as many iterations as with columns in `f64`, to the same solution,
/// on levels where the error of the discretization is the largest.
pub fn add_solves(suite: &mut Suite) {
    for (degree, refine) in [(3, 3), (7, 2)] {
        for (precision, operands) in [(Precision::F64, Operands::F64), (Precision::Mixed, Operands::F16Corrected)] {
            let name = format!("products::q{degree}::fgmres::{}", operands.name());
            suite.test(name, move |gpu| check_solve(gpu, [degree, refine], precision, operands));
        }
    }
}

/// The contractions alone, which are timed and leave nothing: that their kernels run to the end.
pub fn add_contractions(suite: &mut Suite) {
    for degree in [3, 7] {
        let nodes = Boxes::Patch.nodes(degree);
        for Listed { kernel, .. } in listed(nodes).into_iter().filter(|listed| listed.contracts(nodes)) {
            let name = format!("products::q{degree}::contractions::{kernel}").replace(", ", " ").replace(' ', "-");
            suite.test(name, move |gpu| {
                let space = Space::discontinuous(Mesh::unit_cube(3, 2)?, degree)?;
                Ok(gpu.contraction_time(&space, kernel, 1, Protocol::ONCE).map(drop)?)
            });
        }
    }
}

fn check_solve(
    gpu: &Arc<Cuda>,
    [degree, refine]: [usize; 2],
    precision: Precision,
    operands: Operands,
) -> crate::Outcome {
    let solve = |precision, kernel| {
        let stopping = Stopping { rtol: 1e-10, max_iters: 20 };
        let config = Config { method: Method::Fgmres, precision, stopping, ..Config::default() };
        let system = Poisson::discontinuous(Mesh::unit_cube(3, refine)?, degree)?.with_kernel(kernel);
        let case = Case { system, problem: Problem::Sine, config };
        Ok::<_, patchmg::Error>(case.solve(gpu, &mut unobserved)?.0)
    };
    let nodes = Boxes::Patch.nodes(degree);
    let best = listed(nodes).into_iter().map(|listed| listed.kernel);
    let best = best.into_iter().find(|kernel| (kernel.engine, kernel.operands) == (Engine::MmaSwizzled, operands));
    let products = best.map(|kernel| PatchKernel::Products(Products { kernel, boxes: Boxes::Patch }));
    let columns = solve(Precision::F64, PatchKernel::default())?;
    let found = solve(precision, products.unwrap_or_default())?;
    if found.info.iterations != columns.info.iterations {
        return Err(format!("{} iterations, columns {}", found.info.iterations, columns.info.iterations).into());
    }
    let [found, expected] = [found, columns].map(|report| report.errors.map(|errors| errors.l2));
    match (found, expected) {
        (Some(found), Some(expected)) if (found - expected).abs() < 0.03 * expected => Ok(()),
        _ => Err(format!("L2 error {found:?}, with columns {expected:?}").into()),
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

fn check<T: Scalar>(gpu: &Arc<Cuda>, degree: usize, products: Products) -> crate::Outcome {
    let space = Space::discontinuous(Mesh::unit_cube(3, 2)?, degree)?;
    let (cpu, kernel) = (Arc::new(Cpu::new(None)?), PatchKernel::Products(products));
    let (reference, level) =
        (cpu.level::<f64>(&Poisson::from(&space))?, gpu.level::<T>(&Poisson::from(&space).with_kernel(kernel))?);
    let (length, tolerance) = (space.storage(), tolerance(products.kernel));
    let (b, x) = (random::<T>(1, length), random::<T>(2, length));
    let exact = |values: &[T]| -> Vec<f64> { values.iter().map(|value| value.to_f64()).collect() };
    let (cpu_b, cpu_x) = (uploaded(&*cpu, &exact(&b))?, uploaded(&*cpu, &exact(&x))?);
    let (gpu_b, gpu_x) = (uploaded(&**gpu, &b)?, uploaded(&**gpu, &x)?);
    let (mut expected, mut found) = (cpu.zeros::<f64>(length)?, gpu.zeros::<T>(length)?);
    let assert_equal = |found: &Vector<T>, expected: &<Cpu as Backend>::Vector<f64>| {
        let found: Vec<T> = downloaded(&**gpu, found, length)?;
        assert_close(&exact(&found), &downloaded(&*cpu, expected, length)?, tolerance)
    };

    reference.apply(&cpu_x, &mut expected)?;
    level.apply(&gpu_x, &mut found)?;
    assert_equal(&found, &expected)?;
    let first = downloaded(&**gpu, &found, length)?;
    level.apply(&gpu_x, &mut found)?;
    assert_identical(&downloaded(&**gpu, &found, length)?, &first)?;

    reference.residual(&cpu_b, &cpu_x, &mut expected)?;
    level.residual(&gpu_b, &gpu_x, &mut found)?;
    assert_equal(&found, &expected)?;

    for color in [0, 3, 7] {
        let (mut expected, mut found) = (uploaded(&*cpu, &exact(&x))?, uploaded(&**gpu, &x)?);
        reference.patches()?.smooth_color(color, &cpu_b, &mut expected)?;
        level.patches()?.smooth_color(color, &gpu_b, &mut found)?;
        assert_equal(&found, &expected)?;
    }
    Ok(())
}
