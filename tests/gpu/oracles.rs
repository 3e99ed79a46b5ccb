//! Residual histories on the GPU against an independent implementation of the method.

use crate::Suite;
use crate::histories::{DgOracle, Oracle, deviation, dg_oracles, fine_oracles, oracles, stokes_oracles};
use patchmg::krylov::{Stopping, unobserved};
use patchmg::mesh::Mesh;
use patchmg::solve::{Case, Config, Method, Precision};
use patchmg::space::Family;
use patchmg::system::poisson::Problem;
use patchmg::system::{ModelProblem, Poisson};

pub fn add(suite: &mut Suite) {
    for Oracle { dim, degree, refine, rtol, fmg, vcycle, gmres } in oracles() {
        for (method, expected) in [(Method::Fmg, fmg), (Method::VCycle, vcycle), (Method::Gmres, gmres)] {
            suite.test(format!("oracles::{dim}d::q{degree}::level{refine}::{method:?}"), move |gpu| {
                let config = Config { method, stopping: Stopping { rtol, max_iters: 30 }, ..Config::default() };
                let case = Case {
                    system: Poisson::continuous(Mesh::unit_cube(dim, refine)?, degree)?,
                    problem: Problem::One,
                    config,
                };
                let found = case.solve(gpu, &mut unobserved)?.0.info.residual_history;
                if found.len() == expected.len() && deviation(&found, &expected) < 0.01 {
                    return Ok(());
                }
                Err(format!("{found:?} != {expected:?}").into())
            });
        }
    }
    for oracle in fine_oracles() {
        let (dim, degree, refine) = (oracle.dim, oracle.degree, oracle.refine);
        suite.test(format!("oracles::{dim}d::q{degree}::level{refine}::Fmg"), move |gpu| {
            let config = Config { stopping: Stopping { rtol: oracle.rtol, max_iters: 30 }, ..Config::default() };
            let case = Case {
                system: Poisson::continuous(Mesh::unit_cube(dim, refine)?, degree)?,
                problem: Problem::One,
                config,
            };
            let found = case.solve(gpu, &mut unobserved)?.0.info.residual_history;
            if found.len() == oracle.fmg.len() && oracle.deviation(&found) < 0.01 {
                return Ok(());
            }
            Err(format!("{found:?} is not that of {oracle:?}").into())
        });
    }
    for DgOracle { dim, degree, refine, rtol, gmres, .. } in dg_oracles() {
        suite.test(format!("oracles::dg::{dim}d::q{degree}::level{refine}"), move |gpu| {
            let case = dg_case([dim, degree, refine], Method::Fgmres, Precision::F64, rtol)?;
            let found = case.solve(gpu, &mut unobserved)?.0.info.residual_history;
            // The last entry is computed anew from the solution, with its rounding.
            let close = |(found, expected): (&f64, &f64)| (found - expected).abs() < 1e-3 * expected + 5e-13;
            if found.len() == gmres.len() && found.iter().zip(&gmres).all(close) {
                return Ok(());
            }
            Err(format!("{found:?} != {gmres:?}").into())
        });
    }
    for oracle in stokes_oracles() {
        let name = format!("oracles::stokes::{}d::rt{}::level{}", oracle.dim, oracle.k, oracle.refine);
        suite.test(format!("{name}::mu{}::sigma{}", oracle.mu, oracle.sigma), move |gpu| {
            let report = oracle.case()?.solve(gpu, &mut unobserved)?.0;
            let found = &report.info.residual_history;
            if found.len() >= oracle.history.len() && deviation(found, &oracle.history) < 0.01 {
                return Ok(());
            }
            Err(format!("{found:?} is not that of {oracle:?}").into())
        });
    }
    // As `rounding_is_no_reaction_term` on the CPU.
    for [dim, degree, refine] in [[2, 10, 6], [2, 8, 6], [2, 5, 7]] {
        suite.test(format!("oracles::rounding::{dim}d::q{degree}::level{refine}"), move |gpu| {
            let config = Config::default();
            let case = Case {
                system: Poisson::continuous(Mesh::unit_cube(dim, refine)?, degree)?,
                problem: Problem::Sine,
                config,
            };
            let l2 = case.solve(gpu, &mut unobserved)?.0.errors.map_or(f64::NAN, |errors| errors.l2);
            if l2 < 2e-13 { Ok(()) } else { Err(format!("error {l2:e}").into()) }
        });
    }
    // Norms that the GPU computes, against those by quadrature on the host.
    for family in [Family::Continuous, Family::Discontinuous] {
        for [dim, degree, refine] in [[2, 2, 4], [2, 8, 2], [3, 1, 3], [3, 4, 2], [3, 7, 2]] {
            for precision in [Precision::F64, Precision::F32, Precision::Mixed] {
                let name = format!("oracles::norms::{family:?}::{dim}d::q{degree}::{precision:?}");
                suite.test(name, move |gpu| {
                    let stopping = Stopping { rtol: 1e-4, ..Stopping::default() };
                    let config = Config { method: Method::Fgmres, precision, stopping, ..Config::default() };
                    let system = Poisson::new(family, Mesh::unit_cube(dim, refine)?, degree)?;
                    let case = Case { system, problem: Problem::Sine, config };
                    let (report, u) = case.solve(gpu, &mut unobserved)?;
                    let found = report.errors.ok_or("no errors")?;
                    let expected = Problem::Sine.errors(&u)?.ok_or("no errors")?;
                    // The smallest error here is 3e-12 of a solution, whose values are exact to 1e-16 and derivatives to 1e-15.
                    let is_close = |found: f64, expected: f64| (found - expected).abs() < 1e-8 * expected + 1e-15;
                    let is_same = is_close(found.l2, expected.l2) && is_close(found.h1, expected.h1);
                    if is_same { Ok(()) } else { Err(format!("{found:?} is not {expected:?}").into()) }
                });
            }
        }
    }
    for parameters in [[2, 3, 5], [3, 3, 3]] {
        for (method, precision) in [
            (Method::Fmg, Precision::F64),
            (Method::VCycle, Precision::F64),
            (Method::Cg, Precision::F64),
            (Method::Gmres, Precision::Mixed),
            (Method::Fgmres, Precision::Mixed),
        ] {
            suite.test(format!("oracles::dg::converges::{parameters:?}::{method:?}::{precision:?}"), move |gpu| {
                let report = dg_case(parameters, method, precision, 1e-8)?.solve(gpu, &mut unobserved)?.0;
                let reference = dg_case(parameters, Method::Fgmres, Precision::F64, 1e-8)?;
                let [found, expected] = [&report, &reference.solve(gpu, &mut unobserved)?.0]
                    .map(|report| report.errors.map_or(f64::NAN, |errors| errors.l2));
                if report.info.converged && (found / expected - 1.0).abs() < 1e-2 {
                    return Ok(());
                }
                Err(format!("{:?}, error {found:e}, not {expected:e}", report.info).into())
            });
        }
    }
}

fn dg_case(
    [dim, degree, refine]: [usize; 3],
    method: Method,
    precision: Precision,
    rtol: f64,
) -> patchmg::Result<Case<Problem>> {
    let config = Config { method, precision, stopping: Stopping { rtol, max_iters: 30 }, ..Config::default() };
    Ok(Case { system: Poisson::discontinuous(Mesh::unit_cube(dim, refine)?, degree)?, problem: Problem::Sine, config })
}
