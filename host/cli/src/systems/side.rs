//! Conditions on boundaries by number.

use super::data::{GIVEN, check_dim, field};
use crate::args::{CaseArgs, written};
use crate::expression::Expression;
use crate::failure::Failure;
use patchmg::forest::CoarseMesh;
use patchmg::system::elliptic::{Coefficient, EllipticProblem, Equation};
use std::collections::BTreeSet;
use std::fmt;

/// What --side takes: the boundary of a number, and its condition.
#[derive(Clone, Debug, PartialEq)]
pub struct Side {
    number: u32,
    condition: Condition,
}

/// Of `κ ∇u · n + α u` or `u`.
#[derive(Clone, Debug, PartialEq)]
enum Condition {
    Dirichlet { value: Expression },
    Neumann { flux: Expression },
    Robin { alpha: Expression, value: Expression },
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}=", self.number)?;
        match &self.condition {
            Condition::Dirichlet { value } => write!(f, "dirichlet:{value}"),
            Condition::Neumann { flux } => write!(f, "neumann:{flux}"),
            Condition::Robin { alpha, value } => write!(f, "robin:{alpha}:{value}"),
        }
    }
}

written!(Side);

/// `NUMBER=KIND`, with expressions behind colons.
pub fn side(text: &str) -> Result<Side, String> {
    let allowed = "NUMBER=dirichlet:VALUE, NUMBER=neumann:FLUX or NUMBER=robin:ALPHA:VALUE, with expressions";
    let refused = || format!("must be {allowed}");
    let (number, condition) = text.split_once('=').ok_or_else(refused)?;
    let number = number.parse().map_err(|_| refused())?;
    let mut words = condition.split(':');
    let kind = words.next().ok_or_else(refused)?;
    let parse = |word: &str| word.parse().map_err(|error| format!("'{word}': {error}; must be {allowed}"));
    let expressions = words.map(parse).collect::<Result<Vec<Expression>, String>>()?;
    let zero = || parse("0");
    let condition = match (kind, &*expressions) {
        ("dirichlet", []) => Condition::Dirichlet { value: zero()? },
        ("dirichlet", [value]) => Condition::Dirichlet { value: value.clone() },
        ("neumann", []) => Condition::Neumann { flux: zero()? },
        ("neumann", [flux]) => Condition::Neumann { flux: flux.clone() },
        ("robin", [alpha, value]) => Condition::Robin { alpha: alpha.clone(), value: value.clone() },
        _ => return Err(refused()),
    };
    Ok(Side { number, condition })
}

impl Side {
    /// That of the boundary.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Makes it part of a problem.
    fn apply(&self, equation: &mut Equation, problem: &mut EllipticProblem) {
        match &self.condition {
            Condition::Dirichlet { value } => {
                problem.values.insert(self.number, field(value));
            }
            Condition::Neumann { flux } => {
                equation.natural.insert(self.number);
                problem.fluxes.insert(self.number, field(flux));
            }
            Condition::Robin { alpha, value } => {
                equation.natural.insert(self.number);
                // Without it the condition is Neumann's.
                if alpha.constant() != Some(0.0) {
                    let alpha = alpha.clone();
                    equation.robin.insert(self.number, Coefficient::new(move |point| alpha.value(point.into())));
                }
                problem.fluxes.insert(self.number, field(value));
            }
        }
    }

    /// Refuses z in 2D, and a constant `α` below 0; the library looks at the values of others.
    fn check(&self, dim: usize) -> Result<(), Failure> {
        let expressions = match &self.condition {
            Condition::Dirichlet { value } => vec![value],
            Condition::Neumann { flux } => vec![flux],
            Condition::Robin { alpha, value } => vec![alpha, value],
        };
        for expression in expressions {
            check_dim("side", self, expression, dim)?;
        }
        match &self.condition {
            Condition::Robin { alpha, .. } if alpha.constant().is_some_and(|alpha| alpha < 0.0) => {
                Err(Failure::usage("side", self, "ALPHA must be 0 or positive"))
            }
            _ => Ok(()),
        }
    }
}

impl CaseArgs {
    /// That the sides are those of a mesh, each given once, and that the problem leaves them open.
    pub(super) fn check_sides(&self, mesh: &CoarseMesh) -> Result<(), Failure> {
        let Some(first) = self.forest.side.first() else { return Ok(()) };
        let problem = self.problem_name();
        if !["variable", GIVEN].contains(&problem) {
            let reason = format_args!("belongs to --problem variable or {GIVEN}, and --problem is {problem}");
            return Err(Failure::usage("side", first, reason));
        }
        let numbers = mesh.boundary_numbers();
        let mut given = BTreeSet::new();
        for side in &self.forest.side {
            if !numbers.contains(&side.number) {
                let reason = format_args!("the mesh has boundaries of the numbers {numbers:?}");
                return Err(Failure::usage("side", side, reason));
            }
            if !given.insert(side.number) {
                return Err(Failure::usage("side", side, format_args!("boundary {} is given twice", side.number)));
            }
            side.check(mesh.dim())?;
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
        for text in ["7=dirichlet:0.5", "0=neumann:-2", "12=robin:3:0.25", "3=neumann:sin(pi * x)"] {
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
            "7=neumann:u",
            "7=flux:1",
            "7=dirichlet:1:2",
            "7=dirichlet:inf",
        ] {
            assert!(side(text).unwrap_err().contains("NUMBER=robin:ALPHA:VALUE"), "{text}");
        }
    }
}
