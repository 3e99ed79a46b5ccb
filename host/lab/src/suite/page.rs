//! Results of a suite as one page of Markdown: a table and a picture for each experiment.

use super::age::Age;
use super::drawing::{self, Axis, Picture};
use super::experiment::{Experiment, Key};
use super::provenance::Dated;
use super::record::{ColumnName, Origin, Results, Row, is_there};
use super::store::path;
use super::{SUITES, Suite, summary};
use patchmg::output::file;
use patchmg::output::table::four_digits;
use patchmg_cli::error::{Error, Library, Result};
use patchmg_cli::hashes::Hashes;
use std::fmt::Write;
use std::path::Path;

/// Writes `file` from the results in `folder`, and their pictures beside them; these are linked from `pictures`, the way
/// from the page to `folder`. Numbers are those recorded; text, percentages and verdicts follow from them anew, and so does
/// whether the kernels are still those of `program`, which writes the page.
///
/// In a page that is there, only what stands between the marks of an experiment, `<!-- table1 -->` and
/// `<!-- /table1 -->`, is replaced; experiments without marks come at the end. So text around them stays. Experiments
/// without results stay as they are, or are named as missing. What is measured beside what is aimed at stands between the
/// marks of `summary`, where a suite has that.
///
/// # Errors
/// Before anything is written, [`Error::Input`] for results that are damaged or of another suite; [`Library::Io`] and
/// [`Error::Output`].
pub fn write_page(suite: &Suite, folder: &Path, file: &Path, pictures: &str, program: &Origin) -> Result<()> {
    let mut page = read_page(file)?.unwrap_or_else(|| format!("# {}\n", suite.title));
    let mut hashes = Hashes::default();
    let mut read = |experiment: &'static Experiment| {
        let Some(mut results) = results(suite, folder, experiment)? else { return Ok((experiment, None)) };
        results.conclude(experiment);
        let ages = Age::of_rows(&results, program, &mut hashes)?;
        Ok((experiment, Some(Dated { results, ages })))
    };
    let all = suite.experiments.iter().map(&mut read).collect::<Result<Vec<_>>>()?;
    let known = || all.iter().filter_map(|(_, dated)| dated.as_ref());
    let lines = summary::lines(known().map(|dated| &dated.results));
    if !lines.is_empty() {
        let dates = Dated::overview(known().filter(|dated| summary::is_measured(&dated.results)), program);
        put(&mut page, "summary", "Measured, floor and target", Some(&(overview(&lines) + &dates)));
    }
    for (experiment, dated) in &all {
        if let Some(dated) = dated {
            drawing::write(experiment.picture, &dated.results, folder)?;
        }
        let text = dated.as_ref().map(|dated| section(suite, dated, experiment.picture, pictures, program));
        put(&mut page, experiment.name, experiment.title, text.as_deref());
    }
    Ok(file::write(file, page.as_bytes())?)
}

/// Whether [`write_page`] can write a suite's own page when the experiments of `replaced` are done.
///
/// # Errors
/// [`Error::Input`] for results of others that are damaged or of another suite, and for a page that no suite wrote;
/// [`Library::Io`].
pub fn check_page(suite: &Suite, folder: &Path, file: &Path, replaced: &[&Experiment]) -> Result<()> {
    let others =
        suite.experiments.iter().filter(|experiment| !replaced.iter().any(|other| other.name == experiment.name));
    others.into_iter().try_for_each(|experiment| results(suite, folder, experiment).map(drop))?;
    let Some(page) = read_page(file)? else { return Ok(()) };
    let mut names = SUITES.iter().flat_map(|suite| suite.experiments).map(|experiment| experiment.name);
    if page.trim().is_empty() || names.any(|name| page.contains(&marks(name)[0])) {
        return Ok(());
    }
    Err(Error::Input {
        path: file.to_owned(),
        reason: "no page of a suite, whose results would be written into it".into(),
    })
}

/// None if there is no file.
fn read_page(file: &Path) -> Result<Option<String>> {
    let read = || std::fs::read_to_string(file).map_err(|source| Library::Io { path: file.to_owned(), source });
    Ok(is_there(file).then(read).transpose()?)
}

/// Of an experiment of a suite, if there are some.
fn results(suite: &Suite, folder: &Path, experiment: &Experiment) -> Result<Option<Results>> {
    let path = path(folder, experiment.name, "json");
    match Results::read(&path)? {
        Some(Results { header, .. }) if header.suite != suite.name => {
            Err(Error::Input { path, reason: format!("of the suite {}, not {}", header.suite, suite.name) })
        }
        results => Ok(results),
    }
}

/// What an experiment stands between.
fn marks(name: &str) -> [String; 2] {
    [format!("<!-- {name} -->"), format!("<!-- /{name} -->")]
}

