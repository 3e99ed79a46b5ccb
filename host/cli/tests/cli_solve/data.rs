//! Data of problems on forests as expressions.

use super::forests::square;
use crate::{json, refused};
use serde_json::Value;

fn elliptic(options: &[&str]) -> Value {
    json(&[&["--system", "elliptic", "--degree", "2", "--rtol", "1e-11"], options].concat())
}

fn assert_same(found: &Value, expected: &Value, names: &[&str]) {
    for name in names {
        let [found, expected] = [found, expected].map(|report| report[name].as_f64().unwrap());
        assert!((found / expected - 1.0).abs() < 1e-6, "{name}: {found}, {expected}");
    }
}

#[test]
fn problems_of_the_library_are_written_as_expressions() {
    let solution = "max(0, (x^2 + y^2)^(1/3) * sin(2/3 * (pi + atan2(y, -x))))";
    let given = elliptic(&["--mesh", "lshape", "--adapt", "1", "--exact", solution]);
    assert_eq!(given["problem"], "given");
    let corner = elliptic(&["--mesh", "lshape", "--adapt", "1"]);
    assert_same(&given, &corner, &["cells", "iterations", "l2_error", "h1_error"]);

    let coefficient = "1 + 0.5 * sin(2*pi*x) * sin(2*pi*y)";
    let given = elliptic(&["--rhs", "1", "--coefficient", coefficient]);
    let variable = elliptic(&["--mesh", "box"]);
    assert_same(&given["cycles"][0], &variable["cycles"][0], &["dofs", "l2_norm", "max_nodal", "estimate"]);
    // Nothing is given but the name: u = 0.
    assert_eq!(elliptic(&["--problem", "given"])["cycles"][0]["max_nodal"], 0.0);
}

/// A solution of degree 2 in each direction is found to rounding errors.
#[test]
fn sides_and_boundaries_take_expressions() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("square.msh");
    std::fs::write(&path, square(3)).unwrap();
    let data = ["--mesh", path.to_str().unwrap(), "--refine", "1", "--rhs", "-2*y", "--exact", "x^2 * y"];
    let right = ["5=neumann:2*y", "5=robin:1 + y:2*y + (1 + y)*y", "5=dirichlet:y"];
    for right in right {
        let solved = elliptic(&[&data[..], &["--side", "3=neumann:-x^2", "--side", right]].concat());
        assert!(solved["l2_error"].as_f64().unwrap() < 1e-9, "{right}: {solved}");
        assert!(solved["h1_error"].as_f64().unwrap() < 1e-8, "{right}: {solved}");
    }
    // --boundary goes before --exact.
    let raised = elliptic(&[&data[..], &["--boundary", "x^2 * y + 3"]].concat());
    assert!((raised["l2_error"].as_f64().unwrap() - 3.0).abs() < 1e-9, "{raised}");
}

#[test]
fn bad_expressions_are_refused() {
    let forest = |arguments: &[&str], parts: &[&str]| {
        refused(&[&["--system", "elliptic", "--json", "-"], arguments].concat(), parts);
    };
    forest(&["--rhs", "1 + sine(x)"], &["--rhs", "column 5", "'sine'", "did you mean 'sin'"]);
    forest(&["--exact", "x + z"], &["--exact", "'x + z'", "has z, must be of x and y in 2D"]);
    forest(&["--problem", "given", "--side", "0=neumann:z"], &["--side", "'0=neumann:z'", "has z"]);
    forest(&["--side", "0=neumann:x +"], &["--side", "'x +': column 4", "PLACE=robin:ALPHA:VALUE"]);
    forest(&["--rhs", &"(".repeat(2000)], &["--rhs", "nested deeper than 100"]);
    forest(&["--rhs", "1 / (x - x)"], &["right-hand side is not finite: inf at ["]);
    forest(&["--boundary", "log(x - 2)"], &["boundary value is not finite: NaN at ["]);
    forest(&["--coefficient", "x - 0.5"], &["coefficient", "-0.", "at [", "positive"]);
    forest(
        &["--exact", "sqrt(x - 0.5)", "--boundary", "0"],
        &["the exact solution or its gradient is not finite: NaN at ["],
    );
    forest(&["--problem", "corner", "--rhs", "1"], &["--rhs", "belongs to --problem given", "corner"]);
    forest(&["--boundary", "x", "--side", "0=robin:1:0"], &["--boundary", "each boundary has a --side"]);
    refused(&["--coefficient", "1"], &["--coefficient", "belongs to --system elliptic, and --system is poisson-cg"]);
    let reason = "belongs to --system poisson-cg, poisson-dg, elliptic";
    refused(&["--system", "stokes", "--rhs", "1"], &["--rhs", reason]);
}
