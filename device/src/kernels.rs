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

use crate::variants::Step;

/// How a step of the patch smoother is split into kernels (paper 1, table 4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Structure {
    /// Residual of all dofs by the operator, then local solves.
    Global,
    /// Residual of a color's patches, then their local solves.
    Separate,
    /// One kernel.
    #[default]
    Fused,
}

/// Optimization level of a kernel of the patch smoother (paper 1, section 4.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Variant {
    /// Threads of boundary dofs masked.
    Basic,
    /// Threads numbered through the interior dofs.
    Linear,
    /// Interior dofs contiguous, contractions without bank conflicts (paper 1, listing 2).
    ConflictFree,
    /// Also: only `b - A_IB x_B` for an exact local solver (paper 1, section 4.1.3).
    Boundary,
    /// Columns in registers, even and odd parts apart; see [`crate::smoother`].
    #[default]
    Register,
}

/// Solver on a patch (paper 1, section 3.1.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum LocalSolver {
    /// Fast diagonalization.
    #[default]
    Fdm,
    /// One stored inverse of the patch matrix, the same for all patches.
    Inverse,
}

/// What a thread owns (paper 1, figure 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ThreadStructure {
    /// A column of dofs; in 2D, the kernels of the paper give a thread one dof.
    #[default]
    Column,
    /// One dof.
    Dof,
}

/// Which kernels smooth; the default is the fastest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PatchKernel {
    pub structure: Structure,
    pub variant: Variant,
    pub local: LocalSolver,
    pub threads: ThreadStructure,
    /// Patches of a block; none for the kernel's own number.
    pub patches: Option<usize>,
    /// Loads and stores without the work between, of fused and separate kernels at level `conflict-free`: to be timed,
    /// not to smooth.
    pub data_only: bool,
}

impl PatchKernel {
    /// The kernels that do a step, in their order; empty for the default one, [`crate::smoother`], and none where there
    /// are none. A global residual is the operator's.
    pub fn steps(self, dim: usize, degree: usize) -> Option<&'static [(Step, Variant)]> {
        use LocalSolver::{Fdm, Inverse};
        use Structure::{Fused, Global, Separate};
        use ThreadStructure::{Column, Dof};
        use Variant::{Basic, Boundary, ConflictFree, Linear, Register};
        let Self { structure, variant, local, threads, patches, data_only } = self;
        Some(match (structure, variant, local, threads, data_only) {
            (Fused, Register, Fdm, Column, false) if patches.is_none() => &[],
            (Fused, Basic, Fdm, Column, false) => &[(Step::Fused, Basic)],
            (Fused, Linear, Fdm, Column, false) => &[(Step::Fused, Linear)],
            (Fused, ConflictFree, Fdm, Column, false) => &[(Step::Fused, ConflictFree)],
            (Fused, ConflictFree, Fdm, Column, true) => &[(Step::FusedData, ConflictFree)],
            (Fused, Boundary, Fdm, Column, false) => &[(Step::Fused, Boundary)],
            (Fused, Basic, Inverse, Column, false) => &[(Step::FusedInverse, Basic)],
            (Fused, Basic, Fdm, Dof, false) if Step::FusedDof.exists(dim, degree) => &[(Step::FusedDof, Basic)],
            (Separate, Basic, Fdm, Column, false) => &[(Step::Residual, Basic), (Step::Solve, Basic)],
            (Separate, Linear, Fdm, Column, false) => &[(Step::Residual, Linear), (Step::Solve, Basic)],
            (Separate, ConflictFree, Fdm, Column, false) => {
                &[(Step::Residual, ConflictFree), (Step::Solve, ConflictFree)]
            }
            (Separate, ConflictFree, Fdm, Column, true) => {
                &[(Step::ResidualData, ConflictFree), (Step::SolveData, ConflictFree)]
            }
            (Separate, Boundary, Fdm, Column, false) => &[(Step::Residual, Boundary), (Step::Solve, Boundary)],
            (Global, Basic | Linear, Fdm, Column, false) => &[(Step::Solve, Basic)],
            (Global, ConflictFree, Fdm, Column, false) => &[(Step::Solve, ConflictFree)],
            _ => return None,
        })
    }

    /// What [`Self::steps`] has, in the words of the command line.
    pub const AVAILABLE: &'static str = "fused register fdm column; \
        fused or separate with basic, linear, conflict-free or boundary fdm column; \
        global with basic, linear or conflict-free fdm column; fused basic inverse column; \
        fused basic fdm dof (3D, degree 1 to 4)";
}

