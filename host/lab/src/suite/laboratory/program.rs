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
        if data == Data::Expressions {
            let solution = ["x", "y", "z"][..dim].iter().map(|x| format!("sin(pi*{x})")).collect::<Vec<_>>().join("*");
            command.args(["--rhs", &format!("{dim}*pi^2*{solution}"), "--exact", &solution]);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_not_there_or_says_something_else_is_an_error() {
        for path in ["/dev/null/patchmg", "/bin/false", "/bin/true"] {
            let program = Program { path: path.into(), arguments: Vec::new() };
            let error = program.solve([2, 1, 2], Kernels::Kept, Data::Name).unwrap_err();
            assert!(matches!(&error, Error::Tool { program, .. } if program == path), "{error}");
        }
    }
}
