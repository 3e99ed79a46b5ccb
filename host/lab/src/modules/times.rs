//! Times of one problem by the kernels of two sources.

use super::Source;
use crate::compare::{Entry, Record};
use patchmg::measure::Timing;
use patchmg_cli::error::{Error, Result};
use patchmg_cli::report::BenchReport;
use serde::Serialize;
use std::path::Path;
use std::process::Command;

/// The folder whose PTX wins over that in the program.
const FOLDER_VARIABLE: &str = "PATCHMG_PTX_DIR";

/// Times of a problem with A and B, in the order of their JSON.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Times {
    pub device: String,
    pub driver: Option<String>,
    /// Options of `bench`.
    pub problem: Vec<String>,
    /// Processes with each of A and B.
    pub runs: usize,
    /// Kernels that the problem launches.
    pub kernels: usize,
    /// Those of them whose PTX differs.
    pub differing: Vec<String>,
    /// Of the solver with A and with B.
    pub iterations: [usize; 2],
    pub parts: Vec<PartTimes>,
}

/// Times of a part of the problem: medians and extremes of the medians of the runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PartTimes {
    pub name: String,
    pub a: Timing,
    pub b: Timing,
    /// How much longer B takes, percent of the median of A.
    pub change_percent: f64,
    /// Whether every run of one is faster than every run of the other.
    pub is_apart: bool,
}

impl PartTimes {
    fn new(name: String, a: Timing, b: Timing) -> Self {
        let change_percent = 100.0 * (b.median_s / a.median_s - 1.0);
        Self { name, a, b, change_percent, is_apart: a.max_s < b.min_s || b.max_s < a.min_s }
    }
}

/// Runs `program bench` with these options, with A and B by turns, each `runs` times; `begin` is told of each run.
///
/// # Errors
/// [`Error::Tool`] for a run that fails, does not converge, or says something else than the others.
pub fn time(
    program: &Path,
    sources: [&Source; 2],
    problem: &[String],
    runs: usize,
    mut begin: impl FnMut(usize, &str),
) -> Result<Times> {
    let mut reports = [Vec::new(), Vec::new()];
    for run in 0..runs {
        for side in order(run) {
            begin(run, ["A", "B"][side]);
            reports[side].push(bench(program, sources[side].path(), problem)?);
        }
    }
    let failed = |message: &str| Error::Tool { program: program.display().to_string(), message: message.into() };
    let [a, b] = reports;
    summary(problem, &a, &b).ok_or_else(|| failed("its runs do not time the same parts"))
}

/// A is 0, B is 1. Who goes first takes turns, too: a GPU that gets warm is slower for the second one.
fn order(run: usize) -> [usize; 2] {
    if run.is_multiple_of(2) { [0, 1] } else { [1, 0] }
}

/// One process.
fn bench(program: &Path, folder: Option<&Path>, problem: &[String]) -> Result<BenchReport> {
    let failed = |message: String| Error::Tool { program: program.display().to_string(), message };
    let mut command = Command::new(program);
    command.arg("bench").args(problem).args(["--json", "-", "--quiet"]);
    match folder {
        Some(folder) => command.env(FOLDER_VARIABLE, folder),
        None => command.env_remove(FOLDER_VARIABLE),
    };
    let output = command.output().map_err(|source| failed(source.to_string()))?;
    let with = folder.map_or(String::from("built-in"), |folder| folder.display().to_string());
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(failed(format!("bench with {with}: {}: {}", output.status, said.trim())));
    }
    serde_json::from_slice(&output.stdout).map_err(|reason| failed(format!("bench with {with}: {reason}")))
}

