//! The files of an experiment while it runs, and which rows of an earlier run still hold.

use super::age::Age;
use super::drawing::distinct;
use super::experiment::Key;
use super::goal::Verdict;
use super::record::{Origin, Results, Row, is_there};
use patchmg::measure::Protocol;
use patchmg::output::file;
use patchmg_cli::error::{Error, Result};
use patchmg_cli::hashes::Hashes;
use patchmg_cli::report;
use std::path::{Path, PathBuf};

/// What becomes of the results of an earlier run in the folder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Earlier {
    /// Rows of the same program and driver stay; others are an error.
    #[default]
    Same,
    /// Rows of the same kernels stay, and where none was launched, of the same program; others are computed again.
    Resume,
    /// None stays.
    Replace,
}

/// The files of an experiment while it runs.
pub struct Store {
    folder: PathBuf,
    results: Results,
    /// Keys of the rows that need not be computed.
    held: Vec<Key>,
}

impl Store {
    /// Starts from `results`, which have no rows, with those of an earlier run in `folder`. Writes nothing.
    ///
    /// # Errors
    /// Unless they are to be replaced: [`Error::OtherRun`] for results that are not to stand beside those of this run, or
    /// that would be lost; [`Error::Input`] for damaged ones, and for files that are not of an experiment;
    /// [`Library::Io`].
    pub fn open(folder: &Path, mut results: Results, earlier: Earlier, hashes: &mut Hashes) -> Result<Self> {
        let folder = folder.to_owned();
        if earlier == Earlier::Replace {
            return Ok(Self { folder, results, held: Vec::new() });
        }
        let path = |extension| path(&folder, &results.header.experiment, extension);
        let json = path("json");
        let Some(mut found) = Results::read(&json)? else {
            if let Some(path) = ["csv", "svg"].map(path).into_iter().find(|path| is_there(path)) {
                let reason = format!("no results beside it, as {} would be: not of this suite", json.display());
                return Err(Error::Input { path, reason });
            }
            return Ok(Self { folder, results, held: Vec::new() });
        };
        let (header, origin) = (&results.header, &results.header.origin);
        let mut differences = found.header.other_conditions(header);
        let ages = Age::of_rows(&found, origin, hashes)?;
        if earlier == Earlier::Same {
            let origins = found.rows.iter().filter(|row| row.skipped.is_none()).map(|row| found.origin_of(row));
            differences.extend(distinct(origins.flat_map(|earlier| earlier.differences(origin))));
            let older: Vec<_> = ages.iter().flatten().filter_map(Age::changed_kernels).collect();
            if let (true, Some(kernels)) = (differences.is_empty(), older.first()) {
                let earlier = format!("of {} rows, {} among them, others", older.len(), kernels.join(", "));
                differences.push(("kernels", earlier, String::from("those of this program")));
            }
        }
        if !differences.is_empty() {
            return Err(Error::OtherRun { path: json, differences });
        }
        let holds = ages.iter().map(|age| *age == Some(Age::Same));
        let held = found.rows.iter().zip(holds).filter(|(_, holds)| *holds).map(|(row, _)| row.key.clone()).collect();
        // The header will be that of this run.
        for row in &mut found.rows {
            row.origin.get_or_insert_with(|| found.header.origin.clone());
        }
        results.rows = found.rows;
        Ok(Self { folder, results, held })
    }

    /// Whether the row of a point is there and needs not be computed.
    pub fn holds(&self, key: &Key) -> bool {
        self.held.contains(key)
    }

    /// Whether there is a row of a point that must be computed again.
    pub fn is_older(&self, key: &Key) -> bool {
        !self.holds(key) && self.results.rows.iter().any(|row| row.key == *key && row.skipped.is_none())
    }

    /// What there is so far.
    pub fn results(&self) -> &Results {
        &self.results
    }

    /// All that there is.
    pub fn into_results(self) -> Results {
        self.results
    }

    /// Adds a row, in the place of an older one, and writes the JSON file.
    ///
    /// # Errors
    /// [`Library::Io`] and [`Error::Output`].
    pub fn push(&mut self, row: Row) -> Result<()> {
        self.held.push(row.key.clone());
        match self.results.rows.iter_mut().find(|known| known.key == row.key) {
            Some(known) => *known = row,
            None => self.results.rows.push(row),
        }
        self.write_json()
    }

