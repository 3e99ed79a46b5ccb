//! Results of an experiment: its files, and which rows of an earlier run still hold.

use super::experiment::{Column, Experiment, Key};
use super::goal::{Goal, Verdict};
use patchmg::error::{Error, Result};
use patchmg::measure::Protocol;
use patchmg::output::file;
use patchmg_cli::report;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Where rows come from. Rows of an earlier run hold if all of it is the same.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    pub suite: String,
    pub experiment: String,
    /// With the paper's number.
    pub title: String,
    pub backend: String,
    pub device: String,
    /// Threads of a CPU, multiprocessors of a GPU.
    pub units: usize,
    pub architecture: String,
    pub driver: Option<String>,
    pub version: String,
    /// Revision that the program was built from.
    pub commit: String,
    pub protocol: Protocol,
    /// Small sizes, to see that all works.
    pub quick: bool,
    /// Unknowns of the largest problem.
    pub max_dofs: usize,
}

#[cfg(test)]
impl Header {
    /// Of an experiment on some GPU.
    pub(crate) fn of_a_gpu(suite: &str, experiment: &str, title: &str) -> Self {
        Self {
            suite: suite.into(),
            experiment: experiment.into(),
            title: title.into(),
            backend: "cuda".into(),
            device: "a GPU".into(),
            units: 132,
            architecture: "sm_90".into(),
            driver: None,
            version: "0.1.0".into(),
            commit: "a".into(),
            protocol: Protocol::ONCE,
            quick: false,
            max_dofs: 1000,
        }
    }
}

/// One point of an experiment: what was found, or why not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    #[serde(flatten)]
    pub key: Key,
    /// Unknowns.
    pub dofs: usize,
    /// By column; none where it is not known.
    pub values: BTreeMap<String, Option<f64>>,
    /// The paper's values, by column, on one NVIDIA A100.
    pub paper: BTreeMap<String, f64>,
    /// What is aimed at, by column, and whether it is reached.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub goals: BTreeMap<String, Goal>,
    /// Why there are no values.
    pub skipped: Option<String>,
}

impl Row {
    /// A value that is known.
    pub fn value(&self, column: &str) -> Option<f64> {
        self.values.get(column).copied().flatten()
    }

    /// Computes columns that are percentages of others, and judges by what is aimed at.
    pub fn conclude(&mut self, columns: &[Column]) {
        if self.skipped.is_some() {
            return;
        }
        for column in columns {
            if let Some(of) = column.percent {
                let [over, under] = of.map(|name| self.value(name));
                let percent = over.zip(under).map(|(over, under)| 100.0 * over / under);
                self.values.insert(column.name.into(), percent);
            }
            let value = self.value(column.name);
            if let (Some(better), Some(goal)) = (column.better, self.goals.get_mut(column.name)) {
                *goal = goal.judge(better, value);
            }
        }
    }
}

/// A whole results file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Results {
    #[serde(flatten)]
    pub header: Header,
    /// What is measured, what the paper says, and what differs.
    pub remark: String,
    pub columns: Vec<ColumnName>,
    pub rows: Vec<Row>,
}

impl Results {
    /// Brings what follows from measurements up to the experiment as it is now: text, percentages and verdicts.
    pub fn conclude(&mut self, experiment: &Experiment) {
        self.remark = experiment.remark.into();
        self.columns = experiment.columns.iter().map(Into::into).collect();
        self.rows.iter_mut().for_each(|row| row.conclude(experiment.columns));
    }
}

/// A column's name and what it means, with its unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ColumnName {
    pub name: String,
    pub label: String,
}

impl From<&Column> for ColumnName {
    fn from(column: &Column) -> Self {
        Self { name: column.name.into(), label: column.label.into() }
    }
}

/// The files of an experiment while it runs.
pub struct Store {
    folder: PathBuf,
    results: Results,
}

impl Store {
    /// Starts from `results`, which may have no rows, with those of an earlier run in `folder` that still hold, unless
    /// all is to be `fresh`.
    pub fn open(folder: &Path, mut results: Results, fresh: bool) -> Self {
        let path = path(folder, &results.header.experiment, "json");
        // A file that is not there, or is of another program, holds nothing.
        let earlier = std::fs::read(path).ok().and_then(|text| serde_json::from_slice::<Results>(&text).ok());
        if let Some(earlier) = earlier.filter(|earlier| !fresh && earlier.header == results.header) {
            results.rows = earlier.rows.into_iter().filter(|row| row.skipped.is_none()).collect();
        }
        Self { folder: folder.to_owned(), results }
    }

    /// The row of a point that was computed.
    pub fn row(&self, key: &Key) -> Option<&Row> {
        self.results.rows.iter().find(|row| row.key == *key)
    }

