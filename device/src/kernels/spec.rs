//! What a kernel computes, and how it is launched.

use super::{Module, Shape, TensorKernel, Variant};
use crate::scalar::Real;
use crate::tensor_core;
use crate::variants::{self, Step};
use std::format;
use std::string::String;

/// What a kernel computes; see the functions of the same names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// One color of the patch smoother.
    Smooth,
    /// The first color in 2D after a coarse correction, of which [`Self::ProlongateEdges`] has added a part.
    SmoothFirst,
    /// The same, or a part of it, at an optimization level of paper 1.
    Variant(Step, Variant),
    /// `y = A x`.
    Apply,
    /// `y = A x` for an `x` in `f32`; the kernel's scalar, `f64`, is that of `y`.
    ApplyRounded,
    /// `r = b - A x`.
    Residual,
    /// `|r|` over the outputs of each block, without `r`.
    ResidualNorms,
    /// `coarse = Pᵀ (b - A x)`, one class of strips.
    RestrictResidual,
    /// `x += A_j⁻¹ r` on the patches of a color.
    Solve,
    /// The same on a level that [is thin](crate::dg::solve::is_thin).
    SolveThin,
    /// `coarse = Pᵀ r`.
    Restrict,
    /// `x += P coarse`.
    ProlongateAdd,
    /// The same in 2D on edges of coarse cells that are normal to y.
    ProlongateEdges,
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
    /// `y = D⁻¹ x`, `D` diagonal.
    Divide,
    /// `y = alpha x` in the other scalar; the kernel's scalar is that of `y`.
    Convert,
    /// Partial sums of dot products.
    Dots,
    /// Their sum.
    SumPartials,
    /// `y = beta y + sum_j c_j x_j`.
    Combine,
    /// The same of vectors in the other scalar; the kernel's scalar is that of `y`.
    CombineRounded,
    /// `y += sum_j c_j x_j`, and partial sums of the products of `y` with the `x_j` and itself.
    CombineDots,
    /// `x` in `f32`, and partial sums of `x · x`; the kernel's scalar, `f64`, is that of `x`.
    NormRounded,
    /// A row of [`kernels!`](crate::kernels!), by the name of its function.
    Typed(&'static str),
}

impl Operation {
    /// Whether its blocks march through a level, with tiles of their own instead of patches.
    pub fn marches(self) -> bool {
        matches!(
            self,
            Operation::Apply
                | Operation::ApplyRounded
                | Operation::Residual
                | Operation::ResidualNorms
                | Operation::RestrictResidual
        )
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
    /// Blocks a multiprocessor should hold: bounds the registers. 0 leaves them to the assembler.
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
    /// One of its kernels, in one scalar.
    pub fn kernel<T: Real>(&self, operation: Operation) -> KernelSpec {
        let scalar = T::NAME;
        let entry = |operation: &str| format!("{}_{operation}_{scalar}", self.name());
        match *self {
            Module::PoissonCg { dim, degree } => {
                let bytes = size_of::<T>();
                let (name, shape) = match operation {
                    Operation::Smooth => ("smooth", crate::smoother::shape(dim, degree, bytes)),
                    Operation::SmoothFirst => ("smooth_first", crate::smoother::first_shape(degree)),
                    Operation::Apply => ("apply", crate::operator::shape(dim, degree, bytes)),
                    Operation::ApplyRounded => ("apply_rounded", crate::operator::tile::shape(degree, bytes, 4)),
                    Operation::Residual => ("residual", crate::operator::shape(dim, degree, bytes)),
                    Operation::ResidualNorms => ("residual_norms", crate::operator::norms_shape(degree)),
                    Operation::RestrictResidual => {
                        ("restrict_residual", crate::transfer::restriction::strip(dim, degree).shape())
                    }
                    Operation::PointGaussSeidel => ("point_gauss_seidel", crate::point::shape()),
                    Operation::ProlongateEdges => ("prolongate_edges", crate::transfer::edges::shape(degree)),
                    _ => ("prolongate_add", crate::transfer::prolongation::shape(dim, degree)),
                };
                let min_blocks = match operation {
                    Operation::Smooth => crate::smoother::min_blocks(dim, degree, bytes),
                    Operation::SmoothFirst => crate::smoother::first_min_blocks(degree, bytes),
                    Operation::Apply | Operation::ApplyRounded | Operation::Residual => {
                        crate::operator::min_blocks(dim, degree, bytes)
                    }
                    Operation::ResidualNorms => crate::operator::norms_min_blocks(degree),
                    Operation::RestrictResidual => crate::transfer::restriction::min_blocks(dim, degree, bytes),
                    Operation::ProlongateAdd => crate::transfer::prolongation::min_blocks(dim, degree, bytes),
                    Operation::PointGaussSeidel => crate::point::min_blocks(degree),
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
                    Operation::SolveThin => {
                        ("solve_thin", solve::shape(dim, degree), solve::common_words(dim, degree), 1)
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
                    Operation::Divide => ("divide", 0),
                    Operation::Convert => ("convert", 0),
                    Operation::Dots => ("dots", crate::blas1::VECTORS * crate::blas1::SUM_BARRIERS),
                    Operation::SumPartials => ("sum_partials", crate::blas1::SUM_BARRIERS),
                    Operation::Combine => ("combine", 0),
                    Operation::CombineRounded => ("combine_rounded", 0),
                    Operation::CombineDots => ("combine_dots", crate::blas1::PARTIAL_ROWS * crate::blas1::SUM_BARRIERS),
                    Operation::NormRounded => ("norm_rounded", crate::blas1::SUM_BARRIERS),
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
            Module::Typed { .. } => {
                let row = self.rows::<T>().into_iter().find(|row| row.spec.operation == operation);
                row.unwrap_or_else(|| unreachable!("{operation:?} is no operation of {self:?}")).spec
            }
        }
    }
}
