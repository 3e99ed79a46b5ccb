//! The builder: modules are compiled side by side, each worker in a target folder of its own.

use crate::cache;
use crate::compiler::Compiler;
use crate::error::{At, CudaBuilderError};
use crate::module::{CompiledModule, Module};
use crate::side_by_side::side_by_side;
use crate::{NvvmArch, ptx, sysroot};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

pub(crate) const TARGET: &str = "nvptx64-nvidia-cuda";

/// LLVM's arguments.
const LLVM_ARGS: [&str; 2] = [
    // Loops over constant bounds unroll fully, or arrays of registers end in local memory.
    "-unroll-threshold=200000",
    // With that threshold a loop whose length is not known would become eight copies.
    "-unroll-runtime=false",
];

/// Flags that device code is compiled with; `core` with no other than the builder's own arguments of LLVM.
pub(crate) fn code_generation(arch: NvvmArch, llvm_args: &[String]) -> Vec<String> {
    let target = format!("-Ctarget-cpu={}", arch.target_cpu());
    // It copies barriers into both arms of a branch, and the kernel hangs (rust-lang/rust issue 137086).
    let passes = String::from("-Zmir-enable-passes=-JumpThreading");
    // Of one name the last counts.
    let mut arguments: Vec<&str> = Vec::new();
    for argument in LLVM_ARGS.into_iter().chain(llvm_args.iter().map(String::as_str)) {
        arguments.retain(|earlier| key(earlier) != key(argument));
        arguments.push(argument);
    }
    let arguments = arguments.into_iter().map(|argument| format!("-Cllvm-args={argument}"));
    [target, passes].into_iter().chain(arguments).collect()
}

/// What an argument of LLVM sets: `-name=value` or `--name=value`.
fn key(argument: &str) -> &str {
    argument.trim_start_matches('-').split('=').next().unwrap_or_default()
}

/// The profile: one complete module, without line tables, which hold paths and change with every line.
const PROFILE: [(&str, &str); 8] = [
    ("OPT_LEVEL", "3"),
    ("PANIC", "abort"),
    ("LTO", "fat"),
    ("CODEGEN_UNITS", "1"),
    ("DEBUG", "0"),
    ("DEBUG_ASSERTIONS", "false"),
    ("OVERFLOW_CHECKS", "false"),
    ("INCREMENTAL", "false"),
];

/// Compiles a device crate to PTX.
#[derive(Clone, Debug)]
pub struct CudaBuilder {
    crate_path: PathBuf,
    arch: NvvmArch,
    llvm_args: Vec<String>,
    copy_to: Option<PathBuf>,
    out_dir: Option<PathBuf>,
}

impl CudaBuilder {
    /// For the crate in this folder.
    pub fn new(path_to_crate_root: impl AsRef<Path>) -> Self {
        let crate_path = path_to_crate_root.as_ref().to_path_buf();
        Self { crate_path, arch: NvvmArch::default(), llvm_args: Vec::new(), copy_to: None, out_dir: None }
    }

    /// What to compile for; compute capability 8.0 unless said otherwise.
    pub fn arch(mut self, arch: NvvmArch) -> Self {
        self.arch = arch;
        self
    }

