//! A later refinement cycle fails: the files keep the results of the last one that succeeded.

use crate::common::{DEVICE, NOT_CONVERGED, in_shell, stderr};
use crate::solve;
use serde_json::Value;
use std::path::Path;

/// Every cell is refined in every cycle.
const ALL: [&str; 4] = ["--refine-fraction", "1", "--coarsen-fraction", "0"];

fn cells_of_vtu(path: &Path) -> u64 {
    let bytes = std::fs::read(path).unwrap();
    let text = String::from_utf8_lossy(&bytes);
    let (_, rest) = text.split_once("NumberOfCells=\"").unwrap();
    rest.split_once('"').unwrap().0.parse().unwrap()
}

fn read(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn cells(report: &Value) -> Vec<u64> {
    report["cycles"].as_array().unwrap().iter().map(|cycle| cycle["cells"].as_u64().unwrap()).collect()
}

#[test]
fn where_memory_ends_there_are_the_results_before() {
    let folder = tempfile::tempdir().unwrap();
    let [json, vtu] = ["result.json", "result.vtu"].map(|name| folder.path().join(name));
    let options = ["solve", "--backend", "cpu", "--threads", "2", "--system", "elliptic", "--mesh", "lshape"];
    let size = ["--degree", "4", "--refine", "3", "--adapt", "9"];
    let files = ["--json", json.to_str().unwrap(), "--vtu", vtu.to_str().unwrap()];
    // The last mesh has 50 million cells.
    let output = in_shell("ulimit -v 614400; exec", &[&options[..], &size, &ALL, &files].concat(), "");
    assert_eq!(output.status.code(), Some(DEVICE), "{}", stderr(&output));
    assert!(stderr(&output).contains(" of free memory, the problem needs "), "{}", stderr(&output));
    let report = read(&json);
    let cells = cells(&report);
    assert!(cells.len() > 1 && cells.windows(2).all(|pair| pair[1] == 4 * pair[0]), "{cells:?}");
    assert_eq!((&report["converged"], report["cells"].as_u64()), (&true.into(), cells.last().copied()));
    assert_eq!(Some(cells_of_vtu(&vtu)), cells.last().copied());
}

/// From zero it takes 9 steps on the first mesh, and 10 on the second.
#[test]
fn where_newtons_method_ends_there_is_the_solution_before() {
    let folder = tempfile::tempdir().unwrap();
    let [json, list] = ["film.json", "film.pvd"].map(|name| folder.path().join(name));
    let film = ["--system", "elliptic", "--problem", "minimal-surface", "--frequency", "2", "--degree", "4"];
    let cycles = ["--adapt", "2", "--initial-guess", "zero", "--max-iters", "9"];
    let run = |vtu: &Path| {
        let files = ["--json", json.to_str().unwrap(), "--vtu", vtu.to_str().unwrap()];
        let output = solve(&[&film[..], &cycles, &ALL, &files].concat());
        assert_eq!(output.status.code(), Some(NOT_CONVERGED), "{}", stderr(&output));
        let report = read(&json);
        assert_eq!((&report["converged"], &report["reason"]), (&false.into(), &"max-iters".into()));
        // The report is that of the mesh where it failed, with the history of the steps there.
        assert_eq!((cells(&report), report["cells"].as_u64()), (vec![320, 1280], Some(1280)));
        assert_eq!(report["residual_history"].as_array().unwrap().len(), 10);
    };
    run(&list);
    assert_eq!(cells_of_vtu(&folder.path().join("film-0.vtu")), 320);
    assert!(!folder.path().join("film-1.vtu").exists());
    assert_eq!(std::fs::read_to_string(&list).unwrap().matches("<DataSet").count(), 1);
    let alone = folder.path().join("film.vtu");
    run(&alone);
    assert_eq!(cells_of_vtu(&alone), 320);
}
