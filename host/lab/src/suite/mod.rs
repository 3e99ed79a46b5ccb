//! Suites of experiments: every table and figure of a paper, or how fast all is, as data and as pictures.
//!
//! An [`Experiment`] is a list of points. Rows are written as they come, and a run that was interrupted goes on where it
//! stopped, as long as machine and settings are the same, and program or kernels ([`Earlier`]).

mod age;
mod drawing;
mod experiment;
mod goal;
mod laboratory;
mod page;
mod paper1;
mod paper4;
mod products;
mod provenance;
mod record;
mod sizes;
mod speed;
mod store;
pub mod summary;
mod traffic;
mod work;

pub use experiment::{Column, Experiment, Key, Point};
pub use goal::{Better, Goal, Verdict};
pub use laboratory::Program;
pub use page::{check_page, write_page};
pub use paper1::PAPER1;
pub use paper4::PAPER4;
pub use record::{Header, Measured, Origin, Results, Row};
pub use sizes::Sizes;
pub use speed::SPEED;
pub use store::Earlier;

use laboratory::{Basis, Laboratory, Values};
use patchmg::error::{Error, Result};
use patchmg::measure::Protocol;
use patchmg::system::Runs;
use patchmg_cli::hashes::Hashes;
use std::path::PathBuf;
use std::sync::Arc;
use store::Store;

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
    /// What becomes of an earlier run's results.
    pub earlier: Earlier,
    pub protocol: Protocol,
    /// This program, for what is measured from the start of a process.
    pub program: Option<Program>,
    /// Version and revision of the program.
    pub version: String,
    pub commit: String,
}

