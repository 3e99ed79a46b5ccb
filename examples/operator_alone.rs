//! The operator alone, without a solver: a matrix `A` that is never stored, for what one needs of it.
//!
//! Run it with `cargo run --release --example operator_alone`.
//!
//! `A` is that of `-Δ` by continuous elements, zero on the boundary of the unit square.

use glam::DVec3;
use patchmg::backend::{Backend, cpu::Cpu};
use patchmg::mesh::Mesh;
use patchmg::operator::LinearOperator;
use patchmg::problem::load_vector;
use patchmg::space::Space;
use patchmg::system::{Poisson, Runs};
use std::f64::consts::PI;
use std::sync::Arc;

/// Numbers in `-1..1`, by Knuth's linear congruential generator.
fn random(state: &mut u64) -> f64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

/// Nodal values of a function, as the vectors of a space have them: nodes on the boundary are no unknowns.
fn interpolate(space: &Space, u: impl Fn(DVec3) -> f64) -> Vec<f64> {
    let mut values = vec![0.0; space.storage()];
    space.unknowns().for_each(|node| values[space.offset(node)] = u(space.point(node)));
    values
}

fn main() -> patchmg::Result<()> {
    let cpu = Arc::new(Cpu::new(None)?);
    let poisson = Poisson::continuous(Mesh::unit_cube(2, 4)?, 3)?;
    let (space, a) = (poisson.space(), cpu.level::<f64>(&poisson)?);

    // Symmetry: `x · A y = y · A x`.
    let mut state = 1;
    let x = a.vector_of(&mut |_| random(&mut state))?;
    let y = a.vector_of(&mut |_| random(&mut state))?;
    let (mut ax, mut ay) = (a.vector()?, a.vector()?);
    a.apply(&x, &mut ax)?;
    a.apply(&y, &mut ay)?;
    let (xay, yax) = (cpu.dot(&x, &ay)?, cpu.dot(&y, &ax)?);
    println!("{} unknowns: x · A y = {xay:.12}, y · A x = {yax:.12}", space.dofs());
    // Sums of 2209 products differ by rounding alone, relative to the product of the norms.
    assert!((xay - yax).abs() < 1e-14 * cpu.norm(&x)? * cpu.norm(&ay)?);

    // `u = x (1 - x) y (1 - y)` is in the space, and `f = -Δu` is integrated exactly: `A u` is the load vector of `f`.
    let q = |x: f64| x * (1.0 - x);
    let (mut u, mut b) = (a.vector()?, a.vector()?);
    cpu.upload(&interpolate(space, |point| q(point.x) * q(point.y)), &mut u)?;
    cpu.upload(&load_vector(space, &|point: DVec3| 2.0 * (q(point.x) + q(point.y)))?, &mut b)?;
    let mut residual = a.vector()?;
    a.residual(&b, &u, &mut residual)?;
    let relative = cpu.norm(&residual)? / cpu.norm(&b)?;
    println!("|b - A u| / |b| = {relative:.1e} for a polynomial u");
    // Entries of `A` are up to 100 times those of `A u`, so that rounding is, too.
    assert!(relative < 1e-12);

    // The largest eigenvalue by power iteration, for bilinear elements with 8 cells a direction.
    let bilinear = cpu.level::<f64>(&Poisson::continuous(Mesh::unit_cube(2, 3)?, 1)?)?;
    let mut x = bilinear.vector_of(&mut |_| random(&mut state))?;
    let (mut ax, mut eigenvalue) = (bilinear.vector()?, 0.0);
    for _ in 0..500 {
        let norm = cpu.norm(&x)?;
        bilinear.apply(&x, &mut ax)?;
        eigenvalue = cpu.dot(&x, &ax)? / (norm * norm);
        cpu.axpby(1.0 / norm, &ax, 0.0, &mut x)?;
    }
    // `K ⊗ M + M ⊗ K` with eigenvalues `(2 - 2 c) / h` and `h (4 + 2 c) / 6`, `c = cos(j π h)`, is largest for the smoothest `M` and
    // the roughest `K`.
    let expected = (8.0 + 4.0 * (PI / 8.0).cos().powi(2)) / 3.0;
    println!("largest eigenvalue {eigenvalue:.10}, by formula {expected:.10}");
    // The next eigenvalue is 0.968 times as large: `0.968^1000` is below 1e-13.
    assert!((eigenvalue - expected).abs() < 1e-12);
    Ok(())
}
