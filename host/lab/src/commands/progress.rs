//! What a person sees while the laboratory works.

use crate::suite;
use indicatif::{ProgressBar, ProgressStyle};
use patchmg::output::table::four_digits;
use patchmg_cli::console::Console;
use std::fmt::Display;
use std::time::Duration;

/// Lines as they come, on a terminal with a bar below them.
pub struct Progress {
    console: Console,
    bar: ProgressBar,
}

impl Progress {
    /// Without a bar.
    pub fn none(console: Console) -> Self {
        Self { console, bar: ProgressBar::hidden() }
    }

    /// Of so many steps.
    pub fn new(console: Console, steps: usize) -> Self {
        if !console.is_terminal() {
            return Self::none(console);
        }
        let bar = ProgressBar::new(steps as u64);
        if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos}/{len} {msg} {elapsed}, {eta} left") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(200));
        Self { console, bar }
    }

    /// A line above the bar.
    pub fn line(&self, text: impl Display) {
        if self.bar.is_hidden() {
            self.console.line(text);
        } else {
            self.bar.println(text.to_string());
        }
    }

    /// What is done now.
    pub fn begin(&self, what: impl Display) {
        self.bar.set_message(what.to_string());
    }

    /// Steps that were done.
    pub fn advance(&self, steps: usize) {
        self.bar.inc(steps as u64);
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// Shows the points of a suite as they come: on a terminal also a bar for each experiment.
pub struct SuiteProgress {
    console: Console,
    progress: Progress,
}

impl SuiteProgress {
    pub fn new(console: Console) -> Self {
        Self { console, progress: Progress::none(console) }
    }

    pub fn show(&mut self, progress: suite::Progress) {
        match progress {
            suite::Progress::Start { experiment, points, kept, older } => {
                let kept_text = if kept > 0 { format!(", {kept} of them from an earlier run") } else { String::new() };
                let of_older = if older > 0 { format!(", {older} to be recorded again") } else { String::new() };
                let (title, name) = (experiment.title, experiment.name);
                self.console.line(format_args!("{title} ({name}): {points} points{kept_text}{of_older}"));
                self.progress = Progress::new(self.console, points);
                self.progress.advance(kept);
            }
            suite::Progress::Point(key) => self.progress.begin(key),
            suite::Progress::Row(row) => {
                let outcome = match &row.skipped {
                    Some(reason) => format!("skipped, {reason}"),
                    None => values(row),
                };
                self.progress.line(format_args!("  {}: {outcome}", row.key));
                self.progress.advance(1);
            }
            suite::Progress::Done => self.progress.finish(),
        }
    }
}

fn values(row: &suite::Row) -> String {
    let known =
        row.values.iter().filter_map(|(name, value)| value.map(|value| format!("{name} {}", four_digits(value))));
    known.collect::<Vec<_>>().join(", ")
}
