//! The machine: which one is picked, and what it lacks, a device or memory.

use crate::common::{DEVICE, has_gpu, in_shell, patchmg, stderr, stdout};
use crate::{json, refused, solve};
use patchmg::output::table::bytes;
use serde_json::Value;
use std::os::unix::process::ExitStatusExt;

#[test]
fn auto_says_what_it_picked() {
    let output = patchmg(&["solve", "--refine", "2", "--json", "-"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let value: Value = serde_json::from_str(stdout(&output)).unwrap();
    assert_eq!(value["backend"], if has_gpu() { "cuda" } else { "cpu" });
    assert_eq!(stderr(&output).contains("computing on the CPU"), !has_gpu());
}

#[test]
fn a_device_that_is_not_there_is_exit_code_4() {
    let device: &[&str] = if has_gpu() { &["--device", "1000"] } else { &[] };
    let output = patchmg(&[&["solve", "--backend", "cuda", "--refine", "2"], device].concat());
    assert_eq!(output.status.code(), Some(DEVICE), "{}", stderr(&output));
    assert_eq!(stdout(&output), "");
    assert!(stderr(&output).contains("no CUDA device"), "{}", stderr(&output));
}

#[test]
fn the_memory_plan_has_the_vtu_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("solution.vtu");
    let output = solve(&["--vtu", path.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let line = stdout(&output).lines().find(|line| line.starts_with("VTU ")).unwrap();
    // Blocks that are compressed at once, however small the file.
    assert!(
        line.contains("at most ") && line.contains(" KiB, takes at most 1") && line.ends_with(" MiB on the host"),
        "{line}"
    );
    assert!(!stdout(&solve(&[])).contains("VTU"));
}

#[test]
fn a_plan_has_the_memory_of_all_levels() {
    for options in [
        &["--precision", "mixed"][..],
        &["--system", "poisson-dg", "--solver", "fgmres", "--precision", "mixed"],
        &["--system", "stokes", "--solver", "fgmres", "--degree", "2"],
        &["--system", "elliptic", "--mesh", "lshape"],
        &["--system", "elliptic", "--problem", "minimal-surface"],
    ] {
        let plan = json(&[options, &["--dry-run"]].concat());
        let levels = plan["levels"].as_array().unwrap();
        let of_levels: u64 = levels.iter().map(|level| level["bytes"].as_u64().unwrap()).sum();
        assert_eq!(plan["needed_bytes"].as_u64(), plan["solver_bytes"].as_u64().map(|solver| solver + of_levels));
        let solved = solve(options);
        let needed = bytes(plan["needed_bytes"].as_u64().unwrap());
        assert!(stdout(&solved).contains(&format!("memory     {needed} needed")), "{needed}: {}", stdout(&solved));
        let finest = levels.last().unwrap();
        let report = json(options);
        assert_eq!((&finest["cells"], &finest["dofs"]), (&report["cells"], &report["dofs"]), "{options:?}");
        assert_eq!((&plan["fits"], &plan["options"]), (&true.into(), &report["options"]));
    }
}

#[test]
fn a_plan_is_made_whether_it_fits_or_not() {
    let folder = tempfile::tempdir().unwrap();
    let vtu = folder.path().join("u.vtu");
    let vtu = ["--vtu", vtu.to_str().unwrap()];
    let large = ["--dim", "3", "--degree", "8", "--refine", "12", "--dry-run"];
    for (options, parts) in [
        (
            &[&vtu[..], &["--dry-run"]].concat()[..],
            &["it fits; nothing was solved", " MiB for a VTU file of at most "][..],
        ),
        (&large, &["it does not fit; nothing was solved", "TiB"]),
        (
            &["--system", "elliptic", "--refine", "20", "--dry-run"],
            &["it does not fit: ", " of free memory, the problem needs "],
        ),
        (&["--system", "elliptic", "--adapt", "3", "--dry-run"], &["it fits on the first mesh"]),
    ] {
        let output = solve(options);
        assert_eq!(output.status.code(), Some(0), "{options:?}: {}", stderr(&output));
        for part in parts {
            assert!(stdout(&output).contains(part), "{options:?}: no '{part}' in {}", stdout(&output));
        }
    }
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
    let output = patchmg(&["bench", "--backend", "cpu", "--dim", "2", "--dry-run"]);
    assert!(output.status.success() && stdout(&output).contains("it fits; nothing was solved"), "{}", stdout(&output));
    // What is wrong for another reason is wrong here, too.
    refused(&["--degree", "11", "--dry-run"], &["--degree", "'11'", "1 to 10 in 2D"]);
    refused(&["--variant", "basic", "--dry-run"], &["--variant", "'basic'", "cpu has"]);
}

#[test]
fn a_problem_too_large_for_memory_says_what_it_needs() {
    let output = solve(&["--dim", "3", "--degree", "8", "--refine", "12"]);
    assert_eq!(output.status.code(), Some(DEVICE), "{}", stderr(&output));
    assert_eq!(stdout(&output), "");
    assert!(stderr(&output).contains(" of free memory, the problem needs "), "{}", stderr(&output));
}

/// Of a process, which is what containers and batch systems limit as well.
#[test]
fn limits_of_memory_count() {
    let solve = |refine: &str, kibibytes: usize| {
        let size = ["solve", "--backend", "cpu", "--dim", "2", "--degree", "4", "--threads", "2", "--refine", refine];
        in_shell(&format!("ulimit -v {kibibytes}; exec"), &size, "")
    };
    // Six vectors of 17 million unknowns are 0.8 GB.
    let output = solve("10", 600 << 10);
    assert_eq!(output.status.code(), Some(DEVICE), "{}", stderr(&output));
    assert!(stderr(&output).contains(" of free memory, the problem needs "), "{}", stderr(&output));
    assert_eq!(stdout(&output), "");
    // Wherever memory ends the program says so, once the system has found room for the program itself.
    let program = std::fs::metadata(assert_cmd::cargo::cargo_bin("patchmg")).unwrap().len() as usize >> 10;
    let codes: Vec<_> = (0..30).map(|step| solve("6", program - (8 << 10) + 1500 * step)).collect();
    for output in &codes {
        // The C library has words and endings of its own.
        let system = ["error while loading shared libraries", "Fatal glibc error"];
        let loader = system.iter().any(|message| stderr(output).contains(message));
        let not_started = output.status.signal() == Some(11) && output.stdout.is_empty() && output.stderr.is_empty();
        let said = [Some(0), Some(DEVICE)].contains(&output.status.code());
        assert!(said || loader || not_started, "{:?} {}", output.status, stderr(output));
    }
    for code in [0, DEVICE] {
        assert!(codes.iter().any(|output| output.status.code() == Some(code)), "none ends with {code}");
    }
}
