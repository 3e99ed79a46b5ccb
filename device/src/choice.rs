//! The choice of the patch smoother's kernels.

/// Which kernels a level of Poisson's equation has: those of the patch smoother, with discontinuous elements those of the
/// operator, too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PatchKernel {
    /// The fastest: columns in registers, even and odd parts apart ([`crate::smoother`], [`crate::dg`]).
    #[default]
    Register,
    /// Continuous elements by kernels of paper 1.
    Paper1 {
        /// Which of them.
        kernels: Paper1,
        /// Patches of a block; none for the kernels' own number.
        patches: Option<usize>,
    },
    /// Discontinuous elements in 3D by products of small matrices (paper 4).
    Products(Products),
}

/// How a step of the patch smoother is split into kernels (paper 1, table 4). Local problems are solved by fast
/// diagonalization unless it is said; a thread owns a column of dofs, in 2D one dof (figure 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Paper1 {
    /// Residual of all dofs by the operator, then local solves; there is none at level `boundary`.
    Global(Variant),
    /// Residual of a color's patches, then their local solves.
    Separate(Variant),
    /// One kernel.
    Fused(Variant),
    /// One kernel at level `basic` with one stored inverse of the patch matrix, the same for all patches (section 3.1.1).
    FusedInverse,
    /// One kernel at level `basic` whose threads own one dof each, in 3D up to degree 4.
    FusedDof,
    /// Loads and stores of `Separate` at level `conflict-free`, without its work: to be timed, not to smooth.
    SeparateData,
    /// Those of `Fused`.
    FusedData,
}

/// Optimization level of a kernel of the patch smoother (paper 1, section 4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Variant {
    /// Threads of boundary dofs masked.
    Basic,
    /// Threads numbered through the interior dofs.
    Linear,
    /// Interior dofs contiguous, contractions without bank conflicts (paper 1, listing 2).
    ConflictFree,
    /// Also: only `b - A_IB x_B` for an exact local solver (paper 1, section 4.1.3).
    Boundary,
}

/// A name that no choice has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownName;

impl core::fmt::Display for UnknownName {
    fn fmt(&self, f: &mut core::fmt::Formatter) -> core::fmt::Result {
        f.write_str("no choice has this name")
    }
}

impl core::error::Error for UnknownName {}

/// `Display` and `FromStr` by `ALL` and `name`.
macro_rules! named {
    ($($choice:ty),+) => {
        $(
            impl core::fmt::Display for $choice {
                fn fmt(&self, f: &mut core::fmt::Formatter) -> core::fmt::Result {
                    f.pad(self.name())
                }
            }

            impl core::str::FromStr for $choice {
                type Err = $crate::choice::UnknownName;

                fn from_str(name: &str) -> Result<Self, Self::Err> {
                    Self::ALL.into_iter().find(|choice| choice.name() == name).ok_or($crate::choice::UnknownName)
                }
            }
        )+
    };
}

// On the device a module without choices of its own has no use for it.
#[cfg_attr(target_arch = "nvptx64", allow(unused_imports))]
pub(crate) use named;

named!(Variant, Boxes, Engine, Operands, MatrixMemory, ProductShape);

impl Variant {
    pub const ALL: [Self; 4] = [Self::Basic, Self::Linear, Self::ConflictFree, Self::Boundary];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Basic => "basic",
            Self::Linear => "linear",
            Self::ConflictFree => "conflict-free",
            Self::Boundary => "boundary",
        }
    }
}

impl Paper1 {
    /// Those that smooth.
    pub const ALL: [Self; 13] = {
        use Variant::{Basic, Boundary, ConflictFree, Linear};
        [
            Self::Global(Basic),
            Self::Global(Linear),
            Self::Global(ConflictFree),
            Self::Separate(Basic),
            Self::Separate(Linear),
            Self::Separate(ConflictFree),
            Self::Separate(Boundary),
            Self::Fused(Basic),
            Self::FusedDof,
            Self::FusedInverse,
            Self::Fused(Linear),
            Self::Fused(ConflictFree),
            Self::Fused(Boundary),
        ]
    };

    /// With the kernels' own number of patches a block.
    pub const fn by_default(self) -> PatchKernel {
        PatchKernel::Paper1 { kernels: self, patches: None }
    }
}

impl PatchKernel {
    /// Structure, variant, local solver and what a thread owns, as on the command line.
    pub const fn names(self) -> [&'static str; 4] {
        let Self::Paper1 { kernels, .. } = self else { return ["fused", "register", "fdm", "column"] };
        match kernels {
            Paper1::Global(variant) => ["global", variant.name(), "fdm", "column"],
            Paper1::Separate(variant) => ["separate", variant.name(), "fdm", "column"],
            Paper1::Fused(variant) => ["fused", variant.name(), "fdm", "column"],
            Paper1::FusedInverse => ["fused", "basic", "inverse", "column"],
            Paper1::FusedDof => ["fused", "basic", "fdm", "dof"],
            Paper1::SeparateData => ["separate", "conflict-free", "fdm", "column"],
            Paper1::FusedData => ["fused", "conflict-free", "fdm", "column"],
        }
    }

