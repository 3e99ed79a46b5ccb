//! `patchmg converge`.

mod columns;
mod study;

use crate::args::{CaseArgs, ConvergeArgs};
use crate::case::parameters;
use crate::chart::Format;
use crate::console::Console;
use crate::failure::Failure;
use crate::machine::Machine;
use crate::phases;
use crate::result;
use crate::solve::{self, NOT_CONVERGED, ending};
use crate::systems::{Offered, with_system};
use columns::Columns;
use patchmg::krylov::unobserved;
use patchmg::measure::Protocol;
use patchmg::output::file;
use patchmg::solve::{Case, Wanted};
use patchmg::system::Runs;
use std::process::ExitCode;
use std::sync::Arc;
use study::{Run, Study};
use tracing::debug;

/// Solves for every degree on every mesh.
///
/// # Errors
/// What solving one of the problems fails with; wrong usage and too little memory before the first solve.
pub fn run(args: &ConvergeArgs) -> Result<ExitCode, Failure> {
    with_system!(args.case.kind(), Problem => {
        args.case.check_options()?;
        check_uniform(&args.case)?;
        if let Some(path) = &args.case.start_from {
            let reason = "belongs to patchmg solve and patchmg bench; patchmg converge has several meshes";
            return Err(Failure::usage("start-from", path.display(), reason));
        }
        let cases = problems(&args.case).map(|args| Ok((Problem::case(&args)?, args)));
        let cases = cases.collect::<Result<Vec<(Case<Problem>, CaseArgs)>, Failure>>()?;
        for (case, args) in &cases {
            check_solution(args, case)?;
        }
        let console = result::console(args.json.as_deref(), args.quiet);
        check_files(args, console)?;
        match Machine::choose(&args.case.machine, console)? {
            Machine::Cpu(backend) => on(&backend, args, cases, console),
            #[cfg(feature = "cuda")]
            Machine::Cuda(backend) => on(&backend, args, cases, console),
        }
    })
}

/// The problems of all degrees and refinements.
fn problems(args: &CaseArgs) -> impl Iterator<Item = CaseArgs> {
    let sizes = args.degree.iter().flat_map(|&degree| args.refine.iter().map(move |&refine| [degree, refine]));
    sizes.map(|[degree, refine]| CaseArgs { degree: degree.into(), refine: refine.into(), ..args.clone() })
}

/// That all cells are refined.
fn check_uniform(args: &CaseArgs) -> Result<(), Failure> {
    let adaptive =
        ["adapt", "until-estimate", "until-dofs", "initial-guess", "marking", "refine-fraction", "coarsen-fraction"];
    match args.forest_options().into_iter().find(|(option, _)| adaptive.contains(option)) {
        Some((option, value)) => {
            let reason =
                "belongs to patchmg solve, which lists the errors of all cycles; patchmg converge refines all cells";
            Err(Failure::usage(option, value, reason))
        }
        None => Ok(()),
    }
}

/// That there is a solution which errors can be computed to.
fn check_solution<P: Offered>(args: &CaseArgs, case: &Case<P>) -> Result<(), Failure> {
    if P::knows_solution(case) {
        return Ok(());
    }
    let (name, known) = (args.problem_name(), P::WITH_SOLUTION);
    let reason = format_args!("its solution is not known, and without it there are no errors; must be {known}");
    Err(Failure::usage("problem", name, reason))
}

fn check_files(args: &ConvergeArgs, console: Console) -> Result<(), Failure> {
    if let Some(path) = &args.plot {
        Format::of(path)?;
    }
    let files = [("json", &args.json), ("csv", &args.csv), ("latex", &args.latex), ("plot", &args.plot)];
    for (option, path) in files {
        result::check(option, path.as_deref())?;
    }
    result::check_apart(&files, console)
}

fn on<P: Offered, B: Runs<P::System>>(
    backend: &Arc<B>,
    args: &ConvergeArgs,
    cases: Vec<(Case<P>, CaseArgs)>,
    console: Console,
) -> Result<ExitCode, Failure> {
    // Each as its last case has it.
    let (mut memory, mut smoothers) = (0, Vec::<(&str, String)>::new());
    for (case, args) in &cases {
        case.check(&**backend).map_err(|error| P::refused(args, error))?;
        memory = memory.max(case.config.bytes::<_, B>(&case.system)?);
        let smoother = case.config.smoother.name();
        smoothers.retain(|(other, _)| *other != smoother);
        smoothers.push((smoother, P::smoother_in_words(case)));
    }
    let in_words: Vec<_> = smoothers.iter().map(|(_, words)| words.as_str()).collect();
    console.line(parameters(&args.case, &in_words.join(", "), &backend.info(), memory));
    let columns = Columns::new(&args.case);
    console.line(columns.headings());
    let first = cases[0].1.effective(&cases[0].0, &backend.info());
    let (degree, refine) = (args.case.degree.clone(), args.case.refine.clone());
    let mut repeated = CaseArgs { degree, refine, ..first };
    if smoothers.len() > 1 {
        (repeated.smoother, repeated.smoother_degree) = (None, args.case.smoother_degree);
    }
    let mut study = Study::new(repeated.options());
    for (case, case_args) in cases {
        let solved = case_args.base_width().and_then(|width| solve_one(backend, &case_args, case, width));
        match solved {
            Ok((run, ending)) => {
                let is_next_degree = study.runs.last().is_none_or(|last| last.solve.degree != run.solve.degree);
                if is_next_degree && columns.are_by_degree() {
                    console.line(format_args!("degree {}", run.solve.degree));
                }
                let run = study.push(run);
                console.line(columns.row(run));
                if !run.solve.converged {
                    console.line(format_args!("        {ending}"));
                }
            }
            Err(failure) => {
                if !study.runs.is_empty() {
                    console.line("the results that are written are those of the problems before");
                    write(args, &study, &columns)?;
                }
                return Err(failure);
            }
        }
    }
    write(args, &study, &columns)?;
    let converged = study.runs.iter().all(|run| run.solve.converged);
    Ok(if converged { ExitCode::SUCCESS } else { ExitCode::from(NOT_CONVERGED) })
}

/// One problem on a mesh whose base cells have a longest edge of `width`, and how its solve ended.
fn solve_one<P: Offered, B: Runs<P::System>>(
    backend: &Arc<B>,
    args: &CaseArgs,
    case: Case<P>,
    width: f64,
) -> Result<(Run, String), Failure> {
    let asked = case.clone();
    debug!("degree {}, refined {} times", args.degree(), args.refine());
    let (report, _) =
        phases::solve(backend, case, args.machine.threads, None, Wanted::ERRORS, Protocol::ONCE, &mut unobserved)?;
    let outcome = report.info.outcome;
    let report = solve::record(args, &asked, &backend.info(), report);
    let ending = ending(&report, outcome);
    Ok((Run::new(report, width), ending))
}

fn write(args: &ConvergeArgs, study: &Study, columns: &Columns) -> Result<(), Failure> {
    if let Some(path) = &args.json {
        result::write_json(study, path)?;
    }
    for (path, text) in [(&args.csv, columns.csv(&study.runs)), (&args.latex, columns.latex(&study.runs))] {
        if let Some(path) = path {
            file::write(path, text.as_bytes())?;
        }
    }
    if let Some(path) = &args.plot {
        let title = format!("{}, problem {}, {}", args.case.elements(), args.case.problem_name(), args.case.domain());
        study.chart(title).write(path)?;
    }
    Ok(())
}
