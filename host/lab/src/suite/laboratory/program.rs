//! A program that solves in a process of its own.

use crate::suite::experiment::{Data, Kernels};
use patchmg_cli::error::{Error, Result};
use patchmg_cli::report::SolveReport;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

/// Tells the driver to compile all kernels anew.
const NO_KEPT_KERNELS: (&str, &str) = ("CUDA_CACHE_DISABLE", "1");

/// A file with the command line of `patchmg`, and the arguments that choose its machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    pub path: PathBuf,
    pub arguments: Vec<OsString>,
}

impl Program {
    /// Seconds of a process that solves a problem of `[dim, degree, refine]` by full multigrid in mixed precision, and
    /// what it says.
    ///
    /// # Errors
    /// [`Error::Tool`] for a program that cannot be started, fails, or says something else.
    pub fn solve(&self, [dim, degree, refine]: [usize; 3], kernels: Kernels, data: Data) -> Result<(f64, SolveReport)> {
        let failed = |message: String| Error::Tool { program: self.path.display().to_string(), message };
        let mut command = Command::new(&self.path);
        command.args(["solve", "--solver", "fmg", "--precision", "mixed", "--json", "-", "--quiet"]);
        for (option, value) in [("--dim", dim), ("--degree", degree), ("--refine", refine)] {
            command.arg(option).arg(value.to_string());
        }
        if let Some([rhs, exact]) = expressions(data, dim) {
            command.args(["--rhs", &rhs, "--exact", &exact]);
        }
        command.args(&self.arguments);
        if kernels == Kernels::Compiled {
            let (variable, value) = NO_KEPT_KERNELS;
            command.env(variable, value);
        }
        let start = Instant::now();
        let output = command.output().map_err(|source| failed(source.to_string()))?;
        let seconds = start.elapsed().as_secs_f64();
        if !output.status.success() {
            return Err(failed(format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim())));
        }
        let report = serde_json::from_slice(&output.stdout).map_err(|reason| failed(reason.to_string()))?;
        Ok((seconds, report))
    }
}

/// Right-hand side and solution of Poisson's equation, zero on the boundary.
fn expressions(data: Data, dim: usize) -> Option<[String; 2]> {
    let coordinates = &["x", "y", "z"][..dim];
    let joined = |with: &str, factor: &dyn Fn(&str) -> String| {
        coordinates.iter().map(|x| factor(x)).collect::<Vec<_>>().join(with)
    };
    let sines = joined("*", &|x| format!("sin(pi*{x})"));
    match data {
        Data::Name => None,
        Data::Expressions => Some([format!("{dim}*pi^2*{sines}"), sines]),
        Data::Inseparable => {
            // u = s e with the product s of sines and e = exp(p), p = x y z: -Δu = e (dim π² s - |∇p|² s - 2 ∇s · ∇p).
            let exponential = format!("exp({})", coordinates.join("*"));
            let slope =
                |x: &str| coordinates.iter().filter(|other| **other != x).copied().collect::<Vec<_>>().join("*");
            let squares = joined("-", &|x| format!("({})^2", slope(x)));
            let slopes = joined("+", &|x| {
                let sine = sines.replace(&format!("sin(pi*{x})"), &format!("cos(pi*{x})"));
                format!("{}*{sine}", slope(x))
            });
            let rhs = format!("{exponential}*(({dim}*pi^2-{squares})*{sines}-2*pi*({slopes}))");
            Some([rhs, format!("{sines}*{exponential}")])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use patchmg::problem::Field;
    use patchmg_cli::expression::Expression;

    #[test]
    fn a_program_that_is_not_there_or_says_something_else_is_an_error() {
        for path in ["/dev/null/patchmg", "/bin/false", "/bin/true"] {
            let program = Program { path: path.into(), arguments: Vec::new() };
            let error = program.solve([2, 1, 2], Kernels::Kept, Data::Name).unwrap_err();
            assert!(matches!(&error, Error::Tool { program, .. } if program == path), "{error}");
        }
    }

    #[test]
    fn expressions_solve_the_equation() {
        for (data, dim) in [Data::Expressions, Data::Inseparable].into_iter().flat_map(|data| [(data, 2), (data, 3)]) {
            let [rhs, exact] = expressions(data, dim).unwrap().map(|text| text.parse::<Expression>().unwrap());
            for expression in [&rhs, &exact] {
                assert_eq!(expression.products().is_some(), data == Data::Expressions, "{expression}");
            }
            let (point, step) = ([0.3, 0.6, 0.45], 1e-3);
            let moved = |d: usize, by: f64| exact.value([0, 1, 2].map(|e| point[e] + if e == d { by } else { 0.0 }));
            let second = |d: usize| (moved(d, step) + moved(d, -step) - 2.0 * moved(d, 0.0)) / (step * step);
            let laplace: f64 = (0..dim).map(second).sum();
            assert!((rhs.value(point) / -laplace - 1.0).abs() < 1e-4, "{rhs}");
            for d in 0..dim {
                let on_side = |side: f64| [0, 1, 2].map(|e| if e == d { side } else { point[e] });
                assert!([0.0, 1.0].iter().all(|&side| exact.value(on_side(side)).abs() < 1e-15), "{exact}");
            }
        }
        assert!(expressions(Data::Name, 3).is_none());
    }
}
