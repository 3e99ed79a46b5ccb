//! The model problem that the arguments describe.

use crate::args::{self, CaseArgs, ProductArgs};
use crate::choices;
use crate::failure::Failure;
use patchmg::Error;
use patchmg::backend::DeviceInfo;
use patchmg::krylov::Stopping;
use patchmg::mesh::Mesh;
use patchmg::multigrid::SmootherConfig;
use patchmg::output::table::bytes;
use patchmg::solve::{Case, Config, Precision};
use patchmg::space::Family;
use patchmg::system::poisson::{Engine, Operands, PRODUCTS, PatchKernel, Poisson, Products, TensorKernel};
use patchmg_device::patch::DgGrid;
use patchmg_device::tensor_core::list::listed;

impl CaseArgs {
    /// The library says which values are not allowed; here, which options do not go together.
    pub fn model(&self) -> Result<Case<Poisson>, Failure> {
        let stopping = Stopping { rtol: self.rtol, max_iters: self.max_iters };
        let config = Config {
            method: self.solver,
            precision: self.precision,
            smoother: self.smoother()?,
            stopping,
            ..Config::default()
        };
        let kernel = self.patch_kernel()?;
        let system = Poisson::new(self.system, self.mesh()?, self.degree)?;
        Ok(Case { system: system.with_kernel(kernel), problem: self.problem, config })
    }

    /// That which was given, or that of the first list of numbers for each direction.
    pub fn dim(&self) -> usize {
        let given = [self.cells.len(), self.size.len()].into_iter().find(|&count| count > 0);
        self.dim.or(given).unwrap_or(3)
    }

    /// Base cells in each direction.
    pub fn base_cells(&self) -> Vec<usize> {
        if self.cells.is_empty() { vec![1; self.dim()] } else { self.cells.clone() }
    }

    /// Side lengths of the domain.
    pub fn lengths(&self) -> Vec<f64> {
        if self.size.is_empty() { vec![1.0; self.dim()] } else { self.size.clone() }
    }

    /// The domain's, as a person reads it.
    pub fn domain(&self) -> String {
        let lengths = self.lengths();
        match (self.dim(), lengths.iter().all(|&length| length == 1.0)) {
            (2, true) => String::from("the unit square"),
            (_, true) => String::from("the unit cube"),
            (2, false) => format!("the rectangle {}", product(&lengths)),
            (_, false) => format!("the box {}", product(&lengths)),
        }
    }

    /// Cells in each direction, as a person reads it.
    pub fn cells_in_words(&self) -> String {
        if self.cells.iter().all(|&cells| cells == 1) {
            return format!("2^{} cells a direction", self.refine);
        }
        let times = if self.refine == 1 { "once".into() } else { format!("{} times", self.refine) };
        format!("{} cells refined {times}", product(&self.cells))
    }

    fn mesh(&self) -> Result<Mesh, Failure> {
        let (dim, base, lengths) = (self.dim(), self.base_cells(), self.lengths());
        let reason = || format!("must be {dim} numbers in {dim}D, with commas between them");
        if base.len() != dim {
            return Err(Failure::usage("cells", list(&base), reason()));
        }
        if lengths.len() != dim {
            return Err(Failure::usage("size", list(&lengths), reason()));
        }
        Ok(Mesh::of_box(&base, &lengths, self.refine)?)
    }

