//! Solvers, precisions, smoothers, elements and numbers of threads: what each finds.

use crate::common::stderr;
use crate::{json, solve, tags};
use serde_json::Value;

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
    for smoother in ["patch", "additive-patch", "point-gs", "jacobi", "chebyshev", "chebyshev4"] {
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
fn boxes_have_cells_and_lengths_of_their_own() {
    let value = json(&["--dim", "3", "--cells", "3,2,1", "--size", "1.5,1,0.5", "--degree", "3", "--refine", "2"]);
    assert_eq!(
        (&value["base_cells"], &value["size"]),
        (&Value::from(vec![3, 2, 1]), &Value::from(vec![1.5, 1.0, 0.5]))
    );
    // 12 x 8 x 4 cells.
    assert_eq!((&value["cells"], &value["dofs"]), (&Value::from(384), &Value::from(35 * 23 * 11)));
    assert_eq!((&value["converged"], &value["refine"]), (&Value::from(true), &Value::from(2)));
    for system in ["poisson-cg", "poisson-dg"] {
        let value = json(&["--system", system, "--dim", "2", "--size", "1,100", "--solver", "gmres", "--refine", "4"]);
        assert_eq!(value["converged"], true);
        assert!(value["iterations"].as_u64().unwrap() <= 6, "{system}");
    }
    // The dimension is that of the numbers.
    let output =
        crate::common::patchmg(&["solve", "--cells", "3,2", "--degree", "2", "--refine", "2", "--backend", "cpu"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("on the unit square, degree 2, 3 x 2 cells refined 2 times"), "{text}");
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
    assert!(tags(path).contains("NumberOfPoints=\"1024\""));
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let one = json(&["--dim", "3", "--threads", "1"]);
    let three = json(&["--dim", "3", "--threads", "3"]);
    assert_eq!(one["residual_history"], three["residual_history"]);
    assert_eq!(one["l2_error"], three["l2_error"]);
}
