//! Builds a small device crate: everything that `cuda_std` offers reaches the PTX, and what is wrong is refused.

use cuda_builder::ptx::{self, Kernel, Violation};
use cuda_builder::{CudaBuilder, CudaBuilderError, Module, NvvmArch};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

/// One build at a time: all share a folder, so that `core` is compiled once.
static BUILD: Mutex<()> = Mutex::new(());

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
    let _alone = BUILD.lock().unwrap_or_else(PoisonError::into_inner);
    let built = builder("sample").build_modules(&[good()]).unwrap_or_else(|error| panic!("{error}"));
    let text = fs::read_to_string(&built[0].ptx).unwrap();
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
    assert_eq!(ptx::entries(&fs::read_to_string(&copy).unwrap()).len(), 0, "no module, no kernel");

    let broken = Module::new("broken").cfg(["module=\"good\""]);
    let outcome = builder("sample").build_modules(&[broken]);
    let Err(CudaBuilderError::BuildFailed { what, output }) = outcome else { panic!("{outcome:?}") };
    assert_eq!(what, "module broken");
    assert!(output.contains("SAMPLE_PREFIX"), "{output}");
}

const MANIFEST: &str = "[package]\nname = \"changing\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\n[lib]\ncrate-type = [\"cdylib\"]\n\n[workspace]\n";
const LOCK: &str = "version = 4\n\n[[package]]\nname = \"changing\"\nversion = \"0.0.0\"\n";
const ROOT: &str = "#![no_std]\n#![feature(abi_ptx)]\nmod shared;\n#[cfg(module = \"one\")]\nmod one;\n#[cfg(module = \"two\")]\nmod two;\n\
                    #[panic_handler]\nfn panic(_: &core::panic::PanicInfo) -> ! {\n    loop {}\n}\n";

/// Writes a file as if that were long before the compiler starts: what was compiled from a newer one is compiled again.
fn write_long_ago(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    let file = fs::File::options().append(true).open(path).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(60)).unwrap();
}

/// A kernel that stores `number`, and what all of them share.
fn stores(number: &str) -> String {
    format!(
        "#[no_mangle]\npub unsafe extern \"ptx-kernel\" fn store(y: *mut u32) {{\n    \
         *y = {number} + crate::shared::NUMBER;\n}}\n"
    )
}

/// Two modules, each with a file of its own and one that they share: what is compiled when one of them changes.
#[test]
fn a_module_is_compiled_again_if_and_only_if_what_it_is_made_of_has_changed() {
    let _alone = BUILD.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = out_dir("changing");
    fs::create_dir_all(folder.join("src")).unwrap();
    let write = |name: &str, text: &str| write_long_ago(&folder.join(name), text);
    let module = |name: &str| Module::new(format!("changing_{name}")).cfg([format!("module=\"{name}\"")]);
    let build_as = |modules: [Module; 2]| {
        let built = CudaBuilder::new(&folder).out_dir(out_dir("sample")).build_modules(&modules)?;
        let stored = |index: usize| {
            let text = fs::read_to_string(&built[index].ptx).unwrap();
            let line = text.lines().find(|line| line.contains("st.global")).unwrap_or_else(|| panic!("{text}"));
            line.rsplit([' ', ';']).find(|word| !word.is_empty()).unwrap().to_string()
        };
        Ok::<_, CudaBuilderError>(([built[0].rebuilt, built[1].rebuilt], [stored(0), stored(1)]))
    };
    let build = || build_as(["one", "two"].map(module)).unwrap_or_else(|error| panic!("{error}"));
    let numbers = |one: u32, two: u32| [one, two].map(|number| number.to_string());

    for name in ["changing_one.key", "changing_two.key"] {
        let _ = fs::remove_file(out_dir("sample").join("asm").join(name));
    }
    write("Cargo.toml", MANIFEST);
    write("Cargo.lock", LOCK);
    write("src/lib.rs", ROOT);
    write("src/shared.rs", "pub const NUMBER: u32 = 0;\n");
    write("src/one.rs", &stores("1"));
    write("src/two.rs", &stores("2"));
    assert_eq!(build(), ([true, true], numbers(1, 2)));
    assert_eq!(build(), ([false, false], numbers(1, 2)), "nothing has changed");
    write("src/two.rs", &stores("20"));
    assert_eq!(build(), ([false, true], numbers(1, 20)), "a file of the second alone");
    write("src/one.rs", &stores("10"));
    assert_eq!(build(), ([true, false], numbers(10, 20)), "a file of the first alone");
    write("src/shared.rs", "pub const NUMBER: u32 = 5;\n");
    assert_eq!(build(), ([true, true], numbers(15, 25)), "a file of both");
    write("src/other.rs", "not compiled");
    assert_eq!(build(), ([false, false], numbers(15, 25)), "a file of none");

    // A build that fails leaves nothing to be taken for that of the old text.
    write("src/two.rs", &stores("broken"));
    let outcome = build_as(["one", "two"].map(module));
    assert!(
        matches!(&outcome, Err(CudaBuilderError::BuildFailed { what, .. }) if what == "module changing_two"),
        "{outcome:?}"
    );
    write("src/two.rs", &stores("20"));
    assert_eq!(build(), ([false, true], numbers(15, 25)));

    // What is written while the compiler runs, or just before, may not be what it has read.
    fs::write(folder.join("src/one.rs"), stores("11")).unwrap();
    assert_eq!(build(), ([true, false], numbers(16, 25)));
    write("src/one.rs", &stores("11"));
    assert_eq!(build(), ([true, false], numbers(16, 25)));
    assert_eq!(build(), ([false, false], numbers(16, 25)));

    let with_flag = || build_as([module("one").cfg(["other"]), module("two")]).unwrap().0;
    assert_eq!([with_flag(), with_flag()], [[true, false], [false, false]]);
    let with_variable = || build_as([module("one").environment([("SAMPLE", "1")]), module("two")]).unwrap().0;
    assert_eq!([with_variable(), with_variable()], [[true, false], [false, false]]);
    write("Cargo.toml", &MANIFEST.replace("2021", "2018"));
    assert_eq!(build(), ([true, true], numbers(16, 25)), "another edition");
}

