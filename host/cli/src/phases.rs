//! A solve with the times of its phases, which --verbose and PATCHMG_LOG log.

use crate::failure::Failure;
use patchmg::Error;
use patchmg::backend::cpu::Cpu;
use patchmg::measure::Protocol;
use patchmg::output::table::seconds;
use patchmg::solve::{Case, Found, Wanted};
use patchmg::system::{ModelProblem, Runs};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;
use tracing::debug;

/// Solves as often as `protocol` says, from a guess if there is one, for what is wanted. If a GPU solves, the host computes with
/// `threads` threads; a CPU uses its own for all.
pub fn solve<P: ModelProblem, B: Runs<P::System>>(
    backend: &Arc<B>,
    case: Case<P>,
    threads: Option<usize>,
    guess: Option<&[f64]>,
    wanted: Wanted,
    protocol: Protocol,
    observer: &mut (impl FnMut(usize, f64) -> ControlFlow<()> + Send),
) -> Result<Found<P>, Failure> {
    // A CPU has its threads already.
    let host = if backend.info().backend.is_gpu() { Some(Cpu::new(threads)?) } else { None };
    let start = Instant::now();
    let work = || {
        let prepared = case.prepare(&**backend)?;
        let prepare_s = start.elapsed().as_secs_f64();
        debug!("load vector: {}", seconds(prepare_s));
        let solved = prepared.solve_for(backend, guess, wanted, protocol, observer)?;
        let (set_up_s, solve_s) = (solved.0.setup_s - prepare_s, solved.0.timing.median_s);
        let times = (protocol.warmup + protocol.repetitions) as f64;
        let rest_s = start.elapsed().as_secs_f64() - solved.0.setup_s - times * solve_s;
        debug!("set-up on the machine, with the load vector's way there: {}", seconds(set_up_s));
        debug!("solve: {}", seconds(solve_s));
        debug!("errors: {}", seconds(solved.0.errors_s));
        debug!("solution's way back, and memory given back: {}", seconds(rest_s - solved.0.errors_s));
        Ok::<_, Error>(solved)
    };
    let solved = match host {
        Some(host) => host.install(work),
        None => backend.install(work),
    };
    Ok(solved?)
}
