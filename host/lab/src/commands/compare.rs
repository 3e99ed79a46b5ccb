//! `patchmg compare`.

use super::progress::Progress;
use super::{filter, missing_assembler};
use crate::inspect::Assembler;
use crate::modules::{Difference, PartTimes, Record, Source, Times, differences, time};
use clap::{Args, Command, FromArgMatches};
use patchmg::measure::Timing;
use patchmg::output::table::{Table, seconds};
use patchmg_cli::args::{BackendChoice, BenchArgs, CompareArgs};
use patchmg_cli::console::Console;
use patchmg_cli::error::Error;
use patchmg_cli::failure::Failure;
use patchmg_cli::result;
use serde::Serialize;
use std::process::ExitCode;
use std::sync::OnceLock;

/// In the order of the JSON object.
#[derive(Serialize)]
struct Comparison<'a> {
    version: &'static str,
    commit: &'static str,
    a: Side<'a>,
    b: Side<'a>,
    /// What registers and spills are for.
    arch: &'a str,
    /// None if there is no assembler.
    ptxas_version: Option<String>,
    kernels: Vec<Difference>,
    times: Option<Times>,
}

/// A or B.
#[derive(Serialize)]
struct Side<'a> {
    /// A folder, or `built-in`.
    source: String,
    /// How it was compiled, where that is known.
    compiled: Option<&'a Record>,
    /// Modules that were changed since.
    changed: &'a [String],
}

impl<'a> Side<'a> {
    fn new(source: &'a Source) -> Self {
        let name = source.path().map_or_else(|| source.to_string(), |path| path.display().to_string());
        Self { source: name, compiled: source.record(), changed: source.changed() }
    }
}

