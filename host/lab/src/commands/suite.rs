//! `patchmg bench --suite`.

use super::against;
use super::progress::SuiteProgress;
use crate::compare::Record;
use crate::suite::{self, Earlier, Experiment, Origin, Program, Settings, Suite, check_page, summary, write_page};
use patchmg::backend::BackendName;
use patchmg::backend::cpu::Cpu;
use patchmg::measure::Protocol;
use patchmg::output::table::Table;
use patchmg::system::elliptic::Elliptic;
use patchmg::system::{Poisson, Runs, Stokes};
use patchmg_cli::args::{BenchArgs, MachineArgs};
use patchmg_cli::console::Console;
use patchmg_cli::error::Error;
use patchmg_cli::failure::Failure;
use patchmg_cli::machine::Machine;
use patchmg_cli::result;
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

/// Unknowns of a vector of 17.6 GB in `f64`: six of them fit the memory of the largest GPUs.
const MAX_DOFS: usize = 2_200_000_000;
/// Repetitions: a suite is long.
const REPETITIONS: usize = 3;

pub fn run(args: &BenchArgs, name: &str, earlier: Option<Vec<Record>>) -> Result<ExitCode, Failure> {
    let suite = Suite::named(name)?;
    let experiments = suite.select(&args.suite.only)?;
    let folder = &args.suite.output;
    if let Some(page) = &args.suite.report {
        write_page(suite, folder, page, &way(page, folder)?, &this_program())?;
        return Ok(ExitCode::SUCCESS);
    }
    leads_somewhere("output", folder)?;
    std::fs::create_dir_all(folder)
        .map_err(|source| Failure::usage("output", folder.display(), format_args!("must be a folder: {source}")))?;
    let page = folder.join("README.md");
    check_page(suite, folder, &page, &experiments).map_err(|error| in_the_way(folder, error, "move the file away"))?;
    let console = result::console(None, args.quiet);
    match Machine::choose(&args.case.machine, console)? {
        Machine::Cpu(backend) => on(&backend, args, suite, &experiments, earlier, console),
        #[cfg(feature = "cuda")]
        Machine::Cuda(backend) => on(&backend, args, suite, &experiments, earlier, console),
    }
}

fn on<B: Runs<Poisson> + Runs<Stokes> + Runs<Elliptic>>(
    backend: &Arc<B>,
    args: &BenchArgs,
    suite: &'static Suite,
    experiments: &[&'static Experiment],
    earlier: Option<Vec<Record>>,
    console: Console,
) -> Result<ExitCode, Failure> {
    let folder = &args.suite.output;
    let settings = Settings {
        folder: folder.clone(),
        quick: args.suite.quick,
        max_dofs: args.suite.max_dofs.unwrap_or(MAX_DOFS),
        earlier: match (args.suite.resume, args.suite.fresh) {
            (_, true) => Earlier::Replace,
            (true, _) => Earlier::Resume,
            _ => Earlier::Same,
        },
        protocol: Protocol { warmup: args.warmup, repetitions: args.repetitions.unwrap_or(REPETITIONS) },
        program: program(&args.case.machine, backend.info().backend),
        version: patchmg_cli::VERSION.into(),
        commit: patchmg_cli::COMMIT.into(),
    };
    let planned =
        experiments.iter().map(|experiment| Record::of_header(&suite::header(backend, suite, experiment, &settings)));
    let planned: Vec<_> = planned.collect();
    let earlier = earlier.map(|earlier| Record::select(earlier, &planned)).transpose()?;
    console.line(format_args!("{} on {}, into {}", suite.title, backend.info().name, folder.display()));
    // Load vectors and errors are computed by the CPU, whatever the backend.
    let host = Cpu::new(args.case.machine.threads)?;
    let results = host.install(|| {
        let mut shown = SuiteProgress::new(console);
        let results = suite::run(backend, suite, experiments, &settings, &mut |progress| shown.show(progress))
            .map_err(|error| in_the_way(folder, error, FRESH))?;
        write_page(suite, folder, &folder.join("README.md"), "", &this_program())?;
        Ok::<_, Failure>(results)
    })?;
    let lines = summary::lines(&results);
    if !lines.is_empty() {
        let mut table = Table::new(summary::HEADINGS);
        lines.into_iter().for_each(|line| table.row(line));
        console.line(format_args!("\n{table}{}", summary::EXPLANATION));
    }
    let Some(earlier) = earlier else { return Ok(ExitCode::SUCCESS) };
    let now = results.iter().map(Record::of_results).collect::<Result<Vec<_>, _>>()?;
    against::compare(&earlier, &now, &args.against, console)
}

/// What records are compared with; not of a machine.
fn this_program() -> Origin {
    Origin { version: patchmg_cli::VERSION.into(), commit: patchmg_cli::COMMIT.into(), driver: None, cuda_api: None }
}

/// With what can be done about results that would be lost.
fn in_the_way(folder: &Path, error: Error, remedy: &str) -> Failure {
    let resume = match &error {
        Error::OtherRun { differences, .. } if differences.iter().all(|(what, ..)| OF_PROGRAM.contains(what)) => {
            "--resume, which keeps rows of the same kernels and records the others again, "
        }
        Error::OtherRun { .. } | Error::Input { .. } => "",
        _ => return error.into(),
    };
    let reason = format!("{error}. Nothing was changed: choose another folder, {resume}or {remedy}");
    Failure::usage("output", folder.display(), reason)
}

const FRESH: &str = "--fresh, which records all again";

/// What may differ with `--resume`.
const OF_PROGRAM: [&str; 5] = ["version", "commit", "driver", "CUDA", "kernels"];

/// That a path is no link that leads nowhere: a file would be put in the link's place.
fn leads_somewhere(option: &str, path: &Path) -> Result<(), Failure> {
    if path.is_symlink() && !path.exists() {
        return Err(Failure::usage(option, path.display(), "is a link that leads nowhere"));
    }
    Ok(())
}

/// The program `patchmg` beside this one, on the machine that was chosen.
fn program(machine: &MachineArgs, backend: BackendName) -> Option<Program> {
    let numbers = [("--device", machine.device), ("--threads", machine.threads)];
    let numbers = numbers.into_iter().filter_map(|(option, value)| Some([option.into(), value?.to_string()]));
    let arguments = [[String::from("--backend"), backend.to_string()]].into_iter().chain(numbers).flatten();
    let arguments = arguments.map(OsString::from).collect();
    let path = std::env::current_exe().ok()?.with_file_name("patchmg");
    path.is_file().then_some(Program { path, arguments })
}

/// From a page's folder to another one, with a slash at its end.
fn way(page: &Path, folder: &Path) -> Result<String, Failure> {
    leads_somewhere("report", page)?;
    leads_somewhere("output", folder)?;
    let absolute = |path: &Path, option: &str, value: &Path, what: &str| {
        let refused = |reason| Failure::usage(option, value.display(), format_args!("must {what}: {reason}"));
        let found = path.canonicalize().map_err(|source| refused(source.to_string()))?;
        if found.is_dir() { Ok(found) } else { Err(refused(String::from("not a folder"))) }
    };
    let parent = page.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let from = absolute(parent, "report", page, "lie in a folder")?;
    let to = absolute(folder, "output", folder, "be a folder with results")?;
    let common = from.components().zip(to.components()).take_while(|(a, b)| a == b).count();
    let up = from.components().skip(common).map(|_| String::from(".."));
    let down = to.components().skip(common).map(|part| part.as_os_str().to_string_lossy().into_owned());
    Ok(up.chain(down).map(|part| part + "/").collect())
}
