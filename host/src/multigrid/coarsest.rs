//! The coarsest level of a V-cycle.

use super::smoother::{Chebyshev, Smoother};
use crate::backend::{Backend, Scalar};
use crate::error::Result;
use crate::level::{Level, SharedLevel};
use crate::system::System;

/// The energy norm of the error of a solution by iteration, relative to that of the solution: as in deal.II's tutorial program
/// step-37.
const REDUCTION: f64 = 1e-3;

/// How the coarsest level is solved: the same linear, symmetric map each time.
pub(super) enum Coarsest<B: Backend, S: Scalar> {
    /// By itself.
    Solved(SharedLevel<B, S>),
    /// By Chebyshev iteration for all eigenvalues.
    Iterated(Chebyshev<B, S>),
}

impl<B: Backend, S: Scalar> Coarsest<B, S> {
    /// # Errors
    /// Those of [`Chebyshev::solver`].
    pub fn new(level: &SharedLevel<B, S>) -> Result<Self> {
        Ok(match level.has_solver() {
            true => Self::Solved(level.clone()),
            false => Self::Iterated(Chebyshev::solver(level, REDUCTION)?),
        })
    }

    /// Bytes of its vectors on the machine.
    pub fn bytes(system: &impl System) -> u64 {
        if system.has_solver() { 0 } else { Chebyshev::<B, S>::bytes(system.layout().storage(), system.is_nonlinear()) }
    }

    pub fn level(&self) -> &dyn Level<B, S> {
        match self {
            Self::Solved(level) => &**level,
            Self::Iterated(chebyshev) => chebyshev.level(),
        }
    }

    /// For the derivative at `u`.
    pub fn linearize(&mut self, u: &B::Vector<S>) -> Result<()> {
        self.level().nonlinear()?.linearize(u)?;
        match self {
            Self::Solved(_) => Ok(()),
            Self::Iterated(chebyshev) => chebyshev.update(),
        }
    }

    /// `x ≈ A⁻¹ b`, whatever was in `x`.
    pub fn solve(&mut self, b: &B::Vector<S>, x: &mut B::Vector<S>) -> Result<()> {
        match self {
            Self::Solved(level) => level.solve(b, x),
            Self::Iterated(chebyshev) => chebyshev.step_from_zero(b, x),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::cpu::Cpu;
    use crate::forest::{CoarseMesh, Forest};
    use crate::system::Runs;
    use crate::system::elliptic::{Benchmark, Elliptic};
    use crate::testing::random;
    use std::sync::Arc;

    /// On a shell whose coefficient is 1 to 10^6, and on a disk.
    fn systems() -> [Elliptic; 2] {
        let system = |coarse: CoarseMesh, benchmark: Benchmark, degree| {
            let mut coarse = coarse;
            benchmark.number_sides(&mut coarse).unwrap();
            let dim = coarse.dim();
            Elliptic::new(&Forest::new(coarse), degree, benchmark.equation(dim)).unwrap()
        };
        let annulus = CoarseMesh::annulus(0.5, 1.0, 40).unwrap();
        [system(annulus, Benchmark::Shell, 4), system(CoarseMesh::disk(1.0).unwrap(), Benchmark::Variable, 6)]
    }

    fn check<T: Scalar>(system: &Elliptic, reduction: f64, allowed: f64)
    where
        Cpu: Runs<Elliptic>,
    {
        let cpu = Arc::new(Cpu::new(None).unwrap());
        let level: SharedLevel<Cpu, T> = cpu.level(system).unwrap();
        let values = random(system.layout().dofs(), 7);
        let b = level.vector_of(&mut |dof| values[dof]).unwrap();
        let solve = |mut solver: Coarsest<Cpu, T>| {
            let mut x = level.vector_of(&mut |_| 1.0).unwrap();
            solver.solve(&b, &mut x).unwrap();
            x
        };
        let exact = solve(Coarsest::new(&level).unwrap());
        let mut error = solve(Coarsest::Iterated(Chebyshev::solver(&level, reduction).unwrap()));
        cpu.axpby(-1.0, &exact, 1.0, &mut error).unwrap();
        let energy = |x| {
            let mut product = level.vector().unwrap();
            level.apply(x, &mut product).unwrap();
            cpu.dot(x, &product).unwrap().sqrt()
        };
        let found = energy(&error) / energy(&exact);
        assert!(found < allowed, "{found:e}, not {reduction:e}");
        assert!(found > 1e-3 * reduction, "{found:e}: more was done than needed");
    }

    #[test]
    fn iteration_reduces_the_error_as_much_as_it_is_to() {
        for system in systems() {
            for reduction in [1e-1, REDUCTION, 1e-8] {
                check::<f64>(&system, reduction, reduction);
            }
            check::<f32>(&system, REDUCTION, 2.0 * REDUCTION);
        }
    }
}