impl Structure {
    pub const ALL: [Self; 3] = [Self::Global, Self::Separate, Self::Fused];

    /// As on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Global => "global",
            Self::Separate => "separate",
            Self::Fused => "fused",
        }
    }
}

impl Variant {
    pub const ALL: [Self; 5] = [Self::Basic, Self::Linear, Self::ConflictFree, Self::Boundary, Self::Register];

    /// As on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Basic => "basic",
            Self::Linear => "linear",
            Self::ConflictFree => "conflict-free",
            Self::Boundary => "boundary",
            Self::Register => "register",
        }
    }
}

impl LocalSolver {
    /// As on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fdm => "fdm",
            Self::Inverse => "inverse",
        }
    }
}

impl ThreadStructure {
    /// As on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Column => "column",
            Self::Dof => "dof",
        }
    }
}

/// In the words of the command line.
impl core::fmt::Display for PatchKernel {
    fn fmt(&self, f: &mut core::fmt::Formatter) -> core::fmt::Result {
        let Self { structure, variant, local, threads, patches, data_only } = self;
        write!(f, "{} {} {} {}", structure.name(), variant.name(), local.name(), threads.name())?;
        patches.map_or(Ok(()), |patches| write!(f, ", {patches} patches a block"))?;
        if *data_only { f.write_str(", loads and stores only") } else { Ok(()) }
    }
}

#[cfg(not(target_arch = "nvptx64"))]
pub use table::*;

