//! Krylov solvers against a direct solver, on small dense operators and on Poisson's equation.

#[path = "common/cases.rs"]
mod common;

mod krylov {
    mod divergence;
    mod solvers;
    mod stagnation;
    mod v_cycle;
}

use common::{cpu, pseudo_random};
use nalgebra::{DMatrix, DVector};
use patchmg::Result;
use patchmg::backend::Backend;
use patchmg::backend::cpu::Cpu;
use patchmg::krylov::{Info, IterativeSolver, Stopping, unobserved};
use patchmg::operator::{LinearOperator, Preconditioner};
use std::sync::Arc;

type Vector = <Cpu as Backend>::Vector<f64>;

/// A dense matrix; as a preconditioner, applied times 1, 2, 1, 2, ... if it alternates.
struct Dense {
    backend: Arc<Cpu>,
    matrix: DMatrix<f64>,
    symmetric: bool,
    alternates: bool,
    applied: usize,
}

impl Dense {
    fn new(matrix: DMatrix<f64>) -> Self {
        let symmetric = matrix == matrix.transpose();
        Self { backend: cpu(), matrix, symmetric, alternates: false, applied: 0 }
    }

    fn multiply(&self, x: &Vector, scale: f64, y: &mut Vector) -> Result<()> {
        let product = &self.matrix * self.get(x)? * scale;
        self.backend.upload(product.as_slice(), y)
    }

    fn get(&self, x: &Vector) -> Result<DVector<f64>> {
        let mut host = DVector::zeros(self.matrix.nrows());
        self.backend.download(x, host.as_mut_slice())?;
        Ok(host)
    }

    fn set(&self, host: &DVector<f64>) -> Vector {
        let mut x = self.vector().unwrap();
        self.backend.upload(host.as_slice(), &mut x).unwrap();
        x
    }
}

impl LinearOperator<Cpu, f64> for Dense {
    fn backend(&self) -> &Arc<Cpu> {
        &self.backend
    }

    fn storage(&self) -> usize {
        self.matrix.nrows()
    }

    fn apply(&self, x: &Vector, y: &mut Vector) -> Result<()> {
        self.multiply(x, 1.0, y)
    }
}

impl Preconditioner<Cpu, f64> for Dense {
    fn apply(&mut self, r: &Vector, z: &mut Vector) -> Result<()> {
        let scale = if self.alternates && self.applied % 2 == 1 { 2.0 } else { 1.0 };
        self.applied += 1;
        self.multiply(r, scale, z)
    }

    fn is_symmetric(&self) -> bool {
        self.symmetric
    }
}

fn random(n: usize, seed: u64) -> DMatrix<f64> {
    let mut next = pseudo_random(seed);
    DMatrix::from_fn(n, n, |_, _| next())
}

/// Symmetric positive definite, condition number of some tens.
fn spd(n: usize, seed: u64) -> DMatrix<f64> {
    let a = random(n, seed);
    let b = &a * a.transpose() + DMatrix::identity(n, n) * (n as f64 / 20.0);
    (&b + b.transpose()) * 0.5
}

fn right_hand_side(n: usize) -> DVector<f64> {
    let mut next = pseudo_random(99);
    DVector::from_fn(n, |_, _| next())
}

/// Solves from zero; what the solver says, and the solution.
fn run<M>(
    solver: &mut impl IterativeSolver<Cpu, f64, Dense, M>,
    operator: &Dense,
    preconditioner: &mut M,
    stopping: Stopping,
) -> Result<(Info, DVector<f64>)> {
    let b = operator.set(&right_hand_side(operator.storage()));
    let mut x = operator.vector()?;
    let info = solver.solve(operator, preconditioner, &b, &mut x, &stopping, &mut unobserved)?;
    Ok((info, operator.get(&x)?))
}

fn true_residual(operator: &Dense, x: &DVector<f64>) -> f64 {
    let b = right_hand_side(operator.storage());
    (&b - &operator.matrix * x).norm() / b.norm()
}

const TIGHT: Stopping = Stopping { rtol: 1e-11, max_iters: 200 };
