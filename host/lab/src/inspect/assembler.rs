//! The assembler and the disassembler of the CUDA toolkit, if they are here.

use patchmg_cli::error::{Error, Library, Result};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use wait_timeout::ChildExt;

/// The path of `ptxas`, if it is not found by itself.
const VARIABLE: &str = "PATCHMG_PTXAS";
/// Of one process; the largest module takes a hundredth of it.
const TIMEOUT: Duration = Duration::from_secs(300);

/// Compute capabilities from 8.0 on, which is what the kernels take, that `ptxas` of CUDA 13 or an earlier one knows.
const ARCHITECTURES: [u32; 12] = [80, 86, 87, 88, 89, 90, 100, 101, 103, 110, 120, 121];

/// `ptxas` for one architecture.
#[derive(Clone, Debug)]
pub struct Assembler {
    ptxas: PathBuf,
    arch: String,
}

/// What a kernel takes of a multiprocessor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resources {
    /// Of a thread.
    pub registers: u32,
    /// Shared memory of a block that the code declares.
    pub shared_bytes: u32,
    /// Local memory of a thread.
    pub stack_bytes: u32,
    pub spill_store_bytes: u32,
    pub spill_load_bytes: u32,
}

impl Assembler {
    /// How to get what it needs.
    pub const INSTALL: &str = "install the CUDA toolkit, or `pip install nvidia-cuda-nvcc nvidia-cuda-nvdisasm`, and put \
                               ptxas into PATH or its path into PATCHMG_PTXAS";

    /// For an architecture such as `sm_90`: `ptxas` of `PATCHMG_PTXAS`, or in `bin` of `CUDA_HOME` or `CUDA_PATH`, or in
    /// `PATH`; none if it is in none of them.
    ///
    /// # Errors
    /// [`Library::InvalidArgument`] for an architecture older than `sm_80` or one that there is not, and if `PATCHMG_PTXAS` is
    /// no file.
    pub fn find(arch: &str) -> Result<Option<Self>> {
        if !is_architecture(arch) {
            let known: Vec<_> = ARCHITECTURES.iter().map(|number| format!("sm_{number}")).collect();
            let allowed =
                format!("one of {}, with an `a` behind it from sm_90 on, or an `f` from sm_100 on", known.join(", "));
            return Err(Library::InvalidArgument { name: "arch", value: arch.to_owned(), allowed }.into());
        }
        let named = std::env::var_os(VARIABLE).map(PathBuf::from);
        if let Some(path) = named.as_ref().filter(|path| !path.is_file()) {
            let (value, allowed) = (path.display().to_string(), String::from("the path of ptxas"));
            return Err(Library::InvalidArgument { name: VARIABLE, value, allowed }.into());
        }
        Ok(named.or_else(|| search("ptxas", None)).map(|ptxas| Self { ptxas, arch: arch.to_owned() }))
    }

    pub fn arch(&self) -> &str {
        &self.arch
    }

    /// Whether PTX of this `.target` can be assembled: its architecture is not newer.
    pub fn takes(&self, target: &str) -> bool {
        let number = |arch: &str| {
            let digits = arch.strip_prefix("sm_")?.trim_end_matches(|c: char| !c.is_ascii_digit());
            digits.parse::<u32>().ok()
        };
        number(target).is_some_and(|target| number(&self.arch) >= Some(target))
    }

    /// Its version, for example `13.0.88`.
    ///
    /// # Errors
    /// [`Error::Tool`] if it does not say.
    pub fn version(&self) -> Result<String> {
        let folder = folder()?;
        let text = run(Command::new(&self.ptxas).arg("--version"), folder.path())?;
        let version = text.split(", V").nth(1).and_then(|rest| rest.split_whitespace().next());
        version.map(str::to_owned).ok_or_else(|| tool(&self.ptxas, text))
    }

    /// Entry points of a module, with what each takes.
    ///
    /// # Errors
    /// [`Error::Tool`] with the assembler's message, or [`Library::Timeout`].
    pub fn resources(&self, ptx: &str) -> Result<Vec<(String, Resources)>> {
        let folder = folder()?;
        Ok(parse(&self.assemble(ptx, folder.path())?.1))
    }

