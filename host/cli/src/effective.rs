//! What repeats a solve: its arguments, with defaults filled in.

use crate::args::{BackendChoice, CaseArgs, Smoother};
use crate::systems::Offered;
use clap::ValueEnum;
use patchmg::backend::DeviceInfo;
use patchmg::backend::cpu::thread_count;
use patchmg::multigrid::SmootherConfig;
use patchmg::solve::{Case, Method};
use serde_json::{Map, Value};

impl CaseArgs {
    /// The arguments, with what the case and the machine have where nothing was given; but for what follows from the dimension and the
    /// degree, so that others can take their place.
    pub fn effective<P: Offered>(&self, case: &Case<P>, device: &DeviceInfo) -> Self {
        let mut args = self.clone();
        let config = &case.config;
        args.dim = Some(self.dim());
        args.problem = Some(self.problem_name().into());
        args.solver = Some(config.method);
        args.restart = [Method::Gmres, Method::Fgmres].contains(&config.method).then_some(config.restart);
        args.smoother = Smoother::from_str(config.smoother.name(), false).ok();
        match config.smoother {
            SmootherConfig::AdditivePatch { damping } | SmootherConfig::Jacobi { damping } => {
                args.damping = Some(damping)
            }
            SmootherConfig::Chebyshev { degree, .. }
            | SmootherConfig::ChebyshevPatch { degree, .. }
            | SmootherConfig::ChebyshevFourthKind { degree } => args.smoother_degree = Some(degree),
            _ => {}
        }
        args.rtol = Some(config.stopping.rtol);
        P::fill(case, &mut args);
        let machine = &mut args.machine;
        let is_gpu = device.backend.is_gpu();
        machine.backend = if is_gpu { BackendChoice::Cuda } else { BackendChoice::Cpu };
        machine.device = is_gpu.then_some(self.machine.device.unwrap_or(0));
        machine.threads = thread_count(self.machine.threads).ok();
        args
    }

    /// Those that were given, or have a default, under their names.
    ///
    /// # Panics
    /// Never: all of them are numbers, texts and lists.
    pub fn options(&self) -> Map<String, Value> {
        let Ok(Value::Object(mut options)) = serde_json::to_value(self) else { unreachable!("arguments have names") };
        options.retain(|_, value| !value.is_null() && value.as_array().is_none_or(|list| !list.is_empty()));
        options
    }
}