    /// The choice of these names.
    pub fn of_names(names: [&str; 4]) -> Option<Self> {
        let mut all = Paper1::ALL.into_iter().map(Paper1::by_default).chain([Self::Register]);
        all.find(|kernel| kernel.names() == names)
    }
}

/// In the words of the command line.
impl core::fmt::Display for PatchKernel {
    fn fmt(&self, f: &mut core::fmt::Formatter) -> core::fmt::Result {
        if let Self::Products(products) = self {
            return write!(f, "{products}");
        }
        let [structure, variant, local, threads] = self.names();
        write!(f, "{structure} {variant} {local} {threads}")?;
        let Self::Paper1 { kernels, patches } = self else { return Ok(()) };
        patches.map_or(Ok(()), |patches| write!(f, ", {patches} patches a block"))?;
        let is_data = matches!(kernels, Paper1::SeparateData | Paper1::FusedData);
        if is_data { f.write_str(", loads and stores only") } else { Ok(()) }
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

    /// Its name.
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

    /// Its name.
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

    /// Its name.
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

    /// Its name.
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

    /// Its name in the instruction set.
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

    impl Paper1 {
        /// The kernels that do a step, in their order; none where there are none. A global residual is the operator's.
        pub fn steps(self, dim: usize, degree: usize) -> Option<&'static [(Step, Variant)]> {
            use Variant::{Basic, Boundary, ConflictFree, Linear};
            Some(match self {
                Self::Global(Basic | Linear) => &[(Step::Solve, Basic)],
                Self::Global(ConflictFree) => &[(Step::Solve, ConflictFree)],
                Self::Global(Boundary) => return None,
                Self::Separate(Basic) => &[(Step::Residual, Basic), (Step::Solve, Basic)],
                Self::Separate(Linear) => &[(Step::Residual, Linear), (Step::Solve, Basic)],
                Self::Separate(ConflictFree) => &[(Step::Residual, ConflictFree), (Step::Solve, ConflictFree)],
                Self::Separate(Boundary) => &[(Step::Residual, Boundary), (Step::Solve, Boundary)],
                Self::Fused(Basic) => &[(Step::Fused, Basic)],
                Self::Fused(Linear) => &[(Step::Fused, Linear)],
                Self::Fused(ConflictFree) => &[(Step::Fused, ConflictFree)],
                Self::Fused(Boundary) => &[(Step::Fused, Boundary)],
                Self::FusedInverse => &[(Step::FusedInverse, Basic)],
                Self::FusedDof if Step::FusedDof.exists(dim, degree) => &[(Step::FusedDof, Basic)],
                Self::FusedDof => return None,
                Self::SeparateData => &[(Step::ResidualData, ConflictFree), (Step::SolveData, ConflictFree)],
                Self::FusedData => &[(Step::FusedData, ConflictFree)],
            })
        }

        /// Those that smooth in a space.
        pub fn all(dim: usize, degree: usize) -> impl Iterator<Item = Self> {
            Self::ALL.into_iter().filter(move |kernels| kernels.steps(dim, degree).is_some())
        }
    }

    impl PatchKernel {
        /// What continuous elements have on a GPU, in the words of the command line.
        pub const AVAILABLE: &'static str = "fused register fdm column; \
            fused or separate with basic, linear, conflict-free or boundary fdm column; \
            global with basic, linear or conflict-free fdm column; fused basic inverse column; \
            fused basic fdm dof (3D, degree 1 to 4)";
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    #[test]
    fn choices_are_read_as_they_are_written() {
        assert!(Variant::ALL.into_iter().all(|choice| choice.to_string().parse() == Ok(choice)));
        assert!(Boxes::ALL.into_iter().all(|choice| choice.to_string().parse() == Ok(choice)));
        assert!(Engine::ALL.into_iter().all(|choice| choice.to_string().parse() == Ok(choice)));
        assert!(Operands::ALL.into_iter().all(|choice| choice.to_string().parse() == Ok(choice)));
        assert!(MatrixMemory::ALL.into_iter().all(|choice| choice.to_string().parse() == Ok(choice)));
        assert!(ProductShape::ALL.into_iter().all(|choice| choice.to_string().parse() == Ok(choice)));
        assert_eq!("f128".parse::<Operands>(), Err(UnknownName));
    }
}
