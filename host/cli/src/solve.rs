//! `patchmg solve`.

use crate::args::{CaseArgs, SolveArgs};
use crate::case::{iterations, parameters};
use crate::chart::{Chart, Format};
use crate::console::{Console, Progress};
use crate::failure::Failure;
use crate::machine::Machine;
use crate::phases;
use crate::plan::{self, Output};
use crate::report::{NewtonReport, SolveReport};
use crate::result;
use crate::solution_files::SolutionFiles;
use crate::systems::{Details, Offered, with_system};
use patchmg::Error;
use patchmg::backend::DeviceInfo;
use patchmg::krylov::Outcome;
use patchmg::measure::Protocol;
use patchmg::memory;
use patchmg::multigrid::hierarchy;
use patchmg::output::table::{Table, bytes, count, seconds};
use patchmg::solve::{Case, Found, Method, Report, Wanted};
use patchmg::system::{Runs, System};
use std::ops::ControlFlow;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;
use tracing::debug;

pub const NOT_CONVERGED: u8 = 3;

pub fn run(args: &SolveArgs) -> Result<ExitCode, Failure> {
    if args.dry_run {
        let console = result::console(args.json.as_deref(), args.quiet);
        let vtu = args.vtu.as_ref().map(|_| args.vtu_config());
        return plan::run(&args.case, &Output { console, json: args.json.as_deref(), vtu });
    }
    with_system!(args.case.kind(), Problem => {
        args.case.check_options()?;
        if args.no_errors && Problem::ADAPTS {
            let reason = format_args!("is not there with --system {}, which refines its mesh by them", args.case.system);
            return Err(Failure::usage("no-errors", true, reason));
        }
        let start = Instant::now();
        let case = Problem::case(&args.case)?;
        debug!("mesh: {}", seconds(start.elapsed().as_secs_f64()));
        let console = result::console(args.json.as_deref(), args.quiet);
        check_files(args, console)?;
        let start = Instant::now();
        let machine = Machine::choose(&args.case.machine, console)?;
        debug!("machine: {}", seconds(start.elapsed().as_secs_f64()));
        let done = match &machine {
            Machine::Cpu(backend) => on(backend, args, case, console),
            #[cfg(feature = "cuda")]
            Machine::Cuda(backend) => on(backend, args, case, console),
        };
        let start = Instant::now();
        drop(machine);
        debug!("machine given back: {}", seconds(start.elapsed().as_secs_f64()));
        done
    })
}

/// What would spoil a long computation at its end is found before it starts.
fn check_files(args: &SolveArgs, console: Console) -> Result<(), Failure> {
    if let Some(path) = &args.plot {
        Format::of(path)?;
    }
    let files = [("json", &args.json), ("vtu", &args.vtu), ("npz", &args.npz), ("plot", &args.plot)];
    for (option, path) in files {
        result::check(option, path.as_deref())?;
    }
    result::check_apart(&files, console)
}

/// What writing the solution takes of the host's memory, which is free again once the problem is solved.
fn check_vtu(needed: u64) -> Result<(), Failure> {
    memory::check(needed).map_err(|error| match error {
        Error::OutOfMemory { needed, available, .. } => Failure::memory("vtu", needed, available),
        other => other.into(),
    })
}

