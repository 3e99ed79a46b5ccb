//! `patchmg bench --against`.

use crate::compare::{Comparison, Outcome, Record};
use patchmg::output::table::{Table, four_digits};
use patchmg_cli::args::AgainstArgs;
use patchmg_cli::console::Console;
use patchmg_cli::failure::Failure;
use std::path::PathBuf;
use std::process::ExitCode;

/// Something is slower, or missing.
const SLOWER: u8 = 5;

/// `--result`: compares what is there.
pub fn run(args: &AgainstArgs, console: Console) -> Result<ExitCode, Failure> {
    let read = |path: &Option<PathBuf>| path.as_deref().map_or(Ok(Vec::new()), Record::read);
    compare(&read(&args.against)?, &read(&args.result)?, args, console)
}

/// Says what changed, and whether that is within the margin.
pub fn compare(earlier: &[Record], now: &[Record], args: &AgainstArgs, console: Console) -> Result<ExitCode, Failure> {
    let comparison = Comparison::new(earlier, now, args.margin)?;
    let mut table = Table::new(["what", "quantity", "earlier", "now", "slower by", "outcome"]);
    let number = |value: Option<f64>| value.map_or(String::from("-"), four_digits);
    let changed = comparison.changes.iter().filter(|change| change.outcome != Outcome::Same);
    for change in changed.clone() {
        let percent = change.worse_percent.map_or(String::from("-"), |percent| format!("{percent:+.1} %"));
        let [what, quantity] = [&change.name, &change.quantity].map(String::clone);
        let outcome = String::from(change.outcome.name());
        table.row([what, quantity, number(change.earlier), number(change.now), percent, outcome]);
    }
    if changed.count() > 0 {
        console.line(format_args!("\n{table}"));
    }
    let count = |outcome: Outcome| format!("{} {}", comparison.count(outcome), outcome.name());
    let counts = [Outcome::Slower, Outcome::Faster, Outcome::Same, Outcome::Missing, Outcome::New].map(count);
    console.line(format_args!("against the earlier result, margin {} %: {}", args.margin, counts.join(", ")));
    Ok(if comparison.holds() { ExitCode::SUCCESS } else { ExitCode::from(SLOWER) })
}
