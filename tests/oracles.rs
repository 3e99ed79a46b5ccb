//! Residual histories against an independent implementation of the method, and iteration counts against paper 1.

#[path = "common/cases.rs"]
mod common;
#[path = "common/histories.rs"]
mod histories;

use common::{cpu, solve, solve_system, space};
use histories::{Oracle, deviation, fine_oracles, oracles};
use patchmg::backend::cpu::Cpu;
use patchmg::backend::{Backend, Scalar};
use patchmg::krylov::{IterativeSolver, Richardson, Stopping, unobserved};
use patchmg::level::{Level, SharedLevel};
use patchmg::multigrid::{Multigrid, PatchSmoother, PostSmoothing, Smoother, SmootherConfig, VCycle, levels};
use patchmg::operator::LinearOperator;
use patchmg::problem::load_vector;
use patchmg::solve::{Config, Method, Precision};
use patchmg::space::Family;
use patchmg::system::Runs;
use patchmg::system::poisson::{Poisson, Problem};

fn check(dim: usize, method: Method, history: impl Fn(&Oracle) -> &Vec<f64>) {
    let cases: Vec<_> = oracles().into_iter().filter(|oracle| oracle.dim == dim).collect();
    assert!(cases.len() > 10);
    for oracle in cases {
        let parameters = [dim, oracle.degree, oracle.refine];
        let found = solve(parameters, Problem::One, method, Precision::F64, oracle.rtol).info;
        let (found, expected) = (found.residual_history, history(&oracle));
        assert_eq!(found.len(), expected.len(), "{parameters:?} {method:?}: {found:?} != {expected:?}");
        assert!(deviation(&found, expected) < 0.01, "{parameters:?} {method:?}: {found:?} != {expected:?}");
    }
}

#[test]
fn full_multigrid_2d() {
    check(2, Method::Fmg, |oracle| &oracle.fmg);
}

#[test]
fn full_multigrid_3d() {
    check(3, Method::Fmg, |oracle| &oracle.fmg);
}

#[test]
fn full_multigrid_on_fine_levels_and_of_high_degree() {
    let cases = fine_oracles();
    assert!(cases.iter().any(|oracle| oracle.degree > 5 && oracle.refine >= 7));
    for oracle in cases {
        let parameters = [oracle.dim, oracle.degree, oracle.refine];
        let found = solve(parameters, Problem::One, Method::Fmg, Precision::F64, oracle.rtol).info.residual_history;
        assert_eq!(found.len(), oracle.fmg.len(), "{oracle:?}: {found:?}");
        assert!(oracle.fmg[0] > 100.0 * oracle.rounding, "{oracle:?}: nothing to compare");
        assert!(oracle.deviation(&found) < 0.01, "{oracle:?}: {found:?}");
    }
}

#[test]
fn v_cycle_2d() {
    check(2, Method::VCycle, |oracle| &oracle.vcycle);
}

#[test]
fn v_cycle_3d() {
    check(3, Method::VCycle, |oracle| &oracle.vcycle);
}

#[test]
fn gmres_2d() {
    check(2, Method::Gmres, |oracle| &oracle.gmres);
}

#[test]
fn gmres_3d() {
    check(3, Method::Gmres, |oracle| &oracle.gmres);
}

#[test]
fn flexible_gmres_is_gmres_where_the_preconditioner_is_linear() {
    check(2, Method::Fgmres, |oracle| &oracle.gmres);
}

/// Patches in descending order of colors, before and after the coarse correction.
struct DescendingSmoother<B: Backend, S: Scalar>(PatchSmoother<B, S>);

impl<B: Backend, S: Scalar> Smoother<B, S> for DescendingSmoother<B, S> {
    fn step(&mut self, b: &B::Vector<S>, x: &mut B::Vector<S>) -> patchmg::Result<()> {
        self.0.step_adjoint(b, x)
    }

    fn step_adjoint(&mut self, b: &B::Vector<S>, x: &mut B::Vector<S>) -> patchmg::Result<()> {
        self.0.step(b, x)
    }

    fn level(&self) -> &dyn Level<B, S> {
        self.0.level()
    }
}

