//! The JSON report: its fields, and what they say.

use crate::common::stdout;
use crate::{json, refused, solve};
use serde_json::Value;

/// Field names in the order in which they are written.
const FIELDS: [&str; 34] = [
    "system",
    "dim",
    "degree",
    "refine",
    "base_cells",
    "size",
    "cells",
    "dofs",
    "problem",
    "solver",
    "smoother",
    "cycle",
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
    "options",
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
fn errors_are_null_where_no_solution_is_known() {
    let value = json(&["--problem", "one"]);
    assert_eq!((&value["l2_error"], &value["h1_error"]), (&Value::Null, &Value::Null));
}

#[test]
fn flows_have_errors_of_the_pressure_and_a_divergence() {
    let stokes = ["--system", "stokes", "--degree", "1", "--refine", "2", "--solver", "fgmres"];
    let known = json(&stokes);
    assert!(known["l2_error_p"].as_f64().unwrap() > 0.0 && known["div_max"].as_f64().unwrap() < 1e-12);
    let unknown = json(&[&stokes[..], &["--problem", "cavity"]].concat());
    assert!(unknown["l2_error_p"].is_null() && unknown.as_object().unwrap().contains_key("l2_error_p"));
    assert!(unknown["div_max"].as_f64().unwrap() < 1e-12);
    let poisson = json(&[]);
    assert!(!poisson.as_object().unwrap().contains_key("l2_error_p"));
}

#[test]
fn flows_say_their_parameters() {
    let stokes = ["--system", "stokes", "--degree", "1", "--refine", "2", "--solver", "fgmres"];
    let names = ["nu", "mass", "mu", "sigma", "restart"];
    for (options, expected) in [
        (&[][..], [Some(1.0), Some(0.0), Some(0.5), Some(1.0), Some(30.0)]),
        (
            &["--nu", "0.25", "--mass", "50", "--mu", "0.4", "--sigma", "2", "--restart", "7"],
            [Some(0.25), Some(50.0), Some(0.4), Some(2.0), Some(7.0)],
        ),
        (&["--problem", "cavity"], [Some(1.0), Some(0.0), None, None, Some(30.0)]),
        (&["--problem", "taylor-green", "--mass", "3"], [Some(1.0), Some(3.0), None, None, Some(30.0)]),
    ] {
        let value = json(&[&stokes[..], options].concat());
        for (name, expected) in names.into_iter().zip(expected) {
            assert_eq!(value.get(name).map(|value| value.as_f64().unwrap()), expected, "{name} with {options:?}");
        }
        assert!(value["div_max"].as_f64().unwrap() < 1e-11, "{value}");
    }
    // A basis of two vectors takes more iterations, and other systems have no viscosity.
    let count = |restart| json(&[&stokes[..], &["--restart", restart]].concat())["iterations"].as_u64().unwrap();
    assert!(count("2") > count("30"));
    let poisson = json(&["--solver", "gmres"]);
    assert_eq!((poisson.get("nu"), poisson["restart"].as_u64()), (None, Some(10)));
}

#[test]
fn results_name_the_local_solver_of_flows() {
    let stokes = ["--system", "stokes", "--degree", "2", "--refine", "2", "--dim", "2", "--solver", "fgmres"];
    let solve = |options: &[&str]| json(&[&stokes[..], options].concat());
    assert_eq!(solve(&[])["local"], "exact");
    let mut counts = Vec::new();
    for local in ["exact", "schur-cg", "inverse"] {
        let value = solve(&["--local", local]);
        assert_eq!((&value["local"], &value["converged"]), (&Value::from(local), &Value::Bool(true)));
        counts.push(value["fractional_iterations"].as_f64().unwrap());
    }
    assert!(counts.iter().all(|count| (count - counts[0]).abs() < 0.01), "{counts:?}");
    let one_step = solve(&["--local", "schur-cg", "--local-steps", "1"]);
    let steps =
        [&one_step, &solve(&["--local", "schur-cg"]), &solve(&[])].map(|value| value.get("local_steps").cloned());
    assert_eq!(steps, [Some(Value::from(1)), Some(Value::from(15)), None]);
    assert!(one_step["fractional_iterations"].as_f64().unwrap() > counts[0] + 0.5, "{one_step}");
}

#[test]
fn errors_are_left_out_on_request() {
    for options in [&[][..], &["--system", "poisson-dg", "--solver", "fgmres"], &["--diffusion", "1,2"]] {
        let with = json(&[&["--dim", "2"], options].concat());
        let without = json(&[&["--dim", "2", "--no-errors"], options].concat());
        for field in ["l2_error", "h1_error"] {
            assert!(with[field].is_f64() && without[field].is_null(), "{field}: {with} {without}");
        }
        assert_eq!(with["residual_history"], without["residual_history"]);
    }
    assert!(!stdout(&solve(&["--no-errors"])).contains("H1 seminorm"));
    refused(&["--system", "elliptic", "--no-errors"], &["--no-errors", "elliptic", "refines its mesh"]);
}
