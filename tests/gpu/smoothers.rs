//! Smoothers on the GPU: point Gauss-Seidel against the same order of dofs on the host, the others against the CPU backend.

use super::compare::{assert_close, assert_identical, downloaded, random, tolerance, uploaded};
use super::spaces::refine;
use crate::dense::line_matrices;
use crate::{Outcome, Suite};
use patchmg::Result;
use patchmg::backend::Scalar;
use patchmg::backend::cpu::Cpu;
use patchmg::backend::cuda::Cuda;
use patchmg::krylov::{Stopping, unobserved};
use patchmg::mesh::Mesh;
use patchmg::multigrid::SmootherConfig;
use patchmg::solve::{Case, Config, Method};
use patchmg::space::Space;
use patchmg::system::poisson::Problem;
use patchmg::system::{Poisson, Runs};
use patchmg_device::kernels::{DEGREES_2D, DEGREES_3D};
use std::sync::Arc;

pub fn add<T: Scalar>(suite: &mut Suite) {
    for (dim, degree) in DEGREES_2D.map(|degree| (2, degree)).chain(DEGREES_3D.map(|degree| (3, degree))) {
        for reverse in [false, true] {
            let order = if reverse { "descending" } else { "ascending" };
            suite.test(format!("smoothers::point_gauss_seidel::{dim}d::q{degree}::{order}::{}", T::NAME), move |gpu| {
                point_gauss_seidel::<T>(gpu, &space(dim, degree)?, reverse)
            });
        }
    }
    for (dim, degree) in [(2, 1), (2, 4), (2, 9), (3, 1), (3, 3), (3, 6)] {
        for smoother in [SmootherConfig::additive_patch(dim), SmootherConfig::jacobi(), SmootherConfig::chebyshev()] {
            let name = format!("{smoother:?}").split(' ').next().unwrap_or_default().to_string();
            suite.test(format!("smoothers::step::{dim}d::q{degree}::{name}::{}", T::NAME), move |gpu| {
                let space = space(dim, degree)?;
                let found = step::<_, T>(gpu, &space, smoother)?;
                // The eigenvalue estimate of Chebyshev enlarges rounding.
                let expected = step::<_, T>(&Arc::new(Cpu::new(None)?), &space, smoother)?;
                assert_close(&found, &expected, 10.0 * tolerance::<T>())?;
                assert_identical(&found, &step::<_, T>(gpu, &space, smoother)?)
            });
        }
    }
    for (dim, degree) in [(2, 2), (2, 8), (3, 3), (3, 6)] {
        suite.test(format!("smoothers::step::dg::{dim}d::q{degree}::Chebyshev::{}", T::NAME), move |gpu| {
            let space = Space::discontinuous(Mesh::unit_cube(dim, refine(dim, degree))?, degree)?;
            let found = step::<_, T>(gpu, &space, SmootherConfig::chebyshev())?;
            let expected = step::<_, T>(&Arc::new(Cpu::new(None)?), &space, SmootherConfig::chebyshev())?;
            assert_close(&found, &expected, 10.0 * tolerance::<T>())
        });
    }
    if T::NAME == "f64" {
        for (dim, degree) in [(2, 3), (3, 2)] {
            for method in [Method::VCycle, Method::Cg] {
                suite.test(format!("smoothers::point_gauss_seidel_converges::{dim}d::{method:?}"), move |gpu| {
                    let stopping = Stopping { rtol: 1e-9, max_iters: 30 };
                    let smoother = SmootherConfig::PointGaussSeidel;
                    let config = Config { method, smoother, stopping, ..Config::default() };
                    let case = Case {
                        system: Poisson::continuous(Mesh::unit_cube(dim, 3)?, degree)?,
                        problem: Problem::Sine,
                        config,
                    };
                    let info = case.solve(gpu, &mut unobserved)?.0.info;
                    if info.converged { Ok(()) } else { Err(format!("{info:?}").into()) }
                });
            }
        }
    }
}

fn space(dim: usize, degree: usize) -> Result<Space> {
    Space::new(Mesh::unit_cube(dim, refine(dim, degree))?, degree)
}

/// One step from random numbers.
fn step<B: Runs<Poisson>, T: Scalar>(backend: &Arc<B>, space: &Space, smoother: SmootherConfig) -> Result<Vec<T>> {
    let level = backend.level::<T>(&Poisson::from(space))?;
    let vector = |seed| uploaded(&**backend, &space.from_dofs(&random::<T>(seed, space.dofs()))?);
    let (b, mut x) = (vector(1)?, vector(2)?);
    smoother.build(&level)?.step(&b, &mut x)?;
    downloaded(&**backend, &x, space.storage())
}

fn point_gauss_seidel<T: Scalar>(gpu: &Arc<Cuda>, space: &Space, reverse: bool) -> Outcome {
    let (b, x) = (random::<T>(1, space.dofs()), random::<T>(2, space.dofs()));
    let level = gpu.level::<T>(&Poisson::from(space))?;
    let mut on_gpu = uploaded(&**gpu, &space.from_dofs(&x)?)?;
    level.point_gauss_seidel(&uploaded(&**gpu, &space.from_dofs(&b)?)?, &mut on_gpu, reverse)?;
    let found = downloaded(&**gpu, &on_gpu, space.storage())?;
    let in_f64 = |values: &[T]| values.iter().map(|value| value.to_f64()).collect::<Vec<f64>>();
    let expected: Vec<T> = twin(space, &in_f64(&b), in_f64(&x), reverse).into_iter().map(T::from_f64).collect();
    assert_close(&found, &space.from_dofs(&expected)?, 10.0 * tolerance::<T>())
}

/// Dof after dof in the order of their colors, `(A x)_i` by all 1D entries that are not zero.
fn twin(space: &Space, b: &[f64], mut x: Vec<f64>, reverse: bool) -> Vec<f64> {
    let (mass, stiffness) = line_matrices(space).swap_remove(0);
    let (n, dim, degree) = (mass.nrows(), space.dim(), space.degree());
    let coupled = |i: usize| (0..n).filter(|&j| mass[(i, j)] != 0.0).collect::<Vec<_>>();
    let color = |dof: usize| {
        let class = |node: usize| if node.is_multiple_of(degree) { (node / degree + 1) % 2 } else { node % degree + 1 };
        (0..dim).rev().fold(0, |color, d| color * (degree + 1) + class(dof / n.pow(d as u32) % n + 1))
    };
    let mut order: Vec<usize> = (0..x.len()).collect();
    order.sort_by_key(|&dof| color(dof));
    if reverse {
        order.reverse();
    }
    for dof in order {
        let at = [dof % n, dof / n % n, dof / (n * n)];
        let mut row = Vec::new();
        for z in if dim == 3 { coupled(at[2]) } else { vec![0] } {
            for y in coupled(at[1]) {
                for x in coupled(at[0]) {
                    let to = [x, y, z];
                    let factor = |d: usize, stiff: usize| if d == stiff { &stiffness } else { &mass }[(at[d], to[d])];
                    let entry = (0..dim).map(|stiff| (0..dim).map(|d| factor(d, stiff)).product::<f64>()).sum::<f64>();
                    row.push((x + n * (y + n * z), entry));
                }
            }
        }
        let product: f64 = row.iter().map(|&(column, entry)| entry * x[column]).sum();
        let diagonal = row.iter().find(|(column, _)| *column == dof).map_or(1.0, |(_, entry)| *entry);
        x[dof] += (b[dof] - product) / diagonal;
    }
    x
}
