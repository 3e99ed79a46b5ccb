//! Results of a suite as one page of Markdown: a table and a picture for each experiment.

use super::Suite;
use super::drawing::{self, Axis, Picture};
use super::experiment::{Experiment, Key};
use super::record::{ColumnName, Results, Row, path};
use super::summary;
use patchmg::error::Result;
use patchmg::output::file;
use patchmg::output::table::four_digits;
use std::fmt::Write;
use std::path::Path;

/// Writes `file` from the results in `folder`, and their pictures beside them; these are linked from `pictures`, the way
/// from the page to `folder`. Numbers are those recorded; text, percentages and verdicts follow from them anew.
///
/// In a page that is there, only what stands between the marks of an experiment, `<!-- table1 -->` and
/// `<!-- /table1 -->`, is replaced; experiments without marks come at the end. So text around them stays. Experiments
/// without results stay as they are, or are named as missing. What is measured beside what is aimed at stands between the
/// marks of `summary`, where a suite has that.
///
/// # Errors
/// [`Error::Io`](patchmg::Error::Io) and [`Error::Output`](patchmg::Error::Output).
pub fn write_page(suite: &Suite, folder: &Path, file: &Path, pictures: &str) -> Result<()> {
    let mut page = std::fs::read_to_string(file).unwrap_or_else(|_| format!("# {}\n", suite.title));
    let read = |experiment: &Experiment| {
        let text = std::fs::read(path(folder, experiment.name, "json")).ok()?;
        let mut results = serde_json::from_slice::<Results>(&text).ok()?;
        results.conclude(experiment);
        Some(results)
    };
    let all: Vec<_> = suite.experiments.iter().map(|experiment| (experiment, read(experiment))).collect();
    let lines = summary::lines(all.iter().filter_map(|(_, results)| results.as_ref()));
    if !lines.is_empty() {
        put(&mut page, "summary", "Measured, floor and target", Some(&overview(&lines)));
    }
    for (experiment, results) in &all {
        if let Some(results) = results {
            drawing::write(experiment.picture, results, folder)?;
        }
        let text = results.as_ref().map(|results| section(results, experiment.picture, pictures));
        put(&mut page, experiment.name, experiment.title, text.as_deref());
    }
    file::write(file, page.as_bytes())
}

/// Puts a text between its marks.
fn put(page: &mut String, name: &str, title: &str, text: Option<&str>) {
    let [begin, end] = [format!("<!-- {name} -->"), format!("<!-- /{name} -->")];
    let place = page.find(&begin).and_then(|at| Some((at + begin.len(), at + page[at..].find(&end)?)));
    match (text, place) {
        (Some(text), Some((from, to))) => page.replace_range(from..to, text),
        (None, Some(_)) => {}
        (text, None) => {
            let text = text.unwrap_or("\nNo results.\n");
            let _ = write!(page, "\n## {title}\n\n{begin}{text}{end}\n");
        }
    }
}

/// The lines of [`summary::lines`].
fn overview(lines: &[[String; 10]]) -> String {
    let mut page = format!("\n{}\n\n", summary::EXPLANATION);
    head(&mut page, &summary::HEADINGS.map(String::from));
    for line in lines {
        let _ = writeln!(page, "| {} |", line.join(" | "));
    }
    page
}

fn section(results: &Results, picture: Picture, pictures: &str) -> String {
    let Results { header, remark, columns, rows } = results;
    let driver = header.driver.as_ref().map_or(String::new(), |driver| format!(", {driver}"));
    let protocol = header.protocol;
    let mut page = format!(
        "\n{remark}\n\n{}{driver}, commit `{}`; after {} untimed, the median of {}.\n\n![{}]({pictures}{}.svg)\n\n",
        header.device, header.commit, protocol.warmup, protocol.repetitions, header.title, header.experiment,
    );
    let (there, skipped): (Vec<&Row>, Vec<&Row>) = rows.iter().partition(|row| row.skipped.is_none());
    match picture {
        _ if there.is_empty() => {}
        Picture::Lines { x, y, .. } => matrix(&mut page, results, x, y),
        Picture::Goals { y, or } => {
            matrix(&mut page, results, Axis::Degree, drawing::known_column(results, y, or));
        }
        _ => {
            // Columns of which no row knows anything say nothing.
            let known = |column: &&ColumnName| {
                there.iter().any(|row| row.value(&column.name).is_some())
                    || rows.iter().any(|row| row.paper.contains_key(&column.name))
            };
            list(&mut page, &there, &columns.iter().filter(known).collect::<Vec<_>>());
        }
    }
    if rows.iter().any(|row| !row.paper.is_empty()) {
        page.push_str("\nIn brackets: the paper, on one NVIDIA A100.\n");
    }
    reasons(&mut page, &skipped);
    page
}

