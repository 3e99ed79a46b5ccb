//! `patchmg compare`: kernels of two folders of PTX, and their times on a GPU.

#[path = "../../../tests/common/program.rs"]
mod common;

use common::{DEVICE, USAGE, has_gpu, laboratory, patchmg, stderr, stdout};
use patchmg_lab::modules::{Source, time};
use serde_json::Value;
use std::path::Path;
use std::process::Output;

/// Writes the program's PTX of modules to a folder.
fn write(folder: &Path, filter: &[&str]) {
    let output = laboratory(&[&["kernels", "--ptx-folder", folder.to_str().unwrap()], filter].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

fn compare(a: &Path, b: &Path, more: &[&str]) -> Output {
    laboratory(&[&["compare", a.to_str().unwrap(), b.to_str().unwrap()], more].concat())
}

fn succeeds(output: &Output) -> &str {
    assert_eq!(output.status.code(), Some(0), "{}{}", stdout(output), stderr(output));
    stdout(output)
}

/// Changes the text of a module.
fn change(folder: &Path, module: &str, with: impl FnOnce(String) -> String) {
    let path = folder.join(format!("{module}.ptx"));
    let text = std::fs::read_to_string(&path).unwrap();
    let changed = with(text.clone());
    assert!(changed != text, "nothing changes in {module}");
    std::fs::write(path, changed).unwrap();
}

/// A barrier at the start of `kernel`.
fn with_a_barrier(text: String, kernel: &str) -> String {
    let start = text.find(&format!(".entry {kernel}(")).unwrap();
    let body = start + text[start..].find("\n{\n").unwrap() + "\n{\n".len();
    format!("{}\tbar.sync \t0;\n{}", &text[..body], &text[body..])
}

#[test]
fn what_differs_is_listed_and_what_is_the_same_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let [a, b] = ["a", "b"].map(|name| folder.path().join(name));
    [&a, &b].into_iter().for_each(|folder| write(folder, &["axis"]));
    let output = compare(&a, &b, &[]);
    assert!(succeeds(&output).contains("4 kernels: 0 differ, 0 differ in their text alone, 4 are the same"));
    assert!(!stdout(&output).contains("axis_apply"), "{}", stdout(&output));
    let output = compare(Path::new("built-in"), &a, &["--all", "--scalar", "f64"]);
    for part in ["A: built-in", "axis_apply_f64", "registers", "integer", "2 kernels: 0 differ"] {
        assert!(succeeds(&output).contains(part), "no '{part}' in {}", stdout(&output));
    }

    change(&b, "axis", |text| with_a_barrier(text, "axis_apply_f64"));
    // `patchmg` hands over.
    let output = patchmg(&["compare", a.to_str().unwrap(), b.to_str().unwrap()]);
    let said = succeeds(&output);
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let barriers = said.lines().map(words).find(|words| words.iter().any(|word| word == "barriers"));
    let barriers = barriers.unwrap_or_else(|| panic!("{said}"));
    assert_eq!(barriers[barriers.len() - 4..], ["barriers", "0", "1", "+1"], "{said}");
    assert!(said.contains("axis_apply_f64") && !said.contains("axis_apply_f32"), "{said}");
    assert!(said.contains("4 kernels: 1 differ, 0 differ in their text alone, 3 are the same"), "{said}");
    assert!(said.lines().all(|line| line.chars().count() <= 120 || line.contains("ptxas")), "{said}");

    let output = compare(&a, &b, &["--json", "-"]);
    let comparison: Value = serde_json::from_str(succeeds(&output)).unwrap();
    assert_eq!((&comparison["a"]["source"], &comparison["times"]), (&a.to_str().unwrap().into(), &Value::Null));
    let kernels = comparison["kernels"].as_array().unwrap();
    assert_eq!(kernels.len(), 4);
    for kernel in kernels {
        let changed = kernel["name"] == "axis_apply_f64";
        assert_eq!(kernel["same_ptx"], !changed, "{kernel}");
        let [a, b] = [&kernel["a"], &kernel["b"]];
        assert_eq!(a == b, !changed, "{kernel}");
        for side in [a, b] {
            assert_eq!(side["registers"].is_null(), comparison["ptxas_version"].is_null(), "{kernel}");
        }
        let total = |side: &Value| side["instructions"]["total"].as_u64().unwrap();
        assert_eq!(total(b), total(a) + u64::from(changed));
    }
    // As an assembler is required where there must be one.
    assert!(std::env::var_os("PATCHMG_REQUIRE_ASSEMBLER").is_none() || !comparison["ptxas_version"].is_null());
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let (a, b, empty) = (at("a"), at("b"), at("empty"));
    write(&a, &["--dim", "2", "--degree", "1", "apply"]);
    write(&b, &["--dim", "2", "--degree", "1", "poisson_cg"]);
    std::fs::create_dir(&empty).unwrap();
    let built_in = Path::new("built-in");
    let (nowhere, newer) = (at("nowhere"), at("newer"));
    write(&newer, &["axis"]);
    change(&newer, "axis", |text| text.replace(".target sm_80", ".target sm_100"));
    let has_assembler = std::env::var_os("PATCHMG_PTXAS").is_some();
    for (a, b, more, parts) in [
        (built_in, &*nowhere, &[][..], &["nowhere", "no folder", "built-in"][..]),
        (built_in, &empty, &[], &["empty", "no PTX of a module"]),
        (&a, &b, &[], &["b: lacks modules of", "poisson_dg_2d_q1", "--only"]),
        (built_in, &b, &["--degree", "2"], &["degree 2", "poisson_cg_2d_q1"]),
        (built_in, &b, &["--only", "2d_q1_smoth"], &["2d_q1_smoth", "it has"]),
        (built_in, &b, &["--arch", "ninety"], &["--arch", "'ninety'"]),
        (built_in, &newer, &[], &["axis.ptx", "'sm_100'", "--arch"]),
        (built_in, &b, &["--runs", "3"], &["--time"]),
        (built_in, &b, &["--time", "--", "--degree", "x"], &["--degree", "'x'"]),
        (built_in, &b, &["--time", "--", "--suite", "speed"], &["--suite", "one problem"]),
        (built_in, &b, &["--time", "--", "--backend", "cpu"], &["--backend must be cuda"]),
    ] {
        if b == newer && !has_assembler {
            continue;
        }
        let output = compare(a, b, more);
        assert_eq!(output.status.code(), Some(USAGE), "{more:?}: {}{}", stdout(&output), stderr(&output));
        for part in parts {
            assert!(stderr(&output).contains(part), "{more:?}: no '{part}' in {}", stderr(&output));
        }
    }
}

#[test]
fn kernels_are_timed_by_turns_on_a_gpu() {
    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("other");
    write(&other, &["poisson_cg_2d_q3"]);
    change(&other, "poisson_cg_2d_q3", |text| with_a_barrier(text, "poisson_cg_2d_q3_apply_f64"));
    let problem = ["--time", "--runs", "2", "--json", "-", "--", "--dim", "2", "--degree", "3", "--refine", "3"];
    let output = compare(Path::new("built-in"), &other, &problem);
    if !has_gpu() {
        assert_eq!((output.status.code(), stdout(&output)), (Some(DEVICE), ""), "{}", stderr(&output));
        return;
    }
    let comparison: Value = serde_json::from_str(succeeds(&output)).unwrap();
    let times = &comparison["times"];
    assert_eq!(times["runs"], 2, "{times}");
    assert_eq!(times["differing"], serde_json::json!(["poisson_cg_2d_q3_apply_f64"]), "{times}");
    let parts = times["parts"].as_array().unwrap();
    assert!(parts.iter().any(|part| part["name"] == "operator, f64"), "{times}");
    for part in parts {
        assert!(part["a"]["median_s"].as_f64() > Some(0.0) && part["b"]["median_s"].as_f64() > Some(0.0), "{part}");
    }
    let output =
        compare(&other, &other, &["--time", "--runs", "1", "--", "--dim", "2", "--degree", "3", "--refine", "2"]);
    assert!(succeeds(&output).contains("none of them differs"), "{}", stdout(&output));
}

#[test]
fn a_run_is_a_process_of_its_own_that_says_what_it_timed() {
    let program = assert_cmd::cargo::cargo_bin("patchmg-lab");
    // Whatever the machine: on a CPU the kernels are others.
    let problem = ["--backend", "cpu", "--dim", "2", "--degree", "2", "--refine", "2", "--repetitions", "1"];
    let mut begun = Vec::new();
    let sources = [&Source::BuiltIn; 2];
    let times = time(&program, sources, &problem.map(String::from), 2, |run, side| begun.push(format!("{run}{side}")));
    let times = times.unwrap();
    assert_eq!(begun, ["0A", "0B", "1B", "1A"]);
    assert_eq!((times.runs, times.kernels, times.iterations[0]), (2, 0, times.iterations[1]));
    let names: Vec<_> = times.parts.iter().map(|part| part.name.as_str()).collect();
    assert!(names.contains(&"operator, f64") && names.contains(&"solve, f64"), "{names:?}");
    assert!(times.parts.iter().all(|part| part.a.median_s > 0.0 && part.a.repetitions == 2));
    let error = time(&program, sources, &["--degree".into(), "99".into()], 1, |_, _| ()).unwrap_err().to_string();
    assert!(error.contains("bench with built-in") && error.contains("99"), "{error}");
}
