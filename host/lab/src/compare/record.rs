//! What of a run can be compared.

use crate::suite::{Better, Header, Results, Suite};
use patchmg_cli::error::{Error, Library, Result};
use patchmg_cli::report::BenchReport;
use std::path::{Path, PathBuf};

/// An experiment of a suite, or one problem that was timed.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// What was run.
    pub name: String,
    /// What must be the same, by name.
    pub conditions: Vec<(&'static str, String)>,
    pub entries: Vec<Entry>,
}

/// A number, or the lack of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// What was measured, and where.
    pub name: String,
    /// Which quantity of it, with its unit.
    pub quantity: String,
    pub better: Better,
    pub value: Option<f64>,
}

impl Entry {
    /// Whether another one is of the same quantity.
    pub(super) fn is(&self, other: &Self) -> bool {
        (&self.name, &self.quantity) == (&other.name, &other.quantity)
    }
}

impl Record {
    /// Of an experiment: the columns that runs are compared by.
    ///
    /// # Errors
    /// [`Library::InvalidArgument`] for an experiment that there is not.
    pub fn of_results(results: &Results) -> Result<Self> {
        let Results { header, rows, .. } = results;
        let suite = Suite::named(&header.suite)?;
        let columns = suite.select(std::slice::from_ref(&header.experiment))?[0].columns;
        let compared = columns.iter().filter(|column| column.compared);
        let compared = compared.filter_map(|column| Some((column, column.better?)));
        let entries = rows.iter().flat_map(|row| {
            compared.clone().map(move |(column, better)| Entry {
                name: format!("{}: {}", header.experiment, row.key),
                quantity: column.label.into(),
                better,
                value: row.value(column.name),
            })
        });
        Ok(Self { entries: entries.collect(), ..Self::of_header(header) })
    }

    /// An experiment without its numbers, to check before it is run.
    pub fn of_header(header: &Header) -> Self {
        let Header { suite, experiment, backend, device, units, quick, .. } = header;
        let conditions = vec![
            ("backend", backend.to_string()),
            ("device", device.clone()),
            ("number of threads or multiprocessors", units.to_string()),
            ("size of the problems", String::from(if *quick { "quick" } else { "full" })),
        ];
        Self { name: format!("{suite}, {experiment}"), conditions, entries: Vec::new() }
    }

    /// Of one problem: its solve, and its parts by scalar. Kernels may differ.
    pub fn of_bench(report: &BenchReport) -> Self {
        let BenchReport { solve, measurements, .. } = report;
        // Reports that do not say it are of the unit square or cube.
        let or_ones = |numbers: Vec<f64>| if numbers.is_empty() { vec![1.0; solve.dim] } else { numbers };
        let base_cells = or_ones(solve.base_cells.iter().map(|&cells| cells as f64).collect());
        // Poisson's equation has none of these parameters. Reports without a cycle are of V-cycles.
        let number = |number: Option<f64>| number.map_or(String::from("none"), |number| format!("{number:?}"));
        let cycle = if solve.cycle.is_empty() { "v" } else { &solve.cycle };
        let conditions = vec![
            ("backend", solve.backend.clone()),
            ("device", solve.device.clone()),
            ("system", solve.system.clone()),
            ("dim", solve.dim.to_string()),
            ("degree", solve.degree.to_string()),
            ("refine", solve.refine.to_string()),
            ("cells", format!("{base_cells:?}")),
            ("size", format!("{:?}", or_ones(solve.size.clone()))),
            ("problem", solve.problem.clone()),
            ("nu", number(solve.flow.nu)),
            ("mass", number(solve.flow.mass)),
            ("mu", number(solve.flow.mu)),
            ("sigma", number(solve.flow.sigma)),
            ("solver", solve.solver.clone()),
            ("cycle", cycle.to_string()),
            ("precision", solve.precision.clone()),
            ("rtol", format!("{:e}", solve.rtol)),
        ];
        let seconds = |name: String, value| Entry {
            name,
            quantity: "median time [s]".into(),
            better: Better::Lower,
            value: Some(value),
        };
        let parts = measurements.iter().map(|m| seconds(format!("{}, {}", m.what, m.scalar), m.timing.median_s));
        let mut entries: Vec<_> = parts.collect();
        // The time of a solve that did not end where it should says nothing.
        let solved = Entry {
            value: solve.converged.then_some(solve.solve_s),
            ..seconds(format!("solve, {}", solve.precision), solve.solve_s)
        };
        entries.push(solved);
        Self { name: "one problem".into(), conditions, entries }
    }

