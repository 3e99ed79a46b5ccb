//! What a person reads while the program runs: standard output, or standard error when that holds JSON, or nothing.

use indicatif::{ProgressBar, ProgressStyle};
use std::fmt::Display;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Where text goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Console {
    Stdout,
    Stderr,
    Silent,
}

/// Whether standard output was closed, or open for reading alone, when the program started.
static NOT_WRITABLE: AtomicBool = AtomicBool::new(false);

/// Rust's start-up opens `/dev/null` in place of standard files that are closed, so this looks before it; and its
/// `Stdout` takes what it cannot write to a file that is open for reading alone for written.
#[cfg(target_os = "linux")]
#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = {
    extern "C" fn look() {
        unsafe extern "C" {
            fn fcntl(file: i32, command: i32, ...) -> i32;
        }
        const STANDARD_OUTPUT: i32 = 1;
        const F_GETFL: i32 = 3;
        const O_ACCMODE: i32 = 3;
        const O_RDONLY: i32 = 0;
        // SAFETY: the signature is that of fcntl(2); this command takes no further argument and changes nothing.
        let flags = unsafe { fcntl(STANDARD_OUTPUT, F_GETFL) };
        NOT_WRITABLE.store(flags == -1 || flags & O_ACCMODE == O_RDONLY, Ordering::Relaxed);
    }
    look
};

/// Why text was lost on standard output, if it was.
static LOST: OnceLock<io::Error> = OnceLock::new();

/// That of the first line that could not be written.
pub fn lost() -> Option<&'static io::Error> {
    LOST.get()
}

/// Writes to standard output. That nobody reads on, as behind `head`, is no error; that the disk is full is.
pub fn print(text: &str) -> io::Result<()> {
    if NOT_WRITABLE.load(Ordering::Relaxed) {
        return Err(io::Error::other("it is closed, or open for reading alone"));
    }
    let mut output = io::stdout().lock();
    let written = output.write_all(text.as_bytes()).and_then(|()| output.flush());
    written.or_else(|e| if e.kind() == ErrorKind::BrokenPipe { Ok(()) } else { Err(e) })
}

impl Console {
    /// A line. Where it cannot be written the program goes on, for its files, and says so in the end: [`lost`].
    pub fn line(self, text: impl Display) {
        match self {
            Console::Stdout => {
                if let Err(error) = print(&format!("{text}\n")) {
                    LOST.get_or_init(|| error);
                }
            }
            // Nobody is left to hear if standard error is closed.
            Console::Stderr => drop(writeln!(io::stderr(), "{text}")),
            Console::Silent => {}
        }
    }

    /// Whether a bar can be drawn, which goes to standard error, so that both must be a terminal.
    pub fn is_terminal(self) -> bool {
        io::stderr().is_terminal()
            && match self {
                Console::Stdout => io::stdout().is_terminal(),
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
        // This starts a thread.
        if !bar.is_hidden() {
            bar.enable_steady_tick(Duration::from_millis(200));
        }
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
