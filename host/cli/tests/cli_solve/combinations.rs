//! Options that belong together: what a smoother, a system or a kernel takes, and what it refuses.

use crate::common::{stderr, stdout};
use crate::{json, refused, solve};

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
fn what_a_system_does_not_take_is_refused() {
    let dg = |arguments: &[&'static str]| [&["--system", "poisson-dg"], arguments].concat();
    refused(&dg(&["--degree", "9"]), &["--degree", "'9'", "1 to 8 with discontinuous elements"]);
    for smoother in ["point-gs", "additive-patch", "jacobi"] {
        refused(
            &dg(&["--smoother", smoother]),
            &["--smoother", smoother, "patch, chebyshev or chebyshev4 with discontinuous"],
        );
    }
    refused(&dg(&["--variant", "linear"]), &["--variant", "'linear'", "register"]);
    refused(&dg(&["--kernel", "global"]), &["--kernel", "'global'", "fused"]);
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
    refused(&dg(&["--engine", "fma", "--kernel", "separate"]), &["--kernel", "'separate'", "there is: fused register"]);
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
        (&["--kernel", "fused", "--local", "inverse"], "'inverse' for '--local': there is", &["--kernel", "--variant"]),
        (&["--thread-structure", "dof"], "'dof' for '--thread-structure': there is", &["--kernel"]),
        (&["--patches-per-block", "2"], "'2' for '--patches-per-block': there is", &["--kernel"]),
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
fn local_solvers_belong_to_their_system() {
    let stokes =
        |options: &[&'static str]| [&["--system", "stokes", "--degree", "1", "--refine", "2"], options].concat();
    refused(&stokes(&["--local", "fdm"]), &["--local", "'fdm'", "exact, schur-cg, inverse", "--system stokes"]);
    for local in ["exact", "schur-cg"] {
        refused(&["--local", local], &["--local", local, "fdm"]);
    }
    refused(&["--local-steps", "3"], &["--local-steps", "'3'", "belongs to --system stokes"]);
    for options in [&["--local-steps", "3"][..], &["--local-steps", "3", "--local", "inverse"]] {
        refused(&stokes(options), &["--local-steps", "'3'", "belongs to --local schur-cg"]);
    }
    for steps in ["0", "1001"] {
        refused(&stokes(&["--local", "schur-cg", "--local-steps", steps]), &["--local-steps", steps, "from 1 to 1000"]);
    }
    refused(&stokes(&["--local", "schur-cg", "--local-steps", "many"]), &["--local-steps", "'many'", "whole number"]);
    let large = ["--system", "stokes", "--dim", "3", "--degree", "5", "--refine", "3", "--local", "inverse"];
    refused(&large, &["--local", "2.50 GiB", "at most 2.00 GiB"]);
    let text = stdout(&solve(&stokes(&["--local", "schur-cg", "--local-steps", "7"]))).to_string();
    assert!(text.contains("smoother   patch: residual of all dofs, then local solver schur-cg, 7 steps\n"), "{text}");
}
