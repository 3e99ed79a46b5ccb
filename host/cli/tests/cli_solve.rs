//! The command line of `patchmg solve`: what it writes where, its messages and its exit codes.

#[path = "../../../tests/common/program.rs"]
mod common;

use assert_cmd::Command;
use common::{DEVICE, NOT_CONVERGED, OUTPUT, USAGE, has_gpu, in_shell, patchmg, stderr, stdout};
use serde_json::Value;
use std::os::unix::fs::symlink;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

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
    refused(&["--threads", "0"], &["--threads", "'0'", "at least 1"]);
    let start = Instant::now();
    for threads in ["4096", "1000000"] {
        refused(&["--threads", threads], &["--threads", threads, "from 1 to", "4 for each core"]);
        // Wherever the solve runs, the host computes its load vector.
        refused(&["--threads", threads, "--backend", "cuda"], &["--threads", threads, "from 1 to"]);
    }
    assert!(start.elapsed() < Duration::from_secs(10), "no thread is started");
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
fn the_memory_plan_has_the_vtu_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("solution.vtu");
    let output = solve(&["--vtu", path.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains("takes 9.60 KiB on the host"), "{}", stdout(&output));
    assert!(!stdout(&solve(&[])).contains("VTU"));
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

#[test]
fn options_that_would_be_ignored_are_refused() {
    for (option, value) in [
        ("--kernel", "global"),
        ("--kernel", "fused"),
        ("--variant", "basic"),
        ("--local", "inverse"),
        ("--thread-structure", "dof"),
        ("--patches-per-block", "2"),
    ] {
        for smoother in ["additive-patch", "point-gs", "jacobi", "chebyshev"] {
            let parts = [option, &format!("'{value}'"), "belongs to --smoother patch", smoother];
            refused(&["--smoother", smoother, option, value], &parts);
        }
    }
    let text = stdout(&solve(&["--smoother", "jacobi"])).to_string();
    assert!(text.contains("smoother   jacobi\n"), "no kernel that is not used: {text}");
    let text = stdout(&solve(&["--kernel", "fused", "--variant", "register"])).to_string();
    assert!(text.contains("smoother   patch: kernel fused, variant register, local solver fdm\n"), "{text}");
}

#[test]
fn the_option_that_was_given_is_named() {
    for (given, named, others) in [
        (&["--variant", "basic"][..], "'basic' for '--variant': cpu has", &["--kernel", "--local"][..]),
        (&["--kernel", "fused", "--local", "inverse"], "'inverse' for '--local': cpu has", &["--kernel", "--variant"]),
        (&["--thread-structure", "dof"], "'dof' for '--thread-structure': cpu has", &["--kernel"]),
        (&["--patches-per-block", "2"], "'2' for '--patches-per-block': cpu has", &["--kernel"]),
        (
            &["--kernel", "global", "--variant", "basic"],
            "'global' for '--kernel': with --variant 'basic', cpu has",
            &[],
        ),
    ] {
        refused(given, &[named, "fused register"]);
        let message = solve(given);
        assert!(others.iter().all(|other| !stderr(&message).contains(other)), "{}", stderr(&message));
    }
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
fn two_results_do_not_share_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    std::fs::create_dir(at("sub")).unwrap();
    symlink("result.svg", at("link")).unwrap();
    symlink(".", at("here")).unwrap();
    for other in ["result.svg", "./result.svg", "sub/../result.svg", "link", "here/result.svg", "sub/../here/link"] {
        refused(&["--json", &at("result.svg"), "--vtu", &at(other)], &["--vtu", other, "--json goes to the same file"]);
        refused(&["--vtu", &at(other), "--plot", &at("result.svg")], &["--plot", "--vtu goes to the same file"]);
    }
    assert!(!Path::new(&at("result.svg")).exists());

    let run = |arguments: &[&str]| {
        let arguments = [&["solve", "--backend", "cpu", "--dim", "2", "--refine", "2"], arguments].concat();
        in_shell("exec", &arguments, &format!(">{}", at("output")))
    };
    for (arguments, holds) in [(&["--vtu"][..], "text"), (&["--json", "-", "--vtu"], "--json")] {
        let output = run(&[arguments, &[&at("output")]].concat());
        assert_eq!(output.status.code(), Some(USAGE), "{}", stderr(&output));
        assert!(stderr(&output).contains("standard output") && stderr(&output).contains(holds), "{}", stderr(&output));
    }
    // Nothing else goes there.
    assert_eq!(run(&["--quiet", "--vtu", &at("output")]).status.code(), Some(0));
    assert!(std::fs::read_to_string(at("output")).unwrap().ends_with("</VTKFile>\n"));
    assert!(solve(&["--json", "/dev/null"]).status.success());
}

#[test]
fn a_vtu_file_is_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let program = || Command::cargo_bin("patchmg").unwrap();
    let output = program().current_dir(&folder).args(["solve", "--refine", "2", "--vtu", "-"]).output().unwrap();
    assert_eq!(output.status.code(), Some(USAGE));
    for part in ["'-' for '--vtu'", "must be a file", "./-"] {
        assert!(stderr(&output).contains(part), "{}", stderr(&output));
    }
    let arguments = ["solve", "--backend", "cpu", "--dim", "2", "--refine", "2", "--vtu", "./-"];
    assert!(program().current_dir(&folder).args(arguments).output().unwrap().status.success());
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
}

