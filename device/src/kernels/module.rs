//! Units of device compilation, and which kernels are in which.

use super::{DEGREES_2D, DEGREES_3D, KernelSpec, Operands, Operation, Variant};
use crate::patch::DgGrid;
use crate::scalar::Real;
use crate::typed::{Kind, Row};
use crate::variants::Step;
use crate::{axis, dense, elliptic, expression, separable, stokes, tensor_core};
use std::format;
use std::string::String;
use std::vec::Vec;

/// A unit of device compilation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Module {
    /// Poisson's equation, continuous elements, of one dimension and degree.
    PoissonCg {
        /// 2 or 3.
        dim: usize,
        /// Polynomial degree.
        degree: usize,
    },
    /// Poisson's equation, discontinuous elements, of one dimension and degree.
    PoissonDg {
        /// 2 or 3.
        dim: usize,
        /// Polynomial degree.
        degree: usize,
    },
    /// The patch smoother's kernels of paper 1, of one dimension and degree.
    PatchVariants {
        /// 2 or 3.
        dim: usize,
        /// Polynomial degree.
        degree: usize,
    },
    /// Discontinuous elements in 3D by products of small matrices (paper 4), boxes of one size.
    TensorCore {
        /// Of a box in one direction.
        nodes: usize,
        /// What needs compute capability 9.0, or what does not.
        hopper: bool,
    },
    /// Vector operations.
    Blas1,
    /// Rows of [`kernels!`](crate::kernels!).
    Typed {
        /// What they compute.
        kind: &'static Kind,
        /// 2 or 3; 0 of a module that serves all.
        dim: usize,
        /// Polynomial degree, or 0.
        degree: usize,
    },
}

/// Those whose modules are [`Module::Typed`].
const KINDS: [&Kind; 10] = [
    &axis::KIND,
    &dense::ampere::KIND,
    &dense::hopper::KIND,
    &elliptic::KIND,
    &elliptic::nodes::KIND,
    &expression::KIND,
    &separable::KIND,
    &separable::graded::KIND,
    &stokes::KIND,
    &stokes::paper2::KIND,
];

impl Module {
    /// Every module, in the order of the list.
    pub fn all() -> Vec<Module> {
        let poisson = |dim, degrees: core::ops::RangeInclusive<usize>| {
            degrees.map(move |degree| Module::PoissonCg { dim, degree })
        };
        let discontinuous = |dim| DgGrid::DEGREES.map(move |degree| Module::PoissonDg { dim, degree });
        let variants = |dim, degrees: core::ops::RangeInclusive<usize>| {
            degrees.map(move |degree| Module::PatchVariants { dim, degree })
        };
        let tensor = |hopper| tensor_core::NODES.map(move |nodes| Module::TensorCore { nodes, hopper });
        core::iter::once(Module::Blas1)
            .chain(tensor(false))
            .chain(tensor(true))
            .chain(poisson(2, DEGREES_2D))
            .chain(poisson(3, DEGREES_3D))
            .chain(discontinuous(2))
            .chain(discontinuous(3))
            .chain(variants(2, DEGREES_2D))
            .chain(variants(3, DEGREES_3D))
            .chain(KINDS.into_iter().flat_map(Kind::modules))
            .collect()
    }

    /// For example `poisson_cg_3d_q3`; entry points begin with it.
    pub fn name(&self) -> String {
        match self {
            Module::PoissonCg { dim, degree } => format!("poisson_cg_{dim}d_q{degree}"),
            Module::PoissonDg { dim, degree } => format!("poisson_dg_{dim}d_q{degree}"),
            Module::PatchVariants { dim, degree } => format!("patch_variants_{dim}d_q{degree}"),
            Module::TensorCore { nodes, hopper: false } => format!("tensor_core_n{nodes}"),
            Module::TensorCore { nodes, hopper: true } => format!("tensor_core_n{nodes}_sm90"),
            Module::Blas1 => String::from("blas1"),
            Module::Typed { kind, dim, degree } => (kind.module_name)(*dim, *degree),
        }
    }

    /// Dimension and degree; none for modules that serve all.
    pub fn space(&self) -> Option<(usize, usize)> {
        match *self {
            Module::PoissonCg { dim, degree }
            | Module::PoissonDg { dim, degree }
            | Module::PatchVariants { dim, degree } => Some((dim, degree)),
            Module::Typed { dim, degree, .. } => (dim > 0).then_some((dim, degree)),
            Module::TensorCore { .. } | Module::Blas1 => None,
        }
    }

