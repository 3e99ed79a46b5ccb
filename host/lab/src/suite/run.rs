//! Runs experiments point by point, and writes their rows as they come.

use super::experiment::{Experiment, Key, Point};
use super::laboratory::{Basis, Laboratory, Program, Values};
use super::record::{Header, Origin, Results, Row};
use super::sizes::Sizes;
use super::store::{Earlier, Store};
use super::{Suite, drawing};
use patchmg::backend::Backend;
use patchmg::measure::Protocol;
use patchmg::system::elliptic::Elliptic;
use patchmg::system::{Poisson, Runs, Stokes};
use patchmg_cli::error::{Error, Library, Result};
use patchmg_cli::hashes::Hashes;
use std::path::PathBuf;
use std::sync::Arc;

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

/// Runs experiments and writes, for each, JSON row by row, and CSV and a picture at its end.
///
/// What a machine cannot do is a row with the reason. Returns the results in the order of the experiments.
///
/// # Errors
/// Before anything is written: those of [`Protocol::check`], and [`Error::OtherRun`] or [`Error::Input`] for results in the
/// folder that would be lost ([`Earlier`]). Those of files; those of the machine that end all work, such as
/// [`Library::Driver`] and [`Library::Timeout`].
pub fn run<B: Runs<Poisson> + Runs<Stokes> + Runs<Elliptic>>(
    backend: &Arc<B>,
    suite: &Suite,
    experiments: &[&'static Experiment],
    settings: &Settings,
    progress: &mut dyn FnMut(Progress),
) -> Result<Vec<Results>> {
    settings.protocol.check()?;
    let mut laboratory = Laboratory::new(backend, settings.protocol, settings.program.clone());
    let (mut all, mut hashes) = (Vec::new(), Hashes::default());
    let sizes = Sizes { gpu: backend.info().backend.is_gpu(), quick: settings.quick };
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
pub fn header<B: Backend>(backend: &Arc<B>, suite: &Suite, experiment: &Experiment, settings: &Settings) -> Header {
    let device = backend.info();
    Header {
        suite: suite.name.into(),
        experiment: experiment.name.into(),
        title: experiment.title.into(),
        backend: device.backend,
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

fn row<B: Runs<Poisson> + Runs<Stokes> + Runs<Elliptic>>(
    laboratory: &mut Laboratory<B>,
    experiment: &Experiment,
    point: &Point,
    max_dofs: usize,
) -> Result<(Row, Basis)> {
    let (dofs, found) = match outcome(laboratory.dofs(point, max_dofs))? {
        Ok(dofs) if dofs > max_dofs => (dofs, Err(format!("more unknowns than the limit of {max_dofs} (--max-dofs)"))),
        Ok(dofs) => (dofs, outcome(laboratory.compute(point))?),
        Err(reason) => (point.dofs(), Err(reason)),
    };
    let paper = point.paper.iter().map(|&(column, value)| (column.into(), value)).collect();
    let ((values, basis), skipped) = match found {
        Ok((mut values, basis)) => {
            values.extend(point.beside.iter().map(|&(column, value)| (column.into(), Some(value))));
            ((values, basis), None)
        }
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
        Err(error @ Error::Library(Library::OutOfMemory { .. })) => {
            Ok(Err(format!("does not fit the memory: {error}")))
        }
        Err(error @ Error::Library(Library::Unsupported { backend: "cpu", .. })) => {
            Ok(Err(format!("needs a GPU: {error}")))
        }
        Err(
            error @ (Error::Library(Library::Driver { .. })
            | Error::Library(Library::Timeout { .. })
            | Error::Library(Library::NoDevice { .. })
            | Error::Library(Library::Io { .. })
            | Error::Output { .. }),
        ) => Err(error),
        Err(error) => Ok(Err(error.to_string())),
    }
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