    /// Arguments of LLVM, for example `-unroll-threshold=1000`, beside the builder's own and earlier ones or, of the same name, instead of
    /// them. `core` is compiled with the builder's own alone, and optimized again together with the module.
    pub fn llvm_args(mut self, arguments: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.llvm_args.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// Where [`build`](Self::build) copies the PTX to.
    pub fn copy_to(mut self, path: impl AsRef<Path>) -> Self {
        self.copy_to = Some(path.as_ref().to_path_buf());
        self
    }

    /// Where everything is written; a build script's `OUT_DIR` unless said otherwise.
    pub fn out_dir(mut self, path: impl AsRef<Path>) -> Self {
        self.out_dir = Some(path.as_ref().to_path_buf());
        self
    }

    /// Compiles the crate as one module and returns the path of its PTX.
    ///
    /// # Errors
    /// As [`build_modules`](Self::build_modules).
    pub fn build(self) -> Result<PathBuf, CudaBuilderError> {
        let name = self.crate_path.file_name().map_or("device".into(), |name| name.to_string_lossy().into_owned());
        let copy_to = self.copy_to.clone();
        let modules = self.build_modules(&[Module::new(name)])?;
        let ptx = modules[0].ptx.clone();
        let Some(copy) = copy_to else { return Ok(ptx) };
        fs::copy(&ptx, &copy).at(&copy)?;
        Ok(copy)
    }

    /// Compiles modules of the crate, in the order given; the last ones are begun first, so list the slow ones last.
    ///
    /// # Errors
    /// No compiler, no such crate, code that does not compile, or PTX that is not as its kernel list says.
    pub fn build_modules(self, modules: &[Module]) -> Result<Vec<CompiledModule>, CudaBuilderError> {
        let compiled = self.compile_modules(modules, |_| ())?;
        let violations: Vec<_> = compiled.iter().flat_map(|module| module.violations.clone()).collect();
        if violations.is_empty() { Ok(compiled) } else { Err(CudaBuilderError::Check { violations }) }
    }

    /// The same for experiments, where PTX that is not as listed is a result: see [`CompiledModule::violations`]. `done` is told of each
    /// module when it is finished.
    ///
    /// # Errors
    /// No compiler, no such crate, or code that does not compile.
    pub fn compile_modules(
        self,
        modules: &[Module],
        done: impl Fn(&CompiledModule) + Sync,
    ) -> Result<Vec<CompiledModule>, CudaBuilderError> {
        let build = Build::prepare(self, modules)?;
        side_by_side(modules, |worker, module| build.module(worker, module).inspect(&done))
    }

    /// Runs clippy over modules of the crate; warnings are errors. The compiler must have clippy.
    ///
    /// # Errors
    /// No compiler, no such crate, or what clippy found.
    pub fn clippy(self, modules: &[Module]) -> Result<(), CudaBuilderError> {
        let build = Build::prepare(self, modules)?;
        let target_dir = build.out_dir.join("clippy");
        modules.iter().try_for_each(|module| {
            let mut command = build.cargo("clippy", module, &target_dir);
            command.args(["--", "-Dwarnings"]).args(module.cfg_flags());
            run(command, || format!("module {} under clippy", module.name)).map(drop)
        })
    }
}

/// What the modules of one build share.
struct Build {
    compiler: Compiler,
    crate_path: PathBuf,
    out_dir: PathBuf,
    dependencies: String,
    arch: NvvmArch,
    llvm_args: Vec<String>,
    sysroots: HashMap<NvvmArch, PathBuf>,
}

impl Build {
    /// Finds the compiler and makes `core` for every architecture that the modules need.
    fn prepare(builder: CudaBuilder, modules: &[Module]) -> Result<Self, CudaBuilderError> {
        let CudaBuilder { crate_path, arch, llvm_args, out_dir, .. } = builder;
        let crate_path = fs::canonicalize(&crate_path)
            .ok()
            .filter(|path| path.join("Cargo.toml").is_file())
            .ok_or(CudaBuilderError::CratePathDoesntExist(crate_path))?;
        let out_dir =
            out_dir.or_else(|| std::env::var_os("OUT_DIR").map(PathBuf::from)).ok_or(CudaBuilderError::NoOutDir)?;
        for folder in ["asm", "ptx"] {
            let folder = out_dir.join(folder);
            fs::create_dir_all(&folder).at(folder)?;
        }
        // Cargo runs in the crate's folder, where a relative path would mean another place.
        let out_dir = fs::canonicalize(&out_dir).at(out_dir)?;
        let compiler = Compiler::find()?;
        let dependencies = dependencies(&compiler, &crate_path)?;
        let mut sysroots = HashMap::new();
        for arch in modules.iter().map(|module| module.arch.unwrap_or(arch)) {
            if let Entry::Vacant(place) = sysroots.entry(arch) {
                place.insert(sysroot::prepare(&compiler, arch, &out_dir)?);
            }
        }
        Ok(Self { compiler, crate_path, out_dir, dependencies, arch, llvm_args, sysroots })
    }

