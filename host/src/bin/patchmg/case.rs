//! The model problem that the arguments describe.

use crate::args::{self, CaseArgs, ProductArgs};
use crate::failure::Failure;
use patchmg::Error;
use patchmg::backend::{DeviceInfo, Engine, Operands, PRODUCTS, PatchKernel, Products, TensorKernel};
use patchmg::krylov::Stopping;
use patchmg::multigrid::SmootherConfig;
use patchmg::output::table::bytes;
use patchmg::solve::{Case, Config, Precision, System};
use patchmg_device::patch::DgGrid;
use patchmg_device::tensor_core::list::listed;

impl CaseArgs {
    /// The library says which values are not allowed; here, which options do not go together.
    pub fn model(&self) -> Result<Case, Failure> {
        let stopping = Stopping { rtol: self.rtol, max_iters: self.max_iters };
        let config = Config {
            method: self.solver,
            precision: self.precision,
            smoother: self.smoother()?,
            stopping,
            ..Config::default()
        };
        let Self { system, dim, degree, refine, problem, .. } = *self;
        Ok(Case { system, dim, degree, refine, problem, config })
    }

    fn smoother(&self) -> Result<SmootherConfig, Failure> {
        let products = self.products()?;
        let mut smoother = match self.smoother {
            args::Smoother::Patch => SmootherConfig::Patch(self.patch_kernel(products)),
            args::Smoother::AdditivePatch => SmootherConfig::additive_patch(self.dim),
            args::Smoother::PointGs => SmootherConfig::PointGaussSeidel,
            args::Smoother::Jacobi => SmootherConfig::jacobi(),
            args::Smoother::Chebyshev => SmootherConfig::chebyshev(),
        };
        if let Some(given) = self.damping {
            match &mut smoother {
                SmootherConfig::AdditivePatch { damping } | SmootherConfig::Jacobi { damping } => *damping = given,
                _ => {
                    let reason =
                        format_args!("--smoother {} is not damped, additive-patch and jacobi are", self.smoother);
                    return Err(Failure::usage("damping", given, reason));
                }
            }
        }
        Ok(smoother)
    }

    /// An error of the library, in the options that it is about.
    pub fn refused(&self, error: Error) -> Failure {
        match (error, self.products.engine) {
            (Error::Unsupported { backend, what: PRODUCTS, asked, available }, Some(engine)) => {
                let asked = format!("asks for {PRODUCTS}, {asked}");
                let reason = format_args!("{asked}; {backend} has: {available}; leave out --engine to do without");
                Failure::usage("engine", engine.name(), reason)
            }
            (Error::Unsupported { backend, available, .. }, _) => {
                let rest = format!(
                    "with --variant '{}' --local '{}' --thread-structure '{}'",
                    self.variant.name(),
                    self.local.name(),
                    self.thread_structure.name()
                );
                Failure::usage("kernel", self.kernel.name(), format_args!("{rest}, {backend} has: {available}"))
            }
            (other, _) => other.into(),
        }
    }

    fn patch_kernel(&self, products: Option<Products>) -> PatchKernel {
        PatchKernel {
            structure: self.kernel,
            variant: self.variant,
            local: self.local,
            threads: self.thread_structure,
            patches: self.patches_per_block,
            data_only: false,
            products,
        }
    }

    /// Products of small matrices, if they are asked for: of the kernels that fit what was given, the first in the list.
    fn products(&self) -> Result<Option<Products>, Failure> {
        let ProductArgs { engine, operands, matrices, product_shape, boxes } = self.products;
        // A degree that there is not is found where the space is made.
        let Some(engine) = engine.filter(|_| DgGrid::DEGREES.contains(&self.degree)) else { return Ok(None) };
        if self.system != System::PoissonDg || self.smoother != args::Smoother::Patch {
            let reason = "needs --system poisson-dg and --smoother patch";
            return Err(Failure::usage("engine", engine.name(), reason));
        }
        let operands = operands.unwrap_or(match (self.precision, engine) {
            (Precision::F64, _) => Operands::F64,
            (_, Engine::Fma) => Operands::F32,
            _ => Operands::F16Corrected,
        });
        let boxes = boxes.unwrap_or_default();
        let nodes = boxes.nodes(self.degree);
        let kernels: Vec<_> = listed(nodes).into_iter().map(|listed| listed.kernel).collect();
        let fits = |kernel: &&TensorKernel| {
            (kernel.engine, kernel.operands) == (engine, operands)
                && matrices.is_none_or(|matrices| kernel.matrices == matrices)
                && product_shape.is_none_or(|shape| kernel.shape == Some(shape))
        };
        let Some(&kernel) = kernels.iter().find(fits) else {
            let names: Vec<_> = kernels.iter().map(TensorKernel::to_string).collect();
            let (operands, names) = (operands.name(), names.join("; "));
            let reason = format_args!("with --operands '{operands}' and {nodes} nodes a direction; there are: {names}");
            return Err(Failure::usage("engine", engine.name(), reason));
        };
        Ok(Some(Products { kernel, boxes }))
    }
}

/// A number of iterations, as a person reads it.
pub fn iterations(count: usize) -> String {
    format!("{count} iteration{}", if count == 1 { "" } else { "s" })
}

/// What is about to run.
pub fn parameters(args: &CaseArgs, config: &Config, device: &DeviceInfo, memory: u64) -> String {
    let domain = if args.dim == 2 { "square" } else { "cube" };
    let kernel = match config.smoother.patch_kernel().products {
        Some(products) => products.to_string(),
        None => {
            let [kernel, variant, local] = [args.kernel.name(), args.variant.name(), args.local.name()];
            format!("kernel {kernel}, variant {variant}, local solver {local}")
        }
    };
    format!(
        "\
{} on the unit {domain}, degree {}, 2^{} cells a direction, problem {}
solver     {}, precision {}, relative tolerance {:e}, at most {}
smoother   {}: {kernel}
backend    {}: {}, {} {}, {}
memory     {} needed, {} free
",
        args.system.name(),
        args.degree,
        args.refine,
        args.problem.name(),
        args.solver.name(),
        args.precision.name(),
        args.rtol,
        iterations(args.max_iters),
        args.smoother,
        device.backend,
        device.name,
        device.units,
        if device.backend == "cpu" { "threads" } else { "multiprocessors" },
        device.architecture,
        bytes(memory),
        bytes(device.memory_free),
    )
}
