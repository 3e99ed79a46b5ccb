//! The choice of the patch smoother's kernels.

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

/// Which kernels a level has; the default is the fastest. The smoother's of continuous elements, of discontinuous ones those
/// of the operator and of the solution on patches.
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
    /// Of discontinuous elements in 3D, products of small matrices; none for columns in registers.
    pub products: Option<Products>,
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
        let Self { structure, variant, local, threads, patches, data_only, products } = self;
        if let Some(products) = products {
            return write!(f, "{products}");
        }
        write!(f, "{} {} {} {}", structure.name(), variant.name(), local.name(), threads.name())?;
        patches.map_or(Ok(()), |patches| write!(f, ", {patches} patches a block"))?;
        if *data_only { f.write_str(", loads and stores only") } else { Ok(()) }
    }
}

/// Who contracts in the tensor-core kernels of discontinuous elements (paper 4, section 4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Engine {
    /// CUDA cores (listing 3).
    Fma,
    /// `wmma` in x and y, CUDA cores in z.
    Wmma,
    /// `mma.sync`, tensors row by row.
    Mma,
    /// `mma.sync`, tensors permuted against bank conflicts (listing 4).
    MmaSwizzled,
}

/// What products are of: sums are in `f64` of `f64`, in `f32` of the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operands {
    F64,
    F32,
    /// `f32` with 10 bits of mantissa.
    Tf32,
    /// With what its rounding left.
    Tf32Corrected,
    F16,
    /// With what its rounding left (paper 4, algorithm 1).
    F16Corrected,
    Bf16,
}

/// Where 1D matrices come from (paper 4, table 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MatrixMemory {
    Shared,
    Constant,
    /// Global memory through the read-only path.
    ReadOnly,
    /// A texture of numbers in `f32`.
    Texture,
}

/// Shapes of `mma.sync` in `f64`; those with 16 rows need compute capability 9.0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProductShape {
    M8N8K4,
    M16N8K4,
    M16N8K8,
    M16N8K16,
}

/// A tensor-core kernel of discontinuous elements, or one to compare with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TensorKernel {
    pub engine: Engine,
    pub operands: Operands,
    pub matrices: MatrixMemory,
    /// Where there are several.
    pub shape: Option<ProductShape>,
}

/// What the operator takes as a box: with patches, the faces between their cells are part of the 1D matrices (paper 4,
/// figure 1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Boxes {
    #[default]
    Patch,
    Cell,
}

/// Kernels of discontinuous elements by products of small matrices. Solutions are on patches in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Products {
    pub kernel: TensorKernel,
    pub boxes: Boxes,
}

impl Boxes {
    pub const ALL: [Self; 2] = [Self::Patch, Self::Cell];

    /// As on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Patch => "patch",
            Self::Cell => "cell",
        }
    }

    /// Nodes of a box in one direction.
    pub const fn nodes(self, degree: usize) -> usize {
        match self {
            Self::Patch => 2 * (degree + 1),
            Self::Cell => degree + 1,
        }
    }
}

impl Engine {
    pub const ALL: [Self; 4] = [Self::Fma, Self::Wmma, Self::Mma, Self::MmaSwizzled];

    /// As on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fma => "fma",
            Self::Wmma => "wmma",
            Self::Mma => "mma",
            Self::MmaSwizzled => "mma-swizzled",
        }
    }
}

impl Operands {
    pub const ALL: [Self; 7] =
        [Self::F64, Self::F32, Self::Tf32, Self::Tf32Corrected, Self::F16, Self::F16Corrected, Self::Bf16];

    /// As on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::F64 => "f64",
            Self::F32 => "f32",
            Self::Tf32 => "tf32",
            Self::Tf32Corrected => "tf32-corrected",
            Self::F16 => "f16",
            Self::F16Corrected => "f16-corrected",
            Self::Bf16 => "bf16",
        }
    }
}

impl MatrixMemory {
    pub const ALL: [Self; 4] = [Self::Shared, Self::Constant, Self::ReadOnly, Self::Texture];

    /// As on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Shared => "shared",
            Self::Constant => "constant",
            Self::ReadOnly => "read-only",
            Self::Texture => "texture",
        }
    }
}

impl ProductShape {
    pub const ALL: [Self; 4] = [Self::M8N8K4, Self::M16N8K4, Self::M16N8K8, Self::M16N8K16];

    /// As in the instruction set.
    pub const fn name(self) -> &'static str {
        match self {
            Self::M8N8K4 => "m8n8k4",
            Self::M16N8K4 => "m16n8k4",
            Self::M16N8K8 => "m16n8k8",
            Self::M16N8K16 => "m16n8k16",
        }
    }
}

/// In the words of the command line.
impl core::fmt::Display for TensorKernel {
    fn fmt(&self, f: &mut core::fmt::Formatter) -> core::fmt::Result {
        let Self { engine, operands, matrices, shape } = self;
        write!(f, "{} {}", engine.name(), operands.name())?;
        if let Some(shape) = shape {
            write!(f, " {}", shape.name())?;
        }
        write!(f, ", matrices {}", matrices.name())
    }
}

/// In the words of the command line.
impl core::fmt::Display for Products {
    fn fmt(&self, f: &mut core::fmt::Formatter) -> core::fmt::Result {
        write!(f, "{}, boxes {}", self.kernel, self.boxes.name())
    }
}

/// Which kernels a choice is, for the host.
#[cfg(not(target_arch = "nvptx64"))]
mod steps {
    use super::*;
    use crate::variants::Step;
    use std::vec::Vec;

    impl PatchKernel {
        /// The kernels that do a step, in their order; empty for the default one, [`crate::smoother`], and none where there
        /// are none. A global residual is the operator's.
        pub fn steps(self, dim: usize, degree: usize) -> Option<&'static [(Step, Variant)]> {
            use LocalSolver::{Fdm, Inverse};
            use Structure::{Fused, Global, Separate};
            use ThreadStructure::{Column, Dof};
            use Variant::{Basic, Boundary, ConflictFree, Linear, Register};
            let Self { structure, variant, local, threads, patches, data_only, products } = self;
            if products.is_some() {
                return None;
            }
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
}
