//! Residual histories on the GPU against an independent implementation of the method.

use crate::Suite;
use crate::histories::{Oracle, deviation, oracles};
use patchmg::krylov::Stopping;
use patchmg::problem::Problem;
use patchmg::solve::{Case, Config, Method};

pub fn add(suite: &mut Suite) {
    let methods: [(Method, fn(&Oracle) -> &Vec<f64>); 3] = [
        (Method::Fmg, |oracle| &oracle.fmg),
        (Method::VCycle, |oracle| &oracle.vcycle),
        (Method::Gmres, |oracle| &oracle.gmres),
    ];
    for oracle in oracles() {
        let Oracle { dim, degree, refine, rtol, .. } = oracle;
        for (method, history) in methods {
            let expected = history(&oracle).clone();
            suite.test(format!("oracles::{dim}d::q{degree}::level{refine}::{method:?}"), move |gpu| {
                let config = Config { method, stopping: Stopping { rtol, max_iters: 30 }, ..Config::default() };
                let case = Case { dim, degree, refine, problem: Problem::One, config };
                let found = case.solve(gpu, &mut |_, _| ())?.0.info.residual_history;
                if found.len() == expected.len() && deviation(&found, &expected) < 0.01 {
                    return Ok(());
                }
                Err(format!("{found:?} != {expected:?}").into())
            });
        }
    }
}