    /// Puts the rows in the order of `keys`, others behind them, and writes JSON and CSV.
    ///
    /// # Errors
    /// [`Library::Io`] and [`Error::Output`].
    pub fn finish(&mut self, keys: &[Key]) -> Result<()> {
        let place = |row: &Row| keys.iter().position(|key| *key == row.key).unwrap_or(keys.len());
        self.results.rows.sort_by_key(place);
        self.write_json()?;
        let path = path(&self.folder, &self.results.header.experiment, "csv");
        Ok(file::write(&path, &csv(&self.results, &path)?)?)
    }

    fn write_json(&self) -> Result<()> {
        let path = path(&self.folder, &self.results.header.experiment, "json");
        Ok(file::write(&path, report::json(&self.results, &path)?.as_bytes())?)
    }
}

/// Where an experiment's file of a kind lies.
pub fn path(folder: &Path, experiment: &str, extension: &str) -> PathBuf {
    folder.join(format!("{experiment}.{extension}"))
}

/// The rows as comma-separated values: key, unknowns, values, the paper's values and what is aimed at where there are
/// some, why a row has no values, and what it was recorded with: commit, driver, protocol and spread of its measurements,
/// kernels with their hashes.
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
    let titles = titles.chain([String::from("skipped")]).chain(PROVENANCE.map(String::from));
    writer.write_record(titles).map_err(|e| output(e.to_string()))?;
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
        let cells = cells.chain([row.skipped.clone().unwrap_or_default()]).chain(provenance(results, row));
        writer.write_record(cells).map_err(|e| output(e.to_string()))?;
    }
    writer.into_inner().map_err(|e| output(e.to_string()))
}

/// Names of [`provenance`].
const PROVENANCE: [&str; 6] = ["commit", "driver", "warmup", "repetitions", "spread_percent", "kernels"];

fn provenance(results: &Results, row: &Row) -> [String; PROVENANCE.len()] {
    let Origin { commit, driver, .. } = results.origin_of(row).clone();
    let protocol = row.protocol();
    let number = |of: fn(Protocol) -> usize| protocol.map_or(String::new(), |protocol| of(protocol).to_string());
    let spread = row.spread_percent().map_or(String::new(), |percent| percent.to_string());
    let kernels = row.kernels.iter().flatten().map(|(name, hash)| format!("{name} {hash}"));
    let (warmup, repetitions) = (number(|protocol| protocol.warmup), number(|protocol| protocol.repetitions));
    [commit, driver.unwrap_or_default(), warmup, repetitions, spread, kernels.collect::<Vec<_>>().join("; ")]
}

#[cfg(test)]
mod tests {
    use super::super::goal::{Better, Goal};
    use super::super::record::{ColumnName, Header, Measured};
    use super::*;
    use patchmg::backend::BackendName;
    use patchmg::measure::Timing;
    use std::collections::BTreeMap;

    fn results(commit: &str) -> Results {
        Results {
            header: Header { origin: Origin::of_commit(commit), ..Header::of_a_gpu("paper1", "table0", "Table 0") },
            remark: "nothing".into(),
            columns: ["iterations", "time_s"].map(|name| ColumnName { name: name.into(), label: name.into() }).into(),
            rows: Vec::new(),
        }
    }

    fn key(degree: usize) -> Key {
        Key::new("patch, \"f64\"", [3, degree, 2])
    }

    fn row(degree: usize) -> Row {
        let values = BTreeMap::from([("iterations".into(), Some(3.0)), ("time_s".into(), Some(1.0 / 3.0))]);
        Row {
            key: key(degree),
            values,
            paper: BTreeMap::from([("iterations".into(), 5.0)]),
            goals: BTreeMap::from([("time_s".into(), Goal::new(0.5, None).judge(Better::Lower, Some(1.0 / 3.0)))]),
            ..Row::of_a_gpu()
        }
    }

    fn skipped(degree: usize) -> Row {
        let goals = BTreeMap::from([("time_s".into(), Goal::new(0.5, Some(1.0)))]);
        let (values, paper) = (BTreeMap::new(), BTreeMap::new());
        Row { values, paper, goals, skipped: Some("needs a GPU".into()), ..row(degree) }
    }

