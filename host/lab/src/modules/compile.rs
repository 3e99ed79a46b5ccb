//! Modules of the device crate, compiled with other options than those in the program.

use super::record::{self, CompiledModule, Record};
use cuda_builder::{Compiler, CudaBuilder, CudaBuilderError, NvvmArch};
use patchmg_cli::args::FastMath;
use patchmg_cli::error::{Error, Library, Result};
use patchmg_cli::hashes;
use patchmg_device::kernels::Module;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// The oldest architecture that the kernels take.
const OLDEST: NvvmArch = NvvmArch::Compute80;
/// Folder of what is kept between runs, in that of cargo.
const KEPT: &str = "compile";

/// What of the compilation can be chosen, in the order of its JSON. What is none, or empty, is as for the program.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Options {
    /// The device crate.
    pub device: PathBuf,
    /// For example `sm_90`.
    pub arch: Option<String>,
    pub unroll_limit: Option<usize>,
    pub min_blocks: Option<u32>,
    pub fast_math: Vec<FastMath>,
    pub llvm_args: Vec<String>,
}

impl Options {
    /// The architecture.
    ///
    /// # Errors
    /// [`Library::InvalidArgument`] for one that there is not, and one that the kernels do not take.
    pub fn architecture(&self) -> Result<NvvmArch> {
        let Some(text) = &self.arch else { return Ok(OLDEST) };
        text.parse().ok().filter(|arch| *arch >= OLDEST).ok_or_else(|| {
            let known: Vec<_> = NvvmArch::ALL.iter().filter(|arch| **arch >= OLDEST).map(|a| a.target_cpu()).collect();
            let allowed = format!("one of {}, also written compute_80 and so on", known.join(", "));
            Library::InvalidArgument { name: "arch", value: text.clone(), allowed }.into()
        })
    }

    /// Arguments of LLVM; of one name the last counts.
    fn llvm_arguments(&self) -> Vec<String> {
        let limit = self.unroll_limit.map(|limit| format!("-unroll-threshold={limit}"));
        let pieces = self.fast_math.iter().map(|piece| match piece {
            FastMath::Contract => String::from("-nvptx-fma-level=2"),
            FastMath::DivideF32 => String::from("-nvptx-prec-divf32=0"),
            FastMath::SqrtF32 => String::from("-nvptx-prec-sqrtf32=0"),
        });
        limit.into_iter().chain(pieces).chain(self.llvm_args.iter().cloned()).collect()
    }

    fn of_module(&self, module: Module) -> Result<cuda_builder::Module> {
        let least = if module.needs_hopper() { NvvmArch::Compute90 } else { OLDEST };
        let compiled = cuda_builder::Module::from(module).arch(self.architecture()?.max(least));
        Ok(self.min_blocks.into_iter().fold(compiled, cuda_builder::Module::min_blocks))
    }
}

/// In words, for example `device: sm_90, min blocks 2, -unroll-threshold=1000`.
impl std::fmt::Display for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        let blocks = self.min_blocks.map(|blocks| format!("min blocks {blocks}"));
        let arch = self.architecture().map_or_else(|error| error.to_string(), |arch| arch.target_cpu().into());
        let llvm = self.llvm_arguments();
        let llvm = (!llvm.is_empty()).then(|| llvm.join(" "));
        let parts: Vec<_> = [Some(arch), blocks, llvm].into_iter().flatten().collect();
        write!(f, "{}: {}", self.device.display(), parts.join(", "))
    }
}