    /// What there is so far.
    pub fn results(&self) -> &Results {
        &self.results
    }

    /// All that there is.
    pub fn into_results(self) -> Results {
        self.results
    }

    /// Adds a row and writes the JSON file.
    ///
    /// # Errors
    /// [`Error::Io`] and [`Error::Output`].
    pub fn push(&mut self, row: Row) -> Result<()> {
        self.results.rows.push(row);
        self.write_json()
    }

    /// Puts the rows in the order of `keys` and writes JSON and CSV.
    ///
    /// # Errors
    /// [`Error::Io`] and [`Error::Output`].
    pub fn finish(&mut self, keys: &[Key]) -> Result<()> {
        self.results.rows.sort_by_key(|row| keys.iter().position(|key| *key == row.key));
        self.write_json()?;
        let path = path(&self.folder, &self.results.header.experiment, "csv");
        file::write(&path, &csv(&self.results, &path)?)
    }

    fn write_json(&self) -> Result<()> {
        let path = path(&self.folder, &self.results.header.experiment, "json");
        file::write(&path, report::json(&self.results, &path)?.as_bytes())
    }
}

/// Where an experiment's file of a kind lies.
pub fn path(folder: &Path, experiment: &str, extension: &str) -> PathBuf {
    folder.join(format!("{experiment}.{extension}"))
}

/// The rows as comma-separated values: key, unknowns, values, the paper's values and what is aimed at where there are
/// some, and why a row has no values.
fn csv(results: &Results, path: &Path) -> Result<Vec<u8>> {
    let output = |reason: String| Error::Output { path: path.to_owned(), reason };
    let paper = results.columns.iter().filter(|c| results.rows.iter().any(|row| row.paper.contains_key(&c.name)));
    let paper: Vec<_> = paper.collect();
    let goals = results.columns.iter().filter(|c| results.rows.iter().any(|row| row.goals.contains_key(&c.name)));
    let goals: Vec<_> = goals.map(|column| &column.name).collect();
    let mut writer = csv::Writer::from_writer(Vec::new());
    let titles = Key::FIELDS.iter().map(ToString::to_string).chain([String::from("dofs")]);
    let titles = titles.chain(results.columns.iter().map(|column| column.name.clone()));
    let titles = titles.chain(paper.iter().map(|column| format!("paper_{}", column.name)));
    let titles =
        titles.chain(goals.iter().flat_map(|name| ["target", "least", "verdict"].map(|what| format!("{what}_{name}"))));
    writer.write_record(titles.chain([String::from("skipped")])).map_err(|e| output(e.to_string()))?;
    let number = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
    for row in &results.rows {
        let cells = row.key.fields().into_iter().chain([row.dofs.to_string()]);
        let cells = cells.chain(results.columns.iter().map(|column| number(row.value(&column.name))));
        let cells = cells.chain(paper.iter().map(|column| number(row.paper.get(&column.name).copied())));
        let cells = cells.chain(goals.iter().flat_map(|name| {
            let goal = row.goals.get(*name);
            let verdict = goal.and_then(|goal| goal.verdict).map_or("", Verdict::name);
            [number(goal.map(|goal| goal.target)), number(goal.and_then(|goal| goal.least)), verdict.into()]
        }));
        let cells = cells.chain([row.skipped.clone().unwrap_or_default()]);
        writer.write_record(cells).map_err(|e| output(e.to_string()))?;
    }
    writer.into_inner().map_err(|e| output(e.to_string()))
}

#[cfg(test)]
mod tests {
    use super::super::goal::Better;
    use super::*;

    fn results(commit: &str) -> Results {
        Results {
            header: Header { commit: commit.into(), ..Header::of_a_gpu("paper1", "table0", "Table 0") },
            remark: "nothing".into(),
            columns: ["iterations", "time_s"].map(|name| ColumnName { name: name.into(), label: name.into() }).into(),
            rows: Vec::new(),
        }
    }

    fn key(degree: usize) -> Key {
        Key {
            series: "patch, \"f64\"".into(),
            dim: 3,
            degree,
            refine: 2,
            precision: "f64".into(),
            patches: None,
            nodes: None,
        }
    }

    fn row(degree: usize) -> Row {
        let values = BTreeMap::from([("iterations".into(), Some(3.0)), ("time_s".into(), Some(1.0 / 3.0))]);
        Row {
            key: key(degree),
            dofs: 27,
            values,
            paper: BTreeMap::from([("iterations".into(), 5.0)]),
            goals: BTreeMap::from([("time_s".into(), Goal::new(0.5, None).judge(Better::Lower, Some(1.0 / 3.0)))]),
            skipped: None,
        }
    }

