//! Poisson's equation.

use super::{Details, Offered, ProblemName, SystemName};
use crate::args::{self, CaseArgs, ProductArgs};
use crate::failure::Failure;
use patchmg::Error;
use patchmg::function::Function;
use patchmg::output::vtu;
use patchmg::problem::ErrorNorms;
use patchmg::solve::{Case, Precision};
use patchmg::space::Family;
use patchmg::system::System;
use patchmg::system::poisson::{Engine, Operands, PRODUCTS, PatchKernel, Poisson, Problem, Products, TensorKernel};
use patchmg_device::patch::DgGrid;
use patchmg_device::tensor_core::list::listed;
use std::path::Path;

impl Offered for Problem {
    /// The library says which values are not allowed; here, which options do not go together.
    fn case(args: &CaseArgs) -> Result<Case<Self>, Failure> {
        let config = args.config()?;
        if let (Some((option, value)), false) = (args.kernel_options().first(), args.smoother == args::Smoother::Patch)
        {
            let reason = format_args!("belongs to --smoother patch, and --smoother is {}", args.smoother);
            return Err(Failure::usage(option, value, reason));
        }
        let kernel = args.patch_kernel()?;
        if let Some((option, value)) = args.flow_options().first() {
            return Err(Failure::usage(
                option,
                value,
                format_args!("belongs to --system stokes, and --system is {}", args.system),
            ));
        }
        let problem = match args.problem_name() {
            ProblemName::One => Self::One,
            ProblemName::Sine => Self::Sine,
            ProblemName::Cosine => Self::Cosine,
            other => return Err(other.refused(args.system, "one, sine or cosine")),
        };
        let system = Poisson::new(args.family(), args.mesh()?, args.degree)?;
        Ok(Case { system: system.with_kernel(kernel), problem, config })
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

    fn kernels(args: &CaseArgs, system: &Poisson) -> String {
        match system.kernel() {
            _ if args.smoother != args::Smoother::Patch => String::new(),
            PatchKernel::Products(products) => format!(": {products}"),
            kernel => {
                let [structure, variant, local, _] = kernel.names();
                format!(": kernel {structure}, variant {variant}, local solver {local}")
            }
        }
    }

    fn details(case: &Case<Self>, errors: Option<ErrorNorms>) -> Details {
        let system = &case.system;
        let [kernel, variant, local, _] = system.kernel().names().map(String::from);
        let products =
            if let PatchKernel::Products(products) = system.kernel() { Some(products.to_string()) } else { None };
        let (l2_error, h1_error) = errors.map(|errors| (errors.l2, errors.h1)).unzip();
        Details { kernel, variant, local, products, l2_error, h1_error, ..Details::default() }
    }

    fn vtu_bytes(case: &Case<Self>) -> Result<[u64; 2], Failure> {
        let (space, exact) = (case.system.space(), case.problem.solution(case.system.mesh()));
        Ok([vtu::size(space, exact.is_some()), vtu::memory(space)])
    }

    fn is_finite(u: &Function) -> bool {
        u.values().iter().all(|value| value.is_finite())
    }

    fn write_vtu(&self, u: &Function, path: &Path) -> Result<(), Failure> {
        match self.solution(u.space().mesh()) {
            Some(exact) => u.write_vtu(path, Some(&|point| exact.value(point)))?,
            None => u.write_vtu(path, None)?,
        }
        Ok(())
    }
}

impl CaseArgs {
    /// The family of elements.
    fn family(&self) -> Family {
        match self.system {
            SystemName::PoissonCg => Family::Continuous,
            _ => Family::Discontinuous,
        }
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
        let Some(engine) = engine.filter(|_| DgGrid::DEGREES.contains(&self.degree)) else { return Ok(None) };
        if self.family() != Family::Discontinuous || self.smoother != args::Smoother::Patch {
            let reason = "needs --system poisson-dg and --smoother patch";
            return Err(Failure::usage("engine", engine, reason));
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
            let (operands, names) = (operands, names.join("; "));
            let reason = format_args!("with --operands '{operands}' and {nodes} nodes a direction; there are: {names}");
            return Err(Failure::usage("engine", engine, reason));
        };
        Ok(Some(Products { kernel, boxes }))
    }
}
