//! The patch smoother's kernels of paper 1 at their optimization levels (sections 3.1 and 4.1), to compare with.
//!
//! All tensors of a patch and all 1D matrices are in shared memory, and every operand of every multiply-add is read from
//! there; [`crate::smoother`] does otherwise. A kernel is put together from the same pieces whatever its level:
//! [`order`] says which output a thread computes, [`contract`] is the contraction, [`residual`] and [`solve`] are the two
//! halves of the step, [`step`] joins them.
//!
//! Sizes are arguments, constant once a kernel is inlined into its entry point; `L` bounds the layers of a thread.

pub mod contract;
pub mod order;
pub mod residual;
pub mod solve;
pub mod step;

use crate::kernels::{Shape, Variant, patch_nodes};

/// Threads that a block of several patches may have; bounds its registers.
pub const MOST_THREADS: usize = 384;
/// Patches that a block may have.
const MOST_PATCHES: usize = 16;
/// Shared memory that the patches of a block take by default, in `f64` words.
const WORDS_WANTED: usize = 6 * 1024;
/// Threads of a warp.
const WARP: usize = 32;
/// Banks that hold an `f64` each.
const WIDE_BANKS: usize = 16;

/// What a kernel does of the step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// All of it.
    Fused,
    /// `r_j = R_j b - R_j A x`, into a vector.
    Residual,
    /// `x += R_jᵀ A_j⁻¹ r_j`; at level `boundary`, where `r_j` is `b_I - A_IB x_B`, `x_I = A_j⁻¹ r_j`.
    Solve,
    /// As `Fused`, by one thread a dof.
    FusedDof,
    /// As `Fused`, with a stored inverse of the patch matrix.
    FusedInverse,
    /// The loads and stores of `Fused`, without its work.
    FusedData,
    /// Those of `Residual`.
    ResidualData,
    /// Those of `Solve`.
    SolveData,
}

impl Step {
    /// The steps that there are kernels for at a level.
    ///
    /// A kernel that solves alone has no boundary threads: `basic` and `linear` are the same there.
    pub const fn of(variant: Variant) -> &'static [Step] {
        match variant {
            Variant::Basic => &[Step::Fused, Step::Residual, Step::Solve, Step::FusedDof, Step::FusedInverse],
            Variant::Linear => &[Step::Fused, Step::Residual],
            Variant::ConflictFree => {
                &[Step::Fused, Step::Residual, Step::Solve, Step::FusedData, Step::ResidualData, Step::SolveData]
            }
            Variant::Boundary => &[Step::Fused, Step::Residual, Step::Solve],
        }
    }

    /// Whether a dimension and degree has it.
    pub const fn exists(self, dim: usize, degree: usize) -> bool {
        match self {
            // A thread a dof is what the others are in 2D; in 3D the threads of a block are not enough from degree 5 on.
            Step::FusedDof => dim == 3 && patch_nodes(degree).1.pow(3) <= 1024,
            _ => true,
        }
    }

    /// As entry points are named.
    pub const fn name(self) -> &'static str {
        match self {
            Step::Fused => "fused",
            Step::Residual => "residual",
            Step::Solve => "solve",
            Step::FusedDof => "fused_dof",
            Step::FusedInverse => "fused_inverse",
            Step::FusedData => "fused_data",
            Step::ResidualData => "residual_data",
            Step::SolveData => "solve_data",
        }
    }

    pub const fn has_residual(self) -> bool {
        !matches!(self, Step::Solve | Step::SolveData)
    }

    pub const fn has_solve(self) -> bool {
        !matches!(self, Step::Residual | Step::ResidualData)
    }

    pub const fn works(self) -> bool {
        !matches!(self, Step::FusedData | Step::ResidualData | Step::SolveData)
    }
}

/// Dimension and nodes of a patch in one direction.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    pub dim: usize,
    /// Degree `k`.
    pub degree: usize,
    /// All nodes, `2k + 1`.
    pub all: usize,
    /// Interior nodes, `2k - 1`.
    pub interior: usize,
}

impl Sizes {
    #[inline(always)]
    pub const fn new(dim: usize, degree: usize) -> Self {
        let (interior, all) = patch_nodes(degree);
        Self { dim, degree, all, interior }
    }

    /// Layers of a tensor that is `nodes` wide: in 2D there is one.
    #[inline(always)]
    pub const fn layers(self, nodes: usize) -> usize {
        if self.dim == 3 { nodes } else { 1 }
    }

    /// Pairs of opposite faces have both ends: layers of the tensor that holds the faces, in 2D rows.
    #[inline(always)]
    pub const fn faces(self) -> usize {
        2 * self.dim
    }
}

/// Words of the 1D data that kernels read: `M` and `A` on all nodes, `S` on the interior ones, row-major, and `λ`.
pub const fn table_words(degree: usize) -> usize {
    let (interior, all) = patch_nodes(degree);
    2 * all * all + interior * interior + interior
}

