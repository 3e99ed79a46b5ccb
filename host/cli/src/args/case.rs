//! The arguments of a model problem, how to solve it and where.

use super::values::{damping, dimension, length, positive, tolerance, whole};
use super::{Sizes, path};
use crate::choices;
use crate::systems::{BoxArgs, FlowArgs, ForestArgs, ProductArgs, SystemName};
use clap::Args;
use patchmg::solve::{Cycle, Method, Precision};
use serde::Serialize;
use std::path::PathBuf;

/// Heading of options that choose kernels of the papers instead of the fastest ones.
pub const PAPERS: &str = "Kernels of papers 1 and 4, to compare with";

/// A model problem, how to solve it and where.
#[derive(Clone, Debug, Args, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct CaseArgs {
    /// File of options, or the JSON of a result, which is solved again
    ///
    /// The keys of a file are the names that options have here. Options on the command line go before those of the file.
    #[arg(value_name = "PROBLEM.toml")]
    #[serde(skip)]
    pub file: Option<PathBuf>,
    /// Equation and discretization.
    #[arg(long, value_enum, default_value_t)]
    pub system: SystemName,
    /// Dimension [default: that of --cells, else 3]
    #[arg(long, value_name = "2|3", value_parser = dimension, allow_hyphen_values = true)]
    pub dim: Option<usize>,
    /// Polynomial degree; of stokes k of RT_k
    ///
    /// 1 to 10 in 2D, 1 to 8 in 3D and with discontinuous elements; of stokes 1 to 8 in 2D, 1 to 5 in 3D.
    #[arg(long, value_name = "K", default_value = "4", value_parser = Sizes::one, allow_hyphen_values = true)]
    pub degree: Sizes,
    /// Refinements of the base cells: 2^L cells a direction of each
    #[arg(long, value_name = "L", default_value = "4", value_parser = Sizes::one, allow_hyphen_values = true)]
    pub refine: Sizes,
    /// Base cells in each direction [default: 1 in each]
    #[arg(long, value_name = "X,Y[,Z]", value_delimiter = ',', value_parser = positive, allow_hyphen_values = true)]
    pub cells: Vec<usize>,
    /// Side lengths of the domain, a rectangle or a box with a corner in the origin [default: 1 in each direction]
    #[arg(long, value_name = "X,Y[,Z]", value_delimiter = ',', value_parser = length, allow_hyphen_values = true)]
    pub size: Vec<f64>,
    #[command(flatten)]
    #[serde(flatten)]
    pub boxes: BoxArgs,
    /// Right-hand side and boundary values [default: sine, of stokes paper2, of elliptic that of the mesh; given with --rhs, --boundary,
    /// --exact or a --side of a box]
    #[arg(long, value_parser = choices::problem())]
    pub problem: Option<String>,
    /// Solver [default: fmg, of elliptic cg]
    ///
    /// The Krylov methods are preconditioned by one V-cycle.
    #[arg(long, value_parser = choices::method())]
    pub solver: Option<Method>,
    /// Basis vectors of gmres and fgmres, which restart after as many iterations; at least 1 [default: 10, of stokes 30]
    #[arg(long, value_name = "N", value_parser = positive, allow_hyphen_values = true)]
    pub restart: Option<usize>,
    /// Order in which a cycle visits the levels.
    #[arg(long, value_parser = choices::cycle(), default_value = Cycle::default().name())]
    pub cycle: Cycle,
    /// Smoother of the cycle [default: patch, for elliptic chebyshev, for stretched cells chebyshev4]
    ///
    /// Cells count as stretched with poisson-cg in 3D, degree 1 and Dirichlet sides, if an edge of one is more than 1.5 times as long as another. Edges
    /// are divided by the square roots of their directions' diffusion coefficients.
    #[arg(long, value_enum)]
    pub smoother: Option<Smoother>,
    /// Degree of the polynomial of --smoother chebyshev or chebyshev-patch, at least 1, or chebyshev4, 1 to 6 [default: 5 for
    /// chebyshev, 3 for chebyshev-patch, 2 for chebyshev4, or 3 where that is the default]
    #[arg(long, value_name = "N", value_parser = positive, allow_hyphen_values = true)]
    pub smoother_degree: Option<usize>,
    /// Factor of the smoother's correction, above 0 and below 2 [default: 1/4 in 2D and 1/8 in 3D for additive-patch, 2/3
    /// for jacobi; others have none]
    #[arg(long, value_name = "W", value_parser = damping, allow_hyphen_values = true)]
    pub damping: Option<f64>,
    /// Structure of the patch smoother [default: fused]
    #[arg(long, value_parser = choices::structure(), help_heading = PAPERS)]
    pub kernel: Option<String>,
    /// Optimization level of the patch smoother's kernel [default: register]
    #[arg(long, value_parser = choices::variant(), help_heading = PAPERS)]
    pub variant: Option<String>,
    /// Solver on a patch [default: fdm, of stokes exact]
    #[arg(long, value_parser = choices::local_solver(), help_heading = PAPERS)]
    pub local: Option<String>,
    /// What a thread of the patch smoother owns [default: column]
    #[arg(long, value_parser = choices::thread_structure(), help_heading = PAPERS)]
    pub thread_structure: Option<String>,
    /// Patches of a block of the patch smoother [default: the kernel's own]
    #[arg(long, value_name = "N", value_parser = positive, allow_hyphen_values = true, help_heading = PAPERS)]
    pub patches_per_block: Option<usize>,
    #[command(flatten)]
    #[serde(flatten)]
    pub flow: FlowArgs,
    #[command(flatten)]
    #[serde(flatten)]
    pub forest: ForestArgs,
    #[command(flatten)]
    #[serde(flatten)]
    pub products: ProductArgs,
    /// Scalar type.
    #[arg(long, value_parser = choices::precision(), default_value = Precision::default().name())]
    pub precision: Precision,
    /// Relative residual to solve to [default: 1e-9, for minimal-surface 1e-4]
    ///
    /// Above 0 and below 1. For minimal-surface, that of each of Newton's corrections.
    #[arg(long, value_name = "R", value_parser = tolerance, allow_hyphen_values = true)]
    pub rtol: Option<f64>,
    /// Begin with the solution in a file that --npz wrote
    ///
    /// It must have the nodes of this problem. Full multigrid then begins with V-cycles. With --adapt, the solve on the first mesh begins
    /// with it.
    #[arg(long, value_name = "FILE.npz")]
    #[serde(serialize_with = "path")]
    pub start_from: Option<PathBuf>,
    /// Iterations at most, and steps of Newton's method; at least 1.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = positive, allow_hyphen_values = true)]
    pub max_iters: usize,
    #[command(flatten)]
    #[serde(flatten)]
    pub machine: MachineArgs,
    /// Log phases and their times to standard error, as PATCHMG_LOG=debug does.
    #[arg(long)]
    #[serde(skip)]
    pub verbose: bool,
}

