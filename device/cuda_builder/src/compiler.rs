//! The search for a compiler with the source of `core`.

use crate::error::CudaBuilderError;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Oldest compiler that is accepted: that of this crate.
const NEEDED: &str = env!("CARGO_PKG_RUST_VERSION");

/// A compiler that can build device code.
#[derive(Clone, Debug)]
pub struct Compiler {
    pub(crate) rustc: PathBuf,
    pub(crate) cargo: PathBuf,
    /// Folder of the standard library's source.
    pub(crate) library: PathBuf,
    /// Output of `rustc -vV`.
    pub(crate) version: String,
}

/// A compiler that cannot.
#[derive(Clone, Debug)]
pub struct Rejected {
    rustc: PathBuf,
    reason: String,
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.rustc.display(), self.reason)
    }
}

impl Compiler {
    /// The compiler named in `PATCHMG_DEVICE_RUSTC` (with the `PATCHMG_DEVICE_CARGO` that belongs to it), else the
    /// active toolchain if it has `rust-src`, else the distribution's.
    pub fn find() -> Result<Self, CudaBuilderError> {
        let variable = |name| std::env::var_os(name).filter(|value: &OsString| !value.is_empty());
        let mut rejected = Vec::new();
        let mut attempt = |rustc: &OsStr, cargo: Option<OsString>| {
            Self::probe(rustc, cargo)
                .map_err(|reason| rejected.push(Rejected { rustc: PathBuf::from(rustc), reason }))
                .ok()
        };
        let found = match variable("PATCHMG_DEVICE_RUSTC") {
            Some(rustc) => attempt(&rustc, variable("PATCHMG_DEVICE_CARGO")),
            None => {
                let active = variable("RUSTC").unwrap_or_else(|| "rustc".into());
                attempt(&active, variable("CARGO")).or_else(|| attempt("/usr/bin/rustc".as_ref(), None))
            }
        };
        found.ok_or(CudaBuilderError::NoCompiler { needed: NEEDED, rejected })
    }

    /// Its name, version and date, for example `rustc 1.95.0 (59807616e 2026-04-14)`.
    pub fn release(&self) -> &str {
        self.version.lines().next().unwrap_or_default()
    }

    /// `cargo` where the compiler's own folder has none: the one given, or the one on the path.
    fn probe(rustc: &OsStr, cargo: Option<OsString>) -> Result<Self, String> {
        let version = ask(rustc, &["-vV"])?;
        let release = version.lines().find_map(|line| line.strip_prefix("release: ")).unwrap_or_default();
        if number(release) < number(NEEDED) {
            return Err(format!("is Rust {release}"));
        }
        let sysroot = PathBuf::from(ask(rustc, &["--print", "sysroot"])?.trim());
        let packaged = PathBuf::from(format!("/usr/src/rustc-{release}/library"));
        let library = [sysroot.join("lib/rustlib/src/rust/library"), packaged]
            .into_iter()
            .find(|folder| folder.join("core/src/lib.rs").is_file())
            .ok_or_else(|| String::from("has no source of `core`"))?;
        // The programs themselves, not rustup's proxies, which would choose a toolchain again.
        let program = |name: &str| Some(sysroot.join("bin").join(name)).filter(|path| path.is_file());
        Ok(Self {
            rustc: program("rustc").unwrap_or_else(|| rustc.into()),
            cargo: program("cargo").or(cargo.map(PathBuf::from)).unwrap_or_else(|| "cargo".into()),
            library,
            version,
        })
    }

    /// A command of this compiler, free of what the cargo that runs the build script has set for its own purposes.
    ///
    /// Flags, wrappers, profiles and job servers meant for the host would otherwise reach the device crate. What says
    /// where crates come from stays.
    pub(crate) fn command(&self, program: &Path) -> Command {
        const KEPT: [&str; 5] = ["CARGO_HOME", "CARGO_HTTP_", "CARGO_NET_", "CARGO_REGISTRIES_", "CARGO_SOURCE_"];
        const DROPPED: [&str; 12] = [
            "CARGO",
            "RUSTC",
            "RUSTDOC",
            "RUSTFLAGS",
            "RUSTUP_TOOLCHAIN",
            "MAKEFLAGS",
            "MFLAGS",
            "TARGET",
            "HOST",
            "OUT_DIR",
            "PROFILE",
            "DEBUG",
        ];
        let mut command = Command::new(program);
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            let prefixed = ["CARGO_", "RUSTC_", "DEP_"].iter().any(|prefix| text.starts_with(prefix));
            if DROPPED.contains(&&*text) || prefixed && !KEPT.iter().any(|kept| text.starts_with(kept)) {
                command.env_remove(&name);
            }
        }
        // `cargo clippy` is a program of its own, and the first on the path may belong to another toolchain.
        let folders = self.cargo.parent().map(Path::to_path_buf).into_iter();
        let path = std::env::var_os("PATH").unwrap_or_default();
        if let Ok(path) = std::env::join_paths(folders.chain(std::env::split_paths(&path))) {
            command.env("PATH", path);
        }
        // The NVPTX backend, inline assembly and the kernel calling convention are unstable.
        command.env("RUSTC_BOOTSTRAP", "1").env("RUSTC", &self.rustc);
        command
    }
}

fn ask(rustc: &OsStr, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(rustc).args(arguments).output().map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().to_string());
    }
    String::from_utf8(output.stdout).map_err(|error| error.to_string())
}

/// `1.95.0-nightly` as `(1, 95)`.
fn number(version: &str) -> (u32, u32) {
    let mut parts = version.split(['.', '-']).map(|part| part.parse().unwrap_or(0));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        assert!(number("1.100.0") > number("1.95"));
        assert!(number("1.96.0-nightly") > number("1.95.0"));
        assert!(number("1.85.1") < number(NEEDED));
        assert!(number("") < number(NEEDED));
    }

    #[test]
    fn a_program_that_is_no_compiler_is_rejected_with_a_reason() {
        assert!(Compiler::probe("/nonexistent/rustc".as_ref(), None).is_err());
        assert!(Compiler::probe("false".as_ref(), None).is_err());
        assert_eq!(Compiler::probe("true".as_ref(), None).unwrap_err(), "is Rust ");
    }

    #[test]
    fn the_error_names_both_ways_to_install() {
        let rejected = vec![Rejected { rustc: "rustc".into(), reason: "has no source of `core`".into() }];
        let text = CudaBuilderError::NoCompiler { needed: NEEDED, rejected }.to_string();
        assert!(text.contains("rustc: has no source of `core`"), "{text}");
        assert!(text.contains("rustup component add rust-src"), "{text}");
        assert!(text.contains("apt-get install --no-install-recommends rustc-web cargo-web rust-web-src"), "{text}");
    }
}
