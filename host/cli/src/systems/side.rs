//! Conditions on boundaries: by number of a forest, by name of a box.

use super::data::{GIVEN, check_dim, field};
use crate::args::{CaseArgs, written};
use crate::expression::Expression;
use crate::failure::Failure;
use patchmg::forest::CoarseMesh;
use patchmg::system::elliptic::{Coefficient, EllipticProblem, Equation};
use patchmg::system::separable::SIDES;
use std::collections::BTreeSet;
use std::fmt;

/// What --side takes: a boundary, and its condition.
#[derive(Clone, Debug, PartialEq)]
pub struct Side {
    place: Place,
    condition: Condition,
}

/// A boundary of a forest, or a side of a box: direction, and 0 for the lower one.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    Number(u32),
    OfBox([usize; 2]),
}

/// Of `κ ∇u · n + α u` or `u`, or that the side is the one which faces it.
#[derive(Clone, Debug, PartialEq)]
pub enum Condition {
    Dirichlet { value: Expression },
    Neumann { flux: Expression },
    Robin { alpha: Expression, value: Expression },
    Periodic,
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self.place {
            Place::Number(number) => write!(f, "{number}=")?,
            Place::OfBox([direction, upper]) => write!(f, "{}=", SIDES[direction][upper])?,
        }
        match &self.condition {
            Condition::Dirichlet { value } => write!(f, "dirichlet:{value}"),
            Condition::Neumann { flux } => write!(f, "neumann:{flux}"),
            Condition::Robin { alpha, value } => write!(f, "robin:{alpha}:{value}"),
            Condition::Periodic => f.write_str("periodic"),
        }
    }
}

written!(Side);

/// `PLACE=KIND`, with expressions behind colons.
pub fn side(text: &str) -> Result<Side, String> {
    let allowed = "PLACE=dirichlet:VALUE, PLACE=neumann:FLUX, PLACE=robin:ALPHA:VALUE or PLACE=periodic, with expressions, where PLACE is \
                   the number of a boundary, or of a box x-, x+, y-, y+, z- or z+";
    let refused = || format!("must be {allowed}");
    let (name, condition) = text.split_once('=').ok_or_else(refused)?;
    let of_box =
        || Some(Place::OfBox((0..6).map(|side| [side / 2, side % 2]).find(|&[d, upper]| SIDES[d][upper] == name)?));
    let place = name.parse().ok().map(Place::Number).or_else(of_box).ok_or_else(refused)?;
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
        ("periodic", []) => Condition::Periodic,
        _ => return Err(refused()),
    };
    Ok(Side { place, condition })
}

impl Side {
    /// That of the boundary of a forest.
    pub fn number(&self) -> Option<u32> {
        match self.place {
            Place::Number(number) => Some(number),
            Place::OfBox(_) => None,
        }
    }

    /// Direction of the side of a box, and 0 for the lower one.
    pub fn of_box(&self) -> Option<[usize; 2]> {
        match self.place {
            Place::Number(_) => None,
            Place::OfBox(side) => Some(side),
        }
    }

    /// What holds there.
    pub fn condition(&self) -> &Condition {
        &self.condition
    }

    /// Makes it part of a problem on a forest.
    fn apply(&self, equation: &mut Equation, problem: &mut EllipticProblem) {
        let Some(number) = self.number() else { return };
        match &self.condition {
            Condition::Dirichlet { value } => {
                problem.values.insert(number, field(value));
            }
            Condition::Neumann { flux } => {
                equation.natural.insert(number);
                problem.fluxes.insert(number, field(flux));
            }
            Condition::Robin { alpha, value } => {
                equation.natural.insert(number);
                // Without it the condition is Neumann's.
                if alpha.constant() != Some(0.0) {
                    let alpha = alpha.clone();
                    equation.robin.insert(number, Coefficient::new(move |point| alpha.value(point.into())));
                }
                problem.fluxes.insert(number, field(value));
            }
            Condition::Periodic => {}
        }
    }

    /// Refuses z in 2D, and a constant `α` below 0; the library looks at the values of others.
    pub fn check(&self, dim: usize) -> Result<(), Failure> {
        let expressions = match &self.condition {
            Condition::Dirichlet { value } => vec![value],
            Condition::Neumann { flux } => vec![flux],
            Condition::Robin { alpha, value } => vec![alpha, value],
            Condition::Periodic => Vec::new(),
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
            let Some(number) = side.number().filter(|number| numbers.contains(number)) else {
                let reason = format_args!("the mesh has boundaries of the numbers {numbers:?}");
                return Err(Failure::usage("side", side, reason));
            };
            if *side.condition() == Condition::Periodic {
                return Err(Failure::usage("side", side, "periodic belongs to --system poisson-cg"));
            }
            if !given.insert(number) {
                return Err(Failure::usage("side", side, format_args!("boundary {number} is given twice")));
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
        for text in [
            "7=dirichlet:0.5",
            "0=neumann:-2",
            "12=robin:3:0.25",
            "3=neumann:sin(pi * x)",
            "x-=neumann:y",
            "z+=dirichlet:1",
            "y-=periodic",
        ] {
            assert_eq!(side(text).unwrap().to_string(), text);
        }
        assert_eq!(side("1=neumann"), side("1=neumann:0"));
        assert_eq!(side("1=dirichlet"), side("1=dirichlet:0"));
        for text in [
            "7",
            "7=",
            "=neumann",
            "x=neumann",
            "w-=neumann",
            "y-=periodic:1",
            "-1=neumann",
            "7=robin",
            "7=robin:1",
            "7=neumann:u",
            "7=flux:1",
            "7=dirichlet:1:2",
            "7=dirichlet:inf",
        ] {
            assert!(side(text).unwrap_err().contains("PLACE=robin:ALPHA:VALUE"), "{text}");
        }
    }
}