/// What is told while a suite runs.
pub enum Progress<'a> {
    /// An experiment with so many points, of which so many are there from an earlier run, and so many others are of older
    /// kernels, or of an older program where there are none.
    Start { experiment: &'a Experiment, points: usize, kept: usize, older: usize },
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
/// Before anything is written: those of [`Protocol::check`], and [`Error::OtherRun`] or [`Error::Input`] for results in the
/// folder that would be lost ([`Earlier`]). Those of files; those of the machine that end all work, such as
/// [`Error::Driver`] and [`Error::Timeout`].
pub fn run<B: Runs>(
    backend: &Arc<B>,
    suite: &Suite,
    experiments: &[&'static Experiment],
    settings: &Settings,
    progress: &mut dyn FnMut(Progress),
) -> Result<Vec<Results>> {
    settings.protocol.check()?;
    let mut laboratory = Laboratory::new(backend, settings.protocol, settings.program.clone());
    let (mut all, mut hashes) = (Vec::new(), Hashes::default());
    let sizes = Sizes { gpu: backend.info().backend != "cpu", quick: settings.quick };
    let open = |experiment: &&'static Experiment| {
        let header = header(backend, suite, experiment, settings);
        let columns = experiment.columns.iter().map(Into::into).collect();
        let results = Results { header, remark: experiment.remark.into(), columns, rows: Vec::new() };
        Ok((*experiment, Store::open(&settings.folder, results, settings.earlier, &mut hashes)?))
    };
    let stores = experiments.iter().map(open).collect::<Result<Vec<_>>>()?;
    for (experiment, mut store) in stores {
        let points = (experiment.points)(&sizes);
        let count = |of: &dyn Fn(&Key) -> bool| points.iter().filter(|point| of(&point.key)).count();
        let (kept, older) = (count(&|key| store.holds(key)), count(&|key| store.is_older(key)));
        progress(Progress::Start { experiment, points: points.len(), kept, older });
        for point in &points {
            if store.holds(&point.key) {
                continue;
            }
            progress(Progress::Point(&point.key));
            let (mut row, basis) = row(&mut laboratory, experiment, point, settings.max_dofs)?;
            row.origin = Some(store.results().header.origin.clone());
            row.timings = basis.timings;
            if sizes.gpu && row.skipped.is_none() {
                row.kernels = hashes.of(basis.kernels.iter().map(String::as_str))?;
            }
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
pub fn header<B: Runs>(backend: &Arc<B>, suite: &Suite, experiment: &Experiment, settings: &Settings) -> Header {
    let device = backend.info();
    Header {
        suite: suite.name.into(),
        experiment: experiment.name.into(),
        title: experiment.title.into(),
        backend: device.backend.into(),
        device: device.name,
        units: device.units,
        architecture: device.architecture,
        origin: Origin {
            version: settings.version.clone(),
            commit: settings.commit.clone(),
            driver: device.driver,
            cuda_api: device.cuda_api,
        },
        protocol: settings.protocol,
        quick: settings.quick,
        max_dofs: settings.max_dofs,
    }
}

fn row<B: Runs>(
    laboratory: &mut Laboratory<B>,
    experiment: &Experiment,
    point: &Point,
    max_dofs: usize,
) -> Result<(Row, Basis)> {
    let dofs = point.dofs();
    let found = if dofs > max_dofs {
        Err(format!("more unknowns than the limit of {max_dofs} (--max-dofs)"))
    } else {
        outcome(laboratory.compute(point))?
    };
    let paper = point.paper.iter().map(|&(column, value)| (column.into(), value)).collect();
    let ((values, basis), skipped) = match found {
        Ok(found) => (found, None),
        Err(reason) => ((Values::new(), Basis::default()), Some(reason)),
    };
    let goals = point.goals.iter().map(|&(column, goal)| (column.into(), goal)).collect();
    let (key, origin, kernels, timings) = (point.key.clone(), None, None, Vec::new());
    let mut row = Row { key, dofs, values, paper, goals, skipped, origin, kernels, timings };
    row.conclude(experiment.columns);
    Ok((row, basis))
}

/// Separates what ends all work from what this machine, or this point, cannot do.
fn outcome<V>(found: Result<V>) -> Result<Result<V, String>> {
    match found {
        Ok(found) => Ok(Ok(found)),
        Err(error @ Error::OutOfMemory { .. }) => Ok(Err(format!("does not fit the memory: {error}"))),
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
            earlier: Earlier::Same,
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
        let reasons: Vec<_> = first.rows.iter().filter_map(|row| row.skipped.as_ref()).collect();
        let skipped = reasons.len();
        assert!(0 < skipped && skipped < all, "degrees from 5 on have more than 4000 unknowns");
        assert!(reasons.iter().all(|reason| reason.contains("limit of 4000 (--max-dofs)")), "{reasons:?}");
        assert_eq!(computed("table2", &settings), skipped);

        let mut shortened = first.clone();
        shortened.rows.remove(1);
        std::fs::write(folder.path().join("table2.json"), serde_json::to_string(&shortened).unwrap()).unwrap();
        assert_eq!(computed("table2", &settings), skipped + 1);
        assert_eq!(results(&settings, "table2"), first);
        assert_eq!(computed("table2", &Settings { earlier: Earlier::Replace, ..settings }), all);
    }

    #[test]
    fn rows_say_what_they_were_recorded_with() {
        let folder = tempfile::tempdir().unwrap();
        let settings = Settings { protocol: Protocol { warmup: 1, repetitions: 2 }, ..settings(folder.path()) };
        computed_of(&SPEED, "vcycle", &settings);
        computed_of(&SPEED, "transfer", &settings);
        computed("table2", &settings);
        let rows = |experiment| -> Vec<Row> {
            results(&settings, experiment).rows.into_iter().filter(|row| row.skipped.is_none()).collect()
        };
        for row in rows("vcycle").iter().chain(&rows("transfer")).chain(&rows("table2")) {
            assert_eq!(row.origin, Some(Origin { version: "0.1.0".into(), ..Origin::of_commit("test") }));
            assert_eq!(row.kernels, None, "of a CPU nothing is hashed");
        }
        for row in rows("vcycle") {
            let [Measured { what, timing, .. }] = &*row.timings else { panic!("{row:?}") };
            assert!(what.starts_with("V-cycle") && timing.min_s <= timing.max_s, "{row:?}");
            assert_eq!(row.protocol(), Some(settings.protocol));
            assert_eq!(row.value("measured"), Some(1e3 * timing.median_s));
        }
        for row in rows("transfer").iter().filter(|row| row.key.series.starts_with("both")) {
            let what = |part: &str| row.timings.iter().filter(|timing| timing.what.starts_with(part)).count();
            let levels = row.key.refine - 1;
            assert_eq!(["restriction", "smoother step", "prolongation and"].map(what), [levels; 3], "{row:?}");
            assert_eq!(what("V-cycle"), 1);
            // What is timed on a level is done once more than is asked for before it counts.
            assert!(row.timings.iter().any(|timing| timing.protocol() == Protocol { warmup: 2, repetitions: 2 }));
        }
        assert!(rows("table2").iter().all(|row| row.timings.is_empty()), "iterations are not timed");
    }

    #[test]
    fn other_settings_are_refused_before_anything_is_done() {
        let folder = tempfile::tempdir().unwrap();
        let settings = settings(folder.path());
        computed("table2", &settings);
        let file = folder.path().join("table2.json");
        let before = std::fs::read(&file).unwrap();
        let backend = Arc::new(Cpu::new(Some(1)).unwrap());
        let refused = |settings: &Settings| {
            let mut nothing = |_: Progress| panic!("it was begun");
            // The first of the two could be recorded.
            let experiments = PAPER1.select(&["table1".into(), "table2".into()]).unwrap();
            run(&backend, &PAPER1, &experiments, settings, &mut nothing).unwrap_err()
        };
        for (changed, what) in [
            (Settings { commit: "other".into(), ..settings.clone() }, "commit"),
            (Settings { version: "9".into(), ..settings.clone() }, "version"),
            (Settings { quick: false, ..settings.clone() }, "size of the problems"),
            (Settings { protocol: Protocol { warmup: 0, repetitions: 2 }, ..settings.clone() }, "repetitions"),
        ] {
            let error = refused(&changed);
            assert!(
                matches!(&error, Error::OtherRun { path, differences }
                if *path == file && differences.len() == 1 && differences[0].0 == what),
                "{error}"
            );
        }
        let many = Settings { protocol: Protocol { warmup: 0, repetitions: usize::MAX }, ..settings.clone() };
        assert!(matches!(refused(&many), Error::InvalidArgument { name: "repetitions", .. }));
        assert_eq!(std::fs::read(&file).unwrap(), before);
        assert!(!folder.path().join("table1.json").exists());
        std::fs::write(&file, &before[..before.len() / 2]).unwrap();
        assert!(matches!(refused(&settings), Error::Input { path, .. } if path == file));

        // Another program: on a CPU nothing tells whether the code is the same.
        std::fs::write(&file, &before).unwrap();
        let all = results(&settings, "table2").rows.len();
        let resumed = Settings { commit: "other".into(), earlier: Earlier::Resume, ..settings.clone() };
        assert_eq!(computed("table2", &resumed), all);
        assert!(results(&settings, "table2").rows.iter().all(|row| row.origin.as_ref().unwrap().commit == "other"));
        assert!(computed("table2", &resumed) < all, "skipped ones alone");
    }

    #[test]
    fn what_skips_a_row_is_said() {
        let needed = Error::OutOfMemory { device: "a GPU".into(), needed: 2, available: 1 };
        let reason = outcome::<()>(Err(needed)).unwrap().unwrap_err();
        assert!(reason.starts_with("does not fit the memory: a GPU has 1 bytes"), "{reason}");
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
