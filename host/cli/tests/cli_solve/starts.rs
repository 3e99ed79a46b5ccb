//! Solutions as arrays of NumPy, and solves that begin with them.

use crate::common::{USAGE, patchmg, stderr, stdout};
use crate::{json, refused, solve};
use serde_json::Value;
use tempfile::TempDir;

fn file(folder: &TempDir, name: &str) -> String {
    folder.path().join(name).to_str().unwrap().to_string()
}

const SYSTEMS: [&[&str]; 6] = [
    &["--system", "poisson-cg"],
    &["--system", "poisson-cg", "--dim", "3", "--refine", "2", "--problem", "one"],
    &["--system", "poisson-dg", "--problem", "cosine"],
    &["--system", "stokes", "--degree", "2", "--solver", "fgmres"],
    &["--system", "stokes", "--degree", "1", "--solver", "fgmres", "--problem", "cavity"],
    &["--system", "elliptic", "--mesh", "shell", "--refine", "2"],
];

#[test]
fn a_solve_that_begins_with_its_solution_is_done() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder, "u.npz");
    for system in SYSTEMS {
        let first = json(&[system, &["--npz", &path]].concat());
        assert!(first["iterations"].as_u64().unwrap() >= 2);
        let second = json(&[system, &["--start-from", &path]].concat());
        assert!(second["iterations"].as_u64().unwrap() <= 1, "{system:?}: {}", second["iterations"]);
        assert!(second["residual_history"][0].as_f64().unwrap() < 1.001e-9, "{system:?}: {second}");
        for error in ["l2_error", "l2_error_p"] {
            let [first, second] = [&first, &second].map(|result| result[error].as_f64().unwrap_or(0.0));
            approx::assert_relative_eq!(first, second, max_relative = 1e-4);
        }
    }
}

#[test]
fn a_solve_goes_on_from_a_solution() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder, "u.npz");
    for solver in ["fmg", "vcycle", "gmres", "fgmres", "cg"] {
        for precision in ["f64", "mixed"] {
            let arguments = |rtol| ["--solver", solver, "--precision", precision, "--rtol", rtol];
            json(&[&arguments("1e-5")[..], &["--npz", &path]].concat());
            let [fresh, warm] =
                [&[][..], &["--start-from", &path]].map(|start| json(&[&arguments("1e-10")[..], start].concat()));
            let [many, few] = [&fresh, &warm].map(|result| result["iterations"].as_u64().unwrap());
            assert!(few < many, "{solver} {precision}: {few} from a solution, {many} without one");
            assert!(warm["residual_history"][0].as_f64().unwrap() < 1e-5, "{solver} {precision}");
        }
    }
}

#[test]
fn newtons_method_goes_on_from_a_solution() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder, "film.npz");
    let film = ["--system", "elliptic", "--problem", "minimal-surface", "--refine", "2"];
    let first = json(&[&film[..], &["--npz", &path]].concat());
    let second = json(&[&film[..], &["--start-from", &path]].concat());
    assert!(first["iterations"].as_u64().unwrap() >= 3 && second["iterations"].as_u64().unwrap() <= 1);
    approx::assert_relative_eq!(
        first["area"].as_f64().unwrap(),
        second["area"].as_f64().unwrap(),
        max_relative = 1e-12
    );
}

/// On the first mesh alone.
#[test]
fn adaptive_runs_begin_with_a_solution() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder, "u.npz");
    let coarse = ["--system", "elliptic", "--mesh", "lshape", "--refine", "2"];
    json(&[&coarse[..], &["--npz", &path]].concat());
    let adapted = json(&[&coarse[..], &["--adapt", "1", "--start-from", &path]].concat());
    let iterations = |cycle: usize| adapted["cycles"][cycle]["iterations"].as_u64().unwrap();
    assert!(iterations(0) <= 1 && iterations(1) > 1, "{}", adapted["cycles"]);
    // The nodes of the last mesh are others.
    json(&[&coarse[..], &["--adapt", "1", "--npz", &path]].concat());
    refused(&[&coarse[..], &["--start-from", &path]].concat(), &["--start-from", "the shape of 'values' is ("]);
}

#[test]
fn other_solutions_are_refused_with_what_differs() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder, "u.npz");
    json(&["--refine", "4", "--degree", "2", "--npz", &path]);
    let start = |arguments: &[&str], parts: &[&str]| {
        refused(&[arguments, &["--start-from", &path]].concat(), &[&[&*path, "for '--start-from'"], parts].concat());
    };
    start(&["--refine", "3", "--degree", "2"], &["the shape of 'values' is (33, 33), but must be (17, 17)"]);
    start(&["--dim", "3", "--refine", "2"], &["is (33, 33), but must be (13, 13, 13)"]);
    // As many nodes elsewhere.
    start(&["--refine", "3", "--degree", "4"], &["of node", "in 'points' is ", ", as in this problem"]);
    start(
        &["--refine", "4", "--degree", "2", "--size", "1,2"],
        &["coordinate y of node 1056 in 'points' is 1, but must be 2"],
    );
    start(
        &["--system", "stokes", "--solver", "fgmres"],
        &["the list of arrays is points, values, but must be velocity_x, "],
    );
    let result = file(&folder, "result.json");
    std::fs::write(&result, "{}").unwrap();
    refused(&["--start-from", &result], &[&*result, "the file is no archive", "must be an .npz archive of NumPy"]);
    refused(&["--start-from", &file(&folder, "nothing.npz")], &["nothing.npz", "for '--start-from'", "No such file"]);
    let output = patchmg(&["converge", "--dim", "2", "--start-from", &path]);
    assert_eq!((output.status.code(), stdout(&output)), (Some(USAGE), ""));
    assert!(stderr(&output).contains("belongs to patchmg solve and patchmg bench"), "{}", stderr(&output));
}

#[test]
fn results_say_what_a_solve_began_with() {
    let folder = tempfile::tempdir().unwrap();
    let (path, result) = (file(&folder, "u.npz"), file(&folder, "result.json"));
    json(&["--npz", &path]);
    let first = solve(&["--start-from", &path, "--json", &result]);
    assert!(first.status.success(), "{}", stderr(&first));
    let first: Value = serde_json::from_slice(&std::fs::read(&result).unwrap()).unwrap();
    assert_eq!(first["options"]["start-from"], path);
    let again = patchmg(&["solve", &result, "--json", "-"]);
    let again: Value = serde_json::from_str(stdout(&again)).unwrap();
    assert_eq!(again["residual_history"], first["residual_history"]);
    let bench = patchmg(&["bench", &result, "--repetitions", "1", "--json", "-"]);
    let bench: Value = serde_json::from_str(stdout(&bench)).unwrap();
    assert_eq!(bench["residual_history"], first["residual_history"]);
}
