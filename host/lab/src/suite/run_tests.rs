//! Suites on one thread of a CPU: what is computed, what is kept, and what the numbers are.

use super::super::record::Measured;
use super::super::{PAPER1, PAPER3, PAPER4, SPEED};
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
    assert!(matches!(refused(&many), Error::Library(Library::InvalidArgument { name: "repetitions", .. })));
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
    let needed = Error::from(Library::OutOfMemory { device: "a GPU".into(), needed: 2, available: 1 });
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
fn a_mesh_by_cycles_is_the_same_whichever_rows_are_there() {
    let folder = tempfile::tempdir().unwrap();
    let settings = settings(folder.path());
    computed_of(&PAPER3, "table3", &settings);
    let first = results(&settings, "table3");
    let of = |column: &str| first.rows.iter().map(|row| row.value(column).unwrap()).collect::<Vec<_>>();
    let (cells, errors) = (of("cells"), of("l2_error"));
    assert_eq!((cells[0], first.rows[0].dofs), (12.0, 33));
    assert!(cells.is_sorted_by(|a, b| 1.5 * a < *b && *b < 4.0 * a), "{cells:?}");
    assert!(errors.is_sorted_by(|a, b| a > b), "{errors:?}");
    assert!(of("iterations").iter().all(|count| (3.0..=8.0).contains(count)), "{first:?}");

    // The last mesh follows from solutions on the others, whose rows are there.
    let mut shortened = first.clone();
    let last = shortened.rows.pop().unwrap();
    std::fs::write(folder.path().join("table3.json"), serde_json::to_string(&shortened).unwrap()).unwrap();
    assert_eq!(computed_of(&PAPER3, "table3", &settings), 1);
    assert_eq!(results(&settings, "table3"), first);

    // Beyond the limit no mesh is made, nor solved on.
    let limited = Settings { max_dofs: last.dofs - 1, earlier: Earlier::Replace, ..settings.clone() };
    assert_eq!(computed_of(&PAPER3, "table3", &limited), first.rows.len());
    let rows = results(&settings, "table3").rows;
    assert_eq!(rows[..2], first.rows[..2]);
    assert_eq!((rows[2].dofs, rows[2].skipped.is_some()), (last.dofs, true));
    let limited = Settings { max_dofs: first.rows[0].dofs, earlier: Earlier::Replace, ..settings.clone() };
    computed_of(&PAPER3, "table3", &limited);
    let rows = results(&settings, "table3").rows;
    assert_eq!(rows[0], first.rows[0]);
    assert!(rows[1..].iter().all(|row| row.skipped.is_some() && row.dofs == first.rows[1].dofs), "{rows:?}");
}