    /// `--cfg` values that select it: `module = "..."`, for a space `dim = "..."`, and `dof_threads` where a block has
    /// the threads for [`Step::FusedDof`].
    pub fn cfg(&self) -> Vec<String> {
        match self {
            Module::PoissonCg { dim, .. } => {
                std::vec![String::from("module=\"poisson_cg\""), format!("dim=\"{dim}\"")]
            }
            Module::PoissonDg { dim, .. } => {
                std::vec![String::from("module=\"poisson_dg\""), format!("dim=\"{dim}\"")]
            }
            Module::PatchVariants { dim, degree } => {
                let dof_threads = Step::FusedDof.exists(*dim, *degree).then(|| String::from("dof_threads"));
                [String::from("module=\"patch_variants\""), format!("dim=\"{dim}\"")]
                    .into_iter()
                    .chain(dof_threads)
                    .collect()
            }
            Module::TensorCore { nodes, hopper } => {
                let mut cfg = std::vec![String::from("module=\"tensor_core\"")];
                cfg.push(format!("products=\"{}\"", if *hopper { "hopper" } else { "ampere" }));
                cfg.extend(tensor_core::list::is_full(*nodes).then(|| String::from("full_list")));
                cfg.extend(tensor_core::list::is_patch(*nodes).then(|| String::from("patches")));
                cfg
            }
            Module::Blas1 => std::vec![String::from("module=\"blas1\"")],
            Module::Typed { kind, dim, .. } => {
                let dim = (*dim > 0).then(|| format!("dim=\"{dim}\""));
                core::iter::once(format!("module=\"{}\"", kind.name)).chain(dim).collect()
            }
        }
    }

    /// Environment of its compilation: `PATCHMG_MODULE`, the prefix of entry points, and `PATCHMG_SIZE`, degree or nodes.
    pub fn environment(&self) -> Vec<(&'static str, String)> {
        let size = match *self {
            Module::TensorCore { nodes, .. } => nodes,
            _ => self.space().map_or(0, |(_, degree)| degree),
        };
        std::vec![("PATCHMG_MODULE", self.name()), ("PATCHMG_SIZE", format!("{size}"))]
    }

    /// Whether its kernels are those of a paper, to compare with.
    pub fn is_of_paper(&self) -> bool {
        match self {
            Module::PatchVariants { .. } | Module::TensorCore { .. } => true,
            Module::Typed { kind, .. } => kind.is_of_paper,
            Module::PoissonCg { .. } | Module::PoissonDg { .. } | Module::Blas1 => false,
        }
    }

    /// Whether it needs compute capability 9.0 instead of 8.0.
    pub fn needs_hopper(&self) -> bool {
        match self {
            Module::TensorCore { hopper, .. } => *hopper,
            Module::Typed { kind, .. } => kind.needs_hopper,
            _ => false,
        }
    }

    /// Its kernels.
    pub fn kernels(&self) -> Vec<KernelSpec> {
        self.operations()
            .into_iter()
            .flat_map(|operation| match operation {
                Operation::SumPartials
                | Operation::ApplyRounded
                | Operation::ResidualNorms
                | Operation::NormRounded => {
                    std::vec![self.kernel::<f64>(operation)]
                }
                Operation::BoxApply(kernel) | Operation::BoxSolve(kernel) | Operation::BoxContract(kernel) => {
                    match kernel.operands {
                        Operands::F64 => std::vec![self.kernel::<f64>(operation)],
                        _ => std::vec![self.kernel::<f32>(operation)],
                    }
                }
                _ => std::vec![self.kernel::<f32>(operation), self.kernel::<f64>(operation)],
            })
            .collect()
    }

    /// Its rows of [`kernels!`](crate::kernels!), in one scalar.
    pub fn rows<T: Real>(&self) -> Vec<Row> {
        match self {
            Module::Typed { kind, .. } => kind.rows[usize::from(T::NAME == f64::NAME)](*self),
            _ => Vec::new(),
        }
    }

    /// What they compute.
    pub fn operations(&self) -> Vec<Operation> {
        match *self {
            Module::PoissonCg { dim, .. } => {
                let mut operations = std::vec![
                    Operation::Smooth,
                    Operation::Apply,
                    Operation::Residual,
                    Operation::RestrictResidual,
                    Operation::ProlongateAdd,
                    Operation::PointGaussSeidel,
                ];
                if dim == 2 {
                    operations.extend([Operation::SmoothFirst, Operation::ProlongateEdges]);
                } else {
                    operations.extend([Operation::ApplyRounded, Operation::ResidualNorms]);
                }
                operations
            }
            Module::PoissonDg { .. } => std::vec![
                Operation::Apply,
                Operation::Residual,
                Operation::Solve,
                Operation::SolveThin,
                Operation::Restrict,
                Operation::ProlongateAdd,
            ],
            Module::PatchVariants { dim, degree } => Variant::ALL
                .into_iter()
                .flat_map(|variant| Step::of(variant).iter().map(move |&step| (step, variant)))
                .filter(|(step, _)| step.exists(dim, degree))
                .map(|(step, variant)| Operation::Variant(step, variant))
                .collect(),
            Module::TensorCore { nodes, hopper } => tensor_core::list::listed(nodes)
                .into_iter()
                .filter(|listed| listed.hopper == hopper)
                .flat_map(|listed| {
                    let solve = listed.solves(nodes).then_some(Operation::BoxSolve(listed.kernel));
                    let contract = listed.contracts(nodes).then_some(Operation::BoxContract(listed.kernel));
                    core::iter::once(Operation::BoxApply(listed.kernel)).chain(solve).chain(contract)
                })
                .collect(),
            Module::Blas1 => std::vec![
                Operation::Axpby,
                Operation::DiagonalAxpby,
                Operation::Divide,
                Operation::Convert,
                Operation::Dots,
                Operation::SumPartials,
                Operation::Combine,
                Operation::CombineRounded,
                Operation::CombineDots,
                Operation::NormRounded,
            ],
            Module::Typed { .. } => self.rows::<f32>().into_iter().map(|row| row.spec.operation).collect(),
        }
    }
}
