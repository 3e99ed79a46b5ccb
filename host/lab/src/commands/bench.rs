//! `patchmg-lab bench`.

use super::{against, suite};
use crate::compare::Record;
use patchmg_cli::args::BenchArgs;
use patchmg_cli::failure::Failure;
use patchmg_cli::{bench, result};
use std::process::ExitCode;

pub fn run(args: &BenchArgs) -> Result<ExitCode, Failure> {
    let console = result::console(args.json.as_deref(), args.quiet);
    if args.against.result.is_some() {
        return against::run(&args.against, console);
    }
    if args.dry_run {
        return bench::run(args);
    }
    let earlier = args.against.against.as_deref().map(Record::read).transpose()?;
    if let Some(name) = &args.suite.name {
        return suite::run(args, name, earlier);
    }
    let report = bench::report(args)?;
    let Some(earlier) = earlier else { return Ok(bench::exit_code(&report)) };
    let compared = against::compare(&earlier, &[Record::of_bench(&report)], &args.against, console)?;
    Ok(if report.solve.converged { compared } else { bench::exit_code(&report) })
}
