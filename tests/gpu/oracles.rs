//! Residual histories on the GPU against an independent implementation of the method.

use crate::Suite;
use crate::histories::{Oracle, deviation, oracles};
use patchmg::krylov::Stopping;
use patchmg::problem::Problem;
use patchmg::solve::{Case, Config, Method, System};

pub fn add(suite: &mut Suite) {
    for Oracle { dim, degree, refine, rtol, fmg, vcycle, gmres } in oracles() {
        for (method, expected) in [(Method::Fmg, fmg), (Method::VCycle, vcycle), (Method::Gmres, gmres)] {
            suite.test(format!("oracles::{dim}d::q{degree}::level{refine}::{method:?}"), move |gpu| {
                let config = Config { method, stopping: Stopping { rtol, max_iters: 30 }, ..Config::default() };
                let case = Case { system: System::PoissonCg, dim, degree, refine, problem: Problem::One, config };
                let found = case.solve(gpu, &mut |_, _| ())?.0.info.residual_history;
                if found.len() == expected.len() && deviation(&found, &expected) < 0.01 {
                    return Ok(());
                }
                Err(format!("{found:?} != {expected:?}").into())
            });
        }
    }
}
