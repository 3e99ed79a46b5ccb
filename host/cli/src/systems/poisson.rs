//! Poisson's equation on equal cells.

use super::data::{DataArgs, GIVEN};
use super::{Details, Offered, SystemName};
use crate::args::{CaseArgs, PAPERS, Smoother, text};
use crate::choices::one_of;
use crate::expression::Expression;
use crate::failure::Failure;
use clap::Args;
use clap::builder::TypedValueParser;
use patchmg::Error;
use patchmg::backend::{Backend, OuterProducts};
use patchmg::function::Function;
use patchmg::mesh::Mesh;
use patchmg::multigrid::SmootherConfig;
use patchmg::output::vtu;
use patchmg::problem::{Constant, ErrorNorms, ExactSolution, Field, SampledLoad, load_products, load_vector};
use patchmg::solve::{Case, Precision, SolutionOnMachine};
use patchmg::space::Family;
use patchmg::system::poisson::{
    Boxes, Engine, MatrixMemory, Operands, PRODUCTS, PatchKernel, Poisson, Problem, ProductShape, Products,
    TensorKernel,
};
use patchmg::system::{ErrorsOnMachine, ModelProblem};
use patchmg_device::patch::DgGrid;
use patchmg_device::tensor_core::list::listed;
use serde::Serialize;
use std::path::Path;

/// Kernels of the V-cycle of discontinuous elements in 3D by products of small matrices, on a GPU.
#[derive(Clone, Debug, Args, Serialize)]
#[serde(rename_all = "kebab-case")]
#[command(next_help_heading = PAPERS)]
pub struct ProductArgs {
    /// Contract tensors of poisson-dg in 3D by products of small matrices, in the V-cycle [default: columns in registers, which
    /// are faster]
    #[arg(long, value_parser = engine())]
    #[serde(serialize_with = "text")]
    pub engine: Option<Engine>,
    /// What the products are of [default: f64; in f32 and mixed precision f32 for fma, f16-corrected for others]
    #[arg(long, value_parser = operands(), requires = "engine")]
    #[serde(serialize_with = "text")]
    pub operands: Option<Operands>,
    /// Where 1D matrices come from [default: what the engine has first in the list of kernels]
    #[arg(long, value_parser = matrix_memory(), requires = "engine")]
    #[serde(serialize_with = "text")]
    pub matrices: Option<MatrixMemory>,
    /// Shape of products in f64: m8n8k4, or one with 16 rows on compute capability 9.0 [default: m8n8k4]
    #[arg(long, value_parser = product_shape(), requires = "engine")]
    #[serde(serialize_with = "text")]
    pub product_shape: Option<ProductShape>,
    /// What the operator takes as a box; solutions are on patches [default: patch]
    #[arg(long, value_parser = boxes(), requires = "engine")]
    #[serde(serialize_with = "text")]
    pub boxes: Option<Boxes>,
}

/// A problem that the library has by name, or one that expressions give.
#[derive(Clone, Debug)]
pub enum PoissonProblem {
    Named(Problem),
    Given {
        rhs: Option<Expression>,
        /// Of discontinuous elements; continuous ones are zero on the boundary here.
        boundary: Option<Expression>,
        exact: Option<Expression>,
    },
}

impl PoissonProblem {
    /// The solution on a mesh's box, where it is known.
    fn solution(&self, mesh: &Mesh) -> Option<Box<dyn ExactSolution>> {
        match self {
            Self::Named(problem) => problem.solution(mesh),
            Self::Given { exact, .. } => exact.clone().map(|exact| Box::new(exact) as _),
        }
    }
}

/// A right-hand side, zero if it is not given.
fn given(rhs: &Option<Expression>) -> &dyn Field {
    rhs.as_ref().map_or(&Constant(0.0), |rhs| rhs)
}

impl ModelProblem for PoissonProblem {
    type System = Poisson;
    type Errors = ErrorNorms;

    fn check(&self, system: &Poisson) -> patchmg::Result<()> {
        match self {
            Self::Named(problem) => problem.check(system),
            Self::Given { .. } => Ok(()),
        }
    }

    fn load(&self, system: &Poisson) -> patchmg::Result<Vec<f64>> {
        match self {
            Self::Named(problem) => problem.load(system),
            Self::Given { rhs, boundary, .. } => {
                let mut load = load_vector(system.space(), given(rhs))?;
                if let Some(values) = boundary {
                    system.add_boundary_load(values, &mut load)?;
                }
                Ok(load)
            }
        }
    }

    fn load_products(&self, system: &Poisson) -> patchmg::Result<Option<OuterProducts>> {
        match self {
            Self::Named(problem) => problem.load_products(system),
            Self::Given { boundary: Some(_), .. } => Ok(None),
            Self::Given { rhs, .. } => load_products(system.space(), given(rhs)),
        }
    }

    fn sampled_load(&self, system: &Poisson) -> patchmg::Result<Option<SampledLoad>> {
        match self {
            Self::Named(problem) => problem.sampled_load(system),
            Self::Given { rhs, boundary, .. } => {
                system.sampled_load(given(rhs), boundary.as_ref().map(|boundary| boundary as _))
            }
        }
    }

