//! What was measured, beside what is aimed at: one table of all experiments.

use super::record::{Results, Row};
use patchmg::output::table::four_digits;

/// The column that an experiment of this kind has.
pub const MEASURED: &str = "measured";

/// Of [`lines`].
pub const HEADINGS: [&str; 10] =
    ["experiment", "series", "space", "scalar", "measured", "floor", "ratio", "target", "least", "verdict"];

/// Of what stands there.
pub const EXPLANATION: &str = "Medians. Ratio: floor over measured, or the value that the row is judged by: a share, the \
                               time for an unknown, memory over the memory allowed. \
                               Verdict: `target` if the target is reached, `least` if only the least value is, `below` if \
                               neither; a dash if the target is missed and no least value is stated.";

/// A line for each row that something is aimed at, or, if there is none, for each row.
pub fn lines<'a>(results: impl IntoIterator<Item = &'a Results>) -> Vec<[String; 10]> {
    let known: Vec<&Results> = results.into_iter().filter(|results| is_measured(results)).collect();
    let rows = known.iter().flat_map(|results| results.rows.iter().map(move |row| (*results, row)));
    let judged = rows.clone().any(|(_, row)| !row.goals.is_empty());
    rows.filter(|(_, row)| !judged || !row.goals.is_empty()).map(|(results, row)| line(results, row)).collect()
}

/// Whether it has lines here.
pub fn is_measured(results: &Results) -> bool {
    results.columns.iter().any(|known| known.name == MEASURED)
}

fn line(results: &Results, row: &Row) -> [String; 10] {
    let unit = |column: &str| {
        let label = results.columns.iter().find(|known| known.name == column).map_or("", |known| &known.label);
        let unit = label.rsplit_once('[').and_then(|(_, rest)| rest.strip_suffix(']'));
        unit.map_or(String::new(), |unit| format!(" {unit}"))
    };
    let text =
        |value: Option<f64>, column: &str| value.map_or(String::from("-"), |value| four_digits(value) + &unit(column));
    let shown = |column: &str| text(row.value(column), column);
    let goal = row.goals.iter().next();
    let judged = goal.map_or("ratio", |(column, _)| column);
    let verdict = match (goal.and_then(|(_, goal)| goal.verdict), &row.skipped) {
        (_, Some(_)) => "skipped",
        (Some(verdict), None) => verdict.name(),
        (None, None) => "-",
    };
    let key = &row.key;
    let cycle = key.cycle.map_or(String::new(), |cycle| format!(", cycle {cycle}"));
    [
        results.header.experiment.clone(),
        key.series.clone(),
        format!("{}D Q{} L={}{cycle}", key.dim, key.degree, key.refine),
        key.precision.clone(),
        shown(MEASURED),
        shown("floor"),
        shown(if judged == MEASURED { "ratio" } else { judged }),
        text(goal.map(|(_, goal)| goal.target), judged),
        text(goal.and_then(|(_, goal)| goal.least), judged),
        verdict.into(),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::goal::{Better, Goal};
    use super::super::record::{ColumnName, Header};
    use super::*;
    use crate::suite::Key;
    use std::collections::BTreeMap;

    fn results(rows: Vec<Row>) -> Results {
        let header = Header::of_a_gpu("speed", "transfer", "Transfer");
        let columns = [("measured", "median time [ms]"), ("ratio", "floor over median [%]"), ("share", "share [%]")];
        let columns = columns.map(|(name, label)| ColumnName { name: name.into(), label: label.into() }).into();
        Results { header, remark: String::new(), columns, rows }
    }

    fn row(series: &str, goal: Option<Goal>) -> Row {
        let key = Key { precision: "f32".into(), ..Key::new(series, [3, 4, 7]) };
        let values =
            [("measured", 2.5), ("ratio", 60.0), ("share", 10.0)].map(|(name, value)| (name.into(), Some(value)));
        let goals = goal.map(|goal| ("share".into(), goal.judge(Better::Lower, Some(10.0)))).into_iter().collect();
        Row { key, values: values.into(), goals, ..Row::of_a_gpu() }
    }

    #[test]
    fn rows_with_a_goal_are_judged_by_its_column_and_others_are_left_out() {
        let lines = lines(&[results(vec![row("alone", None), row("both", Some(Goal::new(8.0, Some(15.0))))])]);
        let expected =
            ["transfer", "both", "3D Q4 L=7", "f32", "2.500 ms", "-", "10 %", "8 %", "15 %", "least"].map(String::from);
        assert_eq!(lines, [expected]);
    }

    #[test]
    fn without_goals_all_rows_are_there_with_their_ratio() {
        let skipped = Row { skipped: Some("too large".into()), values: BTreeMap::new(), ..row("large", None) };
        let lines = lines(&[results(vec![row("alone", None), skipped])]);
        assert_eq!(lines[0][4..], ["2.500 ms", "-", "60 %", "-", "-", "-"]);
        assert_eq!(lines[1][4..], ["-", "-", "-", "-", "-", "skipped"]);
    }
}