    /// Compiles a module where it must be, and finishes and checks its PTX in any case.
    fn module(&self, worker: usize, module: &Module) -> Result<CompiledModule, CudaBuilderError> {
        let name = &module.name;
        let recipe = self.recipe(module);
        let key_path = self.out_dir.join("asm").join(format!("{name}.key"));
        let asm_path = self.out_dir.join("asm").join(format!("{name}.s"));
        let cached = cache::sources(&key_path, &recipe)
            .and_then(|sources| fs::read_to_string(&asm_path).ok().map(|asm| (asm, sources)));
        let rebuilt = cached.is_none();
        let (asm, sources) = match cached {
            Some(found) => found,
            None => {
                // What ends in the middle leaves no key to an assembly that is not of it.
                cache::forget(&key_path)?;
                let start = SystemTime::now();
                let sources = self.compile(worker, module, &asm_path)?;
                cache::store(&key_path, &recipe, &sources, start)?;
                (fs::read_to_string(&asm_path).at(&asm_path)?, sources)
            }
        };

        let (text, violations) = match &module.kernels {
            Some(kernels) => {
                let text = ptx::add_launch_bounds(&asm, kernels);
                let violations = ptx::check(&text, kernels);
                (text, violations)
            }
            None => (asm, Vec::new()),
        };
        let ptx = self.out_dir.join("ptx").join(format!("{name}.ptx"));
        fs::write(&ptx, text).at(&ptx)?;
        let flags = self.flags(module);
        Ok(CompiledModule { name: name.clone(), ptx, sources, rebuilt, flags, violations })
    }

    /// Flags that decide what code the compiler makes of a module.
    fn flags(&self, module: &Module) -> Vec<String> {
        code_generation(module.arch.unwrap_or(self.arch), &self.llvm_args)
    }

    /// All but the source that decides what the compiler makes of a module.
    fn recipe(&self, module: &Module) -> String {
        let Module { cfg, environment, .. } = module;
        let flags = self.flags(module);
        let (version, dependencies) = (&self.compiler.version, &self.dependencies);
        format!("{version}{dependencies}{PROFILE:?}\n{flags:?}\n{cfg:?}\n{environment:?}\n")
    }

    /// Compiles a module to `asm_path` and returns the files of the tree that it depends on.
    fn compile(&self, worker: usize, module: &Module, asm_path: &Path) -> Result<Vec<PathBuf>, CudaBuilderError> {
        let target_dir = self.out_dir.join(format!("worker-{worker}"));
        let mut command = self.cargo("rustc", module, &target_dir);
        command
            .args(["--crate-type", "cdylib", "--", "-Clinker=true"]) // nothing to link: the assembly is the product
            .arg(format!("--emit=asm={}", asm_path.display()))
            .args(module.cfg_flags());
        run(command, || format!("module {}", module.name))?;
        dependency_file(&target_dir.join(TARGET).join("release"))
    }

