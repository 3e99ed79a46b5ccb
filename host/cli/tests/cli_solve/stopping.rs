//! Solves that do not converge: exit code 3, and the reason.

use crate::common::{NOT_CONVERGED, stderr, stdout};
use crate::solve;
use serde_json::Value;

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
