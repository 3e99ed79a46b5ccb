//! `patchmg info`.

use crate::args::InfoArgs;
use crate::console::Console;
use crate::failure::Failure;
use crate::result;
use patchmg::backend::cpu::Cpu;
use patchmg::backend::{Backend, BackendName, DeviceInfo};
use patchmg::output::table::bytes;
use patchmg_device::kernels::{DEGREES_2D, DEGREES_3D};
use patchmg_device::patch::DgGrid;
use serde::Serialize;
use std::fmt::{Display, Formatter};
use std::process::ExitCode;

/// In the order of the JSON object.
#[derive(Serialize)]
struct Info {
    version: &'static str,
    commit: &'static str,
    features: Vec<&'static str>,
    /// Smallest and largest degree of continuous elements.
    degrees_2d: [usize; 2],
    degrees_3d: [usize; 2],
    /// Of discontinuous elements.
    degrees_dg: [usize; 2],
    /// Modules of GPU kernels.
    modules: Vec<&'static str>,
    cpu: DeviceInfo,
    gpus: Vec<DeviceInfo>,
    /// Why there is no GPU.
    no_gpu: Option<String>,
    /// What `--backend auto` picks.
    default_backend: BackendName,
}

pub fn run(args: &InfoArgs) -> Result<ExitCode, Failure> {
    result::check("json", args.json.as_deref())?;
    let info = Info::collect()?;
    match &args.json {
        Some(path) => result::write_json(&info, path)?,
        None => Console::Stdout.line(&info),
    }
    Ok(ExitCode::SUCCESS)
}

impl Info {
    fn collect() -> Result<Self, Failure> {
        let (gpus, no_gpu) = match gpus() {
            Ok(gpus) => (gpus, None),
            Err(reason) => (Vec::new(), Some(reason.to_string())),
        };
        let has_cuda = cfg!(feature = "cuda");
        Ok(Self {
            version: crate::VERSION,
            commit: crate::COMMIT,
            features: if has_cuda { vec!["cuda"] } else { Vec::new() },
            degrees_2d: [*DEGREES_2D.start(), *DEGREES_2D.end()],
            degrees_3d: [*DEGREES_3D.start(), *DEGREES_3D.end()],
            degrees_dg: [*DgGrid::DEGREES.start(), *DgGrid::DEGREES.end()],
            modules: modules(),
            cpu: Cpu::new(None)?.info(),
            default_backend: if gpus.is_empty() { BackendName::Cpu } else { BackendName::Cuda },
            gpus,
            no_gpu,
        })
    }
}

#[cfg(feature = "cuda")]
fn modules() -> Vec<&'static str> {
    patchmg::backend::cuda::module_names()
}

#[cfg(not(feature = "cuda"))]
fn modules() -> Vec<&'static str> {
    Vec::new()
}

#[cfg(feature = "cuda")]
fn gpus() -> patchmg::Result<Vec<DeviceInfo>> {
    patchmg::backend::cuda::devices()
}

#[cfg(not(feature = "cuda"))]
fn gpus() -> patchmg::Result<Vec<DeviceInfo>> {
    Err(patchmg::Error::NoDevice { reason: String::from("this program was built without the feature `cuda`") })
}

impl Display for Info {
    fn fmt(&self, f: &mut Formatter) -> std::fmt::Result {
        let Self { version, commit, degrees_2d, degrees_3d, degrees_dg, cpu, .. } = self;
        writeln!(f, "patchmg {version}, commit {commit}")?;
        writeln!(f, "features   {}", if self.features.is_empty() { "none".into() } else { self.features.join(", ") })?;
        writeln!(
            f,
            "degrees    2D: {} to {}, 3D: {} to {}; discontinuous: {} to {}",
            degrees_2d[0], degrees_2d[1], degrees_3d[0], degrees_3d[1], degrees_dg[0], degrees_dg[1]
        )?;
        writeln!(f, "modules    {} with GPU kernels", self.modules.len())?;
        writeln!(f, "cpu        {}, {} threads, {}, {}", cpu.name, cpu.units, cpu.architecture, memory(cpu))?;
        for (number, gpu) in self.gpus.iter().enumerate() {
            let [driver, api] = [&gpu.driver, &gpu.cuda_api].map(|version| version.as_deref().unwrap_or("unknown"));
            writeln!(
                f,
                "gpu {number}      {}, {} multiprocessors, {}, {}, driver {driver}, CUDA {api}",
                gpu.name,
                gpu.units,
                gpu.architecture,
                memory(gpu)
            )?;
        }
        if let Some(reason) = &self.no_gpu {
            writeln!(f, "gpu        {reason}")?;
        }
        write!(f, "default    --backend {}", self.default_backend)
    }
}

fn memory(device: &DeviceInfo) -> String {
    format!("{} of memory, {} free", bytes(device.memory), bytes(device.memory_free))
}
