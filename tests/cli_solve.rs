//! The command line of `patchmg solve`: what it writes where, its messages and its exit codes.

#[path = "common/program.rs"]
mod common;

use assert_cmd::Command;
use common::{DEVICE, NOT_CONVERGED, USAGE, has_gpu, patchmg, stderr, stdout};
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

/// Refused with exit code 2, a message that holds all of `parts`, and nothing on standard output.
fn refused(arguments: &[&str], parts: &[&str]) {
    let output = solve(arguments);
    assert_eq!(output.status.code(), Some(USAGE), "{arguments:?}: {}", stderr(&output));
    assert_eq!(stdout(&output), "", "{arguments:?}");
    for part in parts {
        assert!(stderr(&output).contains(part), "{arguments:?}: no '{part}' in: {}", stderr(&output));
    }
}

/// Field names in the order in which they are written.
const FIELDS: [&str; 30] = [
    "system",
    "dim",
    "degree",
    "refine",
    "cells",
    "dofs",
    "problem",
    "solver",
    "smoother",
    "kernel",
    "variant",
    "local",
    "products",
    "precision",
    "backend",
    "device",
    "iterations",
    "converged",
    "reason",
    "rtol",
    "residual_history",
    "relative_residual",
    "fractional_iterations",
    "l2_error",
    "h1_error",
    "setup_s",
    "solve_s",
    "ns_per_dof",
    "version",
    "commit",
];

#[test]
fn json_has_the_documented_fields_in_their_order() {
    let output = solve(&["--json", "-"]);
    let text = stdout(&output);
    let mut rest = text;
    for field in FIELDS {
        let place = rest.find(&format!("\"{field}\":")).unwrap_or_else(|| panic!("{field} is missing or misplaced"));
        rest = &rest[place + 1..];
    }
    let value: Value = serde_json::from_str(text).unwrap();
    assert_eq!(value.as_object().unwrap().len(), FIELDS.len());
}

#[test]
fn json_says_what_was_solved() {
    let value = json(&["--dim", "3", "--degree", "2", "--refine", "3"]);
    for (field, expected) in [
        ("system", "poisson-cg"),
        ("problem", "sine"),
        ("solver", "fmg"),
        ("smoother", "patch"),
        ("kernel", "fused"),
        ("variant", "register"),
        ("local", "fdm"),
        ("precision", "f64"),
        ("backend", "cpu"),
        ("version", env!("CARGO_PKG_VERSION")),
    ] {
        assert_eq!(value[field], expected, "{field}");
    }
    for (field, expected) in [("dim", 3), ("degree", 2), ("refine", 3), ("cells", 512), ("dofs", 15 * 15 * 15)] {
        assert_eq!(value[field], expected, "{field}");
    }
    assert_eq!(value["rtol"], 1e-9);
    assert_eq!((&value["converged"], &value["reason"]), (&Value::Bool(true), &Value::from("converged")));
    assert!(!value["device"].as_str().unwrap().is_empty());
    // Known from deal.II, NGSolve and dolfinx: Q2 on 8 cells a direction.
    approx::assert_relative_eq!(value["l2_error"].as_f64().unwrap(), 2.121e-4, max_relative = 5e-4);

    let history: Vec<f64> = value["residual_history"].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect();
    let iterations = value["iterations"].as_u64().unwrap() as usize;
    assert_eq!(history.len(), iterations + 1);
    assert_eq!(value["relative_residual"], history[iterations]);
    assert!(history[iterations] <= 1e-9);
    let fractional = value["fractional_iterations"].as_f64().unwrap();
    assert!((iterations as f64 - 1.0..=iterations as f64).contains(&fractional), "{fractional} of {iterations}");
    let (solve_s, ns_per_dof) = (value["solve_s"].as_f64().unwrap(), value["ns_per_dof"].as_f64().unwrap());
    approx::assert_relative_eq!(ns_per_dof, 1e9 * solve_s / 3375.0, max_relative = 1e-12);
    assert!(value["setup_s"].as_f64().unwrap() > 0.0);
}

