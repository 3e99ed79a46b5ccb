//! Values that an option does not take: numbers out of range, and names that do not exist.

use crate::common::{USAGE, patchmg, stderr};
use crate::refused;
use std::time::{Duration, Instant};

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
fn boxes_that_there_are_not_are_refused() {
    for value in ["0,1,1", "1,-2,1", "1,1.5,1", "1,,1", "x"] {
        refused(&["--cells", value], &["--cells", "at least 1"]);
    }
    for value in ["0,1,1", "1,-2,1", "1,NaN,1", "1,inf,1", "1,,1", "x"] {
        refused(&["--size", value], &["--size", "above 0"]);
    }
    refused(&["--dim", "2", "--cells", "3,2,1"], &["--cells", "'3,2,1'", "2 numbers in 2D"]);
    refused(&["--dim", "3", "--cells", "3"], &["--cells", "'3'", "3 numbers in 3D"]);
    refused(&["--dim", "3", "--size", "1,2"], &["--size", "'1,2'", "3 numbers in 3D"]);
    refused(&["--dim", "2", "--cells", "3,2", "--size", "1"], &["--size", "'1'", "2 numbers in 2D"]);
    refused(&["--dim", "2", "--size", "1e9,1"], &["--size", "1000000000", "1e-6 to 1e6"]);
    refused(&["--dim", "2", "--size", "1e6,1"], &["--size", "a factor of at most 10000"]);
    refused(&["--dim", "2", "--cells", "16777216,1", "--refine", "1"], &["--cells", "'16777216'", "1 to 8388608"]);
    refused(&["--dim", "2", "--cells", "1025,1025", "--refine", "1"], &["--cells", "1025 x 1025", "even numbers"]);
}

#[test]
fn flows_that_there_are_not_are_refused() {
    let stokes = |arguments: &[&str], parts: &[&str]| refused(&[&["--system", "stokes"], arguments].concat(), parts);
    for (dim, degree, allowed) in [("2", "0", "1 to 8 in 2D"), ("2", "9", "1 to 8 in 2D"), ("3", "6", "1 to 5 in 3D")] {
        stokes(&["--dim", dim, "--degree", degree], &["--degree", &format!("'{degree}'"), allowed]);
    }
    for nu in ["0", "-1", "NaN", "inf", "thick"] {
        stokes(&["--nu", nu], &["--nu", &format!("'{nu}'")]);
    }
    stokes(&["--nu", "-0.5"], &["--nu", "'-0.5'", "above 0"]);
    for mass in ["-1", "-1e-300", "NaN", "inf", "heavy"] {
        stokes(&["--mass", mass], &["--mass", "'"]);
    }
    stokes(&["--mass", "-0.5"], &["--mass", "'-0.5'", "at least 0"]);
    for (option, value) in [("--sigma", "0"), ("--sigma", "-1"), ("--sigma", "NaN"), ("--mu", "NaN"), ("--mu", "inf")] {
        stokes(&[option, value], &[option, "'"]);
        for problem in ["cavity", "taylor-green"] {
            stokes(&[option, "0.5", "--problem", problem], &[option, "'0.5'", "belongs to --problem paper2", problem]);
        }
        refused(&[option, "0.5"], &[option, "'0.5'", "belongs to --system stokes"]);
    }
    stokes(&["--problem", "sine"], &["--problem", "'sine'", "paper2, cavity or taylor-green"]);
    refused(&["--problem", "taylor-green"], &["--problem", "'taylor-green'", "one, sine, cosine or given"]);
    stokes(&["--solver", "fgmres", "--restart", "0"], &["--restart", "'0'", "at least 1"]);
    for solver in ["fmg", "vcycle"] {
        stokes(&["--solver", solver, "--restart", "5"], &["--restart", "'5'", "belongs to --solver gmres or fgmres"]);
    }
}

#[test]
fn choices_that_do_not_exist_are_refused_with_what_does() {
    for (option, value, available) in [
        ("--system", "poisson-fv", "poisson-cg, poisson-dg"),
        ("--problem", "two", "one, sine, cosine"),
        ("--solver", "lu", "fmg, vcycle, gmres, fgmres, cg"),
        ("--smoother", "sor", "patch, additive-patch, point-gs, jacobi, chebyshev, chebyshev-patch, chebyshev4"),
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
