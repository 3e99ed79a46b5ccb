//! Problem files: options from TOML and from results.

#[path = "../../../tests/common/program.rs"]
mod common;

use common::{USAGE, patchmg, stderr, stdout};
use serde_json::Value;
use std::path::PathBuf;
use tempfile::TempDir;

/// A folder, and a file in it.
fn file(name: &str, text: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    (folder, path)
}

fn json(arguments: &[&str]) -> Value {
    let output = patchmg(&[arguments, &["--json", "-"]].concat());
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", stderr(&output));
    serde_json::from_str(stdout(&output)).unwrap()
}

/// Without times.
fn outcome(mut result: Value) -> Value {
    ["setup_s", "solve_s", "ns_per_dof"].iter().for_each(|name| drop(result.as_object_mut().unwrap().remove(*name)));
    for cycle in result["cycles"].as_array_mut().into_iter().flatten() {
        ["setup_s", "solve_s"].iter().for_each(|name| drop(cycle.as_object_mut().unwrap().remove(*name)));
    }
    result
}

const PROBLEM: &str = r#"
# All kinds of values.
system = "elliptic"
backend = "cpu"
dim = 2
cells = [2, 1]
size = "2,1"
degree = 2
refine = 2
rhs = "2 * sin(x) * sin(y)"
exact = "sin(x) * sin(y)"
side = ["0=dirichlet:sin(x) * sin(y)"]
rtol = 1e-10
"#;