#[test]
fn every_solver_finds_the_same_solution_in_both_dimensions() {
    for dim in ["2", "3"] {
        let size = ["--dim", dim, "--degree", "3", "--refine", "2"];
        let reference = json(&[&size[..], &["--solver", "fmg"]].concat())["l2_error"].as_f64().unwrap();
        for solver in ["vcycle", "gmres", "fgmres", "cg"] {
            let value = json(&[&size[..], &["--solver", solver]].concat());
            assert_eq!(value["solver"], solver);
            assert_eq!(value["residual_history"][0], 1.0, "{solver} starts from zero");
            approx::assert_relative_eq!(value["l2_error"].as_f64().unwrap(), reference, max_relative = 1e-5);
        }
    }
    // Known from deal.II, NGSolve and dolfinx as well: Q3 on 4 cells a direction.
    let value = json(&["--dim", "3", "--degree", "3", "--refine", "2"]);
    approx::assert_relative_eq!(value["l2_error"].as_f64().unwrap(), 7.5856e-5, max_relative = 5e-4);
}

#[test]
fn every_precision_reaches_what_it_can() {
    for (precision, rtol) in [("f64", "1e-9"), ("mixed", "1e-9"), ("f32", "1e-5")] {
        for solver in ["fmg", "vcycle", "gmres", "fgmres", "cg"] {
            let value = json(&["--precision", precision, "--rtol", rtol, "--solver", solver]);
            assert_eq!(value["precision"], precision);
            assert!(value["relative_residual"].as_f64().unwrap() <= rtol.parse().unwrap(), "{precision} {solver}");
        }
    }
}

#[test]
fn every_smoother_finds_the_same_solution() {
    let reference = json(&[])["l2_error"].as_f64().unwrap();
    for smoother in ["patch", "additive-patch", "point-gs", "jacobi", "chebyshev"] {
        for solver in ["fmg", "gmres", "cg"] {
            if (smoother, solver) == ("patch", "fmg") {
                continue; // the reference
            }
            let value = json(&["--smoother", smoother, "--solver", solver]);
            assert_eq!(value["smoother"], smoother);
            approx::assert_relative_eq!(value["l2_error"].as_f64().unwrap(), reference, max_relative = 1e-5);
        }
    }
}

#[test]
fn damping_is_for_smoothers_that_have_it() {
    for smoother in ["additive-patch", "jacobi"] {
        let history =
            |damping: &[&str]| json(&[&["--smoother", smoother], damping].concat())["residual_history"].clone();
        let default = if smoother == "jacobi" { "0.6666666666666666" } else { "0.25" };
        assert_eq!(history(&[]), history(&["--damping", default]), "{smoother}");
        assert_ne!(history(&[]), history(&["--damping", "0.2"]), "{smoother}");
        for damping in ["0", "2", "-1", "NaN", "much"] {
            let parts = ["--damping", &format!("'{damping}'"), "above 0 and below 2"];
            refused(&["--smoother", smoother, "--damping", damping], &parts);
        }
    }
    for smoother in ["patch", "point-gs", "chebyshev"] {
        refused(&["--smoother", smoother, "--damping", "0.5"], &["--damping", "'0.5'", smoother, "additive-patch"]);
    }
}

#[test]
fn errors_are_null_where_no_solution_is_known() {
    let value = json(&["--problem", "one"]);
    assert_eq!((&value["l2_error"], &value["h1_error"]), (&Value::Null, &Value::Null));
}