/// Distance of the threads of two rows of `width` outputs.
///
/// Lanes of a warp that computes more than one row must not meet in a bank: rows of at most 16 outputs follow each other,
/// longer ones begin a warp.
#[inline(always)]
pub const fn pitch(variant: Variant, width: usize) -> usize {
    match variant {
        Variant::Basic | Variant::Linear => width,
        _ if width <= WIDE_BANKS => width,
        _ => WARP,
    }
}

/// Where the parts of a patch's shared memory begin, in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    /// `x`, or its faces, of all nodes.
    pub x: usize,
    /// Two tensors between contractions.
    pub work: [usize; 2],
    /// Of the right-hand side, then of the residual, interior.
    pub r: usize,
    /// Another of these for the local solver.
    pub z: usize,
    /// All of it.
    pub words: usize,
}

impl Parts {
    #[inline(always)]
    pub const fn new(step: Step, variant: Variant, dim: usize, degree: usize) -> Self {
        let sizes = Sizes::new(dim, degree);
        let (all, interior) = (sizes.all.pow(dim as u32), sizes.interior.pow(dim as u32));
        let boundary = matches!(variant, Variant::Boundary);
        // The levels without compact layout keep the residual where its nodes were.
        let compact = !step.has_residual() || matches!(variant, Variant::ConflictFree | Variant::Boundary);
        let inner = if compact { interior } else { all };
        let faces = sizes.faces() * sizes.all.pow(dim as u32 - 1);
        match (step.has_residual(), boundary) {
            (true, true) => {
                let z = if interior > faces { interior } else { faces };
                Self {
                    x: 0,
                    work: [faces, 2 * faces],
                    r: 3 * faces,
                    z: 3 * faces + interior,
                    words: 3 * faces + interior + z,
                }
            }
            // The work tensors are free once the residual is there.
            (true, false) => Self { x: 0, work: [all, 2 * all], r: 3 * all, z: all, words: 3 * all + inner },
            (false, _) => Self { x: 0, work: [0, 0], r: 0, z: inner, words: 2 * inner },
        }
    }
}

/// The shape of a kernel on a block.
pub const fn shape(step: Step, variant: Variant, dim: usize, degree: usize) -> Shape {
    let sizes = Sizes::new(dim, degree);
    let nodes = if step.has_residual() { sizes.all } else { sizes.interior };
    let mut columns = nodes * pitch(variant, nodes);
    if matches!(step, Step::FusedDof) {
        columns *= nodes;
    }
    if matches!(variant, Variant::ConflictFree | Variant::Boundary) {
        // No warp works on two patches.
        columns = columns.next_multiple_of(WARP);
    }
    let parts = Parts::new(step, variant, dim, degree);
    let mut patches = WORDS_WANTED / parts.words;
    if patches > MOST_THREADS / 2 / columns {
        patches = MOST_THREADS / 2 / columns;
    }
    if patches > MOST_PATCHES {
        patches = MOST_PATCHES;
    }
    if patches == 0 {
        patches = 1;
    }
    Shape { columns, patches, words: parts.words, barriers: barriers(step, variant, dim) }
}

/// Threads that a block of the kernel may have, whole groups of four warps: so registers are handed out.
pub const fn most_threads(columns: usize) -> usize {
    (columns * most_patches(columns)).next_multiple_of(4 * WARP)
}

/// Blocks of the most threads that a multiprocessor should hold. Up to degree 5 shared memory has room for more threads
/// than their registers, if not bounded, leave; columns of higher degrees need them all.
pub const fn min_blocks(step: Step, dim: usize, degree: usize, most_threads: usize) -> u32 {
    let bounded = (dim == 2 || degree <= 5) && most_threads <= MOST_THREADS && !matches!(step, Step::FusedInverse);
    if bounded { 2 } else { 1 }
}

/// Patches that a block of the kernel may have.
pub const fn most_patches(columns: usize) -> usize {
    let patches = MOST_THREADS / columns;
    if patches == 0 {
        1
    } else if patches > MOST_PATCHES {
        MOST_PATCHES
    } else {
        patches
    }
}

const fn barriers(step: Step, variant: Variant, dim: usize) -> usize {
    let residual = match (variant, dim) {
        (Variant::Boundary, 3) => 2,
        (Variant::Boundary, _) => 1,
        (_, 3) => 3,
        _ => 1,
    };
    let load = 1;
    if !step.works() {
        return load;
    }
    let solve = if matches!(step, Step::FusedInverse) { 0 } else { 2 * dim - 1 };
    load + match (step.has_residual(), step.has_solve()) {
        (true, true) => residual + 1 + solve,
        (true, false) => residual,
        _ => solve,
    }
}