/// Compiles modules, the last ones first, and writes their PTX and its record to a folder; `done` is told of each when it is compiled, and
/// whether that took the compiler.
///
/// # Errors
/// [`Library::InvalidArgument`] for an option, [`Error::Compile`] if there is no compiler, no device crate, or if it does not compile, and
/// those of [`Record`]'s folder. Nothing is written then.
pub fn compile(
    modules: &[Module],
    options: &Options,
    folder: &Path,
    done: impl Fn(&str, bool) + Sync,
) -> Result<Record> {
    record::replaceable(folder)?;
    let modules = modules.iter().map(|&module| options.of_module(module)).collect::<Result<Vec<_>>>()?;
    let kept = kept(&options.device)?;
    fs::create_dir_all(&kept).map_err(|source| Library::Io { path: kept.clone(), source })?;
    // One process at a time; it ends with the file's handle.
    let path = kept.join("lock");
    let lock = File::create(&path).and_then(|file| file.lock().map(|()| file));
    let _lock = lock.map_err(|source| Library::Io { path, source })?;

    let compiler = Compiler::find()?.release().to_owned();
    let builder = CudaBuilder::new(&options.device).llvm_args(options.llvm_arguments()).out_dir(&kept);
    let compiled = builder.compile_modules(&modules, |module| done(&module.name, module.rebuilt))?;
    let (mut ptx, mut records) = (BTreeMap::new(), Vec::new());
    for module in compiled {
        let text = record::read(&module.ptx)?;
        let differences = module.violations.iter().map(ToString::to_string).collect();
        let (name, hash) = (module.name.clone(), hashes::hash(&text));
        records.push(CompiledModule { name, flags: module.flags, hash, differences });
        ptx.insert(module.name, text);
    }
    let (version, commit) = (patchmg_cli::VERSION.into(), patchmg_cli::COMMIT.into());
    let record = Record { version, commit, compiler, options: options.clone(), modules: records };
    record.write(folder, &ptx)?;
    Ok(record)
}

/// The folder of what is kept between runs: in cargo's of the checkout that a device crate belongs to.
fn kept(device: &Path) -> Result<PathBuf> {
    let missing = || Error::from(CudaBuilderError::CratePathDoesntExist(device.to_owned()));
    let device = fs::canonicalize(device).map_err(|_| missing())?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let target = target.or_else(|| Some(device.parent()?.join("target"))).ok_or_else(missing)?;
    Ok(target.join(KEPT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_architecture_is_one_that_the_kernels_take() {
        let of = |arch: &str| Options { arch: Some(arch.into()), ..Options::default() }.architecture();
        assert_eq!(Options::default().architecture().unwrap(), NvvmArch::Compute80);
        assert_eq!([of("sm_90").unwrap(), of("compute_100").unwrap()], [NvvmArch::Compute90, NvvmArch::Compute100]);
        for arch in ["sm_75", "sm_81", "90", ""] {
            let error = of(arch).unwrap_err();
            assert!(matches!(&error, Error::Library(Library::InvalidArgument { name: "arch", .. })), "{error}");
        }
    }

    #[test]
    fn options_become_arguments_of_llvm() {
        let fast_math = vec![FastMath::SqrtF32, FastMath::Contract];
        let options = Options {
            unroll_limit: Some(7),
            fast_math,
            llvm_args: vec!["-nvptx-sched4reg".into()],
            ..Options::default()
        };
        let expected = ["-unroll-threshold=7", "-nvptx-prec-sqrtf32=0", "-nvptx-fma-level=2", "-nvptx-sched4reg"];
        assert_eq!(options.llvm_arguments(), expected);
        assert_eq!(Options::default().llvm_arguments(), [""; 0]);
    }

    #[test]
    fn modules_are_compiled_for_what_they_need_at_least() {
        let name_and_arch = |arch: &str, hopper: bool| {
            let options = Options { arch: Some(arch.into()), min_blocks: Some(3), ..Options::default() };
            options.of_module(Module::TensorCore { nodes: 8, hopper }).unwrap()
        };
        let plain = |hopper| cuda_builder::Module::from(Module::TensorCore { nodes: 8, hopper }).min_blocks(3);
        assert_eq!(name_and_arch("sm_86", true), plain(true).arch(NvvmArch::Compute90));
        assert_eq!(name_and_arch("sm_86", false), plain(false).arch(NvvmArch::Compute86));
        assert_eq!(name_and_arch("sm_100", true), plain(true).arch(NvvmArch::Compute100));
        assert_ne!(plain(false), cuda_builder::Module::from(Module::TensorCore { nodes: 8, hopper: false }));
    }
}