/// Of at least one run with each; none if they are of different parts.
fn summary(problem: &[String], a: &[BenchReport], b: &[BenchReport]) -> Option<Times> {
    let ([first, ..], [other, ..]) = (a, b) else { return None };
    let seconds = |reports: &[BenchReport]| {
        let runs = reports.iter().map(|report| Record::of_bench(report).entries);
        runs.map(|entries| entries.into_iter().map(|Entry { name, value, .. }| Some((name, value?))).collect())
            .collect::<Option<Vec<Vec<(String, f64)>>>>()
    };
    let (a, b) = (seconds(a)?, seconds(b)?);
    let timing = |runs: &[Vec<(String, f64)>], name: &str| {
        let of_run = |run: &Vec<(String, f64)>| run.iter().find(|(part, _)| part == name).map(|&(_, value)| value);
        Timing::of(runs.iter().map(of_run).collect::<Option<Vec<_>>>()?).ok()
    };
    let parts = a[0].iter().map(|(name, _)| Some(PartTimes::new(name.clone(), timing(&a, name)?, timing(&b, name)?)));
    let kernels = |report: &BenchReport| report.kernels.clone().unwrap_or_default();
    let (kernels, others) = (kernels(first), kernels(other));
    let differing = others.iter().filter(|(name, hash)| kernels.get(*name) != Some(*hash));
    Some(Times {
        device: first.solve.device.clone(),
        driver: first.driver.clone(),
        problem: problem.to_vec(),
        runs: a.len(),
        kernels: others.len(),
        differing: differing.map(|(name, _)| name.clone()).collect(),
        iterations: [first, other].map(|report| report.solve.iterations),
        parts: parts.collect::<Option<_>>()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn report(hash: &str, operator_s: f64, iterations: usize) -> BenchReport {
        let timing = |seconds: f64| json!({ "median_s": seconds, "min_s": 0.0, "max_s": 9.0, "repetitions": 5 });
        let mut operator = timing(operator_s);
        for (name, value) in [("what", json!("operator")), ("scalar", json!("f64")), ("ns_per_dof", json!(1.0))] {
            operator[name] = value;
        }
        for name in ["gdof_per_s", "words_per_dof", "gb_per_s"] {
            operator[name] = json!(1.0);
        }
        serde_json::from_value(json!({
            "system": "poisson-cg", "dim": 2, "degree": 2, "refine": 2, "cells": 16, "dofs": 49, "problem": "one",
            "solver": "fmg", "smoother": "patch", "kernel": "fused", "variant": "register", "local": "fdm",
            "precision": "f64", "backend": "cuda", "device": "a GPU", "iterations": iterations, "converged": true,
            "rtol": 1e-9, "residual_history": [1e-10], "relative_residual": 1e-10, "fractional_iterations": 1.0,
            "l2_error": null, "h1_error": null, "setup_s": 1.0, "solve_s": 2.0, "ns_per_dof": 1.0, "version": "0.1.0",
            "commit": "a", "driver": "580.1", "protocol": { "warmup": 0, "repetitions": 1 },
            "solve_timing": timing(2.0), "measurements": [operator],
            "kernels": { "apply": hash, "smooth": "fnv1a64:0" },
        }))
        .unwrap()
    }

    #[test]
    fn times_are_medians_of_runs_and_apart_if_no_run_overlaps() {
        let a = [1.0, 1.1, 1.3].map(|seconds| report("fnv1a64:1", seconds, 3));
        let b = [1.5, 1.4, 1.65].map(|seconds| report("fnv1a64:2", seconds, 4));
        let times = summary(&["--dim".into(), "2".into()], &a, &b).unwrap();
        let [operator, solve] = &times.parts[..] else { panic!("{times:?}") };
        assert_eq!([&*operator.name, &*solve.name], ["operator, f64", "solve, f64"]);
        assert_eq!((operator.a.median_s, operator.a.min_s, operator.b.max_s), (1.1, 1.0, 1.65));
        approx::assert_relative_eq!(operator.change_percent, 100.0 * 0.4 / 1.1, max_relative = 1e-12);
        assert!(operator.is_apart && !solve.is_apart && solve.change_percent == 0.0);
        assert_eq!((times.runs, times.kernels, times.iterations), (3, 2, [3, 4]));
        assert_eq!(times.differing, ["apply"]);

        let overlapping = summary(&[], &a, &[report("fnv1a64:1", 1.25, 3)]).unwrap();
        assert!(!overlapping.parts[0].is_apart && overlapping.differing.is_empty());
        let mut other = report("fnv1a64:1", 1.0, 3);
        other.measurements[0].what = "residual".into();
        assert_eq!(summary(&[], &a, &[other]), None);
        assert_eq!(summary(&[], &a, &[]), None);
    }

    #[test]
    fn a_run_that_fails_or_says_something_else_is_an_error() {
        for (program, part) in [("/bin/false", "built-in: exit status: 1"), ("/bin/true", "EOF")] {
            let error = time(Path::new(program), [&Source::BuiltIn; 2], &[], 1, |_, _| ()).unwrap_err();
            assert!(matches!(&error, Error::Tool { program: named, .. } if named == program), "{error}");
            assert!(error.to_string().contains(part), "{error}");
        }
    }

    #[test]
    fn a_and_b_take_turns_in_going_first() {
        let order: Vec<_> = (0..3).flat_map(order).collect();
        assert_eq!(order, [0, 1, 1, 0, 0, 1]);
    }
}
