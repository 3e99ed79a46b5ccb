//! Text on standard output and standard error: summaries, messages and logs.

use crate::common::{NOT_CONVERGED, OUTPUT, USAGE, in_shell, stderr, stdout};
use crate::solve;
use assert_cmd::Command;
use serde_json::Value;
use std::process::Stdio;

#[test]
fn text_goes_to_standard_error_when_json_has_standard_output() {
    let output = solve(&["--json", "-"]);
    assert!(stdout(&output).starts_with('{') && stdout(&output).ends_with("}\n"));
    assert!(stderr(&output).contains("converged after"));
    let output = Command::cargo_bin("patchmg")
        .unwrap()
        .args(["solve", "--backend", "cpu", "--refine", "2", "--json", "-", "--quiet"])
        .env("PATCHMG_LOG", "trace")
        .output()
        .unwrap();
    assert!(serde_json::from_str::<Value>(stdout(&output)).is_ok(), "logs stay off standard output");
}

#[test]
fn text_shows_parameters_levels_history_and_a_summary() {
    let output = solve(&["--solver", "gmres"]);
    assert_eq!(output.status.code(), Some(0));
    let text = stdout(&output);
    for part in ["degree 3", "2^3 cells", "gmres", "precision f64", "1e-9", "level", "dofs", "529", "1.0000e0"] {
        assert!(text.contains(part), "no '{part}' in: {text}");
    }
    for part in ["converged after", "fractional", "L2", "H1", "setup", "ns/DoF", "memory"] {
        assert!(text.contains(part), "no '{part}' in: {text}");
    }
    let quiet = solve(&["--quiet"]);
    assert_eq!((stdout(&quiet), stderr(&quiet)), ("", ""));
}

#[test]
fn numbers_of_extreme_size_are_short() {
    for (option, smoother) in [("1e-320", "patch"), ("0.000000001", "chebyshev")] {
        let output = solve(&["--smoother", smoother, "--damping", option]);
        assert_eq!(output.status.code(), Some(USAGE));
        assert!(stderr(&output).len() < 150, "{}", stderr(&output));
    }
    let folder = tempfile::tempdir().unwrap();
    let plot = folder.path().join("history.svg");
    for rtol in ["1e-300", "1e-320"] {
        let output = solve(&["--rtol", rtol, "--max-iters", "2", "--plot", plot.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(NOT_CONVERGED), "{}", stderr(&output));
        assert!(stdout(&output).lines().all(|line| line.len() < 150), "{}", stdout(&output));
        assert!(std::fs::metadata(&plot).unwrap().len() < 100_000);
    }
}

#[test]
fn text_that_is_lost_is_said() {
    let small = ["solve", "--backend", "cpu", "--dim", "2", "--refine", "2"];
    let json = [&small[..], &["--json", "-"]].concat();
    let ptx = ["kernels", "blas1_dots_f64"];
    let all = [&["info"][..], &["info", "--json", "-"], &small, &json, &ptx, &["--version"], &["solve", "--help"]];
    for arguments in all {
        for redirect in [">/dev/full", ">&-", "1</dev/null"] {
            let output = in_shell("exec", arguments, redirect);
            assert_eq!(output.status.code(), Some(OUTPUT), "{arguments:?} {redirect}: {}", stderr(&output));
            let said = stderr(&output).contains("error: standard output cannot be written: ");
            assert!(said, "{arguments:?} {redirect}: {}", stderr(&output));
        }
        assert_eq!(in_shell("exec", arguments, ">/dev/null").status.code(), Some(0), "{arguments:?}");
    }
    // Nothing is written there, so nothing is lost.
    let quiet = [&small[..], &["--quiet"]].concat();
    assert_eq!(in_shell("exec", &quiet, ">&-").status.code(), Some(0));
}

/// As `head` does it.
#[test]
fn a_reader_that_leaves_is_no_error() {
    for arguments in [&["info"][..], &["solve", "--backend", "cpu", "--dim", "2", "--refine", "2"]] {
        let mut program = std::process::Command::new(assert_cmd::cargo::cargo_bin("patchmg"));
        let mut child = program.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), stderr(&output)), (Some(0), ""), "{arguments:?}");
    }
}

#[test]
fn errors_look_like_those_of_the_parser() {
    let colored = |arguments: &[&str]| {
        let mut program = Command::cargo_bin("patchmg").unwrap();
        let output = program.arg("solve").args(arguments).env("CLICOLOR_FORCE", "1").output().unwrap();
        assert_eq!(output.status.code(), Some(USAGE));
        stderr(&output).to_string()
    };
    let beginning = |text: &str| text.split_once(" invalid value").unwrap().0.to_string();
    let [parsed, own] = [["--dim", "4"], ["--degree", "99"]].map(|arguments| colored(&arguments));
    assert_eq!(beginning(&parsed), beginning(&own));
    assert!(own.starts_with("\u{1b}["), "{own:?}");
    assert_eq!(stderr(&solve(&["--degree", "99"])).chars().filter(|&c| c == '\u{1b}').count(), 0);
}

#[test]
fn phases_are_logged_where_that_is_asked_for() {
    let logged = |filter: &str| {
        let mut program = Command::cargo_bin("patchmg").unwrap();
        let arguments = ["solve", "--backend", "cpu", "--dim", "2", "--refine", "3", "--json", "-", "--quiet"];
        program.args(arguments).env("PATCHMG_LOG", filter).output().unwrap()
    };
    let [silent, debug] = ["warn", "debug"].map(logged);
    assert_eq!(stderr(&silent), "");
    let phases = [
        "mesh: ",
        "machine: ",
        "load vector: ",
        "set-up",
        "solve: ",
        "errors: ",
        "solution's way back",
        "output: ",
        "machine given back: ",
        "in all: ",
    ];
    let lines: Vec<_> = stderr(&debug).lines().collect();
    assert_eq!(lines.len(), phases.len(), "{lines:?}");
    assert_eq!(stderr(&logged("patchmg=debug")).lines().count(), phases.len());
    for (line, phase) in lines.iter().zip(phases) {
        assert!(line.contains("DEBUG") && line.contains(phase), "no '{phase}' in: {line}");
    }
    let verbose = solve(&["--verbose", "--quiet"]);
    assert_eq!(stderr(&verbose).lines().count(), phases.len(), "{}", stderr(&verbose));
    let [silent, debug] = [silent, debug].map(|output| serde_json::from_slice::<Value>(&output.stdout).unwrap());
    assert_eq!(silent["residual_history"], debug["residual_history"]);
    for filter in ["solve=loud", "loud", "debug,loud"] {
        let wrong = logged(filter);
        assert_eq!(wrong.status.code(), Some(USAGE));
        assert!(stderr(&wrong).contains(&format!("'{filter}' for PATCHMG_LOG")), "{}", stderr(&wrong));
    }
    assert_eq!(stderr(&logged("")), "");
}
