//! `patchmg bench --suite`.

use crate::args::BenchArgs;
use crate::console::{Console, SuiteProgress};
use crate::failure::Failure;
use crate::machine::Machine;
use crate::result;
use patchmg::backend::Backend;
use patchmg::backend::cpu::Cpu;
use patchmg::benchmark::suite::{self, Experiment, Settings, Suite, write_page};
use patchmg::measure::Protocol;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

/// Unknowns of a vector of 17.6 GB in `f64`: six of them fit the memory of the largest GPUs.
const MAX_DOFS: usize = 2_200_000_000;
/// Repetitions: a suite is long.
const REPETITIONS: usize = 3;

pub fn run(args: &BenchArgs, name: &str) -> Result<ExitCode, Failure> {
    let suite = Suite::named(name)?;
    let experiments = suite.select(&args.suite.only)?;
    let folder = &args.suite.output;
    if let Some(page) = &args.suite.report {
        write_page(suite, folder, page, &way(page, folder)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    std::fs::create_dir_all(folder)
        .map_err(|source| Failure::usage("output", folder.display(), format_args!("must be a folder: {source}")))?;
    let console = result::console(None, args.quiet);
    match Machine::choose(&args.case.machine, console)? {
        Machine::Cpu(backend) => on(&backend, args, suite, &experiments, console),
        #[cfg(feature = "cuda")]
        Machine::Cuda(backend) => on(&backend, args, suite, &experiments, console),
    }
}

fn on<B: Backend>(
    backend: &Arc<B>,
    args: &BenchArgs,
    suite: &'static Suite,
    experiments: &[&'static Experiment],
    console: Console,
) -> Result<ExitCode, Failure> {
    let folder = &args.suite.output;
    let settings = Settings {
        folder: folder.clone(),
        quick: args.suite.quick,
        max_dofs: args.suite.max_dofs.unwrap_or(MAX_DOFS),
        fresh: args.suite.fresh,
        protocol: Protocol { warmup: args.warmup, repetitions: args.repetitions.unwrap_or(REPETITIONS) },
        version: result::VERSION.into(),
        commit: result::COMMIT.into(),
    };
    console.line(format_args!("{} on {}, into {}", suite.title, backend.info().name, folder.display()));
    // Load vectors and errors are computed by the CPU, whatever the backend.
    let host = Cpu::new(args.case.machine.threads)?;
    host.install(|| {
        let mut shown = SuiteProgress::new(console);
        suite::run(backend, suite, experiments, &settings, &mut |progress| shown.show(progress))?;
        write_page(suite, folder, &folder.join("README.md"), "")
    })?;
    Ok(ExitCode::SUCCESS)
}

/// From a page's folder to another one, with a slash at its end.
fn way(page: &Path, folder: &Path) -> Result<String, Failure> {
    let refuse =
        |path: &Path, source| Failure::usage("report", path.display(), format_args!("must lie in a folder: {source}"));
    let absolute = |path: &Path| path.canonicalize().map_err(|source| refuse(path, source));
    let parent = page.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let (from, to) = (absolute(parent)?, absolute(folder)?);
    let common = from.components().zip(to.components()).take_while(|(a, b)| a == b).count();
    let up = from.components().skip(common).map(|_| String::from(".."));
    let down = to.components().skip(common).map(|part| part.as_os_str().to_string_lossy().into_owned());
    Ok(up.chain(down).map(|part| part + "/").collect())
}
