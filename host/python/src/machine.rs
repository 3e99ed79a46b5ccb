//! Which machine computes.

use patchmg::backend::cpu::{Cpu, thread_count};
#[cfg(feature = "cuda")]
use patchmg::backend::cuda::Cuda;
use patchmg::{Error, Result};
use std::sync::Arc;

/// A backend that is ready.
#[derive(Clone)]
pub enum Machine {
    Cpu(Arc<Cpu>),
    #[cfg(feature = "cuda")]
    Cuda(Arc<Cuda>),
}

impl Machine {
    /// By name: `cpu`, `cuda`, or `auto`, which is the first CUDA device if there is one, and the CPU if not.
    pub fn choose(backend: &str, threads: Option<usize>) -> Result<Self> {
        thread_count(threads)?;
        match backend {
            "cpu" => cpu(threads),
            "cuda" => cuda(),
            "auto" => match cuda() {
                Err(Error::NoDevice { .. }) => cpu(threads),
                chosen => chosen,
            },
            _ => Err(Error::InvalidArgument {
                name: "backend",
                value: backend.into(),
                allowed: "auto, cpu or cuda".into(),
            }),
        }
    }

    /// `cpu` or `cuda`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Cpu(_) => "cpu",
            #[cfg(feature = "cuda")]
            Self::Cuda(_) => "cuda",
        }
    }
}

fn cpu(threads: Option<usize>) -> Result<Machine> {
    Ok(Machine::Cpu(Arc::new(Cpu::new(threads)?)))
}

#[cfg(feature = "cuda")]
fn cuda() -> Result<Machine> {
    Ok(Machine::Cuda(Arc::new(Cuda::new(0)?)))
}

#[cfg(not(feature = "cuda"))]
fn cuda() -> Result<Machine> {
    Err(Error::NoDevice { reason: "this package was built without the feature `cuda`".into() })
}