    /// The machine code of a module as text.
    ///
    /// # Errors
    /// [`Error::Tool`] with the message of the assembler or the disassembler, or if there is no disassembler.
    pub fn sass(&self, ptx: &str) -> Result<String> {
        let nvdisasm = search("nvdisasm", self.ptxas.parent())
            .ok_or_else(|| tool(Path::new("nvdisasm"), format!("not found: {}", Self::INSTALL)))?;
        let folder = folder()?;
        let (binary, _) = self.assemble(ptx, folder.path())?;
        run(Command::new(nvdisasm).arg("--print-code").arg(binary), folder.path())
    }

    /// The binary, and what the assembler says.
    fn assemble(&self, ptx: &str, folder: &Path) -> Result<(PathBuf, String)> {
        let (source, binary) = (folder.join("module.ptx"), folder.join("module.cubin"));
        fs::write(&source, ptx).map_err(|error| Library::Io { path: source.clone(), source: error })?;
        let mut command = Command::new(&self.ptxas);
        command.args(["-v", "-arch", &self.arch]).arg(&source).arg("-o").arg(&binary);
        let said = run(&mut command, folder)?;
        Ok((binary, said))
    }
}

/// Whether there is such an architecture; `a` and `f` add what only one or a family of them has.
fn is_architecture(arch: &str) -> bool {
    let Some(number) = arch.strip_prefix("sm_") else { return false };
    let (number, least) = match (number.strip_suffix('a'), number.strip_suffix('f')) {
        (Some(number), _) => (number, 90),
        (_, Some(number)) => (number, 100),
        _ => (number, 0),
    };
    // `+80` parses as well.
    ARCHITECTURES.iter().any(|&known| known >= least && known.to_string() == number)
}

/// Resources from what `ptxas -v` says.
fn parse(said: &str) -> Vec<(String, Resources)> {
    let mut kernels: Vec<(String, Resources)> = Vec::new();
    for line in said.lines() {
        if let Some((_, rest)) = line.split_once("Compiling entry function '") {
            let name = rest.split('\'').next().unwrap_or_default();
            kernels.push((name.to_owned(), Resources::default()));
        } else if let Some((_, kernel)) = kernels.last_mut() {
            // Parts such as `0 bytes spill stores` and `Used 72 registers`, in lines of several.
            for part in line.trim_start_matches("ptxas info    :").split(',') {
                let words: Vec<_> = part.split_whitespace().skip_while(|&word| word == "Used").collect();
                let Some(value) = words.first().and_then(|word| word.parse().ok()) else { continue };
                match words[1..] {
                    ["bytes", "stack", "frame"] => kernel.stack_bytes = value,
                    ["bytes", "spill", "stores"] => kernel.spill_store_bytes = value,
                    ["bytes", "spill", "loads"] => kernel.spill_load_bytes = value,
                    ["registers"] => kernel.registers = value,
                    ["bytes", "smem"] => kernel.shared_bytes = value,
                    _ => {}
                }
            }
        }
    }
    kernels
}

