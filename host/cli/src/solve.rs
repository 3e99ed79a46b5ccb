//! `patchmg solve`.

use crate::args::{CaseArgs, SolveArgs};
use crate::case::{iterations, parameters};
use crate::chart::{Chart, Format};
use crate::choices::system_name;
use crate::console::{Console, Progress};
use crate::failure::Failure;
use crate::machine::Machine;
use crate::report::SolveReport;
use crate::result;
use patchmg::Error;
use patchmg::backend::DeviceInfo;
use patchmg::backend::cpu::Cpu;
use patchmg::function::Function;
use patchmg::krylov::Outcome;
use patchmg::measure::Protocol;
use patchmg::memory;
use patchmg::multigrid::hierarchy;
use patchmg::output::table::{Table, bytes, count, seconds};
use patchmg::output::vtu;
use patchmg::problem::ExactSolution;
use patchmg::solve::{Case, Report};
use patchmg::space::Space;
use patchmg::system::poisson::{PatchKernel, Poisson};
use patchmg::system::{Runs, System};
use std::ops::ControlFlow;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;
use tracing::debug;

pub const NOT_CONVERGED: u8 = 3;

pub fn run(args: &SolveArgs) -> Result<ExitCode, Failure> {
    let case = args.case.model()?;
    let console = result::console(args.json.as_deref(), args.quiet);
    check_files(args, console)?;
    match Machine::choose(&args.case.machine, console)? {
        Machine::Cpu(backend) => on(&backend, args, case, console),
        #[cfg(feature = "cuda")]
        Machine::Cuda(backend) => on(&backend, args, case, console),
    }
}

/// What would spoil a long computation at its end is found before it starts.
fn check_files(args: &SolveArgs, console: Console) -> Result<(), Failure> {
    if let Some(path) = &args.plot {
        Format::of(path)?;
    }
    let files = [("json", &args.json), ("vtu", &args.vtu), ("plot", &args.plot)];
    for (option, path) in files {
        result::check(option, path.as_deref())?;
    }
    result::check_apart(&files, console)
}

/// What writing the solution takes of the host's memory, which is free again once the problem is solved.
fn check_vtu(space: &Space) -> Result<(), Failure> {
    memory::check(vtu::memory(space)).map_err(|error| match error {
        Error::OutOfMemory { needed, available, .. } => Failure::memory("vtu", needed, available),
        other => other.into(),
    })
}

fn on<B: Runs<Poisson>>(
    backend: &Arc<B>,
    args: &SolveArgs,
    case: Case<Poisson>,
    console: Console,
) -> Result<ExitCode, Failure> {
    let device = backend.info();
    case.check(&**backend).map_err(|error| args.case.refused(error))?;
    let (space, kernel) = (case.system.space(), case.system.kernel());
    let exact = case.problem.solution(space.mesh());
    let mut plan = parameters(&args.case, kernel, &device, case.config.bytes::<_, B>(&case.system)?);
    if args.vtu.is_some() {
        check_vtu(space)?;
        let size = vtu::size(space, exact.is_some());
        plan += &format!("VTU        {}, takes {} on the host\n", bytes(size), bytes(vtu::memory(space)));
    }
    console.line(plan);
    console.line(levels(&case.system)?);

    console.line("iteration       residual   reduction");
    let mut progress = Progress::new(console, args.case.rtol);
    // The load vector and the errors are computed by the CPU, whatever the backend.
    let host = Cpu::new(args.case.machine.threads)?;
    let start = Instant::now();
    let solved = host.install(|| {
        let prepared = case.prepare(&**backend)?;
        let prepare_s = start.elapsed().as_secs_f64();
        debug!("load vector: {}", seconds(prepare_s));
        let mut observer = |iteration, value| {
            progress.residual(iteration, value);
            ControlFlow::Continue(())
        };
        let solved = prepared.solve(backend, Protocol::ONCE, &mut observer)?;
        let (set_up_s, solve_s) = (solved.0.setup_s - prepare_s, solved.0.timing.median_s);
        let rest_s = start.elapsed().as_secs_f64() - solved.0.setup_s - solve_s;
        debug!("set-up on the machine, with the load vector's way there: {}", seconds(set_up_s));
        debug!("solve: {}", seconds(solve_s));
        debug!("solution's way back, and errors: {}", seconds(rest_s));
        Ok::<_, Error>(solved)
    });
    progress.finish();
    let (report, solution) = solved?;

    let outcome = report.info.outcome;
    let report = record(&args.case, kernel, &device, report);
    console.line(summary(&report, outcome));
    let start = Instant::now();
    write(args, exact.as_deref(), &solution, &report, console)?;
    debug!("output: {}", seconds(start.elapsed().as_secs_f64()));
    Ok(if report.converged { ExitCode::SUCCESS } else { ExitCode::from(NOT_CONVERGED) })
}

