//! Tables as text.

pub use crate::units::{bytes, seconds};
use std::fmt::{Display, Formatter, Result};

/// A table whose columns are as wide as what they hold, text to the left and numbers to the right.
#[derive(Clone, Debug, Default)]
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with headings.
    pub fn new<S: Into<String>>(headings: impl IntoIterator<Item = S>) -> Self {
        Self { rows: vec![headings.into_iter().map(Into::into).collect()] }
    }

    /// Adds a row.
    pub fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    fn width(&self, column: usize) -> usize {
        self.rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    }
}

impl Display for Table {
    fn fmt(&self, f: &mut Formatter) -> Result {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let widths: Vec<_> = (0..columns).map(|column| self.width(column)).collect();
        for row in &self.rows {
            let cells: Vec<_> = row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:>width$}")).collect();
            writeln!(f, "{}", cells.join("  "))?;
        }
        Ok(())
    }
}

/// Observed order of convergence between two meshes of which the second has cells half as wide: `log2(coarse / fine)`.
pub fn order(coarse: f64, fine: f64) -> f64 {
    (coarse / fine).log2()
}

/// A count with its thousands apart, for example `1 030 301`.
pub fn count(value: usize) -> String {
    let digits = value.to_string();
    let first = (digits.len() + 2) % 3 + 1;
    let (head, tail) = digits.split_at(first);
    let groups = tail.as_bytes().chunks(3).map(|group| group.iter().map(|&b| char::from(b)).collect::<String>());
    std::iter::once(head.to_string()).chain(groups).collect::<Vec<_>>().join(" ")
}

/// A number with four digits.
pub fn four_digits(value: f64) -> String {
    match value.abs() {
        size if value.fract() == 0.0 && size < 1e6 => format!("{value}"),
        size if (1e-2..1e5).contains(&size) => {
            let decimals = (3 - size.log10().floor() as i32).max(0) as usize;
            format!("{value:.decimals$}")
        }
        _ => format!("{value:.3e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned() {
        let mut table = Table::new(["level", "dofs"]);
        table.row(["1", "27"]);
        table.row(["10", "103823"]);
        assert_eq!(table.to_string(), "level    dofs\n    1      27\n   10  103823\n");
    }

    #[test]
    fn counts_and_orders_are_short() {
        assert_eq!(count(7), "7");
        assert_eq!(count(123), "123");
        assert_eq!(count(1_030_301), "1 030 301");
        assert_eq!(order(8.0, 1.0), 3.0);
    }

    #[test]
    fn numbers_have_four_digits() {
        assert_eq!(
            [3.0, 2.2061, 47.4217, 1.12e-6, 0.123456].map(four_digits),
            ["3", "2.206", "47.42", "1.120e-6", "0.1235"]
        );
    }
}