/// A program in a folder, in that of the toolkit, or in `PATH`.
fn search(program: &str, folder: Option<&Path>) -> Option<PathBuf> {
    let toolkit =
        ["CUDA_HOME", "CUDA_PATH"].iter().filter_map(std::env::var_os).map(|home| Path::new(&home).join("bin"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = folder.map(Path::to_path_buf).into_iter().chain(toolkit).chain(std::env::split_paths(&path));
    folders.map(|folder| folder.join(program)).find(|path| path.is_file())
}

/// A folder for temporary files, that is removed with what it holds.
struct Folder(PathBuf);

impl Folder {
    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed stays where temporary files are.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// For this user alone, under a name of its own.
fn folder() -> Result<Folder> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    loop {
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("patchmg-{}-{count}", std::process::id()));
        match fs::DirBuilder::new().mode(0o700).create(&path) {
            Ok(()) => return Ok(Folder(path)),
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
            Err(source) => return Err(Library::Io { path, source }.into()),
        }
    }
}

/// Runs a program to its end and returns what it writes, by way of a file in `folder`: a pipe may fill up.
fn run(command: &mut Command, folder: &Path) -> Result<String> {
    let (program, path) = (PathBuf::from(command.get_program()), folder.join("output"));
    let io = |source| Library::Io { path: path.clone(), source };
    let file = File::create(&path).map_err(io)?;
    command.stdin(Stdio::null()).stdout(file.try_clone().map_err(io)?).stderr(file);
    let started = |source| Library::Io { path: program.clone(), source };
    let mut child = command.spawn().map_err(started)?;
    let Some(status) = child.wait_timeout(TIMEOUT).map_err(started)? else {
        // It may have ended just now.
        let _ = child.kill();
        child.wait().map_err(started)?;
        return Err(Library::Timeout { what: "the assembler", seconds: TIMEOUT.as_secs() }.into());
    };
    let text = fs::read(&path).map_err(io)?;
    let text = String::from_utf8_lossy(&text).into_owned();
    if status.success() { Ok(text) } else { Err(tool(&program, text)) }
}

fn tool(program: &Path, message: String) -> Error {
    let program = program.file_name().unwrap_or(OsStr::new("ptxas")).to_string_lossy().into_owned();
    Error::Tool { program, message: message.trim().to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'first' for 'sm_90'
ptxas info    : Function properties for first
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 72 registers, used 1 barriers, 16 bytes smem, 1024 bytes cmem[0]
ptxas info    : Compile time = 21.331 ms
ptxas info    : Compiling entry function 'second' for 'sm_90'
ptxas info    : Function properties for second
    24 bytes stack frame, 28 bytes spill stores, 32 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers, 24 bytes cumulative stack size
";

    #[test]
    fn resources_are_read_for_each_entry() {
        let first = Resources { registers: 72, shared_bytes: 16, ..Resources::default() };
        let (stack_bytes, spill_store_bytes, spill_load_bytes) = (24, 28, 32);
        let second = Resources { registers: 255, shared_bytes: 0, stack_bytes, spill_store_bytes, spill_load_bytes };
        assert_eq!(parse(SAID), [(String::from("first"), first), (String::from("second"), second)]);
    }

    #[test]
    fn an_architecture_is_one_that_kernels_take() {
        for arch in [
            "90",
            "sm_",
            "compute_90",
            "sm_x",
            "sm_70",
            "sm_75",
            "sm_85",
            "sm_999",
            "sm_080",
            "sm_80a",
            "sm_90f",
            "sm_90aa",
        ] {
            let error = Assembler::find(arch).unwrap_err();
            assert!(matches!(&error, Error::Library(Library::InvalidArgument { name: "arch", .. })), "{error}");
        }
        for arch in ["sm_80", "sm_90", "sm_90a", "sm_100f", "sm_121"] {
            Assembler::find(arch).unwrap();
        }
    }

    #[test]
    fn older_targets_are_taken() {
        let takes = |arch: &str, target: &str| Assembler { ptxas: PathBuf::new(), arch: arch.into() }.takes(target);
        for (arch, target) in [("sm_80", "sm_80"), ("sm_90a", "sm_90"), ("sm_100f", "sm_90"), ("sm_90", "sm_80")] {
            assert!(takes(arch, target), "{arch} {target}");
        }
        for (arch, target) in [("sm_80", "sm_90"), ("sm_90", "sm_100"), ("sm_90", "compute_80"), ("sm_90", "")] {
            assert!(!takes(arch, target), "{arch} {target}");
        }
    }

    #[test]
    fn what_a_program_says_before_it_fails_is_its_error() {
        let folder = folder().unwrap();
        let error =
            run(Command::new("sh").args(["-c", "echo first; echo why >&2; exit 3"]), folder.path()).unwrap_err();
        assert_eq!(error.to_string(), "sh: first\nwhy");
    }
}