fn levels(system: &Poisson) -> Result<Table, Failure> {
    let mut table = Table::new(["level", "cells", "dofs"]);
    for (index, level) in hierarchy(system)?.iter().enumerate() {
        let (mesh, dofs) = (level.space().mesh(), level.space().dofs());
        table.row([(index + 1).to_string(), count(mesh.cells()), count(dofs)]);
    }
    Ok(table)
}

pub fn record(args: &CaseArgs, kernel: PatchKernel, device: &DeviceInfo, report: Report) -> SolveReport {
    let Report { cells, dofs, info, errors, setup_s, timing } = report;
    let solve_s = timing.median_s;
    let [structure, variant, local, _] = kernel.names().map(String::from);
    SolveReport {
        system: system_name(args.system).to_string(),
        dim: args.dim(),
        degree: args.degree,
        refine: args.refine,
        base_cells: args.base_cells(),
        size: args.lengths(),
        cells,
        dofs,
        problem: args.problem.name().to_string(),
        solver: args.solver.name().to_string(),
        smoother: args.smoother.to_string(),
        kernel: structure,
        variant,
        local,
        products: if let PatchKernel::Products(products) = kernel { Some(products.to_string()) } else { None },
        precision: args.precision.name().to_string(),
        backend: device.backend.to_string(),
        device: device.name.clone(),
        iterations: info.iterations,
        converged: info.converged,
        reason: info.outcome.name().to_string(),
        rtol: args.rtol,
        relative_residual: info.residual_history.last().copied(),
        residual_history: info.residual_history,
        fractional_iterations: info.fractional_iterations,
        l2_error: errors.map(|errors| errors.l2),
        h1_error: errors.map(|errors| errors.h1),
        setup_s,
        solve_s,
        ns_per_dof: 1e9 * solve_s / dofs as f64,
        version: crate::VERSION.to_string(),
        commit: crate::COMMIT.to_string(),
    }
}

fn summary(report: &SolveReport, outcome: Outcome) -> String {
    let iterations = iterations(report.iterations);
    let outcome = match (outcome, report.fractional_iterations) {
        (_, Some(fractional)) => format!("converged after {iterations} (fractional: {fractional:.2})"),
        (Outcome::Stagnated { .. }, _) => format!("{outcome}, after {iterations}"),
        // It says at which iteration.
        (Outcome::Diverged { .. }, _) => outcome.to_string(),
        _ => format!("{outcome} after {iterations}"),
    };
    let residual = report.relative_residual.map_or(String::new(), |value| format!(", relative residual {value:.3e}"));
    let errors = match (report.l2_error, report.h1_error) {
        (Some(l2), Some(h1)) => format!("errors     L2 {l2:.4e}, H1 seminorm {h1:.4e}\n"),
        _ => String::new(),
    };
    format!(
        "\n{outcome}{residual}\n{errors}times      setup {}, solve {}, {:.3} ns/DoF",
        seconds(report.setup_s),
        seconds(report.solve_s),
        report.ns_per_dof
    )
}

fn write(
    args: &SolveArgs,
    exact: Option<&dyn ExactSolution>,
    solution: &Function,
    report: &SolveReport,
    console: Console,
) -> Result<(), Failure> {
    if let Some(path) = &args.json {
        result::write_json(report, path)?;
    }
    if let Some(path) = &args.plot {
        let CaseArgs { degree, problem, solver, precision, rtol, .. } = &args.case;
        let (cells, dim) = (args.case.cells_in_words(), args.case.dim());
        let title = format!("Q{degree} on {cells} in {dim}D, problem {}", problem.name());
        let series = vec![(format!("{}, {}", solver.name(), precision.name()), report.residual_history.clone())];
        Chart::residual_history(title, series, *rtol).write(path)?;
    }
    if let Some(path) = &args.vtu {
        if solution.values().iter().any(|value| !value.is_finite()) {
            console
                .line(format_args!("{} is not written: the solution has values that are not finite", path.display()));
            return Ok(());
        }
        match exact {
            Some(exact) => solution.write_vtu(path, Some(&|point| exact.value(point)))?,
            None => solution.write_vtu(path, None)?,
        }
    }
    Ok(())
}
