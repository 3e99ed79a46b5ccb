//! Solves `-Δu = f` on the unit cube for a known `u`, and compares: mesh, operator, multigrid, GMRES, error.
//!
//! Run it with `cargo run --release --example poisson`.

use patchmg::backend::{Backend, cpu::Cpu};
use patchmg::krylov::{DEFAULT_RESTART, Gmres, IterativeSolver, Stopping};
use patchmg::mesh::Mesh;
use patchmg::multigrid::{Multigrid, SmootherConfig, VCycle};
use patchmg::operator::LinearOperator;
use patchmg::problem::{error_norms, load_vector};
use patchmg::system::poisson::Problem;
use patchmg::system::{Poisson, Runs};
use std::ops::ControlFlow;
use std::sync::Arc;

fn main() -> patchmg::Result<()> {
    let backend = Arc::new(Cpu::new(None)?);
    let poisson = Poisson::continuous(Mesh::unit_cube(3, 3)?, 4)?;
    let space = poisson.space();
    let operator = backend.level::<f64>(&poisson)?;
    let mut multigrid = Multigrid::<_, f64>::new(&backend, &poisson, &SmootherConfig::default(), VCycle::default())?;

    let (mut b, mut x) = (operator.vector()?, operator.vector()?);
    backend.upload(&load_vector(space, &*Problem::Sine.right_hand_side(space.mesh()))?, &mut b)?;

    let mut gmres = Gmres::new(&operator, DEFAULT_RESTART)?;
    let print = &mut |iteration, residual| {
        println!("{iteration:3} {residual:.3e}");
        ControlFlow::Continue(())
    };
    let info = gmres.solve(&operator, &mut multigrid, &b, &mut x, &Stopping::default(), print)?;
    assert!(info.converged);

    let mut u_h = vec![0.0; space.storage()];
    backend.download(&x, &mut u_h)?;
    let exact = Problem::Sine.solution(space.mesh()).expect("the sine problem has a known solution");
    let error = error_norms(space, &u_h, &*exact)?;
    println!("{} dofs, error {:.2e} in L2, {:.2e} in H1", space.dofs(), error.l2, error.h1);
    assert!(error.l2 < 2e-7);
    Ok(())
}