#[test]
fn discontinuous_elements_are_a_system() {
    let value = json(&["--system", "poisson-dg", "--dim", "3", "--degree", "3", "--refine", "2", "--solver", "fgmres"]);
    for (field, expected) in [("system", "poisson-dg"), ("smoother", "patch"), ("solver", "fgmres"), ("backend", "cpu")]
    {
        assert_eq!(value[field], expected, "{field}");
    }
    // 4 cells of 4 nodes a direction, none of them on the boundary in the sense of continuous elements.
    assert_eq!((&value["cells"], &value["dofs"]), (&Value::from(64), &Value::from(4096)));
    // Of an independent implementation.
    approx::assert_relative_eq!(value["l2_error"].as_f64().unwrap(), 7.3072e-5, max_relative = 1e-3);
    approx::assert_relative_eq!(value["residual_history"][1].as_f64().unwrap(), 0.0042408, max_relative = 1e-3);

    for arguments in [
        &["--solver", "gmres", "--precision", "mixed"][..],
        &["--solver", "fmg"],
        &["--solver", "cg"],
        &["--smoother", "chebyshev"],
        &["--problem", "cosine", "--solver", "fgmres"],
    ] {
        let value = json(&[&["--system", "poisson-dg"], arguments].concat());
        assert_eq!(value["converged"], true, "{arguments:?}");
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("solution.vtu");
    let output = solve(&["--system", "poisson-dg", "--vtu", path.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    // 8 cells of 4 points a direction.
    assert!(std::fs::read_to_string(path).unwrap().contains("NumberOfPoints=\"1024\""));
}

#[test]
fn what_a_system_does_not_take_is_refused() {
    let dg = |arguments: &[&'static str]| [&["--system", "poisson-dg"], arguments].concat();
    refused(&dg(&["--degree", "9"]), &["--degree", "'9'", "1 to 8 with discontinuous elements"]);
    for smoother in ["point-gs", "additive-patch", "jacobi"] {
        refused(&dg(&["--smoother", smoother]), &["--smoother", smoother, "patch or chebyshev with discontinuous"]);
    }
    refused(&dg(&["--variant", "linear"]), &["--variant", "'linear'", "register"]);
    refused(&dg(&["--kernel", "global"]), &["--kernel", "'global'", "fused"]);
    refused(&["--problem", "cosine"], &["--problem", "'cosine'", "one or sine"]);
}

#[test]
fn products_of_small_matrices_are_refused_where_there_are_none() {
    let dg = |arguments: &[&'static str]| [&["--system", "poisson-dg", "--dim", "3"], arguments].concat();
    refused(&["--engine", "mma"], &["--engine", "'mma'", "--system poisson-dg"]);
    refused(&dg(&["--operands", "f16"]), &["--engine"]);
    refused(&dg(&["--engine", "dmma"]), &["--engine", "'dmma'", "fma, wmma, mma, mma-swizzled"]);
    refused(&dg(&["--engine", "mma", "--smoother", "chebyshev"]), &["--engine", "'mma'", "--smoother patch"]);
    refused(&dg(&["--engine", "mma", "--degree", "2"]), &["--engine", "'mma'", "6 nodes", "mma-swizzled f64 m8n8k4"]);
    refused(&dg(&["--engine", "fma", "--degree", "9"]), &["--degree", "'9'"]);
    refused(&dg(&["--engine", "fma", "--operands", "f16"]), &["--engine", "'fma'", "'f16'", "fma f32"]);
    for engine in ["fma", "mma-swizzled"] {
        let asked = format!("'{engine}' for '--engine': asks for products of small matrices, {engine} f64");
        refused(&dg(&["--engine", engine]), &[&asked, "cpu has: none; leave out --engine"]);
    }
    refused(&dg(&["--engine", "fma", "--kernel", "separate"]), &["--kernel", "'separate'", "cpu has: fused register"]);
}

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
fn files_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    for plot in ["history.svg", "history.png"] {
        let output = solve(&["--json", &file("result.json"), "--vtu", &file("solution.vtu"), "--plot", &file(plot)]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let result: Value = serde_json::from_slice(&std::fs::read(file("result.json")).unwrap()).unwrap();
        assert_eq!(result["dofs"], 23 * 23);
        let vtu = std::fs::read_to_string(file("solution.vtu")).unwrap();
        for part in ["UnstructuredGrid", "version=\"2.2\"", "Name=\"solution\"", "Name=\"error\""] {
            assert!(vtu.contains(part), "{part}");
        }
        assert!(std::fs::metadata(file(plot)).unwrap().len() > 1000);
    }
    assert!(solve(&["--problem", "one", "--vtu", &file("one.vtu")]).status.success());
    assert!(!std::fs::read_to_string(file("one.vtu")).unwrap().contains("Name=\"error\""));
}

#[test]
fn not_converged_is_exit_code_3_and_still_writes_json() {
    for arguments in [["--max-iters", "1", "--solver", "gmres"], ["--rtol", "1e-30", "--max-iters", "3"]] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("result.json");
        let output = solve(&[&arguments[..], &["--json", path.to_str().unwrap()]].concat());
        assert_eq!(output.status.code(), Some(NOT_CONVERGED), "{}", stderr(&output));
        let result: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        assert_eq!((&result["converged"], &result["reason"]), (&Value::Bool(false), &Value::from("max-iters")));
        assert_eq!(result["fractional_iterations"], Value::Null);
        assert!(stdout(&output).contains("not converged"));
    }
    assert!(stdout(&solve(&["--max-iters", "1", "--solver", "gmres"])).contains("not converged after 1 iteration,"));
}

/// What `--json FILE` holds and what is printed by a solve that does not converge.
fn not_converged(arguments: &[&str]) -> (Value, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("result.json");
    let output = solve(&[arguments, &["--json", path.to_str().unwrap()]].concat());
    assert_eq!(output.status.code(), Some(NOT_CONVERGED), "{arguments:?}: {}", stderr(&output));
    (serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap(), stdout(&output).to_string())
}

#[test]
fn stagnation_is_exit_code_3_with_its_reason() {
    for solver in ["fmg", "vcycle", "gmres", "fgmres", "cg"] {
        let (result, text) = not_converged(&["--rtol", "1e-15", "--solver", solver]);
        assert_eq!((&result["converged"], &result["reason"]), (&Value::Bool(false), &Value::from("stagnated")));
        assert!(result["iterations"].as_u64().unwrap() < 30, "{result}");
        assert!(result["relative_residual"].as_f64().unwrap() < 1e-12, "{result}");
        assert!(result["l2_error"].is_f64(), "{result}");
        assert!(text.contains("stagnated at ") && text.contains(": rounding, after "), "{text}");
    }
}

#[test]
fn divergence_is_exit_code_3_with_a_finite_history() {
    for (solver, precision) in
        [("fmg", "f64"), ("vcycle", "f64"), ("vcycle", "f32"), ("vcycle", "mixed"), ("fmg", "mixed"), ("cg", "f64")]
    {
        let diverging = ["--smoother", "jacobi", "--damping", "1.99", "--solver", solver, "--precision", precision];
        let folder = tempfile::tempdir().unwrap();
        let vtu = folder.path().join("solution.vtu");
        let (result, text) = not_converged(&[&diverging[..], &["--vtu", vtu.to_str().unwrap()]].concat());
        assert_eq!((&result["converged"], &result["reason"]), (&Value::Bool(false), &Value::from("diverged")));
        assert!(text.contains("diverged at iteration "), "{text}");
        let history = result["residual_history"].as_array().unwrap();
        assert_eq!(history.len() as u64, result["iterations"].as_u64().unwrap() + 1);
        assert!(history.iter().all(Value::is_f64), "{result}");
        assert_eq!((&result["l2_error"], &result["h1_error"]), (&Value::Null, &Value::Null));
        assert!(vtu.exists(), "its values are finite");
    }
}

#[test]
fn numbers_out_of_range_are_refused() {
    refused(&["--degree", "0"], &["--degree", "'0'", "1 to 10"]);
    refused(&["--degree", "99"], &["--degree", "'99'", "1 to 10 in 2D"]);
    refused(&["--degree", "9", "--dim", "3"], &["--degree", "'9'", "1 to 8 in 3D"]);
    refused(&["--dim", "4"], &["--dim", "'4'", "2 or 3"]);
    refused(&["--refine", "0"], &["--refine", "'0'", "1 to"]);
    refused(&["--refine", "40"], &["--refine", "'40'", "1 to"]);
    for rtol in ["-1e-9", "0", "1", "NaN", "inf", "small"] {
        refused(&["--rtol", rtol], &["--rtol", &format!("'{rtol}'"), "above 0 and below 1"]);
    }
    refused(&["--max-iters", "0"], &["--max-iters", "'0'", "at least 1"]);
    refused(&["--threads", "0"], &["--threads", "'0'", "1 to 4096"]);
    refused(&["--threads", "1000000"], &["--threads", "1 to 4096"]);
    for (option, value) in [("--degree", "three"), ("--degree", "-1"), ("--refine", "2.5"), ("--device", "-1")] {
        refused(&[option, value], &[option, &format!("'{value}'"), "whole number"]);
    }
    refused(&["--max-iters", "-1"], &["--max-iters", "'-1'", "at least 1"]);
    refused(&["--device", "1"], &["--device", "'1'", "--backend cpu"]);
}

#[test]
fn choices_that_do_not_exist_are_refused_with_what_does() {
    for (option, value, available) in [
        ("--system", "poisson-fv", "poisson-cg, poisson-dg"),
        ("--problem", "two", "one, sine, cosine"),
        ("--solver", "lu", "fmg, vcycle, gmres, fgmres, cg"),
        ("--smoother", "sor", "patch, additive-patch, point-gs, jacobi, chebyshev"),
        ("--kernel", "global", "fused"),
        ("--variant", "linear", "register"),
        ("--local", "inverse", "fdm"),
        ("--precision", "f16", "f64, f32, mixed"),
        ("--backend", "metal", "auto, cpu, cuda"),
    ] {
        refused(&[option, value], &[option, &format!("'{value}'"), available]);
    }
    refused(&["--colour", "red"], &["--colour"]);
    assert_eq!(patchmg(&["benchmark"]).status.code(), Some(USAGE));
    assert_eq!(patchmg(&[]).status.code(), Some(USAGE));
}

#[test]
fn files_that_cannot_be_written_are_found_before_the_solve() {
    let folder = tempfile::tempdir().unwrap();
    let kept = folder.path().join("kept.json");
    for option in ["--json", "--vtu", "--plot"] {
        let below_a_file = "/dev/null/result.svg";
        let other: &[&str] = if option == "--json" { &[] } else { &["--json", kept.to_str().unwrap()] };
        refused(&[&[option, below_a_file], other].concat(), &[option, below_a_file]);
    }
    assert!(!kept.exists(), "nothing is written on wrong usage");
    refused(&["--json", folder.path().to_str().unwrap()], &["--json", folder.path().to_str().unwrap()]);
    refused(&["--plot", "history.pdf"], &["--plot", "history.pdf", ".svg or .png"]);
    assert!(!Path::new("history.pdf").exists());
}

#[test]
fn a_vtu_file_of_absurd_size_is_refused_with_its_size() {
    refused(&["--dim", "3", "--degree", "8", "--refine", "9", "--vtu", "huge.vtu"], &["--vtu", "huge.vtu", "bytes"]);
    assert!(!Path::new("huge.vtu").exists());
}

#[test]
fn a_problem_too_large_for_memory_says_what_it_needs() {
    let output = solve(&["--dim", "3", "--degree", "8", "--refine", "12"]);
    assert_eq!(output.status.code(), Some(DEVICE), "{}", stderr(&output));
    assert_eq!(stdout(&output), "");
    assert!(stderr(&output).contains("needs") && stderr(&output).contains("bytes"), "{}", stderr(&output));
}

#[test]
fn a_device_that_is_not_there_is_exit_code_4() {
    let device: &[&str] = if has_gpu() { &["--device", "1000"] } else { &[] };
    let output = patchmg(&[&["solve", "--backend", "cuda", "--refine", "2"], device].concat());
    assert_eq!(output.status.code(), Some(DEVICE), "{}", stderr(&output));
    assert_eq!(stdout(&output), "");
    assert!(stderr(&output).contains("no CUDA device"), "{}", stderr(&output));
}

#[test]
fn auto_says_what_it_picked() {
    let output = patchmg(&["solve", "--refine", "2", "--json", "-"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let value: Value = serde_json::from_str(stdout(&output)).unwrap();
    assert_eq!(value["backend"], if has_gpu() { "cuda" } else { "cpu" });
    assert_eq!(stderr(&output).contains("computing on the CPU"), !has_gpu());
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let one = json(&["--dim", "3", "--threads", "1"]);
    let three = json(&["--dim", "3", "--threads", "3"]);
    assert_eq!(one["residual_history"], three["residual_history"]);
    assert_eq!(one["l2_error"], three["l2_error"]);
}
