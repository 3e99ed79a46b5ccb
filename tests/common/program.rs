//! The programs, as a user runs them.

#![allow(dead_code)] // every test uses a part

use assert_cmd::Command;
use serde_json::Value;
use std::process::Output;

pub const OUTPUT: i32 = 1;
pub const NOT_CONVERGED: i32 = 3;
pub const USAGE: i32 = 2;
pub const DEVICE: i32 = 4;
pub const SLOWER: i32 = 5;

pub fn patchmg(arguments: &[&str]) -> Output {
    run("patchmg", arguments)
}

pub fn laboratory(arguments: &[&str]) -> Output {
    run("patchmg-lab", arguments)
}

fn run(program: &str, arguments: &[&str]) -> Output {
    Command::cargo_bin(program).unwrap().args(arguments).env_remove("PATCHMG_LOG").output().unwrap()
}

/// The program as a shell runs it after `before`, for example with limits; `redirect` comes behind its arguments.
pub fn in_shell(before: &str, arguments: &[&str], redirect: &str) -> Output {
    let script = format!("{before} \"$0\" \"$@\" {redirect}");
    let program = assert_cmd::cargo::cargo_bin("patchmg");
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", &script]).arg(program).args(arguments).env_remove("PATCHMG_LOG").output().unwrap()
}

pub fn stdout(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).unwrap()
}

pub fn stderr(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).unwrap()
}

/// Whether `patchmg info` finds a GPU.
pub fn has_gpu() -> bool {
    let output = patchmg(&["info", "--json", "-"]);
    let info: Value = serde_json::from_str(stdout(&output)).unwrap();
    !info["gpus"].as_array().unwrap().is_empty()
}
