//! Where results go.

use crate::console::Console;
use crate::failure::Failure;
use crate::report;
use patchmg::Error;
use patchmg::output::file;
use serde::Serialize;
use std::io::Write;
use std::path::Path;

fn is_standard_output(path: &Path) -> bool {
    path == Path::new("-")
}

/// Text and JSON do not mix: with `--json -` text goes to standard error.
pub fn console(json: Option<&Path>, quiet: bool) -> Console {
    match json {
        _ if quiet => Console::Silent,
        Some(path) if is_standard_output(path) => Console::Stderr,
        _ => Console::Stdout,
    }
}

/// Whether the file of an option can be written.
pub fn check(option: &str, path: Option<&Path>) -> Result<(), Failure> {
    let Some(path) = path.filter(|path| !(option == "json" && is_standard_output(path))) else { return Ok(()) };
    file::check_writable(path).map_err(|e| match e {
        Error::Io { path, source } => {
            Failure::usage(option, path.display(), format_args!("must be a file that can be written: {source}"))
        }
        other => other.into(),
    })
}

/// One JSON object into a file, or to standard output for `-`.
pub fn write_json(value: &impl Serialize, path: &Path) -> Result<(), Failure> {
    let text = report::json(value, path)?;
    if is_standard_output(path) {
        let written = std::io::stdout().write_all(text.as_bytes());
        return Ok(written.map_err(|source| Error::Io { path: "standard output".into(), source })?);
    }
    Ok(file::write(path, text.as_bytes())?)
}
