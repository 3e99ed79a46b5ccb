//! What refinement edges carry between what is smoothed and the rest.

use super::*;
use crate::backend::cpu::Vector;
use crate::krylov::{Cg, IterativeSolver, unobserved};
use crate::level::{Level, Patches};
use crate::multigrid::{Multigrid, VCycle};

/// A level without the edge terms of Janssen and Kanschat: nodes that are smoothed and the others do not see each other.
struct WithoutEdges {
    level: SharedLevel<Cpu, f64>,
    /// 1 at nodes that are smoothed, else 0.
    smoothed: Vec<f64>,
}

impl WithoutEdges {
    /// `x` at nodes that are smoothed, or at the others; 0 elsewhere.
    fn part(&self, x: &Vector<f64>, is_smoothed: bool) -> Vector<f64> {
        let mut part = self.level.vector().unwrap();
        for ((part, x), smoothed) in part.iter_mut().zip(x.iter()).zip(&self.smoothed) {
            *part = if (*smoothed == 1.0) == is_smoothed { *x } else { 0.0 };
        }
        part
    }
}

impl LinearOperator<Cpu, f64> for WithoutEdges {
    fn backend(&self) -> &Arc<Cpu> {
        self.level.backend()
    }

    fn storage(&self) -> usize {
        self.level.storage()
    }

    fn apply(&self, x: &Vector<f64>, y: &mut Vector<f64>) -> Result<()> {
        self.level.apply(x, y)
    }
}

impl Level<Cpu, f64> for WithoutEdges {
    fn restrict_residual(&self, b: &Vector<f64>, x: &Vector<f64>, coarse: &mut Vector<f64>) -> Result<()> {
        let mut residual = self.level.vector()?;
        self.level.residual(b, &self.part(x, true), &mut residual)?;
        let mut other = self.level.vector()?;
        self.level.residual(b, &self.part(x, false), &mut other)?;
        for ((residual, other), smoothed) in residual.iter_mut().zip(other.iter()).zip(&self.smoothed) {
            *residual = if *smoothed == 1.0 { *residual } else { *other };
        }
        self.level.restrict_load(&residual, x, coarse)
    }

    fn prolongate_add(&self, coarse: &Vector<f64>, x: &mut Vector<f64>) -> Result<()> {
        self.level.prolongate_add(coarse, x)
    }

    fn solve(&self, b: &Vector<f64>, x: &mut Vector<f64>) -> Result<()> {
        self.level.solve(b, x)
    }

    fn vector_of(&self, value: &mut dyn FnMut(usize) -> f64) -> Result<Vector<f64>> {
        self.level.vector_of(value)
    }

    fn inverse_diagonal(&self) -> Result<Vector<f64>> {
        self.level.inverse_diagonal()
    }

    fn smoothed_residual(&self, b: &Vector<f64>, x: &Vector<f64>, r: &mut Vector<f64>) -> Result<()> {
        self.level.smoothed_residual(b, &self.part(x, true), r)
    }

    fn patches(&self) -> Result<&dyn Patches<Cpu, f64>> {
        self.level.patches()
    }

    fn point_gauss_seidel(&self, b: &Vector<f64>, x: &mut Vector<f64>, reverse: bool) -> Result<()> {
        self.level.point_gauss_seidel(b, x, reverse)
    }
}

/// deal.II takes 5 iterations with these terms, and 25 without, on an L that is refined at its corner five times.
#[test]
fn iterations_grow_without_the_edge_terms() {
    let cpu = Arc::new(Cpu::new(None).unwrap());
    let mut forest = Forest::new(CoarseMesh::l_shape(2).unwrap()).refine_uniformly(3).unwrap();
    for _ in 0..5 {
        let is_at_corner = |leaf: &crate::forest::Cell| {
            (0..4_u32).any(|corner| {
                let point = forest.point(leaf, [f64::from(corner & 1), f64::from(corner >> 1), 0.0]);
                point.truncate().length() < 1e-12
            })
        };
        let flag = |leaf| if is_at_corner(leaf) { Adaptation::Refine } else { Adaptation::Keep };
        forest = forest.adapt(&forest.leaves().iter().map(flag).collect::<Vec<_>>()).unwrap();
    }
    let system = Elliptic::new(&forest, 2, Equation::default()).unwrap();
    let with = levels::<_, Cpu, f64>(&cpu, &system).unwrap();
    let without = |level: &SharedLevel<Cpu, f64>| -> SharedLevel<Cpu, f64> {
        let inverse = level.inverse_diagonal().unwrap();
        let smoothed = inverse.iter().map(|&entry| f64::from(u8::from(entry != 0.0))).collect();
        Arc::new(WithoutEdges { level: level.clone(), smoothed })
    };
    let without: Vec<_> = with.iter().map(without).collect();
    let load = EllipticProblem::new(|_| 1.0).load(&system).unwrap();
    let [with, without] = [with.clone(), without].map(|levels| {
        let smoother = SmootherConfig::Chebyshev { degree: 5, range: 12.0 };
        let mut cycle = Multigrid::with_levels(&levels, |level| smoother.build(level), VCycle::symmetric()).unwrap();
        // The product has all terms.
        let operator = &with[with.len() - 1];
        let (mut b, mut x) = (operator.vector().unwrap(), operator.vector().unwrap());
        b.copy_from_slice(&load);
        let stopping = Stopping { rtol: 1e-9, ..Stopping::default() };
        let mut solver = Cg::new(operator).unwrap();
        solver.solve(operator, &mut cycle, &b, &mut x, &stopping, &mut unobserved).unwrap()
    });
    assert!(with.converged && with.iterations <= 6, "{with:?}");
    assert!(!without.converged || without.iterations > 15, "{without:?}");
}
