//! `patchmg compile`: modules of the device crate with other options. It takes the compiler that built this test.

#[path = "../../../tests/common/program.rs"]
mod common;

use common::{USAGE, laboratory, stderr, stdout};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Output;

fn compile(folder: &Path, more: &[&str]) -> Output {
    laboratory(&[&["compile", folder.to_str().unwrap(), "--device", "../../device"], more].concat())
}

fn succeeds(output: &Output) -> &str {
    assert_eq!(output.status.code(), Some(0), "{}{}", stdout(output), stderr(output));
    stdout(output)
}

fn json(text: &[u8]) -> Value {
    serde_json::from_slice(text).unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(text)))
}

/// Kernels of a comparison by name.
fn compared(a: &Path, b: &Path) -> BTreeMap<String, Value> {
    let output = laboratory(&["compare", a.to_str().unwrap(), b.to_str().unwrap(), "--json", "-"]);
    let comparison = json(succeeds(&output).as_bytes());
    let kernels = comparison["kernels"].as_array().unwrap().iter();
    kernels.map(|kernel| (kernel["name"].as_str().unwrap().to_owned(), kernel.clone())).collect()
}

#[test]
fn a_module_is_compiled_as_in_the_program_or_with_other_options() {
    let folder = tempfile::tempdir().unwrap();
    let [plain, other] = ["plain", "other"].map(|name| folder.path().join(name));
    let blas1 = ["--only", "blas1_dots"];
    assert!(succeeds(&compile(&plain, &blas1)).contains("1 modules in"));
    let ptx = std::fs::read_to_string(plain.join("blas1.ptx")).unwrap();
    // Whole modules, bit by bit as the build script compiled them.
    assert!(Some(ptx) == patchmg::backend::cuda::ptx("blas1"));
    let again = compile(&plain, &blas1);
    assert!(succeeds(&again).contains("blas1: as before"), "{}", stdout(&again));
    let kernels = compared(Path::new("built-in"), &plain);
    assert!(kernels.len() > 2 && kernels.values().all(|kernel| kernel["same_ptx"] == true), "{kernels:?}");

    let options =
        ["--arch", "compute_90", "--min-blocks", "3", "--unroll-limit", "1", "--fast-math", "contract,sqrt-f32"];
    let options = [&blas1[..], &options, &["--llvm-arg=-nvptx-sched4reg"]].concat();
    let output = compile(&other, &options);
    let said = succeeds(&output);
    assert!(
        said.contains("blas1: compiled") && said.contains("sm_90, min blocks 3, -unroll-threshold=1 -nvptx"),
        "{said}"
    );
    assert!(std::fs::read_to_string(other.join("blas1.ptx")).unwrap().contains("\n.target sm_90\n"));
    let record = json(&std::fs::read(other.join("compile.json")).unwrap());
    assert_eq!(record["options"]["fast_math"], serde_json::json!(["contract", "sqrt-f32"]), "{record}");
    let module = &record["modules"][0];
    let flags: Vec<_> = module["flags"].as_array().unwrap().iter().map(|flag| flag.as_str().unwrap()).collect();
    assert_eq!(flags[0], "-Ctarget-cpu=sm_90");
    for flag in ["-unroll-threshold=1", "-nvptx-fma-level=2", "-nvptx-prec-sqrtf32=0", "-nvptx-sched4reg"] {
        assert_eq!(flags.iter().filter(|given| **given == format!("-Cllvm-args={flag}")).count(), 1, "{flags:?}");
    }
    assert!(flags.contains(&"-Zmir-enable-passes=-JumpThreading") && !flags.concat().contains("=200000"), "{flags:?}");
    assert!(record["compiler"].as_str().unwrap().starts_with("rustc "), "{record}");
    let kernels = compared(&plain, &other);
    for (name, kernel) in &kernels {
        let min_blocks = [&kernel["a"], &kernel["b"]].map(|side| side["min_blocks"].as_u64().unwrap());
        assert!(min_blocks[0] != 3 && min_blocks[1] == 3, "{name}: {kernel}");
    }
    // Loops that are not unrolled have less text.
    let text = |side: &str| {
        let totals = kernels.values().map(|kernel| kernel[side]["instructions"]["total"].as_u64().unwrap());
        totals.sum::<u64>()
    };
    assert!(text("b") < text("a"), "{} and {} instructions", text("a"), text("b"));

    // What somebody changed is not overwritten.
    let path = other.join("blas1.ptx");
    let mine = std::fs::read_to_string(&path).unwrap().replacen("\tret;", "\tbar.warp.sync \t-1;\n\tret;", 1);
    std::fs::write(&path, &mine).unwrap();
    let output = compile(&other, &blas1);
    assert_eq!(output.status.code(), Some(USAGE), "{}", stderr(&output));
    assert!(stderr(&output).contains("blas1.ptx: was changed since"), "{}", stderr(&output));
    assert!(std::fs::read_to_string(&path).unwrap() == mine);
    let output = laboratory(&["compare", "built-in", other.to_str().unwrap()]);
    assert!(succeeds(&output).contains("changed since: blas1"), "{}", stdout(&output));
}

#[test]
fn options_that_do_not_exist_are_refused_and_nothing_is_written() {
    let parent = tempfile::tempdir().unwrap();
    let (folder, file) = (parent.path().join("ptx"), parent.path().join("file"));
    let device = parent.path().to_str().unwrap();
    for (more, parts) in [
        (&["--arch", "sm_75"][..], &["'sm_75' for '--arch'", "sm_80", "sm_90"][..]),
        (&["--only", "blas1_dost"], &["blas1_dost", "blas1_dots_f64"]),
        (&["--min-blocks", "0"], &["--min-blocks", "'0'"]),
        (&["--unroll-limit", "0"], &["--unroll-limit", "at least 1"]),
        (&["--fast-math", "all"], &["--fast-math", "'all'", "contract"]),
        // Another module than that of the test beside it, which asks whether it was compiled before.
        (&["--only", "axis", "--llvm-arg=-nonsense"], &["module axis", "Unknown command line argument '-nonsense'"]),
    ] {
        let output = compile(&folder, more);
        assert_eq!(output.status.code(), Some(USAGE), "{more:?}: {}", stderr(&output));
        for part in parts {
            assert!(stderr(&output).contains(part), "{more:?}: no '{part}' in {}", stderr(&output));
        }
        assert!(!folder.exists(), "{more:?}");
    }
    for device in [device, "nowhere", "../cpu"] {
        let output = laboratory(&["compile", folder.to_str().unwrap(), "--device", device]);
        assert_eq!(output.status.code(), Some(USAGE), "{}", stderr(&output));
        assert!(stderr(&output).contains(&format!("'{device}' for '--device'")), "{}", stderr(&output));
    }
    std::fs::write(&file, "").unwrap();
    let output = compile(&file, &["--only", "blas1"]);
    assert_eq!(output.status.code(), Some(USAGE), "{}", stderr(&output));
    assert!(stderr(&output).contains("must be a folder"), "{}", stderr(&output));
}
