//! The table of a study: as text, as comma-separated values and for LaTeX.

use super::study::Run;
use crate::args::CaseArgs;
use crate::systems::SystemName;
use patchmg::output::table::{count, seconds};
use std::fmt::Write;

/// What a cell of the table holds.
enum Value {
    Number(usize),
    /// A mesh size, an error or a divergence.
    Real(Option<f64>, usize),
    Order(Option<f64>),
    Seconds(f64),
    Word(String),
}

use Value::{Number, Order, Real, Seconds, Word};

/// A column of the table.
struct Column {
    /// In the first line of comma-separated values, as in JSON.
    name: &'static str,
    /// Elsewhere; a column without one is among comma-separated values alone.
    heading: &'static str,
    /// Characters of the column in text; none if it is not there.
    width: usize,
    /// Characters before it.
    space: usize,
    value: fn(&Run) -> Value,
}

/// The columns of a study's table.
pub struct Columns {
    all: Vec<Column>,
    are_by_degree: bool,
}

const fn column(name: &'static str, heading: &'static str, width: usize, value: fn(&Run) -> Value) -> Column {
    // An order follows its error more closely, so that the widest table has 118 characters.
    let space = if width == ORDER { 1 } else { 2 };
    Column { name, heading, width, space, value }
}

/// Widths of numbers, errors, orders and times.
const NUMBER: usize = 6;
const ERROR: usize = 9;
const ORDER: usize = 5;
const TIME: usize = 7;

impl Columns {
    /// Those that the system and the numbers of degrees and refinements have.
    pub fn new(args: &CaseArgs) -> Self {
        let (is_flow, has_orders) = (args.system == SystemName::Stokes, args.refine.len() > 1);
        let when = |is_shown: bool, heading: &'static str| if is_shown { heading } else { "" };
        let (has_degrees, are_by_degree) = (args.degree.len() > 1, args.degree.len() > 1 && has_orders);
        let width = if are_by_degree { 0 } else { NUMBER };
        let mut all = vec![
            column("degree", when(has_degrees, "degree"), width, |run| Number(run.solve.degree)),
            column("refine", when(has_orders || !has_degrees, "refine"), NUMBER, |run| Number(run.solve.refine)),
            column("h", "h", 7, |run| Real(Some(run.h), 2)),
            column("cells", "", 0, |run| Number(run.solve.cells)),
            column("dofs", "dofs", 11, |run| Number(run.solve.dofs)),
            column("l2_error", "L2 error", ERROR, |run| Real(run.solve.l2_error, 3)),
            column("l2_order", when(has_orders, "order"), ORDER, |run| Order(run.l2_order)),
            column("h1_error", "H1 error", ERROR, |run| Real(run.solve.h1_error, 3)),
            column("h1_order", when(has_orders, "order"), ORDER, |run| Order(run.h1_order)),
        ];
        if is_flow {
            all.extend([
                column("l2_error_p", "p error", ERROR, |run| Real(run.l2_error_p(), 3)),
                column("l2_order_p", when(has_orders, "order"), ORDER, |run| Order(run.l2_order_p)),
                column("div_max", "max div", 7, |run| Real(run.solve.div_max, 1)),
            ]);
        }
        all.extend([
            column("iterations", "iterations", 10, |run| Number(run.solve.iterations)),
            column("reason", "", 0, |run| Word(run.solve.reason.clone())),
            column("setup_s", "set-up", TIME, |run| Seconds(run.solve.setup_s)),
            column("solve_s", "solve", TIME, |run| Seconds(run.solve.solve_s)),
        ]);
        Self { all, are_by_degree }
    }

    /// Whether the text of the table has the degree in lines of its own, and not in a column.
    pub fn are_by_degree(&self) -> bool {
        self.are_by_degree
    }

    fn shown(&self) -> impl Iterator<Item = &Column> {
        self.all.iter().filter(|column| !column.heading.is_empty())
    }

    fn line(&self, cell: impl Fn(&Column) -> String) -> String {
        let cells = self.shown().filter(|column| column.width > 0).map(|column| {
            let Column { width, space, .. } = *column;
            format!("{:space$}{:>width$}", "", cell(column))
        });
        cells.collect::<String>().split_off(2)
    }

    /// The first line of the table.
    pub fn headings(&self) -> String {
        self.line(|column| column.heading.into())
    }

    /// The line of a solve.
    pub fn row(&self, run: &Run) -> String {
        self.line(|column| (column.value)(run).text())
    }

    /// All columns with all digits; nothing where there is no number.
    pub fn csv(&self, runs: &[Run]) -> String {
        let line = |cell: &dyn Fn(&Column) -> String| self.all.iter().map(cell).collect::<Vec<_>>().join(",") + "\n";
        let rows = runs.iter().map(|run| line(&|column| (column.value)(run).digits()));
        line(&|column| column.name.into()) + &rows.collect::<String>()
    }

    /// A tabular of LaTeX. That of a solver that did not converge has the reason behind its iterations.
    pub fn latex(&self, runs: &[Run]) -> String {
        let mut text = format!("\\begin{{tabular}}{{{}}}\n", "r".repeat(self.shown().count()));
        let mut line = |cell: &dyn Fn(&Column) -> String, end: &str| {
            let cells = self.shown().map(cell).collect::<Vec<_>>();
            // A string takes all that is written.
            let _ = writeln!(text, "  {} \\\\{end}", cells.join(" & "));
        };
        line(&|column| if column.heading == "h" { "$h$".into() } else { column.heading.into() }, " \\hline");
        for run in runs {
            let is_failed = |column: &Column| column.name == "iterations" && !run.solve.converged;
            line(
                &|column| {
                    let reason = if is_failed(column) { format!(" ({})", run.solve.reason) } else { String::new() };
                    (column.value)(run).latex() + &reason
                },
                "",
            );
        }
        text + "\\end{tabular}\n"
    }
}

impl Value {
    fn text(&self) -> String {
        match self {
            Number(value) => count(*value),
            Real(Some(value), digits) => format!("{value:.digits$e}"),
            Order(Some(value)) => format!("{value:.2}"),
            Real(None, _) | Order(None) => "-".into(),
            Seconds(value) => seconds(*value),
            Word(word) => word.clone(),
        }
    }

    fn digits(&self) -> String {
        match self {
            Number(value) => value.to_string(),
            Real(value, _) | Order(value) => value.map_or(String::new(), |value| format!("{value:e}")),
            Seconds(value) => format!("{value:e}"),
            Word(word) => word.clone(),
        }
    }

    fn latex(&self) -> String {
        let text = self.text();
        match self {
            Number(_) => text.replace(' ', "\\,"),
            Real(Some(_), _) => match text.split_once('e') {
                Some((digits, "0")) => format!("${digits}$"),
                Some((digits, power)) => format!("${digits} \\cdot 10^{{{power}}}$"),
                None => text,
            },
            Order(Some(_)) => format!("${text}$"),
            Seconds(_) => text.replace("us", "$\\mu$s").replace(' ', "\\,"),
            Real(None, _) | Order(None) => "--".into(),
            Word(_) => text,
        }
    }
}