// Writing to a string does not fail.

/// One column of the results: a row for each series that has it, a column for each degree, number of patches, or level.
fn matrix(page: &mut String, results: &Results, axis: Axis, y: &str) {
    let name = |row: &Row| format!("{}, {}D, {}", row.key.series, row.key.dim, row.key.precision);
    let place = |row: &Row| match axis {
        Axis::Degree => row.key.degree,
        Axis::Patches => row.key.patches.unwrap_or_default(),
        Axis::Nodes => row.key.nodes.unwrap_or_default(),
        Axis::Dofs => row.key.refine,
    };
    let title = |place: usize| match axis {
        Axis::Degree => format!("k = {place}"),
        Axis::Patches => format!("{place} patches"),
        Axis::Nodes => format!("N = {place}"),
        Axis::Dofs => format!("L = {place}"),
    };
    let mut places: Vec<_> = results.rows.iter().map(place).collect();
    places.sort_unstable();
    places.dedup();
    let label = results.columns.iter().find(|column| column.name == y).map_or(y, |column| &column.label);
    let titles = std::iter::once(label.to_string()).chain(places.iter().map(|&place| title(place)));
    head(page, &titles.collect::<Vec<_>>());
    let known = results.rows.iter().filter(|row| row.value(y).is_some() || row.paper.contains_key(y));
    for of in drawing::distinct(known.map(name)) {
        let cells = places.iter().map(|&at| {
            let row = results.rows.iter().find(|row| name(row) == of && place(row) == at);
            row.map_or(String::new(), |row| cell(row, y))
        });
        let cells: Vec<_> = cells.collect();
        let _ = writeln!(page, "| {of} | {} |", cells.join(" | "));
    }
}

/// All columns, a line for each row.
fn list(page: &mut String, rows: &[&Row], columns: &[&ColumnName]) {
    let titles = ["series", "dim", "k", "L", "unknowns", "scalar"].into_iter().map(String::from);
    head(page, &titles.chain(columns.iter().map(|column| column.label.clone())).collect::<Vec<_>>());
    for row in rows {
        let Key { series, dim, degree, refine, precision, .. } = &row.key;
        let mut cells = vec![series.clone(), dim.to_string(), degree.to_string(), refine.to_string()];
        cells.extend([row.dofs.to_string(), precision.clone()]);
        cells.extend(columns.iter().map(|column| cell(row, &column.name)));
        let _ = writeln!(page, "| {} |", cells.join(" | "));
    }
}

fn head(page: &mut String, titles: &[String]) {
    let titles: Vec<_> = titles.iter().map(|title| title.replace('|', "\\|")).collect();
    let _ = writeln!(page, "| {} |\n|{}", titles.join(" | "), "---|".repeat(titles.len()));
}

/// Ours, a dash where it is not known, nothing where it was skipped; the paper's value behind it in brackets.
fn cell(row: &Row, column: &str) -> String {
    let unknown = if row.skipped.is_some() { "" } else { "-" };
    let ours = row.value(column).map_or(String::from(unknown), four_digits);
    let paper = row.paper.get(column).map(|&value| format!(" ({})", four_digits(value)));
    ours + &paper.unwrap_or_default()
}

/// Each reason once, with the points that it holds for.
fn reasons(page: &mut String, skipped: &[&Row]) {
    let mut seen: Vec<&str> = Vec::new();
    for reason in skipped.iter().filter_map(|row| row.skipped.as_deref()) {
        if seen.contains(&reason) {
            continue;
        }
        seen.push(reason);
        let same = skipped.iter().filter(|row| row.skipped.as_deref() == Some(reason));
        let points: Vec<_> = same
            .map(|row| {
                let Key { series, dim, degree, refine, .. } = &row.key;
                // Series of a level or a degree would say it twice.
                let series = if series.contains('=') { String::new() } else { format!("{series}, ") };
                format!("{series}{dim}D k = {degree} L = {refine}")
            })
            .collect();
        let _ = write!(page, "\nSkipped, {reason}: {}.\n", points.join("; "));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_around_the_marks_stays() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("page.md");
        std::fs::write(&file, "# Mine\n\nBefore.\n<!-- table1 -->\nold\n<!-- /table1 -->\nAfter.\n").unwrap();
        write_page(&super::super::PAPER1, folder.path(), &file, "").unwrap();
        let page = std::fs::read_to_string(&file).unwrap();
        assert!(page.starts_with("# Mine\n\nBefore.\n<!-- table1 -->\nold\n<!-- /table1 -->\nAfter.\n"), "no results");
        assert!(page.contains("## Table 2") && page.contains("No results."));
        write_page(&super::super::PAPER1, folder.path(), &file, "").unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), page, "twice is once");
    }
}