    fn errors(&self, u: &Function) -> patchmg::Result<Option<ErrorNorms>> {
        self.solution(u.space().mesh()).map(|exact| u.error_to(&*exact)).transpose()
    }

    fn errors_on_machine<B: Backend>(
        &self,
        system: &Poisson,
        u: &SolutionOnMachine<B>,
    ) -> patchmg::Result<ErrorsOnMachine<ErrorNorms>> {
        system.errors_on_machine(u, self.solution(system.mesh()).as_deref())
    }
}

impl Offered for PoissonProblem {
    const PROBLEMS: &'static [(&'static str, &'static str)] = &[
        ("one", "f = 1, u = 0 on the boundary"),
        ("sine", "f such that u = prod_i sin(pi x_i / size_i)"),
        ("cosine", "f and boundary values such that u = prod_i cos(pi x_i / size_i)"),
        (GIVEN, "what the options under Data say; of elliptic on mesh box"),
    ];
    const WITH_SOLUTION: &'static str = "sine or cosine, or given with --exact";
    const DEFAULT: &'static str = "sine";
    const ELEMENTS: &'static str = "Q";

    /// The library says which values are not allowed; here, which options do not go together.
    fn case(args: &CaseArgs) -> Result<Case<Self>, Failure> {
        let kernel_options = args.kernel_options();
        if let (Some((option, value)), Some(other)) = (kernel_options.first(), args.other_smoother()) {
            let reason = format_args!("belongs to --smoother patch, and --smoother is {other}");
            return Err(Failure::usage(option, value, reason));
        }
        let kernel = args.patch_kernel()?;
        args.check_box_data(args.dim())?;
        let problem = match args.problem_of::<Self>()? {
            "one" => Self::Named(Problem::One),
            "cosine" => Self::Named(Problem::Cosine),
            "sine" => Self::Named(Problem::Sine),
            _ => {
                let DataArgs { rhs, boundary, exact, .. } = args.forest.data.clone();
                let has_values = args.family() == Family::Discontinuous;
                let boundary = boundary.or(exact.clone()).filter(|_| has_values);
                Self::Given { rhs, boundary, exact }
            }
        };
        let system = Poisson::new(args.family(), args.mesh()?, args.degree())?.with_kernel(kernel);
        // Options of its kernel ask for the patch smoother.
        let suitable = if kernel_options.is_empty() { system.suitable_smoother() } else { SmootherConfig::Patch };
        let config = args.config(suitable)?;
        Ok(Case { system, problem, config })
    }

    /// An error of the library, in the options that it is about.
    fn refused(args: &CaseArgs, error: Error) -> Failure {
        match (error, args.products.engine) {
            (Error::Unsupported { backend, what: PRODUCTS, asked, available }, Some(engine)) => {
                let asked = format!("asks for {PRODUCTS}, {asked}");
                let reason = format_args!("{asked}; {backend} has: {available}; leave out --engine to do without");
                Failure::usage("engine", engine, reason)
            }
            (Error::Unsupported { backend, what, asked, available }, _) => {
                let refused = args.refused_kernel(format_args!("{backend} has: {available}"));
                refused.unwrap_or_else(|| Error::Unsupported { backend, what, asked, available }.into())
            }
            (other, _) => other.into(),
        }
    }

    fn kernels(case: &Case<Self>) -> String {
        match case.system.kernel() {
            _ if case.config.smoother != SmootherConfig::Patch => String::new(),
            PatchKernel::Products(products) => format!(": {products}"),
            kernel => {
                let [structure, variant, local, _] = kernel.names();
                format!(": kernel {structure}, variant {variant}, local solver {local}")
            }
        }
    }

    fn knows_solution(case: &Case<Self>) -> bool {
        case.problem.solution(case.system.mesh()).is_some()
    }

    /// Results name the kernel beside the options.
    fn fill(_case: &Case<Self>, _args: &mut CaseArgs) {}

    fn details(case: &Case<Self>, errors: Option<ErrorNorms>) -> Details {
        let system = &case.system;
        let [kernel, variant, local, _] = system.kernel().names().map(String::from);
        let products =
            if let PatchKernel::Products(products) = system.kernel() { Some(products.to_string()) } else { None };
        let (l2_error, h1_error) = errors.map(|errors| (errors.l2, errors.h1)).unzip();
        Details { kernel, variant, local, products, l2_error, h1_error, ..Details::default() }
    }

    fn most_vtu_bytes(case: &Case<Self>, config: &vtu::Config) -> Result<[u64; 2], Failure> {
        let (space, exact) = (case.system.space(), case.problem.solution(case.system.mesh()));
        Ok([vtu::most_bytes(space, exact.is_some(), config), vtu::memory(space)])
    }

    fn is_finite(u: &Function) -> bool {
        u.values().iter().all(|value| value.is_finite())
    }

    fn write_vtu(&self, u: &Function, path: &Path, config: &vtu::Config) -> Result<(), Failure> {
        match self.solution(u.space().mesh()) {
            Some(exact) => u.write_vtu(path, Some(&|point| exact.value(point)), config)?,
            None => u.write_vtu(path, None, config)?,
        }
        Ok(())
    }

    fn write_npz(u: &Function, path: &Path) -> patchmg::Result<()> {
        u.write_npz(path)
    }

    fn read_npz(case: &Case<Self>, path: &Path) -> patchmg::Result<Vec<f64>> {
        Ok(Function::read_npz(case.system.space(), path)?.into_values())
    }
}