/// Puts a text between its marks.
fn put(page: &mut String, name: &str, title: &str, text: Option<&str>) {
    let [begin, end] = marks(name);
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

fn section(suite: &Suite, dated: &Dated, picture: Picture, pictures: &str, program: &Origin) -> String {
    let results = &dated.results;
    let Results { header, remark, columns, rows } = results;
    let (title, experiment) = (&header.title, &header.experiment);
    let provenance = dated.paragraphs(program);
    let mut page = format!("\n{remark}\n\n{provenance}\n![{title}]({pictures}{experiment}.svg)\n\n");
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
    if let (true, Some(gpu)) = (rows.iter().any(|row| !row.paper.is_empty()), suite.gpu) {
        let _ = write!(page, "\nIn brackets: the paper, on one {gpu}.\n");
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
    let has_cycles = rows.iter().any(|row| row.key.cycle.is_some());
    let titles = ["series", "dim", "k", "L"].into_iter().chain(has_cycles.then_some("cycle"));
    let titles = titles.chain(["unknowns", "scalar"]).map(String::from);
    head(page, &titles.chain(columns.iter().map(|column| column.label.clone())).collect::<Vec<_>>());
    for row in rows {
        let Key { series, dim, degree, refine, precision, cycle, .. } = &row.key;
        let mut cells = vec![series.clone(), dim.to_string(), degree.to_string(), refine.to_string()];
        cells.extend(has_cycles.then(|| cycle.map_or(String::new(), |cycle| cycle.to_string())));
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
                let Key { series, dim, degree, refine, cycle, .. } = &row.key;
                // Series of a level or a degree would say it twice.
                let series = if series.contains('=') { String::new() } else { format!("{series}, ") };
                let cycle = cycle.map_or(String::new(), |cycle| format!(" cycle {cycle}"));
                format!("{series}{dim}D k = {degree} L = {refine}{cycle}")
            })
            .collect();
        let _ = write!(page, "\nSkipped, {reason}: {}.\n", points.join("; "));
    }
}

#[cfg(test)]
mod tests {
    use super::super::PAPER1;
    use super::super::record::Header;
    use super::*;

    fn write(folder: &Path, file: &Path) -> Result<()> {
        write_page(&PAPER1, folder, file, "", &Origin::of_commit("now"))
    }

    #[test]
    fn text_around_the_marks_stays() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("page.md");
        std::fs::write(&file, "# Mine\n\nBefore.\n<!-- table1 -->\nold\n<!-- /table1 -->\nAfter.\n").unwrap();
        write(folder.path(), &file).unwrap();
        let page = std::fs::read_to_string(&file).unwrap();
        assert!(page.starts_with("# Mine\n\nBefore.\n<!-- table1 -->\nold\n<!-- /table1 -->\nAfter.\n"), "no results");
        assert!(page.contains("## Table 2") && page.contains("No results."));
        write(folder.path(), &file).unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), page, "twice is once");
    }

    #[test]
    fn nothing_is_written_over_what_cannot_be_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("page.md");
        std::fs::write(&file, b"\xff is no text").unwrap();
        assert!(matches!(write(folder.path(), &file), Err(Error::Library(Library::Io { path, .. })) if path == file));
        assert_eq!(std::fs::read(&file).unwrap(), b"\xff is no text");

        let (page, json) = (folder.path().join("new.md"), folder.path().join("table2.json"));
        let header = Header::of_a_gpu("paper4", "table2", "Table 2");
        let other = Results { header, remark: String::new(), columns: Vec::new(), rows: Vec::new() };
        for text in [String::from("{\"suite\":"), serde_json::to_string(&other).unwrap()] {
            std::fs::write(&json, text).unwrap();
            assert!(matches!(write(folder.path(), &page), Err(Error::Input { path, .. }) if path == json));
            assert!(!page.exists() && !folder.path().join("table2.svg").exists());
        }
    }

    #[test]
    fn a_page_that_no_suite_wrote_is_refused_before_a_run() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("README.md");
        let check = |replaced: &[&Experiment]| check_page(&PAPER1, folder.path(), &file, replaced);
        assert!(check(&[]).is_ok());
        std::fs::write(&file, "# Mine\n").unwrap();
        assert!(matches!(check(&[]), Err(Error::Input { path, .. }) if path == file));
        for ours in ["", "# Mine\n<!-- table2 -->\n<!-- /table2 -->\n", "<!-- vcycle -->"] {
            std::fs::write(&file, ours).unwrap();
            assert!(check(&[]).is_ok(), "{ours}");
        }
        std::fs::write(folder.path().join("table2.json"), "{").unwrap();
        let table2 = PAPER1.select(&["table2".into()]).unwrap();
        assert!(matches!(check(&[]), Err(Error::Input { .. })));
        assert!(check(&table2).is_ok());
    }
}
