//! A V-cycle as the preconditioner of an iteration of one's own: conjugate gradients, written out, beside those of the library.
//!
//! Run it with `cargo run --release --example own_krylov`.
//!
//! The iteration is written for any backend: on a GPU its vectors stay there, and only dot products come back.

use glam::DVec3;
use patchmg::backend::{Backend, cpu::Cpu};
use patchmg::krylov::{Cg, IterativeSolver, Stopping, unobserved};
use patchmg::mesh::Mesh;
use patchmg::multigrid::{Multigrid, SmootherConfig, VCycle};
use patchmg::operator::{LinearOperator, Preconditioner};
use patchmg::problem::load_vector;
use patchmg::system::{Poisson, Runs};
use std::sync::Arc;

/// Solves `A x = b` from `x = 0` until `|r| <= rtol |b|`, with the preconditioner `M`; the iterations, if those allowed suffice.
fn conjugate_gradients<B: Backend>(
    a: &(impl LinearOperator<B, f64> + ?Sized),
    m: &mut impl Preconditioner<B, f64>,
    b: &B::Vector<f64>,
    x: &mut B::Vector<f64>,
    stopping: &Stopping,
) -> patchmg::Result<Option<usize>> {
    let backend = a.backend();
    let (mut r, mut z, mut p, mut ap) = (a.vector()?, a.vector()?, a.vector()?, a.vector()?);
    backend.set_zero(x)?;
    backend.axpby(1.0, b, 0.0, &mut r)?; // r = b
    m.apply(&r, &mut z)?;
    backend.axpby(1.0, &z, 0.0, &mut p)?; // p = z
    let mut rz = backend.dot(&r, &z)?;
    let enough = stopping.rtol * backend.norm(b)?;
    for iteration in 0..=stopping.max_iters {
        let norm = backend.norm(&r)?;
        println!("{iteration:3} {norm:.3e}");
        if norm <= enough {
            return Ok(Some(iteration));
        }
        a.apply(&p, &mut ap)?;
        let alpha = rz / backend.dot(&p, &ap)?;
        backend.axpby(alpha, &p, 1.0, x)?; // x += alpha p
        backend.axpby(-alpha, &ap, 1.0, &mut r)?; // r -= alpha A p
        m.apply(&r, &mut z)?;
        let last = std::mem::replace(&mut rz, backend.dot(&r, &z)?);
        backend.axpby(1.0, &z, rz / last, &mut p)?; // p = z + beta p
    }
    Ok(None)
}

fn main() -> patchmg::Result<()> {
    let cpu = Arc::new(Cpu::new(None)?);
    let poisson = Poisson::continuous(Mesh::unit_cube(3, 3)?, 4)?;
    let a = cpu.level::<f64>(&poisson)?;
    // Conjugate gradients need a symmetric preconditioner: the colors of patches descend after the coarse correction.
    let mut m = Multigrid::<Cpu, f64>::new(&cpu, &poisson, &SmootherConfig::default(), VCycle::symmetric())?;

    let load = load_vector(poisson.space(), &|point: DVec3| (3.0 * point.x).exp() * point.y)?;
    let (mut b, mut x, mut difference) = (a.vector()?, a.vector()?, a.vector()?);
    cpu.upload(&load, &mut b)?;
    let stopping = Stopping { rtol: 1e-9, max_iters: 100 };
    let iterations = conjugate_gradients(&*a, &mut m, &b, &mut x, &stopping)?.expect("100 suffice");

    let info = Cg::new(&a)?.solve(&a, &mut m, &b, &mut difference, &stopping, &mut unobserved)?;
    cpu.axpby(1.0, &x, -1.0, &mut difference)?;
    let relative = cpu.norm(&difference)? / cpu.norm(&x)?;
    println!("{iterations} iterations, the library's {}; the solutions differ by {relative:.1e}", info.iterations);
    // It is the same algorithm: at most rounding can differ.
    assert_eq!(iterations, info.iterations);
    assert!(relative < 1e-12);
    // As many as with 16 and 32 cells a direction: a V-cycle with patches does not get worse on finer meshes.
    assert!(iterations <= 5);
    Ok(())
}
