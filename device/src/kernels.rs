//! The kernel list: every entry point, with what the host must know to launch it and the builder to check it.
//!
//! Kernels of one system, dimension and degree are compiled as one PTX [`Module`], so that a change rebuilds, and a
//! solve loads, only what it needs.

/// Degrees that there are kernels for in 2D.
pub const DEGREES_2D: core::ops::RangeInclusive<usize> = 1..=10;
/// Degrees that there are kernels for in 3D.
pub const DEGREES_3D: core::ops::RangeInclusive<usize> = 1..=8;

/// Patch nodes in one direction: `(interior, all)` = `(2k - 1, 2k + 1)`.
pub const fn patch_nodes(degree: usize) -> (usize, usize) {
    (2 * degree - 1, 2 * degree + 1)
}

/// The fewest threads that a block of a patch kernel should have, where several patches fit.
const THREADS_WANTED: usize = 128;

/// Patches that one block of `columns` threads a patch handles side by side, in x.
pub const fn patches_per_block(columns: usize) -> usize {
    let patches = THREADS_WANTED / columns;
    if patches == 0 { 1 } else { patches }
}

/// Threads that own the columns of a patch with `nodes` nodes a direction.
pub const fn columns(dim: usize, nodes: usize) -> usize {
    if dim == 3 { nodes * nodes } else { nodes }
}

pub use crate::choice::{
    Boxes, Engine, LocalSolver, MatrixMemory, Operands, PatchKernel, ProductShape, Products, Structure, TensorKernel,
    ThreadStructure, Variant,
};

#[cfg(not(target_arch = "nvptx64"))]
pub use table::*;