#[test]
fn links_are_followed_and_dangling_ones_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    symlink("nowhere/result.json", at("dangling")).unwrap();
    symlink("new.json", at("link")).unwrap();
    refused(&["--json", &at("dangling")], &["--json", "dangling", "must be a file that can be written"]);
    refused(&["--json", &at("nowhere/")], &["--json", "must be a file that can be written"]);
    refused(&["--json", "/proc/self/result.json"], &["--json", "must be a file that can be written"]);
    assert_eq!(solve(&["--json", &at("link"), "--plot", &at("HISTORY.SVG")]).status.code(), Some(0));
    assert!(std::fs::symlink_metadata(at("link")).unwrap().is_symlink());
    let written: Value = serde_json::from_slice(&std::fs::read(at("new.json")).unwrap()).unwrap();
    assert_eq!(written["converged"], true);
    assert!(std::fs::read_to_string(at("HISTORY.SVG")).unwrap().contains("</svg>"));
}

/// A limit of the size of files is as a disk that gets full.
#[test]
fn files_that_cannot_be_written_to_their_end_are_as_before() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let arguments =
        |vtu: &str| ["solve", "--backend", "cpu", "--dim", "2", "--refine", "5", "--vtu", vtu].map(String::from);
    for name in ["old.vtu", "new.vtu"] {
        std::fs::write(at("old.vtu"), "kept").unwrap();
        let arguments = arguments(&at(name));
        let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
        let output = in_shell("trap '' XFSZ; ulimit -f 64; exec", &arguments, "");
        assert_eq!(output.status.code(), Some(OUTPUT), "{}", stderr(&output));
        assert!(stderr(&output).contains(name) && stderr(&output).contains("cannot be written"), "{}", stderr(&output));
        assert!(stdout(&output).contains("converged after"), "what is known is said");
        assert_eq!(std::fs::read_to_string(at("old.vtu")).unwrap(), "kept");
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1, "nothing else is left");
        // Killed by the signal amid its work.
        let output = in_shell("ulimit -f 64; exec", &arguments, "");
        assert_eq!(output.status.code(), None, "{}", stderr(&output));
        assert_eq!(std::fs::read_to_string(at("old.vtu")).unwrap(), "kept");
        assert!(!Path::new(&at("new.vtu")).exists());
        for entry in std::fs::read_dir(&folder).unwrap().map(Result::unwrap) {
            if entry.file_name() != "old.vtu" {
                std::fs::remove_file(entry.path()).unwrap();
            }
        }
    }
    for option in ["--json", "--vtu"] {
        let output = solve(&[option, "/dev/full"]);
        assert_eq!(output.status.code(), Some(OUTPUT), "{}", stderr(&output));
        assert!(stderr(&output).contains("/dev/full cannot be written: No space left"), "{}", stderr(&output));
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

/// Of a process, which is what containers and batch systems limit as well.
#[test]
fn limits_of_memory_count() {
    let solve = |refine: &str, kibibytes: usize| {
        let size = ["solve", "--backend", "cpu", "--dim", "2", "--degree", "4", "--threads", "2", "--refine", refine];
        in_shell(&format!("ulimit -v {kibibytes}; exec"), &size, "")
    };
    // Six vectors of 17 million unknowns are 0.8 GB.
    let output = solve("10", 600 << 10);
    assert_eq!(output.status.code(), Some(DEVICE), "{}", stderr(&output));
    assert!(stderr(&output).contains("needs") && stderr(&output).contains("bytes"), "{}", stderr(&output));
    assert_eq!(stdout(&output), "");
    // Wherever memory ends the program says so, once the system has found room for the program itself.
    let program = std::fs::metadata(assert_cmd::cargo::cargo_bin("patchmg")).unwrap().len() as usize >> 10;
    let codes: Vec<_> = (0..30).map(|step| solve("6", program - (8 << 10) + 1500 * step)).collect();
    for output in &codes {
        // The C library has words and endings of its own.
        let system = ["error while loading shared libraries", "Fatal glibc error"];
        let loader = system.iter().any(|message| stderr(output).contains(message));
        let not_started = output.status.signal() == Some(11) && output.stdout.is_empty() && output.stderr.is_empty();
        let said = [Some(0), Some(DEVICE)].contains(&output.status.code());
        assert!(said || loader || not_started, "{:?} {}", output.status, stderr(output));
    }
    for code in [0, DEVICE] {
        assert!(codes.iter().any(|output| output.status.code() == Some(code)), "none ends with {code}");
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
    let phases = ["load vector: ", "set-up", "solve: ", "errors: ", "output: "];
    let lines: Vec<_> = stderr(&debug).lines().collect();
    assert_eq!(lines.len(), phases.len(), "{lines:?}");
    assert_eq!(stderr(&logged("patchmg=debug")).lines().count(), phases.len());
    for (line, phase) in lines.iter().zip(phases) {
        assert!(line.contains("DEBUG") && line.contains(phase), "no '{phase}' in: {line}");
    }
    let [silent, debug] = [silent, debug].map(|output| serde_json::from_slice::<Value>(&output.stdout).unwrap());
    assert_eq!(silent["residual_history"], debug["residual_history"]);
    for filter in ["solve=loud", "loud", "debug,loud"] {
        let wrong = logged(filter);
        assert_eq!(wrong.status.code(), Some(USAGE));
        assert!(stderr(&wrong).contains(&format!("'{filter}' for PATCHMG_LOG")), "{}", stderr(&wrong));
    }
    assert_eq!(stderr(&logged("")), "");
}

#[test]
fn architectures_without_kernels_are_refused() {
    for arch in ["sm_70", "sm_75", "sm_81", "90", "sm_90f"] {
        let output = patchmg(&["kernels", "--arch", arch, "--degree", "1"]);
        assert_eq!(output.status.code(), Some(USAGE));
        for part in ["--arch", arch, "sm_80", "sm_90"] {
            assert!(stderr(&output).contains(part), "{}", stderr(&output));
        }
    }
    let output = patchmg(&["kernels", "--arch", "sm_90", "--ptx", "blas1_dots_f64"]);
    assert_eq!(output.status.code(), Some(USAGE), "the text of the PTX is not for an architecture");
}
