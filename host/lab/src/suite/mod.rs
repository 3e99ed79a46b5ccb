//! Suites of experiments: every table and figure of a paper, or how fast all is, as data and as pictures.
//!
//! An [`Experiment`] is a list of points. Rows are written as they come, and a run that was interrupted goes on where it
//! stopped, as long as program, machine and settings are the same.

mod drawing;
mod experiment;
mod goal;
mod laboratory;
mod page;
mod paper1;
mod paper4;
mod products;
mod record;
mod sizes;
mod speed;
pub mod summary;
mod traffic;
mod work;

pub use experiment::{Column, Experiment, Key, Point};
pub use goal::{Better, Goal, Verdict};
pub use laboratory::Program;
pub use page::write_page;
pub use paper1::PAPER1;
pub use paper4::PAPER4;
pub use record::{Header, Results, Row};
pub use sizes::Sizes;
pub use speed::SPEED;

use laboratory::{Laboratory, Values};
use patchmg::backend::Backend;
use patchmg::error::{Error, Result};
use patchmg::measure::Protocol;
use record::Store;
use std::path::PathBuf;
use std::sync::Arc;

/// Experiments that belong together.
pub struct Suite {
    pub name: &'static str,
    pub title: &'static str,
    pub experiments: &'static [Experiment],
}

/// All suites.
pub const SUITES: [&Suite; 3] = [&PAPER1, &PAPER4, &SPEED];

/// How a suite runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Where results go; must be there.
    pub folder: PathBuf,
    /// Small sizes.
    pub quick: bool,
    /// Problems with more unknowns are left out.
    pub max_dofs: usize,
    /// Nothing of an earlier run holds.
    pub fresh: bool,
    pub protocol: Protocol,
    /// This program, for what is measured from the start of a process.
    pub program: Option<Program>,
    /// Version and revision of the program.
    pub version: String,
    pub commit: String,
}

/// What is told while a suite runs.
pub enum Progress<'a> {
    /// An experiment with so many points, of which so many are there from an earlier run.
    Start { experiment: &'a Experiment, points: usize, kept: usize },
    /// A point is about to be computed.
    Point(&'a Key),
    /// It was.
    Row(&'a Row),
    /// All files of the experiment are written.
    Done,
}

impl Suite {
    /// The suite of a name.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] with the names that there are.
    pub fn named(name: &str) -> Result<&'static Self> {
        SUITES.into_iter().find(|suite| suite.name == name).ok_or_else(|| Error::InvalidArgument {
            name: "suite",
            value: name.into(),
            allowed: SUITES.map(|suite| suite.name).join(", "),
        })
    }

    /// The experiments of these names in the order of the suite, all for no name.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a name that there is not, with those that there are.
    pub fn select(&self, names: &[String]) -> Result<Vec<&'static Experiment>> {
        let known: Vec<_> = self.experiments.iter().map(|experiment| experiment.name).collect();
        if let Some(unknown) = names.iter().find(|name| !known.contains(&&***name)) {
            return Err(Error::InvalidArgument { name: "only", value: unknown.clone(), allowed: known.join(", ") });
        }
        let wanted = |experiment: &&Experiment| names.is_empty() || names.iter().any(|name| name == experiment.name);
        Ok(self.experiments.iter().filter(wanted).collect())
    }
}

