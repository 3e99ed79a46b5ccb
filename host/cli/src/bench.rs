//! `patchmg bench`.

use crate::args::BenchArgs;
use crate::case::{iterations, parameters};
use crate::console::Console;
use crate::failure::Failure;
use crate::hashes::Hashes;
use crate::machine::Machine;
use crate::plan::{self, Output};
use crate::report::{BenchReport, SolveReport};
use crate::systems::{Offered, with_system};
use crate::{phases, result, solve};
use patchmg::backend::DeviceInfo;
use patchmg::krylov::unobserved;
use patchmg::measure::{LevelTimes, Measurement, Parts, Protocol, Timing, parts};
use patchmg::output::table::{Table, seconds};
use patchmg::solve::{Case, Wanted};
use patchmg::system::Runs;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;
use tracing::debug;

/// Times the parts of the problem and its solution, or says what memory that takes.
///
/// # Errors
/// Those of [`report`].
pub fn run(args: &BenchArgs) -> Result<ExitCode, Failure> {
    if args.dry_run {
        let console = result::console(args.json.as_deref(), args.quiet);
        return plan::run(&args.case, &Output { console, json: args.json.as_deref(), vtu: None });
    }
    Ok(exit_code(&report(args)?))
}

/// Whether the solver converged.
pub fn exit_code(report: &BenchReport) -> ExitCode {
    if report.solve.converged { ExitCode::SUCCESS } else { ExitCode::from(solve::NOT_CONVERGED) }
}

/// Times the parts of the problem and its solution, says it, and writes it where it is asked for.
pub fn report(args: &BenchArgs) -> Result<BenchReport, Failure> {
    let console = result::console(args.json.as_deref(), args.quiet);
    result::check("json", args.json.as_deref())?;
    args.case.check_options()?;
    with_system!(args.case.kind(), Problem => match Machine::choose(&args.case.machine, console)? {
        Machine::Cpu(backend) => on::<Problem, _>(&backend, args, console),
        #[cfg(feature = "cuda")]
        Machine::Cuda(backend) => on::<Problem, _>(&backend, args, console),
    })
}

fn on<P: Offered, B: Runs<P::System>>(
    backend: &Arc<B>,
    args: &BenchArgs,
    console: Console,
) -> Result<BenchReport, Failure> {
    let (case, guess) = on_last_mesh::<P, B>(backend, args)?;
    let device = backend.info();
    let asked = case.clone();
    let smoother = P::smoother_in_words(&case);
    console.line(parameters(&args.case, &smoother, &device, case.config.bytes::<_, B>(&case.system)?));

    let repetitions = args.repetitions.unwrap_or(Protocol::default().repetitions);
    let protocol = Protocol { warmup: args.warmup, repetitions };
    let threads = args.case.machine.threads;
    let (report, _) =
        phases::solve(backend, case, threads, guess.as_deref(), Wanted::ERRORS, protocol, &mut unobserved)?;
    let solve_timing = report.timing;
    let solve = solve::record(&args.case, &asked, &device, report);
    let start = Instant::now();
    let Parts { measurements, levels } = parts(backend, &asked.system, &asked.config, protocol)?;
    debug!("parts: {}", seconds(start.elapsed().as_secs_f64()));
    console.line(table(&solve, solve_timing, &measurements));
    console.line(table_of_levels(&levels));

    let DeviceInfo { driver, cuda_api, .. } = device;
    let kernels = backend.take_launched();
    let kernels = Hashes::default().of(kernels.iter().map(String::as_str))?.filter(|_| device.backend.is_gpu());
    let report = BenchReport { solve, driver, cuda_api, kernels, protocol, solve_timing, measurements, levels };
    if let Some(path) = &args.json {
        result::write_json(&report, path)?;
    }
    Ok(report)
}

/// The problem on the last mesh of an adaptive run, which solves it once on each mesh before; and what the solve there begins with.
fn on_last_mesh<P: Offered, B: Runs<P::System>>(
    backend: &Arc<B>,
    args: &BenchArgs,
) -> Result<(Case<P>, Option<Vec<f64>>), Failure> {
    let mut case = P::case(&args.case)?;
    let mut guess = args.case.start(&case)?;
    for cycle in 1.. {
        case.check(&**backend).map_err(|error| P::refused(&args.case, error))?;
        if !args.case.refines_where_it_matters() {
            break;
        }
        let threads = args.case.machine.threads;
        let (report, _) = phases::solve(
            backend,
            case.clone(),
            threads,
            guess.as_deref(),
            Wanted::ERRORS,
            Protocol::ONCE,
            &mut unobserved,
        )?;
        let Some(next) = P::adapted(&args.case, &case, &report, cycle)? else { break };
        (case, guess) = (next, None);
    }
    Ok((case, guess))
}

fn table(solve: &SolveReport, solve_timing: Timing, measurements: &[Measurement]) -> Table {
    let mut table = Table::new(["part", "scalar", "median", "min", "max", "ns/DoF", "words/DoF", "GB/s"]);
    let times = |timing: &Timing| [timing.median_s, timing.min_s, timing.max_s].map(seconds);
    for measurement in measurements {
        let Measurement { what, scalar, timing, ns_per_dof, words_per_dof, gb_per_s, .. } = measurement;
        let [median, min, max] = times(timing);
        let rest = [format!("{ns_per_dof:.4}"), format!("{words_per_dof:.1}"), format!("{gb_per_s:.0}")];
        table.row([what.to_string(), scalar.to_string(), median, min, max].into_iter().chain(rest));
    }
    let [median, min, max] = times(&solve_timing);
    let name = format!("{}, {}", solve.solver, iterations(solve.iterations));
    table.row([name, solve.precision.clone(), median, min, max, format!("{:.4}", solve.ns_per_dof)]);
    table
}

/// Medians level by level.
fn table_of_levels(levels: &[LevelTimes]) -> Table {
    let parts = ["operator", "smoothing", "restriction", "prolongation", "solution", "V-cycle from there down"];
    let mut table = Table::new(["level", "unknowns"].into_iter().chain(parts));
    for times in levels {
        let LevelTimes { level, dofs, operator, smoothing, restriction, prolongation, solution, cycle } = times;
        let of_parts = [Some(*operator), *smoothing, *restriction, *prolongation, *solution, Some(*cycle)];
        let medians = of_parts.map(|timing| timing.map_or_else(String::new, |timing| seconds(timing.median_s)));
        table.row([level.to_string(), dofs.to_string()].into_iter().chain(medians));
    }
    table
}