impl CaseArgs {
    /// The family of elements.
    pub(super) fn family(&self) -> Family {
        match self.system {
            SystemName::PoissonCg => Family::Continuous,
            _ => Family::Discontinuous,
        }
    }

    /// The smoother that was given instead of patches.
    fn other_smoother(&self) -> Option<Smoother> {
        self.smoother.filter(|smoother| *smoother != Smoother::Patch)
    }

    /// Options of the patch smoother's kernel that were given, with their values.
    pub(super) fn kernel_options(&self) -> Vec<(&'static str, String)> {
        let options = [
            ("kernel", self.kernel.clone()),
            ("variant", self.variant.clone()),
            ("local", self.local.clone()),
            ("thread-structure", self.thread_structure.clone()),
            ("patches-per-block", self.patches_per_block.map(|patches| patches.to_string())),
        ];
        options.into_iter().filter_map(|(option, value)| Some((option, value?))).collect()
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
        let Some(engine) = engine.filter(|_| DgGrid::DEGREES.contains(&self.degree())) else { return Ok(None) };
        if self.family() != Family::Discontinuous || self.other_smoother().is_some() {
            let reason = "needs --system poisson-dg and --smoother patch";
            return Err(Failure::usage("engine", engine, reason));
        }
        let operands = operands.unwrap_or(match (self.precision, engine) {
            (Precision::F64, _) => Operands::F64,
            (_, Engine::Fma) => Operands::F32,
            _ => Operands::F16Corrected,
        });
        let boxes = boxes.unwrap_or_default();
        let nodes = boxes.nodes(self.degree());
        let kernels: Vec<_> = listed(nodes).into_iter().map(|listed| listed.kernel).collect();
        let fits = |kernel: &&TensorKernel| {
            (kernel.engine, kernel.operands) == (engine, operands)
                && matrices.is_none_or(|matrices| kernel.matrices == matrices)
                && product_shape.is_none_or(|shape| kernel.shape == Some(shape))
        };
        let Some(&kernel) = kernels.iter().find(fits) else {
            let names: Vec<_> = kernels.iter().map(TensorKernel::to_string).collect();
            let (operands, names) = (operands, names.join("; "));
            let reason = format_args!("with --operands '{operands}' and {nodes} nodes a direction; there are: {names}");
            return Err(Failure::usage("engine", engine, reason));
        };
        Ok(Some(Products { kernel, boxes }))
    }
}

fn engine() -> impl TypedValueParser<Value = Engine> {
    one_of(&Engine::ALL, Engine::name, |engine| match engine {
        Engine::Fma => "CUDA cores",
        Engine::Wmma => "wmma in x and y, CUDA cores in z; f64",
        Engine::Mma => "mma.sync, tensors row by row",
        Engine::MmaSwizzled => "mma.sync, tensors permuted against bank conflicts",
    })
}

fn operands() -> impl TypedValueParser<Value = Operands> {
    one_of(&Operands::ALL, Operands::name, |operands| match operands {
        Operands::F64 => "Double precision",
        Operands::F32 => "Single precision",
        Operands::Tf32 => "Single precision with 10 bits of mantissa",
        Operands::Tf32Corrected => "tf32, and what its rounding left",
        Operands::F16 => "Half precision; solves may fail",
        Operands::F16Corrected => "Half precision, and what its rounding left",
        Operands::Bf16 => "Range of single precision with 7 bits of mantissa; solves may fail",
    })
}

fn matrix_memory() -> impl TypedValueParser<Value = MatrixMemory> {
    one_of(&MatrixMemory::ALL, MatrixMemory::name, |memory| match memory {
        MatrixMemory::Shared => "Shared memory",
        MatrixMemory::Constant => "Constant memory; on patches, shared memory",
        MatrixMemory::ReadOnly => "Global memory by the read-only path",
        MatrixMemory::Texture => "A texture, f32; on patches, shared memory",
    })
}

fn product_shape() -> impl TypedValueParser<Value = ProductShape> {
    one_of(&ProductShape::ALL, ProductShape::name, |shape| match shape {
        ProductShape::M8N8K4 => "8 x 4 times 4 x 8",
        ProductShape::M16N8K4 => "16 x 4 times 4 x 8",
        ProductShape::M16N8K8 => "16 x 8 times 8 x 8",
        ProductShape::M16N8K16 => "16 x 16 times 16 x 8",
    })
}

fn boxes() -> impl TypedValueParser<Value = Boxes> {
    one_of(&Boxes::ALL, Boxes::name, |boxes| match boxes {
        Boxes::Patch => "2 x 2 x 2 cells",
        Boxes::Cell => "A cell",
    })
}