#[derive(Clone, Debug, Args, Serialize)]
#[serde(rename_all = "kebab-case")]
#[command(next_help_heading = None)]
pub struct MachineArgs {
    /// Where to compute
    #[arg(long, value_enum, default_value_t)]
    pub backend: BackendChoice,
    /// Number of the GPU, from 0 on, as `patchmg info` lists them.
    #[arg(long, value_name = "N", value_parser = whole, allow_hyphen_values = true)]
    pub device: Option<usize>,
    /// Threads of the CPU, at most 4 for each core that the process may use [default: one for each]
    #[arg(long, value_name = "N", value_parser = positive, allow_hyphen_values = true)]
    pub threads: Option<usize>,
}

/// Choices that only the command line has; their JSON name is the one here.
macro_rules! choice {
    ($(#[$meta:meta])* $name:ident { $($(#[$value_meta:meta])* $value:ident),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
        pub enum $name { $($(#[$value_meta])* $value),+ }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                clap::ValueEnum::to_possible_value(self).map_or(Ok(()), |value| f.write_str(value.get_name()))
            }
        }

        $crate::args::written!($name);
    };
}

pub(crate) use choice;

choice!(Smoother {
    /// Multiplicative vertex patches, colored
    #[default]
    Patch,
    /// Additive vertex patches, damped
    AdditivePatch,
    /// Gauss-Seidel dof by dof: lexicographic on the CPU, colored on a GPU
    PointGs,
    /// Damped Jacobi
    Jacobi,
    /// Chebyshev iteration over Jacobi
    Chebyshev,
    /// Chebyshev iteration over additive patches of cells, for stretched cells; elliptic on a CPU alone
    ChebyshevPatch,
    /// Chebyshev iteration of the fourth kind over Jacobi
    Chebyshev4,
});
choice!(Scalar {
    /// Single precision
    F32,
    /// Double precision
    #[default]
    F64,
});
choice!(BackendChoice {
    /// The GPU if there is one, else the CPU
    #[default]
    Auto,
    /// All cores of the CPU
    Cpu,
    /// An NVIDIA GPU
    Cuda,
});