fn on<P: Offered, B: Runs<P::System>>(
    backend: &Arc<B>,
    args: &SolveArgs,
    mut case: Case<P>,
    console: Console,
) -> Result<ExitCode, Failure> {
    let device = backend.info();
    case.check(&**backend).map_err(|error| P::refused(&args.case, error))?;
    let smoother = P::smoother_in_words(&case);
    let mut plan = parameters(&args.case, &smoother, &device, case.config.bytes::<_, B>(&case.system)?);
    if args.vtu.is_some() {
        let [size, memory] = P::most_vtu_bytes(&case, &args.vtu_config())?;
        check_vtu(memory)?;
        plan += &format!("VTU        at most {}, takes at most {} on the host\n", bytes(size), bytes(memory));
    }
    let mut guess = args.case.start(&case)?;
    console.line(plan);
    // On the last mesh where the solver converged: the problem, the solution if it is wanted, and the report.
    let mut last = None::<(P, Option<<P::System as System>::Solution>, SolveReport)>;
    let (mut cycles, mut files) = (Vec::new(), SolutionFiles::new(args));
    loop {
        let mut solve_cycle = || -> Result<_, Failure> {
            console.line(levels(&case.system)?);
            let (report, solution) = solve_once(backend, args, case.clone(), guess.as_deref(), console)?;
            cycles.extend(P::cycle(&case, &report));
            let outcome = report.info.outcome;
            let next = P::adapted(&args.case, &case, &report, cycles.len());
            let report = record(&args.case, &case, &device, report);
            console.line(summary(&report, outcome));
            Ok((solution, report, next))
        };
        let (solution, report, next) = match (solve_cycle(), last.take()) {
            (Ok((_, report, _)), Some((problem, solution, _))) if !report.converged => {
                console.line("the solution that is written is that on the last mesh where the solver converged");
                write(args, &problem, solution.as_ref(), &SolveReport { cycles, ..report }, &files, console)?;
                return Ok(ExitCode::from(NOT_CONVERGED));
            }
            (Ok(solved), _) => solved,
            (Err(failure), Some((problem, solution, report))) => {
                console.line("there are no results on this mesh: those that are written are of the last one");
                write(args, &problem, solution.as_ref(), &SolveReport { cycles, ..report }, &files, console)?;
                return Err(failure);
            }
            (Err(failure), None) => return Err(failure),
        };
        let problem = case.problem.clone();
        solution.as_ref().map_or(Ok(()), |solution| files.write_to_list(&problem, solution, console))?;
        let next = match (next, &solution) {
            (Ok(Some(next)), Some(solution)) if report.converged => {
                P::guess(&args.case, &next, solution).map(|guess| Some((next, guess)))
            }
            (other, _) => other.map(|_| None),
        };
        if let Ok(Some((next_case, next_guess))) = next {
            last = Some((problem, solution, report));
            (case, guess) = (next_case, next_guess);
            continue;
        }
        let converged = report.converged;
        let start = Instant::now();
        write(args, &problem, solution.as_ref(), &SolveReport { cycles, ..report }, &files, console)?;
        debug!("output: {}", seconds(start.elapsed().as_secs_f64()));
        // That the next mesh could not be made.
        next?;
        return Ok(if converged { ExitCode::SUCCESS } else { ExitCode::from(NOT_CONVERGED) });
    }
}

/// Solves on one mesh.
fn solve_once<P: Offered, B: Runs<P::System>>(
    backend: &Arc<B>,
    args: &SolveArgs,
    case: Case<P>,
    guess: Option<&[f64]>,
    console: Console,
) -> Result<Found<P>, Failure> {
    console.line("iteration       residual   reduction");
    let mut progress = Progress::new(console, args.case.last_residual());
    let mut observer = |iteration, value| {
        progress.residual(iteration, value);
        ControlFlow::Continue(())
    };
    let solution = P::ADAPTS || args.vtu.is_some() || args.npz.is_some();
    let wanted = Wanted { errors: !args.no_errors, solution };
    let threads = args.case.machine.threads;
    let found = phases::solve(backend, case, threads, guess, wanted, Protocol::ONCE, &mut observer);
    progress.finish();
    found
}

fn levels(system: &impl System) -> Result<Table, Failure> {
    let mut table = Table::new(["level", "cells", "dofs"]);
    for (index, level) in hierarchy(system)?.iter().enumerate() {
        table.row([(index + 1).to_string(), count(level.cells()), count(level.layout().dofs())]);
    }
    Ok(table)
}

pub fn record<P: Offered>(
    args: &CaseArgs,
    case: &Case<P>,
    device: &DeviceInfo,
    report: Report<P::Errors>,
) -> SolveReport {
    let Report { cells, dofs, info, newton, errors, setup_s, timing, .. } = report;
    let solve_s = timing.median_s;
    let Details { flow, kernel, variant, local, products, l2_error, h1_error, l2_error_p, div_max, area } =
        P::details(case, errors);
    let options = args.effective(case, device).options();
    let has_basis = [Method::Gmres, Method::Fgmres].contains(&case.config.method);
    SolveReport {
        system: args.system.to_string(),
        dim: args.dim(),
        degree: args.degree(),
        refine: args.refine(),
        base_cells: if args.is_on_box() { args.base_cells() } else { Vec::new() },
        size: if args.is_on_box() { args.lengths() } else { Vec::new() },
        cells,
        dofs,
        problem: args.problem_name().into(),
        flow,
        solver: args.method().to_string(),
        restart: has_basis.then_some(case.config.restart),
        smoother: case.config.smoother.name().into(),
        cycle: args.cycle.to_string(),
        kernel,
        variant,
        local,
        products,
        precision: args.precision.to_string(),
        backend: device.backend.to_string(),
        device: device.name.clone(),
        iterations: info.iterations,
        converged: info.converged,
        reason: info.outcome.name().to_string(),
        rtol: args.rtol(),
        relative_residual: info.residual_history.last().copied(),
        residual_history: info.residual_history,
        fractional_iterations: info.fractional_iterations,
        inner_iterations: info.inner_iterations,
        l2_error,
        h1_error,
        l2_error_p,
        div_max,
        newton: newton.into_iter().map(NewtonReport::from).collect(),
        area,
        cycles: Vec::new(),
        setup_s,
        solve_s,
        ns_per_dof: 1e9 * solve_s / dofs as f64,
        options,
        version: crate::VERSION.to_string(),
        commit: crate::COMMIT.to_string(),
    }
}

