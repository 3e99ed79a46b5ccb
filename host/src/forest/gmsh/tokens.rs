//! Words of a file with the lines that they are on.

use crate::error::{Error, Result, in_mesh_file};
use std::str::FromStr;

/// Words between white space.
pub(super) struct Tokens<'a> {
    rest: &'a [u8],
    /// Line of the last word, from 1 on.
    pub line: usize,
}

impl<'a> Tokens<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, line: 1 }
    }

    /// The next word.
    pub fn next(&mut self) -> Option<&'a [u8]> {
        let start = self.rest.iter().position(|byte| !byte.is_ascii_whitespace()).unwrap_or(self.rest.len());
        let (blank, rest) = self.rest.split_at(start);
        if rest.is_empty() {
            return None;
        }
        self.line += blank.iter().filter(|&&byte| byte == b'\n').count();
        let end = rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len());
        let (word, rest) = rest.split_at(end);
        self.rest = rest;
        Some(word)
    }

    /// The next word as a number; `what` it is, and what is `allowed`.
    pub fn number<T: FromStr>(&mut self, what: &'static str, allowed: &'static str) -> Result<T> {
        let word = self.next();
        let number = word.and_then(|word| std::str::from_utf8(word).ok()?.parse().ok());
        number.ok_or_else(|| self.refused(what, word, allowed))
    }

    /// A number from 0 on.
    pub fn whole(&mut self, what: &'static str) -> Result<u64> {
        self.number(what, "a whole number below 2^64")
    }

    /// A number with a sign.
    pub fn signed(&mut self, what: &'static str) -> Result<i64> {
        self.number(what, "a whole number")
    }

    /// A coordinate.
    pub fn coordinate(&mut self) -> Result<f64> {
        let (what, allowed) = ("a coordinate", "a finite number");
        let number: f64 = self.number(what, allowed)?;
        if number.is_finite() { Ok(number) } else { Err(in_mesh_file(self.line, what, number, allowed)) }
    }

    /// Passes over a word.
    pub fn expect(&mut self, word: &'static str) -> Result<()> {
        let next = self.next();
        if next == Some(word.as_bytes()) { Ok(()) } else { Err(self.refused("the next word", next, word)) }
    }

    /// Passes over all words up to a section's end.
    pub fn skip_section(&mut self, start: &[u8]) -> Result<()> {
        let end = [b"$End", &start[1..]].concat();
        while let Some(word) = self.next() {
            if word == end {
                return Ok(());
            }
        }
        Err(self.refused("the end of a section", None, end.escape_ascii().to_string()))
    }

    /// A word, or the end of the file, that is not allowed.
    pub fn refused(&self, what: impl ToString, word: Option<&[u8]>, allowed: impl ToString) -> Error {
        const SHOWN: usize = 40;
        let shown = |word: &[u8]| match word.get(..SHOWN) {
            Some(start) => format!("'{}...'", start.escape_ascii()),
            None => format!("'{}'", word.escape_ascii()),
        };
        in_mesh_file(self.line, what, word.map_or("missing: the file ends".into(), shown), allowed)
    }
}
