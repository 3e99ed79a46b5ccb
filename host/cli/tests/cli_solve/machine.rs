//! The machine: which one is picked, and what it lacks, a device or memory.

use crate::common::{DEVICE, has_gpu, in_shell, patchmg, stderr, stdout};
use crate::solve;
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
    assert!(stdout(&output).contains("takes 14.5 KiB on the host"), "{}", stdout(&output));
    assert!(!stdout(&solve(&[])).contains("VTU"));
}

#[test]
fn a_problem_too_large_for_memory_says_what_it_needs() {
    let output = solve(&["--dim", "3", "--degree", "8", "--refine", "12"]);
    assert_eq!(output.status.code(), Some(DEVICE), "{}", stderr(&output));
    assert_eq!(stdout(&output), "");
    assert!(stderr(&output).contains("needs") && stderr(&output).contains("bytes"), "{}", stderr(&output));
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
    assert!(stderr(&output).contains("needs") && stderr(&output).contains("bytes"), "{}", stderr(&output));
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