    fn smoother(&self) -> Result<SmootherConfig, Failure> {
        let mut smoother = match self.smoother {
            args::Smoother::Patch => SmootherConfig::Patch,
            args::Smoother::AdditivePatch => SmootherConfig::additive_patch(self.dim()),
            args::Smoother::PointGs => SmootherConfig::PointGaussSeidel,
            args::Smoother::Jacobi => SmootherConfig::jacobi(),
            args::Smoother::Chebyshev => SmootherConfig::chebyshev(),
        };
        if let (Some((option, value)), false) = (self.kernel_options().first(), self.smoother == args::Smoother::Patch)
        {
            let reason = format_args!("belongs to --smoother patch, and --smoother is {}", self.smoother);
            return Err(Failure::usage(option, value, reason));
        }
        if let Some(given) = self.damping {
            match &mut smoother {
                SmootherConfig::AdditivePatch { damping } | SmootherConfig::Jacobi { damping } => *damping = given,
                _ => {
                    let reason =
                        format_args!("--smoother {} is not damped, additive-patch and jacobi are", self.smoother);
                    return Err(Failure::usage("damping", format_args!("{given:?}"), reason));
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
            (Error::Unsupported { backend, what, asked, available }, _) => {
                let refused = self.refused_kernel(format_args!("{backend} has: {available}"));
                refused.unwrap_or_else(|| Error::Unsupported { backend, what, asked, available }.into())
            }
            (other, _) => other.into(),
        }
    }

    /// Names the options that ask for another kernel than the default one, and what there is instead.
    fn refused_kernel(&self, there_is: std::fmt::Arguments) -> Option<Failure> {
        let default = PatchKernel::default().names();
        let mut given = self.kernel_options();
        given.retain(|(_, value)| !default.contains(&value.as_str()));
        let ((option, value), others) = given.split_first()?;
        let others: Vec<_> = others.iter().map(|(option, value)| format!("--{option} '{value}'")).collect();
        let others = if others.is_empty() { String::new() } else { format!("with {}, ", others.join(" ")) };
        Some(Failure::usage(option, value, format_args!("{others}{there_is}")))
    }

    /// Options of the patch smoother's kernel that were given, with their values.
    fn kernel_options(&self) -> Vec<(&'static str, String)> {
        let options = [
            ("kernel", self.kernel.clone()),
            ("variant", self.variant.clone()),
            ("local", self.local.clone()),
            ("thread-structure", self.thread_structure.clone()),
            ("patches-per-block", self.patches_per_block.map(|patches| patches.to_string())),
        ];
        options.into_iter().filter_map(|(option, value)| Some((option, value?))).collect()
    }

    fn patch_kernel(&self) -> Result<PatchKernel, Failure> {
        let default = PatchKernel::default().names();
        let given = [&self.kernel, &self.variant, &self.local, &self.thread_structure];
        let names = std::array::from_fn(|i| given[i].as_deref().unwrap_or(default[i]));
        match (PatchKernel::of_names(names), self.products()?, self.patches_per_block) {
            (Some(PatchKernel::Register), products, None) => {
                Ok(products.map_or_else(Default::default, PatchKernel::Products))
            }
            (Some(PatchKernel::Paper1 { kernels, .. }), None, patches) => Ok(PatchKernel::Paper1 { kernels, patches }),
            _ => {
                let refused = self.refused_kernel(format_args!("there is: {}", PatchKernel::AVAILABLE));
                Err(refused.expect("an option asks for another kernel than the default one"))
            }
        }
    }

    /// Products of small matrices, if they are asked for: of the kernels that fit what was given, the first in the list.
    fn products(&self) -> Result<Option<Products>, Failure> {
        let ProductArgs { engine, operands, matrices, product_shape, boxes } = self.products;
        // A degree that there is not is found where the space is made.
        let Some(engine) = engine.filter(|_| DgGrid::DEGREES.contains(&self.degree)) else { return Ok(None) };
        if self.system != Family::Discontinuous || self.smoother != args::Smoother::Patch {
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

fn list(numbers: &[impl ToString]) -> String {
    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

fn product(numbers: &[impl ToString]) -> String {
    list(numbers).replace(',', " x ")
}

/// A number of iterations, as a person reads it.
pub fn iterations(count: usize) -> String {
    format!("{count} iteration{}", if count == 1 { "" } else { "s" })
}

/// What is about to run.
pub fn parameters(args: &CaseArgs, kernel: PatchKernel, device: &DeviceInfo, memory: u64) -> String {
    let kernel = match kernel {
        _ if args.smoother != args::Smoother::Patch => String::new(),
        PatchKernel::Products(products) => format!(": {products}"),
        _ => {
            let [structure, variant, local, _] = kernel.names();
            format!(": kernel {structure}, variant {variant}, local solver {local}")
        }
    };
    format!(
        "\
{} on {}, degree {}, {}, problem {}
solver     {}, precision {}, relative tolerance {:e}, at most {}
smoother   {}{kernel}
backend    {}: {}, {} {}, {}
memory     {} needed, {} free
",
        choices::system_name(args.system),
        args.domain(),
        args.degree,
        args.cells_in_words(),
        args.problem.name(),
        args.solver.name(),
        args.precision.name(),
        args.rtol,
        iterations(args.max_iters),
        args.smoother,
        device.backend,
        device.name,
        device.units,
        if device.backend.is_gpu() { "multiprocessors" } else { "threads" },
        device.architecture,
        bytes(memory),
        bytes(device.memory_free),
    )
}