/// The table is for the host: the device knows its own kernels.
#[cfg(not(target_arch = "nvptx64"))]
mod table {
    use super::*;
    use crate::scalar::Real;
    use crate::variants;
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
        /// The patch smoother's kernels of paper 1, of one dimension and degree.
        PatchVariants {
            /// 2 or 3.
            dim: usize,
            /// Polynomial degree.
            degree: usize,
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
        /// `y = A x`, one class.
        Apply,
        /// `r = b - A x`, one class.
        Residual,
        /// `coarse = Pᵀ (b - A x)`, one class.
        RestrictResidual,
        /// `x += P coarse`.
        ProlongateAdd,
        /// `y = alpha x + beta y`.
        Axpby,
        /// `y = x` in the other scalar; the kernel's scalar is that of `y`.
        Convert,
        /// Partial sums of dot products.
        Dots,
        /// Their sum.
        SumPartials,
        /// `y += sum_j c_j x_j`.
        AddCombination,
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

    impl PatchKernel {
        /// Every choice that there are kernels for and that smooths, with the kernels' own number of patches.
        pub fn all(dim: usize, degree: usize) -> Vec<Self> {
            let locals_and_threads = [
                (LocalSolver::Fdm, ThreadStructure::Column),
                (LocalSolver::Fdm, ThreadStructure::Dof),
                (LocalSolver::Inverse, ThreadStructure::Column),
            ];
            let mut choices = Vec::new();
            for structure in Structure::ALL {
                for variant in Variant::ALL {
                    for (local, threads) in locals_and_threads {
                        let choice = Self { structure, variant, local, threads, ..Self::default() };
                        choices.extend(choice.steps(dim, degree).map(|_| choice));
                    }
                }
            }
            choices
        }
    }

    impl KernelSpec {
        fn of_patches<T: Real>(
            name: String,
            operation: Operation,
            shape: Shape,
            most_patches: usize,
            common_words: usize,
        ) -> Self {
            let bytes = |words: usize| (words * size_of::<T>()) as u32;
            Self {
                name,
                operation,
                scalar: T::NAME,
                threads: (shape.columns * shape.patches) as u32,
                most_threads: (shape.columns * most_patches) as u32,
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
            let variants = |dim, degrees: core::ops::RangeInclusive<usize>| {
                degrees.map(move |degree| Module::PatchVariants { dim, degree })
            };
            core::iter::once(Module::Blas1)
                .chain(poisson(2, DEGREES_2D))
                .chain(poisson(3, DEGREES_3D))
                .chain(variants(2, DEGREES_2D))
                .chain(variants(3, DEGREES_3D))
                .collect()
        }

        /// For example `poisson_cg_3d_q3`; entry points begin with it.
        pub fn name(&self) -> String {
            match self {
                Module::PoissonCg { dim, degree } => format!("poisson_cg_{dim}d_q{degree}"),
                Module::PatchVariants { dim, degree } => format!("patch_variants_{dim}d_q{degree}"),
                Module::Blas1 => String::from("blas1"),
            }
        }

        /// Dimension and degree; none for vector operations.
        pub fn space(&self) -> Option<(usize, usize)> {
            match *self {
                Module::PoissonCg { dim, degree } | Module::PatchVariants { dim, degree } => Some((dim, degree)),
                Module::Blas1 => None,
            }
        }

        /// `--cfg` values that select it: `module = "..."`, for a space `dim = "..."`, and `dof_threads` where a block has
        /// the threads for [`Step::FusedDof`].
        pub fn cfg(&self) -> Vec<String> {
            match self {
                Module::PoissonCg { dim, .. } => {
                    std::vec![String::from("module=\"poisson_cg\""), format!("dim=\"{dim}\"")]
                }
                Module::PatchVariants { dim, degree } => {
                    let dof_threads = Step::FusedDof.exists(*dim, *degree).then(|| String::from("dof_threads"));
                    [String::from("module=\"patch_variants\""), format!("dim=\"{dim}\"")]
                        .into_iter()
                        .chain(dof_threads)
                        .collect()
                }
                Module::Blas1 => std::vec![String::from("module=\"blas1\"")],
            }
        }

        /// Environment of its compilation: `PATCHMG_MODULE`, the prefix of entry points, and `PATCHMG_DEGREE`.
        pub fn environment(&self) -> Vec<(&'static str, String)> {
            let degree = self.space().map_or(0, |(_, degree)| degree);
            std::vec![("PATCHMG_MODULE", self.name()), ("PATCHMG_DEGREE", format!("{degree}"))]
        }

        /// Its kernels.
        pub fn kernels(&self) -> Vec<KernelSpec> {
            self.operations()
                .into_iter()
                .flat_map(|operation| match operation {
                    Operation::SumPartials => std::vec![self.kernel::<f64>(operation)],
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
                ],
                Module::PatchVariants { dim, degree } => Variant::ALL
                    .into_iter()
                    .flat_map(|variant| Step::of(variant).iter().map(move |&step| (step, variant)))
                    .filter(|(step, _)| step.exists(dim, degree))
                    .map(|(step, variant)| Operation::Variant(step, variant))
                    .collect(),
                Module::Blas1 => std::vec![
                    Operation::Axpby,
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
                    let (name, shape) = match operation {
                        Operation::Smooth => ("smooth", crate::smoother::shape(dim, degree)),
                        Operation::Apply => ("apply", crate::operator::shape(dim, degree)),
                        Operation::Residual => ("residual", crate::operator::shape(dim, degree)),
                        Operation::RestrictResidual => {
                            ("restrict_residual", crate::transfer::restrict_shape(dim, degree))
                        }
                        _ => ("prolongate_add", crate::transfer::prolongate_shape(dim, degree)),
                    };
                    KernelSpec::of_patches::<T>(entry(name), operation, shape, shape.patches, 0)
                }
                Module::PatchVariants { dim, degree } => {
                    let Operation::Variant(step, variant) = operation else {
                        unreachable!("{operation:?} is no operation of {self:?}")
                    };
                    let shape = variants::shape(step, variant, dim, degree);
                    let name = entry(&format!("{}_{}", step.name(), variant.name().replace('-', "_")));
                    let most_patches = variants::most_patches(shape.columns);
                    let common_words = variants::table_words(degree);
                    let min_blocks = variants::min_blocks(dim, degree);
                    let spec = KernelSpec::of_patches::<T>(name, operation, shape, most_patches, common_words);
                    KernelSpec { min_blocks, ..spec }
                }
                Module::Blas1 => {
                    let (name, barriers) = match operation {
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