    fn skipped(degree: usize) -> Row {
        let goals = BTreeMap::from([("time_s".into(), Goal::new(0.5, Some(1.0)))]);
        let (values, paper) = (BTreeMap::new(), BTreeMap::new());
        Row { values, paper, goals, skipped: Some("needs a GPU".into()), ..row(degree) }
    }

    #[test]
    fn percentages_and_verdicts_follow_from_what_was_recorded() {
        let memory = super::super::SPEED.experiments.iter().find(|known| known.name == "memory").unwrap();
        let values = [("measured", 1.2), ("asked", 0.9), ("floor", 1.0), ("ratio", 120.0)];
        let goal = Goal::new(100.0, Some(100.0)).judge(Better::Lower, Some(120.0));
        let judged = Row {
            values: values.map(|(name, value)| (name.into(), Some(value))).into(),
            goals: BTreeMap::from([("ratio".into(), goal)]),
            ..row(1)
        };
        let mut results = Results { rows: vec![judged.clone(), skipped(2)], ..results("a") };
        results.conclude(memory);
        assert_eq!((results.rows[0].value("ratio"), results.rows[0].value("measured")), (Some(90.0), Some(1.2)));
        assert_eq!(
            [&judged, &results.rows[0]].map(|row| row.goals["ratio"].verdict.unwrap().name()),
            ["below", "target"]
        );
        assert_eq!(results.rows[1], skipped(2));
        assert_eq!((&*results.remark, results.columns.len()), (memory.remark, memory.columns.len()));
    }

    #[test]
    fn rows_of_the_same_program_hold_and_skipped_ones_are_tried_again() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::open(folder.path(), results("a"), false);
        store.push(row(1)).unwrap();
        store.push(skipped(2)).unwrap();
        let again = Store::open(folder.path(), results("a"), false);
        assert_eq!(again.row(&key(1)), Some(&row(1)));
        assert_eq!(again.row(&key(2)), None);
        assert!(Store::open(folder.path(), results("a"), true).results().rows.is_empty());
        assert!(Store::open(folder.path(), results("b"), false).results().rows.is_empty());
        let mut larger = results("a");
        larger.header.max_dofs += 1;
        assert!(Store::open(folder.path(), larger, false).results().rows.is_empty());
    }

    #[test]
    fn a_spoilt_file_holds_nothing_and_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("table0.json"), "{\"suite\": \"pap").unwrap();
        let mut store = Store::open(folder.path(), results("a"), false);
        assert!(store.results().rows.is_empty());
        store.push(row(1)).unwrap();
        assert!(Store::open(folder.path(), results("a"), false).row(&key(1)).is_some());
    }

    #[test]
    fn csv_holds_what_json_holds() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::open(folder.path(), results("a"), false);
        store.push(skipped(2)).unwrap();
        store.push(row(1)).unwrap();
        store.finish(&[key(1), key(2)]).unwrap();
        let json: Results = serde_json::from_slice(&std::fs::read(folder.path().join("table0.json")).unwrap()).unwrap();
        assert_eq!(json, *store.results());
        assert_eq!(json.rows.iter().map(|row| row.key.degree).collect::<Vec<_>>(), [1, 2]);

        let mut reader = csv::Reader::from_path(folder.path().join("table0.csv")).unwrap();
        let titles = reader.headers().unwrap().clone();
        let at = |record: &csv::StringRecord, title: &str| {
            record[titles.iter().position(|t| t == title).unwrap_or_else(|| panic!("{title}"))].to_string()
        };
        let records: Vec<_> = reader.records().map(Result::unwrap).collect();
        assert_eq!(records.len(), json.rows.len());
        for (record, row) in records.iter().zip(&json.rows) {
            assert_eq!(at(record, "series"), row.key.series);
            assert_eq!(at(record, "degree").parse::<usize>().unwrap(), row.key.degree);
            for column in ["iterations", "time_s"] {
                assert_eq!(at(record, column).parse().ok(), row.value(column));
            }
            assert_eq!(at(record, "paper_iterations").parse().ok(), row.paper.get("iterations").copied());
            assert_eq!(at(record, "skipped"), row.skipped.clone().unwrap_or_default());
        }
        assert_eq!(
            ["target_time_s", "least_time_s", "verdict_time_s"].map(|title| at(&records[0], title)),
            ["0.5", "", "target"]
        );
        assert_eq!(
            ["target_time_s", "least_time_s", "verdict_time_s"].map(|title| at(&records[1], title)),
            ["0.5", "1", ""]
        );
        assert!(!titles.iter().any(|title| title == "paper_time_s"), "the paper says nothing of it");
    }
}
