//! Results of an experiment, as they are recorded.

use super::experiment::{Column, Experiment, Key};
use super::goal::Goal;
use patchmg::backend::BackendName;
use patchmg::measure::{Protocol, Timing};
use patchmg_cli::error::{Error, Library, Result};
use patchmg_cli::hashes::KernelHashes;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// Under which conditions the rows of a file were recorded, and by which program the last one was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    pub suite: String,
    pub experiment: String,
    /// With the paper's number.
    pub title: String,
    pub backend: BackendName,
    pub device: String,
    /// Threads of a CPU, multiprocessors of a GPU.
    pub units: usize,
    pub architecture: String,
    #[serde(flatten)]
    pub origin: Origin,
    /// What was asked for; each row has what was done.
    pub protocol: Protocol,
    /// Small sizes, to see that all works.
    pub quick: bool,
    /// Unknowns of the largest problem.
    pub max_dofs: usize,
}

/// Program and driver that a row was recorded with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    pub version: String,
    /// Revision that the program was built from.
    pub commit: String,
    /// Version of the GPU's driver, for example `580.159.04`.
    pub driver: Option<String>,
    /// Newest version of the CUDA API that the driver has, for example `13.0`.
    #[serde(default)]
    pub cuda_api: Option<String>,
}

/// What differs between two runs, with the value of the earlier and of the later one.
pub type Difference = (&'static str, String, String);

impl Header {
    /// What keeps the rows of this file from standing beside those of a run: another machine, other problems, another
    /// protocol.
    pub fn other_conditions(&self, now: &Self) -> Vec<Difference> {
        let conditions = |header: &Self| {
            let Self { suite, backend, device, units, architecture, protocol, quick, .. } = header.clone();
            let Protocol { warmup, repetitions } = protocol;
            let size = if quick { "quick" } else { "full" };
            [
                ("suite", suite),
                ("backend", backend.to_string()),
                ("device", device),
                ("number of threads or multiprocessors", units.to_string()),
                ("architecture", architecture),
                ("size of the problems", size.into()),
                ("warmup", warmup.to_string()),
                ("repetitions", repetitions.to_string()),
            ]
        };
        differences(conditions(self), conditions(now))
    }
}

impl Origin {
    /// What differs.
    pub fn differences(&self, now: &Self) -> Vec<Difference> {
        let parts = |origin: &Self| {
            let Self { version, commit, driver, cuda_api } = origin.clone();
            let unknown = || String::from("unknown");
            let (driver, cuda_api) = (driver.unwrap_or_else(unknown), cuda_api.unwrap_or_else(unknown));
            [("version", version), ("commit", commit), ("driver", driver), ("CUDA", cuda_api)]
        };
        differences(parts(self), parts(now))
    }

    /// Whether the program is the same.
    pub fn is_of_program(&self, other: &Self) -> bool {
        (&self.version, &self.commit) == (&other.version, &other.commit)
    }
}

fn differences<const N: usize>(
    earlier: [(&'static str, String); N],
    now: [(&'static str, String); N],
) -> Vec<Difference> {
    let pairs = earlier.into_iter().zip(now).filter(|(earlier, now)| earlier != now);
    pairs.map(|((what, earlier), (_, now))| (what, earlier, now)).collect()
}

#[cfg(test)]
impl Origin {
    /// Of some program.
    pub(crate) fn of_commit(commit: &str) -> Self {
        Self { version: "0.1.0".into(), commit: commit.into(), driver: None, cuda_api: None }
    }
}

#[cfg(test)]
impl Header {
    /// Of an experiment on some GPU.
    pub(crate) fn of_a_gpu(suite: &str, experiment: &str, title: &str) -> Self {
        Self {
            suite: suite.into(),
            experiment: experiment.into(),
            title: title.into(),
            backend: BackendName::Cuda,
            device: "a GPU".into(),
            units: 132,
            architecture: "sm_90".into(),
            origin: Origin::of_commit("a"),
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
    /// The paper's values, by column, on the GPU of the suite.
    pub paper: BTreeMap<String, f64>,
    /// What is aimed at, by column, and whether it is reached.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub goals: BTreeMap<String, Goal>,
    /// Why there are no values.
    pub skipped: Option<String>,
    /// That of the file where the row does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// The GPU kernels that were launched for it; none without a GPU, and in rows that were recorded before kernels were hashed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernels: Option<KernelHashes>,
    /// What its times come from; empty in rows without times, and in those recorded before each said it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub timings: Vec<Measured>,
}

/// A measurement that values of a row come from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// What was done.
    pub what: String,
    /// Times that it was done before the first that counts.
    pub warmup: usize,
    #[serde(flatten)]
    pub timing: Timing,
}

impl Measured {
    /// `(max - min) / median`, percent; none of one repetition.
    pub fn spread_percent(&self) -> Option<f64> {
        let Timing { median_s, min_s, max_s, repetitions } = self.timing;
        (repetitions > 1).then(|| 100.0 * (max_s - min_s) / median_s)
    }

    /// How often it was done.
    pub fn protocol(&self) -> Protocol {
        Protocol { warmup: self.warmup, repetitions: self.timing.repetitions }
    }
}

impl Row {
    /// The protocol of its measurement that was repeated least.
    pub fn protocol(&self) -> Option<Protocol> {
        self.timings.iter().map(Measured::protocol).min_by_key(|protocol| (protocol.repetitions, protocol.warmup))
    }

    /// The largest spread of its measurements.
    pub fn spread_percent(&self) -> Option<f64> {
        self.timings.iter().filter_map(Measured::spread_percent).max_by(f64::total_cmp)
    }

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
            if let Some((over, under)) = column.percent {
                let over: Option<Vec<f64>> = over.iter().map(|name| self.value(name)).collect();
                let largest = over.and_then(|over| over.into_iter().max_by(f64::total_cmp));
                let percent = largest.zip(self.value(under)).map(|(over, under)| 100.0 * over / under);
                self.values.insert(column.name.into(), percent);
            }
            let value = self.value(column.name);
            if let (Some(better), Some(goal)) = (column.better, self.goals.get_mut(column.name)) {
                *goal = goal.judge(better, value);
            }
        }
    }
}

#[cfg(test)]
impl Row {
    /// Without values.
    pub(crate) fn of_a_gpu() -> Self {
        Self {
            key: Key::new("GMRES", [3, 4, 5]),
            dofs: 27,
            values: BTreeMap::new(),
            paper: BTreeMap::new(),
            goals: BTreeMap::new(),
            skipped: None,
            origin: None,
            kernels: None,
            timings: Vec::new(),
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
    /// Those of a file; none if there is no file.
    ///
    /// # Errors
    /// [`Library::Io`] for a file that cannot be read, a link that leads nowhere among them, and [`Error::Input`] for one that
    /// holds something else, or a part.
    pub fn read(path: &Path) -> Result<Option<Self>> {
        if !is_there(path) {
            return Ok(None);
        }
        let text = std::fs::read(path).map_err(|source| Library::Io { path: path.to_owned(), source })?;
        let mut results: Self = serde_json::from_slice(&text).map_err(|reason| Error::Input {
            path: path.to_owned(),
            reason: format!("no results of an experiment: {reason}"),
        })?;
        // Until rows had an origin, the version of the CUDA API stood in the driver's place.
        let Origin { driver, cuda_api, .. } = &mut results.header.origin;
        if let Some(api) = driver.as_ref().and_then(|driver| driver.strip_prefix("CUDA ")) {
            *cuda_api = Some(api.into());
            *driver = None;
        }
        Ok(Some(results))
    }

    /// What recorded a row.
    pub fn origin_of<'a>(&'a self, row: &'a Row) -> &'a Origin {
        row.origin.as_ref().unwrap_or(&self.header.origin)
    }

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

/// Whether there is something of a name, be it a link that leads nowhere.
pub fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

#[cfg(test)]
mod tests {
    use super::super::goal::Better;
    use super::*;

    fn results() -> Results {
        let header = Header::of_a_gpu("speed", "memory", "Memory");
        Results { header, remark: String::new(), columns: Vec::new(), rows: Vec::new() }
    }

    #[test]
    fn a_solve_is_judged_by_the_memory_that_the_device_loses() {
        let memory = super::super::SPEED.experiments.iter().find(|known| known.name == "memory").unwrap();
        let values = [("measured", 1.2), ("asked", 0.9), ("floor", 1.0), ("ratio", 90.0)];
        let goal = Goal::new(100.0, Some(100.0)).judge(Better::Lower, Some(90.0));
        let judged = Row {
            values: values.map(|(name, value)| (name.into(), Some(value))).into(),
            goals: BTreeMap::from([("ratio".into(), goal)]),
            ..Row::of_a_gpu()
        };
        let skipped = Row { skipped: Some("needs a GPU".into()), values: BTreeMap::new(), ..judged.clone() };
        let mut results = Results { rows: vec![judged.clone(), skipped.clone()], ..results() };
        results.conclude(memory);
        assert_eq!((results.rows[0].value("ratio"), results.rows[0].value("measured")), (Some(120.0), Some(1.2)));
        assert_eq!(
            [&judged, &results.rows[0]].map(|row| row.goals["ratio"].verdict.unwrap().name()),
            ["target", "below"]
        );
        assert_eq!(results.rows[1], skipped);
        assert_eq!((&*results.remark, results.columns.len()), (memory.remark, memory.columns.len()));
    }

    #[test]
    fn what_is_asked_for_counts_where_it_is_more() {
        let memory = super::super::SPEED.experiments.iter().find(|known| known.name == "memory").unwrap();
        let ratio = |pairs: &[(&str, f64)]| {
            let mut row = Row {
                values: pairs.iter().map(|&(name, value)| (name.into(), Some(value))).collect(),
                ..Row::of_a_gpu()
            };
            row.conclude(memory.columns);
            row.value("ratio")
        };
        assert_eq!(ratio(&[("measured", 0.5), ("asked", 0.75), ("floor", 1.0)]), Some(75.0));
        assert_eq!(ratio(&[("asked", 0.75), ("floor", 1.0)]), None, "what is lost is not known");
    }
}