const MULTIPLY_ADD: &str = "#![no_std]\n#![feature(abi_ptx)]\n#[no_mangle]\n\
    pub unsafe extern \"ptx-kernel\" fn multiply_add(y: *mut f32, z: *const f32) {\n    *y = *y * *z + 1.0;\n}\n\
    #[panic_handler]\nfn panic(_: &core::panic::PanicInfo) -> ! {\n    loop {}\n}\n";

/// Arguments of LLVM, another launch bound, and a list that is wrong, which is no error here.
#[test]
fn experiments_have_options_of_their_own() {
    let _alone = BUILD.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = out_dir("experiments");
    fs::create_dir_all(folder.join("src")).unwrap();
    let files = [("Cargo.toml", &*MANIFEST.replace("changing", "experiments")), ("src/lib.rs", MULTIPLY_ADD)];
    files.into_iter().for_each(|(name, text)| write_long_ago(&folder.join(name), text));
    write_long_ago(&folder.join("Cargo.lock"), &LOCK.replace("changing", "experiments"));
    let compile = |arguments: &[&str], module: Module| {
        let builder = CudaBuilder::new(&folder).out_dir(out_dir("sample")).llvm_args(arguments.iter().copied());
        let done = Mutex::new(Vec::new());
        let compiled = builder.compile_modules(&[module], |module| done.lock().unwrap().push(module.name.clone()));
        let [module] = &compiled.unwrap_or_else(|error| panic!("{error}"))[..] else { panic!("one module") };
        assert_eq!(*done.lock().unwrap(), ["experiments"]);
        (fs::read_to_string(&module.ptx).unwrap(), module.clone())
    };
    let listed = || Module::new("experiments").kernels([kernel("multiply_add", 0)]);

    let (text, module) = compile(&[], listed());
    assert!(text.contains("mul.rn.f32") && text.contains("add.rn.f32") && !text.contains("fma"), "{text}");
    assert_eq!(module.violations, []);
    let (text, module) = compile(&["-unroll-threshold=7", "-nvptx-fma-level=2"], listed().min_blocks(5));
    assert!(text.contains("fma.rn.f32") && !text.contains("mul.rn.f32"), "{text}");
    assert_eq!(ptx::entries(&text)[0].min_blocks(), Some(5));
    let llvm = ["-Cllvm-args=-unroll-threshold=7", "-Cllvm-args=-nvptx-fma-level=2"];
    assert!(llvm.iter().all(|flag| module.flags.iter().any(|given| given == flag)), "{:?}", module.flags);
    let (_, module) = compile(&[], Module::new("experiments").kernels([kernel("multiply_add", 1)]));
    let violation = Violation::Barriers { kernel: "multiply_add".into(), expected: 1, found: 0 };
    assert_eq!(module.violations, [violation]);
}
