//! From a text to an expression.
//!
//! The parser is our own: of the crates for it, exmex 0.21 reads `-2^2` as 4 and `2^3^2` as 64 and knows no `1e-3`.

use super::{FUNCTIONS, Function, Node, OF_TWO, Operation, VARIABLES};

/// Bytes of a text: a sum of as many terms is a tree as deep, which is evaluated by recursion.
const LONGEST: usize = 2000;
/// Parentheses, signs and exponents within each other.
const DEEPEST: usize = 100;

/// Why a text is no expression. Columns count characters from 1.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ExpressionError {
    /// Something else is allowed there.
    #[error("column {column}: found {found}, must be {allowed}")]
    Unexpected { column: usize, found: String, allowed: &'static str },
    /// No variable, constant or function.
    #[error("column {column}: the name '{name}' is unknown{}; there are {}", nearest(name), names().join(", "))]
    UnknownName { column: usize, name: String },
    /// Too many digits, or too large.
    #[error("column {column}: '{number}' is not a finite number")]
    Number { column: usize, number: String },
    #[error("has {length} bytes, must have at most {LONGEST}")]
    TooLong { length: usize },
    #[error("column {column}: nested deeper than {DEEPEST}")]
    TooDeep { column: usize },
}

fn names() -> Vec<&'static str> {
    let functions = FUNCTIONS.iter().map(|(name, _)| *name).chain(OF_TWO.iter().map(|(name, _)| *name));
    VARIABLES.into_iter().chain(["pi"]).chain(functions).collect()
}

fn nearest(name: &str) -> String {
    let close = names().into_iter().map(|known| (strsim::damerau_levenshtein(known, name), known)).min();
    match close {
        Some((distance, known)) if 2 * distance <= known.len() => format!(", did you mean '{known}'?"),
        _ => String::new(),
    }
}

/// The expression that a text is.
pub(super) fn parse(text: &str) -> Result<Node, ExpressionError> {
    if text.len() > LONGEST {
        return Err(ExpressionError::TooLong { length: text.len() });
    }
    let mut parser = Parser { text, at: 0, depth: 0 };
    let root = parser.sum()?;
    match parser.peek() {
        Some(_) => Err(parser.unexpected("an operator + - * / ^, or the end")),
        None => Ok(root),
    }
}

/// By recursive descent: sums of products of signs of powers.
struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl<'a> Parser<'a> {
    /// The next character that is not a blank.
    fn peek(&mut self) -> Option<char> {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        self.text[self.at..].chars().next()
    }

    fn takes(&mut self, wanted: char) -> bool {
        let is_there = self.peek() == Some(wanted);
        self.at += if is_there { wanted.len_utf8() } else { 0 };
        is_there
    }

    fn column(&self, at: usize) -> usize {
        self.text[..at].chars().count() + 1
    }

    fn unexpected(&mut self, allowed: &'static str) -> ExpressionError {
        let found = self.peek().map_or(String::from("the end"), |found| format!("'{found}'"));
        ExpressionError::Unexpected { column: self.column(self.at), found, allowed }
    }

    /// As many characters as belong to a word.
    fn word(&mut self, belongs: impl Fn(char) -> bool) -> &'a str {
        let rest = &self.text[self.at..];
        let word = &rest[..rest.find(|c| !belongs(c)).unwrap_or(rest.len())];
        self.at += word.len();
        word
    }

    fn sum(&mut self) -> Result<Node, ExpressionError> {
        self.left_to_right([('+', Operation::Add), ('-', Operation::Subtract)], Self::product)
    }

    fn product(&mut self) -> Result<Node, ExpressionError> {
        self.left_to_right([('*', Operation::Multiply), ('/', Operation::Divide)], Self::signed)
    }

    /// Operands with operators of one precedence between them.
    fn left_to_right(
        &mut self,
        operators: [(char, Operation); 2],
        operand: fn(&mut Self) -> Result<Node, ExpressionError>,
    ) -> Result<Node, ExpressionError> {
        let mut first = operand(self)?;
        while let Some((_, operation)) = operators.into_iter().find(|&(symbol, _)| self.takes(symbol)) {
            first = Node::Two(operation, first.into(), operand(self)?.into());
        }
        Ok(first)
    }

    /// A power with its signs: `-x^2` is `-(x^2)`. All nesting passes here.
    fn signed(&mut self) -> Result<Node, ExpressionError> {
        if self.depth == DEEPEST {
            return Err(ExpressionError::TooDeep { column: self.column(self.at) });
        }
        self.depth += 1;
        let node = if self.takes('-') {
            Node::One(Function::Negative, self.signed()?.into())
        } else if self.takes('+') {
            self.signed()?
        } else {
            let base = self.atom()?;
            // The exponent takes the next power: 2^3^2 is 2^(3^2).
            if self.takes('^') { Node::Two(Operation::Power, base.into(), self.signed()?.into()) } else { base }
        };
        self.depth -= 1;
        Ok(node)
    }

    fn atom(&mut self) -> Result<Node, ExpressionError> {
        match self.peek() {
            Some('(') => {
                self.at += 1;
                let node = self.sum()?;
                if self.takes(')') { Ok(node) } else { Err(self.unexpected("an operator + - * / ^, or ')'")) }
            }
            Some(c) if c.is_ascii_digit() || c == '.' => self.number(),
            Some(c) if c.is_alphabetic() => self.name(),
            _ => Err(self.unexpected("a number, a name or '('")),
        }
    }

    fn number(&mut self) -> Result<Node, ExpressionError> {
        let start = self.at;
        self.word(|c| c.is_ascii_digit() || c == '.');
        if self.text[self.at..].starts_with(['e', 'E']) {
            let rest = &self.text[self.at + 1..];
            let sign = usize::from(rest.starts_with(['+', '-']));
            if rest[sign..].starts_with(|c: char| c.is_ascii_digit()) {
                self.at += 1 + sign;
                self.word(|c| c.is_ascii_digit());
            }
        }
        let number = &self.text[start..self.at];
        let value = number.parse().ok().filter(|value: &f64| value.is_finite());
        let error = || ExpressionError::Number { column: self.column(start), number: number.into() };
        value.map(Node::Constant).ok_or_else(error)
    }

    fn name(&mut self) -> Result<Node, ExpressionError> {
        let start = self.at;
        let name = self.word(|c| c.is_alphanumeric() || c == '_');
        if let Some(d) = VARIABLES.iter().position(|&variable| variable == name) {
            return Ok(Node::Variable(d));
        }
        if name == "pi" {
            return Ok(Node::Constant(std::f64::consts::PI));
        }
        if let Some((_, function)) = FUNCTIONS.iter().find(|(known, _)| *known == name) {
            self.expect('(', "'(' with the argument of the function")?;
            let argument = self.sum()?;
            self.expect(')', "an operator + - * / ^, or ')' after one argument")?;
            return Ok(Node::One(*function, argument.into()));
        }
        let Some((_, operation)) = OF_TWO.iter().find(|(known, _)| *known == name) else {
            return Err(ExpressionError::UnknownName { column: self.column(start), name: name.into() });
        };
        self.expect('(', "'(' with two arguments of the function")?;
        let first = self.sum()?;
        self.expect(',', "an operator + - * / ^, or ',' and a second argument")?;
        let second = self.sum()?;
        self.expect(')', "an operator + - * / ^, or ')' after two arguments")?;
        Ok(Node::Two(*operation, first.into(), second.into()))
    }

    fn expect(&mut self, wanted: char, allowed: &'static str) -> Result<(), ExpressionError> {
        if self.takes(wanted) { Ok(()) } else { Err(self.unexpected(allowed)) }
    }
}