    /// All of a file: results of an experiment, or of one problem; or of a folder: its files of experiments.
    ///
    /// # Errors
    /// [`Library::Io`] for a file that cannot be read, [`Error::Input`] for one that holds something else.
    pub fn read(path: &Path) -> Result<Vec<Self>> {
        if path.is_dir() {
            let files = json_files(path)?;
            if files.is_empty() {
                return Err(Error::Input { path: path.to_owned(), reason: "no results of a suite are here".into() });
            }
            return files.iter().map(|file| Self::of_results(&parse(file)?)).collect();
        }
        let value: serde_json::Value = parse(path)?;
        let record = if value.get("experiment").is_some() {
            Self::of_results(&parse(path)?)?
        } else {
            Self::of_bench(&parse(path)?)
        };
        Ok(vec![record])
    }

    /// Those of the `earlier` records that are to be made again as `now`: to be asked before time is spent on it.
    ///
    /// # Errors
    /// [`Error::NotComparable`] if there are none, or if they were made under other conditions.
    pub fn select(mut earlier: Vec<Self>, now: &[Self]) -> Result<Vec<Self>> {
        let names = |records: &[Self]| records.iter().map(|record| &*record.name).collect::<Vec<_>>().join("; ");
        let all = names(&earlier);
        earlier.retain(|record| now.iter().any(|other| other.name == record.name));
        if earlier.is_empty() {
            return Err(Error::NotComparable { what: "what was measured", earlier: all, now: names(now) });
        }
        for record in &earlier {
            now.iter().filter(|other| other.name == record.name).try_for_each(|other| record.check(other))?;
        }
        Ok(earlier)
    }

    /// Whether this earlier record was made as `now`.
    ///
    /// # Errors
    /// [`Error::NotComparable`] with what differs first.
    pub fn check(&self, now: &Self) -> Result<()> {
        for ((what, earlier), (_, now)) in self.conditions.iter().zip(&now.conditions) {
            if earlier != now {
                return Err(Error::NotComparable { what, earlier: earlier.clone(), now: now.clone() });
            }
        }
        Ok(())
    }
}

/// In the order of their names.
fn json_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let io = |source| Library::Io { path: folder.to_owned(), source };
    let entries = std::fs::read_dir(folder).map_err(io)?.collect::<std::io::Result<Vec<_>>>().map_err(io)?;
    let files = entries.into_iter().map(|entry| entry.path());
    let mut files: Vec<_> =
        files.filter(|file| file.extension().is_some_and(|extension| extension == "json")).collect();
    files.sort();
    Ok(files)
}