type MakesSmoother = dyn Fn(&SharedLevel<Cpu, f64>) -> patchmg::Result<Box<dyn Smoother<Cpu, f64>>>;

fn v_cycle_history(oracle: &Oracle, smoother: &MakesSmoother, cycle: VCycle) -> Vec<f64> {
    let backend = cpu();
    let space = space(oracle.dim, oracle.degree, oracle.refine);
    let operator = backend.level::<f64>(&Poisson::from(&space)).unwrap();
    let levels = levels(&backend, &Poisson::from(&space)).unwrap();
    let mut multigrid = Multigrid::with_levels(&levels, smoother, cycle).unwrap();
    let (mut b, mut x) = (operator.vector().unwrap(), operator.vector().unwrap());
    let load = load_vector(&space, &*Problem::One.right_hand_side(space.mesh())).unwrap();
    backend.upload(&load, &mut b).unwrap();
    let mut solver = Richardson::new(&operator).unwrap();
    let stopping = Stopping { rtol: oracle.rtol, max_iters: 30 };
    solver.solve(&operator, &mut multigrid, &b, &mut x, &stopping, &mut unobserved).unwrap().residual_history
}

#[test]
fn another_order_of_colors_is_seen() {
    let adjoint = VCycle { post_smoothing: PostSmoothing::Adjoint, ..VCycle::default() };
    for oracle in oracles().iter().filter(|oracle| oracle.refine == 3 && oracle.degree <= 4) {
        let ascending = |level: &_| SmootherConfig::default().build(level);
        let right = v_cycle_history(oracle, &ascending, VCycle::default());
        let descending: &MakesSmoother = &|level| Ok(Box::new(DescendingSmoother(PatchSmoother::new(level)?)));
        let descending = v_cycle_history(oracle, descending, VCycle::default());
        let symmetric = v_cycle_history(oracle, &ascending, adjoint);
        assert!(deviation(&right, &oracle.vcycle) < 0.01, "{oracle:?}: {right:?}");
        assert!(deviation(&descending, &oracle.vcycle) > 0.01, "{oracle:?}: {descending:?}");
        assert!(deviation(&symmetric, &oracle.vcycle) > 0.01, "{oracle:?}: {symmetric:?}");
    }
}

/// Paper 1's tables 1 and 2 in the degrees that `published.rs` has; they do not depend on the level but for degree 1 in 2D.
/// Ours are below them in places: the tables do not follow from algorithm 2.2 as printed.
#[test]
fn full_multigrid_needs_no_more_iterations_than_in_paper_1() {
    let tables: [(usize, &[usize], &[usize]); 2] = [(2, &[4, 5, 6], &[9, 5, 3, 3, 3]), (3, &[3, 4], &[6, 5, 3, 3])];
    for (dim, levels, most) in tables {
        for &refine in levels {
            for (degree, &most) in (1..).zip(most) {
                let info = solve([dim, degree, refine], Problem::One, Method::Fmg, Precision::F64, 1e-9).info;
                let found = info.iterations;
                assert!(info.converged && found <= most, "{dim}D Q{degree} level {refine}: {found} iterations");
            }
        }
    }
}

/// Paper 1, table 7.
#[test]
fn mixed_precision_needs_as_many_iterations_and_has_the_same_error() {
    for parameters in [[2, 3, 5], [3, 1, 4], [3, 3, 4], [3, 4, 3]] {
        for method in [Method::Fmg, Method::Gmres] {
            let [double, mixed] = [Precision::F64, Precision::Mixed].map(|precision| {
                let config = Config { method, precision, ..Config::default() };
                solve_system(Family::Continuous, parameters, Problem::Sine, config)
            });
            let name = format!("{parameters:?}, {method:?}");
            assert!(double.info.converged && mixed.info.converged, "{name}");
            assert_eq!(double.info.iterations, mixed.info.iterations, "{name}");
            let [double, mixed] = [double, mixed].map(|report| report.errors.unwrap().l2);
            assert!((mixed / double - 1.0).abs() < 1e-2, "{name}: {double:e}, {mixed:e}");
        }
    }
}
