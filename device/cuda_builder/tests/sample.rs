//! Builds a small device crate: everything that `cuda_std` offers reaches the PTX, and what is wrong is refused.

use cuda_builder::ptx::{self, Kernel, Violation};
use cuda_builder::{CudaBuilder, CudaBuilderError, Module, NvvmArch};
use std::path::{Path, PathBuf};

/// A folder of the test's own, kept between runs: `core` is compiled into it once.
fn out_dir(test: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(test)
}

fn builder(test: &str) -> CudaBuilder {
    CudaBuilder::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sample")).out_dir(out_dir(test))
}

fn kernel(name: &str, barriers: u32) -> Kernel {
    Kernel { name: name.to_string(), threads: 64, min_blocks: 2, shared_bytes: 64 * 7 * 8, barriers }
}

fn good() -> Module {
    Module::new("good").cfg(["module=\"good\""]).environment([("SAMPLE_PREFIX", "good")]).kernels([
        kernel("good_turn", 1),
        kernel("branch", 2),
        kernel("sum", 0),
    ])
}

#[test]
fn what_cuda_std_offers_is_in_the_ptx_and_wrong_code_is_refused() {
    let built = builder("sample").build_modules(&[good()]).unwrap_or_else(|error| panic!("{error}"));
    let text = std::fs::read_to_string(&built[0].ptx).unwrap();
    for instruction in [
        "ld.global.nc.f64",
        "st.shared.f64",
        "ld.shared.f64",
        "shfl.sync.bfly.b32",
        "shfl.sync.down.b32",
        "bar.warp.sync",
        "atom.relaxed.gpu.add.f32",
        "atom.relaxed.gpu.add.f64",
        ".target sm_80",
    ] {
        assert!(text.contains(instruction), "no {instruction} in\n{text}");
    }
    let entries = ptx::entries(&text);
    assert!(entries.iter().all(|entry| entry.max_threads() == Some(64) && entry.min_blocks() == Some(2)));

    let again = builder("sample").build_modules(&[good()]).unwrap_or_else(|error| panic!("{error}"));
    assert!(!again[0].rebuilt, "nothing has changed");
    assert!(again[0].sources.iter().any(|path| path.ends_with("sample/src/lib.rs")));
    assert!(again[0].sources.iter().any(|path| path.ends_with("cuda_std/src/shared.rs")));

    let bad = Module::new("bad").cfg(["module=\"bad\""]).kernels([kernel("local", 0)]);
    let outcome = builder("sample").build_modules(&[bad]);
    let Err(CudaBuilderError::Check { violations }) = outcome else { panic!("{outcome:?}") };
    assert_eq!(violations, [Violation::LocalMemory { kernel: "local".into() }]);

    let copy = out_dir("sample").join("copy.ptx");
    let whole = builder("sample").arch(NvvmArch::Compute80).copy_to(&copy).build();
    assert_eq!(whole.unwrap_or_else(|error| panic!("{error}")), copy);
    assert_eq!(ptx::entries(&std::fs::read_to_string(&copy).unwrap()).len(), 0, "no module, no kernel");

    let broken = Module::new("broken").cfg(["module=\"good\""]);
    let outcome = builder("sample").build_modules(&[broken]);
    let Err(CudaBuilderError::BuildFailed { what, output }) = outcome else { panic!("{outcome:?}") };
    assert_eq!(what, "module broken");
    assert!(output.contains("SAMPLE_PREFIX"), "{output}");
}
