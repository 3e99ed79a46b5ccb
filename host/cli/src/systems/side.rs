//! Conditions on boundaries by number.

use crate::args::CaseArgs;
use crate::failure::Failure;
use patchmg::forest::CoarseMesh;
use patchmg::system::elliptic::{Benchmark, Coefficient, EllipticProblem, Equation, SharedField};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// What --side takes: the boundary of a number, and its condition.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Side {
    number: u32,
    condition: Condition,
}

/// Of `κ ∇u · n + α u` or `u`, with constants.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Condition {
    Dirichlet { value: f64 },
    Neumann { flux: f64 },
    Robin { alpha: f64, value: f64 },
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}=", self.number)?;
        match self.condition {
            Condition::Dirichlet { value } => write!(f, "dirichlet:{value}"),
            Condition::Neumann { flux } => write!(f, "neumann:{flux}"),
            Condition::Robin { alpha, value } => write!(f, "robin:{alpha}:{value}"),
        }
    }
}

/// `NUMBER=KIND`, with constants behind colons.
pub fn side(text: &str) -> Result<Side, String> {
    let parse = || {
        let (number, condition) = text.split_once('=')?;
        let mut words = condition.split(':');
        let kind = words.next()?;
        let constants: Option<Vec<f64>> =
            words.map(|word| word.parse().ok().filter(|value: &f64| value.is_finite())).collect();
        let condition = match (kind, &*constants?) {
            ("dirichlet", []) => Condition::Dirichlet { value: 0.0 },
            ("dirichlet", &[value]) => Condition::Dirichlet { value },
            ("neumann", []) => Condition::Neumann { flux: 0.0 },
            ("neumann", &[flux]) => Condition::Neumann { flux },
            ("robin", &[alpha, value]) => Condition::Robin { alpha, value },
            _ => return None,
        };
        Some(Side { number: number.parse().ok()?, condition })
    };
    parse().ok_or_else(|| {
        String::from("must be NUMBER=dirichlet:VALUE, NUMBER=neumann:FLUX or NUMBER=robin:ALPHA:VALUE, with constants")
    })
}

impl Side {
    /// Makes it part of a problem.
    fn apply(self, equation: &mut Equation, problem: &mut EllipticProblem) {
        let constant = |value: f64| -> SharedField { Arc::new(move |_| value) };
        match self.condition {
            Condition::Dirichlet { value } => {
                problem.values.insert(self.number, constant(value));
            }
            Condition::Neumann { flux } => {
                equation.natural.insert(self.number);
                problem.fluxes.insert(self.number, constant(flux));
            }
            Condition::Robin { alpha, value } => {
                equation.natural.insert(self.number);
                if alpha > 0.0 {
                    equation.robin.insert(self.number, Coefficient::new(move |_| alpha));
                }
                problem.fluxes.insert(self.number, constant(value));
            }
        }
    }
}

impl CaseArgs {
    /// That the sides are those of a mesh, each given once, and that the problem leaves them open.
    pub(super) fn check_sides(&self, benchmark: Benchmark, mesh: &CoarseMesh) -> Result<(), Failure> {
        let Some(first) = self.forest.side.first() else { return Ok(()) };
        if benchmark != Benchmark::Variable {
            let reason = format_args!("belongs to --problem variable, and --problem is {benchmark}");
            return Err(Failure::usage("side", first, reason));
        }
        let faces = (0..mesh.cells()).flat_map(|cell| (0..2 * mesh.dim()).map(move |face| (cell, face)));
        let numbers: BTreeSet<u32> = faces.filter_map(|(cell, face)| mesh.boundary(cell, face)).collect();
        let mut given = BTreeSet::new();
        for side in &self.forest.side {
            if !numbers.contains(&side.number) {
                let reason = format_args!("the mesh has boundaries of the numbers {numbers:?}");
                return Err(Failure::usage("side", side, reason));
            }
            if !given.insert(side.number) {
                return Err(Failure::usage("side", side, format_args!("boundary {} is given twice", side.number)));
            }
            if let Condition::Robin { alpha, .. } = side.condition
                && alpha < 0.0
            {
                return Err(Failure::usage("side", side, "ALPHA must be 0 or positive"));
            }
        }
        Ok(())
    }

    /// Makes the sides part of a problem.
    pub(super) fn apply_sides(&self, equation: &mut Equation, problem: &mut EllipticProblem) {
        self.forest.side.iter().for_each(|side| side.apply(equation, problem));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_are_read_as_they_are_written() {
        for text in ["7=dirichlet:0.5", "0=neumann:-2", "12=robin:3:0.25"] {
            assert_eq!(side(text).unwrap().to_string(), text);
        }
        assert_eq!(side("1=neumann"), side("1=neumann:0"));
        assert_eq!(side("1=dirichlet"), side("1=dirichlet:0"));
        for text in [
            "7",
            "7=",
            "=neumann",
            "x-=neumann",
            "-1=neumann",
            "7=robin",
            "7=robin:1",
            "7=neumann:x",
            "7=flux:1",
            "7=dirichlet:1:2",
            "7=dirichlet:inf",
        ] {
            assert!(side(text).unwrap_err().contains("NUMBER=robin:ALPHA:VALUE"), "{text}");
        }
    }
}
