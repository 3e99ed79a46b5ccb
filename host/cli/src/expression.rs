//! Expressions of x, y and z: `exp(x) * sin(3 * pi * y)`, with values and gradients.

mod parser;
mod products;

use crate::args::written;
use glam::DVec3;
pub use parser::ExpressionError;
use patchmg::backend::{Function, Operation, Program, Step};
use patchmg::problem::{ExactSolution, Factors, Field};
use products::Separated;
use std::fmt;

const VARIABLES: [&str; 3] = ["x", "y", "z"];

/// An expression, and its text.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    text: Box<str>,
    program: Program,
    /// Those whose sum it is, if there are few.
    products: Option<Box<[Separated]>>,
}

#[derive(Clone, Debug, PartialEq)]
enum Node {
    Constant(f64),
    Variable(usize),
    One(Function, Box<Node>),
    Two(Operation, Box<Node>, Box<Node>),
}

const FUNCTIONS: [(&str, Function); 7] = [
    ("sin", Function::Sin),
    ("cos", Function::Cos),
    ("tan", Function::Tan),
    ("exp", Function::Exp),
    ("log", Function::Log),
    ("sqrt", Function::Sqrt),
    ("abs", Function::Abs),
];
const OF_TWO: [(&str, Operation); 3] = [("min", Operation::Min), ("max", Operation::Max), ("atan2", Operation::Atan2)];

impl std::str::FromStr for Expression {
    type Err = ExpressionError;

    fn from_str(text: &str) -> Result<Self, ExpressionError> {
        let root = parser::parse(text)?;
        let products = products::of(&root).map(|products| products.into_iter().map(Separated::from).collect());
        Ok(Self { text: text.into(), program: root.program(), products })
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.text)
    }
}

written!(Expression);

impl Expression {
    /// The value at a point.
    pub fn value(&self, point: [f64; 3]) -> f64 {
        self.program.value(point.into())
    }

    /// The gradient at a point, by dual numbers. Where there is none, as of `abs(x)` for `x = 0`, it is that of one side.
    pub fn gradient(&self, point: [f64; 3]) -> [f64; 3] {
        self.program.gradient(point.into()).into()
    }

    /// The value, if it depends on no variable.
    pub fn constant(&self) -> Option<f64> {
        self.is_of(0).then(|| self.program.value(DVec3::ZERO))
    }

    /// Whether it depends on none of the variables from that number on.
    pub fn is_of(&self, variables: usize) -> bool {
        let is_other = |step: &Step| matches!(step, Step::Coordinate(d) if *d >= variables);
        !self.program.steps().iter().any(is_other)
    }
}

impl Field for Expression {
    fn value(&self, point: DVec3) -> f64 {
        Self::value(self, point.into())
    }

    fn products(&self) -> Option<Vec<&dyn Factors>> {
        Some(self.products.as_ref()?.iter().map(|product| product as _).collect())
    }

    fn program(&self) -> Option<Program> {
        Some(self.program.clone())
    }
}

impl ExactSolution for Expression {
    fn gradient(&self, point: DVec3) -> DVec3 {
        Self::gradient(self, point.into()).into()
    }
}

impl Node {
    /// Its operations, arguments first.
    fn program(&self) -> Program {
        let mut steps = Vec::new();
        self.write(&mut steps);
        Program::new(steps).expect("nodes have as many arguments as their functions")
    }

    fn write(&self, steps: &mut Vec<Step>) {
        match self {
            Self::Constant(value) => steps.push(Step::Constant(*value)),
            Self::Variable(d) => steps.push(Step::Coordinate(*d)),
            Self::One(function, node) => {
                node.write(steps);
                steps.push(Step::One(*function));
            }
            Self::Two(operation, a, b) => {
                a.write(steps);
                b.write(steps);
                steps.push(Step::Two(*operation));
            }
        }
    }

    /// Whether it depends on a variable.
    fn has(&self, variable: usize) -> bool {
        match self {
            Self::Constant(_) => false,
            Self::Variable(d) => *d == variable,
            Self::One(_, node) => node.has(variable),
            Self::Two(_, a, b) => a.has(variable) || b.has(variable),
        }
    }

    /// The variable that it depends on, if there is but one, the first one for a constant.
    fn variable(&self) -> Option<usize> {
        (0..3).find(|&variable| (0..3).all(|other| other == variable || !self.has(other)))
    }

