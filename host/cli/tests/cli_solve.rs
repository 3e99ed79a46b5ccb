//! The command line of `patchmg solve`: what it writes where, its messages and its exit codes.

#[path = "../../../tests/common/program.rs"]
mod common;

mod cli_solve {
    mod boxes;
    mod combinations;
    mod cycles;
    mod data;
    mod files;
    mod forests;
    mod machine;
    mod report;
    mod solutions;
    mod starts;
    mod stopping;
    mod text;
    mod values;
}

use common::{USAGE, patchmg, stderr, stdout};
use serde_json::Value;
use std::path::Path;
use std::process::Output;

/// A small problem on the CPU, and more arguments.
fn solve(arguments: &[&str]) -> Output {
    let small = ["solve", "--backend", "cpu", "--dim", "2", "--degree", "3", "--refine", "3"];
    // An option must not be given twice.
    let kept = small[1..].chunks(2).filter(|pair| !arguments.contains(&pair[0])).flatten().copied();
    patchmg(&["solve"].into_iter().chain(kept).chain(arguments.iter().copied()).collect::<Vec<_>>())
}

/// The object that `--json -` writes; fails if standard output holds anything else.
fn json(arguments: &[&str]) -> Value {
    let output = solve(&[arguments, &["--json", "-"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    serde_json::from_str(stdout(&output)).unwrap()
}

/// A VTU file up to its arrays, which are no text, and what of these is.
fn tags(path: impl AsRef<Path>) -> String {
    String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned()
}

/// Refused with exit code 2, a message that holds all of `parts`, and nothing on standard output.
fn refused(arguments: &[&str], parts: &[&str]) {
    let output = solve(arguments);
    assert_eq!(output.status.code(), Some(USAGE), "{arguments:?}: {}", stderr(&output));
    assert_eq!(stdout(&output), "", "{arguments:?}");
    for part in parts {
        assert!(stderr(&output).contains(part), "{arguments:?}: no '{part}' in: {}", stderr(&output));
    }
}
