//! What a person reads while the program runs: standard output, or standard error when that holds JSON, or nothing.

use indicatif::{ProgressBar, ProgressStyle};
use patchmg::benchmark::suite;
use patchmg::output::table::four_digits;
use std::fmt::Display;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// Where text goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Console {
    Stdout,
    Stderr,
    Silent,
}

impl Console {
    /// A line. That nobody reads on, as behind `head`, is no reason to stop.
    pub fn line(self, text: impl Display) {
        let _ = match self {
            Console::Stdout => writeln!(std::io::stdout(), "{text}"),
            Console::Stderr => writeln!(std::io::stderr(), "{text}"),
            Console::Silent => Ok(()),
        };
    }
}

impl Console {
    /// Whether a bar can be drawn, which goes to standard error, so that both must be a terminal.
    fn is_terminal(self) -> bool {
        std::io::stderr().is_terminal()
            && match self {
                Console::Stdout => std::io::stdout().is_terminal(),
                Console::Stderr => true,
                Console::Silent => false,
            }
    }
}

/// Shows residuals as they come: on a terminal a bar with the rate, elsewhere a line for each.
pub struct Progress {
    console: Console,
    bar: ProgressBar,
    digits: f64,
    previous: Option<f64>,
    started: Instant,
}

/// Steps of the bar for a decimal digit of the residual.
const STEPS: f64 = 100.0;

impl Progress {
    /// Until the residual is `rtol`.
    pub fn new(console: Console, rtol: f64) -> Self {
        let digits = -rtol.log10();
        let bar = if console.is_terminal() { ProgressBar::new((digits * STEPS) as u64) } else { ProgressBar::hidden() };
        if let Ok(style) = ProgressStyle::with_template("{bar:40} {msg} {elapsed}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(200));
        Self { console, bar, digits, previous: None, started: Instant::now() }
    }

    /// A residual, relative to the right-hand side.
    pub fn residual(&mut self, iteration: usize, value: f64) {
        let reduction = self.previous.map(|previous| value / previous);
        let rate = self.started.elapsed().as_secs_f64() / iteration.max(1) as f64;
        let line = match reduction {
            Some(reduction) => format!("{iteration:9}   {value:12.4e}   {reduction:9.2e}"),
            None => format!("{iteration:9}   {value:12.4e}"),
        };
        if self.bar.is_hidden() {
            self.console.line(line);
        } else {
            self.bar.set_position(((-value.log10()).clamp(0.0, self.digits) * STEPS) as u64);
            self.bar.set_message(format!("residual {value:.2e}, {rate:.3} s an iteration,"));
            self.bar.println(line);
        }
        self.previous = Some(value);
    }

    /// Takes the bar away.
    pub fn finish(self) {
        self.bar.finish_and_clear();
    }
}

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