/// How the solver ended, after how many iterations and with which residual.
pub(crate) fn ending(report: &SolveReport, outcome: Outcome) -> String {
    let iterations = iterations(report.iterations);
    let outcome = match (outcome, report.fractional_iterations) {
        (_, Some(fractional)) => format!("converged after {iterations} (fractional: {fractional:.2})"),
        (Outcome::Stagnated { .. }, _) => format!("{outcome}, after {iterations}"),
        // It says at which iteration.
        (Outcome::Diverged { .. }, _) => outcome.to_string(),
        _ => format!("{outcome} after {iterations}"),
    };
    let residual = report.relative_residual.map_or(String::new(), |value| format!(", relative residual {value:.3e}"));
    outcome + &residual
}

fn summary(report: &SolveReport, outcome: Outcome) -> String {
    let ending = ending(report, outcome);
    let mut errors = match (report.l2_error, report.h1_error, report.l2_error_p.flatten()) {
        (Some(l2), Some(h1), None) => format!("errors     L2 {l2:.4e}, H1 seminorm {h1:.4e}\n"),
        (Some(l2), Some(h1), Some(p)) => {
            format!("errors     velocity L2 {l2:.4e}, H1 seminorm {h1:.4e}, pressure L2 {p:.4e}\n")
        }
        _ => String::new(),
    };
    if let Some(divergence) = report.div_max {
        errors += &format!("divergence {divergence:.1e} at most\n");
    }
    if let Some(area) = report.area {
        errors += &format!("area       {area:.10}\n");
    }
    let inner = report.inner_iterations.map_or(String::new(), |inner| {
        format!(
            "coarsest   {} in all on the coarsest mesh, by flexible GMRES to 1e-2\n",
            crate::case::iterations(inner)
        )
    });
    let newton = match report.newton.is_empty() {
        true => String::new(),
        false => format!("\n{}", newton_steps(&report.newton)),
    };
    format!(
        "{newton}\n{ending}\n{inner}{errors}times      setup {}, solve {}, {:.3} ns/DoF",
        seconds(report.setup_s),
        seconds(report.solve_s),
        report.ns_per_dof
    )
}

/// The steps of Newton's method.
fn newton_steps(steps: &[NewtonReport]) -> Table {
    let mut table = Table::new(["step", "residual", "linear iterations", "step length"]);
    for (index, step) in steps.iter().enumerate() {
        let NewtonReport { residual, linear_iterations, step_length } = step;
        table.row([
            (index + 1).to_string(),
            format!("{residual:.3e}"),
            linear_iterations.to_string(),
            step_length.to_string(),
        ]);
    }
    table
}

fn write<P: Offered>(
    args: &SolveArgs,
    problem: &P,
    solution: Option<&<P::System as System>::Solution>,
    report: &SolveReport,
    files: &SolutionFiles,
    console: Console,
) -> Result<(), Failure> {
    if let Some(path) = &args.json {
        result::write_json(report, path)?;
    }
    if let Some(path) = &args.plot {
        let precision = args.case.precision;
        let solver = args.case.method();
        let (cells, dim) = (args.case.cells_in_words(), args.case.dim());
        let title = format!("{} on {cells} in {dim}D, problem {}", args.case.elements(), args.case.problem_name());
        let series = vec![(format!("{solver}, {precision}"), report.residual_history.clone())];
        Chart::residual_history(title, series, args.case.last_residual()).write(path)?;
    }
    solution.map_or(Ok(()), |solution| files.write_last(problem, solution, console))
}