    fn constant(&self) -> Option<f64> {
        let is_constant = (0..3).all(|d| !self.has(d));
        is_constant.then(|| self.program().value(DVec3::ZERO))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;
    use std::f64::consts::PI;

    const POINT: [f64; 3] = [0.3, -0.7, 1.9];

    fn parsed(text: &str) -> Expression {
        text.parse().unwrap()
    }

    fn refused(text: &str) -> String {
        text.parse::<Expression>().unwrap_err().to_string()
    }

    #[test]
    fn operators_bind_as_in_mathematics() {
        let [x, y, z] = POINT;
        for (text, expected) in [
            ("-2^2", -4.0),
            ("2^3^2", 512.0),
            ("2^-1", 0.5),
            ("2 - 3 - 4", -5.0),
            ("8/4/2", 1.0),
            ("2+3*4", 14.0),
            ("-2*-3", 6.0),
            ("1e-3", 0.001),
            (".5E+2", 50.0),
            ("min(1, 2) + 10*max(1, 2)", 21.0),
            ("-x^2", -x * x),
            ("(x - y)*z", (x - y) * z),
            ("y^2", y * y),
            ("sin(pi*x) + cos(y) + tan(z)", (PI * x).sin() + y.cos() + z.tan()),
            ("exp(x)*log(z)/sqrt(z) - abs(y)", x.exp() * z.ln() / z.sqrt() - y.abs()),
            ("atan2(y, -x)", y.atan2(-x)),
        ] {
            assert_relative_eq!(parsed(text).value(POINT), expected, max_relative = 1e-15);
        }
        assert!(parsed("min(0/0, 1)").value(POINT).is_nan() && parsed("max(1, 0/0)").value(POINT).is_nan());
    }

    #[test]
    fn gradients_are_limits_of_differences() {
        for text in [
            "x*y - z/x + 3",
            "sin(x)*cos(y*z) - tan(x*z)",
            "exp(x*y)*log(z)*sqrt(z + x)",
            "y^3 + z^x + (x + z)^(1/3)",
            "abs(y*z) + min(x, y) - max(x*z, y)",
            "-atan2(y, x*z)",
        ] {
            let (expression, h) = (parsed(text), 1e-5);
            for (d, found) in expression.gradient(POINT).into_iter().enumerate() {
                let moved = |by: f64| [0, 1, 2].map(|e| POINT[e] + if e == d { by } else { 0.0 });
                let difference = (expression.value(moved(h)) - expression.value(moved(-h))) / (2.0 * h);
                assert!((found - difference).abs() < 1e-8 * (1.0 + found.abs()), "{text}: {found}, {difference}");
            }
        }
        assert_eq!(parsed("x^2 + y^2").gradient([0.0; 3]), [0.0; 3]);
    }

    #[test]
    fn mistakes_are_named_with_their_place() {
        for (text, parts) in [
            ("1 + sine(x)", &["column 5", "'sine'", "did you mean 'sin'", "atan2"][..]),
            ("foo", &["column 1", "'foo' is unknown", "there are x, y, z, pi, sin"]),
            ("2 x", &["column 3", "found 'x'", "an operator"]),
            ("x *", &["column 4", "found the end", "a number"]),
            ("", &["column 1", "found the end"]),
            ("(x", &["column 3", "or ')'"]),
            ("x)", &["column 2", "found ')'"]),
            ("sin x", &["column 5", "'('"]),
            ("min(x)", &["column 6", "second argument"]),
            ("sin(x, y)", &["column 6", "one argument"]),
            ("é + 1", &["column 1", "'é'"]),
            ("x + €", &["column 5", "'€'"]),
            ("1e999", &["column 1", "'1e999' is not a finite number"]),
            ("1.2.3", &["column 1", "'1.2.3'"]),
        ] {
            let message = refused(text);
            parts.iter().for_each(|part| assert!(message.contains(part), "no '{part}' in {message}"));
        }
        assert!(!refused("foo").contains("mean"));
    }

    #[test]
    fn deep_and_long_texts_are_refused() {
        let nested = |n: usize, open: &str, close: &str| format!("{}x{}", open.repeat(n), close.repeat(n));
        for (open, close) in [("(", ")"), ("-", ""), ("2^", ""), ("sin(", ")")] {
            assert!(nested(90, open, close).parse::<Expression>().is_ok());
            assert!(refused(&nested(300, open, close)).contains("nested deeper than 100"), "{open}");
        }
        assert!(refused(&nested(1 << 20, "(", ")")).contains("has 2097153 bytes, must have at most 2000"));
        assert_eq!(parsed(&format!("x{}", "+x".repeat(999))).gradient(POINT), [1000.0, 0.0, 0.0]);
    }

    #[test]
    fn variables_are_known() {
        assert_eq!((parsed("-2 + 3").constant(), parsed("x - x").constant()), (Some(1.0), None));
        assert!(parsed("x + sin(-y)").is_of(2));
        assert!(!parsed("x^z").is_of(2) && !parsed("-abs(z)").is_of(2) && !parsed("x").is_of(0));
    }
}
