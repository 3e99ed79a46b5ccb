//! What a person sees of a suite while it runs.

use crate::suite;
use indicatif::{ProgressBar, ProgressStyle};
use patchmg::output::table::four_digits;
use patchmg_cli::console::Console;
use std::time::Duration;

/// Shows the points of a suite as they come: on a terminal also a bar for each experiment.
pub struct SuiteProgress {
    console: Console,
    bar: ProgressBar,
}

impl SuiteProgress {
    pub fn new(console: Console) -> Self {
        Self { console, bar: ProgressBar::hidden() }
    }

    pub fn show(&mut self, progress: suite::Progress) {
        match progress {
            suite::Progress::Start { experiment, points, kept, older } => {
                let kept_text = if kept > 0 { format!(", {kept} of them from an earlier run") } else { String::new() };
                let of_older = if older > 0 { format!(", {older} to be recorded again") } else { String::new() };
                let (title, name) = (experiment.title, experiment.name);
                self.console.line(format_args!("{title} ({name}): {points} points{kept_text}{of_older}"));
                if self.console.is_terminal() {
                    self.bar = ProgressBar::new(points as u64);
                    if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos}/{len} {msg} {elapsed}, {eta} left")
                    {
                        self.bar.set_style(style);
                    }
                    self.bar.set_position(kept as u64);
                    self.bar.enable_steady_tick(Duration::from_millis(200));
                }
            }
            suite::Progress::Point(key) => self.bar.set_message(key.to_string()),
            suite::Progress::Row(row) => {
                let outcome = match &row.skipped {
                    Some(reason) => format!("skipped, {reason}"),
                    None => values(row),
                };
                let line = format!("  {}: {outcome}", row.key);
                if self.bar.is_hidden() {
                    self.console.line(line);
                } else {
                    self.bar.println(line);
                    self.bar.inc(1);
                }
            }
            suite::Progress::Done => self.bar.finish_and_clear(),
        }
    }
}

fn values(row: &suite::Row) -> String {
    let known =
        row.values.iter().filter_map(|(name, value)| value.map(|value| format!("{name} {}", four_digits(value))));
    known.collect::<Vec<_>>().join(", ")
}