    /// A cargo command on the device crate's library, as a module is compiled.
    fn cargo(&self, verb: &str, module: &Module, target_dir: &Path) -> Command {
        let arch = module.arch.unwrap_or(self.arch);
        let mut flags = self.flags(module);
        flags.push(format!("--sysroot={}", self.sysroots[&arch].display()));
        let mut command = self.compiler.command(&self.compiler.cargo);
        command
            .current_dir(&self.crate_path)
            .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"))
            .envs(PROFILE.map(|(name, value)| (format!("CARGO_PROFILE_RELEASE_{name}"), value)))
            .envs(module.environment.iter().map(|(name, value)| (name, value)))
            .args([verb, "--lib", "--release", "--locked", "--offline", "--color", "never"])
            .args(["--jobs", "1", "--target", TARGET, "--target-dir"])
            .arg(target_dir);
        command
    }
}

/// The sources listed in the one dependency file that cargo leaves beside the library.
fn dependency_file(folder: &Path) -> Result<Vec<PathBuf>, CudaBuilderError> {
    let mut sources = Vec::new();
    for entry in fs::read_dir(folder).at(folder)? {
        let path = entry.at(folder)?.path();
        if path.extension().is_some_and(|extension| extension == "d") {
            sources.extend(cache::parse_dependencies(&fs::read_to_string(&path).at(&path)?));
        }
    }
    Ok(sources)
}

/// The crates that the device crate is linked with, with versions, features and, in the tree, manifests; and what the
/// workspace's manifest says of all packages and of profiles. Its other lines change without a change to the device.
fn dependencies(compiler: &Compiler, crate_path: &Path) -> Result<String, CudaBuilderError> {
    let ask = |arguments: &[&str]| {
        let mut command = compiler.command(&compiler.cargo);
        command.current_dir(crate_path).args(arguments).args(["--locked", "--offline", "--color", "never"]);
        run(command, || String::from("the device crate's dependencies"))
    };
    let tree = ["tree", "--target", TARGET, "--edges", "normal,build", "--no-dedupe", "--prefix", "none"];
    let mut dependencies = ask(&[&tree[..], &["--format", "{p} {f}"]].concat())?;
    let path = |line: &str| Some(format!("/{}", line.split_once(" (/")?.1.rsplit_once(')')?.0));
    let mut folders: Vec<_> = dependencies.lines().filter_map(path).map(PathBuf::from).collect();
    folders.sort();
    folders.dedup();
    for path in folders.iter().map(|folder| folder.join("Cargo.toml")) {
        dependencies += &fs::read_to_string(&path).at(&path)?;
    }
    let workspace = ask(&["locate-project", "--workspace", "--message-format", "plain"])?;
    let workspace = Path::new(workspace.trim());
    let mut is_wanted = false;
    for line in fs::read_to_string(workspace).at(workspace)?.lines() {
        if line.starts_with('[') {
            is_wanted = line.starts_with("[workspace.package") || line.starts_with("[profile");
        }
        if is_wanted {
            dependencies += line;
            dependencies.push('\n');
        }
    }
    Ok(dependencies)
}

/// Runs a command and returns its standard output.
pub(crate) fn run(mut command: Command, what: impl Fn() -> String) -> Result<String, CudaBuilderError> {
    let output =
        command.output().map_err(|source| CudaBuilderError::Start { program: command.get_program().into(), source })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let output = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(CudaBuilderError::BuildFailed { what: what(), output })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_of_llvm_take_the_place_of_those_of_the_same_name() {
        let flags = |given: &[&str]| {
            let given: Vec<_> = given.iter().map(|&argument| String::from(argument)).collect();
            let flags = code_generation(NvvmArch::Compute90, &given);
            flags.iter().filter_map(|flag| flag.strip_prefix("-Cllvm-args=")).map(String::from).collect::<Vec<_>>()
        };
        assert_eq!(flags(&[]), LLVM_ARGS);
        assert_eq!(flags(&["-unroll-threshold=5"]), [LLVM_ARGS[1], "-unroll-threshold=5"]);
        assert_eq!(
            flags(&["--unroll-runtime", "-nvptx-fma-level=2"]),
            [LLVM_ARGS[0], "--unroll-runtime", "-nvptx-fma-level=2"]
        );
        assert_eq!(flags(&["-unroll-threshold=5", "-unroll-threshold=6"]), [LLVM_ARGS[1], "-unroll-threshold=6"]);
        // Another name that begins alike.
        assert_eq!(flags(&["-unroll-threshold-default=7"]).len(), 3);
    }

    #[test]
    fn a_path_without_a_crate_is_an_error() {
        let outcome = CudaBuilder::new("/nonexistent").build();
        assert!(matches!(outcome, Err(CudaBuilderError::CratePathDoesntExist(_))), "{outcome:?}");
    }
}
