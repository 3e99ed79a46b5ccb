//! The command line of `patchmg converge`.

#[path = "../../../tests/common/program.rs"]
mod common;

use common::{DEVICE, NOT_CONVERGED, USAGE, patchmg, stderr, stdout};
use serde_json::Value;
use std::process::Output;

fn converge(arguments: &[&str]) -> Output {
    patchmg(&[&["converge", "--backend", "cpu", "--dim", "2"], arguments].concat())
}

fn runs(arguments: &[&str]) -> Vec<Value> {
    let output = converge(&[arguments, &["--json", "-"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let study: Value = serde_json::from_str(stdout(&output)).unwrap();
    study["runs"].as_array().unwrap().clone()
}

fn refused(arguments: &[&str], parts: &[&str]) {
    let output = converge(arguments);
    assert_eq!(output.status.code(), Some(USAGE), "{arguments:?}: {}", stderr(&output));
    assert_eq!(stdout(&output), "", "{arguments:?}");
    for part in parts {
        assert!(stderr(&output).contains(part), "{arguments:?}: no '{part}' in: {}", stderr(&output));
    }
}

/// Orders of the last solve are near those of the theory, and the first solve of each degree has none.
#[test]
fn orders_are_those_of_the_elements() {
    let flow = ["--system", "stokes", "--solver", "fgmres"];
    let forest = ["--system", "elliptic", "--mesh", "box", "--rhs", "2*sin(x)*sin(y)", "--exact", "sin(x)*sin(y)"];
    for (system, degrees, refine, l2) in [
        (&["--system", "poisson-cg"][..], "1,3", "3..5", 1.0),
        (&["--system", "poisson-dg", "--problem", "cosine", "--solver", "fgmres"], "1,3", "3..5", 1.0),
        (&flow, "2,3", "2..4", 1.0),
        (&forest, "1,3", "2..4", 1.0),
        // The singularity bounds both.
        (&["--system", "elliptic", "--mesh", "lshape"], "2", "2..4", 0.0),
    ] {
        let runs = runs(&[system, &["--degree", degrees, "--refine", refine, "--rtol", "1e-11"]].concat());
        assert_eq!(runs.len(), 3 * degrees.split(',').count());
        for of_degree in runs.chunks(3) {
            let degree = of_degree[0]["degree"].as_f64().unwrap();
            assert!(of_degree[0]["l2_order"].is_null() && of_degree[0]["h1_order"].is_null(), "{}", of_degree[0]);
            let last = &of_degree[2];
            let order = |name: &str| last[name].as_f64().unwrap_or(f64::NAN);
            let (h1, l2) = if l2 == 0.0 { (2.0 / 3.0, 4.0 / 3.0) } else { (degree, degree + l2) };
            assert!((order("h1_order") - h1).abs() < 0.06, "{system:?}: {last}");
            assert!((order("l2_order") - l2).abs() < 0.12, "{system:?}: {last}");
            let is_flow = system.contains(&"stokes");
            assert_eq!(last["l2_order_p"].is_f64(), is_flow, "{last}");
            assert!(!is_flow || (order("l2_order_p") - degree - 1.0).abs() < 0.06, "{last}");
        }
    }
}

/// The mesh need not be halved from row to row.
#[test]
fn rows_are_solves_of_their_own() {
    let options = ["--degree", "2", "--size", "2,1", "--cells", "4,1", "--solver", "cg", "--threads", "1"];
    let runs = runs(&[&options[..], &["--refine", "1,2,4"]].concat());
    let alone = patchmg(&[&["solve", "--backend", "cpu", "--json", "-", "--refine", "4"][..], &options].concat());
    let alone: Value = serde_json::from_str(stdout(&alone)).unwrap();
    for name in ["cells", "dofs", "iterations", "residual_history", "l2_error", "h1_error"] {
        assert_eq!(runs[2][name], alone[name], "{name}");
    }
    assert_eq!([0, 1, 2].map(|row| runs[row]["h"].as_f64().unwrap()), [0.5, 0.25, 0.0625]);
    let ratio = runs[1]["l2_error"].as_f64().unwrap() / runs[2]["l2_error"].as_f64().unwrap();
    let order = runs[2]["l2_order"].as_f64().unwrap();
    approx::assert_relative_eq!(order, ratio.log2() / 2.0, max_relative = 1e-12);
}

#[test]
fn the_table_goes_into_files() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let files =
        ["--csv", &file("e.csv"), "--latex", &file("e.tex"), "--plot", &file("e.svg"), "--json", &file("e.json")];
    let output = converge(&[&["--degree", "1,2", "--refine", "2..4"][..], &files].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    for part in ["degree 1,2", "refined 2..4 times", "problem sine", "L2 error order", "1.25e-1"] {
        assert!(text.contains(part), "no '{part}' in: {text}");
    }
    let [csv, tex, svg, json] =
        ["e.csv", "e.tex", "e.svg", "e.json"].map(|name| std::fs::read_to_string(file(name)).unwrap());
    let study: Value = serde_json::from_str(&json).unwrap();
    let mut lines = csv.lines();
    let names: Vec<_> = lines.next().unwrap().split(',').collect();
    assert_eq!(lines.clone().count(), 6);
    for (line, run) in lines.zip(study["runs"].as_array().unwrap()) {
        for (name, cell) in names.iter().zip(line.split(',')) {
            match &run[name] {
                Value::Null => assert_eq!(cell, ""),
                Value::String(word) => assert_eq!(cell, word),
                number => assert_eq!(cell.parse::<f64>().unwrap(), number.as_f64().unwrap(), "{name}"),
            }
        }
    }
    assert!(tex.starts_with("\\begin{tabular}{rrrrrrrrrrr}\n") && tex.ends_with("\\end{tabular}\n"), "{tex}");
    assert_eq!(tex.lines().filter(|line| line.matches(" & ").count() == 10 && line.contains("\\\\")).count(), 1 + 6);
    assert!(tex.contains(" \\cdot 10^{-2}$ & --"), "{tex}");
    for part in ["unknowns", "L2 error", "degree 1", "degree 2"] {
        assert!(svg.contains(part), "{part}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 120), "{text}");
}

#[test]
fn the_widest_table_has_120_columns() {
    let output = converge(&["--system", "stokes", "--degree", "1,2", "--refine", "2,3", "--solver", "fgmres"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.lines().all(|line| line.chars().count() <= 120), "{text}");
    assert!(text.contains("\ndegree 2\n") && text.contains("p error order  max div"), "{text}");
}

#[test]
fn a_solve_that_does_not_converge_is_a_row() {
    let options = ["--degree", "1,3", "--refine", "3..5", "--solver", "gmres", "--max-iters", "5"];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("result.json");
    let output = converge(&[&options[..], &["--json", path.to_str().unwrap()]].concat());
    assert_eq!(output.status.code(), Some(NOT_CONVERGED), "{}", stderr(&output));
    let study: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let runs = study["runs"].as_array().unwrap();
    let converged: Vec<_> = runs.iter().map(|run| run["converged"].as_bool().unwrap()).collect();
    assert_eq!(converged, [true, false, false, true, true, true]);
    let said = stdout(&output).matches("not converged after 5 iterations, relative residual").count();
    assert_eq!(said, converged.iter().filter(|converged| !**converged).count());
    for (index, run) in runs.iter().enumerate() {
        let is_comparable = ![0, 3].contains(&index) && converged[index] && converged[index - 1];
        assert_eq!(run["l2_order"].is_f64(), is_comparable, "{run}");
    }
}

#[test]
fn what_has_no_errors_or_orders_is_refused_before_the_first_solve() {
    refused(&["--problem", "one"], &["--problem", "'one'", "must be sine or cosine, or given with --exact"]);
    refused(&["--system", "stokes", "--problem", "cavity"], &["'cavity'", "must be paper2 or taylor-green"]);
    let elliptic = |arguments: &[&'static str], parts: &[&str]| {
        refused(&[&["--system", "elliptic"], arguments].concat(), parts);
    };
    elliptic(&["--problem", "variable"], &["'variable'", "must be corner or shell, or given with --exact"]);
    elliptic(&["--rhs", "x"], &["'given'", "its solution is not known"]);
    elliptic(&["--adapt", "3"], &["--adapt", "'3'", "belongs to patchmg solve"]);
    elliptic(&["--marking", "kelly"], &["--marking", "belongs to patchmg solve"]);
    for sizes in ["4..2", "2...4", "x", "", "1,1"] {
        refused(&["--refine", sizes], &["--refine", &format!("'{sizes}'"), "a range such as 2..6"]);
    }
    // The last problem is looked at before the first is solved.
    refused(&["--degree", "1..11"], &["--degree", "'11'", "1 to 10 in 2D"]);
    refused(&["--csv", "-"], &["--csv", "must be a file"]);
    refused(&["--csv", "/dev/null/e.csv"], &["--csv", "must be a file that can be written"]);
    refused(&["--plot", "errors.pdf"], &["--plot", ".svg or .png"]);
    let output = converge(&["--degree", "8", "--refine", "2..24"]);
    assert_eq!((output.status.code(), stdout(&output)), (Some(DEVICE), ""), "{}", stderr(&output));
}

/// Ranges belong to `patchmg converge` alone.
#[test]
fn one_problem_has_one_size() {
    let output = patchmg(&["solve", "--refine", "2..4"]);
    assert_eq!(output.status.code(), Some(USAGE));
    assert!(stderr(&output).contains("'2..4' for '--refine") && stderr(&output).contains("must be a whole number"));
}