/// Runs experiments and writes, for each, JSON row by row, and CSV and a picture at its end.
///
/// What a machine cannot do is a row with the reason. Returns the results in the order of the experiments.
///
/// # Errors
/// Those of files; those of the machine that end all work, such as [`Error::Driver`] and [`Error::Timeout`].
pub fn run<B: Backend>(
    backend: &Arc<B>,
    suite: &Suite,
    experiments: &[&'static Experiment],
    settings: &Settings,
    progress: &mut dyn FnMut(Progress),
) -> Result<Vec<Results>> {
    let mut laboratory = Laboratory::new(backend, settings.protocol, settings.program.clone());
    let mut all = Vec::new();
    let sizes = Sizes { gpu: backend.info().backend != "cpu", quick: settings.quick };
    for experiment in experiments {
        let points = (experiment.points)(&sizes);
        let header = header(backend, suite, experiment, settings);
        let columns = experiment.columns.iter().map(Into::into).collect();
        let results = Results { header, remark: experiment.remark.into(), columns, rows: Vec::new() };
        let mut store = Store::open(&settings.folder, results, settings.fresh);
        let kept = points.iter().filter(|point| store.row(&point.key).is_some()).count();
        progress(Progress::Start { experiment, points: points.len(), kept });
        for point in &points {
            if store.row(&point.key).is_some() {
                continue;
            }
            progress(Progress::Point(&point.key));
            let row = row(&mut laboratory, experiment, point, settings.max_dofs)?;
            store.push(row.clone())?;
            progress(Progress::Row(&row));
        }
        let keys: Vec<_> = points.into_iter().map(|point| point.key).collect();
        store.finish(&keys)?;
        drawing::write(experiment.picture, store.results(), &settings.folder)?;
        progress(Progress::Done);
        all.push(store.into_results());
    }
    Ok(all)
}

/// Where the rows of an experiment come from on this machine.
pub fn header<B: Backend>(backend: &Arc<B>, suite: &Suite, experiment: &Experiment, settings: &Settings) -> Header {
    let device = backend.info();
    Header {
        suite: suite.name.into(),
        experiment: experiment.name.into(),
        title: experiment.title.into(),
        backend: device.backend.into(),
        device: device.name,
        units: device.units,
        architecture: device.architecture,
        driver: device.driver,
        version: settings.version.clone(),
        commit: settings.commit.clone(),
        protocol: settings.protocol,
        quick: settings.quick,
        max_dofs: settings.max_dofs,
    }
}

fn row<B: Backend>(
    laboratory: &mut Laboratory<B>,
    experiment: &Experiment,
    point: &Point,
    max_dofs: usize,
) -> Result<Row> {
    let dofs = point.dofs();
    let found = if dofs > max_dofs {
        Err(format!("more unknowns than the limit of {max_dofs}"))
    } else {
        outcome(laboratory.compute(point))?
    };
    let paper = point.paper.iter().map(|&(column, value)| (column.into(), value)).collect();
    let (values, skipped) = match found {
        Ok(values) => (values, None),
        Err(reason) => (Values::new(), Some(reason)),
    };
    let goals = point.goals.iter().map(|&(column, goal)| (column.into(), goal)).collect();
    let mut row = Row { key: point.key.clone(), dofs, values, paper, goals, skipped };
    row.conclude(experiment.columns);
    Ok(row)
}

/// Separates what ends all work from what this machine, or this point, cannot do.
fn outcome(found: Result<Values>) -> Result<Result<Values, String>> {
    match found {
        Ok(values) => Ok(Ok(values)),
        Err(error @ Error::Unsupported { backend: "cpu", .. }) => Ok(Err(format!("needs a GPU: {error}"))),
        Err(
            error @ (Error::Driver { .. }
            | Error::Timeout { .. }
            | Error::NoDevice { .. }
            | Error::Io { .. }
            | Error::Output { .. }),
        ) => Err(error),
        Err(error) => Ok(Err(error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use patchmg::backend::cpu::Cpu;

    fn settings(folder: &std::path::Path) -> Settings {
        Settings {
            folder: folder.to_owned(),
            quick: true,
            max_dofs: 4000,
            fresh: false,
            protocol: Protocol::ONCE,
            program: None,
            version: "0.1.0".into(),
            commit: "test".into(),
        }
    }

    /// Rows of an experiment of paper 1 that were computed.
    fn computed(only: &str, settings: &Settings) -> usize {
        computed_of(&PAPER1, only, settings)
    }

    fn computed_of(suite: &Suite, only: &str, settings: &Settings) -> usize {
        let backend = Arc::new(Cpu::new(Some(1)).unwrap());
        let mut count = 0;
        let mut progress = |progress: Progress| count += usize::from(matches!(progress, Progress::Row(_)));
        run(&backend, suite, &suite.select(&[only.into()]).unwrap(), settings, &mut progress).unwrap();
        count
    }

    fn results(settings: &Settings, experiment: &str) -> Results {
        serde_json::from_slice(&std::fs::read(settings.folder.join(format!("{experiment}.json"))).unwrap()).unwrap()
    }

    #[test]
    fn a_second_run_computes_what_is_missing() {
        let folder = tempfile::tempdir().unwrap();
        let settings = settings(folder.path());
        let all = computed("table2", &settings);
        let first = results(&settings, "table2");
        assert_eq!((all, first.rows.len()), (8, 8));
        let skipped = first.rows.iter().filter(|row| row.skipped.is_some()).count();
        assert!(0 < skipped && skipped < all, "degrees from 5 on have more than 4000 unknowns");
        assert_eq!(computed("table2", &settings), skipped);

        let mut shortened = first.clone();
        shortened.rows.remove(1);
        std::fs::write(folder.path().join("table2.json"), serde_json::to_string(&shortened).unwrap()).unwrap();
        assert_eq!(computed("table2", &settings), skipped + 1);
        assert_eq!(results(&settings, "table2"), first);
        assert_eq!(computed("table2", &Settings { fresh: true, ..settings }), all);
    }

    #[test]
    fn iterations_are_those_of_the_method_and_never_more_than_the_papers() {
        let folder = tempfile::tempdir().unwrap();
        let settings = settings(folder.path());
        computed("table2", &settings);
        for row in results(&settings, "table2").rows.iter().filter(|row| row.skipped.is_none()) {
            assert!(row.value("iterations").unwrap() >= 1.0, "{row:?}");
            assert!(row.value("iterations") <= row.paper.get("iterations").copied().or(Some(6.0)), "{row:?}");
        }
    }

    #[test]
    fn what_needs_a_gpu_says_so_on_a_cpu() {
        let folder = tempfile::tempdir().unwrap();
        let settings = settings(folder.path());
        computed("figure5", &settings);
        let rows = results(&settings, "figure5").rows;
        assert!(!rows.is_empty());
        assert!(rows.iter().all(|row| row.skipped.as_ref().unwrap().starts_with("needs a GPU")), "{rows:?}");
    }

    #[test]
    fn bank_conflicts_need_no_gpu() {
        let folder = tempfile::tempdir().unwrap();
        let settings = settings(folder.path());
        computed("table5", &settings);
        let rows = results(&settings, "table5").rows;
        let conflicts: Vec<_> = rows.iter().map(|row| row.value("conflicts").unwrap()).collect();
        assert!(conflicts[0] > 0.0 && conflicts[1] > 0.0 && conflicts[2] == 0.0, "{conflicts:?}");
        assert!(rows[..3].iter().all(|row| row.value("color_ms").is_none() && row.paper["color_ms"] > 20.0));
        assert!(rows[3].value("color_ms").unwrap() > 0.0, "our own kernel is there");
    }

    /// Settings for `Q_7` on 4 cells a direction, discontinuous.
    fn one_size(folder: &std::path::Path) -> Settings {
        Settings { max_dofs: 32usize.pow(3), ..settings(folder) }
    }

    #[test]
    fn the_operator_of_discontinuous_elements_is_as_accurate_as_its_scalar() {
        let folder = tempfile::tempdir().unwrap();
        let settings = one_size(folder.path());
        computed_of(&PAPER4, "figure8", &settings);
        let rows = results(&settings, "figure8").rows;
        let (there, skipped): (Vec<_>, Vec<_>) = rows.iter().partition(|row| row.skipped.is_none());
        assert_eq!((there.len(), there[0].dofs), (1, settings.max_dofs), "{rows:?}");
        // Rounding of the vector alone is a third of an ulp on average.
        let error = there[0].value("relative_error").unwrap() / f64::from(f32::EPSILON);
        assert!((0.1..10.0).contains(&error), "{error}");
        assert!(skipped.iter().any(|row| row.skipped.as_ref().unwrap().starts_with("needs a GPU")));
    }

    #[test]
    fn gmres_that_is_not_flexible_keeps_the_rounding_of_its_v_cycle() {
        let folder = tempfile::tempdir().unwrap();
        let settings = one_size(folder.path());
        computed_of(&PAPER4, "figure14", &settings);
        let rows = results(&settings, "figure14").rows;
        let value = |series: &str, column: &str| {
            rows.iter().find(|row| row.key.series.starts_with(series)).and_then(|row| row.value(column)).unwrap()
        };
        assert_eq!(value("GMRES", "iterations"), value("FGMRES", "iterations"));
        assert!(value("FGMRES", "residual") <= 1e-8 && value("GMRES", "residual") > 1e-6);
        for error in ["l2_error", "h1_error"] {
            assert!(value("GMRES", error) > 100.0 * value("FGMRES", error), "{rows:?}");
        }
    }

    #[test]
    fn operations_need_no_gpu() {
        let folder = tempfile::tempdir().unwrap();
        let settings = one_size(folder.path());
        computed_of(&PAPER4, "table3", &settings);
        let rows = results(&settings, "table3").rows;
        assert!(rows.iter().all(|row| row.value("flops_per_dof").unwrap() > 0.0), "{rows:?}");
        assert!(rows.iter().all(|row| row.value("gdof_per_s").is_some() == row.paper.is_empty()), "ours is there");
    }

    #[test]
    fn names_that_are_not_there_are_refused_with_those_that_are() {
        let error = PAPER1.select(&["table4".into()]).err().unwrap().to_string();
        assert!(error.contains("table4") && error.contains("table3") && error.contains("figure20"), "{error}");
        let error = Suite::named("paper9").err().unwrap().to_string();
        assert!(error.contains("paper1"), "{error}");
    }
}
