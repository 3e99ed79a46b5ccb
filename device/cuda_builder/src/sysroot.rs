//! `core` for the device, compiled once from its source.
//!
//! `-Zbuild-std` would resolve the dependencies of all of `std`, which needs a network, and would compile `core` once
//! in every target folder. `core` depends on nothing, so the compiler alone can build it.

use crate::compiler::Compiler;
use crate::error::{At, CudaBuilderError};
use crate::{NvvmArch, builder};
use std::fs;
use std::path::{Path, PathBuf};

/// The compiler links `compiler_builtins` into every crate. LLVM expands what kernels need of it (`memcpy`) itself;
/// should anything else be called, the check of the PTX reports it as undefined.
const COMPILER_BUILTINS: &str = "#![feature(compiler_builtins)]\n\
                                 #![allow(internal_features)]\n\
                                 #![compiler_builtins]\n\
                                 #![no_std]\n";

/// The folder to pass as `--sysroot`, compiled if it is not there for this compiler and architecture.
pub(crate) fn prepare(compiler: &Compiler, arch: NvvmArch, out_dir: &Path) -> Result<PathBuf, CudaBuilderError> {
    let sysroot = out_dir.join("sysroot").join(arch.target_cpu());
    let key_path = sysroot.join("key");
    let flags = builder::code_generation(arch, &[]);
    let key = format!("{}\n{}\n{flags:?}\n", compiler.version, compiler.library.display());
    if fs::read_to_string(&key_path).is_ok_and(|found| found == key) {
        return Ok(sysroot);
    }

    let libraries = sysroot.join("lib/rustlib").join(builder::TARGET).join("lib");
    fs::create_dir_all(&libraries).at(&libraries)?;
    let builtins = sysroot.join("compiler_builtins.rs");
    fs::write(&builtins, COMPILER_BUILTINS).at(&builtins)?;
    for (name, source) in [("core", compiler.library.join("core/src/lib.rs")), ("compiler_builtins", builtins)] {
        let mut command = compiler.command(&compiler.rustc);
        command
            .args(["--edition", "2024", "--crate-type", "rlib", "--crate-name", name])
            .arg(&source)
            .args(["--target", builder::TARGET, "-Copt-level=3", "-Cpanic=abort", "-Zforce-unstable-if-unmarked"])
            .args(["--cap-lints", "allow"])
            .args(&flags)
            .arg("--sysroot")
            .arg(&sysroot)
            .arg("--out-dir")
            .arg(&libraries);
        builder::run(command, || format!("{name} for {}", arch.target_cpu()))?;
    }
    fs::write(&key_path, key).at(&key_path)?;
    Ok(sysroot)
}
