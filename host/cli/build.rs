//! Tells the program which commit it is built from, in `PATCHMG_COMMIT`.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-env=PATCHMG_COMMIT={}", commit().unwrap_or(String::from("unknown")));
}

/// The commit that the tree is at, if it is a git checkout of this project and not a package unpacked inside another.
fn commit() -> Option<String> {
    if !Path::new("../../.git").exists() {
        return None;
    }
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
        Some(String::from_utf8(output.stdout).ok()?.trim().to_string())
    };
    // A checkout moves HEAD, a commit the branch that it names.
    for name in ["HEAD", "logs/HEAD"] {
        let path = git(&["rev-parse", "--git-path", name])?;
        if Path::new(&path).exists() {
            println!("cargo:rerun-if-changed={path}");
        }
    }
    git(&["rev-parse", "HEAD"])
}
