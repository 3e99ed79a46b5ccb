//! Where results go.

use crate::console::{self, Console};
use crate::failure::Failure;
use crate::report;
use patchmg::Error;
use patchmg::output::file;
use serde::Serialize;
use std::path::{Path, PathBuf};

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
    let Some(path) = path else { return Ok(()) };
    if is_standard_output(path) {
        let reason = "must be a file, standard output is for --json; a file of this name is ./-";
        return if option == "json" { Ok(()) } else { Err(Failure::usage(option, "-", reason)) };
    }
    file::check_writable(path).map_err(|e| match e {
        Error::Io { path, source } => {
            Failure::usage(option, path.display(), format_args!("must be a file that can be written: {source}"))
        }
        other => other.into(),
    })
}

/// Whether every result has a file of its own, and none is the file that standard output goes to while that holds something
/// else.
pub fn check_apart(files: &[(&'static str, &Option<PathBuf>)], console: Console) -> Result<(), Failure> {
    let files = files.iter().filter_map(|&(option, path)| Some((option, path.as_deref()?)));
    let (files, standard): (Vec<_>, Vec<_>) = files.partition(|(_, path)| !is_standard_output(path));
    let output = Path::new("/dev/stdout");
    let taken = if standard.is_empty() { "text" } else { "--json" };
    let is_taken = (console == Console::Stdout || !standard.is_empty()) && output.is_file();
    for (index, &(option, path)) in files.iter().enumerate() {
        for &(other, earlier) in &files[..index] {
            if file::same(path, earlier)? {
                let reason = format_args!("--{other} goes to the same file");
                return Err(Failure::usage(option, path.display(), reason));
            }
        }
        if is_taken && file::same(path, output)? {
            let reason = format_args!("standard output, and {taken} with it, goes to the same file");
            return Err(Failure::usage(option, path.display(), reason));
        }
    }
    Ok(())
}

/// One JSON object into a file, or to standard output for `-`.
pub fn write_json(value: &impl Serialize, path: &Path) -> Result<(), Failure> {
    let text = report::json(value, path)?;
    if is_standard_output(path) {
        return console::print(&text).map_err(Failure::output);
    }
    Ok(file::write(path, text.as_bytes())?)
}
