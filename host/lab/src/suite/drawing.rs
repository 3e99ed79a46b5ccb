//! Rows as pictures.

use super::record::{Results, Row};
use super::store::path;
use crate::panels::{Bars, Line, LineStyle, Marks, Panel, Panels};
use patchmg_cli::error::Result;
use std::path::Path;

/// How rows are drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Picture {
    /// A column over `x`, a line for each series.
    Lines { x: Axis, y: &'static str, log_y: bool },
    /// Columns over `x`, a panel for each, a line for each series.
    Columns { x: Axis, columns: &'static [&'static str], log_y: bool },
    /// Columns whose names are a prefix and the number of an iteration, over that number; a line for each series.
    Iterations { prefix: &'static str, label: &'static str },
    /// A column over the degree beside what is aimed at, a line for each precision, a panel for each series, or for each of its
    /// precisions if their goals differ; another column where no row has it.
    Goals { y: &'static str, or: &'static str },
    /// Columns on top of each other for each degree, a panel for each series.
    Stacked { columns: &'static [&'static str], label: &'static str },
    /// Columns, a panel for each: bars for each precision, one for each series.
    Bars { columns: &'static [&'static str] },
    /// A column beside what the paper has.
    Grouped { column: &'static str, by: By },
    /// `gflops` over `intensity` under the roofs of memory, `bandwidth`, and of arithmetic.
    Roofline { bandwidth: &'static str },
}

/// What stands side by side in a panel of bars.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// Series, a panel for each degree and precision.
    Series,
    /// Series, a panel for each degree and level.
    SeriesOfSize,
    /// Degrees and precisions, a panel for each series.
    Precision,
}

/// The horizontal axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    Degree,
    Patches,
    /// Of a box in one direction.
    Nodes,
    Dofs,
}

/// Values of the paper in pictures.
const PAPER: &str = "paper";

/// The picture of an experiment, beside its results in `folder`.
///
/// # Errors
/// Those of [`Panels::write`].
pub fn write(kind: Picture, results: &Results, folder: &Path) -> Result<()> {
    picture(kind, results).write(&path(folder, &results.header.experiment, "svg"))
}

/// The picture of all rows that have values.
fn picture(picture: Picture, results: &Results) -> Panels {
    let rows: Vec<&Row> = results.rows.iter().filter(|row| row.skipped.is_none()).collect();
    let panels = match picture {
        Picture::Lines { x, y, log_y } => panels(&rows, place, |rows| lines(rows, x, y, log_y, label(results, y))),
        Picture::Columns { x, columns, log_y } => {
            with_values(&rows, columns).into_iter().map(|y| lines(&rows, x, y, log_y, label(results, y))).collect()
        }
        Picture::Iterations { prefix, label } => vec![iterations(&rows, prefix, label)],
        Picture::Bars { columns } => {
            with_values(&rows, columns).into_iter().map(|column| bars(&rows, column, results)).collect()
        }
        Picture::Goals { y, or } => {
            let y = known_column(results, y, or);
            let known: Vec<&Row> = rows.iter().copied().filter(|row| row.value(y).is_some()).collect();
            let title = |row: &Row| {
                let place = (row.key.dim, &row.key.series);
                let series = known.iter().filter(|other| (other.key.dim, &other.key.series) == place);
                let precision = if agree(series, y) { String::new() } else { format!(", {}", row.key.precision) };
                format!("{}D, {}{precision}", row.key.dim, row.key.series)
            };
            panels(&known, title, |rows| goals(rows, y, label(results, y)))
        }
        Picture::Stacked { columns, label: y_label } => {
            let title = |row: &Row| format!("{}, {}", place(row), row.key.series);
            panels(&rows, title, |rows| stacked(rows, columns, results, y_label))
        }
        Picture::Grouped { column, by } => {
            let title = |row: &Row| match by {
                By::Series => format!("Q{} in {}D, {}", row.key.degree, row.key.dim, row.key.precision),
                By::SeriesOfSize => format!("Q{} in {}D, {} unknowns", row.key.degree, row.key.dim, row.dofs),
                By::Precision => row.key.series.clone(),
            };
            panels(&rows, title, |rows| grouped(rows, column, by, results))
        }
        Picture::Roofline { bandwidth } => panels(&rows, place, |rows| roofline(rows, bandwidth)),
    };
    Panels { title: format!("{} ({})", results.header.title, results.header.device), panels }
}

