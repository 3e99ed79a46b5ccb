//! The CUDA backend against the host and against the CPU backend. Without a device every test is ignored; with
//! `PATCHMG_REQUIRE_GPU=1` it fails instead.

#[path = "common/mod.rs"]
mod dense;
#[path = "common/films.rs"]
mod films;
#[path = "common/forests.rs"]
mod forests;
#[path = "common/histories.rs"]
mod histories;
#[path = "../device/emulation/tests/common/boxes.rs"]
mod naive;

mod gpu {
    pub mod backend;
    pub mod boxes;
    pub mod compare;
    pub mod elliptic;
    pub mod expressions;
    pub mod oracles;
    pub mod separable;
    pub mod smoothers;
    pub mod spaces;
    pub mod stokes;
    pub mod variants;
    pub mod vectors;
}

use libtest_mimic::{Arguments, Completion, Failed, Trial};
use patchmg::Error;
use patchmg::backend::cuda::Cuda;
use std::process::ExitCode;
use std::sync::Arc;

pub type Outcome = Result<(), Failed>;

/// The tests, and the device that they run on.
pub struct Suite {
    gpu: Result<Arc<Cuda>, Error>,
    trials: Vec<Trial>,
}

impl Suite {
    pub fn test(&mut self, name: impl Into<String>, test: impl Fn(&Arc<Cuda>) -> Outcome + Send + 'static) {
        self.test_if(name, move |gpu| test(gpu).map(|()| Completion::Completed));
    }

    /// A test that may find that the machine is too small for it.
    pub fn test_if(
        &mut self,
        name: impl Into<String>,
        test: impl Fn(&Arc<Cuda>) -> Result<Completion, Failed> + Send + 'static,
    ) {
        let gpu = match &self.gpu {
            Ok(gpu) => Ok(gpu.clone()),
            Err(Error::NoDevice { .. }) if std::env::var_os("PATCHMG_REQUIRE_GPU").is_none() => Err(None),
            Err(error) => Err(Some(error.to_string())),
        };
        self.trials.push(Trial::ignorable_test(name, move || match gpu {
            Ok(gpu) => test(&gpu),
            Err(None) => Ok(Completion::ignored_with("no CUDA device")),
            Err(Some(error)) => Err(error.into()),
        }));
    }
}

fn main() -> ExitCode {
    patchmg::backend::cuda::add_modules(patchmg_paper_kernels::MODULES);
    let mut suite = Suite { gpu: Cuda::new(0).map(Arc::new), trials: Vec::new() };
    gpu::backend::add(&mut suite);
    gpu::vectors::add::<f32>(&mut suite);
    gpu::vectors::add::<f64>(&mut suite);
    gpu::vectors::add_long(&mut suite);
    gpu::expressions::add::<f32>(&mut suite);
    gpu::expressions::add::<f64>(&mut suite);
    gpu::expressions::add_solves(&mut suite);
    gpu::spaces::add::<f32>(&mut suite);
    gpu::spaces::add::<f64>(&mut suite);
    gpu::spaces::add_boxes::<f32>(&mut suite);
    gpu::spaces::add_boxes::<f64>(&mut suite);
    gpu::variants::add::<f32>(&mut suite);
    gpu::variants::add::<f64>(&mut suite);
    gpu::smoothers::add::<f32>(&mut suite);
    gpu::smoothers::add::<f64>(&mut suite);
    gpu::boxes::add::<f32>(&mut suite);
    gpu::boxes::add::<f64>(&mut suite);
    gpu::boxes::add_solves(&mut suite);
    gpu::boxes::add_contractions(&mut suite);
    gpu::separable::add::<f32>(&mut suite);
    gpu::separable::add::<f64>(&mut suite);
    gpu::separable::add_solves(&mut suite);
    gpu::stokes::add::<f32>(&mut suite);
    gpu::stokes::add::<f64>(&mut suite);
    gpu::stokes::add_solves(&mut suite);
    gpu::elliptic::add::<f32>(&mut suite);
    gpu::elliptic::add::<f64>(&mut suite);
    gpu::elliptic::add_writes::<f32>(&mut suite);
    gpu::elliptic::add_writes::<f64>(&mut suite);
    gpu::elliptic::add_newton::<f32>(&mut suite);
    gpu::elliptic::add_newton::<f64>(&mut suite);
    gpu::elliptic::add_films(&mut suite);
    gpu::elliptic::add_solves(&mut suite);
    gpu::elliptic::add_large_coarsest_mesh(&mut suite);
    gpu::elliptic::add_oracles(&mut suite);
    gpu::oracles::add(&mut suite);
    libtest_mimic::run(&Arguments::from_args(), suite.trials).exit_code()
}