pub fn run(args: &CompareArgs) -> Result<ExitCode, Failure> {
    result::check("json", args.json.as_deref())?;
    let console = result::console(args.json.as_deref(), args.quiet);
    let problem = if args.time { Some(problem(args)?) } else { None };
    let assembler = Assembler::find(&args.arch)?;
    let ptxas_version = assembler.as_ref().map(Assembler::version).transpose()?;
    let (a, b) = (Source::open(&args.a)?, Source::open(&args.b)?);
    console.line(format_args!("A: {a}\nB: {b}"));

    let kernels = kernels(args, [&a, &b], assembler.as_ref(), console)?;
    if let Some(table) = table(&kernels, args.all) {
        console.line(format_args!("\n{table}"));
    }
    console.line(counts(&kernels));
    console.line(match &ptxas_version {
        Some(version) => format!("registers, spills and stack for {}, ptxas {version}", args.arch),
        None => format!("registers, spills and stack: ptxas {}", missing_assembler()),
    });
    let times = problem.map(|problem| times(args, [&a, &b], &problem, console)).transpose()?;
    if let Some(times) = &times {
        say(times, console);
    }
    if let Some(path) = &args.json {
        let (version, commit) = (patchmg_cli::VERSION, patchmg_cli::COMMIT);
        let [a, b] = [&a, &b].map(Side::new);
        let comparison = Comparison { version, commit, a, b, arch: &args.arch, ptxas_version, kernels, times };
        result::write_json(&comparison, path)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn kernels(
    args: &CompareArgs,
    sources: [&Source; 2],
    assembler: Option<&Assembler>,
    console: Console,
) -> Result<Vec<Difference>, Failure> {
    let filter = filter(args.only.clone(), &args.filter);
    let progress = OnceLock::new();
    let begin = |modules| _ = progress.set(Progress::new(console, modules));
    let done = || progress.get().iter().for_each(|progress| progress.advance(1));
    let kernels = differences(sources, &filter, assembler, begin, done);
    progress.get().iter().for_each(|progress| progress.finish());
    Ok(kernels?)
}

/// A row for each quantity that differs, or for each of all; none if there is no row.
fn table(kernels: &[Difference], all: bool) -> Option<Table> {
    let width = kernels.iter().map(|kernel| kernel.name.len()).max()?;
    let left = |text: &str| format!("{text:width$}");
    let mut table = Table::new([&*left("kernel"), "quantity", "A", "B", "B - A"]);
    let text = |value: Option<usize>| value.map_or(String::from("-"), |value| value.to_string());
    let mut rows = 0;
    for kernel in kernels {
        let mut name = kernel.name.as_str();
        let mut row = |cells: [String; 4]| {
            table.row([left(std::mem::take(&mut name))].into_iter().chain(cells));
            rows += 1;
        };
        if let (None, _) | (_, None) = (kernel.a, kernel.b) {
            let [a, b] = [kernel.a, kernel.b].map(|side| if side.is_some() { "there" } else { "missing" }.into());
            row(["PTX".into(), a, b, "-".into()]);
            continue;
        }
        for (quantity, [a, b]) in kernel.quantities().filter(|(_, [a, b])| all || a != b) {
            row([quantity.into(), text(a), text(b), change(a, b)]);
        }
    }
    (rows > 0).then_some(table)
}

/// `B - A`, and in percent of A.
fn change(a: Option<usize>, b: Option<usize>) -> String {
    let Some((a, b)) = a.zip(b) else { return String::from("-") };
    let difference = b as i64 - a as i64;
    match a {
        _ if difference == 0 => String::from("0"),
        0 => format!("{difference:+}"),
        _ => format!("{difference:+} ({:+.1} %)", 100.0 * difference as f64 / a as f64),
    }
}

/// How many kernels differ.
fn counts(kernels: &[Difference]) -> String {
    let count = |holds: fn(&Difference) -> bool| kernels.iter().filter(|kernel| holds(kernel)).count();
    let other = count(Difference::is_other);
    let rearranged = count(|kernel| !kernel.same_ptx && !kernel.is_other());
    let same = count(|kernel| kernel.same_ptx);
    format!("{} kernels: {other} differ, {rearranged} differ in their text alone, {same} are the same", kernels.len())
}

/// The options behind `--`, on a GPU.
fn problem(args: &CompareArgs) -> Result<Vec<String>, Failure> {
    let given = || args.bench.join(" ");
    let refused = |reason: &dyn std::fmt::Display| Failure::argument("-- BENCH OPTION", given(), reason);
    let command = BenchArgs::augment_args(Command::new("bench").no_binary_name(true));
    let matches = command.try_get_matches_from(&args.bench).map_err(|error| refused(&first_line(&error)))?;
    let bench = BenchArgs::from_arg_matches(&matches).map_err(|error| refused(&first_line(&error)))?;
    let others = [
        ("--suite", bench.suite.name.is_some()),
        ("--against", bench.against.against.is_some()),
        ("--json", bench.json.is_some()),
        ("--dry-run", bench.dry_run),
        ("--quiet", bench.quiet),
    ];
    if let Some((option, _)) = others.into_iter().find(|(_, given)| *given) {
        return Err(refused(&format_args!("{option} has no place here: one problem is timed")));
    }
    if bench.case.machine.backend == BackendChoice::Cpu {
        return Err(refused(&"--backend must be cuda"));
    }
    check_gpu()?;
    let backend = matches.value_source("backend") == Some(clap::parser::ValueSource::CommandLine);
    let on_gpu = if backend { &[][..] } else { &["--backend", "cuda"] };
    Ok(args.bench.iter().cloned().chain(on_gpu.iter().map(|&text| text.to_owned())).collect())
}

/// What is wrong, without the usage that follows.
fn first_line(error: &clap::Error) -> String {
    let text = error.to_string();
    text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned()
}

#[cfg(feature = "cuda")]
fn check_gpu() -> Result<(), Failure> {
    Ok(patchmg::backend::cuda::devices().map(drop)?)
}

#[cfg(not(feature = "cuda"))]
fn check_gpu() -> Result<(), Failure> {
    let reason = String::from("this program was built without the feature `cuda`");
    Err(patchmg::Error::NoDevice { reason }.into())
}

fn times(args: &CompareArgs, sources: [&Source; 2], problem: &[String], console: Console) -> Result<Times, Failure> {
    let itself = std::env::current_exe();
    let program =
        itself.map_err(|source| Error::Tool { program: "patchmg-lab".into(), message: source.to_string() })?;
    let progress = Progress::new(console, 2 * args.runs);
    let mut begun = 0;
    let times = time(&program, sources, problem, args.runs, |run, side| {
        progress.advance(usize::from(begun > 0));
        begun += 1;
        progress.begin(format_args!("run {} with {side}", run + 1));
    });
    progress.finish();
    Ok(times?)
}

fn say(times: &Times, console: Console) {
    let Times { device, runs, kernels, differing, iterations, parts, .. } = times;
    let mut table = Table::new(["part", "A", "B", "B longer by", "spread of A", "spread of B", ""]);
    let spread = |timing: &Timing| format!("{:.1} %", 100.0 * (timing.max_s - timing.min_s) / timing.median_s);
    for PartTimes { name, a, b, change_percent, is_apart } in parts {
        let change = format!("{change_percent:+.1} %");
        let within = String::from(if *is_apart { "" } else { "runs overlap" });
        table.row([name.clone(), seconds(a.median_s), seconds(b.median_s), change, spread(a), spread(b), within]);
    }
    console.line(format_args!("\n{table}"));
    console.line(format_args!("{device}; medians of {runs} processes each; spread: largest minus smallest median"));
    console.line(match differing.len() {
        0 => format!("the problem launches {kernels} kernels, and none of them differs: times differ by noise alone"),
        count => format!("the problem launches {kernels} kernels, of which {count} differ: {}", differing.join(", ")),
    });
    if iterations[0] != iterations[1] {
        console.line(format_args!("the solver takes {} iterations with A, {} with B", iterations[0], iterations[1]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_absolute_and_relative() {
        let changes = [[Some(4), Some(3)], [Some(0), Some(8)], [Some(7), Some(7)], [None, Some(1)]];
        assert_eq!(changes.map(|[a, b]| change(a, b)), ["-1 (-25.0 %)", "+8", "0", "-"]);
    }
}