    /// Without a GPU.
    fn on_cpu(commit: &str) -> Results {
        let mut results = results(commit);
        results.header.backend = BackendName::Cpu;
        results
    }

    fn open(folder: &Path, results: Results, earlier: Earlier) -> Result<Store> {
        Store::open(folder, results, earlier, &mut Hashes::default())
    }

    /// What differs, if that is why results are refused.
    fn refused(found: Result<Store>) -> Vec<&'static str> {
        match found {
            Err(Error::OtherRun { differences, .. }) => differences.into_iter().map(|(what, ..)| what).collect(),
            Err(error) => panic!("{error}"),
            Ok(_) => panic!("not refused"),
        }
    }

    #[test]
    fn rows_of_the_same_program_hold_and_skipped_ones_are_tried_again() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = open(folder.path(), on_cpu("a"), Earlier::Same).unwrap();
        store.push(row(1)).unwrap();
        store.push(skipped(2)).unwrap();
        for earlier in [Earlier::Same, Earlier::Resume] {
            let again = open(folder.path(), on_cpu("a"), earlier).unwrap();
            assert!(again.holds(&key(1)) && !again.holds(&key(2)) && !again.is_older(&key(2)));
        }
        let mut larger = on_cpu("a");
        larger.header.max_dofs += 1;
        assert!(open(folder.path(), larger, Earlier::Same).unwrap().holds(&key(1)));
        assert!(open(folder.path(), on_cpu("b"), Earlier::Replace).unwrap().results().rows.is_empty());
    }

    #[test]
    fn results_of_another_run_are_refused_and_stay() {
        let folder = tempfile::tempdir().unwrap();
        open(folder.path(), on_cpu("a"), Earlier::Same).unwrap().push(row(1)).unwrap();
        let json = folder.path().join("table0.json");
        let before = std::fs::read(&json).unwrap();
        let header = |change: fn(&mut Header)| {
            let mut results = on_cpu("a");
            change(&mut results.header);
            results
        };
        for (results, what) in [
            (header(|header| header.origin.commit = "b".into()), "commit"),
            (header(|header| header.origin.version = "0.2.0".into()), "version"),
            (header(|header| header.origin.driver = Some("580.1".into())), "driver"),
        ] {
            assert_eq!(refused(open(folder.path(), results.clone(), Earlier::Same)), [what]);
            assert!(open(folder.path(), results, Earlier::Resume).is_ok(), "{what}");
        }
        for (results, what) in [
            (header(|header| header.suite = "paper4".into()), "suite"),
            (header(|header| header.device = "another".into()), "device"),
            (header(|header| header.units = 1), "number of threads or multiprocessors"),
            (header(|header| header.quick = true), "size of the problems"),
            (header(|header| header.protocol.warmup = 7), "warmup"),
            (header(|header| header.protocol.repetitions = 7), "repetitions"),
        ] {
            for earlier in [Earlier::Same, Earlier::Resume] {
                assert_eq!(refused(open(folder.path(), results.clone(), earlier)), [what]);
            }
        }
        let error = open(folder.path(), header(|header| header.protocol.repetitions = 7), Earlier::Same).err().unwrap();
        assert!(error.to_string().contains("repetitions 1 there, 7 now"), "{error}");
        assert_eq!(std::fs::read(&json).unwrap(), before);
    }

    #[test]
    fn what_was_not_written_here_is_refused_and_stays() {
        let folder = tempfile::tempdir().unwrap();
        let file = |extension: &str| folder.path().join("table0").with_extension(extension);
        let check = |path: &Path| {
            for earlier in [Earlier::Same, Earlier::Resume] {
                let error = open(folder.path(), on_cpu("a"), earlier).err().unwrap();
                assert!(matches!(&error, Error::Input { path: at, .. } if at == path), "{error}");
            }
            assert!(open(folder.path(), on_cpu("a"), Earlier::Replace).is_ok());
            std::fs::remove_file(path).unwrap();
        };
        for (extension, text) in [("json", "{\"suite\": \"pap"), ("json", ""), ("csv", "mine"), ("svg", "mine")] {
            std::fs::write(file(extension), text).unwrap();
            check(&file(extension));
        }
        std::os::unix::fs::symlink(folder.path().join("nowhere"), file("csv")).unwrap();
        check(&file("csv"));
        std::os::unix::fs::symlink(folder.path().join("nowhere"), file("json")).unwrap();
        let error = open(folder.path(), on_cpu("a"), Earlier::Same).err().unwrap();
        assert!(matches!(&error, Error::Library(patchmg::Error::Io { path, .. }) if *path == file("json")), "{error}");
    }

    #[test]
    fn rows_of_older_kernels_are_recorded_again_and_stay_until_then() {
        let folder = tempfile::tempdir().unwrap();
        let name = "poisson_cg_2d_q2_apply_f64";
        let Some(hashes) = Hashes::default().of([name]).unwrap() else { return };
        let hashed = |degree, hash: &str| {
            let kernels = BTreeMap::from([(name.into(), hash.into())]);
            Row { origin: Some(Origin::of_commit("a")), kernels: Some(kernels), ..row(degree) }
        };
        let old = Results { rows: vec![hashed(1, &hashes[name]), hashed(2, "fnv1a64:0"), row(3)], ..results("a") };
        std::fs::write(folder.path().join("table0.json"), serde_json::to_string(&old).unwrap()).unwrap();

        assert_eq!(refused(open(folder.path(), results("a"), Earlier::Same)), ["kernels"]);
        // By another program: the kernels decide.
        let mut store = open(folder.path(), results("b"), Earlier::Resume).unwrap();
        assert_eq!([1, 2, 3].map(|degree| store.holds(&key(degree))), [true, false, false]);
        assert_eq!([1, 2, 3].map(|degree| store.is_older(&key(degree))), [false, true, true]);
        store.push(Row { origin: Some(Origin::of_commit("b")), ..hashed(2, &hashes[name]) }).unwrap();
        let found = Results::read(&folder.path().join("table0.json")).unwrap().unwrap();
        assert_eq!(found.header.origin.commit, "b");
        let commits = found.rows.iter().map(|row| &*found.origin_of(row).commit);
        assert_eq!(commits.collect::<Vec<_>>(), ["a", "b", "a"]);
        let again = open(folder.path(), results("c"), Earlier::Resume).unwrap();
        assert_eq!([1, 2, 3].map(|degree| again.holds(&key(degree))), [true, true, false]);
    }

    #[test]
    fn a_file_of_before_rows_had_an_origin_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table0.json");
        let mut old = serde_json::to_value(Results { rows: vec![row(1)], ..results("a") }).unwrap();
        old["driver"] = "CUDA 13.0".into();
        old.as_object_mut().unwrap().remove("cuda_api");
        std::fs::write(&path, old.to_string()).unwrap();
        let found = Results::read(&path).unwrap().unwrap();
        let Origin { driver, cuda_api, .. } = found.origin_of(&found.rows[0]);
        assert_eq!((driver, cuda_api.as_deref()), (&None, Some("13.0")));
        let mut hashes = Hashes::default();
        assert_eq!(Age::of_rows(&found, &Origin::of_commit("a"), &mut hashes).unwrap(), [Some(Age::Unhashed)]);
    }

    #[test]
    fn csv_holds_what_json_holds() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = open(folder.path(), results("a"), Earlier::Same).unwrap();
        store.push(skipped(2)).unwrap();
        let timing = |repetitions, max_s| Timing { median_s: 2.0, min_s: 1.5, max_s, repetitions };
        let measured = |warmup, timing| Measured { what: "a step".into(), warmup, timing };
        let timings = vec![measured(2, timing(3, 2.5)), measured(0, timing(1, 9.0)), measured(2, timing(5, 2.25))];
        let kernels =
            Some(BTreeMap::from([("smooth".into(), "fnv1a64:1".into()), ("apply".into(), "fnv1a64:2".into())]));
        store.push(Row { timings, kernels, ..row(1) }).unwrap();
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
        assert_eq!(
            PROVENANCE.map(|title| at(&records[0], title)),
            ["a", "", "0", "1", "50", "apply fnv1a64:2; smooth fnv1a64:1"]
        );
        assert_eq!(PROVENANCE.map(|title| at(&records[1], title)), ["a", "", "", "", "", ""]);
        assert!(!titles.iter().any(|title| title == "paper_time_s"), "the paper says nothing of it");
    }
}