/// The table is for the host: the device knows its own kernels.
#[cfg(not(target_arch = "nvptx64"))]
mod table {
    use super::*;
    use crate::patch::DgGrid;
    use crate::scalar::Real;
    use crate::tensor_core;
    use crate::variants::{self, Step};
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
    }

    /// What a kernel computes; see the functions of the same names.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Operation {
        /// One color of the patch smoother.
        Smooth,
        /// The same, or a part of it, at an optimization level of paper 1.
        Variant(Step, Variant),
        /// `y = A x`.
        Apply,
        /// `r = b - A x`.
        Residual,
        /// `coarse = Pᵀ (b - A x)`, one class of strips.
        RestrictResidual,
        /// `x += A_j⁻¹ r` on the patches of a color.
        Solve,
        /// `coarse = Pᵀ r`.
        Restrict,
        /// `x += P coarse`.
        ProlongateAdd,
        /// `y = A x` or `y = b - A x`, box by box.
        BoxApply(TensorKernel),
        /// `x += A_j⁻¹ r` on the patches of a color.
        BoxSolve(TensorKernel),
        /// The contractions of the operator of a box alone, repeated: to be timed.
        BoxContract(TensorKernel),
        /// One color of point Gauss-Seidel.
        PointGaussSeidel,
        /// `y = alpha x + beta y`.
        Axpby,
        /// `y = alpha D x + beta y`, `D` diagonal.
        DiagonalAxpby,
        /// `y = alpha x` in the other scalar; the kernel's scalar is that of `y`.
        Convert,
        /// Partial sums of dot products.
        Dots,
        /// Their sum.
        SumPartials,
        /// `y += sum_j c_j x_j`.
        AddCombination,
    }

    impl Operation {
        /// Whether its blocks march through a level, with tiles of their own instead of patches.
        pub fn marches(self) -> bool {
            matches!(self, Operation::Apply | Operation::Residual | Operation::RestrictResidual)
        }
    }

    /// A kernel: where it is and how it is launched.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct KernelSpec {
        /// Entry point.
        pub name: String,
        pub operation: Operation,
        /// `f32` or `f64`.
        pub scalar: &'static str,
        /// Threads of a block.
        pub threads: u32,
        /// Threads that a block may have: bounds the registers.
        pub most_threads: u32,
        /// Blocks a multiprocessor should hold: bounds the registers.
        pub min_blocks: u32,
        /// Patches of a block, side by side in x; 0 where there are no patches.
        pub patches: u32,
        /// Dynamic shared memory, bytes.
        pub shared_bytes: u32,
        /// Of it, what does not grow with the patches.
        pub common_bytes: u32,
        /// Block-wide barriers in the source.
        pub barriers: u32,
    }

    impl KernelSpec {
        fn of_patches<T: Real>(name: String, operation: Operation, shape: Shape, common_words: usize) -> Self {
            let bytes = |words: usize| (words * size_of::<T>()) as u32;
            Self {
                name,
                operation,
                scalar: T::NAME,
                threads: (shape.columns * shape.patches) as u32,
                most_threads: (shape.columns * shape.patches) as u32,
                min_blocks: 1,
                patches: shape.patches as u32,
                shared_bytes: bytes(common_words + shape.words * shape.patches),
                common_bytes: bytes(common_words),
                barriers: shape.barriers as u32,
            }
        }

        /// The same kernel with another number of patches in a block; none if it does not take so many.
        pub fn with_patches(mut self, patches: u32) -> Option<Self> {
            let (old, threads) = (self.patches, self.threads.checked_div(self.patches)?);
            (patches == old || patches >= 1 && patches * threads <= self.most_threads).then(|| {
                self.shared_bytes = self.common_bytes + (self.shared_bytes - self.common_bytes) / old * patches;
                (self.patches, self.threads) = (patches, threads * patches);
                self
            })
        }
    }

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
            }
        }

        /// Dimension and degree; none for vector operations.
        pub fn space(&self) -> Option<(usize, usize)> {
            match *self {
                Module::PoissonCg { dim, degree }
                | Module::PoissonDg { dim, degree }
                | Module::PatchVariants { dim, degree } => Some((dim, degree)),
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

        /// Whether it needs compute capability 9.0 instead of 8.0.
        pub fn needs_hopper(&self) -> bool {
            matches!(self, Module::TensorCore { hopper: true, .. })
        }

        /// Its kernels.
        pub fn kernels(&self) -> Vec<KernelSpec> {
            self.operations()
                .into_iter()
                .flat_map(|operation| match operation {
                    Operation::SumPartials => std::vec![self.kernel::<f64>(operation)],
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

        /// What they compute.
        pub fn operations(&self) -> Vec<Operation> {
            match *self {
                Module::PoissonCg { .. } => std::vec![
                    Operation::Smooth,
                    Operation::Apply,
                    Operation::Residual,
                    Operation::RestrictResidual,
                    Operation::ProlongateAdd,
                    Operation::PointGaussSeidel,
                ],
                Module::PoissonDg { .. } => std::vec![
                    Operation::Apply,
                    Operation::Residual,
                    Operation::Solve,
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
                    Operation::Convert,
                    Operation::Dots,
                    Operation::SumPartials,
                    Operation::AddCombination,
                ],
            }
        }

        /// One of its kernels, in one scalar.
        pub fn kernel<T: Real>(&self, operation: Operation) -> KernelSpec {
            let scalar = T::NAME;
            let entry = |operation: &str| format!("{}_{operation}_{scalar}", self.name());
            match *self {
                Module::PoissonCg { dim, degree } => {
                    let bytes = size_of::<T>();
                    let (name, shape) = match operation {
                        Operation::Smooth => ("smooth", crate::smoother::shape(dim, degree, bytes)),
                        Operation::Apply => ("apply", crate::operator::shape(dim, degree)),
                        Operation::Residual => ("residual", crate::operator::shape(dim, degree)),
                        Operation::RestrictResidual => {
                            ("restrict_residual", crate::transfer::restriction::strip(dim, degree).shape())
                        }
                        Operation::PointGaussSeidel => ("point_gauss_seidel", crate::point::shape()),
                        _ => ("prolongate_add", crate::transfer::prolongation::shape(dim, degree)),
                    };
                    let min_blocks = match operation {
                        Operation::Smooth => crate::smoother::min_blocks(dim, degree, bytes),
                        Operation::Apply | Operation::Residual => crate::operator::min_blocks(dim, degree, bytes),
                        Operation::RestrictResidual => crate::transfer::restriction::min_blocks(dim, degree, bytes),
                        Operation::ProlongateAdd => crate::transfer::prolongation::min_blocks(dim, degree, bytes),
                        _ => 1,
                    };
                    let common = match operation {
                        Operation::Smooth => crate::smoother::common_words(dim, degree, bytes),
                        _ => 0,
                    };
                    let spec = KernelSpec::of_patches::<T>(entry(name), operation, shape, common);
                    let patches = if operation.marches() { 0 } else { spec.patches };
                    KernelSpec { min_blocks, patches, ..spec }
                }
                Module::PoissonDg { dim, degree } => {
                    use crate::dg::{operator, solve, transfer};
                    let bytes = size_of::<T>();
                    let (name, shape, common, min_blocks) = match operation {
                        Operation::Apply | Operation::Residual => {
                            let name = if operation == Operation::Apply { "apply" } else { "residual" };
                            (name, operator::shape(dim, degree), 0, operator::min_blocks(dim, degree, bytes))
                        }
                        Operation::Solve => {
                            let min_blocks = solve::min_blocks(dim, degree, bytes);
                            ("solve", solve::shape(dim, degree), solve::common_words(dim, degree), min_blocks)
                        }
                        _ => {
                            let name = if operation == Operation::Restrict { "restrict" } else { "prolongate_add" };
                            let min_blocks = transfer::min_blocks(dim, degree, bytes);
                            (name, transfer::shape(dim, degree), transfer::common_words(dim, degree), min_blocks)
                        }
                    };
                    let spec = KernelSpec::of_patches::<T>(entry(name), operation, shape, common);
                    let patches = if operation.marches() { 0 } else { spec.patches };
                    KernelSpec { min_blocks, patches, ..spec }
                }
                Module::PatchVariants { dim, degree } => {
                    let Operation::Variant(step, variant) = operation else {
                        unreachable!("{operation:?} is no operation of {self:?}")
                    };
                    let shape = variants::shape(step, variant, dim, degree);
                    let name = entry(&format!("{}_{}", step.name(), variant.name().replace('-', "_")));
                    let most_threads = variants::most_threads(shape.columns);
                    let min_blocks = variants::min_blocks(step, dim, degree, most_threads);
                    let spec = KernelSpec::of_patches::<T>(name, operation, shape, variants::table_words(degree));
                    KernelSpec { min_blocks, most_threads: most_threads as u32, ..spec }
                }
                Module::TensorCore { nodes, .. } => {
                    let (Operation::BoxApply(kernel) | Operation::BoxSolve(kernel) | Operation::BoxContract(kernel)) =
                        operation
                    else {
                        unreachable!("{operation:?} is no operation of {self:?}")
                    };
                    let listed = tensor_core::list::listed(nodes).into_iter().find(|listed| listed.kernel == kernel);
                    let listed = listed.unwrap_or_else(|| unreachable!("no kernel is {kernel}"));
                    let (verb, shape) = match operation {
                        Operation::BoxApply(_) => ("apply", listed.operator),
                        Operation::BoxSolve(_) => ("solve", listed.solve),
                        _ => ("contract", listed.contractions),
                    };
                    KernelSpec {
                        name: format!("{}_{verb}_{}", self.name(), listed.name),
                        operation,
                        scalar: listed.scalar,
                        threads: listed.threads as u32,
                        most_threads: listed.threads as u32,
                        min_blocks: listed.min_blocks(nodes) as u32,
                        patches: 0,
                        shared_bytes: shape.shared_bytes as u32,
                        common_bytes: 0,
                        barriers: shape.barriers as u32,
                    }
                }
                Module::Blas1 => {
                    let (name, barriers) = match operation {
                        Operation::DiagonalAxpby => ("diagonal_axpby", 0),
                        Operation::Convert => ("convert", 0),
                        Operation::Dots => ("dots", crate::blas1::VECTORS * crate::blas1::SUM_BARRIERS),
                        Operation::SumPartials => ("sum_partials", crate::blas1::SUM_BARRIERS),
                        Operation::AddCombination => ("add_combination", 0),
                        _ => ("axpby", 0),
                    };
                    KernelSpec {
                        name: entry(name),
                        operation,
                        scalar,
                        threads: crate::blas1::THREADS as u32,
                        most_threads: crate::blas1::THREADS as u32,
                        min_blocks: 1,
                        patches: 0,
                        shared_bytes: if barriers > 0 { (crate::blas1::THREADS * 8) as u32 } else { 0 },
                        common_bytes: 0,
                        barriers: barriers as u32,
                    }
                }
            }
        }
    }
}

/// How a patch kernel is laid out on a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Threads of a patch.
    pub columns: usize,
    /// Patches of a block.
    pub patches: usize,
    /// Words of shared memory of a patch.
    pub words: usize,
    /// Barriers.
    pub barriers: usize,
}
