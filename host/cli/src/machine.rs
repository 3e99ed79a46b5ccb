//! Which machine computes.

use crate::args::{BackendChoice, MachineArgs};
use crate::console::Console;
use crate::failure::Failure;
use patchmg::Error;
use patchmg::backend::cpu::{Cpu, thread_count};
#[cfg(feature = "cuda")]
use patchmg::backend::cuda::Cuda;
use std::sync::Arc;

/// A backend that is ready.
pub enum Machine {
    Cpu(Arc<Cpu>),
    #[cfg(feature = "cuda")]
    Cuda(Arc<Cuda>),
}

impl Machine {
    /// What the arguments ask for. That `auto` found no GPU is said, not silent.
    pub fn choose(args: &MachineArgs, console: Console) -> Result<Self, Failure> {
        thread_count(args.threads)?;
        match (args.backend, args.device) {
            (BackendChoice::Cpu, Some(device)) if device > 0 => {
                let reason = "must be 0 or left out with --backend cpu: only CUDA devices are numbered";
                Err(Failure::usage("device", device, reason))
            }
            (BackendChoice::Cpu, _) => cpu(args),
            (BackendChoice::Cuda, device) => Ok(cuda(device.unwrap_or(0))?),
            // Who names a device wants that one.
            (BackendChoice::Auto, Some(device)) if device > 0 => Ok(cuda(device)?),
            (BackendChoice::Auto, _) => match cuda(0) {
                Ok(machine) => Ok(machine),
                Err(Error::NoDevice { reason }) => {
                    console.line(format_args!("no CUDA device: {reason}; computing on the CPU"));
                    cpu(args)
                }
                Err(error) => Err(error.into()),
            },
        }
    }
}

fn cpu(args: &MachineArgs) -> Result<Machine, Failure> {
    Ok(Machine::Cpu(Arc::new(Cpu::new(args.threads)?)))
}

#[cfg(feature = "cuda")]
fn cuda(device: usize) -> Result<Machine, Error> {
    Ok(Machine::Cuda(Arc::new(Cuda::new(device)?)))
}

#[cfg(not(feature = "cuda"))]
fn cuda(_device: usize) -> Result<Machine, Error> {
    Err(Error::NoDevice { reason: String::from("this program was built without the feature `cuda`") })
}