fn parse<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T> {
    let text = std::fs::read(path).map_err(|source| Library::Io { path: path.to_owned(), source })?;
    serde_json::from_slice(&text).map_err(|reason| Error::Input {
        path: path.to_owned(),
        reason: format!("no result of `patchmg bench`: {reason}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{Comparison, Outcome};
    use crate::suite::{Key, Row, SPEED};
    use patchmg::backend::cpu::Cpu;
    use patchmg::measure::Protocol;
    use patchmg_cli::report::SolveReport;
    use std::collections::BTreeMap;
    use std::sync::Arc;

    fn results(device: &str, measured: &[f64]) -> Results {
        let header = Header { device: device.into(), ..Header::of_a_gpu(SPEED.name, "smoother", "Smoother") };
        let row = |(degree, &value): (usize, &f64)| Row {
            key: Key::new("smoother", [3, degree, 2]),
            // Follows from the other one, and would count twice.
            values: BTreeMap::from([("measured".into(), Some(value)), ("ratio".into(), Some(1.0 / value))]),
            ..Row::of_a_gpu()
        };
        let rows = (2..).zip(measured).map(row).collect();
        Results { header, remark: String::new(), columns: Vec::new(), rows }
    }

    fn write(path: &Path, results: &Results) {
        std::fs::write(path, serde_json::to_string(results).unwrap()).unwrap();
    }

    #[test]
    fn files_and_folders_of_a_suite_are_compared_row_by_row() {
        let folder = tempfile::tempdir().unwrap();
        let [earlier, now] = ["earlier", "now"].map(|name| folder.path().join(name));
        [&earlier, &now].into_iter().for_each(|folder| std::fs::create_dir(folder).unwrap());
        write(&earlier.join("smoother.json"), &results("a GPU", &[1.0, 2.0, 3.0]));
        write(&now.join("smoother.json"), &results("a GPU", &[1.0, 2.5]));
        let in_folders = [&earlier, &now].map(|path| Record::read(path).unwrap());
        let in_files = [&earlier, &now].map(|path| Record::read(&path.join("smoother.json")).unwrap());
        assert_eq!(in_folders, in_files);
        let [earlier, now] = in_files;
        let comparison = Comparison::new(&earlier, &now, 10.0).unwrap();
        let outcomes: Vec<_> = comparison.changes.iter().map(|change| change.outcome).collect();
        assert_eq!(outcomes, [Outcome::Same, Outcome::Slower, Outcome::Missing]);
        assert_eq!(comparison.changes[1].name, "smoother: smoother, 3D, k = 3, L = 2, f64");
    }

    #[test]
    fn what_holds_no_results_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("other.txt");
        assert!(matches!(Record::read(&file), Err(Error::Library(Library::Io { .. }))));
        assert!(matches!(Record::read(folder.path()), Err(Error::Input { .. })));
        for text in ["", "{}", "[1]", "{\"experiment\": \"smoother\"}"] {
            std::fs::write(&file, text).unwrap();
            assert!(matches!(Record::read(&file), Err(Error::Input { .. })), "{text}");
        }
        let mut unknown = results("a GPU", &[1.0]);
        unknown.header.experiment = "table0".into();
        write(&file, &unknown);
        assert!(matches!(Record::read(&file), Err(Error::Library(Library::InvalidArgument { .. }))));
    }

    #[test]
    fn another_machine_or_experiment_is_found_before_the_run() {
        let record = |device: &str| Record::of_results(&results(device, &[1.0])).unwrap();
        let planned = [Record::of_header(&results("a GPU", &[]).header)];
        assert_eq!(Record::select(vec![record("a GPU")], &planned).unwrap(), [record("a GPU")]);
        let refused = |earlier: Record| match Record::select(vec![earlier], &planned) {
            Err(Error::NotComparable { what, .. }) => what,
            other => panic!("{other:?}"),
        };
        assert_eq!(refused(record("another")), "device");
        assert_eq!(refused(Record { name: "one problem".into(), ..record("a GPU") }), "what was measured");
    }

    #[test]
    fn one_problem_is_compared_by_its_parts_and_its_solve() {
        use patchmg::mesh::Mesh;
        use patchmg::solve::Config;
        use patchmg::system::Poisson;
        let cpu = Arc::new(Cpu::new(Some(1)).unwrap());
        let system = Poisson::continuous(Mesh::unit_cube(2, 2).unwrap(), 2).unwrap();
        let parts = patchmg::measure::parts(&cpu, &system, &Config::default(), Protocol::ONCE).unwrap();
        let text = serde_json::json!({
            "system": "poisson-cg", "dim": 2, "degree": 2, "refine": 2, "cells": 16, "dofs": 49, "problem": "one",
            "solver": "fmg", "smoother": "patch", "kernel": "fused", "variant": "register", "local": "fdm",
            "precision": "f64", "backend": "cpu", "device": "a CPU", "iterations": 1, "converged": true, "rtol": 1e-9,
            "residual_history": [1e-10], "relative_residual": 1e-10, "fractional_iterations": 1.0, "l2_error": null,
            "h1_error": null, "setup_s": 1.0, "solve_s": 2.0, "ns_per_dof": 1.0, "version": "0.1.0", "commit": "a",
            "driver": null, "protocol": { "warmup": 0, "repetitions": 1 },
            "solve_timing": { "median_s": 2.0, "min_s": 2.0, "max_s": 2.0, "repetitions": 1 },
            "measurements": parts.measurements,
        });
        let earlier: BenchReport = serde_json::from_value(text).unwrap();
        let compare =
            |now: &BenchReport| Comparison::new(&[Record::of_bench(&earlier)], &[Record::of_bench(now)], 10.0);
        let mut now = earlier.clone();
        now.solve.solve_s *= 1.2;
        now.measurements[1].timing.median_s *= 0.5;
        now.measurements.remove(0);
        let changes = compare(&now).unwrap().changes;
        let told: Vec<_> = changes.iter().filter(|change| change.outcome != Outcome::Same).collect();
        let told: Vec<_> = told.iter().map(|change| (&*change.name, change.outcome.name())).collect();
        assert_eq!(told, [("operator, f64", "missing"), ("residual, f64", "faster"), ("solve, f64", "slower")]);

        let mut other = earlier.clone();
        other.solve.converged = false;
        assert_eq!(compare(&other).unwrap().count(Outcome::Missing), 1, "its time says nothing");
        // What an earlier version did not say is of the unit square.
        let said =
            SolveReport { base_cells: vec![1, 1], size: vec![1.0, 1.0], cycle: "v".into(), ..earlier.solve.clone() };
        assert!(compare(&BenchReport { solve: said, ..earlier.clone() }).is_ok());
        for condition in ["device", "precision", "refine", "cells", "size", "problem", "nu", "mass", "sigma", "cycle"] {
            let mut other = earlier.clone();
            match condition {
                "device" => other.solve.device = "another".into(),
                "precision" => other.solve.precision = "f32".into(),
                "refine" => other.solve.refine = 3,
                "cells" => other.solve.base_cells = vec![3, 1],
                "size" => other.solve.size = vec![1.0, 2.0],
                "nu" => other.solve.flow.nu = Some(0.5),
                "mass" => other.solve.flow.mass = Some(10.0),
                "sigma" => other.solve.flow.sigma = Some(0.3),
                "cycle" => other.solve.cycle = "w".into(),
                _ => other.solve.problem = "sine".into(),
            }
            match compare(&other) {
                Err(Error::NotComparable { what, .. }) => assert_eq!(what, condition),
                found => panic!("{found:?}"),
            }
        }
    }
}
