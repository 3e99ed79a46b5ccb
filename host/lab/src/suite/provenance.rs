//! What a page says of where its rows come from: machine and program, protocol and spread, and whether the kernels are
//! still the same.

use super::age::Age;
use super::drawing::distinct;
use super::record::{Origin, Results, Row};
use patchmg::measure::Protocol;
use patchmg::output::table::four_digits;
use std::collections::BTreeSet;

/// Kernels that are named, at most.
const NAMED: usize = 4;

/// Results with the age of each row.
pub struct Dated {
    pub results: Results,
    pub ages: Vec<Option<Age>>,
}

impl Dated {
    /// Rows with values.
    fn there(&self) -> impl Iterator<Item = &Row> + Clone {
        self.results.rows.iter().filter(|row| row.skipped.is_none())
    }

    /// Paragraphs of it all, `program` being the one that writes the page.
    pub fn paragraphs(&self, program: &Origin) -> String {
        let mut protocols = grouped(self.there().filter_map(|row| Some((protocol_text(row.protocol()?), row))));
        let main = if protocols.is_empty() { self.protocol_asked_for() } else { Some(protocols.remove(0).0) };
        let main = main.map_or(String::new(), |text| format!("; {text}"));
        let mut text = format!("{}, {}{main}.\n", self.results.header.device, self.origins());
        for (protocol, rows) in protocols {
            text += &format!("\nOf these rows, {protocol}: {}.\n", names(&rows));
        }
        text += &self.spread().map_or(String::new(), |spread| format!("\n{spread}\n"));
        let mut ages = grouped(self.sentences(program)).into_iter();
        if let Some((main, _)) = ages.next() {
            let others: Vec<_> = ages.map(|(sentence, rows)| format!("\n{sentence}: {}.\n", names(&rows))).collect();
            let which = if others.is_empty() { "" } else { ": all other rows" };
            text += &format!("\n{main}{which}.\n{}{}", others.concat(), self.changed());
        }
        text
    }

    /// Kernels that are others now.
    fn changed(&self) -> String {
        let kernels: BTreeSet<_> = self.ages.iter().flatten().filter_map(Age::changed_kernels).flatten().collect();
        if kernels.is_empty() {
            return String::new();
        }
        let more = kernels.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let named: Vec<_> = kernels.into_iter().take(NAMED).map(|name| format!("`{name}`")).collect();
        format!("\nKernels that changed: {}{more}.\n", named.join(", "))
    }

    /// Driver and commit, or several.
    fn origins(&self) -> String {
        let text = |Origin { commit, driver, cuda_api, .. }: &Origin| {
            let driver = driver.as_ref().map_or(String::new(), |driver| format!("driver {driver}, "));
            let api = cuda_api.as_ref().map_or(String::new(), |api| format!("CUDA {api}, "));
            format!("{driver}{api}commit `{commit}`")
        };
        let texts = distinct(self.there().map(|row| text(self.results.origin_of(row))));
        if texts.is_empty() { text(&self.results.header.origin) } else { texts.join("; ") }
    }

    /// Where rows do not say how often something was done.
    fn protocol_asked_for(&self) -> Option<String> {
        let says = self.there().any(|row| row.origin.is_some());
        (!says).then(|| {
            let protocol = protocol_text(self.results.header.protocol);
            format!("{protocol} (requested; the records do not say how often the work ran)")
        })
    }

    fn spread(&self) -> Option<String> {
        let spreads = self.there().filter_map(|row| Some((row.spread_percent()?, row)));
        let (percent, row) = spreads.max_by(|a, b| a.0.total_cmp(&b.0))?;
        Some(format!("Largest spread, (max - min) / median: {} % ({}).", four_digits(percent), row.key))
    }

    /// Whether the kernels of each row are the same.
    fn sentences<'a>(&'a self, program: &'a Origin) -> impl Iterator<Item = (String, &'a Row)> + Clone {
        let pairs = self.results.rows.iter().zip(&self.ages);
        pairs.filter_map(|(row, age)| Some((sentence(row, age.as_ref()?, self.results.origin_of(row), program), row)))
    }

    /// The sentences of all rows, each with the experiments that it is said of.
    pub fn overview<'a>(all: impl Iterator<Item = &'a Self>, program: &Origin) -> String {
        let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
        for dated in all {
            for said in distinct(dated.sentences(program).map(|(sentence, _)| sentence)) {
                let experiment = &*dated.results.header.experiment;
                match groups.iter_mut().find(|(known, _)| *known == said) {
                    Some((_, experiments)) => experiments.push(experiment),
                    None => groups.push((said, vec![experiment])),
                }
            }
        }
        groups.iter().map(|(said, experiments)| format!("\n{said}: {}.\n", experiments.join(", "))).collect()
    }
}

