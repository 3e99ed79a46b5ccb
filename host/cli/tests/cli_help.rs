//! Help, versions, completions and manual pages.

#[path = "../../../tests/common/program.rs"]
mod common;

use common::{USAGE, patchmg, stderr, stdout};
use std::collections::BTreeSet;
use std::process::Command;

fn text(arguments: &[&str]) -> String {
    let output = patchmg(arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", stderr(&output));
    stdout(&output).to_string()
}

/// The options of a help text.
fn options(help: &str) -> BTreeSet<&str> {
    let words =
        help.lines().filter_map(|line| line.trim_start().split_once("--").filter(|(before, _)| before.len() <= 4));
    words.map(|(_, rest)| rest.split([' ', ',']).next().unwrap()).collect()
}

const COMMANDS: [&str; 9] =
    ["solve", "bench", "converge", "kernels", "compile", "compare", "info", "completions", "man"];

#[test]
fn help_has_examples_and_fits_a_terminal() {
    assert!(text(&["--help"]).contains("Example"));
    for command in COMMANDS {
        for help in ["-h", "--help"] {
            let text = text(&[command, help]);
            assert!(text.contains("Example"), "{command}");
            let widest = text.lines().map(|line| line.chars().count()).max();
            assert!(widest <= Some(100), "{command} {help}: {widest:?}");
        }
    }
    let help = text(&["solve", "--help"]);
    for part in ["cells a direction", "seconds", "[default: fmg, of elliptic cg]", "patchmg solve --dim 3"] {
        assert!(help.contains(part), "{part}");
    }
}

#[test]
fn the_first_screen_has_what_people_use() {
    let (first, all) = (text(&["solve", "-h"]), text(&["solve", "--help"]));
    assert!(first.lines().count() <= 45, "{first}");
    let shown = [
        "backend",
        "degree",
        "dim",
        "help",
        "json",
        "mesh",
        "npz",
        "plot",
        "precision",
        "problem",
        "refine",
        "rtol",
        "solver",
        "system",
        "vtu",
    ];
    assert_eq!(options(&first), BTreeSet::from(shown));
    assert!(options(&all).is_superset(&options(&first)) && options(&all).len() > 50);
    // Others stand under headings, after these.
    let (head, _) = all.split_once("\nBoxes:\n").unwrap();
    assert_eq!(options(head), options(&first));
    let headings: Vec<_> = all.lines().filter(|line| line.ends_with(':') && !line.starts_with(' ')).collect();
    let expected = [
        "Arguments:",
        "Options:",
        "Boxes:",
        "Method:",
        "Kernels of papers 1 and 4, to compare with:",
        "Stokes equations:",
        "Elliptic equations on forests:",
        "Data:",
        "Machine:",
        "Files:",
        "Examples:",
    ];
    assert_eq!(headings, expected);
    let bench = text(&["bench", "-h"]);
    for option in ["suite", "against", "repetitions"] {
        assert!(options(&bench).contains(option), "{option}");
    }
}

#[test]
fn the_version_has_the_commit() {
    let version = text(&["--version"]);
    let start = format!("patchmg {} (commit ", env!("CARGO_PKG_VERSION"));
    let commit = version.strip_prefix(&start).and_then(|rest| rest.strip_suffix(")\n")).unwrap();
    let info: serde_json::Value = serde_json::from_str(&text(&["info", "--json", "-"])).unwrap();
    assert_eq!(info["commit"], commit);
}

/// What bash proposes for the last word.
fn completed(words: &[&str]) -> BTreeSet<String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("patchmg.bash");
    std::fs::write(&path, text(&["completions", "bash"])).unwrap();
    let script = "source \"$0\"; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); \
        _patchmg patchmg \"${COMP_WORDS[COMP_CWORD]}\" \"${COMP_WORDS[COMP_CWORD - 1]}\"; echo \"${COMPREPLY[@]}\"";
    let output = Command::new("bash").arg("-c").arg(script).arg(&path).args(words).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    stdout(&output).split_whitespace().map(String::from).collect()
}

#[test]
fn bash_completes_options_and_values() {
    let set = |words: &[&str]| words.iter().map(|word| word.to_string()).collect::<BTreeSet<_>>();
    assert_eq!(completed(&["patchmg", "conv"]), set(&["converge"]));
    assert_eq!(completed(&["patchmg", "solve", "--ref"]), set(&["--refine", "--refine-fraction"]));
    assert_eq!(completed(&["patchmg", "solve", "--precision", ""]), set(&["f64", "f32", "mixed"]));
    for (shell, part) in [("zsh", "#compdef patchmg"), ("fish", "complete -c patchmg")] {
        let script = text(&["completions", shell]);
        assert!(script.contains(part) && script.contains("until-estimate"), "{shell}");
    }
    assert_eq!(patchmg(&["completions", "tcsh"]).status.code(), Some(USAGE));
}

#[test]
fn manual_pages_have_all_options() {
    let page = text(&["man"]);
    assert!(page.contains(".TH patchmg 1"), "{page}");
    assert!(COMMANDS.iter().all(|command| page.contains(&format!("patchmg\\-{command}(1)"))), "{page}");
    let page = text(&["man", "solve"]);
    assert!(page.contains(".TH patchmg-solve 1"), "{page}");
    for option in options(&text(&["solve", "--help"])) {
        assert!(page.contains(&format!("\\-\\-{}\\fR", option.replace('-', "\\-"))), "{option}");
    }
    let output = patchmg(&["man", "nothing"]);
    assert_eq!(output.status.code(), Some(USAGE));
    assert!(stderr(&output).contains("'nothing' for 'COMMAND': must be one of solve, bench"), "{}", stderr(&output));
}
