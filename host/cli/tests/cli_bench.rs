//! The command line of `patchmg bench` and `info`, and its help.

#[path = "../../../tests/common/program.rs"]
mod common;

use common::{USAGE, has_gpu, patchmg, stderr, stdout};
use serde_json::Value;
use std::process::Command;

#[test]
fn bench_times_every_part_and_the_solve() {
    let problem = ["--backend", "cpu", "--dim", "2", "--degree", "2", "--refine", "3", "--precision", "mixed"];
    let protocol = ["--warmup", "0", "--repetitions", "2", "--json", "-"];
    let output = patchmg(&[&["bench"][..], &problem, &protocol].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let report: Value = serde_json::from_str(stdout(&output)).unwrap();
    assert_eq!(report["converged"], true);
    assert_eq!(report["solve_timing"]["repetitions"], 2);
    assert_eq!(report["solve_timing"]["median_s"], report["solve_s"]);
    let parts = report["measurements"].as_array().unwrap();
    let names: Vec<_> =
        parts.iter().map(|part| (part["what"].as_str().unwrap(), part["scalar"].as_str().unwrap())).collect();
    let expected = [
        ("operator", "f64"),
        ("residual", "f64"),
        ("smoother step", "f32"),
        ("restriction of the residual", "f32"),
        ("prolongation", "f32"),
        ("prolongation and smoother step", "f32"),
        ("V-cycle", "f32"),
    ];
    assert_eq!(names, expected);
    for part in parts {
        let [min, median, max] = ["min_s", "median_s", "max_s"].map(|time| part[time].as_f64().unwrap());
        assert!(0.0 < min && min <= median && median <= max, "{part}");
    }
}

#[test]
fn bench_times_discontinuous_elements() {
    let problem = ["--system", "poisson-dg", "--backend", "cpu", "--dim", "2", "--degree", "3", "--refine", "3"];
    let output = patchmg(&[&["bench"][..], &problem, &["--repetitions", "1", "--json", "-"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let report: Value = serde_json::from_str(stdout(&output)).unwrap();
    assert_eq!((&report["system"], &report["dofs"]), (&Value::from("poisson-dg"), &Value::from(1024)));
    assert_eq!(report["measurements"].as_array().unwrap().len(), 7);
}

#[test]
fn bench_times_forests() {
    let problem = ["--system", "elliptic", "--mesh", "shell", "--dim", "3", "--backend", "cpu", "--degree", "2"];
    let protocol = ["--refine", "1", "--repetitions", "1", "--json", "-"];
    let output = patchmg(&[&["bench"][..], &problem, &protocol].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let report: Value = serde_json::from_str(stdout(&output)).unwrap();
    assert_eq!(report["system"], "elliptic");
    // All but a step with patches.
    assert_eq!(report["measurements"].as_array().unwrap().len(), 6);
}

#[test]
fn bench_refuses_what_it_cannot_time() {
    let output = patchmg(&["bench", "--repetitions", "0"]);
    assert_eq!(output.status.code(), Some(USAGE));
    assert!(stderr(&output).contains("--repetitions"), "{}", stderr(&output));
    for (option, value) in [
        ("--repetitions", "18446744073709551615"),
        ("--repetitions", "1000001"),
        ("--warmup", "18446744073709551615"),
        ("--warmup", "1000001"),
        ("--warmup", "-1"),
    ] {
        for suite in [&[][..], &["--suite", "speed", "--quick"]] {
            let output = patchmg(&[&["bench", "--backend", "cpu", option, value][..], suite].concat());
            assert_eq!(output.status.code(), Some(USAGE), "{option} {value}: {}", stderr(&output));
            for part in [option, value, "to 1000000"] {
                assert!(stderr(&output).contains(part), "no '{part}' in {}", stderr(&output));
            }
        }
    }
    let output = patchmg(&["bench", "--degree", "99"]);
    assert_eq!(output.status.code(), Some(USAGE), "{}", stderr(&output));
}

#[test]
fn info_lists_what_is_there() {
    let output = patchmg(&["info"]);
    assert_eq!(output.status.code(), Some(0));
    for part in
        ["features", "2D: 1 to 10, 3D: 1 to 8", "discontinuous: 1 to 8", "cpu", "threads", "default", "--backend"]
    {
        assert!(stdout(&output).contains(part), "no '{part}' in: {}", stdout(&output));
    }
    let output = patchmg(&["info", "--json", "-"]);
    let info: Value = serde_json::from_str(stdout(&output)).unwrap();
    assert_eq!(info["version"], env!("CARGO_PKG_VERSION"));
    assert!(info["cpu"]["units"].as_u64().unwrap() >= 1);
    assert_eq!(info["no_gpu"].is_null(), has_gpu());
    assert_eq!(patchmg(&["info", "--json", "/dev/null/info.json"]).status.code(), Some(USAGE));
}

#[test]
fn without_the_laboratory_its_build_is_told() {
    // A link on the same file system: a copy is open for writing in a process that another test starts meanwhile, and then
    // does not start.
    let program = assert_cmd::cargo::cargo_bin("patchmg");
    let folder = tempfile::tempdir_in(program.parent().unwrap()).unwrap();
    let alone = folder.path().join("patchmg");
    std::fs::hard_link(program, &alone).unwrap();
    let asks = |arguments: &[&str], what: &str| {
        let output = Command::new(&alone).args(arguments).env("PATH", folder.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(USAGE), "{arguments:?}: {}", stderr(&output));
        assert_eq!(stdout(&output), "", "{arguments:?}");
        for part in [what, "cargo build --release --package patchmg-lab"] {
            assert!(stderr(&output).contains(part), "{arguments:?}: no '{part}' in {}", stderr(&output));
        }
    };
    asks(&["kernels"], "this command");
    asks(&["bench", "--suite", "paper1"], "this command");
    if has_gpu() {
        for kernel in [&["--variant", "basic"][..], &["--system", "poisson-dg", "--degree", "3", "--engine", "mma"]] {
            asks(&[&["solve", "--backend", "cuda", "--refine", "2"], kernel].concat(), "the GPU kernels");
            asks(&[&["bench", "--backend", "cuda", "--refine", "2"], kernel].concat(), "the GPU kernels");
        }
    }
}