/// What is known of the kernels of a row.
fn sentence(row: &Row, age: &Age, recorded: &Origin, program: &Origin) -> String {
    let short = |commit: &str| commit.get(..12).unwrap_or(commit).to_owned();
    let (recorded, now) = (short(&recorded.commit), short(&program.commit));
    match age {
        Age::Unhashed => {
            format!("**Recorded before kernels were hashed (commit `{recorded}`): the kernels may have changed since**")
        }
        // What is the same program here may be another one when the page is read.
        Age::Same | Age::OtherProgram if row.kernels.iter().flatten().next().is_none() => {
            format!(
                "Of the program of commit `{recorded}`; without a GPU kernel nothing is hashed, and it may have changed since"
            )
        }
        Age::Same | Age::OtherProgram => format!("By their hashes, the kernels are those of commit `{now}`"),
        Age::Older(_) => format!("**Of older kernels, of commit `{recorded}`, which changed until commit `{now}`**"),
        Age::Unknown => {
            format!(
                "Of the kernels of commit `{recorded}`, with which the program that wrote this page could not compare"
            )
        }
    }
}

fn protocol_text(Protocol { warmup, repetitions }: Protocol) -> String {
    match (warmup, repetitions) {
        (0, 1) => "timed once".into(),
        (_, 1) => format!("after {warmup} untimed, timed once"),
        _ => format!("after {warmup} untimed, the median of {repetitions}"),
    }
}

/// Rows of the same text, the most rows first.
fn grouped<'a>(rows: impl Iterator<Item = (String, &'a Row)> + Clone) -> Vec<(String, Vec<&'a Row>)> {
    let texts = distinct(rows.clone().map(|(text, _)| text));
    let of = |text: &String| rows.clone().filter(|(of, _)| of == text).map(|(_, row)| row).collect();
    let mut groups: Vec<(String, Vec<&Row>)> = texts.into_iter().map(|text| (text.clone(), of(&text))).collect();
    groups.sort_by_key(|(_, rows)| std::cmp::Reverse(rows.len()));
    groups
}

fn names(rows: &[&Row]) -> String {
    rows.iter().map(|row| row.key.to_string()).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::super::record::{Header, Measured};
    use super::*;
    use patchmg::measure::Timing;
    use std::collections::BTreeMap;

    fn row(degree: usize, commit: &str, repetitions: usize) -> Row {
        let timing = Timing { median_s: 2.0, min_s: 1.5, max_s: 2.0 + 0.125 * degree as f64, repetitions };
        let mut row = Row {
            origin: Some(Origin { driver: Some("580.1".into()), ..Origin::of_commit(commit) }),
            kernels: Some(BTreeMap::from([("smooth".into(), "fnv1a64:1".into())])),
            timings: vec![Measured { what: "step".into(), warmup: repetitions - 1, timing }],
            ..Row::of_a_gpu()
        };
        row.key.degree = degree;
        row
    }

    fn dated(rows: Vec<(Row, Age)>) -> Dated {
        let (rows, ages) = rows.into_iter().map(|(row, age)| (row, Some(age))).unzip();
        let header = Header::of_a_gpu("speed", "smoother", "Smoother");
        Dated { results: Results { header, remark: String::new(), columns: Vec::new(), rows }, ages }
    }

    #[test]
    fn a_page_says_which_rows_are_of_older_kernels_and_how_all_were_timed() {
        let older = Age::Older(["a", "b", "c", "d", "e"].map(String::from).into());
        let rows = vec![(row(2, "old", 1), older), (row(3, "new", 3), Age::Same), (row(4, "new", 3), Age::Same)];
        let text = dated(rows).paragraphs(&Origin::of_commit("now"));
        for part in [
            "a GPU, driver 580.1, commit `old`; driver 580.1, commit `new`; after 2 untimed, the median of 3.",
            "Of these rows, timed once: GMRES, 3D, k = 2, L = 5, f64.",
            "median: 50 % (GMRES, 3D, k = 4, L = 5, f64)",
            "By their hashes, the kernels are those of commit `now`: all other rows.",
            "**Of older kernels, of commit `old`, which changed until commit `now`**: GMRES, 3D, k = 2, L = 5, f64.",
            "Kernels that changed: `a`, `b`, `c`, `d` and 1 more.",
        ] {
            assert!(text.contains(part), "no '{part}' in: {text}");
        }
    }

    #[test]
    fn rows_of_before_say_that_nothing_more_is_known() {
        let old = Row { origin: None, kernels: None, timings: Vec::new(), ..row(2, "", 1) };
        let text = dated(vec![(old.clone(), Age::Unhashed)]).paragraphs(&Origin::of_commit("now"));
        for part in [
            "a GPU, commit `a`; timed once (requested; the records do not say how often the work ran).",
            "**Recorded before kernels were hashed (commit `a`): the kernels may have changed since**.",
        ] {
            assert!(text.contains(part), "no '{part}' in: {text}");
        }
        assert!(!text.contains("spread") && !text.contains("now"), "{text}");
        for age in [Age::Same, Age::OtherProgram] {
            let text = dated(vec![(old.clone(), age)]).paragraphs(&Origin::of_commit("now"));
            assert!(text.contains("program of commit `a`; without a GPU kernel nothing is hashed"), "{text}");
        }
        let all = [dated(vec![(old.clone(), Age::Unhashed)]), dated(vec![(old, Age::Unhashed)])];
        let text = Dated::overview(all.iter(), &Origin::of_commit("now"));
        assert!(text.contains("(commit `a`): the kernels may have changed since**: smoother, smoother."), "{text}");
    }
}
