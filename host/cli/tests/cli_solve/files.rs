//! Files that a solve writes, and paths that it refuses.

use crate::common::{OUTPUT, USAGE, in_shell, stderr, stdout};
use crate::{refused, solve, tags};
use assert_cmd::Command;
use serde_json::Value;
use std::os::unix::fs::symlink;
use std::path::Path;

#[test]
fn files_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    for plot in ["history.svg", "history.png"] {
        let output = solve(&["--json", &file("result.json"), "--vtu", &file("solution.vtu"), "--plot", &file(plot)]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let result: Value = serde_json::from_slice(&std::fs::read(file("result.json")).unwrap()).unwrap();
        assert_eq!(result["dofs"], 23 * 23);
        let vtu = tags(file("solution.vtu"));
        for part in ["UnstructuredGrid", "version=\"2.2\"", "Name=\"solution\"", "Name=\"error\""] {
            assert!(vtu.contains(part), "{part}");
        }
        assert!(std::fs::metadata(file(plot)).unwrap().len() > 1000);
    }
    assert!(solve(&["--problem", "one", "--vtu", &file("one.vtu"), "--vtu-scalar", "f32"]).status.success());
    let vtu = tags(file("one.vtu"));
    assert!(!vtu.contains("Name=\"error\"") && vtu.contains("Float32") && !vtu.contains("Float64"));
}

#[test]
fn files_that_cannot_be_written_are_found_before_the_solve() {
    let folder = tempfile::tempdir().unwrap();
    let kept = folder.path().join("kept.json");
    for option in ["--json", "--vtu", "--npz", "--plot"] {
        let below_a_file = "/dev/null/result.svg";
        let other: &[&str] = if option == "--json" { &[] } else { &["--json", kept.to_str().unwrap()] };
        refused(&[&[option, below_a_file], other].concat(), &[option, below_a_file]);
    }
    assert!(!kept.exists(), "nothing is written on wrong usage");
    refused(&["--json", folder.path().to_str().unwrap()], &["--json", folder.path().to_str().unwrap()]);
    refused(&["--plot", "history.pdf"], &["--plot", "history.pdf", ".svg or .png"]);
    assert!(!Path::new("history.pdf").exists());
}

#[test]
fn two_results_do_not_share_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    std::fs::create_dir(at("sub")).unwrap();
    symlink("result.svg", at("link")).unwrap();
    symlink(".", at("here")).unwrap();
    for other in ["result.svg", "./result.svg", "sub/../result.svg", "link", "here/result.svg", "sub/../here/link"] {
        refused(&["--json", &at("result.svg"), "--vtu", &at(other)], &["--vtu", other, "--json goes to the same file"]);
        refused(&["--vtu", &at(other), "--plot", &at("result.svg")], &["--plot", "--vtu goes to the same file"]);
    }
    assert!(!Path::new(&at("result.svg")).exists());

    let run = |arguments: &[&str]| {
        let arguments = [&["solve", "--backend", "cpu", "--dim", "2", "--refine", "2"], arguments].concat();
        in_shell("exec", &arguments, &format!(">{}", at("output")))
    };
    for (arguments, holds) in [(&["--vtu"][..], "text"), (&["--json", "-", "--vtu"], "--json")] {
        let output = run(&[arguments, &[&at("output")]].concat());
        assert_eq!(output.status.code(), Some(USAGE), "{}", stderr(&output));
        assert!(stderr(&output).contains("standard output") && stderr(&output).contains(holds), "{}", stderr(&output));
    }
    // Nothing else goes there.
    assert_eq!(run(&["--quiet", "--vtu", &at("output")]).status.code(), Some(0));
    assert!(std::fs::read(at("output")).unwrap().ends_with(b"</VTKFile>\n"));
    assert!(solve(&["--json", "/dev/null"]).status.success());
}

#[test]
fn a_vtu_file_is_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let program = || Command::cargo_bin("patchmg").unwrap();
    let output = program().current_dir(&folder).args(["solve", "--refine", "2", "--vtu", "-"]).output().unwrap();
    assert_eq!(output.status.code(), Some(USAGE));
    for part in ["'-' for '--vtu'", "must be a file", "./-"] {
        assert!(stderr(&output).contains(part), "{}", stderr(&output));
    }
    let arguments = ["solve", "--backend", "cpu", "--dim", "2", "--refine", "2", "--vtu", "./-"];
    assert!(program().current_dir(&folder).args(arguments).output().unwrap().status.success());
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
}

#[test]
fn links_are_followed_and_dangling_ones_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    symlink("nowhere/result.json", at("dangling")).unwrap();
    symlink("new.json", at("link")).unwrap();
    refused(&["--json", &at("dangling")], &["--json", "dangling", "must be a file that can be written"]);
    refused(&["--json", &at("nowhere/")], &["--json", "must be a file that can be written"]);
    refused(&["--json", "/proc/self/result.json"], &["--json", "must be a file that can be written"]);
    assert_eq!(solve(&["--json", &at("link"), "--plot", &at("HISTORY.SVG")]).status.code(), Some(0));
    assert!(std::fs::symlink_metadata(at("link")).unwrap().is_symlink());
    let written: Value = serde_json::from_slice(&std::fs::read(at("new.json")).unwrap()).unwrap();
    assert_eq!(written["converged"], true);
    assert!(std::fs::read_to_string(at("HISTORY.SVG")).unwrap().contains("</svg>"));
}

/// A limit of the size of files is as a disk that gets full.
#[test]
fn files_that_cannot_be_written_to_their_end_are_as_before() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let arguments =
        |vtu: &str| ["solve", "--backend", "cpu", "--dim", "2", "--refine", "5", "--vtu", vtu].map(String::from);
    for name in ["old.vtu", "new.vtu"] {
        std::fs::write(at("old.vtu"), "kept").unwrap();
        let arguments = arguments(&at(name));
        let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
        let output = in_shell("trap '' XFSZ; ulimit -f 64; exec", &arguments, "");
        assert_eq!(output.status.code(), Some(OUTPUT), "{}", stderr(&output));
        assert!(stderr(&output).contains(name) && stderr(&output).contains("cannot be written"), "{}", stderr(&output));
        assert!(stdout(&output).contains("converged after"), "what is known is said");
        assert_eq!(std::fs::read_to_string(at("old.vtu")).unwrap(), "kept");
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1, "nothing else is left");
        // Killed by the signal amid its work.
        let output = in_shell("ulimit -f 64; exec", &arguments, "");
        assert_eq!(output.status.code(), None, "{}", stderr(&output));
        assert_eq!(std::fs::read_to_string(at("old.vtu")).unwrap(), "kept");
        assert!(!Path::new(&at("new.vtu")).exists());
        for entry in std::fs::read_dir(&folder).unwrap().map(Result::unwrap) {
            if entry.file_name() != "old.vtu" {
                std::fs::remove_file(entry.path()).unwrap();
            }
        }
    }
    for option in ["--json", "--vtu", "--npz"] {
        let output = solve(&[option, "/dev/full"]);
        assert_eq!(output.status.code(), Some(OUTPUT), "{}", stderr(&output));
        assert!(stderr(&output).contains("/dev/full cannot be written: No space left"), "{}", stderr(&output));
    }
}