#[test]
fn a_problem_file_is_its_options() {
    let (_folder, path) = file("problem.toml", PROBLEM);
    let path = path.to_str().unwrap();
    let from_file = json(&["solve", path]);
    let options = [
        "solve",
        "--system",
        "elliptic",
        "--backend",
        "cpu",
        "--dim",
        "2",
        "--cells",
        "2,1",
        "--size",
        "2,1",
        "--degree",
        "2",
        "--refine",
        "2",
        "--rhs",
        "2 * sin(x) * sin(y)",
        "--exact",
        "sin(x) * sin(y)",
        "--side",
        "0=dirichlet:sin(x) * sin(y)",
        "--rtol",
        "1e-10",
    ];
    assert_eq!(outcome(from_file.clone()), outcome(json(&options)));
    // The command line goes before the file, and for a list takes the place of all of it.
    let other = json(&["solve", path, "--rtol", "1e-4", "--side", "0=dirichlet:7 + sin(x) * sin(y)"]);
    assert_eq!((&other["rtol"], &other["options"]["rtol"]), (&1e-4.into(), &1e-4.into()));
    assert!(other["iterations"].as_u64() < from_file["iterations"].as_u64());
    assert!(other["l2_error"].as_f64().unwrap() > 1.0, "{other}");
    let output = patchmg(&["bench", path, "--repetitions", "1"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let study = json(&["converge", path, "--refine", "1,2"]);
    assert_eq!(study["runs"][1]["residual_history"], from_file["residual_history"]);
}

#[test]
fn a_result_is_solved_again() {
    for options in [
        &["--degree", "3", "--refine", "3", "--smoother", "jacobi", "--damping", "0.5", "--solver", "cg"][..],
        &[
            "--refine",
            "3",
            "--solver",
            "gmres",
            "--restart",
            "2",
            "--precision",
            "mixed",
            "--max-iters",
            "7",
            "--threads",
            "1",
        ],
        &[
            "--system",
            "poisson-dg",
            "--problem",
            "cosine",
            "--degree",
            "2",
            "--refine",
            "3",
            "--cells",
            "2,1",
            "--solver",
            "cg",
        ],
        &[
            "--system", "stokes", "--degree", "1", "--refine", "2", "--solver", "fgmres", "--mu", "0.4", "--local",
            "schur-cg",
        ],
        &["--rhs", "x * (1 - y)", "--degree", "2", "--refine", "3"],
        &[
            "--degree",
            "2",
            "--refine",
            "2",
            "--cells",
            "2,3",
            "--diffusion",
            "1,0.5",
            "--reaction",
            "2",
            "--grading",
            "x=10,y=0/0.1/0.5/1",
            "--side",
            "x-=neumann:y",
            "--side",
            "y-=periodic",
            "--side",
            "y+=periodic",
            "--rhs",
            "sin(x)",
        ],
        &["--system", "elliptic", "--degree", "2", "--refine", "1", "--adapt", "2", "--smoother", "chebyshev4"],
        &["--system", "elliptic", "--problem", "minimal-surface", "--frequency", "2", "--degree", "2", "--refine", "1"],
        &[
            "--system",
            "elliptic",
            "--refine",
            "2",
            "--rhs",
            "exp(x)",
            "--side",
            "0=robin:1:y",
            "--coefficient",
            "1 + x^2",
        ],
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("result.json");
        let path = path.to_str().unwrap();
        let first = [&["solve", "--backend", "cpu", "--dim", "2", "--quiet", "--json", path], options].concat();
        let output = patchmg(&first);
        assert_eq!(output.status.code(), Some(0), "{options:?}: {}", stderr(&output));
        let first: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        assert_eq!(outcome(json(&["solve", path])), outcome(first.clone()), "{options:?}");
        for name in ["max-iters", "threads", "rtol", "solver", "problem"] {
            assert!(!first["options"][name].is_null(), "{name} of {options:?}");
        }
    }
}

/// The options of a study hold its ranges.
#[test]
fn a_study_is_done_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("study.json");
    let path = path.to_str().unwrap();
    let first =
        json(&["converge", "--backend", "cpu", "--dim", "2", "--degree", "1,3", "--refine", "1..3", "--solver", "cg"]);
    assert_eq!((&first["options"]["degree"], &first["options"]["refine"]), (&"1,3".into(), &"1..3".into()));
    std::fs::write(path, first.to_string()).unwrap();
    let again = json(&["converge", path]);
    assert_eq!((&again["options"], again["runs"].as_array().unwrap().len()), (&first["options"], 6));
    for row in 0..6 {
        assert_eq!(again["runs"][row]["residual_history"], first["runs"][row]["residual_history"]);
    }
}

#[test]
fn files_that_are_none_are_refused() {
    let refused = |name: &str, text: &str, parts: &[&str]| {
        let (_folder, path) = file(name, text);
        let output = patchmg(&["solve", path.to_str().unwrap(), "--json", "-"]);
        assert_eq!((output.status.code(), stdout(&output)), (Some(USAGE), ""), "{text}: {}", stderr(&output));
        for part in parts {
            assert!(stderr(&output).contains(part), "{text}: no '{part}' in {}", stderr(&output));
        }
    };
    let toml = |text: &str, parts: &[&str]| refused("problem.toml", text, parts);
    toml("degre = 3", &["problem.toml: there is no option 'degre'", "the nearest one is 'degree'"]);
    toml("max_iters = 3", &["'max_iters'", "'max-iters'"]);
    toml("degree = 3.5", &["'3.5' for '--degree", "must be a whole number"]);
    toml("degree = true", &["'true' for '--degree", "must be a whole number"]);
    toml("degree = [2, 3]", &["'2,3' for '--degree", "must be a whole number"]);
    toml("degree = \"2\"\ndim = 4", &["'4' for '--dim", "must be 2 or 3"]);
    toml("quiet = 1", &["'1' for '--quiet'", "must be true or false"]);
    toml("rtol = nan", &["for '--rtol'", "must be a number"]);
    toml("rhs = \"sine(x)\"\nsystem = \"elliptic\"", &["--rhs", "did you mean 'sin'"]);
    toml("cells = [[1]]", &["--cells", "a list"]);
    toml("dim = 2020-01-01", &["--dim", "a number"]);
    toml("[forest]\nmesh = \"disk\"", &["'forest' is a table"]);
    toml("suite = \"paper1\"", &["'suite' belongs to bench", "this is solve"]);
    toml("help = true", &["there is no option 'help'"]);
    toml("degree = ", &["line 1", "column"]);
    toml("degree = 2\ndegree = 3", &["line 2", "duplicate key"]);
    toml(&"a.".repeat(100_000), &["problem.toml"]);
    toml(&format!("cells = {}", "[".repeat(100_000)), &["problem.toml"]);
    refused("result.json", "{\"options\": 3}", &["'options' must be an object"]);
    refused("result.json", "{\"options\": {\"degree\": null}}", &["'null' for '--degree'"]);
    refused("result.json", "{", &["result.json: ", "line 1 column 1"]);
    refused("result.json", "[]", &["result.json: ", "expected a map"]);
    for path in ["/dev/null/problem.toml", "/dev/zero", "/tmp"] {
        let output = patchmg(&["solve", path]);
        assert_eq!(output.status.code(), Some(USAGE), "{path}: {}", stderr(&output));
        assert!(stderr(&output).contains(path), "{}", stderr(&output));
    }
    let (_folder, path) = file("problem.toml", PROBLEM);
    let path = path.to_str().unwrap();
    let output = patchmg(&["solve", path, "--boundary", "z"]);
    assert!(
        output.status.code() == Some(USAGE) && stderr(&output).contains("'z' for '--boundary'"),
        "{}",
        stderr(&output)
    );
    let output = patchmg(&["bench", path, "--suite", "paper1"]);
    assert!(output.status.code() == Some(USAGE) && stderr(&output).contains("--suite"), "{}", stderr(&output));
}