/// `column` if a row has it, else `or`.
pub fn known_column(results: &Results, column: &'static str, or: &'static str) -> &'static str {
    if results.rows.iter().any(|row| row.value(column).is_some()) { column } else { or }
}

/// The columns that a row has a value of; all if there are none.
fn with_values(rows: &[&Row], columns: &[&'static str]) -> Vec<&'static str> {
    let has = |column: &&str| rows.iter().any(|row| row.value(column).is_some());
    let known: Vec<_> = columns.iter().copied().filter(has).collect();
    if known.is_empty() { columns.to_vec() } else { known }
}

/// What a column means.
fn label<'a>(results: &'a Results, column: &'a str) -> &'a str {
    results.columns.iter().find(|known| known.name == column).map_or(column, |known| &known.label)
}

/// Dimension and precision.
fn place(row: &Row) -> String {
    format!("{}D, {}", row.key.dim, row.key.precision)
}

/// One panel for rows of the same title.
fn panels(rows: &[&Row], title: impl Fn(&Row) -> String, panel: impl Fn(&[&Row]) -> Panel) -> Vec<Panel> {
    distinct(rows.iter().map(|row| title(row)))
        .into_iter()
        .map(|of| Panel {
            title: of.clone(),
            ..panel(&rows.iter().copied().filter(|row| title(row) == of).collect::<Vec<_>>())
        })
        .collect()
}

/// In the order in which they come first.
pub fn distinct<T: PartialEq>(values: impl Iterator<Item = T>) -> Vec<T> {
    values.fold(Vec::new(), |mut known, value| {
        if !known.contains(&value) {
            known.push(value);
        }
        known
    })
}

fn series_of(rows: &[&Row]) -> Vec<String> {
    distinct(rows.iter().map(|row| row.key.series.clone()))
}

/// Points of a series, by `x`.
fn points(rows: &[&Row], series: &str, point: impl Fn(&Row) -> Option<(f64, f64)>) -> Vec<(f64, f64)> {
    let mut points: Vec<_> = rows.iter().filter(|row| row.key.series == series).filter_map(|row| point(row)).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points
}

fn lines(rows: &[&Row], axis: Axis, y: &str, log_y: bool, y_label: &str) -> Panel {
    let x = |row: &Row| match axis {
        Axis::Degree => Some(row.key.degree as f64),
        Axis::Patches => row.key.patches.map(|patches| patches as f64),
        Axis::Nodes => row.key.nodes.map(|nodes| nodes as f64),
        Axis::Dofs => Some(row.dofs as f64),
    };
    let line = |label: String, style, points| Line { label, points, style };
    let ours = series_of(rows).into_iter().map(|series| {
        let points = points(rows, &series, |row| Some((x(row)?, row.value(y)?)));
        line(series, LineStyle::Marked, points)
    });
    let paper: Vec<_> = rows.iter().filter_map(|row| Some((x(row)?, *row.paper.get(y)?))).collect();
    let paper = (!paper.is_empty()).then(|| line(PAPER.into(), LineStyle::Open, paper));
    Panel {
        title: String::new(),
        x_label: match axis {
            Axis::Degree => "degree k".into(),
            Axis::Patches => "patches of a block".into(),
            Axis::Nodes => "nodes of a box in a direction, N".into(),
            Axis::Dofs => "unknowns".into(),
        },
        y_label: y_label.into(),
        marks: Marks::Lines { series: ours.chain(paper).collect(), log_x: axis == Axis::Dofs, log_y },
    }
}

fn iterations(rows: &[&Row], prefix: &str, y_label: &str) -> Panel {
    let of = |row: &Row| {
        let number = |name: &str| name.strip_prefix(prefix)?.parse::<usize>().ok();
        let mut points: Vec<_> =
            row.values.iter().filter_map(|(name, value)| Some((number(name)? as f64, (*value)?))).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        points
    };
    let line = |row: &&Row| Line { label: row.key.series.clone(), points: of(row), style: LineStyle::Marked };
    Panel {
        title: String::new(),
        x_label: "iterations".into(),
        y_label: y_label.into(),
        marks: Marks::Lines { series: rows.iter().map(line).collect(), log_x: false, log_y: true },
    }
}

fn bars(rows: &[&Row], column: &str, results: &Results) -> Panel {
    let categories = distinct(rows.iter().map(|row| row.key.precision.clone()));
    let height = |series: &str, precision: &str| {
        rows.iter().find(|row| row.key.series == series && row.key.precision == precision)?.value(column)
    };
    let series = series_of(rows).into_iter().map(|series| Bars {
        heights: categories.iter().map(|precision| height(&series, precision)).collect(),
        label: series,
    });
    Panel {
        title: String::new(),
        x_label: String::new(),
        y_label: label(results, column).into(),
        marks: Marks::Bars { series: series.collect(), categories, stacked: false },
    }
}

/// Whether no degree has two goals.
fn agree<'a>(rows: impl Iterator<Item = &'a &'a Row> + Clone, y: &str) -> bool {
    let goals = rows.filter_map(|row| row.goals.get(y).map(|goal| (row.key.degree, (goal.target, goal.least))));
    goals.clone().all(|(degree, goal)| goals.clone().all(|other| other.0 != degree || other.1 == goal))
}

fn goals(rows: &[&Row], y: &str, y_label: &str) -> Panel {
    let degree = |row: &Row| row.key.degree as f64;
    let along = |label: String, style, height: &dyn Fn(&Row) -> Option<f64>, rows: &[&Row]| {
        let mut points: Vec<_> = rows.iter().filter_map(|row| Some((degree(row), height(row)?))).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        // The same for every precision.
        points.dedup();
        Line { label, points, style }
    };
    let measured = distinct(rows.iter().map(|row| row.key.precision.clone())).into_iter().map(|precision| {
        let of: Vec<&Row> = rows.iter().copied().filter(|row| row.key.precision == precision).collect();
        along(precision, LineStyle::Marked, &|row| row.value(y), &of)
    });
    let target = along("target".into(), LineStyle::Goal, &|row| Some(row.goals.get(y)?.target), rows);
    let least = along("least".into(), LineStyle::Limit, &|row| row.goals.get(y)?.least, rows);
    let stated = [target, least].into_iter().filter(|line| !line.points.is_empty());
    Panel {
        title: String::new(),
        x_label: "degree k".into(),
        y_label: y_label.into(),
        marks: Marks::Lines { series: measured.chain(stated).collect(), log_x: false, log_y: false },
    }
}

fn stacked(rows: &[&Row], columns: &[&str], results: &Results, y_label: &str) -> Panel {
    let series = columns.iter().map(|column| Bars {
        label: label(results, column).into(),
        heights: rows.iter().map(|row| row.value(column).map(|height| height.max(0.0))).collect(),
    });
    Panel {
        title: String::new(),
        x_label: "degree k".into(),
        y_label: y_label.into(),
        marks: Marks::Bars {
            categories: rows.iter().map(|row| row.key.degree.to_string()).collect(),
            series: series.collect(),
            stacked: true,
        },
    }
}

fn grouped(rows: &[&Row], column: &str, by: By, results: &Results) -> Panel {
    let bars = |label: &str, height: &dyn Fn(&Row) -> Option<f64>| Bars {
        label: label.into(),
        heights: rows.iter().map(|row| height(row)).collect(),
    };
    let mut series = vec![bars("here", &|row| row.value(column))];
    // At other sizes than the paper's, times do not belong into one picture.
    let is_comparable = results.header.backend.is_gpu() && !results.header.quick;
    if is_comparable && rows.iter().any(|row| row.paper.contains_key(column)) {
        series.push(bars("paper, A100", &|row| row.paper.get(column).copied()));
    }
    let is_one_of_several = |row: &Row| rows.iter().filter(|other| other.key.series == row.key.series).count() > 1;
    let category = |row: &&Row| match by {
        By::Series if is_one_of_several(row) => format!("{}, L={}", row.key.series, row.key.refine),
        By::Series | By::SeriesOfSize => row.key.series.clone(),
        By::Precision => format!("Q{} {}", row.key.degree, row.key.precision),
    };
    Panel {
        title: String::new(),
        x_label: String::new(),
        y_label: label(results, column).into(),
        marks: Marks::Bars { categories: rows.iter().map(category).collect(), series, stacked: false },
    }
}

/// The row whose values are roofs has no intensity.
fn roofline(rows: &[&Row], bandwidth: &str) -> Panel {
    let (roofs, rows): (Vec<&Row>, Vec<&Row>) = rows.iter().partition(|row| row.value("intensity").is_none());
    let at = |row: &Row| Some((row.value("intensity")?, row.value("gflops")?));
    let mut series: Vec<Line> = series_of(&rows)
        .into_iter()
        .map(|series| Line { points: points(&rows, &series, at), label: series, style: LineStyle::Marked })
        .collect();
    let ridges = roofs.iter().filter_map(|row| Some(row.value("gflops")? / row.value(bandwidth)?));
    let known = rows.iter().filter_map(|row| row.value("intensity"));
    let limits = |(low, high): (f64, f64), x: f64| (low.min(x), high.max(x));
    let (low, high) = known.fold((f64::INFINITY, 0.0f64), limits);
    if high > 0.0 {
        let (low, high) = ridges.fold((low, high), limits);
        let (low, high) = (0.5 * low, 2.0 * high);
        for (place, roof) in roofs.iter().enumerate() {
            let Some(slope) = roof.value(bandwidth) else { continue };
            // Without a peak, one roof is that of memory alone.
            let peak = match roof.value("gflops") {
                None if place > 0 => continue,
                peak => peak.unwrap_or(f64::INFINITY),
            };
            let corners = [low, (peak / slope).min(high), high];
            let mut points = corners.map(|x| (x, peak.min(slope * x))).to_vec();
            points.dedup();
            let style = if place == 0 { LineStyle::Limit } else { LineStyle::Goal };
            series.push(Line { label: roof.key.series.clone(), points, style });
        }
    }
    Panel {
        title: String::new(),
        x_label: "operations a byte".into(),
        y_label: "GFLOP/s".into(),
        marks: Marks::Lines { series, log_x: true, log_y: true },
    }
}

#[cfg(test)]
mod tests {
    use super::super::experiment::Key;
    use super::super::goal::Goal;
    use super::super::record::Header;
    use super::*;
    use std::collections::BTreeMap;

    fn row(degree: usize, precision: &str, ratio: Option<f64>) -> Row {
        Row {
            key: Key { precision: precision.into(), ..Key::new("operator", [3, degree, 2]) },
            values: BTreeMap::from([("ratio".into(), ratio)]),
            goals: BTreeMap::from([("ratio".into(), Goal::new(60.0, (degree > 2).then_some(35.0)))]),
            ..Row::of_a_gpu()
        }
    }

    #[test]
    fn the_paper_has_bars_where_it_has_values() {
        let header = Header::of_a_gpu("paper1", "table0", "Table 0");
        let results = Results { header, remark: String::new(), columns: Vec::new(), rows: Vec::new() };
        let labels = |rows: [Row; 2]| {
            let Marks::Bars { series, .. } = grouped(&rows.each_ref(), "ratio", By::Series, &results).marks else {
                panic!("bars")
            };
            series.into_iter().map(|bars| bars.label).collect::<Vec<_>>()
        };
        let rows = || [row(2, "f64", Some(50.0)), row(3, "f64", None)];
        assert_eq!(labels(rows()), ["here"]);
        let mut rows = rows();
        rows[1].paper.insert("ratio".into(), 40.0);
        assert_eq!(labels(rows), ["here", "paper, A100"]);
    }

    #[test]
    fn a_column_that_no_row_has_is_not_drawn() {
        let header = Header::of_a_gpu("paper3", "table0", "Table 0");
        let rows = vec![row(2, "f64", Some(50.0)), row(3, "f64", None)];
        let results = Results { header, remark: String::new(), columns: Vec::new(), rows };
        let labels = |columns| {
            let panels = picture(Picture::Bars { columns }, &results).panels;
            panels.into_iter().map(|panel| panel.y_label).collect::<Vec<_>>()
        };
        assert_eq!(labels(&["time_s", "ratio"]), ["ratio"]);
        assert_eq!(labels(&["time_s"]), ["time_s"]);
    }

    #[test]
    fn what_is_aimed_at_is_drawn_once_for_all_precisions() {
        let rows =
            [row(3, "f64", Some(50.0)), row(2, "f64", Some(70.0)), row(2, "f32", Some(40.0)), row(3, "f32", None)];
        let panel = goals(&rows.each_ref(), "ratio", "floor over median [%]");
        let Marks::Lines { series, .. } = panel.marks else { panic!("lines") };
        let found: Vec<_> = series.iter().map(|line| (&*line.label, &*line.points)).collect();
        let expected: [(&str, &[(f64, f64)]); 4] = [
            ("f64", &[(2.0, 70.0), (3.0, 50.0)]),
            ("f32", &[(2.0, 40.0)]),
            ("target", &[(2.0, 60.0), (3.0, 60.0)]),
            ("least", &[(3.0, 35.0)]),
        ];
        assert_eq!(found, expected);
    }
}
